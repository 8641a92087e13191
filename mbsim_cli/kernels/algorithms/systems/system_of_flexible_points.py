"""Natural coordinates with bodies that deform: what ``system_of_points`` does, and what these bodies add."""

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import pull_constraint_rates, pull_constraints
from mbsim_cli.kernels.algorithms.equations.forces import clear_wrenches
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces
from mbsim_cli.kernels.algorithms.equations.signals import pull_element_forces
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    flexible_forces,
    pull_flexible_bodies,
    shape_bodies,
    slope_bodies,
    vary_flexible_forces,
)
from mbsim_cli.kernels.algorithms.natural.bodies import (
    hold,
    natural_forces,
    natural_residual,
)
from mbsim_cli.kernels.algorithms.natural.flexible import (
    add_natural_elastic_mass,
    add_natural_elastic_tangent,
    add_weld_tangent,
    clear_elastic_mass,
    hold_welds,
    move_welds,
    pull_weld_forces,
    pull_weld_rates,
    pull_welds,
    pull_welds_velocity,
    resting_bodies,
    vary_elastic_rest,
    vary_weld_forces,
    vary_weld_rates,
    vary_welds,
    vary_welds_with_velocity,
    weld_nodes,
)
from mbsim_cli.kernels.algorithms.natural.pull_back import (
    clear_poses,
    pull_inertia,
    pull_poses,
    pull_rigidity,
    pull_rigidity_rates,
    pull_weight,
    pull_work,
    virtual_poses,
)
from mbsim_cli.kernels.algorithms.natural.variation import (
    vary_natural_forces,
    vary_natural_inertia,
    vary_natural_pulls,
    vary_natural_work,
)
from mbsim_cli.kernels.algorithms.systems import system_of_points as points
from mbsim_cli.kernels.compiler.jit import inlined, merged

# as without bodies that deform
rotate_prediction, move, compose, speeds, vary_bodies_of = (
    points.rotate_prediction, points.move, points.compose, points.speeds, points.vary_bodies_of
)  # fmt: skip
energies, read_sensors = points.energies, points.read_sensors
vary_readings, pull_readings = points.vary_readings, points.pull_readings
measure_and_rate_of = points.measure_and_rate_of


@merged
def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    points.place(model, theta, z, at_center, kin)
    copy_to(z, kin.z)


def shape(model, theta, kin):
    shape_bodies(model, theta, kin.z, kin)


@merged
def constrain(model, theta, t, z, kin, eq):
    points.constrain(model, theta, t, z, kin, eq)
    weld_nodes(model, theta, z, eq.phi, eq.J)


def load(model, theta, t, state, kin, comp, eq):
    move(model, theta, state.z, state.zd, state.zdd, kin)
    natural_forces(model, theta, t, state.z, state.zd, state.lam, eq.lines, kin, comp.W, eq.Q)
    hold_welds(model.tree, theta, state.z, state.lam, eq.Q)
    clear(comp.rows)
    flexible_forces(model, theta, kin.z, state.zd, state.zdd, kin, comp, comp.rows)
    natural_residual(model, theta, state.zdd, state.lam, kin, comp.W, eq.Q, eq.G)
    add_scaled(1.0, comp.rows, eq.G)


def tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out):
    points.tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out)
    add_natural_elastic_tangent(model.tree, theta, beta, gamma, state, kin, comp, T_out)
    add_weld_tangent(model.tree, theta, gamma, state.z, state.lam, T_out)


def mass(model, theta, kin, comp, M_out):
    clear_elastic_mass(model.tree, M_out)
    points.mass(model, theta, kin, comp, M_out)
    add_natural_elastic_mass(model.tree, theta, kin, comp, M_out)


def rates(model, theta, lines, t, state, kin, phi1_out, phi2_out):
    points.rates(model, theta, lines, t, state, kin, phi1_out, phi2_out)
    move_welds(model.tree, theta, state.z, state.zd, state.zdd, phi1_out, phi2_out)


def vary_equations(model, theta, dtheta, touch, lines, t, z, dz, kin, tw, out):
    points.vary_equations(model, theta, dtheta, touch, lines, t, z, dz, kin, tw, out)
    vary_welds(model.tree, theta, dtheta, z, dz, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    dtheta, touch = directions.dtheta, directions.touch
    vary_natural_forces(
        model, theta, dtheta, touch, t, state.z, state.zd, state.lam, eq.lines, sens.z, sens.zd, kin, tw,
        dG_out,
    )  # fmt: skip
    vary_weld_forces(model.tree, theta, dtheta, state.z, state.lam, sens.z, dG_out)
    slope_bodies(model, theta, state, kin)
    vary_flexible_forces(model, theta, dtheta, touch, state, sens, kin, tw, dG_out)
    vary_natural_work(model, theta, dtheta, touch, state.lam, state.zdd, comp.W, kin, tw, dG_out)
    vary_natural_inertia(model.tree, theta, dtheta, touch, sens.zdd, dG_out)


def vary_at_rest(model, theta, dtheta, touch, lines, state, dz, kin, comp, tw, load, other_load, rest, other):
    _vary_rest(model, theta, dtheta, touch, lines, state.z, dz, kin, comp, tw, load, rest.dG)
    _vary_rest(model, theta, dtheta, touch, lines, state.z, dz, kin, comp, tw, other_load, other.dG)


@inlined
def _vary_rest(model, theta, dtheta, touch, lines, z, dz, kin, comp, tw, load, dG_out):
    clear_forces(tw, dG_out)
    clear_wrenches(comp.held, comp.Q)
    hold(model, theta, z, load.multiplier, lines, kin, comp.held, comp.Q)
    vary_elastic_rest(model, theta, dtheta, touch, z, load.x, dz, kin, comp, tw, dG_out)
    vary_natural_pulls(model, theta, dtheta, touch, lines, load.multiplier, z, dz, kin, tw, dG_out)
    vary_weld_forces(model.tree, theta, dtheta, z, load.multiplier, dz, dG_out)
    vary_natural_work(model, theta, dtheta, touch, load.multiplier, load.x, comp.held, kin, tw, dG_out)


def vary_rates(model, theta, dtheta, touch, eq, t, state, sens, kin, tw, first_out, second_out):
    points.vary_rates(model, theta, dtheta, touch, eq, t, state, sens, kin, tw, first_out, second_out)
    vary_weld_rates(
        model.tree, theta, dtheta, state.z, state.zd, state.zdd, sens.z, sens.zd, sens.zdd, first_out, second_out
    )  # fmt: skip


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    points.vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out)
    vary_welds_with_velocity(factor, model.tree, theta, kin.z, zd, dzd, second_out)


def pull_rates(model, theta, t, z, zd, zdd, eq, kin, comp, none, nu1, nu2, adj):
    clear_poses(adj)
    pull_constraint_rates(model, theta, t, z, zd, zdd, kin, eq.lines, eq.line_rates, nu1, nu2, adj)
    pull_rigidity_rates(model, theta, kin, nu1, nu2, adj)
    pull_weld_rates(model.tree, theta, z, zd, zdd, nu1, nu2, adj)
    pull_poses(model.tree, theta, z, zd, zdd, kin, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    points.pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out)
    pull_welds_velocity(model.tree, theta, kin.z, zd, nu2, zd_out)


def pull_at_rest(model, theta, t, z, no_rate, x, multiplier, eq, kin, comp, virtual, no_nu, adj):
    clear_wrenches(comp.held, comp.Q)
    hold(model, theta, z, multiplier, eq.lines, kin, comp.held, comp.Q)
    resting_bodies(model, theta, z, x, kin, comp)
    virtual_poses(model.tree, theta, kin, virtual)
    clear_poses(adj)
    pull_inertia(model.tree, theta, x, virtual, adj)
    pull_flexible_bodies(model, theta, z, comp.zero, x, False, kin, virtual, adj)
    pull_constraints(model, theta, t, z, kin, eq.lines, multiplier, virtual, no_nu, adj)
    pull_weld_forces(model.tree, theta, z, multiplier, virtual, adj)
    pull_work(model, theta, multiplier, comp.held, kin, virtual, adj)
    pull_poses(model.tree, theta, z, no_rate, x, kin, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    virtual_poses(model.tree, theta, kin, virtual)
    clear_poses(adj)
    pull_inertia(model.tree, theta, state.zdd, virtual, adj)
    pull_weight(model.tree, virtual, adj.theta)
    pull_flexible_bodies(model, theta, state.z, state.zd, state.zdd, True, kin, virtual, adj)
    pull_element_forces(model, theta, t, state.z, state.zd, kin, virtual, adj)
    pull_constraints(model, theta, t, state.z, kin, eq.lines, state.lam, virtual, nu, adj)
    pull_weld_forces(model.tree, theta, state.z, state.lam, virtual, adj)
    pull_welds(model.tree, theta, state.z, nu, adj)
    pull_rigidity(model, theta, kin, nu, adj)
    pull_work(model, theta, state.lam, comp.W, kin, virtual, adj)
    pull_poses(model.tree, theta, state.z, state.zd, state.zdd, kin, adj)
    pull_gravity(adj)
