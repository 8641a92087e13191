"""From Denavit-Hartenberg tables to ordinary bodies, joints, points and vectors; from ranges of coordinates to motions.

A row's joint turns about, or slides along, z of the frame before its constant transform. The points and vectors that
this takes are named ``ROW joint``, ``ROW axis`` and ``ROW zero``: with a blank, which no name of a file can have.
"""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.constraints import Motion
from mbsim_cli.spec.dh import Row, Table
from mbsim_cli.spec.expressions.number import formula
from mbsim_cli.spec.joints import AngleInitial, DisplacementInitial, Fixed, Prismatic, Revolute
from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.kinematics import Kinematics
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.source import Source

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
_INITIAL: dict[str, tuple[type[Spec], tuple[str, ...]]] = {
    "theta": (AngleInitial, ("angle", "angular_velocity", "independent")),
    "d": (DisplacementInitial, ("displacement", "velocity", "independent")),
    "none": (AngleInitial, ()),
}


def expand(review: Review) -> None:
    """Add to a model what its tables stand for."""
    model = review.model
    known = {GROUND, *model.bodies, *(body for table in model.dh.values() for body in _bodies(table).values())}
    for name, table in model.dh.items():
        bodies, before = _bodies(table), _parent(review, ("dh", name, "base"), table.base, known)
        for row, spec in table.rows.items():
            path = ("dh", name, "rows", row)
            taken = list(_taken(model, row, bodies[row]))
            for message in taken:
                review.report(path, message, "give the row or its link another name")
            if not taken:
                parent = before if spec.parent is None else bodies.get(spec.parent, spec.parent)
                _add_row(model, table, row, _parent(review, (*path, "parent"), parent, known), bodies[row])
                _remember(review.source, path, row, spec, bodies[row])
            for message in _stray_initial(spec) if review.intact("dh") else ():
                review.report((*path, "initial"), message)
            before = bodies[row]


def _bodies(table: Table) -> dict[str, str]:
    """Body of each row."""
    return {row: _body_name(row, spec) for row, spec in table.rows.items()}


def _parent(review: Review, path: tuple[str, ...], name: str, known: set[str]) -> str:
    """The name, or the ground where nothing has it."""
    if name in known:
        return name
    if review.intact("bodies") and review.intact("dh"):
        review.report(path, f"unknown row or body {name!r}", review.suggest(name, known))
    return GROUND


def _body_name(row: str, spec: Row) -> str:
    return row if spec.link is None or spec.link.name is None else spec.link.name


def _taken(model: ModelFile, row: str, body: str) -> Iterator[str]:
    if row in model.joints:
        yield f"{row!r} is also a joint"
    if body in model.bodies:
        yield f"{body!r} is also a body"


def _stray_initial(spec: Row) -> Iterator[str]:
    known = _INITIAL[spec.variable][1]
    for key in sorted(spec.initial.model_fields_set if spec.initial is not None else ()):
        if key not in known:
            what = {"theta": "is revolute", "d": "is prismatic", "none": "does not move"}[spec.variable]
            yield f"{key!r} does not fit a row that {what}"


def _add_row(model: ModelFile, table: Table, row: str, parent: str, body: str) -> None:
    spec = table.rows[row]
    point, axis, zero = (f"{row} {what}" for what in ("joint", "axis", "zero"))
    numbers = {name: getattr(spec, name) for name in ("theta", "d", "a", "alpha")}
    at, along, towards = ([[formula(e, numbers) for e in side] for side in both] for both in _FRAMES[table.convention])
    if spec.sign < 0:
        along = [[formula("-u", {"u": entry}) for entry in side] for side in along]
    model._made.update((("points", point), ("vectors", axis), ("vectors", zero), ("bodies", body), ("joints", row)))
    model.points[point] = dict(zip((parent, body), at, strict=True))
    model.vectors[axis] = dict(zip((parent, body), along, strict=True))
    model.vectors[zero] = dict(zip((parent, body), towards, strict=True))
    link = {} if spec.link is None else {key: getattr(spec.link, key) for key in spec.link.model_fields_set - {"name"}}
    model.bodies[body] = Body.model_construct(**link)  # its parts are validated already
    common: dict[str, Any] = {"bodies": [parent, body], "point": point, "axis": axis, "reference": zero}
    if spec.variable == "none":
        model.joints[row] = Fixed.model_validate({"type": "fixed", **common})
        return
    kind, keys = _INITIAL[spec.variable]
    given = {key: getattr(spec.initial, key) for key in keys if spec.initial is not None}
    common["initial"] = kind.model_validate({key: value for key, value in given.items() if value is not None})
    if spec.variable == "d":
        model.joints[row] = Prismatic.model_validate({"type": "prismatic", **common})
    else:
        model.joints[row] = Revolute.model_validate({"type": "revolute", **common})


def _remember(source: Source, path: tuple[str, ...], row: str, spec: Row, body: str) -> None:
    """Let what is said about the made items point to the table."""
    source.stands_at[("joints", row)] = path
    source.stands_at[("bodies", body)] = path if spec.link is None else (*path, "link")
    for section, what in (("points", "joint"), ("vectors", "axis"), ("vectors", "zero")):
        source.stands_at[(section, f"{row} {what}")] = path


def expand_sweep(review: Review) -> None:
    """Add a motion to the constraints for every range: uniform from end to end, in the whole duration."""
    model, analysis = review.model, review.model.analysis
    if not isinstance(analysis, Kinematics):
        return
    for coordinate, given in analysis.sweep.items():
        name, path = f"sweep_{coordinate.replace('.', '_')}", ("analysis", "sweep", coordinate)
        if name in model.constraints:
            review.report(path, f"{name!r} is also a constraint", "give that one another name", key=True)
            continue
        rate = formula("(b - a)/T", {"a": given.from_, "b": given.to, "T": analysis.lasts})
        law = {"type": "polynomial", "coefficients": [given.from_, rate]}
        model._made.add(("constraints", name))
        model.constraints[name] = Motion.model_validate({"type": "motion", "coordinate": coordinate, "law": law})
        review.source.stands_at[("constraints", name)] = path
