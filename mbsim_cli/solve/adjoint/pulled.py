"""Gradients of several numbers at once from covectors of what they see."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbsim_cli.kernels.compiler.simd import fitting, padded
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem

Seen = Callable[[int, Record], np.ndarray]


@dataclass(frozen=True)
class Pulled:
    """Derivatives (p, k) of k numbers by the parameters, and the largest relative size of what was left unsolved.

    ``undefined`` (k,) are those that read what is no number.
    """

    gradient: np.ndarray
    error: float
    undefined: np.ndarray


def columns_of(problem: Problem, count: int) -> int:
    """Columns that are pulled back for so many numbers: a single one is alone in open trees, which may be long.

    Elsewhere the arrays are small, and kernels of a single column would be compiled beside those of several.
    """
    alone = problem.options.analysis == "forward_dynamics" and problem.options.integrated
    return fitting(count) if alone else padded(count)


def each_defined(pull: Callable[[Seen], Pulled], seen: Seen) -> Pulled:
    """What ``pull`` finds of covectors; a number without a derivative does not spoil those of the others.

    ``seen(first, record)`` gives the covectors (B, width, p), p ``columns_of`` them, of the sensors at the rows of a
    record, the first of which is the instant ``first``.
    """
    found = pull(seen)
    if len(found.undefined) == 1 or not np.isnan(found.gradient[:, ~found.undefined]).any():
        return found
    for column in np.flatnonzero(~found.undefined):  # it spoils the solutions of all: each for itself
        found.gradient[:, column] = pull(_of_column(seen, column)).gradient[:, column]
    return found


def _of_column(seen: Seen, column: int) -> Seen:
    """Covectors of one number alone."""

    def alone(first: int, record: Record) -> np.ndarray:
        found = seen(first, record)
        others = np.arange(found.shape[2]) != column
        found[:, :, others] = 0.0
        return found

    return alone
