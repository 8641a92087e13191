"""Joints: frames on both bodies, coordinates with their initial values, and the equations of a cut joint."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mbsim_cli.assembly.tree.elastic import NodeJoint
from mbsim_cli.model.codes import EULER_PARAMETERS, JOINT_COLUMNS, ROTATIONS, TRANSLATIONS, Column, Joint, Measure
from mbsim_cli.spec import joints
from mbsim_cli.spec.geometry import (
    GROUND_NAME,
    IDENTITY,
    ZERO,
    Geometry,
    Matrix,
    Scalar,
    Vector,
    add,
    angle_between,
    apply,
    apply_transposed,
    axis_frames,
    euler_parameters,
    euler_rates,
    frame,
    product,
    relative,
    subtract,
    transpose,
    turn_about,
    universal_frames,
)
from mbsim_cli.spec.joints import EULER_NAMES

AnyJoint = joints.Joint | NodeJoint
Pose = tuple[Vector, Matrix]  # origin of a body, and its axes as columns
_TURNED = (Joint.REVOLUTE, Joint.PRISMATIC, Joint.UNIVERSAL, Joint.CYLINDRICAL)
_WITHOUT_ROTATION = (Joint.FIXED, Joint.PRISMATIC)


class Frames(NamedTuple):
    """Joint point and joint frame on body a and on body b, each in the body's own axes."""

    p_a: Vector
    R_a: Matrix
    p_b: Vector
    R_b: Matrix


class TreeColumn(NamedTuple):
    """A column of a tree joint: the coordinate it stands for, times ``sign``."""

    coordinate: str
    kind: Column
    sign: int


class Equation(NamedTuple):
    """An equation of a cut joint: a measure between axes of its frames, 0 x, 1 y, 2 z."""

    name: str
    kind: Measure
    axis_a: int
    axis_b: int = 0


_SAME_POINT = tuple(Equation(name, Measure.PROJECTION, axis) for axis, name in enumerate("xyz"))
_SAME_AXIS = (Equation("tilt_y", Measure.DOT, 0, 2), Equation("tilt_x", Measure.DOT, 1, 2))
_NO_TURN = Equation("turn", Measure.DOT, 0, 1)
CUT_EQUATIONS: dict[Joint, tuple[Equation, ...]] = {
    Joint.FIXED: (*_SAME_POINT, *_SAME_AXIS, _NO_TURN),
    Joint.REVOLUTE: (*_SAME_POINT, *_SAME_AXIS),
    Joint.PRISMATIC: (*_SAME_POINT[:2], *_SAME_AXIS, _NO_TURN),
    Joint.UNIVERSAL: (*_SAME_POINT, Equation("square", Measure.DOT, 2, 0)),
    Joint.CYLINDRICAL: (*_SAME_POINT[:2], *_SAME_AXIS),
    Joint.SPHERICAL: _SAME_POINT,
    Joint.FLOATING: (),
    Joint.PLANAR: (_SAME_POINT[2], *_SAME_AXIS),
}


def kind_of(spec: AnyJoint) -> Joint:
    """Code of a joint of the model file."""
    return Joint[spec.type.upper()]


def _names(spec: AnyJoint) -> tuple[str, ...]:
    """Names of the coordinates in ``initial``; joints of states and cables have another name for the displacement."""
    return ("displacement",) if spec.type == "prismatic" else spec.coordinates


HELD = dict(zip("xyz", TRANSLATIONS, strict=True))  # of its point, which a tree joint may keep at zero


def held_of(spec: AnyJoint) -> tuple[str, ...]:
    """Coordinates of a joint's point that constraints keep at zero, for their multipliers are the load of the joint."""
    return tuple(getattr(spec, "held", ()))


def tree_columns(spec: AnyJoint, backwards: bool) -> tuple[TreeColumn, ...]:
    """Columns of a tree joint in the order in which they act.

    Backwards they describe the inverse motion: the columns in reverse, negated. Where turning both frames by half a
    revolution about y negates them too (see ``tree_frames``), the coordinate keeps its sign; a conjugate quaternion
    keeps its scalar.
    """
    kind = kind_of(spec)
    columns = spec.columns if isinstance(spec, NodeJoint) else JOINT_COLUMNS[kind]
    named = [(name, HELD[name]) for name in held_of(spec)] + list(zip(spec.coordinates, columns, strict=True))
    if not backwards:
        return tuple(TreeColumn(name, column, 1) for name, column in named)
    euler = [pair for pair in named if pair[1] in EULER_PARAMETERS]
    turns = [pair for pair in named if pair[1] in ROTATIONS]
    shifts = [pair for pair in named if pair[1] in TRANSLATIONS]
    sign = 1 if kind in _TURNED else -1
    ordered = euler + turns[::-1] + shifts
    return tuple(TreeColumn(name, column, 1 if column == Column.EULER_0 else sign) for name, column in ordered)


def tree_frames(kind: Joint, frames: Frames, backwards: bool) -> tuple[Vector, Matrix, Vector, Matrix]:
    """p_P, R_P, p_C, R_C of a tree joint."""
    if not backwards:
        return frames.p_a, frames.R_a, frames.p_b, frames.R_b
    if kind in _TURNED:
        return frames.p_b, turn_about(frames.R_b, 1), frames.p_a, turn_about(frames.R_a, 1)
    return frames.p_b, frames.R_b, frames.p_a, frames.R_a


def joint_frames(geometry: Geometry, spec: Any) -> Frames:
    """Frames of a joint from its bodies, points and axes."""
    if isinstance(spec, NodeJoint):
        return Frames(spec.place(), IDENTITY, ZERO, IDENTITY)
    (a, b), kind = spec.bodies, kind_of(spec)
    p_a, p_b = (geometry.point(body, name) for body, name in zip(spec.bodies, both(spec.point), strict=True))
    reference = None
    if getattr(spec, "reference", None) is not None:
        references = both(spec.reference)
        reference = geometry.vector(a, references[0]), geometry.vector(b, references[1])
    if kind == Joint.UNIVERSAL:
        axes = geometry.vector(a, spec.axes[0]), geometry.vector(b, spec.axes[1])
        R_a, R_b = universal_frames(*axes, reference)
        return Frames(p_a, R_a, p_b, R_b)
    if getattr(spec, "axis", None) is None:
        posed = kind == Joint.FIXED and is_designed(geometry, spec)
        R_a = relative(geometry.orientation(a), geometry.orientation(b)) if posed else IDENTITY
        return Frames(p_a, R_a, p_b, IDENTITY)
    axis_a, axis_b = (geometry.vector(body, name) for body, name in zip(spec.bodies, both(spec.axis), strict=True))
    if reference is None and kind in _WITHOUT_ROTATION and is_designed(geometry, spec):
        # the design position determines the angle about the axis
        R_b = frame(axis_b)
        x_a = transpose(product(relative(geometry.orientation(a), geometry.orientation(b)), R_b))[0]
        return Frames(p_a, frame(axis_a, x_a), p_b, R_b)
    R_a, R_b = axis_frames(axis_a, axis_b, reference)
    return Frames(p_a, R_a, p_b, R_b)


def both(names: Any) -> tuple[str, str]:
    """A name for both bodies, or one for each."""
    if names is None:
        return ("origin", "origin")
    return (names, names) if isinstance(names, str) else tuple(names)


def is_designed(geometry: Geometry, spec: AnyJoint) -> bool:
    """Whether the file gives the design position of both bodies, directly or by a hardpoint."""
    return all(
        body == GROUND_NAME or geometry.is_placed(body, name)
        for body, name in zip(spec.bodies, both(spec.point), strict=True)
    )


def initial_position(geometry: Geometry, spec: AnyJoint) -> tuple[Scalar, ...]:
    """Initial coordinates in declared order: as stated, else from the design position, else zero."""
    stated = stated_position(geometry, spec)
    if all(value is not None for value in stated):
        return tuple(stated)
    if is_designed(geometry, spec):
        default = _coordinates(spec, *design_frames(geometry, spec, joint_frames(geometry, spec)))
    else:
        default = tuple(1.0 if name == "e0" else 0.0 for name in _names(spec))
    return tuple(d if s is None else s for s, d in zip(stated, default, strict=True))


def _initial(spec: Any, name: str) -> Any:
    """The initial value of a joint under a key of the file, or None."""
    return getattr(getattr(spec, "initial", None), name, None)


def stated_position(geometry: Geometry, spec: AnyJoint) -> list[Scalar | None]:
    """Initial coordinates in declared order as the file states them; None where it does not."""
    numbers, found = geometry.numbers, dict[str, Any]()
    for key, names in _OF_POSITION.items():
        if (stated := _initial(spec, key)) is not None:
            if key == "orientation":
                values = euler_parameters(geometry.rotation(stated))
            else:
                values = numbers.vector(stated if len(names) > 1 else (stated,))
            found |= zip(names, values, strict=key != "position")  # two in a plane
    return [found.get(name) for name in _names(spec)]


def position_at(geometry: Geometry, spec: AnyJoint, first: Pose, second: Pose) -> tuple[Scalar, ...]:
    """Coordinates that the joint has, in declared order, where its two bodies are."""
    return _coordinates(spec, *_between(joint_frames(geometry, spec), first, second))


def _coordinates(spec: AnyJoint, place: Vector, r: Matrix) -> tuple[Scalar, ...]:
    """Coordinates, from place and orientation of the second joint frame in the first."""
    (x, y, z), kind = place, kind_of(spec)
    if kind in (Joint.SPHERICAL, Joint.FLOATING):
        return (*((x, y, z) if kind == Joint.FLOATING else ()), *euler_parameters(r))
    angle = angle_between(r[0][0], r[1][0])
    values = {"x": x, "y": y, "displacement": z, "angle": angle, "angle_1": angle}
    if kind == Joint.UNIVERSAL:
        values["angle_2"] = angle_between(r[2][2], r[2][1])
    return tuple(values[name] for name in _names(spec))


def design_frames(geometry: Geometry, spec: AnyJoint, frames: Frames) -> tuple[Vector, Matrix]:
    """Place and orientation of the joint frame on the second body in that on the first, in the design position."""
    first, second = ((geometry.position(body), geometry.orientation(body)) for body in spec.bodies)
    return _between(frames, first, second)


def _between(frames: Frames, first: Pose, second: Pose) -> tuple[Vector, Matrix]:
    """The same where the two bodies are."""
    (place_a, turned_a), (place_b, turned_b) = first, second
    at_a = add(place_a, apply(turned_a, frames.p_a))
    at_b = add(place_b, apply(turned_b, frames.p_b))
    axes = product(turned_a, frames.R_a)
    r = product(transpose(axes), product(turned_b, frames.R_b))
    return apply_transposed(axes, subtract(at_b, at_a)), r


def initial_velocity(geometry: Geometry, spec: AnyJoint) -> tuple[Scalar, ...]:
    """Initial rates of the coordinates in declared order; zero where nothing is stated."""
    numbers, kind = geometry.numbers, kind_of(spec)

    def get(name: str, read: Callable, default: Any) -> Any:
        stated = _initial(spec, name)
        return default if stated is None else read(stated)

    if kind in (Joint.SPHERICAL, Joint.FLOATING):
        e = initial_position(geometry, spec)[-4:]
        rates = euler_rates(e, get("angular_velocity", numbers.vector, ZERO))
        return (*(get("velocity", numbers.vector, ZERO) if kind == Joint.FLOATING else ()), *rates)
    if kind == Joint.UNIVERSAL:
        return get("angle_rates", numbers.vector, (0.0, 0.0))
    turning = get("angular_velocity", numbers, 0.0) if "angle" in _names(spec) else 0.0
    if kind == Joint.PLANAR:
        return (*get("velocity", numbers.vector, (0.0, 0.0)), turning)
    sliding = get("velocity", numbers, 0.0) if "displacement" in _names(spec) else 0.0
    return tuple(turning if name == "angle" else sliding for name in _names(spec))


def independent(spec: AnyJoint) -> set[str]:
    """Coordinates that the file declares independent."""
    declared = _initial(spec, "independent")
    if declared is None or declared is False:
        return set()
    return set(_names(spec)) if declared is True else set(declared)


def is_guess(spec: Any) -> bool:
    """Whether the file marks the stated start of a joint as a guess."""
    return _initial(spec, "independent") is False


_OF_POSITION = {
    "angle": ("angle",),
    "displacement": ("displacement",),
    "position": ("x", "y", "z"),
    "angles": ("angle_1", "angle_2"),
    "orientation": EULER_NAMES,
}
_OF_VELOCITY = {
    "angular_velocity": ("angle", *EULER_NAMES),
    "velocity": ("displacement", "x", "y", "z"),
    "angle_rates": ("angle_1", "angle_2"),
}


def has_position(spec: AnyJoint) -> set[str]:
    """Coordinates whose initial values the file states."""
    return _stated(spec, _OF_POSITION)


def has_velocity(spec: AnyJoint) -> set[str]:
    """Coordinates whose initial rates the file states: where it names independent ones, those of the others follow."""
    named, stated = _initial(spec, "independent"), _stated(spec, _OF_VELOCITY)
    return stated if named is None or isinstance(named, bool) else stated & set(named)


def _stated(spec: AnyJoint, coordinates_of: dict[str, tuple[str, ...]]) -> set[str]:
    keys = [key for key in coordinates_of if _initial(spec, key) is not None]
    return {name for key in keys for name in coordinates_of[key]} & set(_names(spec))
