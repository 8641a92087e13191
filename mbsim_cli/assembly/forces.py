"""Force elements of the model file."""

from typing import Any

from mbsim_cli.assembly.arrays import integers, table
from mbsim_cli.assembly.geometry import split
from mbsim_cli.assembly.laws import LawTable
from mbsim_cli.assembly.measures import MeasureTable
from mbsim_cli.assembly.system import System, unit_of
from mbsim_cli.model.codes import Axes, Force
from mbsim_cli.model.layout import GROUND, NONE, Forces

_NATURAL_VALUE = 2  # place in the block of ALONG_MEASURE


class ForceTable:
    """Collects force elements; ``automatic`` lists (theta index, measure) of natural values as at the start."""

    def __init__(self, system: System, measures: MeasureTable, laws: LawTable):
        self._system, self._measures, self._laws = system, measures, laws
        self._numbers = system.geometry.numbers
        self.names: list[str] = []
        self.units: list[str] = []
        self._rows: list[tuple[int, int, int, int, tuple[int, int, int], int]] = []
        self.automatic: list[tuple[int, int]] = []

    def table(self) -> Forces:
        """The elements as arrays."""
        kind, measure, pair, axes, law, theta = zip(*self._rows, strict=True) if self._rows else ((),) * 6
        return table(
            Forces,
            kind=kind,
            measure=measure,
            pair=pair,
            axes=axes,
            law=integers(law).reshape(-1, 3),
            theta=theta,
        )

    def add(self, name: str, spec: Any) -> None:
        """Add a force of the model file."""
        if spec.type in ("force", "torque"):
            self._add_applied(name, spec)
            return
        coordinate = getattr(spec, "coordinate", None)
        if coordinate is None:
            measure, unit = self._measures.distance(spec.points), "N"
        else:
            measure = self._measures.coordinate(coordinate, f"forces.{name}.coordinate")
            unit = {"m": "N", "rad": "N m"}.get(unit_of(split(coordinate)[1]), "N m")
        natural = getattr(spec, "natural_length", getattr(spec, "natural_angle", None))
        constant = next((getattr(spec, key) for key in ("force", "torque", "value") if hasattr(spec, key)), None)
        entries = (getattr(spec, "stiffness", None), getattr(spec, "damping", None), natural, constant)
        numbers = self._numbers
        offset = self._system.theta.add(
            lambda: [0.0 if entry is None or entry == "auto" else numbers(entry) for entry in entries]
        )
        if natural == "auto":
            self.automatic.append((offset + _NATURAL_VALUE, measure))
        laws = tuple(
            self._laws.number(getattr(spec, key, None), f"forces.{name}.{key}")
            for key in ("law", "elongation_law", "rate_law")
        )
        self._append(name, unit, (Force.ALONG_MEASURE, measure, NONE, Axes.GLOBAL, laws, offset))

    def _add_applied(self, name: str, spec: Any) -> None:
        """A force at a point or a torque on a body."""
        body, point = split(spec.point) if spec.type == "force" else (spec.body, "origin")
        geometry, numbers = self._system.geometry, self._numbers
        offset = self._system.theta.add(lambda: (*geometry.point(body, point), *numbers.vector(spec.value)))
        pair = self._measures.pairs.number(GROUND, self._system.topology.index[body])
        laws = (self._laws.number(spec.law, f"forces.{name}.law"), NONE, NONE)
        kind, unit = (Force.POINT_FORCE, "N") if spec.type == "force" else (Force.TORQUE, "N m")
        self._append(name, unit, (kind, NONE, pair, Axes[spec.axes.upper()], laws, offset))

    def _append(self, name: str, unit: str, row: tuple) -> None:
        self.names.append(name)
        self.units.append(unit)
        self._rows.append(row)
