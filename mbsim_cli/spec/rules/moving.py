"""Expressions of the motion: what they read exists and depends on positions and velocities alone."""

from mbsim_cli.spec.expressions.moving import TIME, VELOCITY, Expression, coordinate_in, read_by, sensor_in
from mbsim_cli.spec.expressions.syntax import COMPONENTS, KNOWN, ExpressionError, names, parse
from mbsim_cli.spec.expressions.widths import width
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path

READABLE = (
    "position",
    "velocity",
    "direction",
    "angular_velocity",
    "coordinate",
    "distance",
    "angle",
    "displacement",
    "velocity_along",
    "elastic_coordinate",
    "roll",
    "pitch",
    "yaw",
)
_WHY_NOT = {
    **dict.fromkeys(("acceleration", "angular_acceleration", "acceleration_along"), "it reads accelerations"),
    **dict.fromkeys(("multiplier", "reaction"), "it reads forces of constraints"),
    **dict.fromkeys(("torque", "torques"), "it belongs to inverse dynamics"),
}
_HINT = "forces depend on positions, velocities, t and parameters"


def check(review: Review) -> None:
    """Report what expressions of forces cannot read, and vectors where numbers are wanted."""
    if any(review.lost(section) for section in ("sensors", "parameters", "constants", "joints", "laws")):
        return
    if not review.intact("states") or not review.intact("controllers"):
        return  # names of states are not known
    for path, number in review.model.moving:
        _expression(review, path, number)
    if review.model.moving and review.model.analysis.type == "inverse_dynamics":
        path = review.model.moving[0][0]
        review.report(path, "inverse dynamics takes no force that depends on the motion", "give a number or a law")


def _expression(review: Review, path: Path, number: Expression) -> None:
    model, before = review.model, len(review.issues)
    reading = read_by(number.text)
    widths = {**dict.fromkeys((*review.names("parameters"), *review.names("constants"), TIME), 1), **model.shown}
    for name, offset in reading.names.items():
        if (sensor := sensor_in(name, model.shown)) is not None:
            _sensor(review, path, sensor, offset)
        elif name.partition(".")[0] in review.names("sensors"):
            if review.intact("sensors", name.partition(".")[0]):
                _part(review, path, name, offset)
        elif "." in name:
            _coordinate(review, path, name, offset)
            widths[name] = 1
        elif name not in widths:
            review.report(path, f"unknown name {name!r}", review.suggest(name, widths), offset)
    for law, offset in reading.laws.items():
        if law not in review.names("laws"):
            hint = review.suggest(law, {*review.names("laws"), *KNOWN})
            review.report(path, f"unknown function or law {law!r}", hint, offset)
    beside = getattr(model.forces[path[1]], "law", None)
    if model.forces[path[1]].type in ("force", "torque") and beside is not None:
        review.report((*path[:2], "law"), "it multiplies a value that is an expression", "write law_name(t) in there")
    if len(review.issues) > before or not all(review.intact("sensors", name) for name in model.sensors):
        return
    try:
        if width(parse(number.text, vectors=True, motion=True), widths) != 1:
            raise ExpressionError("must be a number, not a vector", 0, "use dot, norm, .x, .y or .z")
    except ExpressionError as error:
        review.report(path, error.message, error.hint, error.offset)


def _sensor(review: Review, path: Path, name: str, offset: int) -> None:
    spec = review.model.sensors[name.partition(".")[0]]
    if spec.type == "expression":
        for other in names(parse(review.model.formulas[name], vectors=True)):
            inner = sensor_in(other, review.model.shown)
            if inner is not None and inner not in review.model.formulas:
                _sensor(review, path, inner, offset)
    elif spec.type not in READABLE:
        why = _WHY_NOT.get(spec.type, f"forces read no sensors of type {spec.type}")
        review.report(path, f"no force can depend on the sensor {name!r}: {why}", _HINT, offset)
    elif getattr(spec, "derivative", 0) > 1:
        review.report(path, f"no force can depend on the sensor {name!r}: it reads accelerations", _HINT, offset)


def _part(review: Review, path: Path, name: str, offset: int) -> None:
    """Report a part of a sensor that it does not have."""
    sensor, _, part = name.partition(".")
    shown = review.model.sensors[sensor].shows(sensor)
    if shown != (sensor,):
        _sensor(review, path, shown[0], offset)
    else:
        hint = f"write {sensor}.x, {sensor}.y or {sensor}.z" if part not in COMPONENTS else None
        review.report(path, f"sensor {sensor!r} has no part {part!r}", hint, offset)


def _coordinate(review: Review, path: Path, name: str, offset: int) -> None:
    joint, _, rest = name.partition(".")
    if joint not in review.names("joints"):
        known = [*review.names("joints"), *review.names("sensors")]
        review.report(path, f"unknown joint or sensor {joint!r}", review.suggest(joint, known), offset)
        return
    if joint not in review.model.joints:
        return
    coordinate, known = coordinate_in(name)[0].partition(".")[2], review.model.joints[joint].coordinates
    if coordinate in known:
        if coordinate in ("e0", "e1", "e2", "e3"):
            review.report(path, f"{name!r} is an Euler parameter", "read an angle or a direction by a sensor", offset)
        return
    if rest.endswith(".acceleration"):
        review.report(path, f"no force can depend on {name!r}: it is an acceleration", _HINT, offset)
        return
    hint = review.suggest(coordinate, known) if known else "it has none"
    if coordinate.rpartition(".")[0] in known:
        hint = f"its rate is {joint}.{coordinate.rpartition('.')[0]}.{VELOCITY}"
    review.report(path, f"joint {joint!r} has no coordinate {coordinate!r}", hint, offset + len(joint) + 1)
