"""Content of a result file other than histories: objectives, fields, modes, responses, designs; state space files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import h5py
import numpy as np

from mbsim_cli.errors import UsageError, counted, option
from mbsim_cli.io import layout
from mbsim_cli.io.guard import FormatError
from mbsim_cli.io.layout import TEXT, Scales, Variable, inverse_variables, set_unit, set_units, variables
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.results import column_units, opened, texts
from mbsim_cli.io.target import checked, is_of_format, replaced
from mbsim_cli.model.layout import Names
from mbsim_cli.system import judged

# Content of a result file beside its histories: origin, objectives, fields, and the designs of an optimisation.

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
    numbers = np.arange(1, len(history.values) + 1)
    axes = {"design": numbers, "variable": history.variables, "optimized": history.objectives}
    for name, labels in axes.items():
        if not len(labels):
            continue
        dtype = None if isinstance(labels, np.ndarray) else TEXT
        scales.file.create_dataset(name, data=labels if dtype is None else list(labels), dtype=dtype).make_scale(name)
    set_unit(scales.file["design"], "1")
    units = [list(entries.values()) for entries in (history.variables, history.objectives)]
    if history.variables:
        _numbers(scales, group, "values", history.values, ("design", "variable"), [units[0]])
        _numbers(scales, group, "bounds", history.bounds, ("variable", "bound"), [[unit] for unit in units[0]])
    _numbers(scales, group, "objectives", history.found, ("design", "optimized"), [units[1]])
    for name in ("violation", "optimality"):
        _numbers(scales, group, name, getattr(history, name), ("design",), ["1"])
    scales.attach(group.create_dataset("failures", data=list(history.failures), dtype=TEXT), ("design",))


def history_of(path: Path, known: bool = False) -> History | None:
    """The designs of the optimisation that found a result, ``known`` as of ``summary``; None for other results.

    Raises InputOutputError.
    """
    with opened(path, known) as file:
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
            facts={name: _plain_fact(value) for name, value in group.attrs.items()},
            variables=dict(zip(variables, units["values"], strict=True)),
            bounds=bounds,
            values=values,
            objectives=dict(zip(objectives, units["objectives"], strict=True)),
            found=found,
            failures=failures,
            **numbers,
        )


def _plain_fact(value: Any) -> str | float | int:
    return value.item() if isinstance(value, np.generic) else str(value)


def _numbers(
    scales: Scales, group: h5py.Group, name: str, values: np.ndarray, axes: Sequence[str], units: Sequence
) -> None:
    dataset = group.create_dataset(name, data=np.asarray(values, dtype=float))
    scales.attach(dataset, axes)
    set_units(scales, dataset, axes, np.array(units, dtype=object))


# Fields that gradients are taken by, in a result: ``/fields``, and the meshes that they stand on, ``/mesh``.


class FieldOn(NamedTuple):
    """Numbers (ne) of a field, before its filter, and the mesh of the body whose elements they are of."""

    name: str
    values: np.ndarray
    body: str
    points: np.ndarray  # (N, 3) in the body's frame
    cells: np.ndarray  # (ne, nodes of a cell)
    kind: str


def store_fields(scales: Scales, fields: Sequence[FieldOn]) -> None:
    """Write values and meshes; a field of several bodies stands once."""
    file = scales.file
    if fields:
        file.create_dataset("axis", data=["x", "y", "z"], dtype=TEXT).make_scale("axis")
    for field in fields:
        element = element_axis(field.name)
        if element not in file:
            _numbered(scales, element, len(field.values))
            values = file.create_dataset(f"fields/{field.name}", data=field.values)
            scales.attach(values, (element,))
            set_unit(values, "1")
        group = file.create_group(f"mesh/{field.body}")
        group.attrs["kind"], group.attrs["field"] = field.kind, field.name
        point, corner = f"point_of_{field.body}", f"corner_of_{field.body}"
        _numbered(scales, point, len(field.points))
        _numbered(scales, corner, field.cells.shape[1])
        points = group.create_dataset("points", data=field.points)
        scales.attach(points, (point, "axis"))
        set_unit(points, "m")
        scales.attach(group.create_dataset("cells", data=field.cells.astype(np.int64)), (element, corner))
        set_unit(group["cells"], "1")


class OnMesh(NamedTuple):
    """Points (N, 3), cells (ne, nodes of a cell) of a kind, and numbers of the cells (ne)."""

    points: np.ndarray
    cells: np.ndarray
    kind: str
    values: np.ndarray


def fields_of(path: Path, known: bool = False) -> dict[str, OnMesh]:
    """Fields of a result by name, and by OBJECTIVE.FIELD derivatives of objectives, ``known`` as of ``summary``.

    Raises InputOutputError.
    """
    found: dict[str, OnMesh] = {}
    with opened(path, known) as file:
        for mesh in file["mesh"].values() if "mesh" in file else ():
            name = mesh.attrs["field"]
            points, cells, kind = _checked(mesh)
            objectives = file.get("objectives", ())
            paths = {name: f"fields/{name}"}
            paths |= {f"{of}.{name}": f"objectives/{of}/gradient_fields/{name}" for of in objectives}
            for label, place in paths.items():
                if place in file and file[place].shape == (len(cells),) and label not in found:
                    found[label] = OnMesh(points, cells, kind, file[place][()])
    return found


def _checked(mesh: h5py.Group) -> tuple[np.ndarray, np.ndarray, str]:
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


def _numbered(scales: Scales, name: str, count: int) -> None:
    dataset = scales.file.create_dataset(name, data=np.arange(count))
    dataset.make_scale(name)
    set_unit(dataset, "1")


# Data of a result other than histories: ``Origin`` before the first time point, ``Findings`` after the last one.


class Origin(NamedTuple):
    """The origin of the histories.

    ``sensors`` tells the rows of the record that each sensor fills; every ``every``-th instant is stored, and the last,
    some ``instants`` in all. Without ``sensitivities`` histories have no parameter axis, though gradients of objectives
    may come from elsewhere.
    """

    names: Names
    sensors: Mapping[str, slice]
    parameters: layout.Parameters
    provenance: Provenance
    every: int = 1
    instants: int = layout.MOST_ROWS
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
    """What is known after the last time point: objectives, fields, multipliers, warnings, modes."""

    objectives: Sequence[ObjectiveResult]
    fields: Sequence[FieldOn] = ()  # that gradients are taken by
    multipliers: Mapping[str, str] = {}  # what each kind of them is
    undetermined: Sequence[str] = ()  # equations whose multipliers are one choice of many
    undetermined_sensors: Mapping[str, str] = {}  # that read them, with the reason
    warnings: Sequence[str] = ()
    work: Mapping[str, int] = {}  # what an integrator counted in the whole run
    discretisation: Mapping[str, Any] = {}  # what is known of the motion's error
    modes: Any = None  # ``ModesFound`` of an analysis of modes
    responses: Any = None  # solve.linear.state_space.Responses of an analysis of frequency response
    history: History | None = None  # of the optimisation that they are the best design of


# Linear models in files: modes in a result (``/modes``), and state spaces as HDF5, ``.npz`` or ``.mat``.

RESPONSE = "frequency_response"
MODE_UNITS = {"frequency": "Hz", "damping_ratio": "1", "real_part": "1/s", "imaginary_part": "rad/s"}


class ModesFound(NamedTuple):
    """k modes of n coordinates, and derivatives by p parameters, none without gradients."""

    numbers: Mapping[str, np.ndarray]  # (k,) by name, as ``MODE_UNITS`` lists them
    gradients: Mapping[str, np.ndarray]  # (k, p)
    shape: np.ndarray  # (k, n) complex, the largest component 1
    d_shape: np.ndarray  # (k, n, p)
    neutral: int  # eigenvalues that are zero


def store_modes(scales: Scales, found: ModesFound) -> None:
    """Write modes into a result."""
    file, count = scales.file, len(found.shape)
    group = file.create_group("modes", track_order=True)
    group.attrs["neutral"] = found.neutral
    group.attrs["description"] = "modes by the magnitude of their eigenvalues; of a complex pair one is listed"
    if not count:
        return
    axis = file.create_dataset("mode", data=np.arange(1, count + 1))
    axis.make_scale("mode")
    set_unit(axis, "1")
    for name, values in found.numbers.items():
        stored = group.create_dataset(name, data=values)
        scales.attach(stored, ("mode",))
        set_unit(stored, MODE_UNITS[name])
    parts: dict[str, Any] = {"shape_real": np.real, "shape_imaginary": np.imag}
    for name, part in parts.items():
        stored = group.create_dataset(name, data=part(found.shape))
        scales.attach(stored, ("mode", "coordinate"))
        stored.attrs["description"] = "change of the coordinates, the largest 1"
    if not found.d_shape.shape[2]:
        return
    for name, values in found.gradients.items():
        scales.attach(group.create_dataset(f"gradient/{name}", data=values), ("mode", "parameter"))
    for name, part in parts.items():
        stored = group.create_dataset(f"gradient/{name}", data=part(found.d_shape))
        scales.attach(stored, ("mode", "coordinate", "parameter"))


def shape_of(path: Path, mode: int) -> tuple[np.ndarray, float]:
    """Complex shape (n,) and frequency [Hz] of a mode of a checked result; raises UsageError where it has none."""
    with opened(path, known=True) as file:
        count = len(file["modes/frequency"]) if "modes/frequency" in file else 0
        if not 1 <= mode <= count:
            held = counted(count, "mode") if count else "no modes; type: modes finds them"
            raise UsageError(f"{option('mode')}: there is no mode {mode}; {path} holds {held}")
        real, imaginary = (np.asarray(file[f"modes/shape_{part}"][mode - 1]) for part in ("real", "imaginary"))
        return real + 1j * imaginary, float(file["modes/frequency"][mode - 1])


def store_responses(scales: Scales, found: Any) -> None:
    """Write a frequency response, ``solve.linear.state_space.Responses``, into a result."""
    file = scales.file
    group = file.create_group(RESPONSE, track_order=True)
    group.attrs["description"] = "of small motions, output over input: real and imaginary part, amplitude, angle"
    axis = file.create_dataset("frequency", data=found.frequencies)
    axis.make_scale("frequency")
    set_unit(axis, "Hz")
    for name, labels, units in (
        ("input", found.inputs, found.input_units),
        ("output", found.outputs, found.output_units),
    ):
        file.create_dataset(name, data=list(labels), dtype=h5py.string_dtype()).make_scale(name)
        file.create_dataset(f"{name}_unit", data=list(units), dtype=h5py.string_dtype())
    axes = ("frequency", "output", "input")
    parts: dict[str, Any] = {"real": np.real, "imaginary": np.imag, "gain": np.abs, "phase": np.angle}
    for name, part in parts.items():
        scales.attach(group.create_dataset(name, data=part(found.value)), axes)
    set_unit(group["phase"], "rad")
    if found.d_value.shape[-1]:
        size = np.abs(found.value)[..., None]
        along = found.d_value * found.value.conj()[..., None]  # by |G|^2 the relative change
        changes = {"real": found.d_value.real, "imaginary": found.d_value.imag}
        changes |= {"gain": along.real / np.where(size == 0.0, 1.0, size)}
        changes |= {"phase": along.imag / np.where(size == 0.0, np.nan, size * size)}
        for name, values in changes.items():
            scales.attach(group.create_dataset(f"gradient/{name}", data=values), (*axes, "parameter"))


class StoredResponse(NamedTuple):
    """The frequency response of a result: F frequencies [Hz], o outputs, k inputs."""

    frequencies: np.ndarray
    inputs: dict[str, str]  # units by name
    outputs: dict[str, str]
    gain: np.ndarray  # (F, o, k)
    phase: np.ndarray  # (F, o, k) rad


def response_of(path: Path) -> StoredResponse | None:
    """The frequency response of a checked result, None where it has none."""
    with opened(path, known=True) as file:
        if RESPONSE not in file:
            return None
        inputs, outputs = (
            dict(zip(texts(file[name]), texts(file[f"{name}_unit"]), strict=True)) for name in ("input", "output")
        )
        gain, phase = (np.asarray(file[f"{RESPONSE}/{name}"][()]) for name in ("gain", "phase"))
        return StoredResponse(np.asarray(file["frequency"][()]), inputs, outputs, gain, phase)


# State spaces in files: HDF5 with named axes, NumPy's .npz, MATLAB's .mat.

STATE_SPACE = "mbsim-state-space"
STATE_SPACE_AXES = {
    "A": ("state", "state"),
    "B": ("state", "input"),
    "C": ("output", "state"),
    "D": ("output", "input"),
}
KINDS = (".h5", ".npz", ".mat")


def write_state_space(path: Path, content: Mapping[str, Any], *, force: bool) -> None:
    """Write a state space by the ending of a path; raises UsageError and InputOutputError."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: a state space is written to {', '.join(KINDS)}")
    target = checked(path, force, _is_own, "model.lin.h5", "a state space")
    with replaced(target, is_own=_is_own, force=force) as temporary:
        if kind == ".h5":
            _write_state_space(temporary, content)
            return
        plain: dict[str, Any] = {name: np.asarray(value) for name, value in content.items()}
        with temporary.open("wb") as file:
            if kind == ".npz":
                np.savez(file, **plain)
            else:
                from scipy.io import savemat

                names = {name: np.array(value, object) for name, value in plain.items() if value.dtype.kind == "U"}
                savemat(file, plain | {name: value for name, value in names.items() if value.ndim})


def _is_own(path: Path) -> bool:
    """Whether a file is a state space, which may be replaced; those of other formats by the names in them."""
    kind = path.suffix.lower()
    if kind == ".h5":
        return is_of_format(path, STATE_SPACE)

    def look(file: BinaryIO) -> bool:
        from scipy.io import whosmat

        try:
            names = {name for name, *_ in whosmat(file)} if kind == ".mat" else set(np.load(file).files)
        except Exception:  # whatever may stand in files of others
            return False
        return {*STATE_SPACE_AXES, "states", "inputs", "outputs", "about"} <= names

    return kind in KINDS and judged(path, look)


def _write_state_space(path: Path, content: Mapping[str, Any]) -> None:
    with h5py.File(path, "w", locking=False, track_order=True) as file:
        file.attrs["format"], file.attrs["format_version"] = STATE_SPACE, 1
        file.attrs["about"], file.attrs["time"] = content["about"], content["time"]
        for axis in ("state", "input", "output"):
            names, units = content[f"{axis}s"], content[f"{axis}_units"]
            file.create_dataset(axis, data=list(names), dtype=h5py.string_dtype()).make_scale(axis)
            file.create_dataset(f"{axis}_unit", data=list(units), dtype=h5py.string_dtype())
        for name, axes in STATE_SPACE_AXES.items():
            stored = file.create_dataset(name, data=content[name])
            for dimension, axis in enumerate(axes):
                stored.dims[dimension].attach_scale(file[axis])
                stored.dims[dimension].label = axis
        file.create_dataset("output_value", data=content["output_values"]).dims[0].attach_scale(file["output"])
