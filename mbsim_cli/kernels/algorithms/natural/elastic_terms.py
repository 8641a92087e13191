"""Bodies that deform in natural coordinates: frames with linear maps, and what their inertia does on coordinates.

The wrench of such a body acts on its frame like that of a force element (``flexible.deforming_bodies``): it works on
the origin and on the columns of R. M is not constant, as it turns with the frame and changes with the shape.
Derivation: docs/theory/natural_coordinates.md.
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
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.motion.about_origin import apply_to_body, apply_to_body2, pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone, of_position
from mbsim_cli.kernels.algorithms.natural import linear_poses
from mbsim_cli.kernels.algorithms.natural.linear_poses import POSE, columns_of, half_turn
from mbsim_cli.kernels.algorithms.natural.variation import columns2, vary_linear
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at, block, width
from mbsim_cli.kernels.elements import flexible_nodes
from mbsim_cli.kernels.elements.flexible_inertia import flexible_slopes, flexible_tangent
from mbsim_cli.kernels.elements.flexible_nodes import slope, zeta_rates
from mbsim_cli.kernels.elements.flexible_work import modes_of
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
    deforming_bodies.shape_bodies(model, theta, kin.z, kin)


@with_elastic(lambda model, theta, state, kin, comp, Q_out: None)
def natural_elastic_forces(model, theta, state, kin, comp, Q_out):
    """Forces on the frames of bodies that deform, the rows ``comp.rows`` of their coordinates, what welds add to Q."""
    tree, z = model.tree, state.z
    for v in range(tree.weld.size):
        form, pull = _form(tree, v), state.lam[tree.weld[v]] * _function(tree, theta, v, z)[1]
        for j in range(form[1]):
            Q_out[form[0] + j] += pull * slope(theta, form, j, z)
    clear(comp.rows)
    deforming_bodies.flexible_forces(model, theta, Motion(kin.z, state.zd, state.zdd), kin, comp, comp.rows)


@with_elastic(lambda model, comp, G_out: None)
def add_elastic_rows(model, comp, G_out):
    """Add ``comp.rows`` to the residual."""
    add_scaled(1.0, comp.rows, G_out)


@inlined
def _own(tree, i, j):
    """Offset of what the j-th coordinate of body i moves it by."""
    return tree.pose[i] + POSE * (1 + j)


@inlined
def _place_twists(tree, theta, i, kin, out):
    """Twists (k, 6) of the k coordinates of body i."""
    for j in range(tree.first[i + 1] - tree.first[i]):
        o = _own(tree, i, j)
        a, b, c = linear_poses.columns_in(theta, o)
        store(out, j, linear_poses.twist_of(kin.pose, i, load3(theta, o), a, b, c))


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


@_with_elastic(lambda tree, theta, beta, gamma, state, multiplier, kin, comp, T_out: None)
def add_natural_elastic_tangent(tree, theta, beta, gamma, state, multiplier, kin, comp, T_out):
    """Add to T (n, n) what bodies that deform feel of their motion; needs ``flexible_forces``.

    What carrying their forces along does is part of ``natural.tangent``.
    """
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = deforming_bodies.frame_of(tree, kin, f)
        flexible_slopes(tree, theta, f, (w, alpha, a), motion_alone(state), kin.elastic, True)
        flexible_tangent(tree, theta, f, beta, gamma, w, kin.elastic, comp.D)
        _place_twists(tree, theta, i, kin, comp.moves)
        for j in range(tree.first[i + 1] - tree.first[i]):
            N1, N2 = _changes(theta, _own(tree, i, j), i, beta, gamma, motion_at(comp.moves, j), kin)
            dw, dalpha, da = deforming_bodies.change_in_body(R, r, w, v, N1, N2)
            _add_column(tree, f, j, R, r, dalpha, da, dw, comp, T_out)
        _elastic_columns(tree, f, R, r, comp, T_out)
    add_weld_tangent(tree, theta, gamma, state.z, multiplier, T_out)


@inlined
def _changes(theta, o, i, beta, gamma, S, kin):
    """N', N'' of body i as a coordinate with the twist S moves by gamma, its rate by beta, its acceleration by one."""
    dr, L, V, A = load3(theta, o), linear_poses.columns_in(theta, o), motion_at(kin.V, i), motion_at(kin.A, i)
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
    i, (n, c, _) = tree.flexible[f], modes_of(tree, f)
    column, wrench = (
        tree.column[tree.first[i] + j],
        deforming_bodies.to_origin(R, r, deforming_bodies.changed_wrench(comp.D, dalpha, da, dw)),
    )
    for l in range(tree.first[i + 1] - tree.first[i]):
        T_out[tree.column[tree.first[i] + l], column] += dot6(motion_at(comp.moves, l), wrench)
    for l in range(n):
        T_out[c + l, column] += deforming_bodies.changed_row(comp.D, 6 + l, dalpha, da, dw)


@inlined
def _elastic_columns(tree, f, R, r, comp, T_out):
    """Add the columns of the elastic coordinates of body f."""
    i, (n, c, _) = tree.flexible[f], modes_of(tree, f)
    for k in range(n):
        wrench = deforming_bodies.to_origin(R, r, rows_at(comp.D, 0, 9 + k))
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
        apply_to_body(comp.held, kin, i, -1.0, deforming_bodies.resting_force(tree, theta, f, A, motion, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            change = vary_linear(tree, theta, dtheta, touch.geometry[i, g], i, k, 0.0, x, touch.still)
            dA = _resting_change(i, k, kin, tw, A, second, change)
            dF = deforming_bodies.vary_resting_force(tree, theta, directions, f, g, k, A, dA, motion, dz, kin, dG_out)
            apply_to_body2(tw.F, kin, i, k, 1.0, dF)


@inlined
def _resting_motion(tree, theta, i, x, kin):
    """Accelerations of the pose of body i without velocities, and their twist."""
    second = linear_poses.moved_by(tree, theta, i, 0, as_column(x), 0.0 * theta[tree.pose[i]])
    return second, linear_poses.twist_of(kin.pose, i, second[0], second[1], second[2], second[3])


@with_elastic(lambda model, theta, z, x, kin, comp: None)
def resting_bodies(model, theta, z, x, kin, comp):
    """Take what accelerations x (n,) of a system at rest need of bodies that deform, in ``comp.held``.

    Leaves the motion of their frames in ``kin``, which is one without velocities, and ``kin.elastic``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        second, A = _resting_motion(tree, theta, i, x, kin)
        linear_poses.store_pose(kin.second, i, second[0], second[1], second[2], second[3])
        store(kin.A, i, A)
        deforming_bodies.take_at_rest(tree, theta, f, Motion(z, comp.zero, x), kin, comp, comp.held)


@inlined
def _resting_change(i, k, kin, tw, A, second, change):
    """N'' of body i without velocities, whose pose has the accelerations ``second``, which vary by ``change``."""
    dr, r = rows3(tw.pose, i, 0, k), row3(kin.pose, i, 0)
    turned = half_turn(columns2(tw.pose, i, k), (second[1], second[2], second[3]))
    turned = add3(turned, half_turn(columns_of(kin.pose, i), (change[1], change[2], change[3])))
    moved = sub3(sub3(change[0], cross3(turned, r)), cross3(A[0], dr))
    return sub6((turned, moved), cross_motion(motion_at2(tw.N, i, k), A))


# Nodes of bodies that deform, in natural coordinates: equations that weld them to their body --------------------------
#
# A node is a body without mass, with a linear map of its own. Measures of displacements and of rotations about x, then
# y, then z give its pose in the frame of the body that deforms. Each is a zeta (``elements.flexible_nodes``) or its
# sine: Phi = measure - s(zeta). The measure's part is that of all equations; here is what s(zeta) adds.
# Derivation: docs/theory/natural_coordinates.md.


@inlined
def _form(tree, v):
    """``elements.flexible_nodes`` of weld v."""
    f = tree.weld_body[v]
    return tree.elastic[f], tree.elastic[f + 1] - tree.elastic[f], tree.weld_shape[v], tree.weld_bend[v]


@inlined
def _function(tree, theta, v, z):
    """s and its first three derivatives at the zeta of weld v."""
    x = flexible_nodes.zeta(theta, _form(tree, v), z)
    if tree.weld_sine[v] == 1:
        s, c = np.sin(x), np.cos(x)
        return s, c, -s, -c
    zero = 0.0 * x
    return x, 1.0 + zero, zero, zero


@inlined
def _is_curved(tree, v):
    """Whether s(zeta) is not linear in the coordinates."""
    return tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE


@with_elastic(lambda model, theta, z, phi_out, jacobian_out: None)
def weld_nodes(model, theta, z, phi_out, jacobian_out):
    """Take s(zeta) from Phi (m,) and its derivatives from Phi_z (m, n)."""
    tree = model.tree
    for v in range(tree.weld.size):
        i, form = tree.weld[v], _form(tree, v)
        s, s1, _, _ = _function(tree, theta, v, z)
        phi_out[i] -= s
        if model.measures.kind[model.constraints.measure[i]] == Measure.ANGLE:
            phi_out[i] = wrap_angle(phi_out[i])
        for j in range(form[1]):
            jacobian_out[i, form[0] + j] -= s1 * slope(theta, form, j, z)


@_with_elastic(lambda tree, theta, motion, phi1_out, phi2_out: None)
def move_welds(tree, theta, motion, phi1_out, phi2_out):
    """Take the time derivatives of s(zeta) from Phi' and Phi'' (m,)."""
    for v in range(tree.weld.size):
        _, s1, s2, _ = _function(tree, theta, v, motion.z)
        rate, second = zeta_rates(theta, _form(tree, v), motion)
        phi1_out[tree.weld[v]] -= s1 * rate
        phi2_out[tree.weld[v]] -= s1 * second + s2 * rate * rate


@kernel
def add_weld_tangent(tree, theta, gamma, z, multiplier, T_out):
    """Add the variation of the forces of welds as elastic coordinates move by gamma."""
    for v in range(tree.weld.size):
        if _is_curved(tree, v):
            form, pull = _form(tree, v), -gamma * multiplier[tree.weld[v]]
            first, n, _, P = form
            _, s1, s2, _ = _function(tree, theta, v, z)
            for j in range(n):
                for i in range(n):
                    T_out[first + j, first + i] += pull * s2 * slope(theta, form, j, z) * slope(theta, form, i, z)
                    if P != NONE:
                        T_out[first + j, first + i] += pull * s1 * theta[P + n * j + i]


@_with_elastic(lambda tree, theta, dtheta, z, dz, out: None)
def vary_welds(tree, theta, dtheta, z, dz, out):
    """Take the variation of s(zeta) from that of Phi, out (m, p)."""
    for v in range(tree.weld.size):
        s1 = _function(tree, theta, v, z)[1]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            x, _, _ = flexible_nodes.vary_zeta(theta, dtheta, _form(tree, v), of_position(z), of_position(dz), k)
            add_to(out, tree.weld[v], k, -s1 * x)


@_with_elastic(lambda tree, theta, dtheta, state, sens, first_out, second_out: None)
def vary_weld_rates(tree, theta, dtheta, state, sens, first_out, second_out):
    """Take the variations of the time derivatives of s(zeta) from those of Phi' and Phi'' (m, p)."""
    motion, change = motion_alone(state), motion_alone(sens)
    for v in range(tree.weld.size):
        _, s1, s2, s3 = _function(tree, theta, v, motion.z)
        rate, second = zeta_rates(theta, _form(tree, v), motion)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            x, x1, x2 = flexible_nodes.vary_zeta(theta, dtheta, _form(tree, v), motion, change, k)
            add_to(first_out, tree.weld[v], k, -(s1 * x1 + (s2 * rate) * x))
            by_value = s2 * second + s3 * rate * rate
            add_to(second_out, tree.weld[v], k, -(s1 * x2 + by_value * x + (2.0 * s2 * rate) * x1))


@inlined
def _by_speed(theta, form, s1, turned, z, zd, j):
    """Derivative of s(zeta)'', at fixed z and z'', by the velocity of elastic coordinate j; turned = s'' zeta'."""
    return 2.0 * (turned * slope(theta, form, j, z) + s1 * flexible_nodes.bent(theta, form, j, zd))


@_with_elastic(lambda factor, tree, theta, kin, zd, dzd, second_out: None)
def vary_welds_with_velocity(factor, tree, theta, kin, zd, dzd, second_out):
    """Take ``factor`` times the variation of its second derivative with velocities dzd alone from Phi'' (m, p)."""
    z = kin.z
    for v in range(tree.weld.size):
        if _is_curved(tree, v):
            form, (_, s1, s2, _) = _form(tree, v), _function(tree, theta, v, z)
            turned = s2 * zeta_rates(theta, form, Motion(z, zd, zd))[0]
            for j in range(form[1]):
                share = -factor * _by_speed(theta, form, s1, turned, z, zd, j)
                for g in range(0, dzd.shape[1], width(dzd)):
                    k = block(dzd, g)
                    add_to(second_out, tree.weld[v], k, share * at(dzd, form[0] + j, k))


@_with_elastic(lambda tree, theta, dtheta, z, multiplier, dz, dG_out: None)
def vary_weld_forces(tree, theta, dtheta, z, multiplier, dz, dG_out):
    """Add to dG (n, p) the variation of what multipliers of welds, which stay, do on the elastic coordinates."""
    for v in range(tree.weld.size):
        form, pull = _form(tree, v), -multiplier[tree.weld[v]]
        _, s1, s2, _ = _function(tree, theta, v, z)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            x, _, _ = flexible_nodes.vary_zeta(theta, dtheta, form, of_position(z), of_position(dz), k)
            for j in range(form[1]):
                change = (pull * s1) * flexible_nodes.vary_slope(theta, dtheta, form, j, z, dz, k)
                add_to(dG_out, form[0] + j, k, (pull * s2 * slope(theta, form, j, z)) * x + change)


@_with_elastic(lambda tree, theta, z, nu, adj: None)
def pull_welds(tree, theta, z, nu, adj):
    """Add the pull-back of nu . Phi, nu (m, p), of what welds take from Phi."""
    for v in range(tree.weld.size):
        s1 = _function(tree, theta, v, z)[1]
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            hat, none = -s1 * at(nu, tree.weld[v], k), 0.0 * at(nu, tree.weld[v], k)
            flexible_nodes.pull_zeta(theta, _form(tree, v), of_position(z), k, hat, none, none, adj)


@_with_elastic(lambda tree, theta, motion, nu1, nu2, adj: None)
def pull_weld_rates(tree, theta, motion, nu1, nu2, adj):
    """Add the pull-back of nu1 . Phi' + nu2 . Phi'', nu1, nu2 (m, p), of the part of welds."""
    for v in range(tree.weld.size):
        _, s1, s2, s3 = _function(tree, theta, v, motion.z)
        rate, second = zeta_rates(theta, _form(tree, v), motion)
        for g in range(0, nu1.shape[1], width(nu1)):
            k = block(nu1, g)
            hat, hat2 = -1.0 * at(nu1, tree.weld[v], k), -1.0 * at(nu2, tree.weld[v], k)
            by_value = (s2 * rate) * hat + (s2 * second + s3 * rate * rate) * hat2
            by_rate = s1 * hat + (2.0 * s2 * rate) * hat2
            flexible_nodes.pull_zeta(theta, _form(tree, v), motion, k, by_value, by_rate, s1 * hat2, adj)


@_with_elastic(lambda tree, theta, kin, zd, nu2, zd_out: None)
def pull_welds_velocity(tree, theta, kin, zd, nu2, zd_out):
    """The transpose of ``vary_welds_with_velocity``: add to zd (n, p)."""
    z = kin.z
    for v in range(tree.weld.size):
        if _is_curved(tree, v):
            form, (_, s1, s2, _) = _form(tree, v), _function(tree, theta, v, z)
            turned = s2 * zeta_rates(theta, form, Motion(z, zd, zd))[0]
            for j in range(form[1]):
                share = -_by_speed(theta, form, s1, turned, z, zd, j)
                for g in range(0, nu2.shape[1], width(nu2)):
                    k = block(nu2, g)
                    add_to(zd_out, form[0] + j, k, share * at(nu2, tree.weld[v], k))


@_with_elastic(lambda tree, theta, z, multiplier, virtual, adj: None)
def pull_weld_forces(tree, theta, z, multiplier, virtual, adj):
    """Add the pull-back of what multipliers of welds, which stay, do on the elastic part of mu."""
    for v in range(tree.weld.size):
        form, pull = _form(tree, v), -multiplier[tree.weld[v]]
        _, s1, s2, _ = _function(tree, theta, v, z)
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            moved = 0.0 * at(virtual.mu, form[0], k)
            for j in range(form[1]):
                moved += slope(theta, form, j, z) * at(virtual.mu, form[0] + j, k)
            flexible_nodes.pull_slopes(theta, form, z, k, pull * s1, virtual.mu, adj)
            flexible_nodes.pull_zeta(theta, form, of_position(z), k, (pull * s2) * moved, 0.0 * moved, 0.0 * moved, adj)
