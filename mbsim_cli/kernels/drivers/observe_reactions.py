"""Reactions and their sensitivities at stored instants, whatever computed the motion; nothing runs where none is read.

``work`` is that of a motion, ``tw`` the twists, ``dQ`` (n, p) the variation of forces on coordinates.
"""

from mbsim_cli.kernels.algebra.whole import copy_to
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.reactions.systems import (
    find_forces,
    find_multiplier_forces,
    read_reactions,
    vary_read,
)
from mbsim_cli.kernels.algorithms.systems.contract import constrain, move, place, vary_bodies_of
from mbsim_cli.kernels.compiler.jit import entry
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
        place(model, theta, z, at_center, kin)
        move(model, theta, z, zd, zdd, kin)
        constrain(model, theta, t, z, kin, eq)
        expect_recorded(record.expected, row, kin)
        find_forces(model, theta, t, z, zd, multiplier[row], kin, comp, eq)
        read_reactions(model, theta, reactions, z, multiplier[row], kin, comp, eq, out[row])
        if directions.dtheta.shape[1] > 0:
            dz, dzd, dzdd = d_record.position[row], d_record.velocity[row], d_record.acceleration[row]
            d_force, dtheta, touch = d_multiplier[row], directions.dtheta, directions.touch
            sens = Sensitivity(dz, dzd, dzdd, d_force, d_force, d_force)
            vary_bodies_of(model, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw)
            vary_read(
                model, theta, directions, reactions, t, z, zd, multiplier[row], sens, kin, comp, eq, tw, dQ, d_out[row]
            )  # fmt: skip


@entry
def constraint_jacobians(model, theta, at_center, work, time, position, J_out):
    """Phi_z (N, m, n) at many instants."""
    for row in range(time.size):
        place(model, theta, position[row], at_center, work.kin)
        constrain(model, theta, time[row], position[row], work.kin, work.eq)
        copy_to(work.eq.J, J_out[row])


@entry
def reactions_to(model, theta, reactions, at_center, work, time, position, multiplier, out):
    """Reactions out (N, k, width) to multipliers (N, k, m) alone: how they change while the motion stays."""
    kin, comp, eq = work.kin, work.comp, work.eq
    for row in range(time.size):
        z = position[row]
        place(model, theta, z, at_center, kin)
        constrain(model, theta, time[row], z, kin, eq)
        for k in range(multiplier.shape[1]):
            find_multiplier_forces(model, theta, z, multiplier[row, k], kin, comp, eq)
            read_reactions(model, theta, reactions, z, multiplier[row, k], kin, comp, eq, out[row, k])
