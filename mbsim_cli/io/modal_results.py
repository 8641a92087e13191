"""Modes in a result: ``/modes``, with derivatives by the parameters under ``/modes/gradient``."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.io.skeleton import Scales, set_unit

UNITS = {"frequency": "Hz", "damping_ratio": "1", "real_part": "1/s", "imaginary_part": "rad/s"}


class ModesFound(NamedTuple):
    """k modes of n coordinates, and derivatives by p parameters, none without gradients."""

    numbers: Mapping[str, np.ndarray]  # (k,) by name, as ``UNITS`` lists them
    gradients: Mapping[str, np.ndarray]  # (k, p)
    shape: np.ndarray  # (k, n) complex, the largest component 1
    d_shape: np.ndarray  # (k, n, p)
    neutral: int  # eigenvalues that are zero


def store(scales: Scales, found: ModesFound) -> None:
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
        set_unit(stored, UNITS[name])
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
