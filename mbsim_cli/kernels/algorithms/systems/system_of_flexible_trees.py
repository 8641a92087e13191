"""The system of trees whose bodies deform: kernels of trees see columns, which coordinates of these bodies move.

The other functions of the contract, ``contract.INHERITED``, are those of ``system_of_trees``.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.equations import inverse_dynamics
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import pull_with_velocity, vary_with_velocity
from mbsim_cli.kernels.algorithms.equations.constraints import constraints
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces
from mbsim_cli.kernels.algorithms.equations.newton_matrix import newton_matrix
from mbsim_cli.kernels.algorithms.equations.residual_variation import Load, Resting, vary_resting
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, read_multipliers
from mbsim_cli.kernels.algorithms.flexible import columns as flexible
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies, node_columns
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    node_columns.place_columns(model.tree, theta, z, kin.rows, kin.motion.z)
    position_kinematics(model.tree, theta, kin.motion.z, at_center, kin)


def shape(model, theta, kin):
    deforming_bodies.shape_bodies(model, theta, kin.motion.z, kin)


@inlined
def move_bodies(model, theta, state, kin):
    node_columns.rates_of_columns(model.tree, theta, kin.rows, state.zd, state.zdd, kin.motion)
    motion_kinematics(model.tree, theta, motion_alone(kin.motion), kin)


def move_columns(model, theta, state, kin):
    column_kinematics(model.tree, theta, motion_alone(kin.motion), kin)


@inlined
def constrain(model, theta, t, z, kin, eq):
    constraints(model, theta, t, kin.motion.z, kin, eq.phi, kin.J, eq.lines)
    node_columns.jacobian_to_coordinates(model.tree, kin.rows, kin.J, eq.J)


@inlined
def load(model, theta, t, state, kin, comp, eq):
    motion, found = motion_alone(kin.motion), comp.equations
    move_bodies(model, theta, state, kin)
    read_multipliers(model, state.lam, kin)
    clear(comp.W)
    clear(found.Q)
    element_forces(model, theta, t, motion, kin, comp.W, found.Q)
    constraint_forces(model, theta, motion.z, kin, state.lam, eq.lines, comp.W, found.Q)
    flexible.elastic_forces(model, theta, kin, comp)
    _sum_up(model, theta, kin, comp, eq)


@inlined
def _sum_up(model, theta, kin, comp, eq):
    """The residual, from the forces on single bodies."""
    found = comp.equations
    inverse_dynamics.residual(model.tree, kin, comp, found.Q, found.G)
    inverse_dynamics.add_armature_forces(model, theta, kin.motion.zdd, found.G)
    node_columns.rows_to_coordinates(model.tree, kin.rows, found.G, eq.G)


def evaluate_free(model, theta, t, at_center, state, kin, comp, eq):
    load_free(model, theta, t, at_center, state, kin, comp)
    _sum_up(model, theta, kin, comp, eq)


@inlined
def load_free(model, theta, t, at_center, state, kin, comp):
    """Kinematics; forces on single bodies in ``comp.W``, on columns in Q, and in G those of elastic rows."""
    place(model, theta, state.z, at_center, kin)
    move_bodies(model, theta, state, kin)
    clear(comp.W)
    clear(comp.equations.Q)
    element_forces(model, theta, t, motion_alone(kin.motion), kin, comp.W, comp.equations.Q)
    flexible.elastic_forces(model, theta, kin, comp)


def tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp, T_out):
    tree, found = model.tree, comp.equations
    column_kinematics(tree, theta, motion_alone(kin.motion), kin)
    if node_columns.stiffens(tree):
        _tangent_of_columns(model, theta, t, 1.0, 0.0, lines, multiplier, kin, comp, found.T)
        node_columns.keep_node_columns(tree, kin.rows, found.T, found.rates)
        inverse_dynamics.mass_matrix(tree, kin, comp, found.T)
        deforming_bodies.add_flexible_mass(model, theta, kin, found.T)
        node_columns.keep_node_columns(tree, kin.rows, found.T, found.nodes)
    _tangent_of_columns(model, theta, t, beta, gamma, lines, multiplier, kin, comp, found.T)
    node_columns.matrix_to_coordinates(tree, kin.rows, found.T, T_out)
    node_columns.add_stiffened_tangent(tree, theta, beta, gamma, state.zd, state.zdd, found, T_out)


@inlined
def _tangent_of_columns(model, theta, t, beta, gamma, lines, multiplier, kin, comp, T):
    motion = motion_alone(kin.motion)
    newton_matrix(model, theta, t, beta, gamma, motion, lines, multiplier, kin, comp, T)
    deforming_bodies.add_flexible_tangent(model, theta, beta, gamma, motion, kin, comp, T)
    inverse_dynamics.add_armature_mass(model, theta, T)


def mass(model, theta, kin, comp, M_out):
    M = comp.equations.T
    inverse_dynamics.mass_matrix(model.tree, kin, comp, M)
    deforming_bodies.add_flexible_mass(model, theta, kin, M)
    inverse_dynamics.add_armature_mass(model, theta, M)
    node_columns.matrix_to_coordinates(model.tree, kin.rows, M, M_out)


def vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    """Variations of both systems, brought from columns to coordinates."""
    dtheta = directions.dtheta
    load, other_load = loads
    rest, other = rests
    tree, x, y, M = model.tree, comp.equations.x[0], comp.equations.x[1], comp.equations.T
    inverse_dynamics.mass_matrix(tree, kin, comp, M)
    deforming_bodies.add_flexible_mass(model, theta, kin, M)
    node_columns.keep_node_columns(tree, kin.rows, M, comp.equations.nodes)
    node_columns.apply_columns(tree, kin.rows, load.x, x)
    node_columns.apply_columns(tree, kin.rows, other_load.x, y)
    vary_resting(
        model, theta, directions, kin.motion.z, tw.change.z, lines, kin, comp, tw,
        (Load(x, load.multiplier), Load(y, other_load.multiplier)),
        (
            Resting(rest.A, rest.F, rest.N2, rest.dF, tw.dG, rest.dphi),
            Resting(other.A, other.F, other.N2, other.dF, tw.other_dG, other.dphi),
        ),
    )  # fmt: skip
    inverse_dynamics.vary_armatures_alone(model, dtheta, x, tw.dG)
    inverse_dynamics.vary_armatures_alone(model, dtheta, y, tw.other_dG)
    deforming_bodies.forces_of_nodes(tree, kin, rest.F, comp.equations.G)
    node_columns.vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.dG, rest.dG)
    node_columns.add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, load.x, rest.dG)
    deforming_bodies.forces_of_nodes(tree, kin, other.F, comp.equations.G)
    node_columns.vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.other_dG, other.dG)
    node_columns.add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, other_load.x, other.dG)


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    """Through columns, whose accelerations have a part of velocities where nodes stiffen."""
    node_columns.spread_columns(model.tree, kin.rows, tw.each, dzd, tw.change.zd)
    vary_with_velocity(factor, model, eq.lines, eq.line_rates, kin.motion.zd, tw.change.zd, kin, second_out)
    node_columns.vary_stiffened_speeds(factor, model.tree, theta, kin.J, tw.each, zd, dzd, second_out)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    """The transpose of ``vary_rates_with_velocity``."""
    pull_with_velocity(model, eq.lines, eq.line_rates, kin.motion.zd, nu2, kin, adj.columns.zd)
    node_columns.pull_rows(model.tree, kin.rows, adj.each, adj.columns.zd, zd_out)
    node_columns.pull_stiffened_speeds(model.tree, theta, kin.J, adj.each, zd, nu2, zd_out)
