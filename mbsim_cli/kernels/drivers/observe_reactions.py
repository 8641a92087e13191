"""Reactions and their sensitivities at stored instants, whatever computed the motion; nothing runs where none is read.

``work`` is that of a motion, ``tw`` the twists, ``dQ`` (n, p) the variation of forces on coordinates.
"""

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels.algorithms.constraints import constraints
from mbsim_cli.kernels.algorithms.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.reaction_variation import vary_joint_forces, vary_reactions
from mbsim_cli.kernels.algorithms.reactions import joint_forces, multiplier_forces, react
from mbsim_cli.kernels.algorithms.turning import expect_recorded
from mbsim_cli.kernels.algorithms.variation import vary_kinematics
from mbsim_cli.kernels.integrators.ali3p_sensitivity import Sensitivity


@entry
def observe_reactions(
    model, theta, reactions, at_center, directions, work, tw, dQ, record, d_record, multiplier, d_multiplier, out, d_out
):
    """Fill out (N, width) and, where there are directions, d_out (N, width, p).

    The multipliers (N, m) and their sensitivities are those of the model's equations.
    """
    kin, comp, eq = work.kin, work.comp, work.eq
    for row in range(record.time.size):
        t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
        position_kinematics(model.tree, theta, z, at_center, kin)
        motion_kinematics(model.tree, theta, z, zd, zdd, kin)
        constraints(model, theta, t, z, kin, eq.phi, eq.J, eq.lines)
        expect_recorded(record.expected, row, kin)
        joint_forces(model, theta, t, z, zd, multiplier[row], eq.lines, kin, comp, eq.Q)
        react(model, theta, reactions, z, multiplier[row], eq.lines, eq.Q, kin, comp, out[row])
        if directions.dtheta.shape[1] > 0:
            dz, dzd, dzdd = d_record.position[row], d_record.velocity[row], d_record.acceleration[row]
            d_force = d_multiplier[row]
            sens = Sensitivity(dz, dzd, dzdd, d_force, d_force, d_force)
            vary_kinematics(model.tree, theta, directions.dtheta, directions.touch, kin, dz, dzd, dzdd, tw)
            vary_joint_forces(model, theta, directions, t, z, zd, multiplier[row], sens, eq.lines, kin, comp, tw, dQ)
            vary_reactions(
                model, theta, directions, reactions, z, multiplier[row], sens, eq.lines, eq.Q, dQ, kin, comp, tw,
                d_out[row],
            )  # fmt: skip


@entry
def constraint_jacobians(model, theta, at_center, work, time, position, J_out):
    """Phi_z (N, m, n) at many instants."""
    for row in range(time.size):
        position_kinematics(model.tree, theta, position[row], at_center, work.kin)
        constraints(model, theta, time[row], position[row], work.kin, work.eq.phi, J_out[row], work.eq.lines)


@entry
def reactions_to(model, theta, reactions, at_center, work, time, position, multiplier, out):
    """Reactions out (N, k, width) to multipliers (N, k, m) alone: how they change while the motion stays."""
    kin, comp, eq = work.kin, work.comp, work.eq
    for row in range(time.size):
        z = position[row]
        position_kinematics(model.tree, theta, z, at_center, kin)
        constraints(model, theta, time[row], z, kin, eq.phi, eq.J, eq.lines)
        for k in range(multiplier.shape[1]):
            multiplier_forces(model, theta, z, multiplier[row, k], eq.lines, kin, comp, eq.Q)
            react(model, theta, reactions, z, multiplier[row, k], eq.lines, eq.Q, kin, comp, out[row, k])
