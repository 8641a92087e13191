"""The system in natural coordinates: points and vectors that bodies share, with bodies that deform or without.

Functions of ``natural.elastic_terms`` are chosen by the type of ``model.tree``, and do nothing where no body deforms.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.equations import constraint_derivatives, signals
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.algorithms.natural import elastic_terms, linear_poses, pull_back, variation
from mbsim_cli.kernels.algorithms.natural.tangent import natural_tangent
from mbsim_cli.kernels.compiler.jit import inlined, merged


@inlined
def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    linear_poses.place_bodies(model.tree, theta, z, kin)
    elastic_terms.keep_coordinates(model, z, kin)


def shape(model, theta, kin):
    elastic_terms.shape_frames(model, theta, kin)


@merged
def move_bodies(model, theta, state, kin):
    linear_poses.move_frames(model.tree, theta, state.zd, state.zdd, kin)


def move_columns(model, theta, state, kin):
    pass


def rotate_prediction(model, h, state, differences, expected):
    return linear_poses.rotate_expected(model.tree, h, state, differences, expected)


@inlined
def constrain(model, theta, t, z, kin, eq):
    linear_poses.natural_constraints(model, theta, t, z, kin, eq.phi, eq.J, eq.lines)
    elastic_terms.weld_nodes(model, theta, z, eq.phi, eq.J)


@inlined
def load(model, theta, t, state, kin, comp, eq):
    move_bodies(model, theta, state, kin)
    clear(comp.W)
    clear(eq.Q)
    signals.element_forces(model, theta, t, motion_alone(state), kin, comp.W, eq.Q)
    linear_poses.hold(model, theta, state.z, state.lam, eq.lines, kin, comp.W, eq.Q)
    elastic_terms.natural_elastic_forces(model, theta, state, kin, comp, eq.Q)
    linear_poses.natural_residual(model, theta, state.zdd, state.lam, kin, comp.W, eq.Q, eq.G)
    elastic_terms.add_elastic_rows(model, comp, eq.G)


def tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp, T_out):
    natural_tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp.W, comp.seeds, T_out)
    elastic_terms.add_natural_elastic_tangent(model.tree, theta, beta, gamma, state, multiplier, kin, comp, T_out)


def compose(model, kin, comp):
    pass


def mass(model, theta, kin, comp, M_out):
    elastic_terms.clear_elastic_mass(model.tree, M_out)
    linear_poses.natural_mass(model.tree, theta, M_out)
    elastic_terms.add_natural_elastic_mass(model.tree, theta, kin, comp, M_out)


def rates(model, theta, t, state, lines, kin, phi1_out, phi2_out):
    linear_poses.natural_rates(model, theta, t, motion_alone(state), lines, kin, phi1_out, phi2_out)
    elastic_terms.move_welds(model.tree, theta, motion_alone(state), phi1_out, phi2_out)


def vary_bodies_of(model, theta, directions, state, kin, sens, tw):
    variation.vary_natural(model.tree, theta, directions, motion_alone(state), kin, motion_alone(sens), tw)


def vary_equations(model, theta, directions, t, z, dz, lines, kin, tw, out):
    variation.vary_natural_constraints(model, theta, directions, t, z, dz, lines, kin, tw, out)
    elastic_terms.vary_welds(model.tree, theta, directions.dtheta, z, dz, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    motion, change = motion_alone(state), motion_alone(sens)
    clear_forces(tw, dG_out)
    constraint_derivatives.vary_constraint_forces(
        model, theta, directions, eq.lines, state.lam, state.z, sens.z, kin, tw, dG_out
    )
    signals.vary_element_forces(model, theta, directions, t, motion, change, kin, tw, dG_out)
    elastic_terms.vary_weld_forces(model.tree, theta, directions.dtheta, state.z, state.lam, sens.z, dG_out)
    deforming_bodies.slope_bodies(model, theta, motion, kin)
    deforming_bodies.vary_flexible_forces(model, theta, directions, motion, change, kin, tw, dG_out)
    variation.vary_natural_work(model, theta, directions, state.lam, state.zdd, comp.W, kin, tw, dG_out)
    variation.vary_natural_inertia(model.tree, theta, directions, sens.zdd, dG_out)


def vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    _vary_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads[0], rests[0].dG)
    _vary_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads[1], rests[1].dG)


@inlined
def _vary_rest(model, theta, directions, z, dz, lines, kin, comp, tw, load, dG_out):
    clear_forces(tw, dG_out)
    clear(comp.held)
    clear(comp.Q)
    linear_poses.hold(model, theta, z, load.multiplier, lines, kin, comp.held, comp.Q)
    elastic_terms.vary_elastic_rest(model, theta, directions, z, load.x, dz, kin, comp, tw, dG_out)
    constraint_derivatives.vary_constraint_forces(
        model, theta, directions, lines, load.multiplier, z, dz, kin, tw, dG_out
    )
    elastic_terms.vary_weld_forces(model.tree, theta, directions.dtheta, z, load.multiplier, dz, dG_out)
    variation.vary_natural_work(model, theta, directions, load.multiplier, load.x, comp.held, kin, tw, dG_out)


def vary_rates(model, theta, directions, t, state, sens, eq, kin, tw, first_out, second_out):
    variation.vary_natural_rates(
        model, theta, directions, t, motion_alone(state), motion_alone(sens), eq.lines, eq.line_rates, kin, tw,
        first_out, second_out,
    )  # fmt: skip
    elastic_terms.vary_weld_rates(model.tree, theta, directions.dtheta, state, sens, first_out, second_out)


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    variation.vary_natural_with_velocity(factor, model, theta, eq.lines, eq.line_rates, zd, dzd, kin, tw, second_out)
    elastic_terms.vary_welds_with_velocity(factor, model.tree, theta, kin, zd, dzd, second_out)


def pull_readings(model, theta, t, state, kin, comp, none, hat, adj):
    pull_back.clear_poses(adj)
    motion = motion_alone(state)
    pull_sensors(model, theta, t, motion, kin, hat, adj)
    signals.pull_signals(model, theta, t, motion, kin, adj)
    pull_back.pull_poses(model.tree, theta, motion, kin, adj)
    pull_gravity(adj)


def pull_rates(model, theta, t, state, eq, kin, comp, none, nu1, nu2, adj):
    pull_back.clear_poses(adj)
    constraint_derivatives.pull_constraint_rates(
        model, theta, t, motion_alone(state), kin, eq.lines, eq.line_rates, nu1, nu2, adj
    )
    pull_back.pull_rigidity_rates(model, theta, kin, nu1, nu2, adj)
    elastic_terms.pull_weld_rates(model.tree, theta, motion_alone(state), nu1, nu2, adj)
    pull_back.pull_poses(model.tree, theta, motion_alone(state), kin, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    pull_back.pull_natural_velocity(model, theta, eq.lines, eq.line_rates, zd, nu2, kin, adj, zd_out)
    elastic_terms.pull_welds_velocity(model.tree, theta, kin, zd, nu2, zd_out)


def pull_at_rest(model, theta, t, state, eq, kin, comp, virtual, no_nu, adj):
    z, x, multiplier = state.z, state.zdd, state.lam
    clear(comp.held)
    clear(comp.Q)
    linear_poses.hold(model, theta, z, multiplier, eq.lines, kin, comp.held, comp.Q)
    elastic_terms.resting_bodies(model, theta, z, x, kin, comp)
    pull_back.virtual_poses(model.tree, theta, kin, virtual)
    pull_back.clear_poses(adj)
    pull_back.pull_inertia(model.tree, theta, x, virtual, adj)
    deforming_bodies.pull_flexible_bodies(model, theta, motion_alone(state), False, kin, virtual, adj)
    constraint_derivatives.pull_constraints(model, theta, t, z, kin, eq.lines, multiplier, virtual, no_nu, adj)
    elastic_terms.pull_weld_forces(model.tree, theta, z, multiplier, virtual, adj)
    pull_back.pull_work(model, theta, multiplier, comp.held, kin, virtual, adj)
    pull_back.pull_poses(model.tree, theta, motion_alone(state), kin, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    motion = motion_alone(state)
    pull_back.virtual_poses(model.tree, theta, kin, virtual)
    pull_back.clear_poses(adj)
    pull_back.pull_inertia(model.tree, theta, state.zdd, virtual, adj)
    pull_back.pull_weight(model.tree, virtual, adj.theta)
    deforming_bodies.pull_flexible_bodies(model, theta, motion, True, kin, virtual, adj)
    signals.pull_element_forces(model, theta, t, motion, kin, virtual, adj)
    constraint_derivatives.pull_constraints(model, theta, t, state.z, kin, eq.lines, state.lam, virtual, nu, adj)
    elastic_terms.pull_weld_forces(model.tree, theta, state.z, state.lam, virtual, adj)
    elastic_terms.pull_welds(model.tree, theta, state.z, nu, adj)
    pull_back.pull_rigidity(model, theta, kin, nu, adj)
    pull_back.pull_work(model, theta, state.lam, comp.W, kin, virtual, adj)
    pull_back.pull_poses(model.tree, theta, motion, kin, adj)
    pull_gravity(adj)
