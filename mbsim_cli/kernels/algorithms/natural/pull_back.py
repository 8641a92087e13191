"""Pull-backs of a system in natural coordinates: transposes of ``natural.variation``.

Elements and sensors leave adjoints P, D, H of the twists N, N', N'' of bodies; what forces do on the coordinates, and
equations of rigidity, leave such of poses, rates and accelerations, the twelve numbers of each body. These are linear
in the coordinates, so that both go to coordinates and to the numbers of the linear maps in one pass over the bodies.
Derivation: docs/theory/adjoint.md. Cost O(n p).
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    cross_force,
    motion_at,
    motion_at2,
    scale6,
    six_at,
    store2,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, add3_to, add_rows3, cross3, dot3, row3, rows3, scale3, sub3
from mbsim_cli.kernels.algorithms.equations.constraints import VALUE, between, has_curve
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import clear_bodies
from mbsim_cli.kernels.algorithms.natural import linear_poses
from mbsim_cli.kernels.algorithms.natural.linear_poses import POSE, column_of, columns_of, shaped
from mbsim_cli.kernels.algorithms.natural.variation import columns2
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.model.layout import NONE


@kernel
def clear_poses(adj):
    """Start new sums over bodies."""
    clear_bodies(adj)
    clear(adj.pose)
    clear(adj.rate)
    clear(adj.second)


@kernel
def virtual_poses(tree, theta, kin, virtual):
    """Fill what mu moves all bodies by, poses and twists U."""
    for i in range(tree.theta.size):
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            for c in range(POSE):
                o, moved = tree.pose[i] + c, 0.0 * at(virtual.U, i, 0, k)
                for j in range(tree.first[i], tree.first[i + 1]):
                    o += POSE
                    moved += theta[o] * at(virtual.mu, tree.column[j], k)
                put(virtual.pose, i, c, k, moved)
            x, y, w = columns2(virtual.pose, i, k)
            store2(virtual.U, i, k, linear_poses.twist_of(kin.pose, i, rows3(virtual.pose, i, 0, k), x, y, w))


@kernel
def pull_poses(tree, theta, motion, kin, adj):
    """Add to z, z', z'' and to the numbers of linear maps what all adjoints of bodies hold, to the ground's H theirs.

    dV = N' + N x V and dA = N'' + N' x V + N x A, so that P . N + D . N' + H . N'' = P~ . N + D~ . dV + H . dA.
    """
    for i in range(tree.theta.size):
        for g in range(0, adj.z.shape[1], width(adj.z)):
            k = block(adj.z, g)
            _pull_twists(i, k, kin, adj)
            accumulate2(adj.H, tree.theta.size, k, 1.0, motion_at2(adj.H, i, k))
            _pull_linear(tree, theta, motion, i, k, adj)


@inlined
def _add_columns(array, i, k, s, columns):
    """Add s times adjoints of the three columns."""
    add_rows3(array, i, 3, k, scale3(s, columns[0]))
    add_rows3(array, i, 6, k, scale3(s, columns[1]))
    add_rows3(array, i, 9, k, scale3(s, columns[2]))


@inlined
def _half_couple(r, x):
    """Half the couple of a wrench about r: an adjoint of columns' cross products with their variations."""
    return scale3(0.5, sub3(x[0], cross3(r, x[1])))


@inlined
def _of_velocity(kin, i, D, H):
    """Adjoint D~ of dV."""
    return sub6(D, cross_force(motion_at(kin.V, i), H))


@inlined
def _pull_rate(i, k, kin, D, H, adj):
    """Add to the rates of body i what D~ and H are of dV and dA; return the half couple that dw has."""
    couple = sub3(_half_couple(row3(kin.pose, i, 0), D), scale3(0.5, cross3(row3(kin.rate, i, 0), H[1])))
    add_rows3(adj.rate, i, 0, k, add3(D[1], cross3(motion_at(kin.V, i)[0], H[1])))
    for c in range(3):
        add_rows3(adj.rate, i, 3 + 3 * c, k, cross3(couple, column_of(kin.pose, i, c)))
    return couple


@inlined
def _pull_twists(i, k, kin, adj):
    """Pull P, D, H of body i back to its pose, rate and acceleration."""
    V, A, r, H = motion_at(kin.V, i), motion_at(kin.A, i), row3(kin.pose, i, 0), motion_at2(adj.H, i, k)
    D = _of_velocity(kin, i, motion_at2(adj.D, i, k), H)
    P = sub6(motion_at2(adj.P, i, k), add6(cross_force(A, H), cross_force(V, D)))
    of_turn, of_rate, of_second = _half_couple(r, P), _pull_rate(i, k, kin, D, H, adj), _half_couple(r, H)
    add_rows3(adj.pose, i, 0, k, add3(P[1], add3(cross3(V[0], D[1]), cross3(A[0], H[1]))))
    add_rows3(adj.second, i, 0, k, H[1])
    for c in range(3):
        x = column_of(kin.pose, i, c)
        carried = add3(cross3(column_of(kin.rate, i, c), of_rate), cross3(column_of(kin.second, i, c), of_second))
        add_rows3(adj.pose, i, 3 + 3 * c, k, add3(cross3(of_turn, x), carried))
        add_rows3(adj.second, i, 3 + 3 * c, k, cross3(of_second, x))


@inlined
def _pull_linear(tree, theta, motion, i, k, adj):
    """Pull pose, rate and acceleration of body i back to the coordinates and to its linear map."""
    o = tree.pose[i]
    for l in range(POSE):
        add_to(adj.theta, o + l, k, at(adj.pose, i, l, k))
    for j in range(tree.first[i], tree.first[i + 1]):
        o, c = o + POSE, tree.column[j]
        x = x1 = x2 = 0.0 * at(adj.pose, i, 0, k)
        for l in range(POSE):
            hat, hat1, hat2 = at(adj.pose, i, l, k), at(adj.rate, i, l, k), at(adj.second, i, l, k)
            x, x1, x2 = x + theta[o + l] * hat, x1 + theta[o + l] * hat1, x2 + theta[o + l] * hat2
            add_to(adj.theta, o + l, k, motion.z[c] * hat + motion.zd[c] * hat1 + motion.zdd[c] * hat2)
        add_to(adj.z, c, k, x)
        add_to(adj.zd, c, k, x1)
        add_to(adj.zdd, c, k, x2)


@inlined
def _pull_shape(o, k, hat, x, y, theta_out):
    """Add to the numbers of an S, from o on, the pull-back of hat times the products of x with y S."""
    squares = dot3(x[0], y[0]), dot3(x[1], y[1]), dot3(x[2], y[2])
    xy, xz = dot3(x[0], y[1]) + dot3(x[1], y[0]), dot3(x[0], y[2]) + dot3(x[2], y[0])
    products = xy, xz, dot3(x[1], y[2]) + dot3(x[2], y[1])
    add3_to(theta_out, o, k, scale3(hat, squares))
    add3_to(theta_out, o + 3, k, scale3(hat, products))


@kernel
def pull_work(model, theta, multiplier, W, kin, virtual, adj):
    """Add the pull-back of -W . U, W as bodies see it, and of the power of the forces of rigidity; needs U.

    A wrench that a body carries along turns by N x* W, which takes what N x U changes of the power.
    """
    tree, first, before = model.tree, 0, model.constraints.measure.size
    for i in range(tree.theta.size):
        R, (n, f) = columns_of(kin.pose, i), motion_at(W, i)
        half, last = _half_couple(row3(kin.pose, i, 0), (n, f)), linear_poses.rigid_rows(tree, i, first)
        S = linear_poses.held_shape(model, theta, multiplier, first, last)
        pull = shaped(S, R)
        forces = sub3(pull[0], cross3(half, R[0])), sub3(pull[1], cross3(half, R[1])), sub3(pull[2], cross3(half, R[2]))
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            U, D = motion_at2(virtual.U, i, k), columns2(virtual.pose, i, k)
            accumulate2(adj.P, i, k, 1.0, cross_force(U, (n, f)))
            held = shaped(S, D)
            held = (
                add3(held[0], cross3(half, D[0])),
                add3(held[1], cross3(half, D[1])),
                add3(held[2], cross3(half, D[2])),
            )
            add_rows3(adj.pose, i, 0, k, cross3(f, U[0]))
            _add_columns(adj.pose, i, k, 1.0, held)
            for j in range(first, last):
                _pull_shape(tree.shape[j], k, multiplier[before + j], D, R, adj.theta)
            o = tree.pose[i]
            for j in range(tree.first[i], tree.first[i + 1]):
                o, mu = o + POSE, at(virtual.mu, tree.column[j], k)
                add3_to(adj.theta, o, k, scale3(-1.0 * mu, f))
                for c in range(3):
                    add3_to(adj.theta, o + 3 + 3 * c, k, scale3(mu, forces[c]))
        first = last


@kernel
def pull_inertia(tree, theta, x, virtual, adj):
    """Add the pull-back of mu . M x; x are accelerations."""
    entry = tree.mass[0]
    for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
        k = block(virtual.mu, g)
        for c in range(x.size):
            mu = at(virtual.mu, c, k)
            for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
                add_to(adj.zdd, tree.mass_column[s], k, theta[entry + s] * mu)
                add_to(adj.theta, entry + s, k, x[tree.mass_column[s]] * mu)


@kernel
def pull_weight(tree, virtual, theta_out):
    """Add the pull-back of minus the weight's power."""
    for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
        k = block(virtual.mu, g)
        for c in range(virtual.mu.shape[0]):
            add_to(theta_out, tree.weight[0] + c, k, -1.0 * at(virtual.mu, c, k))


@kernel
def pull_rigidity(model, theta, kin, nu, adj):
    """Add the pull-back of nu . Phi, nu (m, p), of rigidity, and of the coordinates that measures define."""
    tree = model.tree
    _pull_defined(tree, nu, adj.z)
    for j in range(tree.rigid.size):
        b, o, R = tree.rigid[j], tree.shape[j], columns_of(kin.pose, tree.rigid[j])
        pull = shaped(linear_poses.shape_at(theta, o), R)
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            hat = at(nu, model.constraints.measure.size + j, k)
            _add_columns(adj.pose, b, k, hat, pull)
            _pull_shape(o, k, 0.5 * hat, R, R, adj.theta)
            add3_to(adj.theta, o, k, (-0.5 * hat, -0.5 * hat, -0.5 * hat))


@inlined
def _pull_defined(tree, nu, out):
    for j in range(tree.defined.size):
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            add_to(out, tree.definition[j], k, -1.0 * at(nu, tree.defined[j], k))


@kernel
def pull_rigidity_rates(model, theta, kin, nu1, nu2, adj):
    """Add the pull-back of nu1 . Phi' + nu2 . Phi'' of the same equations, nu1, nu2 (m, p)."""
    tree = model.tree
    _pull_defined(tree, nu1, adj.zd)
    _pull_defined(tree, nu2, adj.zdd)
    for j in range(tree.rigid.size):
        i, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        R, R1, R2, S = (
            columns_of(kin.pose, b),
            columns_of(kin.rate, b),
            columns_of(kin.second, b),
            linear_poses.shape_at(theta, o),
        )
        pull, pull1, pull2 = shaped(S, R), shaped(S, R1), shaped(S, R2)
        for g in range(0, nu1.shape[1], width(nu1)):
            k = block(nu1, g)
            hat, hat2 = at(nu1, i, k), at(nu2, i, k)
            _add_columns(adj.pose, b, k, hat, pull1)
            _add_columns(adj.pose, b, k, hat2, pull2)
            _add_columns(adj.rate, b, k, hat, pull)
            _add_columns(adj.rate, b, k, 2.0 * hat2, pull1)
            _add_columns(adj.second, b, k, hat2, pull)
            _pull_shape(o, k, hat, R1, R, adj.theta)
            _pull_shape(o, k, hat2, R2, R, adj.theta)
            _pull_shape(o, k, hat2, R1, R1, adj.theta)


@kernel
def pull_natural_velocity(model, theta, lines, rates, zd, nu2, kin, adj, zd_out):
    """Add 2 J'^T nu2, what Phi'' alone is of z', to zd (n, p): see ``vary_natural_with_velocity``.

    It is part of the pull-backs of Phi'' too. Uses up the sums over bodies.
    """
    tree, rows = model.tree, model.constraints.measure
    clear_poses(adj)
    for i in range(rows.size):
        if model.measures.pair[rows[i]] != NONE:
            pair = model.measures.pair[rows[i]]
            a, b = model.pairs.a[pair], model.pairs.b[pair]
            for g in range(0, nu2.shape[1], width(nu2)):
                k = block(nu2, g)
                hat = at(nu2, i, k)
                between(adj.H, a, b, k, 1.0, scale6(hat, motion_at(lines, i)))
                between(adj.D, a, b, k, 1.0, scale6(2.0 * hat, six_at(rates, i, 0)))
        elif has_curve(model.measures, rows[i]):
            c = model.measures.coordinate[model.measures.first[rows[i] + 1] - 1]
            for g in range(0, nu2.shape[1], width(nu2)):
                k = block(nu2, g)
                add_to(zd_out, c, k, -2.0 * lines[i, VALUE] * zd[c] * at(nu2, i, k))
    for j in range(tree.rigid.size):
        pull1 = shaped(linear_poses.shape_at(theta, tree.shape[j]), columns_of(kin.rate, tree.rigid[j]))
        for g in range(0, nu2.shape[1], width(nu2)):
            k = block(nu2, g)
            _add_columns(adj.rate, tree.rigid[j], k, 2.0 * at(nu2, rows.size + j, k), pull1)
    for i in range(tree.theta.size):
        for g in range(0, nu2.shape[1], width(nu2)):
            k, o = block(nu2, g), tree.pose[i]
            H = motion_at2(adj.H, i, k)
            _pull_rate(i, k, kin, _of_velocity(kin, i, motion_at2(adj.D, i, k), H), H, adj)
            for j in range(tree.first[i], tree.first[i + 1]):
                o, x = o + POSE, 0.0 * at(adj.rate, i, 0, k)
                for c in range(POSE):
                    x += theta[o + c] * at(adj.rate, i, c, k)
                add_to(zd_out, tree.column[j], k, x)
