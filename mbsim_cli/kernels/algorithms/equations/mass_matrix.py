"""Inertias of subtrees, and the mass matrix by them."""

from mbsim_cli.kernels.algebra.spatial import dot6, inertia_apply, motion_at, shift_force
from mbsim_cli.kernels.algebra.vec3 import dot3, row3, scale3
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel


@kernel
def mass_matrix(tree, kin, comp, M_out):
    """M (n, n); needs ``composite_inertia``. Cost O(n d)."""
    clear(M_out)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia = inertia_at(comp.inertia, i)
        for k in range(tree.first_column[i], tree.first_column[i + 1]):
            P = inertia_apply(inertia, motion_at(kin.S, k))
            for j in range(tree.first_column[i], k + 1):
                M_out[j, k] = dot6(motion_at(kin.S, j), P)
                M_out[k, j] = M_out[j, k]
            body = i
            while tree.parent[body] >= 0:
                P = shift_force(P, scale3(-1.0, offset_to_parent(tree, kin, body)))
                body = tree.parent[body]
                for j in range(tree.first_column[body], tree.first_column[body + 1]):
                    M_out[j, k] = dot6(motion_at(kin.S, j), P)
                    M_out[k, j] = M_out[j, k]


@kernel
def composite_inertia(tree, kin, comp):
    """Leave in comp.inertia (nb + 1, 10) the inertias of subtrees, about ref of their roots."""
    own_inertias(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia_to_parent(tree, kin, comp, i)


@inlined
def own_inertias(tree, kin, comp):
    """Leave in comp.inertia those of single bodies."""
    for i in range(tree.parent.size + 1):
        for k in range(10):
            comp.inertia[i, k] = kin.inertia[i, k]


@inlined
def inertia_to_parent(tree, kin, comp, i):
    """Add the composite inertia of body i to its parent's, about the parent's reference point."""
    p = tree.parent[i]
    d = offset_to_parent(tree, kin, i)
    m = comp.inertia[i, 0]
    h = row3(comp.inertia, i, 1)
    comp.inertia[p, 0] += m
    for k in range(3):
        comp.inertia[p, 1 + k] += h[k] + m * d[k]
    # second moments about a point moved by -d: I + 2 (h . d) 1 - h d^T - d h^T + m (d . d 1 - d d^T)
    s = 2.0 * dot3(h, d) + m * dot3(d, d)
    for k in range(3):
        comp.inertia[p, 4 + k] += comp.inertia[i, 4 + k] + s - 2.0 * h[k] * d[k] - m * d[k] * d[k]
    comp.inertia[p, 7] += comp.inertia[i, 7] - h[0] * d[1] - h[1] * d[0] - m * d[0] * d[1]
    comp.inertia[p, 8] += comp.inertia[i, 8] - h[0] * d[2] - h[2] * d[0] - m * d[0] * d[2]
    comp.inertia[p, 9] += comp.inertia[i, 9] - h[1] * d[2] - h[2] * d[1] - m * d[1] * d[2]
