"""Variations of a system in natural coordinates in p directions.

What varies of a body is its pose, linear in the coordinates, with two time derivatives; the twists N, N', N'' that
elements and sensors stand on follow from dV = N' + N x V and dA = N'' + N' x V + N x A. The numbers of the linear maps
vary with theta. Derivation: docs/theory/natural_coordinates.md.
"""

from collections import namedtuple

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    six_at,
    store2,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, load3_of, put3, row3, rows3, scale3, sub3
from mbsim_cli.kernels.algorithms.equations import constraint_derivatives
from mbsim_cli.kernels.algorithms.motion.about_origin import between2
from mbsim_cli.kernels.algorithms.motion.variation import vary_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Twists
from mbsim_cli.kernels.algorithms.natural import linear_poses
from mbsim_cli.kernels.algorithms.natural.linear_poses import POSE, columns_of, half_turn, paired, shaped
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.model.layout import GRAVITY, NONE

# ``Twists``, and what they follow from: (nb, 12, p) each
NaturalTwists = namedtuple("NaturalTwists", [*Twists._fields, "pose", "rate", "second"])


@inlined
def columns2(array, i, k):
    return rows3(array, i, 3, k), rows3(array, i, 6, k), rows3(array, i, 9, k)


@kernel
def vary_natural(tree, theta, directions, motion, kin, change, tw):
    """Fill ``tw`` for ``directions`` and variations ``change`` (n, p)."""
    dtheta, touch = directions.dtheta, directions.touch
    vary_ground(tree, dtheta, tw)
    for i in range(tree.theta.size):
        for g in range(0, change.z.shape[1], width(change.z)):
            k = block(change.z, g)
            touched = touch.geometry[i, g]
            z, zd, zdd, dz, dzd, dzdd = motion.z, motion.zd, motion.zdd, change.z, change.zd, change.zdd
            _put_pose(tw.pose, i, k, *vary_linear(tree, theta, dtheta, touched, i, k, 1.0, z, dz))
            _put_pose(tw.rate, i, k, *vary_linear(tree, theta, dtheta, touched, i, k, 0.0, zd, dzd))
            _vary_motion(i, k, kin, tw)
            _put_pose(tw.second, i, k, *vary_linear(tree, theta, dtheta, touched, i, k, 0.0, zdd, dzdd))
            _vary_acceleration(dtheta, i, k, kin, tw)


@inlined
def vary_linear(tree, theta, dtheta, touched, i, k, constant, z, dz):
    """Variation k of the linear map of body i, with or without its constant: origin, and columns of R."""
    r, a, b, c = linear_poses.moved_by(tree, theta, i, k, dz, 0.0 * at(dtheta, 0, k))
    if touched:
        o = tree.pose[i]
        r, a = axpy3(constant, load3_of(dtheta, o, k), r), axpy3(constant, load3_of(dtheta, o + 3, k), a)
        b, c = axpy3(constant, load3_of(dtheta, o + 6, k), b), axpy3(constant, load3_of(dtheta, o + 9, k), c)
        for j in range(tree.first[i], tree.first[i + 1]):
            o += POSE
            x = z[tree.column[j]]
            r, a = axpy3(x, load3_of(dtheta, o, k), r), axpy3(x, load3_of(dtheta, o + 3, k), a)
            b, c = axpy3(x, load3_of(dtheta, o + 6, k), b), axpy3(x, load3_of(dtheta, o + 9, k), c)
    return r, a, b, c


@inlined
def _put_pose(out, i, k, r, a, b, c):
    put3(out, i, 0, k, r)
    put3(out, i, 3, k, a)
    put3(out, i, 6, k, b)
    put3(out, i, 9, k, c)


@inlined
def _vary_motion(i, k, kin, tw):
    """N and N' of body i."""
    R, r, V = columns_of(kin.pose, i), row3(kin.pose, i, 0), motion_at(kin.V, i)
    dR, dr = columns2(tw.pose, i, k), rows3(tw.pose, i, 0, k)
    turn = half_turn(R, dR)
    N = (turn, sub3(dr, cross3(turn, r)))
    store2(tw.N, i, k, N)
    store2(tw.N1, i, k, sub6(_velocity_variation(i, k, kin, tw), cross_motion(N, V)))


@inlined
def _velocity_variation(i, k, kin, tw):
    """dV of body i."""
    R, R1 = columns_of(kin.pose, i), columns_of(kin.rate, i)
    dr, dr1 = rows3(tw.pose, i, 0, k), rows3(tw.rate, i, 0, k)
    dw = add3(half_turn(columns2(tw.pose, i, k), R1), half_turn(R, columns2(tw.rate, i, k)))
    return (dw, sub3(sub3(dr1, cross3(dw, row3(kin.pose, i, 0))), cross3(motion_at(kin.V, i)[0], dr)))


@inlined
def _vary_acceleration(dtheta, i, k, kin, tw):
    """N'' of body i."""
    V, A, N, N1 = motion_at(kin.V, i), motion_at(kin.A, i), motion_at2(tw.N, i, k), motion_at2(tw.N1, i, k)
    dw = _velocity_variation(i, k, kin, tw)[0]
    dr, dr1, dr2 = rows3(tw.pose, i, 0, k), rows3(tw.rate, i, 0, k), rows3(tw.second, i, 0, k)
    of_turn = half_turn(columns2(tw.pose, i, k), columns_of(kin.second, i))
    da = add3(of_turn, half_turn(columns_of(kin.pose, i), columns2(tw.second, i, k)))
    lin = sub3(sub3(dr2, cross3(da, row3(kin.pose, i, 0))), cross3(A[0], dr))
    lin = sub3(sub3(lin, cross3(dw, row3(kin.rate, i, 0))), cross3(V[0], dr1))
    dA = (da, sub3(lin, load3_of(dtheta, GRAVITY, k)))
    store2(tw.N2, i, k, sub6(dA, add6(cross_motion(N1, V), cross_motion(N, A))))


@inlined
def shape_of(dtheta, o, k):
    """Variation k of S."""
    return load3_of(dtheta, o, k), load3_of(dtheta, o + 3, k)


@kernel
def vary_natural_constraints(model, theta, directions, t, z, dz, lines, kin, tw, out):
    """Variation of Phi, out (m, p); needs ``vary_natural``."""
    dtheta, touch = directions.dtheta, directions.touch
    tree = model.tree
    constraint_derivatives.vary_constraints(model, theta, directions, t, z, dz, lines, kin, tw, out)
    _define(tree, dz, out)
    for j in range(tree.rigid.size):
        i, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        R = columns_of(kin.pose, b)
        pull = shaped(linear_poses.shape_at(theta, o), R)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            change = paired(columns2(tw.pose, b, k), pull)
            if touch.geometry[b, g]:
                S = shape_of(dtheta, o, k)
                change += 0.5 * (paired(R, shaped(S, R)) - (S[0][0] + S[0][1] + S[0][2]))
            put(out, i, k, change)


@inlined
def _define(tree, dz, out):
    """Variation of the coordinates that measures define."""
    for j in range(tree.defined.size):
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(out, tree.defined[j], k, -at(dz, tree.definition[j], k))


@kernel
def vary_natural_rates(model, theta, directions, t, motion, change, lines, rates, kin, tw, first_out, second_out):
    """Variations of Phi' and Phi'' (m, p); needs ``vary_natural`` and ``move_lines``."""
    dtheta, touch = directions.dtheta, directions.touch
    tree = model.tree
    constraint_derivatives.vary_constraint_rates(
        model, theta, directions, t, motion, change, lines, rates, kin, tw, first_out, second_out
    )
    _define(tree, change.zd, first_out)
    _define(tree, change.zdd, second_out)
    for j in range(tree.rigid.size):
        i, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        R, R1, R2 = columns_of(kin.pose, b), columns_of(kin.rate, b), columns_of(kin.second, b)
        S = linear_poses.shape_at(theta, o)
        pull, pull1, pull2 = shaped(S, R), shaped(S, R1), shaped(S, R2)
        for g in range(0, change.z.shape[1], width(change.z)):
            k = block(change.z, g)
            dR, dR1 = columns2(tw.pose, b, k), columns2(tw.rate, b, k)
            first = paired(dR1, pull) + paired(dR, pull1)
            second = paired(columns2(tw.second, b, k), pull) + paired(dR, pull2) + 2.0 * paired(dR1, pull1)
            if touch.geometry[b, g]:
                dS = shape_of(dtheta, o, k)
                own = shaped(dS, R)
                first += paired(R1, own)
                second += paired(R2, own) + paired(R1, shaped(dS, R1))
            put(first_out, i, k, first)
            put(second_out, i, k, second)


@kernel
def vary_natural_with_velocity(factor, model, theta, lines, rates, zd, dzd, kin, tw, second_out):
    """Add ``factor`` times its variation with velocities dzd alone to Phi'' (m, p); ``tw`` is used up."""
    tree = model.tree
    if zd.size == 0:
        return
    constraint_derivatives.vary_with_velocity(factor, model, lines, rates, zd, dzd, kin, second_out)
    for i in range(tree.theta.size):
        V = motion_at(kin.V, i)
        R, r, r1 = columns_of(kin.pose, i), row3(kin.pose, i, 0), row3(kin.rate, i, 0)
        for g in range(0, dzd.shape[1], width(dzd)):
            k = block(dzd, g)
            dr1, a, b, c = linear_poses.moved_by(tree, theta, i, k, dzd, 0.0 * at(dzd, 0, k))
            _put_pose(tw.rate, i, k, dr1, a, b, c)
            dw = half_turn(R, (a, b, c))
            N1 = (dw, sub3(dr1, cross3(dw, r)))
            dA = (scale3(0.0, dw), scale3(-1.0, add3(cross3(dw, r1), cross3(V[0], dr1))))
            store2(tw.N1, i, k, N1)
            store2(tw.N2, i, k, sub6(dA, cross_motion(N1, V)))
    for g in range(0, dzd.shape[1], width(dzd)):
        k = block(dzd, g)
        for c in range(6):
            put(tw.N1, tree.theta.size, c, k, 0.0)
            put(tw.N2, tree.theta.size, c, k, 0.0)
        for i in range(model.constraints.measure.size):
            m = model.constraints.measure[i]
            if model.measures.pair[m] != NONE:
                pair = model.measures.pair[m]
                a, b = model.pairs.a[pair], model.pairs.b[pair]
                N1, N2 = between2(tw.N1, kin, a, b, k), between2(tw.N2, kin, a, b, k)
                change = dot6(N2, motion_at(lines, i)) + 2.0 * dot6(N1, six_at(rates, i, 0))
                add_to(second_out, i, k, factor * change)
        for j in range(tree.rigid.size):
            b = tree.rigid[j]
            pull1 = shaped(linear_poses.shape_at(theta, tree.shape[j]), columns_of(kin.rate, b))
            change = 2.0 * factor * paired(columns2(tw.rate, b, k), pull1)
            add_to(second_out, model.constraints.measure.size + j, k, change)


# Variations of the work of forces and inertia on natural coordinates, in p directions ---------------------------------


@inlined
def is_moved(tree, touch, g):
    """Whether the mass matrix or the weight vary in the directions of the block at g."""
    found = False
    for i in range(tree.theta.size):
        found = found or touch.geometry[i, g] or touch.inertia[i, g]
    return found


@kernel
def vary_natural_work(model, theta, directions, multiplier, x, W, kin, tw, dG_out):
    """Add to dG (n, p) the variation of M x + Phi_z^T multiplier - work of W, at fixed x and multiplier.

    The wrenches -W (nb + 1, 6) vary by ``tw.F``, as the bodies see it.
    """
    dtheta, touch = directions.dtheta, directions.touch
    tree, first_rigid = model.tree, 0
    _by_mass(tree, directions, x, dG_out)
    for i in range(tree.theta.size):
        n, f = motion_at(W, i)
        R, r = columns_of(kin.pose, i), row3(kin.pose, i, 0)
        half = scale3(0.5, sub3(n, cross3(r, f)))
        last_rigid = linear_poses.rigid_rows(tree, i, first_rigid)
        S = linear_poses.held_shape(model, theta, multiplier, first_rigid, last_rigid)
        for g in range(0, dG_out.shape[1], width(dG_out)):
            k = block(dG_out, g)
            dR, dr = columns2(tw.pose, i, k), rows3(tw.pose, i, 0, k)
            dn, df = sub6(cross_force(motion_at2(tw.N, i, k), (n, f)), motion_at2(tw.F, i, k))
            d_half = scale3(0.5, sub3(dn, add3(cross3(dr, f), cross3(r, df))))
            ea = scale3(-1.0, add3(cross3(d_half, R[0]), cross3(half, dR[0])))
            eb = scale3(-1.0, add3(cross3(d_half, R[1]), cross3(half, dR[1])))
            ec = scale3(-1.0, add3(cross3(d_half, R[2]), cross3(half, dR[2])))
            pull = shaped(S, dR)
            ea, eb, ec = add3(pull[0], ea), add3(pull[1], eb), add3(pull[2], ec)
            if touch.geometry[i, g]:
                for j in range(first_rigid, last_rigid):
                    lam = multiplier[model.constraints.measure.size + j]
                    own = shaped(shape_of(dtheta, tree.shape[j], k), R)
                    ea, eb, ec = axpy3(lam, own[0], ea), axpy3(lam, own[1], eb), axpy3(lam, own[2], ec)
            linear_poses.add_power(tree, theta, i, k, scale3(-1.0, df), (ea, eb, ec), dG_out)
        _by_linear_maps(tree, directions, S, i, half, f, R, dG_out)
        first_rigid = last_rigid


@inlined
def _by_mass(tree, directions, x, dG_out):
    """Add the variation of M times x (n,)."""
    dtheta, touch = directions.dtheta, directions.touch
    entry = tree.mass[0]
    for g in range(0, dG_out.shape[1], width(dG_out)):
        if is_moved(tree, touch, g):
            k = block(dG_out, g)
            for c in range(dG_out.shape[0]):
                total = 0.0 * at(dtheta, 0, k)
                for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
                    total += x[tree.mass_column[s]] * at(dtheta, entry + s, k)
                add_to(dG_out, c, k, total)


@inlined
def _by_linear_maps(tree, directions, S, i, half, f, R, dG_out):
    """Add the work of the forces on body i on the variations of its linear map."""
    dtheta, touch = directions.dtheta, directions.touch
    pull = shaped(S, R)
    ea, eb, ec = (
        add3(cross3(R[0], half), pull[0]), add3(cross3(R[1], half), pull[1]), add3(cross3(R[2], half), pull[2])
    )  # fmt: skip
    for g in range(0, dG_out.shape[1], width(dG_out)):
        if touch.geometry[i, g]:
            k, o = block(dG_out, g), tree.pose[i]
            for s in range(tree.first[i], tree.first[i + 1]):
                o += POSE
                own = (load3_of(dtheta, o + 3, k), load3_of(dtheta, o + 6, k), load3_of(dtheta, o + 9, k))
                power = paired(own, (ea, eb, ec)) - dot3(load3_of(dtheta, o, k), f)
                add_to(dG_out, tree.column[s], k, power)


@kernel
def vary_natural_inertia(tree, theta, directions, dzdd, dG_out):
    """Add M dz'' less the variation of the weight."""
    dtheta, touch = directions.dtheta, directions.touch
    entry, weight = tree.mass[0], tree.weight[0]
    for g in range(0, dG_out.shape[1], width(dG_out)):
        k = block(dG_out, g)
        for c in range(dG_out.shape[0]):
            total = 0.0 * at(dzdd, c, k)
            for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
                total += at(theta, entry + s) * at(dzdd, at(tree.mass_column, s), k)
            add_to(dG_out, c, k, total)
        if is_moved(tree, touch, g):
            for c in range(dG_out.shape[0]):
                add_to(dG_out, c, k, -at(dtheta, weight + c, k))
