"""Bodies that deform in natural coordinates: frames with linear maps, and what their inertia does on coordinates.

The wrench of such a body acts on its frame like that of a force element (``flexible.bodies``): it works on the origin
and on the columns of R. M is not constant, as it turns with the frame and changes with the shape. Derivation:
docs/theory/natural_coordinates.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    rows_at,
    scale6,
    shift_motion,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, load3, row3, rows3, scale3, sub3, unrotate
from mbsim_cli.kernels.algorithms.by_type import only_with, with_elastic
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    change_in_body,
    changed_row,
    changed_wrench,
    elastic_count,
    flexible_forces,
    frame_of,
    resting_force,
    shape_bodies,
    slope_bodies,
    take_at_rest,
    to_origin,
    vary_flexible_forces,
    vary_resting_force,
)
from mbsim_cli.kernels.algorithms.motion.bodies import apply_to_body, apply_to_body2, pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone
from mbsim_cli.kernels.algorithms.natural.bodies import (
    POSE,
    columns_in,
    columns_of,
    half_turn,
    moved_by,
    store_pose,
    twist_of,
)
from mbsim_cli.kernels.algorithms.natural.variation import columns2, vary_linear
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.flexible import flexible_slopes, flexible_tangent
from mbsim_cli.kernels.elements.measures import wrap_angle
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import DEFORMING, NONE

_with_elastic = only_with("tree", *DEFORMING)


@with_elastic(lambda model, z, kin: None)
def keep_coordinates(model, z, kin):
    """Note where bodies were placed."""
    copy_to(z, kin.z)


@with_elastic(lambda model, theta, kin: None)
def shape_frames(model, theta, kin):
    """``shape_bodies`` where bodies were placed."""
    shape_bodies(model, theta, kin.z, kin)


@with_elastic(lambda model, theta, state, kin, comp, Q_out: None)
def natural_elastic_forces(model, theta, state, kin, comp, Q_out):
    """Forces on the frames of bodies that deform, the rows ``comp.rows`` of their coordinates, what welds add to Q."""
    hold_welds(model.tree, theta, state.z, state.lam, Q_out)
    clear(comp.rows)
    flexible_forces(model, theta, Motion(kin.z, state.zd, state.zdd), kin, comp, comp.rows)


@with_elastic(lambda model, comp, G_out: None)
def add_elastic_rows(model, comp, G_out):
    """Add ``comp.rows`` to the residual."""
    add_scaled(1.0, comp.rows, G_out)


@with_elastic(lambda model, theta, directions, state, sens, kin, tw, dG_out: None)
def vary_natural_elastic_forces(model, theta, directions, state, sens, kin, tw, dG_out):
    """Variation of ``natural_elastic_forces``."""
    vary_weld_forces(model.tree, theta, directions.dtheta, state.z, state.lam, sens.z, dG_out)
    slope_bodies(model, theta, state, kin)
    vary_flexible_forces(model, theta, directions, state, sens, kin, tw, dG_out)


@inlined
def _own(tree, i, j):
    """Offset of what the j-th coordinate of body i moves it by."""
    return tree.pose[i] + POSE * (1 + j)


@inlined
def _place_twists(tree, theta, i, kin, out):
    """Twists (k, 6) of the k coordinates of body i."""
    for j in range(tree.first[i + 1] - tree.first[i]):
        o = _own(tree, i, j)
        a, b, c = columns_in(theta, o)
        store(out, j, twist_of(kin.pose, i, load3(theta, o), a, b, c))


@_with_elastic(lambda tree, theta, kin, comp, M_out: None)
def add_natural_elastic_mass(tree, theta, kin, comp, M_out):
    """Add to M (n, n) the inertia of bodies that deform; needs ``flexible_forces`` or ``flexible_shape``."""
    for f in range(tree.flexible.size):
        i, (R, r) = tree.flexible[f], pose_of(kin, tree.flexible[f])
        still = scale3(0.0, r)
        flexible_tangent(tree, theta, f, 0.0, 0.0, still, kin.elastic, comp.D)
        _place_twists(tree, theta, i, kin, comp.moves)
        for j in range(tree.first[i + 1] - tree.first[i]):
            S = shift_motion(motion_at(comp.moves, j), r)
            _add_column(tree, f, j, R, r, unrotate(R, S[0]), unrotate(R, S[1]), still, comp, M_out)
        _elastic_columns(tree, f, R, r, comp, M_out)


@_with_elastic(lambda tree, M_out: None)
def clear_elastic_mass(tree, M_out):
    """Clear those entries of M (n, n) that ``add_natural_elastic_mass`` adds to."""
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        for j in range(tree.first[i], tree.first[i + 1]):
            for l in range(tree.first[i], tree.first[i + 1]):
                M_out[tree.column[l], tree.column[j]] = 0.0
            for c in range(tree.elastic[f], tree.elastic[f + 1]):
                M_out[tree.column[j], c] = 0.0
                M_out[c, tree.column[j]] = 0.0
        for c in range(tree.elastic[f], tree.elastic[f + 1]):
            for d in range(tree.elastic[f], tree.elastic[f + 1]):
                M_out[c, d] = 0.0


@_with_elastic(lambda tree, theta, beta, gamma, state, kin, comp, T_out: None)
def add_natural_elastic_tangent(tree, theta, beta, gamma, state, kin, comp, T_out):
    """Add to T (n, n) what bodies that deform feel of their motion; needs ``flexible_forces``.

    What carrying their forces along does is part of ``natural.tangent``.
    """
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        flexible_slopes(tree, theta, f, (w, alpha, a), motion_alone(state), kin.elastic, True)
        flexible_tangent(tree, theta, f, beta, gamma, w, kin.elastic, comp.D)
        _place_twists(tree, theta, i, kin, comp.moves)
        for j in range(tree.first[i + 1] - tree.first[i]):
            N1, N2 = _changes(theta, _own(tree, i, j), i, beta, gamma, motion_at(comp.moves, j), kin)
            dw, dalpha, da = change_in_body(R, r, w, v, N1, N2)
            _add_column(tree, f, j, R, r, dalpha, da, dw, comp, T_out)
        _elastic_columns(tree, f, R, r, comp, T_out)
    add_weld_tangent(tree, theta, gamma, state.z, state.lam, T_out)


@inlined
def _changes(theta, o, i, beta, gamma, S, kin):
    """N', N'' of body i as a coordinate with the twist S moves by gamma, its rate by beta, its acceleration by one."""
    dr, L, V, A = load3(theta, o), columns_in(theta, o), motion_at(kin.V, i), motion_at(kin.A, i)
    r, r1, R = row3(kin.pose, i, 0), row3(kin.rate, i, 0), columns_of(kin.pose, i)
    own, N = half_turn(R, L), scale6(gamma, S)
    dw = axpy3(gamma, half_turn(L, columns_of(kin.rate, i)), scale3(beta, own))
    dv = sub3(sub3(scale3(beta, dr), cross3(dw, r)), scale3(gamma, cross3(V[0], dr)))
    N1 = sub6((dw, dv), cross_motion(N, V))
    turned = axpy3(gamma, half_turn(L, columns_of(kin.second, i)), own)
    moved = sub3(sub3(dr, cross3(turned, r)), scale3(gamma, cross3(A[0], dr)))
    moved = sub3(sub3(moved, cross3(dw, r1)), scale3(beta, cross3(V[0], dr)))
    return N1, sub6((turned, moved), add6(cross_motion(N1, V), cross_motion(N, A)))


@inlined
def _add_column(tree, f, j, R, r, dalpha, da, dw, comp, T_out):
    """Add the column of the j-th coordinate of the frame of body f, which changes its motion by dalpha, da, dw."""
    i, c = tree.flexible[f], tree.elastic[f]
    column, wrench = tree.column[tree.first[i] + j], to_origin(R, r, changed_wrench(comp.D, dalpha, da, dw))
    for l in range(tree.first[i + 1] - tree.first[i]):
        T_out[tree.column[tree.first[i] + l], column] += dot6(motion_at(comp.moves, l), wrench)
    for l in range(elastic_count(tree, f)):
        T_out[c + l, column] += changed_row(comp.D, 6 + l, dalpha, da, dw)


@inlined
def _elastic_columns(tree, f, R, r, comp, T_out):
    """Add the columns of the elastic coordinates of body f."""
    i, c, n = tree.flexible[f], tree.elastic[f], elastic_count(tree, f)
    for k in range(n):
        wrench = to_origin(R, r, rows_at(comp.D, 0, 9 + k))
        for l in range(tree.first[i + 1] - tree.first[i]):
            T_out[tree.column[tree.first[i] + l], c + k] += dot6(motion_at(comp.moves, l), wrench)
        for l in range(n):
            T_out[c + l, c + k] += comp.D[6 + l, 9 + k]


@with_elastic(lambda model, theta, directions, z, x, dz, kin, comp, tw, dG_out: None)
def vary_elastic_rest(model, theta, directions, z, x, dz, kin, comp, tw, dG_out):
    """Forces that bodies that deform take for accelerations x (n,) of a system at rest, and their variation.

    Forces go to ``comp.held`` and ``tw.F``, elastic rows to dG (n, p); needs ``vary_natural``.
    """
    dtheta, touch = directions.dtheta, directions.touch
    tree, motion = model.tree, Motion(z, comp.zero, x)
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        second, A = _resting_motion(tree, theta, i, x, kin)
        apply_to_body(comp.held, kin, i, -1.0, resting_force(tree, theta, f, A, motion, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            change = vary_linear(tree, theta, dtheta, touch.geometry[i, g], i, k, 0.0, x, touch.still)
            dA = _resting_change(i, k, kin, tw, A, second, change)
            dF = vary_resting_force(tree, theta, directions, f, g, k, A, dA, motion, dz, kin, dG_out)
            apply_to_body2(tw.F, kin, i, k, 1.0, dF)


@inlined
def _resting_motion(tree, theta, i, x, kin):
    """Accelerations of the pose of body i without velocities, and their twist."""
    second = moved_by(tree, theta, i, x)
    return second, twist_of(kin.pose, i, second[0], second[1], second[2], second[3])


@with_elastic(lambda model, theta, z, x, kin, comp: None)
def resting_bodies(model, theta, z, x, kin, comp):
    """Take what accelerations x (n,) of a system at rest need of bodies that deform, in ``comp.held``.

    Leaves the motion of their frames in ``kin``, which is one without velocities, and ``kin.elastic``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        second, A = _resting_motion(tree, theta, i, x, kin)
        store_pose(kin.second, i, second[0], second[1], second[2], second[3])
        store(kin.A, i, A)
        take_at_rest(tree, theta, f, Motion(z, comp.zero, x), kin, comp, comp.held)


@inlined
def _resting_change(i, k, kin, tw, A, second, change):
    """N'' of body i without velocities, whose pose has the accelerations ``second``, which vary by ``change``."""
    dr, r = rows3(tw.pose, i, 0, k), row3(kin.pose, i, 0)
    turned = half_turn(columns2(tw.pose, i, k), (second[1], second[2], second[3]))
    turned = add3(turned, half_turn(columns_of(kin.pose, i), (change[1], change[2], change[3])))
    moved = sub3(sub3(change[0], cross3(turned, r)), cross3(A[0], dr))
    return sub6((turned, moved), cross_motion(motion_at2(tw.N, i, k), A))


# Nodes ----------------------------------------------------------------------------------------------------------------
#
# Nodes of bodies that deform, in natural coordinates: equations that weld them to their body.
#
# A node is a body without mass, with a linear map of its own. Measures of displacements and of rotations about x, then
# y, then z give its pose in the frame of the body that deforms. Each is zeta = L q + q . P q / 2 of the elastic
# coordinates, or its sine: Phi = measure - s(zeta); P is of nodes that stiffen. The measure's part is that of all
# equations; here is what s(zeta) adds. Derivation: docs/theory/natural_coordinates.md.


@inlined
def _form(tree, v):
    """First elastic coordinate of weld v, one behind the last, and the offset of L."""
    f = tree.weld_body[v]
    return tree.elastic[f], tree.elastic[f + 1], tree.weld_shape[v]


@inlined
def _bent(tree, theta, v, c, x):
    """Entry of P x, x (n,), that belongs to coordinate c."""
    first, last, o = _form(tree, v)
    total = 0.0 * x[0] + 0.0 * theta[o]
    if tree.weld_bend[v] != NONE:
        row = tree.weld_bend[v] + (last - first) * (c - first)
        for d in range(first, last):
            total += theta[row + d - first] * x[d]
    return total


@inlined
def _bent2(tree, theta, dtheta, v, c, x, dx, k):
    """Variation k of ``_bent``."""
    first, last, _ = _form(tree, v)
    total = 0.0 * at(dx, first, k)
    if tree.weld_bend[v] != NONE:
        row = tree.weld_bend[v] + (last - first) * (c - first)
        for d in range(first, last):
            total += theta[row + d - first] * at(dx, d, k) + x[d] * at(dtheta, row + d - first, k)
    return total


@inlined
def _row(tree, theta, v, z, c):
    """Derivative of zeta by coordinate c."""
    first, _, o = _form(tree, v)
    return theta[o + c - first] + _bent(tree, theta, v, c, z)


@inlined
def _row2(tree, theta, dtheta, v, z, dz, c, k):
    """Variation k of ``_row``."""
    first, _, o = _form(tree, v)
    return at(dtheta, o + c - first, k) + _bent2(tree, theta, dtheta, v, c, z, dz, k)


@inlined
def _value(tree, theta, v, z):
    """Zeta of weld v."""
    first, last, o = _form(tree, v)
    total = 0.0 * z[0] + 0.0 * theta[o]
    for c in range(first, last):
        total += (theta[o + c - first] + 0.5 * _bent(tree, theta, v, c, z)) * z[c]
    return total


@inlined
def _rates(tree, theta, v, motion):
    """First and second time derivative of zeta."""
    z, zd, zdd = motion.z, motion.zd, motion.zdd
    first, last, o = _form(tree, v)
    rate = 0.0 * z[0] + 0.0 * theta[o]
    second = rate
    for c in range(first, last):
        row = _row(tree, theta, v, z, c)
        rate += row * zd[c]
        second += row * zdd[c] + zd[c] * _bent(tree, theta, v, c, zd)
    return rate, second


@inlined
def _value2(tree, theta, dtheta, v, z, dz, k):
    """Variation k of zeta."""
    first, last, o = _form(tree, v)
    total = 0.0 * at(dz, first, k)
    for c in range(first, last):
        total += theta[o + c - first] * at(dz, c, k) + z[c] * at(dtheta, o + c - first, k)
        by_z = _bent(tree, theta, v, c, z)
        total += 0.5 * (by_z * at(dz, c, k) + z[c] * _bent2(tree, theta, dtheta, v, c, z, dz, k))
    return total


@inlined
def _rates2(tree, theta, dtheta, v, motion, change, k):
    """Variation k of ``_rates``."""
    z, zd, zdd, dz, dzd, dzdd = motion.z, motion.zd, motion.zdd, change.z, change.zd, change.zdd
    first, last, _ = _form(tree, v)
    rate = 0.0 * at(dz, first, k)
    second = rate
    for c in range(first, last):
        row, d_row = _row(tree, theta, v, z, c), _row2(tree, theta, dtheta, v, z, dz, c, k)
        rate += row * at(dzd, c, k) + zd[c] * d_row
        second += row * at(dzdd, c, k) + zdd[c] * d_row
        by_speed = _bent(tree, theta, v, c, zd)
        second += by_speed * at(dzd, c, k) + zd[c] * _bent2(tree, theta, dtheta, v, c, zd, dzd, k)
    return rate, second


@inlined
def _function(tree, v, x):
    """s and its first three derivatives at x = zeta."""
    if tree.weld_sine[v] == 1:
        s, c = np.sin(x), np.cos(x)
        return s, c, -s, -c
    zero = 0.0 * x
    return x, 1.0 + zero, zero, zero


@inlined
def _function_at(tree, theta, v, z):
    """``_function`` of the zeta at the coordinates z."""
    return _function(tree, v, _value(tree, theta, v, z))


@with_elastic(lambda model, theta, z, phi_out, jacobian_out: None)
def weld_nodes(model, theta, z, phi_out, jacobian_out):
    """Take s(zeta) from Phi (m,) and its derivatives from Phi_z (m, n)."""
    tree = model.tree
    for v in range(tree.weld.size):
        i = tree.weld[v]
        first, last, _ = _form(tree, v)
        s, s1, _, _ = _function_at(tree, theta, v, z)
        phi_out[i] -= s
        if model.measures.kind[model.constraints.measure[i]] == Measure.ANGLE:
            phi_out[i] = wrap_angle(phi_out[i])
        for c in range(first, last):
            jacobian_out[i, c] -= s1 * _row(tree, theta, v, z, c)


@_with_elastic(lambda tree, theta, motion, phi1_out, phi2_out: None)
def move_welds(tree, theta, motion, phi1_out, phi2_out):
    """Take the time derivatives of s(zeta) from Phi' and Phi'' (m,)."""
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, _ = _function_at(tree, theta, v, motion.z)
        rate, second = _rates(tree, theta, v, motion)
        phi1_out[i] -= s1 * rate
        phi2_out[i] -= s1 * second + s2 * rate * rate


@kernel
def hold_welds(tree, theta, z, multiplier, Q_out):
    """Add to Q (n,) what welds do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, _ = _form(tree, v)
        pull = multiplier[tree.weld[v]] * _function_at(tree, theta, v, z)[1]
        for c in range(first, last):
            Q_out[c] += pull * _row(tree, theta, v, z, c)


@kernel
def add_weld_tangent(tree, theta, gamma, z, multiplier, T_out):
    """Add what that force varies by as elastic coordinates move by gamma."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            first, last, _ = _form(tree, v)
            _, s1, s2, _ = _function_at(tree, theta, v, z)
            pull = -gamma * multiplier[tree.weld[v]]
            for c in range(first, last):
                for d in range(first, last):
                    T_out[c, d] += pull * s2 * _row(tree, theta, v, z, c) * _row(tree, theta, v, z, d)
                    if tree.weld_bend[v] != NONE:
                        o = tree.weld_bend[v] + (last - first) * (c - first)
                        T_out[c, d] += pull * s1 * theta[o + d - first]


@_with_elastic(lambda tree, theta, dtheta, z, dz, out: None)
def vary_welds(tree, theta, dtheta, z, dz, out):
    """Take the variation of s(zeta) from that of Phi, out (m, p)."""
    for v in range(tree.weld.size):
        s1 = _function_at(tree, theta, v, z)[1]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(out, tree.weld[v], k, -s1 * _value2(tree, theta, dtheta, v, z, dz, k))


@_with_elastic(lambda tree, theta, dtheta, state, sens, first_out, second_out: None)
def vary_weld_rates(tree, theta, dtheta, state, sens, first_out, second_out):
    """Take the variations of the time derivatives of s(zeta) from those of Phi' and Phi'' (m, p)."""
    z, dz = state.z, sens.z
    for v in range(tree.weld.size):
        _, s1, s2, s3 = _function_at(tree, theta, v, z)
        rate, second = _rates(tree, theta, v, state)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            x = _value2(tree, theta, dtheta, v, z, dz, k)
            x1, x2 = _rates2(tree, theta, dtheta, v, state, sens, k)
            add_to(first_out, tree.weld[v], k, -(s1 * x1 + (s2 * rate) * x))
            change = s1 * x2 + (s2 * second + s3 * rate * rate) * x + (2.0 * s2 * rate) * x1
            add_to(second_out, tree.weld[v], k, -change)


@inlined
def _slopes(tree, theta, v, z, zd):
    """s' and s'' zeta' of weld v."""
    _, s1, s2, _ = _function_at(tree, theta, v, z)
    return s1, s2 * _rates(tree, theta, v, Motion(z, zd, zd))[0]


@inlined
def _by_speed(tree, theta, v, slopes, z, zd, c):
    """Derivative of s(zeta)'' of weld v, at fixed z and z'', by the velocity of coordinate c."""
    s1, turned = slopes
    return 2.0 * (turned * _row(tree, theta, v, z, c) + s1 * _bent(tree, theta, v, c, zd))


@_with_elastic(lambda factor, tree, theta, kin, zd, dzd, second_out: None)
def vary_welds_with_velocity(factor, tree, theta, kin, zd, dzd, second_out):
    """Take ``factor`` times the variation of its second derivative with velocities dzd alone from Phi'' (m, p)."""
    z = kin.z
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            (first, last, _), slopes = _form(tree, v), _slopes(tree, theta, v, z, zd)
            for c in range(first, last):
                share = -factor * _by_speed(tree, theta, v, slopes, z, zd, c)
                for g in range(0, dzd.shape[1], width(dzd)):
                    k = block(dzd, g)
                    add_to(second_out, tree.weld[v], k, share * at(dzd, c, k))


@_with_elastic(lambda tree, theta, dtheta, z, multiplier, dz, dG_out: None)
def vary_weld_forces(tree, theta, dtheta, z, multiplier, dz, dG_out):
    """Add to dG (n, p) the variation of what multipliers of welds, which stay, do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, _ = _form(tree, v)
        _, s1, s2, _ = _function_at(tree, theta, v, z)
        pull = multiplier[tree.weld[v]]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            turned = (-pull * s2) * _value2(tree, theta, dtheta, v, z, dz, k)
            for c in range(first, last):
                change = (-pull * s1) * _row2(tree, theta, dtheta, v, z, dz, c, k)
                add_to(dG_out, c, k, turned * _row(tree, theta, v, z, c) + change)


@_with_elastic(lambda tree, theta, z, nu, adj: None)
def pull_welds(tree, theta, z, nu, adj):
    """Add the pull-back of nu . Phi, nu (m, p), of what welds take from Phi."""
    for v in range(tree.weld.size):
        s1 = _function_at(tree, theta, v, z)[1]
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            _pull_value(tree, theta, v, k, -s1 * at(nu, tree.weld[v], k), z, adj)


@inlined
def _pull_value(tree, theta, v, k, hat, z, adj):
    """Add the pull-back of hat . zeta."""
    first, last, o = _form(tree, v)
    for c in range(first, last):
        add_to(adj.z, c, k, _row(tree, theta, v, z, c) * hat)
        add_to(adj.theta, o + c - first, k, z[c] * hat)
    _pull_bend(tree, v, k, 0.5 * hat, z, z, adj.theta)


@inlined
def _pull_bend(tree, v, k, hat, x, y, theta_out):
    """Add the pull-back of hat times x . P y to P."""
    first, last, _ = _form(tree, v)
    if tree.weld_bend[v] != NONE:
        o = tree.weld_bend[v]
        for c in range(first, last):
            for d in range(first, last):
                add_to(theta_out, o, k, (x[c] * y[d]) * hat)
                o += 1


@_with_elastic(lambda tree, theta, motion, nu1, nu2, adj: None)
def pull_weld_rates(tree, theta, motion, nu1, nu2, adj):
    """Add the pull-back of nu1 . Phi' + nu2 . Phi'', nu1, nu2 (m, p), of the part of welds."""
    z, zd, zdd = motion.z, motion.zd, motion.zdd
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, s3 = _function_at(tree, theta, v, z)
        rate, second = _rates(tree, theta, v, motion)
        for g in range(0, nu1.shape[1], width(nu1)):
            k = block(nu1, g)
            hat, hat2 = -1.0 * at(nu1, i, k), -1.0 * at(nu2, i, k)
            by_value = (s2 * rate) * hat + (s2 * second + s3 * rate * rate) * hat2
            _pull_value(tree, theta, v, k, by_value, z, adj)
            _pull_motion(tree, theta, v, k, s1 * hat + (2.0 * s2 * rate) * hat2, s1 * hat2, z, zd, zdd, adj)


@inlined
def _pull_motion(tree, theta, v, k, hat1, hat2, z, zd, zdd, adj):
    """Add the pull-back of hat1 . zeta' + hat2 . zeta''."""
    first, last, o = _form(tree, v)
    for c in range(first, last):
        row, by_speed = _row(tree, theta, v, z, c), _bent(tree, theta, v, c, zd)
        add_to(adj.z, c, k, by_speed * hat1 + _bent(tree, theta, v, c, zdd) * hat2)
        add_to(adj.zd, c, k, row * hat1 + (2.0 * by_speed) * hat2)
        add_to(adj.zdd, c, k, row * hat2)
        add_to(adj.theta, o + c - first, k, zd[c] * hat1 + zdd[c] * hat2)
    _pull_bend(tree, v, k, hat1, zd, z, adj.theta)
    _pull_bend(tree, v, k, hat2, zdd, z, adj.theta)
    _pull_bend(tree, v, k, hat2, zd, zd, adj.theta)


@_with_elastic(lambda tree, theta, kin, zd, nu2, zd_out: None)
def pull_welds_velocity(tree, theta, kin, zd, nu2, zd_out):
    """The transpose of ``vary_welds_with_velocity``: add to zd (n, p)."""
    z = kin.z
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            (first, last, _), slopes = _form(tree, v), _slopes(tree, theta, v, z, zd)
            for c in range(first, last):
                share = -_by_speed(tree, theta, v, slopes, z, zd, c)
                for g in range(0, nu2.shape[1], width(nu2)):
                    k = block(nu2, g)
                    add_to(zd_out, c, k, share * at(nu2, tree.weld[v], k))


@_with_elastic(lambda tree, theta, z, multiplier, virtual, adj: None)
def pull_weld_forces(tree, theta, z, multiplier, virtual, adj):
    """Add the pull-back of what multipliers of welds, which stay, do on the elastic part of mu."""
    for v in range(tree.weld.size):
        first, last, o = _form(tree, v)
        _, s1, s2, _ = _function_at(tree, theta, v, z)
        pull = -multiplier[tree.weld[v]]
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            moved = 0.0 * at(virtual.mu, first, k)
            for c in range(first, last):
                mu = at(virtual.mu, c, k)
                moved += _row(tree, theta, v, z, c) * mu
                add_to(adj.theta, o + c - first, k, (pull * s1) * mu)
                if tree.weld_bend[v] != NONE:
                    row = tree.weld_bend[v] + (last - first) * (c - first)
                    for d in range(first, last):
                        add_to(adj.z, d, k, (pull * s1 * theta[row + d - first]) * mu)
                        add_to(adj.theta, row + d - first, k, (pull * s1 * z[d]) * mu)
            _pull_value(tree, theta, v, k, (pull * s2) * moved, z, adj)
