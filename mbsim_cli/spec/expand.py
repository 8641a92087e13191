"""From short forms to ordinary items: Denavit-Hartenberg tables, ranges of coordinates, controls."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from mbsim_cli.spec.analysis import Kinematics
from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.bodies import Body, Parameter
from mbsim_cli.spec.expressions.number import TIME, Expression, Number, formula
from mbsim_cli.spec.expressions.syntax import ExpressionError, calls_of_laws, comparisons_in, names, parse
from mbsim_cli.spec.families import Control, JointTable
from mbsim_cli.spec.forces import AppliedForce
from mbsim_cli.spec.joints import AngleInitial, DisplacementInitial, Fixed, Prismatic, Revolute
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import GROUND, Review

if TYPE_CHECKING:
    from mbsim_cli.spec.laws import Spline

# of a row: joint point, axis and direction of zero angle, in the frame before the row and in its own
Frames = tuple[tuple[str, str, str], ...]
_DISTAL: tuple[Frames, Frames, Frames] = (
    (("0", "0", "0"), ("-a", "-d*sin(alpha)", "-d*cos(alpha)")),
    (("0", "0", "1"), ("0", "sin(alpha)", "cos(alpha)")),
    (("1", "0", "0"), ("cos(theta)", "-sin(theta)*cos(alpha)", "sin(theta)*sin(alpha)")),
)
_PROXIMAL: tuple[Frames, Frames, Frames] = (
    (("a", "0", "0"), ("0", "0", "-d")),
    (("0", "-sin(alpha)", "cos(alpha)"), ("0", "0", "1")),
    (("1", "0", "0"), ("cos(theta)", "-sin(theta)", "0")),
)
_FRAMES = {"distal": _DISTAL, "proximal": _PROXIMAL}
# by the variable of a row: type of its joint, type of the initial values, and their keys
_JOINTS: dict[str, tuple[type[Revolute | Prismatic | Fixed], type[Spec], tuple[str, ...]]] = {
    "theta": (Revolute, AngleInitial, ("angle", "angular_velocity", "independent")),
    "d": (Prismatic, DisplacementInitial, ("displacement", "velocity", "independent")),
    "none": (Fixed, AngleInitial, ()),
}
LONG_BEFORE = 1e9  # s, before the time of a switch: the law holds its value from there on


def expand(review: Review, wrong_controls: dict[str, str]) -> None:
    """Add to a model what its short forms stand for; ``wrong_controls`` are those of ``with_values_of_controls``."""
    model = review.model
    _expand_tables(review)
    _expand_controls(review, wrong_controls)
    if model.states or model.controllers:
        from mbsim_cli.spec.expand_states import expand_states

        expand_states(review)
    if model.cables:
        from mbsim_cli.spec.expand_cables import expand_cables

        expand_cables(review)
    _expand_sweep(review)
    if any(getattr(joint, "friction", None) for joint in model.joints.values()):
        from mbsim_cli.spec.expand_states import expand_friction

        expand_friction(review)
    _expand_calls_of_laws(review)


def _expand_calls_of_laws(review: Review) -> None:
    """Replace every call of a law in an objective or sensor by the value of a force, which is added on the ground.

    In sums over time, comparisons of t with a formula of parameters are replaced too, so that the sums are split there.
    """
    model = review.model
    texts: dict[Path, str] = {}
    for name, objective in model.objectives.items():
        if objective.kind != "expression":
            texts["objectives", name, objective.kind, *(("value",) if objective.at else ())] = objective.text
    for name, spec in model.sensors.items():
        if spec.type == "expression":
            texts["sensors", name, "value"] = spec.value
    for path, text in texts.items():
        try:
            whole = model.written_out(text)
            calls = calls_of_laws(whole)
        except ExpressionError as error:
            review.report(path, f"with the expressions of the sensors in it, the {error.message}", error.hint)
            continue
        for call, law in calls.items():
            if call in model.calls or law not in model.laws:
                continue
            argument = call.partition("(")[2].removesuffix(")").strip()
            # blanks in front, so that columns are those of the file
            value = Expression(1.0 if argument == TIME else " " * max(0, text.find(call)) + call)
            model.derived.calls[call] = _add_value(review, path, value, law if argument == TIME else None)
        if path[0] == "objectives" and model.objectives[str(path[1])].is_sum:
            for (first, end), node in comparisons_in(whole).items():
                if whole[first:end] not in model.derived.comparisons and (switch := _switch(node, review)) is not None:
                    name = _add_value(review, path, Expression(1.0), switch)
                    model.derived.comparisons[whole[first:end]] = name


def _add_value(review: Review, path: Path, value: Expression, law: "str | Spline | None") -> str:
    """Add a force on the ground that an objective or sensor reads; its name."""
    model = review.model
    taken = set().union(model.forces, model.laws, model.sensors, model.parameters, model.constants, model.objectives)
    name = next(name for name in map("law_{}".format, count(1)) if name not in taken)
    model.note_made("forces", name, path)
    review.source.stands_at["forces", name, "value", 0] = review.source.stands_at["forces", name, "law"] = path
    model.forces[name] = AppliedForce.model_construct(
        type="force", point=f"{GROUND}.origin", value=(value, Expression(0.0), Expression(0.0)), law=law
    )
    return name


def _switch(node: ast.Compare | ast.Call, review: Review) -> "Spline | None":
    """A law that is a comparison of t with a formula of parameters, or the sign of their difference, else None."""
    from mbsim_cli.spec.laws import Spline

    model = review.model
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            early, late = (1.0, 0.0) if isinstance(op, ast.Lt | ast.LtE) else (0.0, 1.0)
        case ast.Call(args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]):
            early, late = -1.0, 1.0
        case _:
            return None
    sides = [side for side in (left, right) if not (isinstance(side, ast.Name) and side.id == TIME)]
    known = {*model.parameters, *model.constants}
    if len(sides) != 1 or not known.issuperset(names(sides[0])):
        return None
    if sides[0] is left:
        early, late = late, early
    time = ast.unparse(sides[0])
    try:
        parse(time)
    except ExpressionError:  # no number of the file calls laws, or chooses
        return None
    if review.value(Number(time)) is None:  # as 1/0, before which all times are
        return None
    return Spline.model_construct(
        type="spline", x=None, times=(Number(f"-abs({time}) - {LONG_BEFORE}"), Number(time)),
        values=(Number(early), Number(late)), between="constant", extrapolate="hold",
    )  # fmt: skip


def _expand_tables(review: Review) -> None:
    """Add to a model what its tables stand for."""
    model = review.model
    bodies_of: dict[str, dict[str, str]] = {}
    for name, table in model.dh.items():
        names = {row: spec.link.name for row, spec in table.rows.items() if spec.link is not None}
        bodies_of[name] = {row: row if names.get(row) is None else str(names[row]) for row in table.rows}
    known = {GROUND, *model.bodies, *(body for bodies in bodies_of.values() for body in bodies.values())}
    for name, table in model.dh.items():
        bodies, before = bodies_of[name], _parent(review, ("dh", name, "base"), table.base, known)
        for row, spec in table.rows.items():
            path, body = ("dh", name, "rows", row), bodies[row]
            taken = [f"{row!r} is also a joint"] if row in model.joints else []
            taken += [f"{body!r} is also a body"] if body in model.bodies else []
            for message in taken:
                review.report(path, message, "give the row or its link another name")
            if not taken:
                parent = before if spec.parent is None else bodies.get(spec.parent, spec.parent)
                _add_row(model, table, path, _parent(review, (*path, "parent"), parent, known), body)
            given = spec.initial.model_fields_set if spec.initial is not None else ()
            for key in sorted(given) if review.intact("dh") else ():
                if key not in _JOINTS[spec.variable][2]:
                    what = {"theta": "is revolute", "d": "is prismatic", "none": "does not move"}[spec.variable]
                    review.report((*path, "initial"), f"{key!r} does not fit a row that {what}")
            before = body


def _parent(review: Review, path: tuple[str, ...], name: str, known: set[str]) -> str:
    """The name, or the ground where nothing has it."""
    if name in known:
        return name
    if review.intact("bodies") and review.intact("dh"):
        review.report(path, f"unknown row or body {name!r}", review.suggest(name, known))
    return GROUND


def _add_row(model: ModelFile, table: JointTable, path: Path, parent: str, body: str) -> None:
    row = str(path[-1])
    spec = table.rows[row]
    point, axis, zero = (f"{row} {what}" for what in ("joint", "axis", "zero"))
    numbers = {name: getattr(spec, name) for name in ("theta", "d", "a", "alpha")}
    at, along, towards = (
        [tuple(formula(e, numbers) for e in side) for side in both] for both in _FRAMES[table.convention]
    )
    if spec.sign < 0:
        along = [tuple(formula("-u", {"u": entry}) for entry in side) for side in along]
    model.note_made("bodies", body, path if spec.link is None else (*path, "link"))
    for section, name in (("points", point), ("vectors", axis), ("vectors", zero), ("joints", row)):
        model.note_made(section, name, path)
    model.points[point] = dict(zip((parent, body), at, strict=True))
    model.vectors[axis] = dict(zip((parent, body), along, strict=True))
    model.vectors[zero] = dict(zip((parent, body), towards, strict=True))
    link = {} if spec.link is None else {key: getattr(spec.link, key) for key in spec.link.model_fields_set - {"name"}}
    model.bodies[body] = Body.model_construct(**link)  # its parts are validated already
    joint, initial, keys = _JOINTS[spec.variable]
    where: dict[str, Any] = {"bodies": [parent, body], "point": point, "axis": axis, "reference": zero}
    if keys:
        given = {key: getattr(spec.initial, key, None) for key in keys}
        where["initial"] = initial.model_validate({key: value for key, value in given.items() if value is not None})
    model.joints[row] = joint.model_validate({"type": joint.__name__.lower(), **where})


def _expand_sweep(review: Review) -> None:
    """Add a motion to the constraints for every range: uniform from end to end, in the whole duration."""
    model, analysis = review.model, review.model.analysis
    if not isinstance(analysis, Kinematics):
        return
    from mbsim_cli.spec.constraints import Motion

    for coordinate, given in analysis.sweep.items():
        name, path = f"sweep_{coordinate.replace('.', '_')}", ("analysis", "sweep", coordinate)
        if name in model.constraints:
            review.report(path, f"{name!r} is also a constraint", "give that one another name", key=True)
            continue
        rate = formula("(b - a)/T", {"a": given.from_, "b": given.to, "T": analysis.lasts})
        law = {"type": "polynomial", "coefficients": [given.from_, rate]}
        model.note_made("constraints", name, path)
        model.source.stands_at["constraints", name, "coordinate"] = path
        model.constraints[name] = Motion.model_validate({"type": "motion", "coordinate": coordinate, "law": law})


# From controls to laws through values at equal distances, which are parameters.


_TIME = re.compile(r"\bt\b")


def with_values_of_controls(model: ModelFile) -> tuple[ModelFile, dict[str, str]]:
    """A model with the values of all controls among its parameters, before anything is replaced or checked.

    Also what is wrong with controls, by their names. Lists of parameters that name a control name its values.
    """
    wrong: dict[str, str] = {}
    if not model.controls:
        return model, wrong
    values = {name: control.parameters(name) for name, control in model.controls.items()}
    for name, control in model.controls.items():
        taken = [made for made in values[name] if made in model.parameters or made in model.constants]
        if name in model.laws:
            wrong[name] = f"{name!r} is also a law; give one of them another name"
        elif taken:
            wrong[name] = f"its values are parameters, of which {taken[0]!r} exists; give the control another name"
        else:
            wrong[name] = _add(model, name, control)
    optimization, analysis = dict(model.optimization), model.analysis
    for name, given in optimization.items():
        variables = given.variables
        if isinstance(variables, tuple):
            variables = tuple(each for stated in variables for each in values.get(stated, [stated]))
        elif isinstance(variables, dict):
            of_controls = {each: variables[name] for name in values if name in variables for each in values[name]}
            variables = of_controls | {name: span for name, span in variables.items() if name not in values}
        optimization[name] = given.model_copy(update={"variables": variables} if variables else {})
    sensitivity = analysis.sensitivity
    if isinstance(sensitivity.parameters, tuple):
        asked = tuple(each for stated in sensitivity.parameters for each in values.get(stated, [stated]))
        sensitivity = sensitivity.model_copy(update={"parameters": asked})
        analysis = analysis.model_copy(update={"sensitivity": sensitivity})
    return model.having(optimization=optimization, analysis=analysis), wrong


def _add(model: ModelFile, name: str, control: Control) -> str:
    """Add law and parameters of a control; return the message of an error, empty if there is none."""
    from mbsim_cli.spec.laws import Spline

    duration = getattr(model.analysis, "duration", None)
    if duration is None:
        return f"an analysis of type {model.analysis.type} has no duration; forward dynamics has one"
    n, text, whole = control.intervals, duration.text.strip(), duration.literal
    times = tuple(Number(f"({text})*{k}/{n}" if whole is None else whole * k / n) for k in range(control.count))
    wrong = ""
    try:
        starts = list(_starts(model, control, times))
    except ValueError as error:  # lists may name its values, which would be unknown otherwise
        wrong, starts = str(error), [control.bounds[0] if control.bounds else Number(0.0)] * control.count
    made = control.parameters(name)
    for k, (key, start) in enumerate(zip(made, starts, strict=True)):
        model.parameters[key] = Parameter.model_construct(value=start, unit=control.unit, bounds=control.bounds)
        model.note_made("parameters", key, ("controls", name))
        listed = isinstance(control.initial, tuple)
        model.source.stands_at[("parameters", key, "value")] = ("controls", name, "initial", *((k,) if listed else ()))
        model.source.stands_at[("parameters", key, "bounds")] = ("controls", name, "bounds")
    model.laws[name] = Spline.model_construct(
        type="spline", x=None, times=times, values=tuple(map(Number, made)), extrapolate="hold",
        between=control.between,
    )  # fmt: skip
    model.note_made("laws", name, ("controls", name))
    return wrong


def _expand_controls(review: Review, wrong: dict[str, str]) -> None:
    """Give forces their controls, and report what is wrong with these."""
    model = review.model
    for name, control in model.controls.items():
        path = ("controls", name)
        if wrong[name]:
            sentence, _, hint = wrong[name].partition("; ")
            review.report(path, sentence, hint or None, key=True)
        if control.force is None or wrong[name]:
            continue
        if not review.known((*path, "force"), control.force, "forces", "force") or control.force not in model.forces:
            continue
        force = model.forces[control.force]
        if "law" not in type(force).model_fields or force.type == "contact":
            hint = "drive, spring_damper, rotational_spring_damper, force and torque have one"
            review.report((*path, "force"), f"a force of type {force.type} takes no law of time", hint)
        elif getattr(force, "law", None) is not None:
            review.report((*path, "force"), f"{control.force!r} has a law already", "leave one of them out")
        else:
            model.forces[control.force] = force.model_copy(update={"law": name})


def _starts(model: ModelFile, control: Control, times: Iterable[Number]) -> Iterator[Number]:
    """Initial values; raises ValueError with a sentence."""
    given = control.initial
    if isinstance(given, tuple):
        if len(given) != control.count:
            values = f"{control.count} values" + " with both ends" * (control.between == "linear")
            hint = f"{control.intervals} intervals have {values}"
            raise ValueError(f"{len(given)} initial values stand for {control.count}; {hint}")
        yield from given
        return
    if isinstance(given, Number):
        yield from [given] * control.count
        return
    text = _formula(model, given.strip()) if given.strip() in model.laws else given
    for time in times:
        try:
            yield Number.read(_TIME.sub(f"({time.text})", text))
        except PydanticCustomError as error:
            raise ValueError(f"initial {given!r}: {error.message()}") from None


def _formula(model: ModelFile, name: str) -> str:
    """A law as an expression of t; raises ValueError for tables and laws in windows."""
    law = model.laws[name]

    def of(number: Number | None) -> str:
        return f"({number.text.strip()})" if number is not None else ""

    match law.type:
        case "constant":
            return of(law.value)
        case "polynomial":
            return " + ".join(f"{of(c)}*t**{k}" for k, c in enumerate(law.coefficients))
        case "harmonic":
            angular = of(law.angular_frequency) if law.frequency is None else f"2*pi*{of(law.frequency)}"
            return f"{of(law.offset)} + {of(law.amplitude)}*sin({angular}*t + {of(law.phase)})**{law.power}"
        case "smooth_step":
            return f"step5(t, {of(law.start)}, {of(law.from_)}, {of(law.end)}, {of(law.to)})"
        case "sum" if all(isinstance(part, str) for part in law.laws):
            return " + ".join(f"({_formula(model, str(part))})" for part in law.laws)
    raise ValueError(f"a law of type {law.type} cannot be where a control begins; write an expression of t, or a list")
