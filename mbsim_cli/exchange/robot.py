"""A mechanism in a form common to all formats, and its text as a model file.

Frames follow the other formats: a body's origin is the frame of the joint that connects it to its parent.
"""

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from mbsim_cli.errors import InputOutputError

GROUND = "ground"
NO_BODIES = (GROUND, "all")  # names that bodies of model files cannot have
NO_POINTS = ("origin", "center_of_mass")  # nor points, and joints, whose points have their names
_NO_NAMES = {*keyword.kwlist, "true", "TRUE", "FALSE", "false", "null", "Null", "NULL"}  # of expressions and YAML
INERTIA = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
FORCES = ("spring", "damping", "stop", "friction")  # of a joint, called JOINT_PART
_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}
_COORDINATES = {"revolute": "angle", "prismatic": "displacement"}
_RATES = {  # keys of initial velocities
    "revolute": ("angular_velocity",),
    "prismatic": ("velocity",),
    "spherical": ("angular_velocity",),
    "floating": ("velocity", "angular_velocity"),
}
_STOP_WAY = {"revolute": (1e4, 1e-2), "prismatic": (1e5, 1e-3)}  # stiffness and onset of stops, missing in files


@dataclass
class Body:
    """Mass [kg], centre of mass [m] and inertia about it [kg m^2], in the body's axes."""

    name: str
    mass: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    @property
    def is_massless(self) -> bool:
        """Whether neither mass nor inertia is given."""
        return not (self.mass or self.inertia.any())


@dataclass
class Joint:
    """A joint whose point and axes are stated in both bodies; they coincide where its coordinates are zero.

    ``places`` (2, 3) are the point in the axes of either body [m], ``turn`` (3, 3) the second body's axes in those of
    the first at zero coordinates, ``axis`` (3) the axis in the second body. ``limits`` [rad or m].
    """

    name: str
    kind: str
    bodies: tuple[str, str]
    places: np.ndarray
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0, 0]))
    limits: tuple[float, float] | None = None
    armature: float = 0.0
    damping: float = 0.0
    loss: float = 0.0  # dry friction
    stiffness: float = 0.0
    natural: float = 0.0  # coordinate where the spring is at rest
    start: float = 0.0
    rates: np.ndarray = field(default_factory=lambda: np.zeros(1))  # at the start, in the order and axes of model files
    closes: bool = False  # whether it closes a loop

    @property
    def coordinate(self) -> str:
        """Name of its coordinate; empty if it has none, or several."""
        part = _COORDINATES.get(self.kind)
        return f"{self.name}.{part}" if part else ""


@dataclass
class Coupling:
    """A linear constraint on coordinates: their sum, weighted by ``terms``, equals ``offset``."""

    name: str
    terms: dict[str, float]
    offset: float


@dataclass
class Line:
    """A spring with a damper along the line between two points; ``is_rigid``: their distance is constant instead.

    ``places`` (2, 3) are those of the points in the axes of their bodies [m], ``length`` that without force, or the
    constant one [m].
    """

    name: str
    bodies: tuple[str, str]
    places: np.ndarray
    length: float
    stiffness: float = 0.0
    damping: float = 0.0
    is_rigid: bool = False


@dataclass
class Motor:
    """A generalised force [N m or N] on the coordinate q of a joint: ``gear`` times f, of a motor or a servo.

    f = gain command + bias . (1, x, x'), x = gear (q + zero), and ``limits`` bound it, infinite where one end has none.
    """

    name: str
    joint: str
    gear: float
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    zero: float = 0.0
    limits: tuple[float, float] | None = None
    command: float = 0.0  # at the start
    range: tuple[float, float] | None = None  # of the command

    def value(self, coordinate: str) -> str:
        """The force as an expression of the model file."""
        if not any(self.bias) and self.limits is None:
            return f"{digits(self.gear * self.gain)}*{self.name}_command"
        constant, by_length, by_rate = self.bias
        terms = {
            f"{self.name}_command": self.gain,
            coordinate: by_length * self.gear,
            f"{coordinate}.velocity": by_rate * self.gear,
            "": constant + by_length * self.gear * self.zero,
        }
        signed = (("-" if factor < 0 else "+", digits(abs(factor)), name) for name, factor in terms.items() if factor)
        text = "".join(f" {sign} {size}{'*' * bool(name)}{name}" for sign, size, name in signed)
        text = text.removeprefix(" + ") or "0"
        low, high = self.limits or (-np.inf, np.inf)
        if np.isfinite([low, high]).all():
            text = f"clip({text}, {digits(low)}, {digits(high)})"
        else:  # one end at most
            text = f"max({text}, {digits(low)})" if np.isfinite(low) else text
            text = f"min({text}, {digits(high)})" if np.isfinite(high) else text
        return _quoted(text if self.gear == 1 else f"{digits(self.gear)}*({text})")


@dataclass
class Visual:
    """A mesh that pictures show of a body; ``file`` is its path in the imported file, later that in the model file."""

    body: str
    file: str
    scale: np.ndarray
    place: np.ndarray
    turn: np.ndarray


class Names(dict[str, str]):
    """Unique names of letters, digits and underscores, as model files require, by the names that they stand for."""

    def __init__(self, taken: Iterable[str] = ()):
        super().__init__()
        self._taken = _NO_NAMES | set(taken)

    def add(self, name: str) -> str:
        """Convert a further name."""
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "unnamed"
        plain = f"n{plain}" if plain[0].isdigit() or plain[0] == "_" else plain
        made, number = plain, 2
        while made in self._taken:
            made, number = f"{plain}_{number}", number + 1
        self._taken.add(made)
        self[name] = made
        return made


@dataclass
class Robot:
    """The content of a model file that is imported or exported; ``remarks`` list the parts left out."""

    name: str
    source: str
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    motors: list[Motor] = field(default_factory=list)
    sites: list[tuple[str, str, np.ndarray]] = field(default_factory=list)  # name, body, place
    visuals: list[Visual] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    # unique names of parts, by their names in a file of another format
    body_names: Names = field(default_factory=lambda: Names(NO_BODIES))
    joint_names: Names = field(default_factory=lambda: Names(NO_POINTS))


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion (w, x, y, z), which need not be of unit length."""
    w, x, y, z = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    first = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    second = [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    third = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.array([first, second, third])


def turn_onto(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A rotation matrix (3, 3) that turns one unit vector into another."""
    across, cosine = np.cross(one, other), float(one @ other)
    if cosine < -0.99:  # nearly opposite: first a turn by 180 degrees
        normal = np.eye(3)[np.argmin(np.abs(one))]
        normal = normal - (normal @ one) * one
        normal /= np.linalg.norm(normal)
        half = 2.0 * np.outer(normal, normal) - np.eye(3)
        return turn_onto(half @ one, other) @ half
    skew = np.array([[0, -across[2], across[1]], [across[2], 0, -across[0]], [-across[1], across[0], 0]])
    return np.eye(3) + skew + skew @ skew / (1.0 + cosine)


def distance_of(robot: Robot, line: Line, moved: bool) -> float:
    """The distance of the points of a line [m]: in the initial position if ``moved``, else at zero coordinates."""
    poses = {GROUND: (np.zeros(3), np.eye(3))}
    for joint in robot.joints:  # parents before children
        if joint.closes or joint.bodies[0] not in poses:
            continue
        place, turn = poses[joint.bodies[0]]
        own, shift = joint.turn, np.zeros(3)
        if moved and joint.kind == "revolute":
            own = own @ rotation_of(np.append(np.cos(joint.start / 2.0), np.sin(joint.start / 2.0) * joint.axis))
        elif moved and joint.kind == "prismatic":
            shift = own @ joint.axis * joint.start
        poses[joint.bodies[1]] = place + turn @ (joint.places[0] + shift - own @ joint.places[1]), turn @ own
    ends = zip(line.bodies, line.places, strict=True)
    first, second = (poses[body][0] + poses[body][1] @ place for body, place in ends)
    return float(np.linalg.norm(second - first))


def require_finite(robot: Robot) -> None:
    """Raise InputOutputError for numbers that are not finite; an end that has no limit may be infinite."""
    parts: list[Body | Joint | Coupling | Line | Motor] = [*robot.bodies, *robot.joints, *robot.couplings]
    for part in [*parts, *robot.lines, *robot.motors]:
        for key, value in vars(part).items():
            numbers = np.array([*value.values()] if isinstance(value, dict) else value)
            if key == "limits" and value is not None:
                numbers = np.where(numbers == (-np.inf, np.inf), 0.0, numbers)
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                raise InputOutputError(f"{robot.source}: {key} of {part.name} is not finite")


def move_inertias(robot: Robot) -> None:
    """Add mass and inertia of physically impossible bodies to those that they are fixed to; the motion is the same.

    Files of robots often state moments that violate the triangle inequalities; sums mostly satisfy them.
    """
    carriers = {joint.bodies[1]: joint for joint in robot.joints if not joint.closes}
    by_name = {body.name: body for body in robot.bodies}
    given = []
    for body in reversed(robot.bodies):  # leaves first, if the format lists parents before children
        joint = carriers.get(body.name)
        while not _is_physical(body) and joint is not None and joint.kind == "fixed":
            parent = by_name.get(joint.bodies[0])
            given.append(f"{body.name} to {joint.bodies[0]}")
            if parent is not None:
                _add(body, parent, joint)
            body.mass, body.center, body.inertia = 0.0, np.zeros(3), np.zeros((3, 3))
            if parent is None:
                break
            body, joint = parent, carriers.get(parent.name)
    if given:
        what = "inertias that no body can have, given to the body that each is fixed to, which moves alike"
        robot.remarks.append(f"{what}: {', '.join(given)}")
    for body in robot.bodies:
        if not _is_physical(body):
            robot.remarks.append(f"correct the inertia of {body.name}: no body can have it, and mbsim run refuses it")


def _is_physical(body: Body) -> bool:
    """Whether the inertia is valid in a model file."""
    from mbsim_cli.spec.rules.bodies import MEASURED

    moments = np.linalg.eigvalsh(body.inertia)
    slack = 0.9 * MEASURED * np.abs(body.inertia).max()
    return bool(body.mass >= 0 and moments[0] >= 0 and moments[0] + moments[1] >= moments[2] - slack)


def united(name: str, parts: list[Body]) -> Body:
    """A body with mass and inertia of several parts, all in the same axes."""
    whole = Body(name)
    for part in parts:
        _add(part, whole, Joint("", "fixed", ("", ""), np.zeros((2, 3))))
    return whole


def _add(body: Body, parent: Body, joint: Joint) -> None:
    """Add a body's mass and inertia to its parent."""
    center = joint.places[0] + joint.turn @ (body.center - joint.places[1])
    mass = parent.mass + body.mass
    common = (parent.mass * parent.center + body.mass * center) / mass if mass else parent.center
    before, added = _of_point(parent.mass, parent.center - common), _of_point(body.mass, center - common)
    parent.inertia = parent.inertia + before + joint.turn @ body.inertia @ joint.turn.T + added
    parent.mass, parent.center = mass, common


def _of_point(mass: float, place: np.ndarray) -> np.ndarray:
    """Inertia of a point mass about the origin."""
    return mass * (place @ place * np.eye(3) - np.outer(place, place))


def text_of(robot: Robot, stops: bool = False) -> str:
    """The text of the model file; limits of joints become bump stops, commented out unless ``stops``."""
    return "\n".join(_lines(robot, stops)) + "\n"


def _lines(robot: Robot, stops: bool) -> Iterator[str]:
    if not robot.joints:
        raise InputOutputError(f"{robot.source} has no joints")
    yield f"# Imported from {robot.source}. What is not taken over, and what needs your attention, stands at the end."
    yield "mbsim: 1"
    yield f"name: {_quoted(robot.name)}"
    yield f"gravity: {_vector(robot.gravity)}"
    yield ""
    yield "points:                     # in the axes of each body that a point belongs to [m]"
    for joint in robot.joints:
        first, second = joint.bodies
        yield f"  {joint.name}: {{{first}: {_vector(joint.places[0])}, {second}: {_vector(joint.places[1])}}}"
    for name, owner, place in robot.sites:
        yield f"  {name}: {{{owner}: {_vector(place)}}}"
    for line in robot.lines:
        first, second = (f"{body}: {_vector(place)}" for body, place in zip(line.bodies, line.places, strict=True))
        yield f"  {line.name}: {{{first}, {second}}}"
    yield ""
    yield from _vectors(robot)
    yield "bodies:"
    for body in robot.bodies:
        yield f"  {body.name}: {_mass(body, [visual for visual in robot.visuals if visual.body == body.name])}"
    yield ""
    yield "joints:"
    for joint in robot.joints:
        yield f"  {joint.name}: {_joint(joint)}"
    yield ""
    rigid = [line for line in robot.lines if line.is_rigid]
    if robot.couplings or rigid:
        yield "constraints:"
        for coupling in robot.couplings:
            terms = ", ".join(f"{name}: {digits(weight)}" for name, weight in coupling.terms.items())
            yield f"  {coupling.name}: {{type: coupling, terms: {{{terms}}}, offset: {digits(coupling.offset)}}}"
        for line in rigid:
            yield f"  {line.name}: {{type: distance, points: {_ends(line)}, distance: {digits(line.length)}}}"
        yield ""
    yield from _forces(robot, stops)
    if moving := [joint for joint in robot.joints if joint.coordinate and not joint.closes]:
        yield "sensors:"
        for joint in moving[:6]:
            yield f"  {joint.coordinate.replace('.', '_')}: {{type: coordinate, coordinate: {joint.coordinate}}}"
        yield ""
    yield "analysis: {type: forward_dynamics, step: 1e-3, duration: 1}"
    for sentence in robot.remarks:
        yield f"# {sentence}"


def _vectors(robot: Robot) -> Iterator[str]:
    """Lines of vectors: axes of joints that are no axes of both bodies, and vectors that define zero coordinates."""
    rows = []
    for joint in robot.joints:
        for name, axis in (("axis", joint.axis), ("zero", _across(joint))):
            if _needs(joint, name):
                first, second = joint.bodies
                stated = f"{{{first}: {_vector(joint.turn @ axis)}, {second}: {_vector(axis)}}}"
                rows.append(f"  {joint.name}_{name}: {stated}")
    if rows:
        yield "vectors:                    # _axis: of a joint, _zero: coincide at zero coordinates"
        yield from rows
        yield ""


def _needs(joint: Joint, name: str) -> bool:
    """Whether the joint needs a named vector for its axis, or for its zero."""
    aligned = np.array_equal(joint.turn, np.eye(3))
    if joint.kind in ("spherical", "floating"):
        return False
    if joint.kind == "fixed":
        return not aligned
    if name == "axis":
        return not (aligned and tuple(joint.axis) in _AXES)
    return not aligned or (joint.kind == "planar" and _AXES.get(tuple(joint.axis)) != "z")


def _across(joint: Joint) -> np.ndarray:
    """A unit vector (3,) orthogonal to the axis of a joint.

    That of a planar joint is the direction of its x: the x axis, turned by the least rotation from z to the axis.
    """
    axis = joint.axis
    if joint.kind == "planar":
        x, y, c = axis[0], axis[1], 1.0 + axis[2]
        return np.array([1.0 - x * x / c, -x * y / c, -x]) if c > 1e-12 else np.array([1.0, 0.0, 0.0])
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return across / np.linalg.norm(across)


def _visual(visual: Visual) -> str:
    entries = {"mesh": _quoted(visual.file)}
    if not np.array_equal(visual.scale, np.ones(3)):
        entries["scale"] = _vector(visual.scale)
    if visual.place.any():
        entries["position"] = _vector(visual.place)
    if not np.array_equal(visual.turn, np.eye(3)):
        entries["orientation"] = _orientation(visual.turn)
    return _mapping(entries)


def _mass(body: Body, visuals: list[Visual]) -> str:
    entries = {"mass": digits(body.mass)}
    if not body.is_massless:
        entries["center_of_mass"] = _vector(body.center)
        if inertia := {name: digits(body.inertia[at]) for name, at in INERTIA.items() if body.inertia[at]}:
            entries["inertia"] = _mapping(inertia)
    if visuals:
        entries["visuals"] = f"[{', '.join(map(_visual, visuals))}]"
    return _mapping(entries)


def _joint(joint: Joint) -> str:
    entries = {"type": joint.kind, "bodies": f"[{', '.join(joint.bodies)}]", "point": joint.name}
    initial: dict[str, str] = {}
    if joint.kind not in ("spherical", "floating"):
        if _needs(joint, "axis"):
            entries["axis"] = f"{joint.name}_axis"
        elif joint.kind != "fixed":
            entries["axis"] = _AXES[tuple(joint.axis)]
        if _needs(joint, "zero"):
            entries["reference"] = f"{joint.name}_zero"
    elif not np.array_equal(joint.turn, np.eye(3)) and not joint.closes:
        initial["orientation"] = _orientation(joint.turn)
    if joint.armature:
        entries["armature"] = digits(joint.armature)
    if joint.loss:
        entries["friction"] = f"{{loss: {digits(joint.loss)}}}"
    if joint.closes:
        entries["cut"] = "true"
    if joint.start and joint.coordinate:
        initial[_COORDINATES[joint.kind]] = digits(joint.start)
    if joint.rates.any():
        keys = _RATES[joint.kind]
        for key, part in zip(keys, np.split(joint.rates, len(keys)), strict=True):
            initial[key] = digits(part[0]) if joint.coordinate else _vector(part)
    if initial:
        entries["initial"] = _mapping(initial)
    return _mapping(entries)


def quaternion_of(turn: np.ndarray) -> np.ndarray:
    """Euler parameters (w, x, y, z) of a rotation matrix, w >= 0; the largest is computed first."""
    trace = np.trace(turn)
    squares = np.array([trace, *np.diag(turn)])
    largest = int(np.argmax(squares))
    skew = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    if largest == 0:
        found = np.array([1 + trace, *skew])
    else:
        i = largest - 1
        found = np.array([skew[i], *(turn[i] + turn[:, i])])
        found[1 + i] = 1 + 2 * turn[i, i] - trace
    found /= np.linalg.norm(found)
    return found if found[0] >= 0 else -found


def _forces(robot: Robot, stops: bool) -> Iterator[str]:
    kinds = {joint.name: joint for joint in robot.joints}
    rows = []
    for joint in robot.joints:
        force, turns = {"coordinate": joint.coordinate}, joint.kind == "revolute"
        if joint.stiffness:
            force = {"type": "rotational_spring_damper" if turns else "spring_damper"} | force
            force |= {"stiffness": digits(joint.stiffness), "damping": digits(joint.damping)}
            force["natural_angle" if turns else "natural_length"] = digits(joint.natural)
            rows.append(f"  {joint.name}_spring: {_mapping(force)}")
        elif joint.damping:
            force = {"type": "viscous_friction"} | force | {"damping": digits(joint.damping)}
            rows.append(f"  {joint.name}_damping: {_mapping(force)}")
    for line in robot.lines:
        if not line.is_rigid:
            force = {"type": "spring_damper", "points": _ends(line), "stiffness": digits(line.stiffness)}
            force |= {"damping": digits(line.damping), "natural_length": digits(line.length)}
            rows.append(f"  {line.name}: {_mapping(force)}")
    for motor in robot.motors:
        where = kinds[motor.joint].coordinate
        rows.append(f"  {motor.name}: {{type: drive, coordinate: {where}, value: {motor.value(where)}}}")
    limited = [joint for joint in robot.joints if joint.coordinate and np.isfinite(joint.limits or np.inf).any()]
    if rows or (limited and stops):
        yield "forces:"
        yield from rows
    if limited:
        yield "# Limits of joints, as stops; the format states no stiffness: check it."
        if not stops:
            yield "# Take away the # of those that you need (below forces:), or import with --stops."
        for joint in limited:
            ends = dict(zip(("minimum", "maximum"), joint.limits or (), strict=False))
            stated = {end: digits(value) for end, value in ends.items() if np.isfinite(value)}
            stop = {"type": "bump_stop", "coordinate": joint.coordinate, **stated}
            stop |= dict(zip(("stiffness", "onset"), map(digits, _STOP_WAY[joint.kind]), strict=True))
            yield f"{'' if stops else '#'}  {joint.name}_stop: {_mapping(stop)}"
    if rows or limited:
        yield ""
    if robot.motors:
        yield "parameters:                 # commands of the motors"
        for motor in robot.motors:
            bounds = {} if motor.range is None else {"bounds": _vector(np.array(motor.range))}
            yield f"  {motor.name}_command: {_mapping({'value': digits(motor.command)} | bounds)}"
        yield ""


def _ends(line: Line) -> str:
    """The points of a line, which have its name."""
    first, second = line.bodies
    return f"[{first}.{line.name}, {second}.{line.name}]"


def _mapping(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in entries.items()) + "}"


def _orientation(turn: np.ndarray) -> str:
    return _mapping({"euler_parameters": _vector(quaternion_of(turn))})


def _vector(numbers: np.ndarray) -> str:
    return f"[{', '.join(map(digits, numbers))}]"


def digits(value: float) -> str:
    """A number with full precision; integers without a decimal point."""
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
