"""The semi-recursive system: coordinates of the joints of a spanning tree, and rigid bodies.

Trees with bodies that deform use the functions in ``contract.INHERITED``, too. Where columns differ from coordinates,
these go through ``flexible``, which returns its arguments for rigid trees.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.equations import constraint_derivatives, inverse_dynamics, signals, tree_pull_back
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraints
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces
from mbsim_cli.kernels.algorithms.equations.newton_matrix import newton_matrix
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces, vary_bodies, vary_resting
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.sensors import measure_of_order, vary_any_measure
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_tree
from mbsim_cli.kernels.algorithms.flexible import columns as flexible
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.flexible.node_columns import pull_columns, pull_virtual
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone, of_position
from mbsim_cli.kernels.compiler.jit import inlined, merged


def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    position_kinematics(model.tree, theta, z, at_center, kin)


def shape(model, theta, kin):
    pass


def move_bodies(model, theta, state, kin):
    motion_kinematics(model.tree, theta, motion_alone(state), kin)


def move_columns(model, theta, state, kin):
    column_kinematics(model.tree, theta, motion_alone(state), kin)


def rotate_prediction(model, h, state, differences, expected):
    return 0.0


def constrain(model, theta, t, z, kin, eq):
    constraints(model, theta, t, z, kin, eq.phi, eq.J, eq.lines)


@inlined
def load(model, theta, t, state, kin, comp, eq):
    motion = motion_alone(state)
    motion_kinematics(model.tree, theta, motion, kin)
    signals.read_multipliers(model, state.lam, kin)
    clear(comp.W)
    clear(eq.Q)
    signals.element_forces(model, theta, t, motion, kin, comp.W, eq.Q)
    constraint_forces(model, theta, state.z, kin, state.lam, eq.lines, comp.W, eq.Q)
    inverse_dynamics.residual(model.tree, kin, comp, eq.Q, eq.G)
    if model.armatures.coordinate.size:
        inverse_dynamics.add_armature_forces(model, theta, state.zdd, eq.G)


def evaluate_free(model, theta, t, at_center, state, kin, comp, eq):
    motion = motion_alone(state)
    position_kinematics(model.tree, theta, state.z, at_center, kin)
    motion_kinematics(model.tree, theta, motion, kin)
    clear(comp.W)
    clear(eq.Q)
    signals.element_forces(model, theta, t, motion, kin, comp.W, eq.Q)
    inverse_dynamics.residual(model.tree, kin, comp, eq.Q, eq.G)
    inverse_dynamics.add_armature_forces(model, theta, state.zdd, eq.G)


def tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp, T_out):
    motion = motion_alone(state)
    column_kinematics(model.tree, theta, motion, kin)
    newton_matrix(model, theta, t, beta, gamma, motion, lines, multiplier, kin, comp, T_out)
    if model.armatures.coordinate.size:
        inverse_dynamics.add_armature_mass(model, theta, T_out)


def vary_free(model, theta, directions, t, state, sens, kin, comp, tw, dG_out):
    rows = flexible.rows_of(model, tw, dG_out)[0]
    change = flexible.columns_varied(model, theta, directions, state, sens, tw)
    motion = flexible.motion_of(model, state, kin)
    column_kinematics(model.tree, theta, motion, kin)
    vary_kinematics(model.tree, theta, directions, kin, change, tw)
    deforming_bodies.slope_bodies(model, theta, motion, kin)
    clear_forces(tw, rows)
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out)


@merged
def _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out):
    """Variation of all forces but those of constraints, summed over subtrees and brought to coordinates."""
    change = flexible.changes_of(model, sens, tw)
    motion = flexible.motion_of(model, state, kin)
    signals.vary_element_forces(model, theta, directions, t, motion, change, kin, tw, rows)
    deforming_bodies.vary_flexible_forces(model, theta, directions, motion, change, kin, tw, rows)
    vary_bodies(model.tree, theta, directions, motion.z, change.z, kin, comp, tw, rows)
    inverse_dynamics.vary_armatures(model, theta, directions.dtheta, motion.zdd, change.zdd, rows)
    flexible.bring_variation(model, theta, directions.dtheta, state.z, sens.z, kin, comp, tw, dG_out)


def pull_free(model, theta, t, state, kin, comp, virtual, adj):
    motion = flexible.motion_of(model, state, kin)
    moving, columns = flexible.virtual_of(model, virtual), flexible.adjoints_of(model, adj)
    column_kinematics(model.tree, theta, motion, kin)
    _start_adjoints(model, theta, motion, True, kin, virtual, moving, columns)
    signals.pull_element_forces(model, theta, t, motion, kin, moving, columns)
    inverse_dynamics.pull_armatures(model, theta, motion.zdd, moving, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    tree_pull_back.pull_gravity(columns)
    pull_virtual(model, theta, state.z, comp, virtual, adj)
    pull_columns(model, theta, state, adj)


@merged
def _start_adjoints(model, theta, motion, stiff, kin, virtual, moving, columns):
    """Virtual motion of all bodies, and what their inertia makes of it."""
    flexible.spread_virtual(model, kin, virtual)
    tree_pull_back.virtual_motion(model.tree, kin, moving)
    tree_pull_back.clear_bodies(columns)
    tree_pull_back.pull_bodies(model.tree, theta, kin, moving, columns)
    deforming_bodies.pull_flexible_bodies(model, theta, motion, stiff, kin, moving, columns)


def compose(model, kin, comp):
    inverse_dynamics.composite_inertia(model.tree, kin, comp)


def mass(model, theta, kin, comp, M_out):
    inverse_dynamics.mass_matrix(model.tree, kin, comp, M_out)
    inverse_dynamics.add_armature_mass(model, theta, M_out)


def rates(model, theta, t, state, lines, kin, phi1_out, phi2_out):
    motion = flexible.motion_of(model, state, kin)
    constraint_rates(model, theta, t, motion, lines, kin, phi1_out, phi2_out)


def measure(model, theta, m, state, kin):
    motion = flexible.motion_of(model, state, kin)
    return measure_of_order(model, theta, m, 0, motion, kin)


def vary_bodies_of(model, theta, directions, state, kin, sens, tw):
    change = flexible.columns_varied(model, theta, directions, state, sens, tw)
    vary_kinematics(model.tree, theta, directions, kin, change, tw)


def vary_equations(model, theta, directions, t, z, dz, lines, kin, tw, out):
    motion, change = flexible.motion_of(model, of_position(z), kin), flexible.changes_of(model, of_position(dz), tw)
    constraint_derivatives.vary_constraints(model, theta, directions, t, motion.z, change.z, lines, kin, tw, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    change = flexible.changes_of(model, sens, tw)
    motion, rows = flexible.motion_of(model, state, kin), flexible.rows_of(model, tw, dG_out)[0]
    clear_forces(tw, rows)
    constraint_derivatives.vary_constraint_forces(
        model, theta, directions, eq.lines, state.lam, motion.z, change.z, kin, tw, rows
    )
    clear(tw.signals.lam)  # variations of multipliers that forces read are solved for
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out)


def vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    vary_resting(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests)
    inverse_dynamics.vary_armatures_alone(model, directions.dtheta, loads[0].x, rests[0].dG)
    inverse_dynamics.vary_armatures_alone(model, directions.dtheta, loads[1].x, rests[1].dG)


def vary_rates(model, theta, directions, t, state, sens, eq, kin, tw, first_out, second_out):
    motion, change = flexible.motion_of(model, state, kin), flexible.changes_of(model, sens, tw)
    constraint_derivatives.vary_constraint_rates(
        model, theta, directions, t, motion, change, eq.lines, eq.line_rates, kin, tw, first_out, second_out,
    )  # fmt: skip


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    constraint_derivatives.vary_with_velocity(factor, model, eq.lines, eq.line_rates, zd, dzd, kin, second_out)


def vary_measure(model, theta, directions, m, g, k, state, sens, kin, tw):
    motion, change = flexible.motion_of(model, state, kin), flexible.changes_of(model, sens, tw)
    return vary_any_measure(model, theta, directions, m, g, k, motion, change, kin, tw, 0)


def pull_readings(model, theta, t, state, kin, comp, none, hat, adj):
    motion, columns = flexible.motion_of(model, state, kin), flexible.adjoints_of(model, adj)
    tree_pull_back.clear_bodies(columns)
    pull_sensors(model, theta, t, motion, kin, hat, columns)
    signals.pull_signals(model, theta, t, motion, kin, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, flexible.virtual_of(model, none), columns)
    tree_pull_back.pull_gravity(columns)
    pull_columns(model, theta, state, adj)


def pull_rates(model, theta, t, state, eq, kin, comp, none, nu1, nu2, adj):
    motion, columns = flexible.motion_of(model, state, kin), flexible.adjoints_of(model, adj)
    tree_pull_back.clear_bodies(columns)
    constraint_derivatives.pull_constraint_rates(
        model, theta, t, motion, kin, eq.lines, eq.line_rates, nu1, nu2, columns
    )
    pull_tree(model.tree, theta, motion.z, kin, comp, flexible.virtual_of(model, none), columns)
    pull_columns(model, theta, state, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    constraint_derivatives.pull_with_velocity(model, eq.lines, eq.line_rates, zd, nu2, kin, zd_out)


def pull_at_rest(model, theta, t, state, eq, kin, comp, virtual, no_nu, adj):
    motion, found = flexible.columns_at_rest(model, state, kin, comp), flexible.equations_of(model, comp, eq)
    motion_kinematics(model.tree, theta, motion, kin)
    column_kinematics(model.tree, theta, motion, kin)
    clear(comp.W)
    clear(found.Q)
    constraint_forces(model, theta, motion.z, kin, state.lam, eq.lines, comp.W, found.Q)
    deforming_bodies.resting_flexible_forces(model, theta, motion.z, motion.zdd, kin, comp)
    inverse_dynamics.residual(model.tree, kin, comp, found.Q, found.G)
    moving, columns = flexible.virtual_of(model, virtual), flexible.adjoints_of(model, adj)
    _start_adjoints(model, theta, motion, False, kin, virtual, moving, columns)
    inverse_dynamics.pull_armatures(model, theta, motion.zdd, moving, columns)
    constraint_derivatives.pull_constraints(model, theta, t, motion.z, kin, eq.lines, state.lam, moving, no_nu, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    pull_virtual(model, theta, state.z, comp, virtual, adj)
    pull_columns(model, theta, state, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    motion = flexible.motion_of(model, state, kin)
    moving, columns = flexible.virtual_of(model, virtual), flexible.adjoints_of(model, adj)
    _start_adjoints(model, theta, motion, True, kin, virtual, moving, columns)
    signals.pull_element_forces(model, theta, t, motion, kin, moving, columns)
    inverse_dynamics.pull_armatures(model, theta, motion.zdd, moving, columns)
    constraint_derivatives.pull_constraints(model, theta, t, motion.z, kin, eq.lines, state.lam, moving, nu, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    tree_pull_back.pull_gravity(columns)
    pull_virtual(model, theta, state.z, comp, virtual, adj)
    pull_columns(model, theta, state, adj)
