"""Allocation of what pulls accelerations and projections of closed loops back."""

import numpy as np

from mbsim_cli.kernels.algorithms.closed_loops.accelerations import ClosedLoops
from mbsim_cli.kernels.algorithms.closed_loops.pull_back import PulledLoops
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.open_trees.loops import loops_of


def pulled_loops(problem: Problem, theta: np.ndarray, p: int, *, redundant: bool) -> PulledLoops:
    """Allocate PulledLoops for p columns."""
    model, dtype = problem.model, theta.dtype.type
    _, n, m = allocate.sizes(model)
    loops = loops_of(problem, theta, 0, allocate.grounded(model, theta).expected, redundant=redundant)
    loops = loops._replace(d_columns=allocate.columns(n, m, p, dtype))
    kin = loops.kin
    still = kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())
    virtual, none = (allocate.virtual_of(model, p, dtype) for _ in range(2))
    rest = allocate.covectors_of(model, theta.size, p, dtype)
    rest = rest._replace(**{name: zeros((n, p), dtype) for name in ("z", "zd", "zdd")})
    return PulledLoops(
        loops, allocate.work_at_instant(model, theta).comp, ClosedLoops(loops, kin), still, virtual, none, rest,
        zeros((m, p), dtype), zeros((m, p), dtype), zeros((n, p), dtype),
    )  # fmt: skip
