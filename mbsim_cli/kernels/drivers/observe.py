"""Sensors, energies and their sensitivities at stored instants, whatever computed the motion."""

from mbsim_cli.kernels.algebra.whole import copy_to
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded, follow_angles
from mbsim_cli.kernels.algorithms.reactions.systems import (
    find_forces,
    find_multiplier_forces,
    read_reactions,
    vary_read,
)
from mbsim_cli.kernels.algorithms.systems.contract import (
    constrain,
    energies,
    move,
    place,
    see,
    vary_bodies_of,
    vary_seen,
)
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.integrators.ali3p_sensitivity import Sensitivity


@entry
def observe(model, theta, at_center, directions, kin, tw, record, d_record):
    """Fill the rows of sensors, energies and, where there are directions, of the sensors' sensitivities."""
    observe_rows(model, theta, at_center, directions, kin, tw, record, d_record, 0, record.time.size)


@kernel
def observe_rows(model, theta, at_center, directions, kin, tw, record, d_record, first, last):
    """The same for rows from first to last."""
    dtheta, touch = directions.dtheta, directions.touch
    for row in range(first, last):
        t = record.time[row]
        z, zd, zdd, force = record.position[row], record.velocity[row], record.acceleration[row], record.reaction[row]
        place(model, theta, z, at_center, kin)
        move(model, theta, z, zd, zdd, kin)
        expect_recorded(record.expected, row, kin)
        see(model, theta, t, z, zd, zdd, force, kin, record.sensors[row])
        energies(model, theta, t, z, zd, force, kin, record.energy[row])
        if dtheta.shape[1] > 0:
            dz, dzd, dzdd = d_record.position[row], d_record.velocity[row], d_record.acceleration[row]
            d_force = d_record.reaction[row]
            sens = Sensitivity(dz, dzd, dzdd, d_force, d_force, d_force)
            vary_bodies_of(model, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw)
            vary_seen(model, theta, directions, t, z, zd, zdd, sens, kin, tw, d_record.sensors[row])


# Angles between bodies along the rows of a motion that is computed already.


@entry
def follow_rows(model, theta, kin, turns, record):
    """Fill the rows of expected angles, from ``turns`` on; between rows they change by the mean of their rates."""
    for row in range(record.time.size):
        half = 0.5 * (record.time[row] - turns.time[0])
        place(model, theta, record.position[row], True, kin)
        move(model, theta, record.position[row], record.velocity[row], record.acceleration[row], kin)
        for j in range(turns.measure.size):
            k = turns.measure[j]
            _, rate, _ = measure_and_rate(model, theta, k, kin)
            kin.expected[k] = turns.value[j] + half * (turns.rate[j] + rate.real)
        follow_angles(model, theta, kin, turns)
        turns.time[0] = record.time[row]
        copy_to(kin.expected, record.expected[row])


# Reactions and their sensitivities at stored instants, whatever computed the motion; nothing runs where none is read.
#
# ``work`` is that of a motion, ``tw`` the twists, ``dQ`` (n, p) the variation of forces on coordinates.


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
