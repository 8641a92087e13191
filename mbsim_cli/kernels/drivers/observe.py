"""Sensors, energies and their sensitivities at stored instants, whatever computed the motion."""

from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.systems.contract import energies, move, place, see, vary_bodies_of, vary_seen
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
