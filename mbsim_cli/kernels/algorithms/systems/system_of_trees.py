"""The semi-recursive system: coordinates of the joints of a spanning tree."""

from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import (
    pull_constraint_rates,
    pull_constraints,
    pull_with_velocity,
    vary_constraint_forces,
    vary_constraint_rates,
    vary_constraints,
    vary_with_velocity,
)
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraint_speeds, constraints
from mbsim_cli.kernels.algorithms.equations.forces import clear_wrenches, constraint_forces
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import (
    add_armature_forces,
    add_armature_mass,
    composite_inertia,
    mass_matrix,
    pull_armatures,
    residual,
    vary_armatures,
    vary_armatures_alone,
)
from mbsim_cli.kernels.algorithms.equations.newton_matrix import newton_matrix
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces, vary_bodies, vary_resting
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.sensors import (
    kinetic_energy,
    measure_of_order,
    other_power,
    potential_energy,
    sense,
    value_and_rate,
    vary_any_measure,
    vary_sensors,
)
from mbsim_cli.kernels.algorithms.equations.signals import (
    element_forces,
    find_signals,
    hold_multipliers,
    pull_element_forces,
    pull_signals,
    read_multipliers,
    vary_element_forces,
    vary_multipliers,
    vary_signals,
)
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import (
    clear_bodies,
    pull_bodies,
    pull_gravity,
    pull_tree,
    virtual_motion,
)
from mbsim_cli.kernels.algorithms.motion.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics


def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    position_kinematics(model.tree, theta, z, at_center, kin)


def shape(model, theta, kin):
    pass


def move(model, theta, z, zd, zdd, kin):
    motion_kinematics(model.tree, theta, z, zd, zdd, kin)


def rotate_prediction(model, h, state, differences, expected):
    return 0.0


def constrain(model, theta, t, z, kin, eq):
    constraints(model, theta, t, z, kin, eq.phi, eq.J, eq.lines)


def load(model, theta, t, state, kin, comp, eq):
    motion_kinematics(model.tree, theta, state.z, state.zd, state.zdd, kin)
    clear_wrenches(comp.W, eq.Q)
    read_multipliers(model, state.lam, kin)
    element_forces(model, theta, t, state.z, state.zd, kin, comp.W, eq.Q)
    constraint_forces(model, theta, state.z, kin, state.lam, eq.lines, comp.W, eq.Q)
    residual(model.tree, kin, comp, eq.Q, eq.G)
    add_armature_forces(model, theta, state.zdd, eq.G)


def tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out):
    newton_matrix(
        model, theta, t, beta, gamma, state.z, state.zd, eq.lines, state.lam, kin, comp, T_out
    )  # fmt: skip
    add_armature_mass(model, theta, T_out)


def evaluate_free(model, theta, t, at_center, state, kin, comp, eq):
    position_kinematics(model.tree, theta, state.z, at_center, kin)
    motion_kinematics(model.tree, theta, state.z, state.zd, state.zdd, kin)
    clear_wrenches(comp.W, eq.Q)
    element_forces(model, theta, t, state.z, state.zd, kin, comp.W, eq.Q)
    residual(model.tree, kin, comp, eq.Q, eq.G)
    add_armature_forces(model, theta, state.zdd, eq.G)


def tangent_free(model, theta, t, beta, gamma, state, none, kin, comp, T_out):
    newton_matrix(
        model, theta, t, beta, gamma, state.z, state.zd, none.no_lines, none.no_lambda, kin, comp, T_out
    )  # fmt: skip
    add_armature_mass(model, theta, T_out)


def vary_free(model, theta, directions, t, state, sens, kin, comp, tw, dG_out):
    dtheta, touch = directions.dtheta, directions.touch
    vary_kinematics(model.tree, theta, dtheta, touch, kin, sens.z, sens.zd, sens.zdd, tw)
    clear_forces(tw, dG_out)
    vary_element_forces(model, theta, dtheta, touch, t, state.z, state.zd, sens.z, sens.zd, kin, tw, dG_out)
    vary_bodies(model.tree, theta, dtheta, touch, state.z, sens.z, kin, comp, tw, dG_out)
    vary_armatures(model, theta, dtheta, state.zdd, sens.zdd, dG_out)


def pull_free(model, theta, t, state, kin, comp, virtual, adj):
    virtual_motion(model.tree, kin, virtual)
    clear_bodies(adj)
    pull_bodies(model.tree, theta, kin, virtual, adj)
    pull_element_forces(model, theta, t, state.z, state.zd, kin, virtual, adj)
    pull_armatures(model, theta, state.zdd, virtual, adj)
    pull_tree(model.tree, theta, state.z, kin, comp, virtual, adj)
    pull_gravity(adj)


def compose(model, kin, comp):
    composite_inertia(model.tree, kin, comp)


def mass(model, theta, kin, comp, M_out):
    mass_matrix(model.tree, kin, comp, M_out)
    add_armature_mass(model, theta, M_out)


def speeds(model, theta, t, J, sparsity, zd, phi1_out):
    constraint_speeds(model, theta, t, J, sparsity, zd, phi1_out)


def rates(model, theta, lines, t, state, kin, phi1_out, phi2_out):
    constraint_rates(model, theta, lines, t, state.z, state.zd, state.zdd, kin, phi1_out, phi2_out)


def read_sensors(model, theta, t, z, zd, zdd, multiplier, kin, out):
    read_multipliers(model, multiplier, kin)
    find_signals(model, theta, t, z, zd, kin)
    sense(model, theta, t, z, zd, zdd, multiplier, kin, out)


def energies(model, theta, t, z, zd, multiplier, kin, out):
    out[0] = kinetic_energy(model, theta, z, zd, kin)
    out[1] = potential_energy(model, theta, z, kin)
    out[2] = other_power(model, theta, t, z, zd, multiplier, kin)


def measure(model, theta, m, state, kin):
    return measure_of_order(model, theta, m, 0, state.z, state.zd, state.zdd, kin)


def measure_and_rate_of(model, theta, m, state, kin):
    return value_and_rate(model, theta, m, state.z, state.zd, kin)


def vary_bodies_of(model, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw):
    vary_kinematics(model.tree, theta, dtheta, touch, kin, dz, dzd, dzdd, tw)


def vary_equations(model, theta, dtheta, touch, lines, t, z, dz, kin, tw, out):
    vary_constraints(model, theta, dtheta, touch, lines, t, z, dz, kin, tw, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    dtheta, touch = directions.dtheta, directions.touch
    clear_forces(tw, dG_out)
    vary_constraint_forces(model, theta, dtheta, touch, eq.lines, state.lam, state.z, sens.z, kin, tw, dG_out)
    hold_multipliers(model, tw)
    vary_element_forces(model, theta, dtheta, touch, t, state.z, state.zd, sens.z, sens.zd, kin, tw, dG_out)
    vary_bodies(model.tree, theta, dtheta, touch, state.z, sens.z, kin, comp, tw, dG_out)
    vary_armatures(model, theta, dtheta, state.zdd, sens.zdd, dG_out)


def vary_at_rest(model, theta, dtheta, touch, lines, state, dz, kin, comp, tw, load, other_load, rest, other):
    vary_resting(model, theta, dtheta, touch, lines, state.z, dz, kin, tw, load, other_load, rest, other)
    vary_armatures_alone(model, dtheta, load.x, rest.dG)
    vary_armatures_alone(model, dtheta, other_load.x, other.dG)


def vary_rates(model, theta, dtheta, touch, eq, t, state, sens, kin, tw, first_out, second_out):
    vary_constraint_rates(
        model, theta, dtheta, touch, eq.lines, eq.line_rates, t, state.z, state.zd, state.zdd, sens.z, sens.zd,
        sens.zdd, kin, tw, first_out, second_out,
    )  # fmt: skip


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    vary_with_velocity(factor, model, eq.lines, eq.line_rates, zd, dzd, kin, second_out)


def vary_readings(model, theta, directions, t, z, zd, zdd, sens, kin, tw, out):
    vary_multipliers(model, sens.lam, tw)
    vary_signals(model, theta, directions.dtheta, directions.touch, t, z, zd, sens.z, sens.zd, kin, tw)
    vary_sensors(
        model, theta, directions.dtheta, directions.touch, t, z, zd, zdd, sens, kin, tw, out
    )  # fmt: skip


def vary_measure(model, theta, dtheta, touch, m, g, k, state, sens, kin, tw):
    return vary_any_measure(
        model, theta, dtheta, touch, m, g, k, state.z, state.zd, state.zdd, sens, kin, tw, 0
    )  # fmt: skip


def pull_readings(model, theta, t, z, zd, zdd, kin, comp, none, hat, adj):
    clear_bodies(adj)
    pull_sensors(model, theta, t, z, zd, zdd, kin, hat, adj)
    pull_signals(model, theta, t, z, zd, kin, adj)
    pull_tree(model.tree, theta, z, kin, comp, none, adj)
    pull_gravity(adj)


def pull_rates(model, theta, t, z, zd, zdd, eq, kin, comp, none, nu1, nu2, adj):
    clear_bodies(adj)
    pull_constraint_rates(model, theta, t, z, zd, zdd, kin, eq.lines, eq.line_rates, nu1, nu2, adj)
    pull_tree(model.tree, theta, z, kin, comp, none, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    pull_with_velocity(1.0, model, eq.lines, eq.line_rates, zd, nu2, kin, zd_out)


def pull_at_rest(model, theta, t, z, no_rate, x, multiplier, eq, kin, comp, virtual, no_nu, adj):
    motion_kinematics(model.tree, theta, z, no_rate, x, kin)
    clear_wrenches(comp.W, eq.Q)
    constraint_forces(model, theta, z, kin, multiplier, eq.lines, comp.W, eq.Q)
    residual(model.tree, kin, comp, eq.Q, eq.G)
    virtual_motion(model.tree, kin, virtual)
    clear_bodies(adj)
    pull_bodies(model.tree, theta, kin, virtual, adj)
    pull_armatures(model, theta, x, virtual, adj)
    pull_constraints(model, theta, t, z, kin, eq.lines, multiplier, virtual, no_nu, adj)
    pull_tree(model.tree, theta, z, kin, comp, virtual, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    virtual_motion(model.tree, kin, virtual)
    clear_bodies(adj)
    pull_bodies(model.tree, theta, kin, virtual, adj)
    pull_element_forces(model, theta, t, state.z, state.zd, kin, virtual, adj)
    pull_armatures(model, theta, state.zdd, virtual, adj)
    pull_constraints(model, theta, t, state.z, kin, eq.lines, state.lam, virtual, nu, adj)
    pull_tree(model.tree, theta, state.z, kin, comp, virtual, adj)
    pull_gravity(adj)
