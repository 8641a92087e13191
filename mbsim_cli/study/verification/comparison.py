"""The base of verifications: differences of values, the analysis that is verified, and rows of comparisons."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Block
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.quadrature import around, continuation

if TYPE_CHECKING:
    from mbsim_cli.assembly.problem import Assembled
    from mbsim_cli.spec.model_file import ModelFile
    from mbsim_cli.spec.objectives import Check

# Numerical derivatives of whole analyses, by central differences extrapolated to a vanishing step (Ridders 1982).

FIRST = 1e-3  # of the argument's scale
SHRINK = 4.0
LEVELS = 4  # two analyses each
ENOUGH = 1e-8  # relative error that needs no further level
LUCKY = 10.0  # what an error may be over its estimate: where noise decides, the smallest of several is a lucky one


class Difference(NamedTuple):
    """Derivatives of k functions, an estimate of their error, and the smallest step used, in the argument's unit."""

    derivative: np.ndarray  # (k,)
    error: np.ndarray  # (k,)
    step: float


def derivative(function: Callable[[float], np.ndarray], scale: float, enough: float = ENOUGH) -> Difference:
    """Differentiate functions (k,) of one argument at zero; ``scale`` is a change of the argument that matters.

    Each level shrinks the step and extrapolates with all before it; for every function the entry of the tableau with
    the smallest estimated error is taken, so that neither the truncation of long steps nor the noise of short ones
    decides.
    """
    rows: list[list[np.ndarray]] = []
    best, error = np.zeros(0), np.zeros(0)
    step = FIRST * scale
    for level in range(LEVELS):
        step = FIRST * scale / SHRINK**level
        # the next row of the tableau: the error of central differences is a series in the square of the step
        row, factor = [(function(step) - function(-step)) / (2 * step)], 1.0
        for older in rows[-1] if rows else ():
            factor *= SHRINK**2
            row.append((factor * row[-1] - older) / (factor - 1))
        rows.append(row)
        if level == 0:
            best, error = rows[0][0], np.full_like(rows[0][0], np.inf)
            continue
        for column in range(1, level + 1):
            candidate = rows[level][column]
            change = np.maximum(abs(candidate - rows[level][column - 1]), abs(candidate - rows[level - 1][column - 1]))
            best = np.where(change < error, candidate, best)
            error = np.minimum(change, error)
        if np.all(error <= enough * abs(best)):
            break
    return Difference(best, error, step)


def scale_of(value: float) -> float:
    """Size of a change of a parameter that matters: the parameter's own, or one where it is zero."""
    return abs(value) or 1.0


# The analysis that ``mbsim check`` judges: what was read, assembled and found.


class Analysed(NamedTuple):
    """A model file with one analysis of it, and the objectives that this found."""

    path: Path
    file: "ModelFile"
    settings: Settings  # with a step in seconds
    assembled: "Assembled"
    results: Mapping[str, Gradient]

    def tolerances(self, check: "Check") -> tuple[float, float]:
        """Relative and absolute tolerance of a check."""
        value = self.file.expressions.value
        return value(check.relative_tolerance).real, value(check.absolute_tolerance).real


# Records of sensors, read at any time.


class Recorder:
    """Keeps some sensors, by their rows of the record, at every time point."""

    def __init__(self, rows: Mapping[str, slice]):
        self._rows = rows
        self._times: list[np.ndarray] = []
        self._values: dict[str, list[np.ndarray]] = {name: [] for name in rows}

    def add(self, block: Block) -> None:
        """Add the next time points."""
        self._times.append(block.time.copy())
        for name, rows in self._rows.items():
            self._values[name].append(block.sensors[:, rows].copy())

    def at(self, name: str, time: float) -> np.ndarray:
        """Sensor (k,) at a time: a time point's own, or that of the cubic through the four around it."""
        times, values = np.concatenate(self._times), np.concatenate(self._values[name])
        step = times[-1] - times[-2] if len(times) > 1 else 1.0
        if not times[0] - 1e-6 * step <= time <= times[-1] + 1e-6 * step:
            raise AnalysisError(f"sensor {name} is checked at t = {time:g} s, but the analysis ends at {times[-1]:g} s")
        nearest = int(np.argmin(abs(times - time)))
        if abs(times[nearest] - time) < 1e-6 * step:
            return values[nearest]
        near = around(times, time)
        return continuation(times[near], time).value @ values[near]


# One comparison of a computed number or vector with its reference, and the rule that it passes by.


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row of ``mbsim check``: a number or vector that was computed, and what it should be.

    ``relative_error`` and ``tolerance`` are absolute where the reference is zero; a failure has a ``message`` alone.
    ``source`` says where the reference comes from. One that is not ``decided`` has a reference that is too uncertain to
    show a failure, and passes; its message says how uncertain.
    """

    model: str
    name: str
    kind: str  # benchmark | structure | agreement | numerical | undefined | failure
    objective: str | None = None
    parameter: str | None = None
    computed: float | list[float] | None = None
    reference: float | list[float] | None = None
    relative_error: float | None = None
    tolerance: float | None = None
    passed: bool
    source: str | None = None
    message: str | None = None
    decided: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Entry of ``check --json``."""
        return asdict(self)


def compare(computed: Any, reference: Any, relative: float, absolute: float, scale: float | None = None, **labels: Any):
    """Compare numbers, or vectors by the largest difference of a component relative to the reference's length.

    The error may be ``absolute + relative * scale``; ``scale`` is the size of the reference unless given.
    """
    computed, reference = np.asarray(computed, float), np.asarray(reference, float)
    error = float(np.max(np.abs(computed - reference), initial=0.0))
    size = float(np.linalg.norm(reference)) if scale is None else scale
    allowed = absolute + relative * size
    unit = size or 1.0
    return Comparison(
        computed=computed.tolist(),
        reference=reference.tolist(),
        relative_error=error / unit,
        tolerance=allowed / unit,
        passed=bool(error <= allowed),  # NaN is not
        **labels,
    )


def unless_undecided(row: Comparison, uncertain: float, scale: float, what: str) -> Comparison:
    """The row, unless it failed by no more than its reference is ``uncertain`` by."""
    if row.passed or row.relative_error is None or not row.relative_error * (scale or 1.0) <= uncertain:
        return row
    message = f"{what}: not decided by differences of analyses, which are uncertain by {uncertain / (scale or 1.0):.1e}"
    return replace(row, passed=True, decided=False, message=message)
