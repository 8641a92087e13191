"""Reactions: force of a joint or constraint at its point, and its moment about it.

The force across the joint of a tree is the force that its subtree takes for its motion less those of elements,
constraints and cut joints on it: one inward recursion for all joints. Forces on the joint's coordinates themselves
(springs, couplings) act beside the joint and are subtracted. The joint carries the forces of those constraints that
drive or hold a single coordinate.
Derivation: docs/theory/reactions.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    accumulate_shifted2,
    add6,
    axpy6,
    cross_force,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    moved,
    scale6,
    shift_force,
    store,
    store_rows,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    axpy3,
    cross3,
    load3,
    load3_of,
    load9,
    load9_of,
    matmul9,
    matmul9_transposed,
    point_of,
    rotate,
    row3,
    scale3,
    skew_part,
    sub3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import vary_constraint_forces, vary_multiplier_force
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces, slope_variation, vary_measure_from_first
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import own_rates, rate_apply, rate_at
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces, own_inertia_force
from mbsim_cli.kernels.algorithms.equations.signals import vary_element_forces, vary_multipliers
from mbsim_cli.kernels.algorithms.motion.about_origin import apply_to_body2, at_origin2, between2, pose_of
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.algorithms.motion.variation import parent_frame_twist
from mbsim_cli.kernels.algorithms.motion.workspace import Composite, Kinematics, LoadedMotion, Twists, motion_alone
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.columns import is_euler, is_translation
from mbsim_cli.model.layout import GROUND, NONE

AXES = 3  # in the block of a reaction, after its point
REACTION_SIZE = 6  # force, then moment


class Acting(NamedTuple):
    """Motion and forces at a time point, which reactions are read from."""

    motion: LoadedMotion  # of columns
    lines: np.ndarray  # (m, LINE_SIZE)
    Q: np.ndarray  # (n,) forces on columns, but for what joints carry
    kin: Kinematics
    comp: Composite


class ActingVaried(NamedTuple):
    """Variations of ``Acting`` in p directions."""

    motion: LoadedMotion
    dQ: np.ndarray  # (n, p) of -Q
    tw: Twists


@inlined
def drives_one(measures, m):
    """Whether a constraint on this measure moves or holds a single coordinate: its joint carries what that takes."""
    return measures.pair[m] == NONE and measures.first[m + 1] - measures.first[m] == 1


@kernel
def multiplier_forces(model, theta, acting):
    """Forces of constraints alone, as ``find_forces`` leaves them: what multipliers change while the motion stays."""
    comp = acting.comp
    clear(comp.W)
    clear(acting.Q)
    constraint_part(model, theta, acting)
    for i in range(model.tree.parent.size):
        store(comp.W, i, scale6(-1.0, motion_at(comp.W, i)))
    sum_inwards(model.tree, acting.kin, comp)


@inlined
def constraint_part(model, theta, acting):
    """Forces of constraints but for those that the joints carry."""
    motion, Q = acting.motion, acting.Q
    constraint_forces(model, theta, motion.z, acting.kin, motion.lam, acting.lines, acting.comp.W, Q)
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        if drives_one(model.measures, m):
            j = model.measures.first[m]
            slope = coordinate_slope(model.measures, theta, m, j, motion.z)
            Q[model.measures.coordinate[j]] += motion.lam[r] * slope


@inlined
def sum_inwards(tree, kin, comp):
    """Sums comp.F over subtrees of the single bodies' comp.W."""
    nb = tree.parent.size
    for i in range(nb):
        store(comp.F, i, motion_at(comp.W, i))
    for i in range(nb - 1, -1, -1):
        p = tree.parent[i]
        if p != GROUND:  # the ground asks for nothing
            back = scale3(-1.0, offset_to_parent(tree, kin, i))
            store(comp.F, p, add6(motion_at(comp.F, p), shift_force(motion_at(comp.F, i), back)))


@kernel
def react(model, theta, reactions, acting, out):
    """Force and moment of all reactions, out (width,), in their own axes; needs ``find_forces``."""
    for s in range(reactions.joint.size):
        W = reaction(model, theta, reactions, s, acting)
        E = axes_of(theta, reactions, s, acting.kin)
        force, moment = unrotate(E, W[1]), unrotate(E, W[0])
        for j in range(3):
            out[REACTION_SIZE * s + j] = force[j]
            out[REACTION_SIZE * s + 3 + j] = moment[j]


@inlined
def axes_of(theta, reactions, s, kin):
    """Rotation matrix of the axes that reaction s is resolved in."""
    R, _ = pose_of(kin, reactions.axes_body[s])
    return matmul9(R, load9(theta, reactions.theta[s] + AXES))


@inlined
def point_of_reaction(theta, reactions, s, kin):
    """Global position of the point of reaction s."""
    R, r = pose_of(kin, reactions.point_body[s])
    return point_of(R, r, load3(theta, reactions.theta[s]))


@inlined
def reaction(model, theta, reactions, s, acting):
    """Moment about its point and force of reaction s, global axes."""
    kin = acting.kin
    W = shift_force(beside_columns(model, theta, reactions, s, acting), point_of_reaction(theta, reactions, s, kin))
    i = reactions.column_body[s]
    if i != NONE:
        for c in range(model.tree.first_column[i], model.tree.first_column[i + 1]):
            if not is_euler(model.tree.column_kind[c]):
                amount = on_column(model, theta, reactions, s, c, acting)
                W = add6(W, along_column(model.tree.column_kind[c], scale3(amount, axis_of(model.tree, kin, c))))
    return W


@inlined
def nothing(zero):
    """A wrench of zeros, of the type of a zero."""
    return ((zero, zero, zero), (zero, zero, zero))


@inlined
def beside_columns(model, theta, reactions, s, acting):
    """Force across the tree joint and forces of geometric equations, about the origin."""
    multiplier, kin = acting.motion.lam, acting.kin
    W = nothing(0.0 * theta[0])
    i = reactions.joint[s]
    if i != NONE:
        W = scale6(reactions.sign[s], shift_force(motion_at(acting.comp.F, i), scale3(-1.0, row3(kin.ref, i, 0))))
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        if model.measures.pair[model.constraints.measure[r]] != NONE:
            W = axpy6(-reactions.equation_sign[e] * multiplier[r], motion_at(acting.lines, r), W)
    return W


@inlined
def on_column(model, theta, reactions, s, c, acting):
    """Force along column c: that of the equations less that of elements beside the joint."""
    motion = acting.motion
    amount = 0.0 * theta[0]
    if reactions.joint[s] != NONE:
        amount -= acting.Q[c]
    for e in range(reactions.first[s], reactions.first[s + 1]):
        m = model.constraints.measure[reactions.equation[e]]
        if model.measures.pair[m] == NONE:
            for j in range(model.measures.first[m], model.measures.first[m + 1]):
                if model.measures.coordinate[j] == c:
                    slope = coordinate_slope(model.measures, theta, m, j, motion.z)
                    amount -= motion.lam[reactions.equation[e]] * slope
    return reactions.sign[s] * amount


@inlined
def axis_of(tree, kin, c):
    """Axis of column c."""
    S = motion_at(kin.S, c)
    return S[1] if is_translation(tree.column_kind[c]) else S[0]


@inlined
def along_column(kind, vector):
    """A force through the reaction's point, or a moment: that does no work on the joint's other columns."""
    none = scale3(0.0, vector)
    if is_translation(kind):
        return (none, vector)
    return (vector, none)


# Variations of reactions in p directions, as the ground sees them -----------------------------------------------------


@kernel
def vary_actions(model, theta, directions, t, acting, varied):
    """Variation of forces on single bodies in tw.F (nb + 1, 6, p), as the bodies see it, and of -Q in dQ (n, p).

    These are the W and Q of ``find_forces``. Needs ``vary_kinematics``.
    """
    motion, lines, kin = acting.motion, acting.lines, acting.kin
    sens, tw, dQ = varied.motion, varied.tw, varied.dQ
    clear_forces(tw, dQ)
    vary_multipliers(model, sens.lam, tw)
    vary_element_forces(model, theta, directions, t, motion_alone(motion), motion_alone(sens), kin, tw, dQ)
    vary_constraint_forces(model, theta, directions, lines, motion.lam, motion.z, sens.z, kin, tw, dQ)
    for r in range(model.constraints.measure.size):  # what the joints carry is taken back
        m = model.constraints.measure[r]
        if drives_one(model.measures, m):
            vary_multiplier_force(model.measures, m, theta, directions.dtheta, motion.z, sens.z, -motion.lam[r], dQ)
    _by_multipliers(model, theta, motion.z, sens.lam, lines, kin, tw, dQ)


@inlined
def _by_multipliers(model, theta, z, d_multiplier, lines, kin, tw, dQ):
    """Add the change of multipliers, but for those of what the joints carry."""
    measures = model.measures
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        for g in range(0, d_multiplier.shape[1], width(d_multiplier)):
            k = block(d_multiplier, g)
            change = at(d_multiplier, r, k)
            if measures.pair[m] != NONE:
                dW = scale6(change, motion_at(lines, r))
                apply_to_body2(tw.F, kin, model.pairs.b[measures.pair[m]], k, 1.0, dW)
                apply_to_body2(tw.F, kin, model.pairs.a[measures.pair[m]], k, -1.0, dW)
            elif not drives_one(measures, m):
                for j in range(measures.first[m], measures.first[m + 1]):
                    add_to(dQ, measures.coordinate[j], k, change * coordinate_slope(measures, theta, m, j, z))


@kernel
def vary_crossing(tree, theta, directions, kin, comp, tw):
    """Leave in tw.F the variations of comp.F: add the bodies' part, as the ground sees it, and sum over subtrees."""
    dtheta, touch = directions.dtheta, directions.touch
    own_rates(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        alone, back = motion_at(comp.W, i), scale3(-1.0, offset_to_parent(tree, kin, i))
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            if touch.inertia[i, g]:
                accumulate2(tw.F, i, k, 1.0, own_inertia_force(tree, theta, dtheta, k, kin, i))
            inertia, (couple, momentum) = inertia_at(kin.inertia, i), rate_at(comp, i)
            dF = add6(inertia_apply(inertia, motion_at2(tw.N2, i, k)), cross_force(motion_at2(tw.N, i, k), alone))
            accumulate2(tw.F, i, k, 1.0, add6(dF, rate_apply(couple, momentum, motion_at2(tw.N1, i, k)[0])))
            accumulate_shifted2(tw.F, tree.parent[i], k, motion_at2(tw.F, i, k), back)


@kernel
def vary_reactions(model, theta, directions, reactions, acting, varied, out):
    """Fill out (width, p); needs ``vary_crossing``."""
    kin, tw = acting.kin, varied.tw
    for s in range(reactions.joint.size):
        W = reaction(model, theta, reactions, s, acting)
        for g in range(0, out.shape[1], width(out)):
            k = block(out, g)
            dW = _vary_reaction(model, theta, directions, reactions, s, g, k, acting, varied)
            force = _vary_resolved(theta, directions.dtheta, reactions, s, k, W[1], dW[1], kin, tw)
            moment = _vary_resolved(theta, directions.dtheta, reactions, s, k, W[0], dW[0], kin, tw)
            store_rows(out, REACTION_SIZE * s, k, (force, moment))


@inlined
def _vary_resolved(theta, dtheta, reactions, s, k, x, dx, kin, tw):
    """Variation of the components of a vector x in the reaction's axes."""
    o, b = reactions.theta[s] + AXES, reactions.axes_body[s]
    own = matmul9_transposed(load9_of(dtheta, o, k), load9(theta, o))
    R, _ = pose_of(kin, b)
    turn = add3(motion_at2(tw.N, b, k)[0], rotate(R, skew_part(own)))
    return unrotate(axes_of(theta, reactions, s, kin), sub3(dx, cross3(turn, x)))


@inlined
def _vary_reaction(model, theta, directions, reactions, s, g, k, acting, varied):
    """Variation of ``reaction`` in direction k of the block at g."""
    dtheta, tree, kin, tw = directions.dtheta, model.tree, acting.kin, varied.tw
    x, b = point_of_reaction(theta, reactions, s, kin), reactions.point_body[s]
    R, _ = pose_of(kin, b)
    dx = add3(moved(at_origin2(tw.N, kin, b, k), x), rotate(R, load3_of(dtheta, reactions.theta[s], k)))
    W = beside_columns(model, theta, reactions, s, acting)
    dW = shift_force(_vary_beside_columns(model, theta, directions, reactions, s, g, k, acting, varied), x)
    dW = (sub3(dW[0], cross3(dx, W[1])), dW[1])
    i = reactions.column_body[s]
    if i != NONE:
        before = motion_at2(tw.N, tree.parent[i], k)[0]  # of the frame that the columns start from
        turn = add3(before, parent_frame_twist(tree, theta, dtheta, k, kin, i)[0])
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            axis = axis_of(tree, kin, c)
            if not is_euler(tree.column_kind[c]):
                amount = on_column(model, theta, reactions, s, c, acting)
                change = _vary_on_column(model, theta, dtheta, reactions, s, c, k, acting, varied)
                dv = axpy3(change, axis, scale3(amount, cross3(turn, axis)))
                dW = add6(dW, along_column(tree.column_kind[c], dv))
            if not is_translation(tree.column_kind[c]):
                turn = axpy3(at(varied.motion.z, c, k), axis, turn)
    return dW


@inlined
def _vary_beside_columns(model, theta, directions, reactions, s, g, k, acting, varied):
    """Variation of ``beside_columns``."""
    multiplier, lines, kin, sens, tw = acting.motion.lam, acting.lines, acting.kin, varied.motion, varied.tw
    dtheta, measures, pairs = directions.dtheta, model.measures, model.pairs
    dW = nothing(0.0 * at(dtheta, 0, k))
    i = reactions.joint[s]
    if i != NONE:
        dW = scale6(reactions.sign[s], shift_force(motion_at2(tw.F, i, k), scale3(-1.0, row3(kin.ref, i, 0))))
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        m = model.constraints.measure[r]
        if measures.pair[m] != NONE:
            a, b, L = pairs.a[measures.pair[m]], pairs.b[measures.pair[m]], motion_at(lines, r)
            N = between2(tw.N, kin, a, b, k)
            touched = directions.touch.measure[m, g]
            _, from_a = vary_measure_from_first(measures, pairs, theta, dtheta, touched, m, k, kin, N)
            dL = add6(from_a, cross_force(at_origin2(tw.N, kin, a, k), L))
            by_line = scale6(multiplier[r], dL)
            dW = axpy6(-reactions.equation_sign[e], axpy6(at(sens.lam, r, k), L, by_line), dW)
    return dW


@inlined
def _vary_on_column(model, theta, dtheta, reactions, s, c, k, acting, varied):
    """Variation of ``on_column``."""
    measures, motion, sens = model.measures, acting.motion, varied.motion
    change = 0.0 * at(dtheta, 0, k)
    if reactions.joint[s] != NONE:
        change += at(varied.dQ, c, k)
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        m = model.constraints.measure[r]
        if measures.pair[m] == NONE:
            for j in range(measures.first[m], measures.first[m + 1]):
                if measures.coordinate[j] == c:
                    slope = coordinate_slope(measures, theta, m, j, motion.z)
                    change -= at(sens.lam, r, k) * slope
                    change -= motion.lam[r] * slope_variation(
                        measures, theta, dtheta, k, m, j, motion.z, at(sens.z, c, k)
                    )
    return reactions.sign[s] * change
