"""Bodies that deform as elements of a tree: the forces that they exert on their frame and on their elastic coordinates.

A body's frame is moved by the joints alone, so that the recursions of the tree do not see elastic coordinates; the
body's wrench acts on its frame like that of a force element. Its terms stand in ``elements.flexible_inertia``, in body
axes about the frame's origin. Derivation: docs/theory/flexible_bodies.md.
"""

from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    cross_force,
    dot6,
    motion_at,
    motion_at2,
    only6,
    rows_at,
    scale6,
    shift_motion,
    six_at,
    store,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    axpy3,
    cross3,
    dot3,
    load3,
    load3_of,
    rotate,
    scale3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.by_type import with_elastic
from mbsim_cli.kernels.algorithms.motion import about_origin
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin2, pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import (
    COLUMN_S,
    COLUMN_X,
    COLUMN_Y,
    OWN_S,
    Motion,
    motion_alone,
    of_position,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements import flexible_energy, flexible_inertia
from mbsim_cli.kernels.elements.flexible_inertia import flexible_slopes
from mbsim_cli.kernels.elements.flexible_work import modes_of
from mbsim_cli.model.layout import GRAVITY


@inlined
def frame_of(tree, kin, f):
    """Axes and origin of the frame of flexible body f; in these axes w, v, and accelerations, linear less gravity."""
    i = tree.flexible[f]
    R, r = pose_of(kin, i)
    w, v = shift_motion(about_origin.at_origin(kin.V, kin, i), r)
    alpha, a = shift_motion(about_origin.at_origin(kin.A, kin, i), r)
    return R, r, unrotate(R, w), unrotate(R, v), unrotate(R, alpha), unrotate(R, add3(a, cross3(w, v)))


@inlined
def to_origin(R, r, wrench):
    """Wrench about the global origin, global axes, from one in the axes R about the point r."""
    moment, force = rotate(R, wrench[0]), rotate(R, wrench[1])
    return (add3(moment, cross3(r, force)), force)


@inlined
def change_in_body(R, r, w, v, N1, N2):
    """Change of angular velocity, angular acceleration and acceleration as a body sees it, in its axes.

    N', N'' are its twists about the global origin; w and v the motion of its frame, in its axes.
    """
    turning, shifting = shift_motion(N1, r), shift_motion(N2, r)
    dw = unrotate(R, turning[0])
    dalpha = add3(unrotate(R, shifting[0]), cross3(dw, w))
    return dw, dalpha, add3(unrotate(R, shifting[1]), scale3(2.0, cross3(dw, v)))


@inlined
def _in_body(R, r, x):
    """Angular and linear part of a motion x about the global origin at the point r, in the axes R."""
    turning, shifting = shift_motion(x, r)
    return unrotate(R, turning), unrotate(R, shifting)


@kernel
def shape_bodies(model, theta, z, kin):
    """Leave what ``add_flexible_mass`` reads."""
    for f in range(model.tree.flexible.size):
        flexible_inertia.flexible_shape(model.tree, theta, f, of_position(z), kin.elastic)


@kernel
def flexible_forces(model, theta, motion, kin, comp, G_out):
    """Take forces that move bodies from frames (``comp.W``), add them to G (n,); call before the sum over subtrees."""
    tree = model.tree
    for f in range(tree.flexible.size):
        R, r, w, _, alpha, a = frame_of(tree, kin, f)
        wrench = flexible_inertia.flexible_force(tree, theta, f, (w, alpha, a), motion, kin.elastic, True, G_out)
        on_frame = scale6(-1.0, to_origin(R, r, wrench))
        store(comp.on_frame, f, on_frame)
        about_origin.apply_to_body(comp.W, kin, tree.flexible[f], 1.0, on_frame)


@inlined
def take_at_rest(tree, theta, f, motion, kin, comp, W_out):
    """Subtract from W (nb + 1, 6) the wrench of body f in a ``motion`` without rates; leaves ``kin.elastic``."""
    R, r, w, _, alpha, a = frame_of(tree, kin, f)
    wrench = flexible_inertia.flexible_force(tree, theta, f, (w, alpha, a), motion, kin.elastic, False, comp.scratch)
    about_origin.apply_to_body(W_out, kin, tree.flexible[f], -1.0, to_origin(R, r, wrench))


@inlined
def resting_force(tree, theta, f, A, motion, kin, comp):
    """Wrench by accelerations A of the frame, about the global origin, and those of a ``motion`` without rates.

    Leaves slopes in ``kin.elastic``.
    """
    R, r = pose_of(kin, tree.flexible[f])
    alpha, a = _in_body(R, r, A)
    turning = scale3(0.0, alpha), alpha, a
    wrench = flexible_inertia.flexible_force(tree, theta, f, turning, motion, kin.elastic, False, comp.scratch)
    flexible_slopes(tree, theta, f, turning, motion, kin.elastic, False)
    return to_origin(R, r, wrench)


@inlined
def vary_resting_force(tree, theta, directions, f, g, k, A, dA, motion, dz, kin, dG_out):
    """Variation k, of the block at g, of ``resting_force``, as the body sees it; its elastic rows to dG (n, p)."""
    dtheta, touch = directions.dtheta, directions.touch
    R, r = pose_of(kin, tree.flexible[f])
    (alpha, a), (dalpha, da) = _in_body(R, r, A), _in_body(R, r, dA)
    turning = scale3(0.0, alpha), alpha, a
    d_turning, change = (scale3(0.0, dalpha), dalpha, da), Motion(dz, touch.still, touch.still)
    dW = flexible_inertia.vary_flexible(
        tree, theta, dtheta, touch.flexible[f, g], f, k, turning, motion, d_turning, change, kin.elastic, False, dG_out
    )
    return to_origin(R, r, dW)


@kernel
def forces_of_nodes(tree, kin, F, G_out):
    """Rows G (nc,) of nodes, which have no inertia of their own, from forces F (nb + 1, 6) of subtrees."""
    for v in range(tree.node.size):
        c = tree.node[v]
        G_out[c] = dot6(motion_at(kin.S, c), motion_at(F, tree.column_body[c]))


@with_elastic(lambda model, theta, motion, kin: None)
def slope_bodies(model, theta, motion, kin):
    """Leave what ``vary_flexible_forces`` reads, as ``add_flexible_tangent`` does; needs ``flexible_forces``."""
    tree = model.tree
    for f in range(tree.flexible.size):
        _, _, w, _, alpha, a = frame_of(tree, kin, f)
        flexible_slopes(tree, theta, f, (w, alpha, a), motion, kin.elastic, True)


@kernel
def add_flexible_tangent(model, theta, beta, gamma, state, kin, comp, T_out):
    """Add to T (n, ``padded(n)``) what bodies that deform do; needs ``flexible_forces`` and ``newton_matrix``."""
    tree = model.tree
    for f in range(tree.flexible.size):
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        n, c, _ = modes_of(tree, f)
        flexible_slopes(tree, theta, f, (w, alpha, a), motion_alone(state), kin.elastic, True)
        flexible_inertia.flexible_tangent(tree, theta, f, beta, gamma, w, kin.elastic, comp.D)
        _columns_of_frame(model, gamma, f, R, r, w, v, comp, T_out)
        for k in range(n):
            wrench = to_origin(R, r, rows_at(comp.D, 0, 9 + k))
            for i in range(model.pairs.first[tree.pair[f]], model.pairs.first[tree.pair[f] + 1]):
                j = model.pairs.column[i]
                T_out[j, c + k] += dot6(six_at(comp.own, j, OWN_S), wrench)
            for j in range(n):
                T_out[c + j, c + k] += comp.D[6 + j, 9 + k]


@inlined
def _columns_of_frame(model, gamma, f, R, r, w, v, comp, T_out):
    """Columns of T that move the frame of body f."""
    pair, (n, c, _), spans = model.tree.pair[f], modes_of(model.tree, f), comp.spans
    on_frame = motion_at(comp.on_frame, f)
    for s in range(at(spans.first, pair), at(spans.first, pair + 1)):
        k, bits = block(comp.columns, at(spans.column, s)), at(spans.on_b, s)
        N = only6(scale6(gamma, rows_at(comp.columns, COLUMN_S, k)), bits)
        Y, X = only6(rows_at(comp.columns, COLUMN_Y, k), bits), only6(rows_at(comp.columns, COLUMN_X, k), bits)
        dw, dalpha, da = change_in_body(R, r, w, v, Y, X)
        dW = scale6(-1.0, to_origin(R, r, changed_wrench(comp.D, dalpha, da, dw)))
        from_a = add6(dW, cross_force(N, on_frame))  # a is the ground
        about_origin.spread(model.pairs, pair, comp, s, N, on_frame, from_a, T_out)
        for j in range(n):
            add_to(T_out, c + j, k, changed_row(comp.D, 6 + j, dalpha, da, dw))


@inlined
def changed_row(D, i, dalpha, da, dw):
    """Row i of D times the change of the frame's motion."""
    turned = D[i, 0] * dalpha[0] + D[i, 1] * dalpha[1] + D[i, 2] * dalpha[2]
    shifted = D[i, 3] * da[0] + D[i, 4] * da[1] + D[i, 5] * da[2]
    return turned + shifted + (D[i, 6] * dw[0] + D[i, 7] * dw[1] + D[i, 8] * dw[2])


@inlined
def changed_wrench(D, dalpha, da, dw):
    """Change of the wrench by that of the frame's motion."""
    return (
        (changed_row(D, 0, dalpha, da, dw), changed_row(D, 1, dalpha, da, dw), changed_row(D, 2, dalpha, da, dw)),
        (changed_row(D, 3, dalpha, da, dw), changed_row(D, 4, dalpha, da, dw), changed_row(D, 5, dalpha, da, dw)),
    )


@with_elastic(lambda model, theta, kin, M_out: None)
def add_flexible_mass(model, theta, kin, M_out):
    """Add to M (n, n) the inertia of bodies that deform; needs ``flexible_forces`` or ``shape_bodies``."""
    tree, pairs = model.tree, model.pairs
    for f in range(tree.flexible.size):
        R, r = pose_of(kin, tree.flexible[f])
        first, last = pairs.first[tree.pair[f]], pairs.first[tree.pair[f] + 1]
        for place in range(first, last):
            c = pairs.column[place]
            turned, moved = _in_body(R, r, about_origin.column_at_origin(kin.S, tree, kin, c))
            on_frame = to_origin(R, r, flexible_inertia.frame_inertia(kin.elastic, f, turned, moved))
            for other in range(first, last):
                j = pairs.column[other]
                M_out[j, c] += dot6(about_origin.column_at_origin(kin.S, tree, kin, j), on_frame)
            flexible_inertia.couple_modes(tree, f, c, turned, moved, kin.elastic, M_out)
        flexible_inertia.put_modes(tree, theta, f, M_out)


@with_elastic(lambda model, theta, directions, motion, change, kin, tw, dG_out: None)
def vary_flexible_forces(model, theta, directions, motion, change, kin, tw, dG_out):
    """Add d(``flexible_forces``) as bodies see it; needs twists and ``slope_bodies`` or ``add_flexible_tangent``."""
    dtheta, touch, tree = directions.dtheta, directions.touch, model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        turning = w, alpha, a
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            N1, N2 = at_origin2(tw.N1, kin, i, k), at_origin2(tw.N2, kin, i, k)
            d_turning = change_in_body(R, r, w, v, N1, N2)
            dW = flexible_inertia.vary_flexible(
                tree, theta, dtheta, touch.flexible[f, g], f, k, turning, motion, d_turning, change, kin.elastic, True,
                dG_out,
            )  # fmt: skip
            about_origin.apply_to_body2(tw.F, kin, i, k, 1.0, to_origin(R, r, dW))


# Elastic energies -----------------------------------------------------------------------------------------------------


@with_elastic(lambda model, theta, motion, kin: 0.0)
def elastic_kinetic(model, theta, motion, kin):
    """Kinetic energy of bodies that deform."""
    tree, total = model.tree, 0.0 * kin.V[0, 0]
    for f in range(tree.flexible.size):
        _, _, w, v, _, _ = frame_of(tree, kin, f)
        total += flexible_energy.flexible_kinetic(tree, theta, f, (w, v), motion)
    return total


@with_elastic(lambda model, theta, f, z: 0.0)
def elastic_strain(model, theta, f, z):
    """Strain energy of flexible body f."""
    return flexible_energy.flexible_strain(model.tree, theta, f, z)


@with_elastic(lambda model, theta, z, kin: 0.0)
def elastic_potential(model, theta, z, kin):
    """Strain energy and energy of weight of bodies that deform."""
    tree, total, gravity = model.tree, 0.0 * kin.V[0, 0], load3(theta, GRAVITY)
    for f in range(tree.flexible.size):
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_energy.flexible_moment(tree, theta, f, z)
        total += flexible_energy.flexible_strain(tree, theta, f, z) - dot3(gravity, axpy3(mass, r, rotate(R, moment)))
    return total


@with_elastic(lambda model, theta, zd, kin: 0.0)
def elastic_power(model, theta, zd, kin):
    """Power of the damping of bodies that deform."""
    tree, total = model.tree, 0.0 * kin.V[0, 0]
    for f in range(tree.flexible.size):
        total += flexible_energy.flexible_power_lost(tree, theta, f, zd)
    return total


@with_elastic(lambda model, theta, directions, g, k, motion, sens, kin, tw: 0.0)
def vary_elastic_kinetic(model, theta, directions, g, k, motion, sens, kin, tw):
    """Variation k of ``elastic_kinetic``."""
    dtheta, touch = directions.dtheta, directions.touch
    tree, total = model.tree, 0.0 * at(dtheta, 0, k)
    for f in range(tree.flexible.size):
        R, r, w, v, _, _ = frame_of(tree, kin, f)
        dV, change = _in_body(R, r, at_origin2(tw.N1, kin, tree.flexible[f], k)), motion_alone(sens)
        touched = touch.flexible[f, g]
        total += flexible_energy.vary_flexible_kinetic(tree, theta, dtheta, touched, f, k, (w, v), motion, dV, change)
    return total


@with_elastic(lambda model, theta, directions, f, g, k, z, sens: 0.0 * at(directions.dtheta, 0, k))
def vary_elastic_strain(model, theta, directions, f, g, k, z, sens):
    """Variation k of ``elastic_strain``."""
    dtheta, touch = directions.dtheta, directions.touch
    return flexible_energy.vary_flexible_strain(model.tree, theta, dtheta, touch.flexible[f, g], f, k, z, sens.z)


@with_elastic(lambda model, theta, directions, g, k, z, sens, kin, tw: 0.0)
def vary_elastic_potential(model, theta, directions, g, k, z, sens, kin, tw):
    """Variation k of ``elastic_potential``."""
    dtheta, touch = directions.dtheta, directions.touch
    tree, total = model.tree, 0.0 * at(dtheta, 0, k)
    gravity, d_gravity = load3(theta, GRAVITY), load3_of(dtheta, GRAVITY, k)
    for f in range(tree.flexible.size):
        touched = touch.flexible[f, g]
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_energy.flexible_moment(tree, theta, f, z)
        d_mass, d_moment = flexible_energy.vary_flexible_moment(tree, theta, dtheta, touched, f, k, z, sens.z)
        moment, d_moment = rotate(R, moment), rotate(R, d_moment)
        turn, shift = shift_motion(at_origin2(tw.N, kin, tree.flexible[f], k), r)
        moved = add3(axpy3(mass, shift, cross3(turn, moment)), axpy3(d_mass, r, d_moment))
        total += flexible_energy.vary_flexible_strain(tree, theta, dtheta, touched, f, k, z, sens.z)
        total -= dot3(d_gravity, axpy3(mass, r, moment)) + dot3(gravity, moved)
    return total


# Pull-backs: transposes of the variations, about the global origin, where all bodies must have their reference points


@with_elastic(lambda model, theta, z, x, kin, comp: None)
def resting_flexible_forces(model, theta, z, x, kin, comp):
    """Take what accelerations x (n,) of a system at rest need of the frames, in ``comp.W``; leaves ``kin.elastic``."""
    tree = model.tree
    for f in range(tree.flexible.size):
        take_at_rest(tree, theta, f, Motion(z, comp.zero, x), kin, comp, comp.W)


@with_elastic(lambda model, theta, motion, stiff, kin, virtual, adj_out: None)
def pull_flexible_bodies(model, theta, motion, stiff, kin, virtual, adj_out):
    """Add what the forces of bodies that deform make of mu . G, but for what F does.

    Needs ``flexible_forces`` at the state, or ``resting_flexible_forces`` and not ``stiff``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        turning = w, alpha, a
        flexible_slopes(tree, theta, f, turning, motion, kin.elastic, stiff)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            U = _in_body(R, r, motion_at2(virtual.U, i, k))
            of_w, of_alpha, of_a = flexible_inertia.pull_flexible(
                tree, theta, f, k, U, virtual.mu, turning, motion, kin.elastic, stiff, adj_out
            )
            # the body sees N'_w, N''_w + N'_w x w, and N'' of its origin + 2 N'_w x v
            turned = add3(of_w, axpy3(2.0, cross3(v, of_a), cross3(w, of_alpha)))
            couple = rotate(R, turned)
            accumulate2(adj_out.D, i, k, 1.0, (couple, scale3(0.0, couple)))
            accumulate2(adj_out.H, i, k, 1.0, to_origin(R, r, (of_alpha, of_a)))


@with_elastic(lambda model, theta, k, c, motion, kin, adj_out: None)
def pull_elastic_kinetic(model, theta, k, c, motion, kin, adj_out):
    """Add the pull-back of c times the kinetic energy."""
    tree = model.tree
    for f in range(tree.flexible.size):
        R, r, w, v, _, _ = frame_of(tree, kin, f)
        of_V = flexible_energy.pull_flexible_kinetic(tree, theta, f, k, c, (w, v), motion, adj_out)
        accumulate2(adj_out.D, tree.flexible[f], k, 1.0, to_origin(R, r, of_V))


@with_elastic(lambda model, theta, k, c, z, kin, adj_out: None)
def pull_elastic_potential(model, theta, k, c, z, kin, adj_out):
    """Add the pull-back of c times strain energy and energy of weight."""
    tree, gravity = model.tree, load3(theta, GRAVITY)
    for f in range(tree.flexible.size):
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_energy.flexible_moment(tree, theta, f, z)
        moment, hat = rotate(R, moment), scale3(c, scale3(-1.0, gravity))
        flexible_energy.pull_flexible_strain(tree, theta, f, k, c, z, adj_out.z, adj_out.theta)
        flexible_energy.pull_flexible_moment(
            tree, theta, f, k, dot3(r, hat), unrotate(R, hat), z, adj_out.z, adj_out.theta
        )
        add3_to(adj_out.theta, GRAVITY, k, scale3(c, scale3(-1.0, axpy3(mass, r, moment))))
        force = scale3(mass, hat)
        accumulate2(adj_out.P, tree.flexible[f], k, 1.0, (add3(cross3(r, force), cross3(moment, hat)), force))


@with_elastic(lambda model, theta, f, k, c, z, adj_out: None)
def pull_elastic_strain(model, theta, f, k, c, z, adj_out):
    """Add the pull-back of c times the strain energy of body f."""
    flexible_energy.pull_flexible_strain(model.tree, theta, f, k, c, z, adj_out.z, adj_out.theta)
