"""Content of a result file other than histories: its origin, objectives, fields, the designs of an optimisation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from mbsim_cli.io import layout
from mbsim_cli.io.guard import FormatError
from mbsim_cli.io.layout import TEXT, Scales, Variable, inverse_variables, set_unit, variables
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.results import column_units, opened, texts
from mbsim_cli.model.layout import Names
from mbsim_cli.model.units import quotients

# The designs of an optimisation, beside the result of its best one: ``/optimization``.


class History(NamedTuple):
    """N designs of v variables, with k objectives; ``facts`` are attributes."""

    facts: Mapping[str, str | float | int]
    variables: Mapping[str, str]  # units by name
    bounds: np.ndarray  # (v, 2)
    values: np.ndarray  # (N, v)
    objectives: Mapping[str, str]  # units by name
    found: np.ndarray  # (N, k), NaN where the analysis failed
    violation: np.ndarray  # (N,)
    optimality: np.ndarray  # (N,)
    failures: Sequence[str]  # (N,)


def store_history(scales: Scales, history: History) -> None:
    """Write a history into a result."""
    group = scales.file.create_group("optimization", track_order=True)
    group.attrs.update(history.facts)
    scales.axis("design", np.arange(1, len(history.values) + 1), "1")
    for axis, names in (("variable", history.variables), ("optimized", history.objectives)):
        if names:
            scales.axis(axis, list(names))
    units = [list(entries.values()) for entries in (history.variables, history.objectives)]

    def store(name: str, values: np.ndarray, axes: tuple[str, ...], unit: Sequence) -> None:
        scales.store(f"optimization/{name}", np.asarray(values, dtype=float), axes, unit)

    if history.variables:
        store("values", history.values, ("design", "variable"), [units[0]])
        store("bounds", history.bounds, ("variable", "bound"), [[unit] for unit in units[0]])
    store("objectives", history.found, ("design", "optimized"), [units[1]])
    store("violation", history.violation, ("design",), ["1"])
    store("optimality", history.optimality, ("design",), ["1"])
    scales.store("optimization/failures", list(history.failures), ("design",), dtype=TEXT)


def history_of(path: Path, checked: bool = False) -> History | None:
    """The designs of the optimisation that found a result, ``checked`` as of ``summary``; None for other results.

    Raises InputOutputError.
    """
    with opened(path, checked) as file:
        group = file.get("optimization")
        if group is None:
            return None
        variables, objectives = texts(file.get("variable")), texts(file.get("optimized"))
        found = np.asarray(group["objectives"][()], dtype=float)
        values = np.asarray(group["values"][()], dtype=float) if "values" in group else np.zeros((len(found), 0))
        bounds = np.asarray(group["bounds"][()], dtype=float) if "bounds" in group else np.zeros((0, 2))
        labels = {"values": variables, "objectives": objectives}
        units = {n: column_units(file, f"optimization/{n}") if names else [] for n, names in labels.items()}
        count = (len(found),)
        numbers = {name: np.asarray(group[name][()], dtype=float) for name in ("violation", "optimality")}
        failures = texts(group["failures"])
        fits = values.shape == (*count, len(variables)) and found.shape == (*count, len(objectives))
        fits = fits and bounds.shape == (len(variables), 2) and len(failures) == len(found)
        if not (fits and all(one.shape == count for one in numbers.values())):
            raise FormatError("the history of its optimisation does not have the shape of its labels")
        return History(
            facts={
                name: value.item() if isinstance(value, np.generic) else str(value)
                for name, value in group.attrs.items()
            },
            variables=dict(zip(variables, units["values"], strict=True)),
            bounds=bounds,
            values=values,
            objectives=dict(zip(objectives, units["objectives"], strict=True)),
            found=found,
            failures=failures,
            **numbers,
        )


# Fields that gradients are taken by, in a result: ``/fields``, and the meshes that they stand on, ``/mesh``.


class FieldOnMesh(NamedTuple):
    """Numbers (ne) of a field, before its filter, and the mesh of the body whose elements they are of."""

    name: str
    values: np.ndarray
    body: str
    points: np.ndarray  # (N, 3) in the body's frame
    cells: np.ndarray  # (ne, nodes of a cell)
    kind: str


def store_fields(scales: Scales, fields: Sequence[FieldOnMesh]) -> None:
    """Write values and meshes; a field of several bodies stands once."""
    file = scales.file
    if fields:
        scales.axis("axis", ("x", "y", "z"))
    for field in fields:
        element = element_axis(field.name)
        if element not in file:
            scales.axis(element, np.arange(len(field.values)), "1")
            scales.store(f"fields/{field.name}", field.values, (element,), "1")
        mesh = f"mesh/{field.body}"
        file.create_group(mesh).attrs.update({"kind": field.kind, "field": field.name})
        point, corner = f"point_of_{field.body}", f"corner_of_{field.body}"
        scales.axis(point, np.arange(len(field.points)), "1")
        scales.axis(corner, np.arange(field.cells.shape[1]), "1")
        scales.store(f"{mesh}/points", field.points, (point, "axis"), "m")
        scales.store(f"{mesh}/cells", field.cells.astype(np.int64), (element, corner), "1")


def fields_of(path: Path, checked: bool = False) -> dict[str, FieldOnMesh]:
    """Fields of a result by name, and by OBJECTIVE.FIELD derivatives of objectives, ``checked`` as of ``summary``.

    Raises InputOutputError.
    """
    found: dict[str, FieldOnMesh] = {}
    with opened(path, checked) as file:
        for body, mesh in file["mesh"].items() if "mesh" in file else ():
            name = mesh.attrs["field"]
            points, cells, kind = _read_mesh(mesh)
            objectives = file.get("objectives", ())
            paths = {name: f"fields/{name}"}
            paths |= {f"{of}.{name}": f"objectives/{of}/gradient_fields/{name}" for of in objectives}
            for label, place in paths.items():
                if place in file and file[place].shape == (len(cells),) and label not in found:
                    found[label] = FieldOnMesh(label, file[place][()], body, points, cells, kind)
    return found


def _read_mesh(mesh: h5py.Group) -> tuple[np.ndarray, np.ndarray, str]:
    """Points, cells and kind of a mesh; raise FormatError where they do not fit."""
    from mbsim_cli.reduction.mesh import CELLS

    points, cells, kind = mesh["points"][()], mesh["cells"][()], mesh.attrs["kind"]
    if kind not in CELLS or cells.shape[1:] != (len(CELLS[kind].nodes),) or points.shape[1:] != (3,):
        raise FormatError(f"{mesh.name} is no mesh")
    if cells.dtype.kind not in "iu" or (cells.size and not 0 <= cells.min() <= cells.max() < len(points)):
        raise FormatError(f"{mesh.name}: its cells name points that there are not")
    return points, cells, kind


def element_axis(field: str) -> str:
    """Name of the axis of a field's elements."""
    return f"element_of_{field}"


# Data of a result other than histories: ``Origin`` before the first time point, ``Findings`` after the last one.


class Origin(NamedTuple):
    """The origin of the histories.

    ``sensors`` gives the rows of the record that each sensor fills. Every ``every``-th time point is stored, and the
    last, some ``times`` in all. Without ``sensitivities`` histories have no parameter axis, though gradients of
    objectives may come from elsewhere.
    """

    names: Names
    sensors: Mapping[str, slice]
    parameters: layout.Parameters
    provenance: Provenance
    every: int = 1
    times: int = layout.MOST_ROWS
    sensitivities: bool = True
    inverse: bool = False  # whether blocks are those of inverse dynamics

    @property
    def variables(self) -> list[Variable]:
        """All that goes along time."""
        layout = inverse_variables if self.inverse else variables
        return layout(self.names, self.sensors, self.sensitivities)


class ObjectiveResult(NamedTuple):
    """An objective's value and, with sensitivities, its gradient (p,), and their estimated discretisation errors."""

    name: str
    value: float
    unit: str
    gradient: np.ndarray | None = None
    method: str = "none"
    description: str = ""
    discretisation: np.ndarray | None = None  # errors (1 + p,) of the value and the gradient, or (1,) of the value
    undefined: Mapping[str, str] = {}  # why there is no derivative, by parameter
    flags: Sequence[str] = ()  # why the value is only one choice
    by_fields: Mapping[str, np.ndarray] = {}  # derivatives (ne,) by the elements of fields
    off_by_fields: Mapping[str, np.ndarray] = {}  # their estimated discretisation errors


class Findings(NamedTuple):
    """Content that is known after the last time point: objectives, fields, multipliers, warnings, modes."""

    objectives: Sequence[ObjectiveResult]
    fields: Sequence[FieldOnMesh] = ()  # that gradients are taken by
    multipliers: Mapping[str, str] = {}  # what each kind of them is
    undetermined: Sequence[str] = ()  # equations whose multipliers are one choice of many
    undetermined_sensors: Mapping[str, str] = {}  # that read them, with the reason
    warnings: Sequence[str] = ()
    work: Mapping[str, int] = {}  # what an integrator counted in the whole run
    discretisation: Mapping[str, Any] = {}  # what is known of the motion's error
    modes: Any = None  # ``ModesFound`` of an analysis of modes
    responses: Any = None  # solve.linear.state_space.Responses of an analysis of frequency response
    history: History | None = None  # of the optimisation that they are the best design of


def store_objective(scales: Scales, result: ObjectiveResult, parameter_units: Sequence[str]) -> None:
    """Write the value of an objective, its derivatives, and their estimated errors."""
    place = f"objectives/{result.name}"
    group = scales.file.create_group(place, track_order=True)
    group.attrs["description"] = result.description
    group["value"] = float(result.value)
    set_unit(group["value"], result.unit)
    group.attrs["method"] = result.method
    if result.flags:
        layout.write_texts(group, "flags", result.flags)
    if result.undefined:
        reasons = [result.undefined.get(name, "") for name in texts(scales.file["parameter"])]
        scales.store(f"{place}/undefined", reasons, ("parameter",), dtype=TEXT)

    def store_derivatives(name: str, values: np.ndarray | None) -> None:
        """Numbers (p,) in the units of a gradient, where there are any."""
        if values is not None and len(values):
            units = quotients((result.unit,), parameter_units)[0]
            stored = scales.store(f"{place}/{name}", np.asarray(values, dtype=float), ("parameter",), units)
            stored.attrs["method"] = result.method

    store_derivatives("gradient", result.gradient)
    of_elements = {"gradient_fields": result.by_fields, "discretisation_fields": result.off_by_fields}
    for kind, fields in of_elements.items():
        for name, numbers in fields.items():
            scales.store(f"{place}/{kind}/{name}", numbers, (element_axis(name),), result.unit)
    if result.discretisation is not None:
        group["discretisation"] = float(result.discretisation[0])
        set_unit(group["discretisation"], result.unit)
        store_derivatives("gradient_discretisation", result.discretisation[1:])


def describe_multipliers(file: h5py.File, findings: Findings) -> None:
    """Write what each kind of multipliers is, and which multipliers, and sensors that read them, are not unique."""
    for kind, note in findings.multipliers.items():
        for path in (f"multipliers/{kind}", f"sensitivity/multipliers/{kind}"):
            if path in file:
                file[path].attrs["description"] = note
    if findings.undetermined:
        file["multipliers"].attrs["undetermined"] = ", ".join(findings.undetermined)
    for name, reason in findings.undetermined_sensors.items():
        file[f"sensors/{name}"].attrs["undetermined"] = reason
