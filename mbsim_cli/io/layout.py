"""What stands where in a result file: one row a variable, with the axes that label it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Block

COMPONENTS = {1: ("value",), 3: ("x", "y", "z")}
WITH_RESPECT_TO = "with_respect_to"  # the coordinates again: HDF5 viewers want two names for two axes
KINEMATIC = ("position", "velocity", "acceleration")


class Variable(NamedTuple):
    """A dataset that grows along time."""

    path: str
    axes: tuple[str, ...]  # after time
    of: Callable[[Block], np.ndarray]  # (B, ...)
    unit: str = ""
    dtype: str = "f8"


def component_axis(width: int) -> str:
    """Name of the axis that a sensor of this width runs along."""
    return {1: "scalar", 3: "component"}.get(width, f"component_{width}")


def axes(names: Names, sensors: Mapping[str, slice]) -> dict[str, tuple[str, ...]]:
    """Labels of every axis but time; axes without entries are left out, HDF5 viewers do not know them."""
    labels = {"coordinate": names.coordinates, "constraint": names.constraints, "parameter": names.parameters}
    for rows in sensors.values():
        width = rows.stop - rows.start
        labels[component_axis(width)] = COMPONENTS.get(width, tuple(map(str, range(width))))
    return {name: entries for name, entries in labels.items() if entries}


def variables(names: Names, sensors: Mapping[str, slice], sensitivities: bool) -> list[Variable]:
    """Every dataset along time, in the order of the contract; ``sensors`` names rows of the record."""
    rows = [*_coordinates(), *_multipliers(), *_sensors(names, sensors), *_diagnostics()]
    known = set(axes(names, sensors)) - (set() if sensitivities else {"parameter"})
    return [row for row in rows if known.issuperset(row.axes)]


def inverse_variables(names: Names, sensors: Mapping[str, slice], sensitivities: bool) -> list[Variable]:
    """The same for blocks of inverse dynamics."""
    motion = (row for row in _coordinates() if not row.path.startswith("sensitivity"))
    rows = [*motion, *_torques(), *_sensors(names, sensors)]
    known = {*axes(names, sensors), WITH_RESPECT_TO}
    rows = [row for row in rows if known.issuperset(row.axes)]
    return [row for row in rows if sensitivities or not row.path.startswith("sensitivity")]


def _torques():
    yield Variable("torque", ("coordinate",), _field("torque"))
    for kind in KINEMATIC:
        yield Variable(f"sensitivity/torque/{kind}", ("coordinate", WITH_RESPECT_TO), _field(f"by_{kind}"))
    yield Variable("sensitivity/torque/parameter", ("coordinate", "parameter"), _field("by_parameter"))


def _coordinates():
    for kind in KINEMATIC:
        yield Variable(f"coordinates/{kind}", ("coordinate",), _field(kind))
        yield Variable(f"sensitivity/coordinates/{kind}", ("coordinate", "parameter"), _field(f"d_{kind}"))


def _multipliers():
    for kind, field in (("lambda", "lambda_"), ("sigma", "sigma"), ("kappa", "kappa")):
        yield Variable(f"multipliers/{kind}", ("constraint",), _field(field))
    yield Variable("sensitivity/multipliers/lambda", ("constraint", "parameter"), _field("d_lambda"))


def _sensors(names: Names, sensors: Mapping[str, slice]):
    units = dict(zip(names.sensors, names.sensor_units, strict=True))
    for name, rows in sensors.items():
        axis = component_axis(rows.stop - rows.start)
        yield Variable(f"sensors/{name}", (axis,), _rows("sensors", rows), units.get(name, ""))
        yield Variable(f"sensitivity/sensors/{name}", (axis, "parameter"), _rows("d_sensors", rows))


def _diagnostics():
    yield Variable("diagnostics/iterations", (), _field("iterations"), dtype="i4")
    yield Variable("diagnostics/gradient_error", (), _field("gradient_error"))
    for column, kind in enumerate(KINEMATIC):
        yield Variable(f"diagnostics/drift_{kind}", (), _column("drift", column))
    for column, (kind, unit) in enumerate((("kinetic_energy", "J"), ("potential_energy", "J"), ("power", "W"))):
        yield Variable(f"diagnostics/{kind}", (), _column("energy", column), unit)


def _field(field: str) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)


def _rows(field: str, rows: slice) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)[:, rows]


def _column(field: str, column: int) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)[:, column]
