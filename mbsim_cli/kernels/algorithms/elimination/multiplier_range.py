"""Multipliers of redundant constraints, kept in the range of the constraint Jacobian.

Along a combination of constraints that does not depend on the coordinates the equations say nothing, and
round-off would let the multipliers drift. The orthogonal projection onto the range of J removes it; J^T lambda
stays what it is.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve
from mbsim_cli.kernels.compiler.jit import kernel

REGULARISATION = 1e-10
REFINEMENTS = 3
SINGULAR = -1  # first pivot where J^T J could not be factorised


class Range(NamedTuple):
    """J^T J of the constraint Jacobian, factorised."""

    normal: np.ndarray  # (n, padded(n))
    pivot: np.ndarray  # (n,)


@kernel
def factor_range(J, reach):
    """Factorise J^T J for ``keep_in_range``."""
    m, n = J.shape
    normal = reach.normal
    trace = 0.0 * J[0, 0]
    for i in range(n):
        for j in range(n):
            total = 0.0 * J[0, 0]
            for r in range(m):
                total += J[r, i] * J[r, j]
            normal[i, j] = total
        trace += normal[i, i]
    for i in range(n):
        normal[i, i] += REGULARISATION * trace
    if not lu_factor(normal, reach.pivot):
        reach.pivot[0] = SINGULAR


@kernel
def keep_in_range(J, reach, lam, w, rest):
    """Project lam (m, p) onto the range of J (m, n), of ``factor_range``; work: w and rest (n, p)."""
    if reach.pivot[0] == SINGULAR:
        return
    m, n = J.shape
    for i in range(n):
        for k in range(lam.shape[1]):
            w[i, k] = 0.0
    for _ in range(REFINEMENTS):
        _normal_residual(J, lam, w, rest)
        lu_solve(reach.normal, reach.pivot, rest)
        for i in range(n):
            for k in range(lam.shape[1]):
                w[i, k] += rest[i, k]
    for r in range(m):
        for k in range(lam.shape[1]):
            total = 0.0 * J[0, 0]
            for i in range(n):
                total += J[r, i] * w[i, k]
            lam[r, k] = total


@kernel
def _normal_residual(J, lam, w, rest):
    """rest = J^T (lam - J w)."""
    m, n = J.shape
    for i in range(n):
        for k in range(lam.shape[1]):
            rest[i, k] = 0.0
    for r in range(m):
        for k in range(lam.shape[1]):
            defect = lam[r, k]
            for i in range(n):
                defect -= J[r, i] * w[i, k]
            for i in range(n):
                rest[i, k] += J[r, i] * defect
