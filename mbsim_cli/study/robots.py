"""From a model to a robot that other formats can state: its tree of bodies and joints, joint by joint."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.position.closing import solved
from mbsim_cli.assembly.tree.joints import TreeColumn, joint_frames, kind_of, tree_columns, tree_frames
from mbsim_cli.assembly.tree.kinematics import SYMMETRIC
from mbsim_cli.assembly.tree.system import System, held_as_in_run, unfolded_system
from mbsim_cli.errors import UsageError, counted
from mbsim_cli.exchange.robot import GROUND, Body, Coupling, Joint, Line, Motor, Robot, distance_of, rotation_of
from mbsim_cli.model.codes import ROTATIONS, TRANSLATIONS
from mbsim_cli.spec.expressions.number import is_moving
from mbsim_cli.spec.geometry import Geometry, mass_properties, split
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import Settings, build, load

_WORLD = "world"  # what other formats call the ground
_LINEAR = {"type", "points", "coordinate", "stiffness", "damping", "natural_length", "natural_angle", "description"}
_WHOLE = ("fixed", "spherical", "floating")  # joints that are no chain of single coordinates


def robot_of(path: Path, overrides: Mapping[str, str]) -> Robot:
    """The robot of a model file, with remarks on what it lacks; raises ModelError, UsageError, InputOutputError.

    A joint of several coordinates that turn or shift one after the other becomes a chain with bodies without mass.
    """
    settings = Settings(overrides=dict(overrides))
    file = load(path, settings)
    if deforming := [name for name, body in file.bodies.items() if getattr(body, "flexible", None) is not None]:
        raise UsageError(f"other formats have no bodies that deform; {deforming[0]} does")
    assembled = build(file, settings, [])
    if assembled.states:
        raise UsageError(f"other formats have no states; {assembled.states[0]} is one")
    system = unfolded_system(held_as_in_run(file, ()), None)  # joints of other programs hold their points themselves
    numbers = system.geometry.numbers
    gravity = np.array(numbers.vector(file.gravity), dtype=float)
    robot = Robot(file.name or path.stem, path.name, gravity)
    names, n = assembled.equations.problem.names.coordinates, len(assembled.closing.z)
    theta = assembled.problem.theta
    theta, _ = solved(assembled.equations, assembled.closing, theta, np.zeros((theta.size, 0)))
    first = assembled.equations.problem.model.tree.initial[0] + n
    rates = theta[first : first + n]  # those that close the loops
    start = dict(zip(names, zip(assembled.closing.z.tolist(), rates.tolist(), strict=True), strict=True))
    tree = _Tree(system, robot, start)
    tree.add()
    _Forces(file, system.geometry, robot, tree).add()
    return robot


class _Tree:
    """Adds bodies and joints: those of the spanning tree, then those that close its loops."""

    def __init__(self, system: System, robot: Robot, start: Mapping[str, tuple[float, float]]):
        self._system, self._robot, self._start = system, robot, start
        self.joints: dict[str, Joint] = {}  # by the coordinate of the model
        self.friction: dict[str, bool] = {}  # by force: whether its joint states it
        self.named = {name: name for name in system.topology.bodies} | {GROUND: GROUND}  # bodies in the robot
        if _WORLD in self.named:
            self.named[_WORLD] = _unlike(_WORLD, self.named)
            robot.remarks.append(f"body {_WORLD} is called {self.named[_WORLD]}: it is the ground in other formats")
        self._bodies, self._chained = set(self.named.values()), set(system.joints)

    def add(self) -> None:
        topology = self._system.topology
        order = sorted(range(len(topology.bodies)), key=topology.depth().__getitem__)
        for number in order:
            name, parent = topology.bodies[number], topology.parent[number]
            before = self.named[GROUND if parent < 0 else topology.bodies[parent]]
            self._add_joint(topology.joints[number], before, self.named[name], topology.reversed[number])
            geometry = self._system.geometry
            mass, center, inertia = mass_properties(geometry.numbers, geometry, name)
            tensor = np.array(inertia, dtype=float)[SYMMETRIC]
            own = self.named[name]
            self._robot.bodies.append(Body(own, float(mass), np.array(center, dtype=float), tensor))
        for name in topology.cut:
            spec = self._system.joints[name]
            frames = joint_frames(self._system.geometry, spec)
            places, turn = _relative(frames.p_a, frames.R_a, frames.p_b, frames.R_b)
            first, second = (self.named[body] for body in spec.bodies)
            axis = np.array(frames.R_b, dtype=float)[:, 2]
            self._robot.joints.append(Joint(name, spec.type, (first, second), places, turn, axis, closes=True))

    def _add_joint(self, name: str, before: str, body: str, backwards: bool) -> None:
        spec = self._system.joints[name]
        frames = joint_frames(self._system.geometry, spec)
        p_P, R_P, p_C, R_C = tree_frames(kind_of(spec), frames, backwards)
        places, turn = _relative(p_P, R_P, p_C, R_C)
        columns = tree_columns(spec, backwards)
        if spec.type in _WHOLE:
            made = Joint(name, spec.type, (before, body), places, turn)
            if spec.type != "fixed":
                self._pose(made, columns, [self._at(name, column) for column in columns], R_P, R_C)
            self._robot.joints.append(made)
            return
        axes_C = np.array(R_C, dtype=float)
        for number, column in enumerate(columns):
            last = number == len(columns) - 1
            axis = axes_C[:, (*TRANSLATIONS, *ROTATIONS).index(column.kind) % 3]
            after = body if last else _unlike(f"{name}_{number + 1}", self._bodies)
            self._bodies.add(after)
            kind = "revolute" if column.kind in ROTATIONS else "prismatic"
            called = name if len(columns) == 1 else _unlike(f"{name}_{column.coordinate}", self._chained)
            self._chained.add(called)
            # in between, bodies without mass have the child's axes and stand at the joint's point
            own = np.array([places[0] if number == 0 else np.zeros(3), places[1] if last else np.zeros(3)])
            made = Joint(called, kind, (before, after), own, turn if number == 0 else np.eye(3), axis)
            made.axis = made.axis * column.sign
            start, rate = self._at(name, column)
            made.start, made.rates = start * column.sign, np.array([rate * column.sign])
            stated = getattr(spec, "armature", None)
            made.armature = 0.0 if stated is None else float(self._system.geometry.numbers(stated))
            self._add_friction(made, name, column.coordinate, getattr(spec, "friction", None))
            self._robot.joints.append(made)
            self.joints[f"{name}.{column.coordinate}"] = made
            if not last:
                self._robot.bodies.append(Body(after))
            before = after

    def _add_friction(self, made: Joint, joint: str, coordinate: str, friction: Any) -> None:
        """State dry friction of a given size, and its viscous part."""
        force = f"{joint}_friction"
        if isinstance(friction, dict):
            friction, force = friction.get(coordinate), f"{joint}_{coordinate}_friction"
        if friction is None:
            return
        self.friction[force] = friction.loss is not None
        if friction.loss is not None:
            made.loss, made.damping = map(float, map(self._system.geometry.numbers, (friction.loss, friction.viscous)))
        if friction.breakaway is not None:
            self._robot.remarks.append(f"not stated: the breakaway friction of {made.name}")

    def _at(self, joint: str, column: TreeColumn) -> tuple[float, float]:
        """Initial value and rate of the coordinate of a column of the tree."""
        return self._start[("-" if column.sign < 0 else "") + f"{joint}.{column.coordinate}"]

    def _pose(
        self, made: Joint, columns: Sequence[TreeColumn], start: Sequence[tuple[float, float]], R_P: Any, R_C: Any
    ) -> None:
        """Put a body on a floating or spherical joint where it begins: formats know its pose, not its coordinates."""
        first, second = np.array(R_P, dtype=float), np.array(R_C, dtype=float)
        shifts = [of for of, column in zip(start, columns, strict=True) if column.kind in TRANSLATIONS]
        turns = [of for of, column in zip(start, columns, strict=True) if column.kind not in TRANSLATIONS]
        (shift, velocity), (e, rates) = np.array(shifts or [(0.0, 0.0)] * 3).T, np.array(turns).T
        turned = rotation_of(e)
        spin = 2.0 * (e[0] * rates[1:] - rates[0] * e[1:] + np.cross(e[1:], rates[1:]))
        if shifts and columns[0].kind not in TRANSLATIONS:  # backwards the rotation acts before the shift
            shift, velocity = turned @ shift, turned @ velocity + np.cross(spin, turned @ shift)
        made.places = np.array([made.places[0] + first @ shift, made.places[1]])
        made.turn = first @ turned @ second.T
        made.rates = first @ spin if made.kind == "spherical" else np.concatenate([first @ velocity, first @ spin])


def _unlike(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores added where another part has it."""
    while name in taken:
        name += "_"
    return name


def _relative(p_a: Any, R_a: Any, p_b: Any, R_b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points of a joint in both bodies, and the second body's axes in the first's where its frames coincide."""
    turn = np.array(R_a, dtype=float) @ np.array(R_b, dtype=float).T
    turn[np.abs(turn) < 4e-16] = 0.0  # round-off of axes that are those of the body
    turn[np.abs(np.abs(turn) - 1.0) < 4e-16] = np.sign(turn[np.abs(np.abs(turn) - 1.0) < 4e-16])
    return np.array([p_a, p_b], dtype=float), turn


class _Forces:
    """Gives joints what forces along their coordinates do, adds couplings, lines and motors, and lists the rest."""

    def __init__(self, file: ModelFile, geometry: Geometry, robot: Robot, tree: _Tree):
        self._file, self._geometry, self._robot, self._tree = file, geometry, robot, tree
        self._joints, self._friction = tree.joints, tree.friction
        self._number = lambda number: 0.0 if number is None else float(geometry.numbers(number))

    def add(self) -> None:
        file, remarks = self._file, self._robot.remarks
        forces = {name: spec for name, spec in file.forces.items() if name not in file.calls.values()}
        not_stated = [f"{name} ({spec.type})" for name, spec in forces.items() if not self._take(name, spec)]
        for name, spec in file.constraints.items():
            weights = getattr(spec, "terms", None)
            if spec.type == "coupling" and weights and all(term in self._joints for term in weights):
                factors = {term: self._number(weight) for term, weight in weights.items()}
                pairs = [(self._joints[term], factor) for term, factor in factors.items() if factor]
                at_start = sum(weight * joint.start for joint, weight in pairs)
                offset = at_start if spec.offset == "auto" else self._number(spec.offset)
                terms = {joint.coordinate: weight for joint, weight in pairs}
                self._robot.couplings.append(Coupling(name, terms, offset))
            elif spec.type == "distance" and spec.law is None:
                self._add_line(name, spec, spec.distance).is_rigid = True
            else:
                not_stated.append(f"{name} ({spec.type})")
        if not_stated:
            remarks.append(f"not stated: {', '.join(not_stated)}")
        for noun in ("sensor", "objective"):
            section = f"{noun}s"
            if count := sum((section, name) not in file.derived.made for name in getattr(file, section)):
                remarks.append(f"not stated: {counted(count, noun)}")

    def _take(self, name: str, spec: Any) -> bool:
        """Whether a force is taken over."""
        if name in self._friction:
            return self._friction[name]
        joint = self._joints.get(getattr(spec, "coordinate", None) or "")
        numbers = [getattr(spec, key, None) for key in ("stiffness", "damping")]
        moves = any(number is not None and is_moving(number, self._file.expressions) for number in numbers)
        if moves or getattr(spec, "law", None) is not None:
            return False
        if spec.type == "spring_damper" and joint is None and spec.points and not spec.model_fields_set - _LINEAR:
            stiffness, damping = self._number(spec.stiffness), self._number(spec.damping)
            if stiffness or damping:
                line = self._add_line(name, spec, spec.natural_length)
                line.stiffness, line.damping = stiffness, damping
            return True
        if joint is None:
            return False
        if spec.type == "viscous_friction":
            joint.damping += self._number(spec.damping)
            return True
        if spec.type in ("spring_damper", "rotational_spring_damper") and not joint.stiffness:
            if spec.model_fields_set - _LINEAR:
                return False
            joint.stiffness, joint.damping = self._number(spec.stiffness), joint.damping + self._number(spec.damping)
            natural = getattr(spec, "natural_angle", getattr(spec, "natural_length", None))
            joint.natural = joint.start if natural == "auto" else self._number(natural)
            return True
        if spec.type == "bump_stop" and joint.limits is None and None not in (spec.minimum, spec.maximum):
            joint.limits = self._number(spec.minimum), self._number(spec.maximum)
            self._robot.remarks.append(f"{name} is stated as a limit of {joint.name}; its stiffness is not")
            return True
        if spec.type == "drive":
            self._robot.motors.append(Motor(name, joint.name, 1.0))
            motor = f"{name} is stated as a motor of {joint.name}, whose control is its force"
            self._robot.remarks.append(f"{motor}; its value is not")
            return True
        return False

    def _add_line(self, name: str, spec: Any, length: Any) -> Line:
        """A line between the points of a force or constraint."""
        ends = [split(point) for point in spec.points]
        one, other = (self._tree.named[body] for body, _ in ends)
        places = np.array([self._geometry.point(*end) for end in ends], dtype=float)
        line = Line(name, (one, other), places, 0.0)
        line.length = distance_of(self._robot, line, moved=True) if length == "auto" else self._number(length)
        self._robot.lines.append(line)
        return line
