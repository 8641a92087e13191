"""The layout of a result file: one row a variable, with the axes that label it, and its instants."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import RATES, force_on, in_words, quotients

COMPONENTS = {1: ("value",), 3: ("x", "y", "z")}
WITH_RESPECT_TO = "with_respect_to"  # the coordinates again: HDF5 viewers want two names for two axes
KINEMATIC = ("position", "velocity", "acceleration")
_KNOWN_AXES = {("value",): "scalar", ("x", "y", "z"): "component"}
_MULTIPLIERS = (("lambda", "lambda_", ""), ("sigma", "sigma", " s"), ("kappa", "kappa", ""))
_ENERGIES = (("kinetic_energy", "J"), ("potential_energy", "J"), ("power", "W"))


class Variable(NamedTuple):
    """A dataset that grows along time.

    ``units`` belong to the entries of the first axis after time (one for all, or one each); where those of ``by``
    stand on the last axis, it is their quotients that are stored.
    """

    path: str
    axes: tuple[str, ...]  # after time
    of: Callable[[Block], np.ndarray]  # (B, ...)
    units: Sequence[str] = ("1",)
    by: Sequence[str] = ()
    dtype: str = "f8"

    @property
    def unit(self) -> np.ndarray:
        """Units along ``axes``; an axis along which they are all the same has one entry."""
        found = quotients(self.units, self.by or ("1",))
        return found.reshape(found.shape[: len(self.axes)])


def axes(names: Names, sensors: Mapping[str, slice]) -> dict[str, tuple[str, ...]]:
    """Labels of every axis but time; axes without entries are left out, HDF5 viewers do not know them."""
    labels = {"coordinate": names.coordinates, "constraint": names.constraints, "parameter": names.parameters}
    for name, components in _components_of(names, sensors).items():
        labels[component_axis(name, components)] = components
    return {name: entries for name, entries in labels.items() if entries}


def _components_of(names: Names, sensors: Mapping[str, slice]) -> dict[str, tuple[str, ...]]:
    """Labels of the components of each sensor."""
    return {
        name: components
        for name, components in zip(names.sensors, names.sensor_components, strict=True)
        if name in sensors
    }


def component_axis(sensor: str, components: tuple[str, ...]) -> str:
    """Name of the axis that a sensor's components run along: shared by those of one number and by vectors."""
    return _KNOWN_AXES.get(components, f"component_of_{sensor}")


def variables(names: Names, sensors: Mapping[str, slice], sensitivities: bool) -> list[Variable]:
    """Every dataset along time, in the order of the contract; ``sensors`` names rows of the record."""
    rows = [*_coordinates(names), *_multipliers(names), *_sensors(names, sensors), *_diagnostics(names)]
    known = set(axes(names, sensors)) - (set() if sensitivities else {"parameter"})
    return [row for row in rows if known.issuperset(row.axes)]


def inverse_variables(names: Names, sensors: Mapping[str, slice], sensitivities: bool) -> list[Variable]:
    """The same for blocks of inverse dynamics."""
    motion = (row for row in _coordinates(names) if not row.path.startswith("sensitivity"))
    rows = [*motion, *_torques(names), *_sensors(names, sensors)]
    known = {*axes(names, sensors), WITH_RESPECT_TO}
    rows = [row for row in rows if known.issuperset(row.axes)]
    return [row for row in rows if sensitivities or not row.path.startswith("sensitivity")]


def _torques(names: Names):
    torque = tuple(map(force_on, names.coordinate_units))
    yield Variable("torque", ("coordinate",), _field("torque"), torque)
    for kind, rate in zip(KINEMATIC, RATES, strict=True):
        path, units = f"sensitivity/torque/{kind}", _rated(names.coordinate_units, rate)
        yield Variable(path, ("coordinate", WITH_RESPECT_TO), _field(f"by_{kind}"), torque, units)
    path, axes = "sensitivity/torque/parameter", ("coordinate", "parameter")
    yield Variable(path, axes, _field("by_parameter"), torque, names.parameter_units)


def _coordinates(names: Names):
    for kind, rate in zip(KINEMATIC, RATES, strict=True):
        path, units = f"coordinates/{kind}", _rated(names.coordinate_units, rate)
        yield Variable(path, ("coordinate",), _field(kind), units)
        yield Variable(
            f"sensitivity/{path}", ("coordinate", "parameter"), _field(f"d_{kind}"), units, names.parameter_units
        )


def _multipliers(names: Names):
    forces = tuple(map(force_on, names.constraint_units))
    for kind, field, rate in _MULTIPLIERS:
        yield Variable(f"multipliers/{kind}", ("constraint",), _field(field), _rated(forces, rate))
    path, axes = "sensitivity/multipliers/lambda", ("constraint", "parameter")
    yield Variable(path, axes, _field("d_lambda"), forces, names.parameter_units)


def _sensors(names: Names, sensors: Mapping[str, slice]):
    units = {
        name: (unit,) if isinstance(unit, str) else unit
        for name, unit in zip(names.sensors, names.sensor_units, strict=True)
    }
    for name, components in _components_of(names, sensors).items():
        axis, rows = component_axis(name, components), sensors[name]
        yield Variable(f"sensors/{name}", (axis,), _rows("sensors", rows), units[name])
        path = f"sensitivity/sensors/{name}"
        yield Variable(path, (axis, "parameter"), _rows("d_sensors", rows), units[name], names.parameter_units)


def _diagnostics(names: Names):
    yield Variable("diagnostics/iterations", (), _field("iterations"), dtype="i4")
    yield Variable("diagnostics/gradient_error", (), _field("gradient_error"))
    for column, (kind, rate) in enumerate(zip(KINEMATIC, RATES, strict=True)):
        unit = in_words(_rated(names.constraint_units or ("1",), rate))
        yield Variable(f"diagnostics/drift_{kind}", (), _column("drift", column), (unit,))
    for column, (kind, unit) in enumerate(_ENERGIES):
        yield Variable(f"diagnostics/{kind}", (), _column("energy", column), (unit,))


def _rated(units: Sequence[str], rate: str) -> tuple[str, ...]:
    return tuple(unit + rate for unit in units)


def _field(field: str) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)


def _rows(field: str, rows: slice) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)[:, rows]


def _column(field: str, column: int) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)[:, column]


# Which instants of a run are kept: every so many, and the last.


class Thinning:
    """Counts the instants that go by, block by block."""

    def __init__(self, every: int):
        self._every = every
        self._seen = 0

    def of(self, count: int) -> tuple[slice, bool]:
        """Which of the next ``count`` instants are kept, and whether the last of them is one."""
        picked = slice((-self._seen) % self._every, None, self._every)
        self._seen += count
        return picked, (self._seen - 1) % self._every == 0


class KeptRows:
    """Copies of what instants have, in memory, of those that are kept."""

    def __init__(self, every: int):
        self._thinning = Thinning(every)
        self._parts: list[list[np.ndarray]] = []
        self._last: list[np.ndarray] | None = None  # of the latest instant, where it is not kept otherwise

    def add(self, columns: Sequence[np.ndarray]) -> None:
        """Take arrays (B, ...) of the next instants in."""
        if not len(columns[0]):
            return
        picked, kept = self._thinning.of(len(columns[0]))
        self._parts.append([np.array(values[picked]) for values in columns])
        self._last = None if kept else [np.array(values[-1:]) for values in columns]

    def column(self, number: int) -> np.ndarray:
        """One of the arrays (N, ...), of all instants that are kept; there is one at least."""
        parts = self._parts if self._last is None else [*self._parts, self._last]
        return np.concatenate([part[number] for part in parts])
