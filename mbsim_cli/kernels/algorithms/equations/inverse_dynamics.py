"""Residual of the equations of motion, G = M z'' - Q + Phi_z^T lambda, by one backward recursion.

Paper 000, equations (7)-(9) and (22)-(24), without forming M. Cost O(n).
"""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_force,
    dot6,
    inertia_apply,
    motion_at,
    shift_force,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import scale3
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel


@inlined
def inertia_at(array, i):
    """Inertia (m, h, I) in row i."""
    return (
        array[i, 0],
        (array[i, 1], array[i, 2], array[i, 3]),
        (array[i, 4], array[i, 5], array[i, 6], array[i, 7], array[i, 8], array[i, 9]),
    )


@inlined
def body_force(kin, i):
    """Force that the motion of body i takes, weight included (A is less gravity)."""
    inertia = inertia_at(kin.inertia, i)
    V = motion_at(kin.V, i)
    momentum = inertia_apply(inertia, V)
    return add6(inertia_apply(inertia, motion_at(kin.A, i)), cross_force(V, momentum))


@kernel
def residual(tree, kin, comp, Q, G_out):
    """G (n,) from element forces W on single bodies in ``comp`` and Q (n,); leaves F, W summed over subtrees."""
    nb = tree.parent.size
    for k in range(6):
        comp.F[nb, k] = 0.0
    for i in range(nb):
        store(comp.F, i, body_force(kin, i))
    for i in range(nb - 1, -1, -1):
        F, W = motion_at(comp.F, i), motion_at(comp.W, i)
        total = sub6(F, W)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            G_out[c] = dot6(motion_at(kin.S, c), total) - Q[c]
        p = tree.parent[i]
        back = scale3(-1.0, offset_to_parent(tree, kin, i))
        store(comp.F, p, add6(motion_at(comp.F, p), shift_force(F, back)))
        store(comp.W, p, add6(motion_at(comp.W, p), shift_force(W, back)))
