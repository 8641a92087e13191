"""Linear models in files: modes and frequency responses in a result, state spaces in files of their own."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import h5py
import numpy as np

from mbsim_cli.errors import UsageError, counted, option
from mbsim_cli.io.guard import opened
from mbsim_cli.io.layout import TEXT, Scales, set_unit, texts
from mbsim_cli.io.target import FileKind, check_target, is_of_format, replaced
from mbsim_cli.model.problem import MODE_NUMBERS
from mbsim_cli.system import judged

if TYPE_CHECKING:
    from mbsim_cli.solve.linear.modes import Found
    from mbsim_cli.solve.linear.state_space import Responses

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
    for name, labels, units in (
        ("input", found.inputs, found.input_units),
        ("output", found.outputs, found.output_units),
    ):
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
    kind_of_file = FileKind("a state space", "model.lin.h5", _is_own)
    target = check_target(path, kind_of_file, force=force)
    with replaced(target, kind_of_file, force=force) as temporary:
        if kind == ".h5":
            with h5py.File(temporary, "w", locking=False, track_order=True) as stored:
                stored.attrs.update({"format": STATE_SPACE, "format_version": 1})
                stored.attrs.update({name: content[name] for name in ("about", "time")})
                scales = Scales(stored)
                for axis in ("state", "input", "output"):
                    scales.axis(axis, content[f"{axis}s"])
                    stored.create_dataset(f"{axis}_unit", data=list(content[f"{axis}_units"]), dtype=TEXT)
                for name, axes in STATE_SPACE_AXES.items():
                    scales.store(name, content[name], axes)
                scales.store("output_value", content["output_values"], ("output",))
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
