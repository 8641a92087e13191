"""Residual G = M z'' - Q + Phi_z^T lambda by backward recursion, O(n), without M; paper 000, (7)-(9), (22)-(24)."""

from mbsim_cli.kernels.algebra.arrays import clear, copy_to
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_force,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    scale6,
    shift_force,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, cross3, dot3, rotate, row3, row9, scale3
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width

# Own inertias of coordinates: of rotors behind gears, and of states, whose coordinate moves no body -------------------
#
# G gains a z'' on the coordinate's row, M and the tangent gain a on its diagonal. Where bodies deform, columns of
# joints stand for coordinates.


@kernel
def add_armature_forces(model, theta, zdd, G_out):
    """Add a z'' to G (n,)."""
    for i in range(model.armatures.coordinate.size):
        c = model.armatures.coordinate[i]
        G_out[c] += theta[model.armatures.theta[i]] * zdd[c]


@kernel
def add_armature_mass(model, theta, M_out):
    """Add a to the diagonal of M, or of the tangent by accelerations, (n, n or more)."""
    for i in range(model.armatures.coordinate.size):
        c = model.armatures.coordinate[i]
        M_out[c, c] += theta[model.armatures.theta[i]]


@kernel
def set_armatures(model, theta, own_out):
    """Fill own (n,) with a, zero where a coordinate has none."""
    clear(own_out)
    for i in range(model.armatures.coordinate.size):
        own_out[model.armatures.coordinate[i]] += theta[model.armatures.theta[i]]


@kernel
def vary_armatures(model, theta, dtheta, zdd, dzdd, dG_out):
    """Add the variation of a z'' to dG (n, p)."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            add_to(dG_out, c, k, theta[o] * at(dzdd, c, k) + at(dtheta, o, k) * zdd[c])


@kernel
def vary_armatures_alone(model, dtheta, zdd, dG_out):
    """Add the variation of a z'' at fixed z'' to dG (n, p)."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            add_to(dG_out, c, k, at(dtheta, o, k) * zdd[c])


@kernel
def pull_armatures(model, theta, zdd, virtual, adj_out):
    """Add the pull-back of mu a z''."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            mu = at(virtual.mu, c, k)
            add_to(adj_out.zdd, c, k, theta[o] * mu)
            add_to(adj_out.theta, o, k, zdd[c] * mu)


# Recursion ------------------------------------------------------------------------------------------------------------


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
    for j in range(6):
        comp.F[nb, j] = 0.0
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


@kernel
def mass_matrix(tree, kin, comp, M_out):
    """M (n, n); needs ``composite_inertia``. Cost O(n d)."""
    clear(M_out)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia = inertia_at(comp.inertia, i)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            P = inertia_apply(inertia, motion_at(kin.S, c))
            for j in range(tree.first_column[i], c + 1):
                M_out[j, c] = dot6(motion_at(kin.S, j), P)
                M_out[c, j] = M_out[j, c]
            body = i
            while tree.parent[body] >= 0:
                P = shift_force(P, scale3(-1.0, offset_to_parent(tree, kin, body)))
                body = tree.parent[body]
                for j in range(tree.first_column[body], tree.first_column[body + 1]):
                    M_out[j, c] = dot6(motion_at(kin.S, j), P)
                    M_out[c, j] = M_out[j, c]


@kernel
def composite_inertia(tree, kin, comp):
    """Leave in comp.inertia (nb + 1, 10) the inertias of subtrees, about ref of their roots."""
    inertia = comp.inertia
    copy_to(kin.inertia, inertia)
    for i in range(tree.parent.size - 1, -1, -1):
        p, d = tree.parent[i], offset_to_parent(tree, kin, i)
        m, h = inertia[i, 0], row3(inertia, i, 1)
        inertia[p, 0] += m
        for j in range(3):
            inertia[p, 1 + j] += h[j] + m * d[j]
        # second moments about a point moved by -d: I + 2 (h . d) 1 - h d^T - d h^T + m (d . d 1 - d d^T)
        s = 2.0 * dot3(h, d) + m * dot3(d, d)
        for j in range(3):
            inertia[p, 4 + j] += inertia[i, 4 + j] + s - 2.0 * h[j] * d[j] - m * d[j] * d[j]
        inertia[p, 7] += inertia[i, 7] - h[0] * d[1] - h[1] * d[0] - m * d[0] * d[1]
        inertia[p, 8] += inertia[i, 8] - h[0] * d[2] - h[2] * d[0] - m * d[0] * d[2]
        inertia[p, 9] += inertia[i, 9] - h[1] * d[2] - h[2] * d[1] - m * d[1] * d[2]


# Rate matrices B: forces of a unit rate of twist, of single bodies and of subtrees; docs/theory/newton_matrix.md.


@inlined
def rate_matrix(kin, i):
    """Couple 2 (tr P 1 - P) (3 x 3 by rows), P the moments of x' x^T, and twice the momentum of body i."""
    m, h, J = inertia_at(kin.inertia, i)
    w, v = scale6(2.0, motion_at(kin.V, i))
    half = 0.5 * (J[0] + J[1] + J[2])
    # second moments x x^T of the mass, columns
    x = (half - J[0], -J[3], -J[4])
    y = (-J[3], half - J[1], -J[5])
    z = (-J[4], -J[5], half - J[2])
    a = add3(cross3(w, x), scale3(h[0], v))
    b = add3(cross3(w, y), scale3(h[1], v))
    c = add3(cross3(w, z), scale3(h[2], v))
    momentum = add3(scale3(m, v), cross3(w, h))
    couple = (b[1] + c[2], -b[0], -c[0], -a[1], a[0] + c[2], -c[1], -a[2], -b[2], a[0] + b[1])
    return couple, momentum


@inlined
def rate_apply(couple, momentum, w):
    """B (w, v): force of a unit rate of twist; only its angular part w counts."""
    return (rotate(couple, w), cross3(w, momentum))


@inlined
def rate_at(comp, i):
    """``rate_matrix`` in row i."""
    return row9(comp.rate, i), row3(comp.rate, i, 9)


@inlined
def own_rates(tree, kin, comp):
    """Leave in comp.rate (nb + 1, 12) the rate matrices of single bodies."""
    nb = tree.parent.size
    for j in range(12):
        comp.rate[nb, j] = 0.0
    for i in range(nb):
        couple, momentum = rate_matrix(kin, i)
        for j in range(9):
            comp.rate[i, j] = couple[j]
        for j in range(3):
            comp.rate[i, 9 + j] = momentum[j]
