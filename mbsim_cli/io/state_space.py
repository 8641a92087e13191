"""State spaces in files: HDF5 with named axes, NumPy's .npz, MATLAB's .mat."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.target import only_by_force

FORMAT = "mbsim-state-space"
AXES = {"A": ("state", "state"), "B": ("state", "input"), "C": ("output", "state"), "D": ("output", "input")}
KINDS = (".h5", ".npz", ".mat")


def write(path: Path, content: Mapping[str, Any], *, force: bool) -> None:
    """Write a state space by the ending of a path; raises UsageError and InputOutputError."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: a state space is written to {', '.join(KINDS)}")
    if path.exists() and not (force or _is_own(path)):
        raise InputOutputError(f"{path} exists and is no state space of mbsim; {only_by_force()}")
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if kind == ".h5":
            _hdf5(temporary, content)
        else:
            plain: dict[str, Any] = {name: np.asarray(value) for name, value in content.items()}
            with temporary.open("wb") as file:
                if kind == ".npz":
                    np.savez(file, **plain)
                else:
                    from scipy.io import savemat

                    names = {name: np.array(value, object) for name, value in plain.items() if value.dtype.kind == "U"}
                    savemat(file, plain | {name: value for name, value in names.items() if value.ndim})
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputOutputError(f"cannot write {path}: {error.strerror or error}") from error


def _is_own(path: Path) -> bool:
    """Whether a file is a state space, which may be replaced."""
    if path.suffix.lower() != ".h5":
        return False
    try:
        with h5py.File(path) as file:
            return file.attrs.get("format") == FORMAT
    except OSError:
        return False


def _hdf5(path: Path, content: Mapping[str, Any]) -> None:
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["format"], file.attrs["format_version"] = FORMAT, 1
        file.attrs["about"], file.attrs["time"] = content["about"], content["time"]
        for axis in ("state", "input", "output"):
            names, units = content[f"{axis}s"], content[f"{axis}_units"]
            file.create_dataset(axis, data=list(names), dtype=h5py.string_dtype()).make_scale(axis)
            file.create_dataset(f"{axis}_unit", data=list(units), dtype=h5py.string_dtype())
        for name, axes in AXES.items():
            stored = file.create_dataset(name, data=content[name])
            for dimension, axis in enumerate(axes):
                stored.dims[dimension].attach_scale(file[axis])
                stored.dims[dimension].label = axis
        file.create_dataset("output_value", data=content["output_values"]).dims[0].attach_scale(file["output"])
