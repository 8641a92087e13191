"""The onsets of a model: where its forces begin over a short range of what they depend on."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mbsim_cli.kernels.integrators.onsets import (
    DEFLECTION,
    ELONGATION,
    LOAD,
    PENETRATION,
    RATE,
    SLIDING,
    Onsets,
)
from mbsim_cli.model.codes import CONTACTS, TYRES, Force, Law
from mbsim_cli.model.layout import NONE, ONSET, STRIBECK, TYRE_STIFFNESS, Laws, Model
from mbsim_cli.model.problem import Options, Problem

__all__ = ["begins_within_steps", "onsets_of", "room_for"]

Onset = tuple[int, int, float, float, int]  # force, argument, low, high, side of contact


def onsets_of(model: Model, theta: np.ndarray, steps: float = Options.onset_steps) -> Onsets:
    """Onsets of tyres, contacts, stops, dry friction and steps of force, to be passed in so many ``steps``."""
    found = list(_onsets(model, theta.real))
    force, argument, low, high, side = np.array(found, float).reshape(-1, 5).T.copy()
    k = force.size
    return Onsets(
        force.astype(np.int64), argument.astype(np.int64), low, high, side.astype(np.int64),
        np.array([steps]), np.full(k, np.nan), np.zeros(k), np.zeros(k),
    )  # fmt: skip


def begins_within_steps(problem: Problem) -> bool:
    """Whether steps of a problem may be divided where forces begin."""
    return bool(onsets_of(problem.model, problem.theta).force.size)


def room_for(onsets: Onsets, dtype: Any) -> np.ndarray:
    """Room for the arguments of onsets."""
    return np.zeros((onsets.force.size, 2), dtype)


def _onsets(model: Model, theta: np.ndarray) -> Iterator[Onset]:
    forces = model.forces
    for f, kind in enumerate(forces.kind.tolist()):
        if kind in TYRES:
            stiffness, onset = theta[forces.theta[f] + np.array([TYRE_STIFFNESS, ONSET])].tolist()
            yield f, DEFLECTION, 0.0, onset, 1
            yield f, LOAD, 0.0, stiffness * onset, 0
        if kind in CONTACTS:  # whose force begins smoothly
            yield f, PENETRATION, 0.0, np.inf, 1
            yield f, SLIDING, 0.0, float(theta[forces.theta[f] + STRIBECK]), 0
        if kind == Force.ALONG_MEASURE:
            yield from ((f, ELONGATION, *each) for each in _ranges(model.laws, theta, int(forces.law[f, 1])))
            ranges = list(_ranges(model.laws, theta, int(forces.law[f, 2])))
            yield from ((f, RATE, low, high, 0) for low, high, _ in ranges)
            if len(ranges) > 1:  # dry friction turns round between its bends
                yield f, RATE, min(low for low, _, _ in ranges), max(high for _, high, _ in ranges), 0


def _ranges(laws: Laws, theta: np.ndarray, term: int) -> Iterator[tuple[float, float, int]]:
    """Ranges of its argument in which a law bends, and on which side of them it acts if it is that of a stop."""
    while term != NONE:
        first, second = theta[laws.theta[term] :][:2].tolist()
        if laws.kind[term] == Law.SMOOTH_STEP:
            yield min(first, second), max(first, second), 0
        if laws.kind[term] == Law.ONE_SIDED:
            yield min(first, first + second), max(first, first + second), 1 if second > 0.0 else -1
        term = int(laws.next[term])
