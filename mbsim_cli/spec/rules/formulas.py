"""Expressions of objectives, sensors and forces, and reference values of checks: what they read exists, and fits."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from mbsim_cli.spec.analysis import LINEAR, WITH_ADJOINT, FrequencyResponse, lacks_adjoint
from mbsim_cli.spec.expressions.evaluate import check_formula, width
from mbsim_cli.spec.expressions.named_numbers import shown, sort
from mbsim_cli.spec.expressions.number import TIME, VELOCITY, Expression, coordinate_in, read_by, sensor_in
from mbsim_cli.spec.expressions.syntax import COMPONENTS, KNOWN, ExpressionError, calls_of_laws, names, parse
from mbsim_cli.spec.forces import AppliedForce, AppliedTorque
from mbsim_cli.spec.joints import EULER_NAMES, RATE_WORDS
from mbsim_cli.spec.objectives import MODAL, TRANSFERS, Check, Transfer
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import Review

if TYPE_CHECKING:
    from mbsim_cli.spec.model_file import ModelFile


Widths = Mapping[str, int]  # of what expressions read, by name


def check(review: Review) -> None:
    """Report unknown names, vectors where numbers are wanted, and objectives made of themselves."""
    model = review.model
    plain = dict.fromkeys((*review.names("parameters"), *review.names("constants")), 1)
    readable = {**plain, **model.shown, "t": 1}
    objectives = dict.fromkeys(review.names("objectives"), 1)
    for name, objective in model.objectives.items():
        if not review.intact("objectives", name):
            continue
        if objective.kind in MODAL:
            if model.analysis.type != "modes" and not review.lost("analysis"):
                message = f"{objective.kind} is a number of a mode, which only type: modes finds"
                review.report(("objectives", name, objective.kind), message, key=True)
            continue
        path: Path = ("objectives", name, objective.kind)
        if objective.kind in TRANSFERS:
            _transfer(review, path, getattr(objective, objective.kind))
            continue
        if objective.at is not None:
            if model.analysis.type in ("equilibrium", *LINEAR):
                message = f"type: {model.analysis.type} has one time point"
                review.report((*path, "time"), message, "final: reads it")
            path = (*path, "value")
        if objective.kind == "expression":
            _formula(review, path, objective.text, {**plain, **objectives}, "objective", review.names("sensors"))
        else:
            _formula(review, path, objective.text, readable, "sensor", objectives)
    of_others = {name: objective.text for name, objective in model.objectives.items() if objective.kind == "expression"}
    _cycles(review, "objectives", "expression", of_others)
    of_sensors = {name: spec.value for name, spec in model.sensors.items() if spec.type == "expression"}
    _cycles(review, "sensors", "value", of_sensors)
    for name, text in of_sensors.items():
        if review.intact("sensors", name):
            _formula(review, ("sensors", name, "value"), text, readable, "sensor", objectives, vectors=True)


def _transfer(review: Review, path: Path, given: Transfer) -> None:
    """Report numbers of a frequency response of another kind of analysis, or between other inputs and outputs."""
    analysis = review.model.analysis
    if review.lost("analysis"):
        return
    if not isinstance(analysis, FrequencyResponse):
        message = f"{path[-1]} is a number of a response, which only type: frequency_response finds"
        review.report(path, message, key=True)
        return
    for key, name, listed in (("input", given.input, analysis.inputs), ("output", given.output, analysis.outputs)):
        if listed and not any(name == one or name.startswith(f"{one}.") for one in listed):
            near = review.suggest(name, listed) or f"there are {', '.join(listed)}"
            review.report((*path, key), f"{name!r} is no {key} of the analysis", near)


def _formula(
    review: Review, path: Path, text: str, widths: Widths, what: str, elsewhere: Collection[str], vectors: bool = False
) -> None:
    used = names(parse(text, vectors=True))
    if review.lost("sensors") or review.lost("parameters") or review.lost("constants"):
        return
    invalid = review.names("sensors") - set(review.model.sensors)
    lost = {other for other in used if other.partition(".")[0] in invalid or review.is_unmade(other, "sensors")}
    read = {other: review.model.sensors.get(other.partition(".")[0]) for other in used}
    forces = {other: getattr(sensor, "force", None) or "" for other, sensor in read.items()}
    lost |= {other for other, force in forces.items() if review.is_unmade(force, "forces")}
    unknown = [(other, offset) for other, offset in used.items() if other not in widths and other not in lost]
    for other, offset in unknown:
        hint: str | None
        if other in elsewhere:
            kind = "an objective" if what == "sensor" else "a sensor"
            hint = f"it is {kind}; objectives of objectives stand under expression"
        elif other in review.model.sensors:
            hint = "its parts are " + " and ".join(review.model.sensors[other].shows(other))
        elif (owner := other.partition(".")[0]) != other and owner in review.names("joints"):
            hint = f"a sensor reads it: {{type: reaction, joint: {owner}}}"
        elif owner != other and owner in review.names("forces"):
            hint = f"a sensor reads it: {{type: force, force: {owner}}}"
        elif owner != other and owner in widths and other.lower() not in map(str.lower, widths):
            hint = (
                f"{owner} has no parts" if widths[owner] == 1 else f"its parts are {owner}.x, {owner}.y and {owner}.z"
            )
        else:
            hint = review.suggest(other, widths)
        review.report(path, f"unknown {what} {other!r}", hint, offset)
    if unknown or lost or review.lost("laws"):
        return
    laws = review.names("laws")
    try:
        check_formula(text, widths, vectors, laws if what == "sensor" else ())
    except ExpressionError as error:
        misplaced = what == "objective" and not laws.isdisjoint(calls_of_laws(text).values())
        hint = "laws are called where sensors are read; here objectives are combined" if misplaced else error.hint
        review.report(path, error.message, hint, error.offset)


def _cycles(review: Review, section: str, key: str, texts: Mapping[str, str]) -> None:
    """Report expressions that read each other in a ring."""
    reads = {
        name: list(names(parse(text, vectors=True))) for name, text in texts.items() if review.intact(section, name)
    }
    for cycle in sort(reads)[1]:
        review.report((section, cycle[0], key), f"{section[:-1]} is defined by itself: {shown(cycle)}")


READABLE = (
    "position", "velocity", "direction", "angular_velocity", "coordinate", "distance", "angle", "displacement",
    "velocity_along", "elastic_coordinate", "roll", "pitch", "yaw", "multiplier",
)  # fmt: skip
_WHY_NOT = {
    **dict.fromkeys(("acceleration", "angular_acceleration", "acceleration_along"), "it reads accelerations"),
    "reaction": "it reads forces of constraints",
    **dict.fromkeys(("torque", "torques"), "it belongs to inverse dynamics"),
}
_HINT = "forces and laws depend on positions, velocities, t and parameters"


def check_moving(review: Review) -> None:
    """Report what expressions of forces cannot read, and vectors where numbers are wanted."""
    if any(review.lost(section) for section in ("sensors", "parameters", "constants", "joints", "laws")):
        return
    if review.unmade or not all(review.intact(section) for section in ("states", "controllers", "cables")):
        return  # names of states are not known
    of_parts: dict[str, int] = {}
    before = len(review.issues)
    for path, number in review.model.moving:
        _expression(review, path, number, of_parts)
    review.issues[before:] = dict.fromkeys(review.issues[before:])  # a controller is several expressions
    if review.model.moving and review.model.analysis.type == "inverse_dynamics":
        path = review.model.moving[0][0]
        message, hint = "inverse dynamics takes no force that depends on the motion", "give a number or a law"
        if _is_call(review, path):
            message, hint = "inverse dynamics evaluates laws at t alone", "write law_name(t)"
        review.report(path, message, hint)


def _expression(review: Review, path: Path, number: Expression, of_parts: dict[str, int]) -> None:
    """Report what an expression cannot read; ``of_parts`` are widths of parts that others have named before."""
    model, before = review.model, len(review.issues)
    reading, sensors = read_by(number.text, model.derived.parts), model.shown
    plain = review.names("parameters") | review.names("constants")
    widths = {**dict.fromkeys((*plain, TIME), 1), **sensors}
    for name, column in reading.names.items():
        place, offset = _stated_at(review, path, name, column)
        if name in plain and name in review.names("sensors"):
            pass  # one name for two things, which is reported
        elif (sensor := sensor_in(name, sensors)) is not None:
            _sensor(review, place, sensor, offset)
        elif name.partition(".")[0] in review.names("sensors") and not _is_coordinate(review, name):
            if review.intact("sensors", name.partition(".")[0]):
                _part(review, place, name, offset)
        elif "." in name:
            _coordinate(review, place, name, offset)
            widths[name] = 1
        elif name not in widths:
            if _is_call(review, path):
                return  # reported as unknown where the call stands
            hint = f"{name} is a law: write {name}(t)" if name in review.names("laws") else None
            hint = "the time is t" if name == "time" else hint or review.suggest(name, widths)
            review.report(place, f"unknown name {name!r}", hint, offset)
    for law, column in reading.laws.items():
        if law not in review.names("laws"):
            place, offset = _stated_at(review, path, law, column)
            hint = review.suggest(law, {*review.names("laws"), *KNOWN})
            review.report(place, f"unknown function or law {law!r}", hint, offset)
    if reads_multipliers(model, number) and (why := _no_multipliers(review)):
        review.report(path, f"it depends on forces of constraints: {why[0]}", why[1])
    force = model.forces[str(path[1])]
    if isinstance(force, AppliedForce | AppliedTorque) and force.law is not None:
        review.report((*path[:2], "law"), "it multiplies a value that is an expression", "write law_name(t) in there")
    if len(review.issues) > before or not all(review.intact("sensors", name) for name in model.sensors):
        return
    try:
        for part, text in model.derived.parts.items():
            if part in reading.parts and part not in of_parts:
                of_parts[part] = width(parse(text, vectors=True, motion=True), widths | of_parts)
        widths |= of_parts
        if width(parse(number.text, vectors=True, motion=True), widths) != 1:
            raise ExpressionError("must be a number, not a vector", 0, "use dot, norm, .x, .y or .z")
    except ExpressionError as error:
        review.report(path, error.message, error.hint, error.offset)


def _stated_at(review: Review, path: Path, name: str, offset: int) -> tuple[Path, int]:
    """Where a name stands that an expression reads: of a cable or controller, in which of its keys."""
    place = review.source.stands_at.get(path, path)
    if place[0] in ("cables", "controllers"):
        short: Any = getattr(review.model, str(place[0]))[str(place[1])]
        for key in type(short).model_fields:  # in their order, which that of a set is not
            text = getattr(getattr(short, key), "text", None)
            if isinstance(text, str) and name in (read := {**read_by(text).names, **read_by(text).laws}):
                return (*place[:2], key), read[name]
    return path, offset


def reads_multipliers(model: "ModelFile", number: Expression) -> bool:
    """Whether an expression of the motion depends on forces of constraints, as friction by loads does."""
    names = read_by(number.text, model.derived.parts).names
    return any(name in model.sensors and model.sensors[name].type == "multiplier" for name in names)


def _no_multipliers(review: Review) -> tuple[str, str] | None:
    """Why forces cannot depend on multipliers in any formulation, and what would do; None where they can."""
    analysis, model = review.model.analysis, review.model
    if analysis.type != "forward_dynamics":
        return f"type: {analysis.type} has no such forces", "forward dynamics has"
    if any(body.flexible is not None for body in model.bodies.values()):
        return "models with bodies that deform have no such forces", "give friction a loss instead of dynamic"
    return None


def _sensor(review: Review, path: Path, name: str, offset: int) -> None:
    spec = review.model.sensors[name.partition(".")[0]]
    if spec.type == "expression":
        known = review.model.shown
        for other in names(parse(review.model.formulas[name], vectors=True)):
            inner = sensor_in(other, known)
            if inner is not None and inner not in review.model.formulas:
                _sensor(review, path, inner, offset)
    elif spec.type not in READABLE or getattr(spec, "derivative", 0) > 1:
        if spec.type in READABLE:
            why = "it reads accelerations"
        else:
            why = _WHY_NOT.get(spec.type, f"forces read no sensors of type {spec.type}")
        subject = "the argument of a law cannot depend" if _is_call(review, path) else "no force can depend"
        review.report(path, f"{subject} on the sensor {name!r}: {why}", _HINT, offset)


def _is_call(review: Review, path: Path) -> bool:
    """Whether a force stands for a call of a law in an objective or sensor."""
    return path[0] == "forces" and path[1] in review.model.calls.values()


def _part(review: Review, path: Path, name: str, offset: int) -> None:
    """Report a part of a sensor that it does not have."""
    sensor, _, part = name.partition(".")
    shown = review.model.sensors[sensor].shows(sensor)
    if shown != (sensor,):
        _sensor(review, path, shown[0], offset)
    else:
        hint = f"write {sensor}.x, {sensor}.y or {sensor}.z" if part not in COMPONENTS else None
        review.report(path, f"sensor {sensor!r} has no part {part!r}", hint, offset)


def _is_coordinate(review: Review, name: str) -> bool:
    """Whether a joint has the coordinate that a name reads, though a sensor may have the name of the joint."""
    joint, _, coordinate = coordinate_in(name)[0].partition(".")
    return joint in review.model.joints and coordinate in review.model.joints[joint].coordinates


def _coordinate(review: Review, path: Path, name: str, offset: int) -> None:
    joint, _, rest = name.partition(".")
    if joint not in review.names("joints"):
        hint = review.suggest(joint, [*review.names("joints"), *review.names("sensors")])
        review.report(path, f"unknown joint or sensor {joint!r}", hint, offset)
        return
    if joint not in review.model.joints:
        return
    coordinate, known = coordinate_in(name)[0].partition(".")[2], review.model.joints[joint].coordinates
    if coordinate in known:
        if coordinate in EULER_NAMES:
            review.report(path, f"{name!r} is an Euler parameter", "read an angle or a direction by a sensor", offset)
        return
    if rest.endswith(".acceleration"):
        review.report(path, f"no force can depend on {name!r}: it is an acceleration", _HINT, offset)
        return
    hint = review.suggest(coordinate, known) if known else "it has none"
    if coordinate.rpartition(".")[0] in known:
        hint = f"its rate is {joint}.{coordinate.rpartition('.')[0]}.{VELOCITY}"
    elif coordinate in RATE_WORDS and len(known) == 1:
        hint = f"the rate is {joint}.{known[0]}.{VELOCITY}"
    review.report(path, f"joint {joint!r} has no coordinate {coordinate!r}", hint, offset + len(joint) + 1)


def check_values(review: Review) -> None:
    """Report unknown sensors, methods that are none, and references of the wrong width."""
    for name, given in review.model.checks.items():
        path = ("checks", name)
        for field, elements in given.field_gradient.items():
            place = (*path, "field_gradient", field)
            if field not in review.model.analysis.sensitivity.fields and not review.lost("analysis"):
                hint = "name it in analysis.sensitivity.fields"
                review.report(place, f"no gradient is taken by {field!r}", hint, key=True)
            for element in elements:
                if not element.isdecimal():
                    review.report((*place, element), f"{element!r} is no element: they are counted from 0", key=True)
        if given.sensor is not None and _is_shown(review, (*path, "sensor"), given.sensor):
            _values(review, path, given)
        if given.agreement:
            review.each_once((*path, "agreement"), given.agreement)
            review.each_once((*path, "objectives"), given.objectives)
            _agreement(review, path, given)


def _is_shown(review: Review, path: Path, name: str) -> bool:
    """Whether a sensor of this name, or a part of one, exists or has been reported."""
    shown = review.model.shown
    if name.partition(".")[0] in review.names("sensors") - set(review.model.sensors):
        return True
    if name in review.model.sensors and name not in shown:
        review.report(path, f"sensor {name!r} shows " + " and ".join(review.model.sensors[name].shows(name)))
        return False
    return review.known(path, name, "sensors", "sensor", shown)


def _agreement(review: Review, path: Path, given: Check) -> None:
    """Report methods that the analysis does not have, and its own one, unless an option sets that."""
    if not review.names("objectives") and not review.lost("objectives"):
        review.report((*path, "agreement"), "there are no objectives that could agree")
    analysis = review.model.analysis
    stated = review.intact("analysis", "formulation") and not review.source.is_set(("analysis", "formulation"))
    own = getattr(analysis, "formulation", None) if stated else None
    for index, method in enumerate(given.agreement):
        if method == own:
            review.report((*path, "agreement", index), f"{method} is the method of the analysis itself")
        elif analysis.type in LINEAR:
            message = "small motions have one method; their gradients are compared with differences"
            review.report((*path, "agreement", index), message)
        elif method == "adjoint" and lacks_adjoint(analysis):
            review.report((*path, "agreement", index), f"{lacks_adjoint(analysis)} has no adjoint", WITH_ADJOINT)
        elif analysis.type == "inverse_dynamics" and method != "adjoint" and not review.lost("analysis"):
            review.report((*path, "agreement", index), "inverse dynamics has one other method, adjoint")
        elif analysis.type in ("equilibrium", "kinematics") and method not in ("complex_step", "adjoint"):
            what = "an equilibrium has" if analysis.type == "equilibrium" else "kinematics has"
            message = f"{what} one formulation; complex_step and adjoint differentiate it"
            review.report((*path, "agreement", index), message)
        elif method in ("complex_step", "adjoint") and not review.names("parameters") and not review.lost("parameters"):
            review.report((*path, "agreement", index), "there are no parameters to differentiate by")


def _values(review: Review, path: Path, given: Check) -> None:
    known = given.sensor in review.model.shown and review.intact("joints")
    wanted = review.model.width_of(given.sensor) if known and given.sensor else None
    analysis = review.model.analysis
    is_set = review.source.is_set(("analysis", "duration"))  # by an option, which may end runs before a check
    duration = None if is_set else review.value(getattr(analysis, "duration", None))
    for index, entry in enumerate(given.values):
        place = (*path, "values", index)
        if wanted is not None:
            given_width = len(entry.value) if isinstance(entry.value, tuple) else 1
            if given_width != wanted or (isinstance(entry.value, tuple) and wanted == 1):
                shape = "one number" if wanted == 1 else f"{wanted} numbers in a list"
                review.report((*place, "value"), f"the sensor gives {shape}")
        time = review.value(entry.time)
        if analysis.type in ("equilibrium", *LINEAR) and time:
            what = "an equilibrium has" if analysis.type == "equilibrium" else "small motions have"
            review.report((*place, "time"), f"{what} one time point, at time 0")
        elif time is not None and duration is not None and not 0 <= time <= duration * (1 + 1e-9):
            review.report((*place, "time"), f"{time:g} s lies outside the duration of {duration:g} s")
