"""Allocation of what pull-backs work on."""

import numpy as np

from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.integrators.ali3p_adjoint import AdjointWork, Pulling
from mbsim_cli.model.layout import FlexibleNatural, Model
from mbsim_cli.solve import allocate


def work_of(model: Model, theta: np.ndarray, p: int, least: np.ndarray | None = None) -> tuple[AdjointWork, Pulling]:
    """Allocate the work of pull-backs of p columns; ``least`` as in ``Problem``, where equations are solved."""
    _, n, m = allocate.sizes(model)
    dtype = theta.dtype.type
    motion = allocate.work(model, theta, least=least)
    kin = motion.kin
    still = kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())
    if isinstance(model.tree, FlexibleNatural):
        still = still._replace(rate=np.zeros_like(kin.rate), second=np.zeros_like(kin.second))
    columns, seen = allocate.columns(n, m, p, dtype), np.zeros(allocate.sensor_width(model), dtype)
    state = allocate.state(model, dtype)
    work = AdjointWork(
        kin, still, motion.comp, motion.eq, motion.tangent, motion.projection, columns, state, seen
    )  # fmt: skip
    cov = allocate.covectors_of(model, theta.size, p, dtype)
    rest = cov._replace(zd=zeros((n, p), dtype), zdd=zeros((n, p), dtype))
    nu = (zeros((m, p), dtype) for _ in range(3))
    virtual, none = (allocate.virtual_of(model, p, dtype) for _ in range(2))
    return work, Pulling(cov, rest, virtual, none, *nu, np.zeros(n, dtype))
