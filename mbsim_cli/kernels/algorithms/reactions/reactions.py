"""Reactions: force of a joint or constraint at its point, and its moment about it.

What crosses the joint of a tree is what its subtree takes for its motion less what elements, constraints and cut
joints give to it, one inward recursion for all joints. Forces on the joint's coordinates themselves (springs, drives,
couplings) act beside the joint and are taken off; what moves or holds a coordinate is carried by the joint.
Derivation: docs/theory/reactions.md.
"""

from mbsim_cli.kernels.algebra.rot3 import load9, matmul9, unrotate
from mbsim_cli.kernels.algebra.spatial import add6, axpy6, motion_at, scale6, shift_force, store, sub6
from mbsim_cli.kernels.algebra.vec3 import load3, row3, scale3
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.element_forces import element_forces
from mbsim_cli.kernels.algorithms.equations.forces import clear_wrenches, constraint_forces
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force
from mbsim_cli.kernels.algorithms.equations.loads import read_multipliers
from mbsim_cli.kernels.algorithms.motion.bodies import pose_of
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.columns import is_euler, is_translation
from mbsim_cli.kernels.elements.measures import is_geometric, point_of
from mbsim_cli.model.layout import GROUND, NONE

AXES = 3  # in the block of a reaction, after its point
REACTION_SIZE = 6  # force, then moment


@inlined
def drives_one(measures, m):
    """Whether a constraint on this measure moves or holds a single coordinate: its joint carries what that takes."""
    return not is_geometric(measures.kind[m]) and measures.first[m + 1] - measures.first[m] == 1


@kernel
def multiplier_forces(model, theta, z, multiplier, lines, kin, comp, Q):
    """Forces of constraints alone, as ``joint_forces`` leaves them: what multipliers change while the motion stays."""
    clear_wrenches(comp.W, Q)
    _constraint_part(model, theta, z, multiplier, lines, kin, comp, Q)
    for i in range(model.tree.parent.size):
        store(comp.W, i, scale6(-1.0, motion_at(comp.W, i)))
    sum_inwards(model.tree, kin, comp)


@kernel
def joint_forces(model, theta, t, z, zd, multiplier, lines, kin, comp, Q):
    """Leave in comp.F (nb + 1, 6) the forces across tree joints, on the bodies that they carry, about ref of these.

    comp.W gets the share of each body alone, Q (n,) the forces on coordinates that act beside the joints. Needs the
    motion in ``kin``, whose forces by motion are found here, and the gradient lines (m, LINE_SIZE).
    """
    act_on_bodies(model, theta, t, z, zd, multiplier, lines, kin, comp, Q)
    cross_joints(model.tree, kin, comp)


@kernel
def act_on_bodies(model, theta, t, z, zd, multiplier, lines, kin, comp, Q):
    """Forces of elements and constraints on single bodies, comp.W, and on coordinates, but for what joints carry."""
    clear_wrenches(comp.W, Q)
    read_multipliers(model, multiplier, kin)
    element_forces(model, theta, t, z, zd, kin, comp.W, Q)
    _constraint_part(model, theta, z, multiplier, lines, kin, comp, Q)


@kernel
def cross_joints(tree, kin, comp):
    """What bodies take for their motion less what acts on them, each alone and summed inwards."""
    for i in range(tree.parent.size):
        store(comp.W, i, sub6(body_force(kin, i), motion_at(comp.W, i)))
    sum_inwards(tree, kin, comp)


@inlined
def _constraint_part(model, theta, z, multiplier, lines, kin, comp, Q):
    """Forces of constraints but for those that the joints carry."""
    constraint_forces(model, theta, z, kin, multiplier, lines, comp.W, Q)
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        if drives_one(model.measures, m):
            j = model.measures.first[m]
            Q[model.measures.coordinate[j]] += multiplier[r] * coordinate_slope(model.measures, theta, m, j, z)


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
def react(model, theta, reactions, z, multiplier, lines, Q, kin, comp, out):
    """Force and moment of all reactions, out (width,), in their own axes; needs ``joint_forces``."""
    for s in range(reactions.joint.size):
        W = reaction(model, theta, reactions, s, z, multiplier, lines, Q, kin, comp)
        E = axes_of(theta, reactions, s, kin)
        force, moment = unrotate(E, W[1]), unrotate(E, W[0])
        for k in range(3):
            out[REACTION_SIZE * s + k] = force[k]
            out[REACTION_SIZE * s + 3 + k] = moment[k]


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
def reaction(model, theta, reactions, s, z, multiplier, lines, Q, kin, comp):
    """Moment about its point and force of reaction s, global axes."""
    x = point_of_reaction(theta, reactions, s, kin)
    W = shift_force(beside_columns(model, theta, reactions, s, multiplier, lines, kin, comp), x)
    i = reactions.column_body[s]
    if i != NONE:
        for c in range(model.tree.first_column[i], model.tree.first_column[i + 1]):
            if not is_euler(model.tree.column_kind[c]):
                amount = on_column(model, theta, reactions, s, c, z, multiplier, Q)
                W = add6(W, along_column(model.tree.column_kind[c], scale3(amount, axis_of(model.tree, kin, c))))
    return W


@inlined
def nothing(zero):
    """A wrench of zeros, of the type of a zero."""
    return ((zero, zero, zero), (zero, zero, zero))


@inlined
def beside_columns(model, theta, reactions, s, multiplier, lines, kin, comp):
    """What crosses the tree joint and what geometric equations give, about the origin."""
    W = nothing(0.0 * theta[0])
    i = reactions.joint[s]
    if i != NONE:
        W = scale6(reactions.sign[s], whole_force(kin, comp, i))
    for e in range(reactions.first[s], reactions.first[s + 1]):
        r = reactions.equation[e]
        if is_geometric(model.measures.kind[model.constraints.measure[r]]):
            W = axpy6(-reactions.equation_sign[e] * multiplier[r], motion_at(lines, r), W)
    return W


@inlined
def whole_force(kin, comp, i):
    """What crosses the joint of body i, about the origin."""
    return shift_force(motion_at(comp.F, i), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def on_column(model, theta, reactions, s, c, z, multiplier, Q):
    """Force along column c that is added: what acts beside the joint is taken off, what the equations do put on."""
    amount = 0.0 * theta[0]
    if reactions.joint[s] != NONE:
        amount -= Q[c]
    for e in range(reactions.first[s], reactions.first[s + 1]):
        m = model.constraints.measure[reactions.equation[e]]
        if not is_geometric(model.measures.kind[m]):
            for j in range(model.measures.first[m], model.measures.first[m + 1]):
                if model.measures.coordinate[j] == c:
                    slope = coordinate_slope(model.measures, theta, m, j, z)
                    amount -= multiplier[reactions.equation[e]] * slope
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
