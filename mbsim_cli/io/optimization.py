"""What an optimisation has tried, beside the result of its best design: ``/optimization``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.scales import Scales
from mbsim_cli.io.skeleton import TEXT, set_unit, set_units


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


def store(scales: Scales, history: History) -> None:
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


def _numbers(
    scales: Scales, group: h5py.Group, name: str, values: np.ndarray, axes: Sequence[str], units: Sequence
) -> None:
    dataset = group.create_dataset(name, data=np.asarray(values, dtype=float))
    scales.attach(dataset, axes)
    set_units(scales, dataset, axes, np.array(units, dtype=object))
