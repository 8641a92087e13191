"""Variation of a body's inertia about the global origin: carried along by the body's twist, and its own numbers."""

from mbsim_cli.kernels.algebra.spatial import carry_inertia
from mbsim_cli.kernels.algebra.vec3 import add3
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.equations.residual_variation import inertia_variation
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def vary_inertia(tree, theta, dtheta, k, touched, kin, i, N):
    """dI (dm, dh, dJ) of body i, about the origin like ``kin``, for its twist N and direction k of dtheta."""
    carried = carry_inertia(inertia_at(kin.inertia, i), N)
    if not touched:
        return carried
    dm, dh, dJ = carried
    own_m, own_h, own_J = inertia_variation(tree, theta, dtheta, k, kin, i)
    return (
        dm + own_m,
        add3(dh, own_h),
        (
            dJ[0] + own_J[0],
            dJ[1] + own_J[1],
            dJ[2] + own_J[2],
            dJ[3] + own_J[3],
            dJ[4] + own_J[4],
            dJ[5] + own_J[5],
        ),
    )


@inlined
def store_inertia(array, i, inertia):
    """Write an inertia (m, h, J) to row i."""
    m, h, J = inertia
    array[i, 0] = m
    for k in range(3):
        array[i, 1 + k] = h[k]
    for k in range(6):
        array[i, 4 + k] = J[k]
