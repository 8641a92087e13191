"""Summary of a study: statistics, and effects of parameters."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.study.sweep.job_script import command_of
from mbsim_cli.study.sweep.store import DONE, MISSING, WORDS, Ledger

# Main effects: how much of an objective's variance each parameter explains by itself.
#
# First-order sensitivity indices, estimated from whatever cases there are: least squares fit a sum of functions of
# one parameter each, straight between some of its values. The share of one is its covariance with the results over
# their variance (Li et al., J. Phys. Chem. A 114, 2010), less the share that chance gives a function with as many
# coefficients: the residual of one case for each (as in epsilon squared of Kelley, 1935). If the cases are all
# combinations of some values, the shares are exact: those of the means over all cases with one value.

MOST_SEGMENTS = 24  # of a parameter
MOST_FUNCTIONS = 96  # that are fitted together
FEWEST = 16  # cases that say anything
TOGETHER = 0.9  # rank correlation of two parameters above which their effects cannot be separated
AT_ONCE = 4096  # cases whose functions are in memory
SMALLEST = 1e-10  # eigenvalue, relative to the largest, of functions that differ


def main_effects(values: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Shares (v,) of the variance of finite ``results`` (N,) by the parameters ``values`` (N, v); NaN where unknown."""
    known = np.isfinite(results)
    values, results = values[known], results[known]
    shares = np.full(values.shape[1], np.nan)
    if _why_none(values, results):
        return shares
    varies = np.ptp(values, axis=0) > 0.0
    if varies.any():
        shares[varies] = _shares(_levels(values[:, varies]), (results - results.mean()) / np.ptp(results))
    return np.where(_companions(values) < 0, shares, np.nan)


def unknown_effects(names: Sequence[str], values: np.ndarray, results: np.ndarray) -> dict[str, str]:
    """Why the main effects of some parameters are NaN."""
    known = np.isfinite(results)
    values, results = values[known], results[known]
    if none := _why_none(values, results):
        return dict.fromkeys(names, none)
    reasons = {}
    for name, column, other in zip(names, values.T, _companions(values), strict=True):
        if not np.ptp(column) > 0.0:
            reasons[name] = "it has one value"
        elif other >= 0:
            reasons[name] = f"it varies together with {names[other]}"
    return reasons


def _why_none(values: np.ndarray, results: np.ndarray) -> str:
    """Why there are no main effects at all, or nothing."""
    if len(results) < FEWEST and not _complete(_levels(values)):
        return f"fewer than {FEWEST} cases determine none"
    return "" if len(results) and np.ptp(results) > 0.0 else "all cases have the same value"


def _levels(values: np.ndarray) -> list[np.ndarray]:
    """Number of each value (N,) among those of its parameter."""
    return [np.unique(column, return_inverse=True)[1] for column in values.T]


def _companions(values: np.ndarray) -> np.ndarray:
    """Number of another parameter that varies together with each (v,), or -1."""
    order = np.array(_levels(values), float)
    order -= order.mean(axis=1, keepdims=True)
    sizes = np.linalg.norm(order, axis=1)
    order /= np.where(sizes > 0.0, sizes, 1.0)[:, None]
    alike = np.abs(order @ order.T)
    np.fill_diagonal(alike, 0.0)
    return np.where(alike.max(axis=1, initial=0.0) > TOGETHER, alike.argmax(axis=1), -1)


def _shares(levels: Sequence[np.ndarray], results: np.ndarray) -> np.ndarray:
    """Shares of parameters that all vary: together, or one by one where they are too many for that."""
    if _complete(levels):
        between = [np.sum(np.bincount(level, results) ** 2 / np.bincount(level)) for level in levels]
        return np.array(between) / np.sum(results**2)
    segments = min(2, max(int(level.max()) for level in levels))  # one alone shows nothing of what rises and falls
    many = segments * len(levels) > min(len(results) // 2, MOST_FUNCTIONS)
    together = [[level] for level in levels] if many else [levels]
    return np.concatenate([_fitted(some, results) for some in together])


def _complete(levels: Sequence[np.ndarray]) -> bool:
    """Whether the cases are all combinations of the parameters' values, each once, so that chance is in no mean."""
    cases = len(levels[0]) if levels else 0
    counts = [int(level.max()) + 1 for level in levels if cases]
    return cases > 0 and math.prod(counts) == cases and len(np.unique(np.ravel_multi_index(levels, counts))) == cases


def _fitted(levels: Sequence[np.ndarray], results: np.ndarray) -> np.ndarray:
    most = min(len(results) // 2, MOST_FUNCTIONS) // len(levels)
    places = [_place(level, most) for level in levels]
    ends = np.cumsum([int(place.max()) for place in places])
    gram, moments = _sums(places, results)
    inverse = np.linalg.pinv(gram, rcond=SMALLEST, hermitian=True)
    explained = moments * (inverse @ moments)
    taken = np.einsum("ij,ji->i", inverse, gram)  # numbers that the fit has chosen, one for each function that differs
    total = np.sum(results**2)
    chance = max(total - explained.sum(), 0.0) / (len(results) - 1.0 - taken.sum())
    shares = np.add.reduceat(explained - chance * taken, np.concatenate([[0], ends[:-1]])) / total
    return np.clip(shares, 0.0, 1.0)


def _place(level: np.ndarray, most: int) -> np.ndarray:
    """Position of each case (N,), counted in segments: from one value to the next, or of as many values each."""
    last = segments = int(level.max())
    if last > most:
        segments = max(1, min(most, MOST_SEGMENTS, round(np.sqrt(len(level) / 2))))
    return level * segments / last


def _sums(places: Sequence[np.ndarray], results: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariances, times the number of cases, of the functions with each other and with the results of mean zero."""
    size = sum(int(place.max()) for place in places)
    gram, moments, sums = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for first in range(0, len(results), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        # 1 at the end of one segment, straight to 0 at both its neighbours
        tents = [1.0 - np.abs(place[rows, None] - np.arange(1, int(place.max()) + 1)) for place in places]
        functions = np.maximum(np.hstack(tents), 0.0)
        gram += functions.T @ functions
        moments += functions.T @ results[rows]
        sums += functions.sum(axis=0)
    return gram - np.outer(sums, sums) / len(results), moments


_NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.]*(e[-+]?\d+)?")


def status_of(ledger: Ledger) -> dict[str, Any]:
    """Numbers of cases that are done, failed and missing, and the reasons of failures."""
    counts = ledger.counts
    missing = counts.pop(MISSING, 0)
    done = counts.pop(DONE, 0)
    return {
        "study": ledger.plan.study,
        "model": str(ledger.plan.path),
        "cases": ledger.plan.cases,
        "done": done,
        "failed": {WORDS[status]: count for status, count in sorted(counts.items())},
        "missing": missing,
        "seconds": float(np.nansum(ledger.seconds)),
        "strange_rows": ledger.foreign_rows,
        "lost_records": ledger.lost_data,
        "failures": failures_of(ledger),
    }


def failures_of(ledger: Ledger) -> list[dict[str, Any]]:
    """Cases that failed, each with its reason and the command that repeats it."""
    found = []
    for case in np.flatnonzero((ledger.status != DONE) & (ledger.status != MISSING)).tolist():
        row = ledger.rows[case]
        reason = row.remarks.get("failure", "") if row else ""
        command = command_of(ledger.plan, ledger.values[case])
        found.append({"case": case, "status": int(ledger.status[case]), "reason": reason, "command": command})
    return found


def summary_of(ledger: Ledger) -> dict[str, Any]:
    """The status, and of each objective its extremes, its mean and the main effects of the parameters."""
    plan = ledger.plan
    numbers = ledger.numbers()
    names = [column.name for column in plan.varied]
    objectives = {
        column.name: {"unit": column.unit} | _of_objective(names, ledger.values, numbers[:, place, 0])
        for place, column in enumerate(plan.objectives)
    }
    rows = [row for row in ledger.rows if row is not None]
    first: dict[str, str] = {}  # sentences that differ by numbers alone count as the first of them
    sentences = (sentence for row in rows for sentence in row.remarks.get("warnings", ()))
    warnings = dict(Counter(first.setdefault(_NUMBER.sub("", sentence), sentence) for sentence in sentences))
    undefined = Counter(name for row in rows for name in row.remarks.get("undefined", ()))
    found = {"objectives": objectives, "warnings": warnings, "undefined_gradients": dict(undefined)}
    return status_of(ledger) | found


def _of_objective(names: Sequence[str], values: np.ndarray, results: np.ndarray) -> dict[str, Any]:
    known = np.flatnonzero(np.isfinite(results))
    if not len(known):
        nothing = dict.fromkeys(("lowest", "highest", "mean"))
        return nothing | {"main_effects": {}, "main_effects_unknown": {}}

    def case(place: int) -> dict[str, Any]:
        at = dict(zip(names, values[place].tolist(), strict=True))
        return {"case": int(place), "value": float(results[place]), "parameters": at}

    effects = main_effects(values, results).tolist()
    return {
        "lowest": case(known[results[known].argmin()]),
        "highest": case(known[results[known].argmax()]),
        "mean": float(results[known].mean()),
        "main_effects": dict(zip(names, effects, strict=True)),
        "main_effects_unknown": unknown_effects(names, values, results),
    }
