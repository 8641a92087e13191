"""Pull-backs of bodies, joints and gravity: one pass inwards, transposing ``variation`` and ``residual_variation``.

With U the virtual motion of mu, a body's part of mu . G varies by

    (I U) . N'' + (B^T U) . N' + F . N'_U + U . dI A - (V x U) . dI V,      F = I A + V x* I V less what acts on it,

N'_U the rate of N under U. Adjoints of N, N', N'' are summed over subtrees; a column gives to its coordinate what it
has in common with them, a joint frame gives to its numbers. Needs reference points at the global origin.
Derivation: docs/theory/adjoint.md. Cost O(n p).
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    scale6,
    shift_motion,
    store2,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    cross3,
    dot3,
    load3,
    load9,
    rotate,
    row3,
    row9,
    scale3,
    sub3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import rate_matrix
from mbsim_cli.kernels.algorithms.equations.sensors import center_of_mass
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_own
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.columns import euler_column_rate, is_euler, load4, load4_of
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import COM, GRAVITY, INERTIA, MASS, P_C, P_P, R_C, R_P


@kernel
def clear_bodies(adj):
    """Start new sums over bodies."""
    clear(adj.P)
    clear(adj.D)
    clear(adj.H)


@kernel
def clear_motion(adj):
    """Start new adjoints of a motion."""
    clear(adj.z)
    clear(adj.zd)
    clear(adj.zdd)
    clear(adj.lam)


@kernel
def virtual_motion(tree, kin, virtual):
    """Fill U of all bodies from mu."""
    for i in range(tree.parent.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            U = motion_at2(virtual.U, tree.parent[i], k)
            for c in range(tree.first_column[i], tree.first_column[i + 1]):
                U = axpy6(at(virtual.mu, c, k), motion_at(kin.S, c), U)
            store2(virtual.U, i, k, U)


@kernel
def pull_bodies(tree, theta, kin, virtual, adj_out):
    """Add the inertia's part of the pull-back of mu . G; ``pull_tree`` adds that of F."""
    for i in range(tree.parent.size):
        inertia, (couple, momentum) = inertia_at(kin.inertia, i), rate_matrix(kin, i)
        R, center = row9(kin.R, i), center_of_mass(tree, theta, kin, i)
        V, A = shift_motion(motion_at(kin.V, i), center), shift_motion(motion_at(kin.A, i), center)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            U = motion_at2(virtual.U, i, k)
            accumulate2(adj_out.H, i, k, 1.0, inertia_apply(inertia, U))
            turned = add3(unrotate(couple, U[0]), cross3(momentum, U[1]))
            accumulate2(adj_out.D, i, k, 1.0, (turned, scale3(0.0, turned)))
            U = shift_motion(U, center)
            pull_own_inertia(theta, tree.theta[i], k, R, U, A, cross_motion(U, V), V, adj_out.theta)


@inlined
def pull_own_inertia(theta, o, k, R, X, Y, X2, Y2, theta_out):
    """Add to mass, centre of mass and moments of a body, from o on, the adjoint of X . dI Y + X2 . dI Y2.

    Motions about the centre of mass, those in column k adjoints too.
    """
    (x, u), (y, v), (x2, u2), (y2, v2) = X, Y, X2, Y2
    add_to(theta_out, o + MASS, k, dot3(u, v) + dot3(u2, v2))
    turned = add3(add3(cross3(v, x), cross3(u, y)), add3(cross3(v2, x2), cross3(u2, y2)))
    add3_to(theta_out, o + COM, k, scale3(theta[o + MASS], unrotate(R, turned)))
    x, y, x2, y2 = unrotate(R, x), unrotate(R, y), unrotate(R, x2), unrotate(R, y2)
    moments = x[0] * y[0] + x2[0] * y2[0], x[1] * y[1] + x2[1] * y2[1], x[2] * y[2] + x2[2] * y2[2]
    add3_to(theta_out, o + INERTIA, k, moments)
    xy = x[0] * y[1] + x[1] * y[0] + x2[0] * y2[1] + x2[1] * y2[0]
    xz = x[0] * y[2] + x[2] * y[0] + x2[0] * y2[2] + x2[2] * y2[0]
    yz = x[1] * y[2] + x[2] * y[1] + x2[1] * y2[2] + x2[2] * y2[1]
    add3_to(theta_out, o + INERTIA + 3, k, (xy, xz, yz))


@kernel
def pull_tree(tree, theta, z, kin, comp, virtual, adj):
    """Sum P, D, H over subtrees; add to z, z', z'' and to the numbers of joint frames.

    Needs the forces of ``residual`` in ``comp`` where there is a virtual motion.
    """
    for i in range(tree.parent.size - 1, -1, -1):
        p = tree.parent[i]
        F = sub6(motion_at(comp.F, i), motion_at(comp.W, i))
        for g in range(0, adj.each.size, width(adj.each)):
            k = block(adj.each, g)
            P, D, H = motion_at2(adj.P, i, k), motion_at2(adj.D, i, k), motion_at2(adj.H, i, k)
            own = _of_fixed_twist(kin, i, motion_at2(virtual.U, i, k), P, D, H, F)
            _pull_frame(theta, tree.theta[i] + P_C, tree.theta[i] + R_C, k, kin, i, scale6(-1.0, own), adj.theta)
            U = motion_at2(virtual.U, p, k)
            own = _of_fixed_twist(kin, p, U, P, D, H, F)
            _pull_frame(theta, tree.theta[i] + P_P, tree.theta[i] + R_P, k, kin, p, own, adj.theta)
            _pull_columns(tree, theta, z, kin, i, k, U, P, D, H, F, virtual.mu, adj)
            accumulate2(adj.P, p, k, 1.0, P)
            accumulate2(adj.D, p, k, 1.0, D)
            accumulate2(adj.H, p, k, 1.0, H)


@kernel
def pull_gravity(adj):
    """Add to gravity minus the adjoint of the ground's acceleration; after ``pull_tree``."""
    ground = adj.H.shape[0] - 1
    for g in range(0, adj.each.size, width(adj.each)):
        k = block(adj.each, g)
        _, v = motion_at2(adj.H, ground, k)
        add3_to(adj.theta, GRAVITY, k, scale3(-1.0, v))


@inlined
def _of_fixed_twist(kin, i, U, P, D, H, F):
    """Adjoint of a twist that is fixed in body i, which moves by V, A and virtually by U."""
    V, A = motion_at(kin.V, i), motion_at(kin.A, i)
    rate = sub6(cross_force(V, cross_force(V, H)), cross_force(V, D))
    return sub6(add6(P, rate), add6(cross_force(A, H), cross_force(U, F)))


@inlined
def _pull_frame(theta, point_at, axes_at, k, kin, i, own, theta_out):
    """Add to a joint frame in body i, its point and its axes, the adjoint of the twist that it varies by."""
    R = row9(kin.R, i)
    point = add3(row3(kin.r, i, 0), rotate(R, load3(theta, point_at)))
    add3_to(theta_out, point_at, k, unrotate(R, own[1]))
    pull_axes(theta, axes_at, k, unrotate(R, sub3(own[0], cross3(point, own[1]))), theta_out)


@inlined
def pull_axes(theta, axes_at, k, turn, theta_out):
    """Add to a rotation matrix the adjoint of its turn, in the axes that it leads to."""
    axes, half = load9(theta, axes_at), scale3(0.5, turn)
    for j in range(3):
        x = cross3(half, (axes[j], axes[3 + j], axes[6 + j]))
        add_to(theta_out, axes_at + j, k, x[0])
        add_to(theta_out, axes_at + 3 + j, k, x[1])
        add_to(theta_out, axes_at + 6 + j, k, x[2])


@inlined
def _pull_columns(tree, theta, z, kin, i, k, U, P, D, H, F, mu, adj):
    """Add to the coordinates of joint i; U is the virtual motion of its parent."""
    base = U
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        S, S1, S2, kind = motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c), tree.column_kind[c]
        if is_euler(kind):
            j = kind - Column.EULER_0
            if kind == Column.EULER_0:
                base = U
            local = euler_column_rate(load4(z, c - j), load4_of(mu, c - j, k), j)
            turned = add6(cross_motion(base, S), euler_own(tree, theta, kin, i, local))
        else:
            turned = cross_motion(U, S)
        add_to(adj.z, c, k, dot6(S, P) + dot6(S1, D) + dot6(S2, H) + dot6(turned, F))
        add_to(adj.zd, c, k, dot6(S, D) + 2.0 * dot6(S1, H))
        add_to(adj.zdd, c, k, dot6(S, H))
        U = axpy6(at(mu, c, k), S, U)
