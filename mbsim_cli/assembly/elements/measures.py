"""Measures, scalar functions of the configuration, and constraints: measures that equal targets."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.parameters.numbers import integers, table
from mbsim_cli.assembly.tree.joints import CUT_EQUATIONS, held_of, initial_position, joint_frames, kind_of
from mbsim_cli.assembly.tree.system import Coordinate, System, unit_of
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model.codes import Column, Measure
from mbsim_cli.model.layout import MEASURE_SIZE, NONE, Constraints, Curves, Followers, Laws, Measures
from mbsim_cli.spec.families import Constraint
from mbsim_cli.spec.geometry import ZERO, Geometry, Scalar, Vector, frame, scale, split, transpose, unit, without
from mbsim_cli.spec.joints import EULER_NAMES

_UNITS = {Measure.PROJECTION: "m", Measure.DISTANCE: "m", Measure.ANGLE: "rad"}  # of others 1
_CUT_AXES = {"x": 0, "y": 1, "displacement": 2}  # joint axis that a translation of a cut joint is projected on


class MeasureRow(NamedTuple):
    """A measure as ``Measures`` has it; ``curve`` is a law, or NONE."""

    kind: int
    pair: int
    offset: int
    coordinates: list[int]
    curve: int


class MeasureTable:
    """Collects measures; equal requests by the user's names give one measure."""

    def __init__(self, system: System, pairs: PairTable):
        self._system, self._geometry, self._theta, self.pairs = system, system.geometry, system.theta, pairs
        self.rows: list[MeasureRow] = []
        self._known: dict[tuple, int] = {}

    def table(self, laws: Laws | None = None) -> Measures:
        """The measures as arrays; those with curves need the table of ``laws``."""
        kind, pair, offset, coordinates, curve = zip(*self.rows, strict=True) if self.rows else ((),) * 5
        first, flat = np.cumsum([0, *map(len, coordinates)]), chain.from_iterable(coordinates)
        found = table(Measures, kind=kind, pair=pair, theta=offset, first=first, coordinate=flat)
        if laws is None or set(curve) <= {NONE}:
            return found
        return found._replace(curves=Curves(integers(curve), laws))

    def unit(self, measure: int) -> str:
        """Unit of a measure; a weighted sum counts in that of its first coordinate."""
        row = self.rows[measure]
        if row.kind == Measure.COORDINATES:
            return unit_of(self._system.columns[row.coordinates[0]][1].coordinate)
        return _UNITS.get(Measure(row.kind), "1")

    def keep(self, wanted: Sequence[int]) -> list[int]:
        """Drop all other measures; return the new numbers of those kept."""
        kept = sorted(set(wanted))
        new = {old: number for number, old in enumerate(kept)}
        self.rows = [self.rows[old] for old in kept]
        self._known = {key: new[old] for key, old in self._known.items() if old in new}
        return [new[old] for old in wanted]

    def distance(self, points: Sequence[str], apart: float = 0.0) -> int:
        """Distance of two points "body.name", or with ``apart`` a smooth one: sqrt(d . d + apart^2)."""
        key = (Measure.DISTANCE, *points, apart)
        if key not in self._known:
            (a, p), (b, q) = map(split, points)
            smooth = apart, 0.0, 0.0
            self._known[key] = self.between(Measure.DISTANCE, a, b, lambda g: (g.point(a, p), g.point(b, q), smooth))
        return self._known[key]

    def angle(self, vectors: Sequence[str], axis: str, path: str) -> int:
        """Angle from one vector to another about an axis fixed to one of their bodies."""
        key = (Measure.ANGLE, *vectors, axis)
        if key not in self._known:
            (a, u), (b, v), (c, n) = map(split, (*vectors, axis))
            sign = 1.0
            if c not in (a, b):
                message = f"{axis!r} must be of body {a!r} or {b!r}, whose vectors it is about"
                self._system.issue(f"{path}.axis", message)
            if c != a:  # the angle of u from v about the opposite axis is the same
                (a, u), (b, v), sign = (b, v), (a, u), -1.0

            def block(g: Geometry) -> tuple[Vector, ...]:
                normal = unit(scale(sign, g.vector(c, n)))
                return ZERO, ZERO, unit(without(g.vector(a, u), normal)), unit(g.vector(b, v)), normal

            self._known[key] = self.between(Measure.ANGLE, a, b, block)
        return self._known[key]

    def projection(self, carrier: str, direction: str, origin: str, point: str, axis: int | None = None) -> int:
        """Component, along a direction of body ``carrier``, of the vector from its point to a point "body.name".

        With an ``axis`` (0, 1) along this one of the frame whose third axis is the direction.
        """
        b, p = split(point)

        def block(g: Geometry) -> tuple[Vector, ...]:
            along = g.vector(carrier, direction)
            along = unit(along) if axis is None else transpose(frame(along))[axis]
            return g.point(carrier, origin), g.point(b, p), along

        return self.between(Measure.PROJECTION, carrier, b, block)

    def coordinate(self, name: str, path: str) -> int:
        """A joint coordinate "JOINT.coordinate", of a tree joint or of a cut one."""
        key = (Measure.COORDINATES, name)
        if key not in self._known:
            coordinate = self._system.coordinate(name)
            if coordinate.column == NONE:
                self._known[key] = self._of_cut_joint(coordinate, path)
            else:
                sign = float(coordinate.sign)
                self._known[key] = self.combination([coordinate.column], lambda: (sign,))
        return self._known[key]

    def combination(self, columns: list[int], coefficients: Callable[[], Sequence[Scalar]], curve: int = NONE) -> int:
        """Weighted sum of tree coordinates, less a law ``curve`` of the last one times a further coefficient."""
        return self._append(Measure.COORDINATES, NONE, self._theta.add(coefficients), columns, curve)

    def euler_norm(self, first_column: int) -> int:
        """Square of the norm of four Euler parameters."""
        return self._append(Measure.EULER_NORM, NONE, 0, list(range(first_column, first_column + 4)))

    def between_frames(self, joint: str, kind: Measure, axis_a: int, axis_b: int) -> int:
        """Measure between axes (0 x, 1 y, 2 z) of the two frames of a joint."""
        spec = self._system.joints[joint]

        def block(g: Geometry) -> tuple[Vector, ...]:
            frames = joint_frames(g, spec)
            return frames.p_a, frames.p_b, transpose(frames.R_a)[axis_a], transpose(frames.R_b)[axis_b], ZERO

        return self.between(kind, spec.bodies[0], spec.bodies[1], block)

    def between(self, kind: Measure, a: str, b: str, block: Callable[[Geometry], Sequence[Vector]]) -> int:
        """Geometric measure; ``block`` gives p_a, p_b, u_a, u_b, n_a, or the first few of them."""
        geometry = self._geometry

        def numbers() -> list[Scalar]:
            given = [component for vector in block(geometry) for component in vector]
            return given + [0.0] * (MEASURE_SIZE - len(given))

        index = self._system.topology.index
        pair = self.pairs.number(index[a], index[b])
        return self._append(kind, pair, self._theta.add(numbers), [])

    def _append(self, kind: Measure, pair: int, offset: int, coordinates: list[int], curve: int = NONE) -> int:
        self.rows.append(MeasureRow(int(kind), pair, offset, coordinates, curve))
        return len(self.rows) - 1

    def _of_cut_joint(self, coordinate: Coordinate, path: str) -> int:
        """Coordinate of a cut joint, measured between its frames."""
        if coordinate.name in EULER_NAMES:
            message = f"joint {coordinate.joint!r} is cut, so it has no Euler parameters"
            self._system.issue(path, message, coordinate.uncut)
        spec, name = self._system.joints[coordinate.joint], coordinate.name
        if name in _CUT_AXES:
            return self.between_frames(coordinate.joint, Measure.PROJECTION, _CUT_AXES[name], 0)
        a, b = spec.bodies
        backwards = name == "angle_2"  # turns about an axis of b, which is then the first body
        first, second = (b, a) if backwards else (a, b)
        place = self._system.declared_order(coordinate.joint).index(name)

        def block(g: Geometry) -> tuple[Vector, ...]:
            near, frames = (initial_position(g, spec)[place], 0.0, 0.0), joint_frames(g, spec)
            (x_a, _, z_a), (x_b, _, z_b) = transpose(frames.R_a), transpose(frames.R_b)
            return near, ZERO, *((z_b, z_a, scale(-1.0, x_b)) if backwards else (x_a, x_b, z_a))

        return self.between(Measure.ANGLE, first, second, block)


class Identity(NamedTuple):
    """A geometric measure that no coordinate changes, theta index of its target (``automatic``: itself), its law."""

    name: str
    kind: int
    pair: int
    block: int
    target: int
    law: int
    automatic: bool


class EquationRow(NamedTuple):
    """An equation as ``Constraints`` has it; an ``automatic`` target is the measure's initial value."""

    name: str
    measure: int
    offset: int
    law: int
    automatic: bool
    follower: int  # column, or NONE


class ConstraintTable:
    """Collects equations."""

    def __init__(self, system: System, measures: MeasureTable, laws: LawTable):
        self._system, self.measures, self._laws = system, measures, laws
        self.rows: list[EquationRow] = []

    @property
    def names(self) -> list[str]:
        """Name of every equation."""
        return [row.name for row in self.rows]

    @property
    def measure(self) -> list[int]:
        """Measure of every equation."""
        return [row.measure for row in self.rows]

    def table(self) -> Constraints:
        """The equations as arrays."""
        _, measure, offset, law, _, follower = zip(*self.rows, strict=True) if self.rows else ((),) * 6
        found = table(Constraints, measure=measure, theta=offset, law=law)
        return found._replace(followers=Followers(integers(follower))) if self.followers.size else found

    @property
    def followers(self) -> np.ndarray:
        """Columns that equal measures."""
        return integers(row.follower for row in self.rows if row.follower != NONE)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of every equation."""
        return tuple(map(self.measures.unit, self.measure))

    def add_joints(self) -> None:
        """Equations of joints: norms of Euler parameters, cut joints, and held points, whose multipliers are loads."""
        for first, (joint, column) in enumerate(self._system.columns):
            if column.kind == Column.EULER_0:
                self.add(f"{joint}.norm", self.measures.euler_norm(first), lambda: (1.0,))
        for name in self._system.topology.cut:
            for equation in CUT_EQUATIONS[kind_of(self._system.joints[name])]:
                measure = self.measures.between_frames(name, equation.kind, equation.axis_a, equation.axis_b)
                self.add(f"{name}.{equation.name}", measure, lambda: (0.0,))
        for name in self._system.topology.joints:
            for coordinate in held_of(self._system.joints[name]):
                reference = f"{name}.{coordinate}"
                self.add(reference, self.measures.coordinate(reference, ""), lambda: (0.0,))

    def add_declared(self, name: str, spec: Constraint) -> None:
        """Equations of a constraint of the model file."""
        measures, path = self.measures, f"constraints.{name}"
        given = getattr(spec, "law" if spec.type != "coupling" else "winch", None)  # of time
        law = self._laws.number(given, f"{path}.law")
        match spec.type:
            case "distance":
                followed = getattr(spec, "coordinate", None)  # of a part of a cable
                follower = NONE if followed is None else self._system.coordinate(followed).column
                self._add_target(name, measures.distance(spec.points), spec.distance, law, follower)
            case "angle":
                self._add_target(name, measures.angle(spec.vectors, spec.axis, path), spec.angle, law)
            case "coupling" if spec.of is not None:
                curve = self._laws.number(spec.law, f"{path}.law", of_time=False)
                self._add_target(name, self._coupling(spec, path, curve), spec.target)
            case "coupling" | "gear" | "rack" | "screw":
                self._add_target(name, self._coupling(spec, path), spec.offset, law)
            case "motion":
                self._add_target(name, measures.coordinate(spec.coordinate, f"{path}.coordinate"), spec.offset, law)
            case "point_on_plane":
                (carrier, origin), (_, normal) = split(spec.plane.point), split(spec.plane.normal)
                self._add_target(name, measures.projection(carrier, normal, origin, spec.point), spec.distance, law)
            case "point_on_line":
                (carrier, origin), (_, direction) = split(spec.line.point), split(spec.line.direction)
                for axis, suffix in enumerate(("x", "y")):
                    measure = measures.projection(carrier, direction, origin, spec.point, axis)
                    self.add(f"{name}.{suffix}", measure, lambda: (0.0,))

    def keep(self, wanted: list[bool]) -> list[Identity]:
        """Keep the equations of a mask; drop and return the others, with measures that only these read."""
        dropped = [
            Identity(row.name, *self.measures.rows[row.measure][:3], row.offset, row.law, row.automatic)
            for row, keep in zip(self.rows, wanted, strict=True)
            if not keep
        ]
        kept = [row for row, keep in zip(self.rows, wanted, strict=True) if keep]
        measures = self.measures.keep([row.measure for row in kept])
        self.rows = [row._replace(measure=measure) for row, measure in zip(kept, measures, strict=True)]
        return dropped

    def automatic(self) -> list[tuple[int, int]]:
        """Targets that are the measure's initial value: (theta index, measure)."""
        return [(row.offset, row.measure) for row in self.rows if row.automatic]

    def _coupling(self, spec: Any, path: str, curve: int = NONE) -> int:
        """Weighted sum of tree coordinates, in the declared sense of each, or one less a law of the other."""
        coordinates = [self._system.coordinate(name) for name in spec.factors]
        for coordinate in coordinates:
            if coordinate.column == NONE:
                place = f"{path}.terms" if spec.type == "coupling" and spec.of is None else path
                message = f"joint {coordinate.joint!r} is cut, so its coordinates cannot be coupled"
                self._system.issue(place, message, coordinate.uncut)
        if curve != NONE:
            of, by = coordinates
            factors = float(of.sign), 0.0, float(by.sign)
            return self.measures.combination([of.column, by.column], lambda: factors, curve)
        signs, numbers = [c.sign for c in coordinates], self._system.geometry.numbers
        return self.measures.combination(
            [c.column for c in coordinates],
            lambda: [s * numbers(n) for s, n in zip(signs, spec.factors.values(), strict=True)],
        )

    def _add_target(self, name: str, measure: int, target: Any, law: int = NONE, follower: int = NONE) -> None:
        """Equation with a stated target, or with the measure's initial value."""
        numbers, automatic = self._system.geometry.numbers, target == "auto"
        self.add(name, measure, lambda: (0.0 if automatic else numbers(target),), law, automatic, follower)

    def add(
        self, name: str, measure: int, target: Callable[[], tuple[Scalar]], law: int = NONE, automatic: bool = False,
        follower: int = NONE,
    ) -> int:  # fmt: skip
        """Add the equation of a measure that equals a target plus a law of time; return its number."""
        self.rows.append(EquationRow(name, measure, self._system.theta.add(target), law, automatic, follower))
        return len(self.rows) - 1
