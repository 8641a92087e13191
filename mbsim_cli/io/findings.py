"""Findings of whole runs in results: fields, modes, frequency responses, designs; and state spaces in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import h5py
import numpy as np

from mbsim_cli.errors import UsageError, counted, option
from mbsim_cli.io.guard import FormatError, attribute, opened
from mbsim_cli.io.layout import TEXT, Scales, column_units, element_axis, set_unit, texts
from mbsim_cli.io.target import FileKind, check_target, is_of_format, replaced
from mbsim_cli.model.problem import MODE_NUMBERS
from mbsim_cli.system import judged

if TYPE_CHECKING:
    from mbsim_cli.solve.linear.modes import Found
    from mbsim_cli.solve.linear.state_space import Responses


class FieldOnMesh(NamedTuple):
    """Numbers (ne,) of a field before its filter, one per element, and the mesh of the body."""

    name: str
    values: np.ndarray
    body: str
    points: np.ndarray  # (N, 3) in the body's frame
    cells: np.ndarray  # (ne, nodes of a cell)
    kind: str


def store_fields(scales: Scales, fields: Sequence[FieldOnMesh]) -> None:
    """Write values, ``/fields``, and meshes, ``/mesh``; a field of several bodies is stored once."""
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
    """Fields and derivatives ``OBJECTIVE.FIELD`` of a result, ``checked`` before or not; raises InputOutputError."""
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
    """Points, cells and kind of a mesh; raise FormatError where these are inconsistent."""
    from mbsim_cli.reduction.mesh import CELLS

    points, cells, kind = mesh["points"][()], mesh["cells"][()], mesh.attrs["kind"]
    if kind not in CELLS or cells.shape[1:] != (len(CELLS[kind].nodes),) or points.shape[1:] != (3,):
        raise FormatError(f"{mesh.name} is no mesh")
    if cells.dtype.kind not in "iu" or (cells.size and not 0 <= cells.min() <= cells.max() < len(points)):
        raise FormatError(f"{mesh.name}: its cells name points that do not exist")
    return points, cells, kind


RESPONSE = "frequency_response"
MODE_UNITS = {"frequency": "Hz", "damping_ratio": "1", "real_part": "1/s", "imaginary_part": "rad/s"}


def store_modes(scales: Scales, found: "Found") -> None:
    """Write modes into a result, and their derivatives, none without gradients."""
    count = len(found.value)
    group = scales.file.create_group("modes", track_order=True)
    group.attrs["neutral"] = found.neutral
    group.attrs["description"] = "modes by the magnitude of their eigenvalues; of a complex pair one is listed"
    if not count:
        return
    scales.axis("mode", np.arange(1, count + 1), "1")
    numbers = {name: of(found.value, found.d_value) for name, of in MODE_NUMBERS.items()}
    for name, (values, _) in numbers.items():
        scales.store(f"modes/{name}", values, ("mode",), MODE_UNITS[name])
    parts: dict[str, Any] = {"shape_real": np.real, "shape_imaginary": np.imag}
    for name, part in parts.items():
        stored = scales.store(f"modes/{name}", part(found.shape.T), ("mode", "coordinate"))
        stored.attrs["description"] = "change of the coordinates, the largest 1"
    if not found.d_shape.shape[2]:
        return
    for name, (_, derivatives) in numbers.items():
        scales.store(f"modes/gradient/{name}", derivatives, ("mode", "parameter"))
    d_shape = found.d_shape.transpose(1, 0, 2)
    for name, part in parts.items():
        scales.store(f"modes/gradient/{name}", part(d_shape), ("mode", "coordinate", "parameter"))


def shape_of(path: Path, mode: int) -> tuple[np.ndarray, float]:
    """Complex shape (n,) and frequency [Hz] of a mode of a checked result; raises UsageError where it has none."""
    with opened(path, checked=True) as file:
        count = len(file["modes/frequency"]) if "modes/frequency" in file else 0
        if not 1 <= mode <= count:
            held = counted(count, "mode") if count else "no modes; type: modes finds them"
            raise UsageError(f"{option('mode')}: there is no mode {mode}; {path} holds {held}")
        real, imaginary = (np.asarray(file[f"modes/shape_{part}"][mode - 1]) for part in ("real", "imaginary"))
        return real + 1j * imaginary, float(file["modes/frequency"][mode - 1])


def store_responses(scales: Scales, found: "Responses") -> None:
    """Write a frequency response into a result."""
    group = scales.file.create_group(RESPONSE, track_order=True)
    group.attrs["description"] = "of small motions, output over input: real and imaginary part, amplitude, angle"
    scales.axis("frequency", np.asarray(found.frequencies), "Hz")
    sides = ("input", found.inputs, found.input_units), ("output", found.outputs, found.output_units)
    for name, labels, units in sides:
        scales.axis(name, labels)
        scales.file.create_dataset(f"{name}_unit", data=list(units), dtype=TEXT)
    axes = ("frequency", "output", "input")
    parts = {"real": found.value.real, "imaginary": found.value.imag, "gain": np.abs(found.value), "phase": found.phase}
    for name, part in parts.items():
        scales.store(f"{RESPONSE}/{name}", part, axes)
    set_unit(group["phase"], "rad")
    if found.d_value.shape[-1]:
        size = np.abs(found.value)[..., None]
        along = found.d_value * found.value.conj()[..., None]  # by |G|^2 the relative change
        changes = {"real": found.d_value.real, "imaginary": found.d_value.imag}
        changes |= {"gain": along.real / np.where(size == 0.0, 1.0, size)}
        changes |= {"phase": along.imag / np.where(size == 0.0, np.nan, size * size)}
        for name, values in changes.items():
            scales.store(f"{RESPONSE}/gradient/{name}", values, (*axes, "parameter"))


class StoredResponse(NamedTuple):
    """The frequency response of a result: F frequencies [Hz], o outputs, k inputs."""

    frequencies: np.ndarray
    inputs: dict[str, str]  # units by name
    outputs: dict[str, str]
    gain: np.ndarray  # (F, o, k)
    phase: np.ndarray  # (F, o, k) rad


def response_of(path: Path) -> StoredResponse | None:
    """The frequency response of a checked result, None where it has none."""
    with opened(path, checked=True) as file:
        if RESPONSE not in file:
            return None
        sides = ((texts(file[name]), texts(file[f"{name}_unit"])) for name in ("input", "output"))
        inputs, outputs = (dict(zip(*side, strict=True)) for side in sides)
        gain, phase = (np.asarray(file[f"{RESPONSE}/{name}"][()]) for name in ("gain", "phase"))
        return StoredResponse(np.asarray(file["frequency"][()]), inputs, outputs, gain, phase)


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
    """Write a history into the result of the best design, ``/optimization``."""
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


def history_of(path: Path) -> History | None:
    """The designs of the optimisation in a checked result, None if there are none; raises InputOutputError."""
    with opened(path, checked=True) as file:
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
        violation, optimality = (np.asarray(group[name][()], dtype=float) for name in ("violation", "optimality"))
        failures = texts(group["failures"])
        fits = values.shape == (*count, len(variables)) and found.shape == (*count, len(objectives))
        fits = fits and bounds.shape == (len(variables), 2) and len(failures) == len(found)
        if not (fits and violation.shape == optimality.shape == count):
            raise FormatError("the history of its optimisation does not have the shape of its labels")
        facts = {name: value for name in group.attrs if (value := attribute(group, name)) is not None}
        by_name, aims = (dict(zip(names, units[n], strict=True)) for n, names in labels.items())
        return History(facts, by_name, bounds, values, aims, found, violation, optimality, failures)


STATE_SPACE = "mbsim-state-space"
MATRIX_AXES = {"A": ("state", "state"), "B": ("state", "input"), "C": ("output", "state"), "D": ("output", "input")}
KINDS = (".h5", ".npz", ".mat")


def write_state_space(path: Path, content: Mapping[str, Any], *, force: bool) -> None:
    """Write a state space by the ending of a path; raises UsageError and InputOutputError."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: a state space is written to {', '.join(KINDS)}")
    own = FileKind("a state space", "model.lin.h5", _is_own)
    with replaced(check_target(path, own, force=force), own, force=force) as temporary:
        if kind == ".h5":
            with h5py.File(temporary, "w", locking=False, track_order=True) as stored:
                stored.attrs.update({"format": STATE_SPACE, "format_version": 1})
                stored.attrs.update({name: content[name] for name in ("about", "time")})
                scales = Scales(stored)
                for axis in ("state", "input", "output"):
                    scales.axis(axis, content[f"{axis}s"])
                    stored.create_dataset(f"{axis}_unit", data=list(content[f"{axis}_units"]), dtype=TEXT)
                for name, axes in MATRIX_AXES.items():
                    scales.store(name, content[name], axes)
                scales.store("output_value", content["output_values"], ("output",))
                scales.close()
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
        return {*MATRIX_AXES, "states", "inputs", "outputs", "about"} <= names

    return kind in KINDS and judged(path, look)
