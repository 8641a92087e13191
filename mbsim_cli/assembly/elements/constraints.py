"""Constraint equations: cut joints, norms of Euler parameters, and the constraints of the model file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.parameters.vectors import Scalar, table
from mbsim_cli.assembly.tree.geometry import split
from mbsim_cli.assembly.tree.joints import CUT_EQUATIONS, held_of, kind_of
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.layout import NONE, Constraints


@dataclass(frozen=True)
class Identity:
    """An equation that the coordinates have no part in: a geometric measure, the theta index of its target, its law.

    An ``automatic`` target is what the measure always is.
    """

    name: str
    kind: int
    pair: int
    block: int
    target: int
    law: int
    automatic: bool


class ConstraintTable:
    """Collects equations."""

    def __init__(self, system: System, measures: MeasureTable, laws: LawTable):
        self._system, self.measures, self._laws = system, measures, laws
        self.names: list[str] = []
        self.measure: list[int] = []
        self.offset: list[int] = []
        self.law: list[int] = []
        self._automatic: list[bool] = []  # the target is the measure's initial value

    def table(self) -> Constraints:
        """The equations as arrays."""
        return table(Constraints, measure=self.measure, theta=self.offset, law=self.law)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of every equation."""
        return tuple(map(self.measures.unit, self.measure))

    def add_euler_norms(self) -> None:
        """One equation for every set of Euler parameters in the tree."""
        for joint, column in self._system.euler_columns():
            self._add(f"{joint}.norm", self.measures.euler_norm(column), lambda: (1.0,))

    def add_cut_joint(self, name: str) -> None:
        """Equations of a cut joint."""
        for equation in CUT_EQUATIONS[kind_of(self._system.joints[name])]:
            measure = self.measures.between_frames(name, equation.kind, equation.axis_a, equation.axis_b)
            self._add(f"{name}.{equation.name}", measure, lambda: (0.0,))

    def add_held(self, name: str) -> None:
        """Equations that keep the point of a tree joint in place, so that their multipliers are its load."""
        for coordinate in held_of(self._system.joints[name]):
            reference = f"{name}.{coordinate}"
            self._add(reference, self.measures.coordinate(reference, ""), lambda: (0.0,))

    def add_declared(self, name: str, spec: Any) -> None:
        """Equations of a constraint of the model file."""
        measures, path = self.measures, f"constraints.{name}"
        given = None if spec.type == "coupling" else getattr(spec, "law", None)  # of time
        law = self._laws.number(given, f"{path}.law")
        match spec.type:
            case "distance":
                self._add_target(name, measures.distance(spec.points), spec.distance, law)
            case "angle":
                self._add_target(name, measures.angle(spec.vectors, spec.axis, path), spec.angle, law)
            case "coupling" if spec.of is not None:
                curve = self._laws.number(spec.law, f"{path}.law", of_time=False)
                self._add_target(name, self._coupling(spec, path, curve), spec.target)
            case "coupling" | "gear" | "rack" | "screw":
                self._add_target(name, self._coupling(spec, path), spec.offset)
            case "motion":
                self._add_target(name, measures.coordinate(spec.coordinate, f"{path}.coordinate"), spec.offset, law)
            case "point_on_plane":
                (carrier, origin), (_, normal) = split(spec.plane.point), split(spec.plane.normal)
                self._add_target(name, measures.projection(carrier, normal, origin, spec.point), spec.distance, law)
            case "point_on_line":
                (carrier, origin), (_, direction) = split(spec.line.point), split(spec.line.direction)
                for axis, suffix in enumerate(("x", "y")):
                    measure = measures.across(carrier, direction, axis, origin, spec.point)
                    self._add(f"{name}.{suffix}", measure, lambda: (0.0,))

    def add_motion(self, name: str, measure: int, target: Callable[[], tuple[Scalar]], law: int) -> int:
        """Equation of a coordinate that inverse dynamics is given; return its number."""
        self._add(name, measure, target, law)
        return len(self.names) - 1

    def keep(self, wanted: list[bool]) -> list[Identity]:
        """Drop the equations that are not wanted, and the measures that only they read; return them."""
        kinds, pairs, blocks = self.measures.kind, self.measures.pair, self.measures.offset
        lists: tuple[list[Any], ...] = (self.names, self.measure, self.offset, self.law, self._automatic)
        dropped = [
            Identity(name, kinds[measure], pairs[measure], blocks[measure], *rest)
            for (name, measure, *rest), keep in zip(zip(*lists, strict=True), wanted, strict=True)
            if not keep
        ]
        for rows in lists:
            rows[:] = [row for row, keep in zip(rows, wanted, strict=True) if keep]
        self.measure = self.measures.keep(self.measure)
        return dropped

    def automatic(self) -> list[tuple[int, int]]:
        """Targets that are the measure's initial value: (theta index, measure)."""
        rows = zip(self.offset, self.measure, self._automatic, strict=True)
        return [(offset, measure) for offset, measure, automatic in rows if automatic]

    def _coupling(self, spec: Any, path: str, curve: int = NONE) -> int:
        """Weighted sum of tree coordinates, in the declared sense of each, or one less a law of the other."""
        coordinates = [self._system.coordinate(name) for name in spec.factors]
        for coordinate in coordinates:
            if coordinate.column == NONE:
                joint = coordinate.joint
                self._system.issue(
                    f"{path}.terms" if spec.type == "coupling" and spec.of is None else path,
                    f"joint {joint!r} is cut, so its coordinates cannot be coupled",
                    "cut another joint of the loop",
                )
        if curve != NONE:
            of, by = coordinates
            return self.measures.less_curve([of.column, by.column], (float(of.sign), float(by.sign)), curve)
        signs, numbers = [c.sign for c in coordinates], self._system.geometry.numbers
        return self.measures.combination(
            [c.column for c in coordinates],
            lambda: [s * numbers(n) for s, n in zip(signs, spec.factors.values(), strict=True)],
        )

    def _add_target(self, name: str, measure: int, target: Any, law: int = NONE) -> None:
        """Equation with a stated target, or with the measure's initial value."""
        numbers = self._system.geometry.numbers
        if target == "auto":
            self._add(name, measure, lambda: (0.0,), law)
            self._automatic[-1] = True
        else:
            self._add(name, measure, lambda: (numbers(target),), law)

    def _add(self, name: str, measure: int, target: Callable[[], tuple[Scalar]], law: int = NONE) -> None:
        self.names.append(name)
        self.measure.append(measure)
        self.offset.append(self._system.theta.add(target))
        self.law.append(law)
        self._automatic.append(False)
