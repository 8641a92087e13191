"""Pull-back of reactions: the transpose of the variations in ``reactions``.

An adjoint of a joint's force and moment is a virtual motion of all that the joint carries; it stands still in space,
where those of the residual move with their bodies. Spatial vectors are about the global origin, where all bodies must
have their reference points. Derivation: docs/theory/reactions.md.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import accumulate2, cross_force, dot6, motion_at, motion_at2, scale6, sub6
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    axpy3,
    cross3,
    dot3,
    load3_of,
    rotate,
    scale3,
    sub3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import pull_constraints
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope, pull_line, pull_slope
from mbsim_cli.kernels.algorithms.equations.signals import pull_element_forces
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_axes, pull_bodies
from mbsim_cli.kernels.algorithms.motion.about_origin import pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.algorithms.reactions import reactions as values
from mbsim_cli.kernels.algorithms.reactions.reactions import AXES, REACTION_SIZE
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.columns import is_euler, is_translation
from mbsim_cli.model.layout import NONE, R_P


@kernel
def move_virtually(model, theta, reactions, acting, virtual, hat, adj_out):
    """Leave in ``virtual`` what adjoints of the reactions move, and add what their own points and axes have.

    hat (width, p) are the adjoints; needs ``find_forces``.
    """
    clear(virtual.mu)
    clear(virtual.U)
    for s in range(reactions.joint.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            _pull_reaction(model, theta, reactions, s, k, acting, virtual, hat, adj_out)
    for i in range(model.tree.parent.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            accumulate2(virtual.U, i, k, 1.0, motion_at2(virtual.U, model.tree.parent[i], k))


@kernel
def pull_crossing(model, theta, t, acting, beside, virtual, no_nu, adj_out):
    """Add the pull-back of the power of all that acts on bodies, which stand still in space as they move virtually.

    ``beside`` (m,) is work, no_nu (m, p) are zeros.
    """
    motion, lines, kin = acting.motion, acting.lines, acting.kin
    for r in range(motion.lam.size):  # of all that acts beside the joints
        carried = values.drives_one(model.measures, model.constraints.measure[r])
        beside[r] = 0.0 if carried else motion.lam[r]
    pull_bodies(model.tree, theta, kin, virtual, adj_out)
    pull_element_forces(model, theta, t, motion_alone(motion), kin, virtual, adj_out)
    pull_constraints(model, theta, t, motion.z, kin, lines, beside, virtual, no_nu, adj_out)
    _pull_multipliers(model, theta, motion.z, lines, virtual, adj_out)
    for i in range(model.tree.parent.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            _hold(i, k, motion_at2(virtual.U, i, k), motion_at(acting.comp.W, i), adj_out)


@inlined
def _hold(b, k, U, W, adj_out):
    """Take from body b what the pull-back of W . U has by U moving along with the body."""
    accumulate2(adj_out.P, b, k, -1.0, cross_force(U, W))


@inlined
def _pull_multipliers(model, theta, z, lines, virtual, adj_out):
    """Add adjoints of the multipliers whose forces act on bodies that move virtually."""
    measures = model.measures
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            if measures.pair[m] != NONE:
                a, b = model.pairs.a[measures.pair[m]], model.pairs.b[measures.pair[m]]
                U = sub6(motion_at2(virtual.U, b, k), motion_at2(virtual.U, a, k))
                add_to(adj_out.lam, r, k, dot6(U, motion_at(lines, r)))
            elif not values.drives_one(measures, m):
                for j in range(measures.first[m], measures.first[m + 1]):
                    slope = coordinate_slope(measures, theta, m, j, z)
                    add_to(adj_out.lam, r, k, slope * at(virtual.mu, measures.coordinate[j], k))


@kernel
def _pull_reaction(model, theta, reactions, s, k, acting, virtual, hat, adj_out):
    """Pull the components of reaction s back; leaves in ``virtual`` the motion that their adjoints give."""
    kin, o = acting.kin, reactions.theta[s]
    E = values.axes_of(theta, reactions, s, kin)
    force = rotate(E, load3_of(hat, REACTION_SIZE * s, k))
    moment = rotate(E, load3_of(hat, REACTION_SIZE * s + 3, k))
    W = values.reaction(model, theta, reactions, s, acting)
    _pull_turn(
        theta, reactions.axes_body[s], o + AXES, k, add3(cross3(moment, W[0]), cross3(force, W[1])), kin, adj_out
    )
    x, b = values.point_of_reaction(theta, reactions, s, kin), reactions.point_body[s]
    R, _ = pose_of(kin, b)
    by_x = cross3(moment, values.beside_columns(model, theta, reactions, s, acting)[1])
    accumulate2(adj_out.P, b, k, 1.0, (cross3(x, by_x), by_x))
    add3_to(adj_out.theta, o, k, unrotate(R, by_x))
    U = (moment, sub3(force, cross3(moment, x)))
    if reactions.joint[s] != NONE:
        accumulate2(virtual.U, reactions.joint[s], k, reactions.sign[s], U)
    _pull_equations(model, theta, reactions, s, k, acting, U, adj_out)
    if reactions.column_body[s] != NONE:
        _pull_columns(model, theta, reactions, s, k, acting, force, moment, virtual, adj_out)


@inlined
def _pull_turn(theta, b, o, k, turn, kin, adj_out):
    """Pull back the turn of axes that stand at o in the axes of body b."""
    R, _ = pose_of(kin, b)
    accumulate2(adj_out.P, b, k, 1.0, (turn, scale3(0.0, turn)))
    pull_axes(theta, o, k, unrotate(R, turn), adj_out.theta)


@inlined
def _pull_equations(model, theta, reactions, s, k, acting, U, adj_out):
    """Pull back the forces of geometric equations."""
    measures = model.measures
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        m = model.constraints.measure[r]
        if measures.pair[m] != NONE:
            L, sign = motion_at(acting.lines, r), -1.0 * reactions.equation_sign[e]
            add_to(adj_out.lam, r, k, sign * dot6(U, L))
            K = scale6(sign * acting.motion.lam[r], U)
            pull_line(model, theta, m, k, acting.kin, 0.0 * U[0][0], scale6(0.0, K), K, adj_out)
            _hold(model.pairs.b[measures.pair[m]], k, K, L, adj_out)


@inlined
def _pull_columns(model, theta, reactions, s, k, acting, force, moment, virtual, adj_out):
    """Pull back forces along columns, from the last one; an axis turns with all columns before it."""
    tree, i, kin = model.tree, reactions.column_body[s], acting.kin
    turn = scale3(0.0, force)
    for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
        kind, axis = tree.column_kind[c], values.axis_of(tree, kin, c)
        if not is_translation(kind):
            add_to(adj_out.z, c, k, dot3(turn, axis))
        if not is_euler(kind):
            hat = force if is_translation(kind) else moment
            amount = values.on_column(model, theta, reactions, s, c, acting)
            turn = axpy3(amount, cross3(axis, hat), turn)
            amount_hat = reactions.sign[s] * dot3(hat, axis)
            _pull_amount(model, theta, reactions, s, c, k, acting.motion, amount_hat, virtual, adj_out)
    _pull_turn(theta, tree.parent[i], tree.theta[i] + R_P, k, turn, kin, adj_out)


@inlined
def _pull_amount(model, theta, reactions, s, c, k, motion, hat, virtual, adj_out):
    """Pull back the force along column c, on the body that the joint carries."""
    measures = model.measures
    if reactions.joint[s] != NONE:
        add_to(virtual.mu, c, k, hat)
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        m = model.constraints.measure[r]
        if measures.pair[m] == NONE:
            for j in range(measures.first[m], measures.first[m + 1]):
                if measures.coordinate[j] == c:
                    add_to(adj_out.lam, r, k, -coordinate_slope(measures, theta, m, j, motion.z) * hat)
                    pull_slope(measures, theta, m, j, k, motion.z, -motion.lam[r] * hat, adj_out)
