"""The designs of an optimisation, stored in the result of the best one: ``/optimization``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.io.guard import FormatError, opened
from mbsim_cli.io.layout import TEXT, Scales, column_units, texts


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
