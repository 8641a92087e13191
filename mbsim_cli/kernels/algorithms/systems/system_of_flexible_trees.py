"""The semi-recursive system with bodies that deform: what the tree's kernels do, and what these bodies add.

The kernels see columns: ``node_columns`` gives them what coordinates do to these, and brings to coordinates what they
find.
"""

from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import (
    pull_constraint_rates,
    pull_constraints,
    pull_with_velocity,
    vary_constraint_forces,
    vary_constraint_rates,
    vary_constraints,
    vary_with_velocity,
)
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraints
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
from mbsim_cli.kernels.algorithms.equations.residual_variation import (
    Load,
    Resting,
    clear_forces,
    vary_bodies,
    vary_flexible_resting,
)
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
    pull_element_forces,
    pull_signals,
    vary_element_forces,
    vary_signals,
)
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import (
    clear_bodies,
    pull_bodies,
    pull_gravity,
    pull_tree,
    virtual_motion,
)
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    add_flexible_mass,
    add_flexible_tangent,
    flexible_forces,
    forces_of_nodes,
    pull_flexible_bodies,
    resting_flexible_forces,
    shape_bodies,
    slope_bodies,
    start_elastic_rows,
    vary_flexible_forces,
)
from mbsim_cli.kernels.algorithms.flexible.node_columns import (
    add_changed_accelerations,
    add_stiffened_tangent,
    apply_columns,
    jacobian_to_coordinates,
    keep_node_columns,
    matrix_to_coordinates,
    move_columns,
    place_columns,
    pull_columns,
    pull_rows,
    pull_stiffened_speeds,
    pull_virtual,
    rows_to_coordinates,
    spread_columns,
    vary_columns,
    vary_rows,
    vary_stiffened_speeds,
)
from mbsim_cli.kernels.algorithms.flexible.workspace import adjoints_of_columns, virtual_of_columns
from mbsim_cli.kernels.algorithms.motion.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, Motion
from mbsim_cli.kernels.algorithms.systems import system_of_trees as rigid
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged

rotate_prediction, speeds = rigid.rotate_prediction, rigid.speeds


def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    place_columns(model.tree, theta, z, kin.rows, kin.motion.z)
    position_kinematics(model.tree, theta, kin.motion.z, at_center, kin)


def shape(model, theta, kin):
    shape_bodies(model, theta, kin.motion.z, kin)


@inlined
def move(model, theta, z, zd, zdd, kin):
    move_columns(model.tree, theta, kin.rows, zd, zdd, kin.motion)
    motion_kinematics(model.tree, theta, kin.motion.z, kin.motion.zd, kin.motion.zdd, kin)


def constrain(model, theta, t, z, kin, eq):
    constraints(model, theta, t, kin.motion.z, kin, eq.phi, kin.J, eq.lines)
    jacobian_to_coordinates(model.tree, kin.rows, kin.J, eq.J)


def load(model, theta, t, state, kin, comp, eq):
    tree, motion, found = model.tree, kin.motion, comp.equations
    move(model, theta, state.z, state.zd, state.zdd, kin)
    clear_wrenches(comp.W, found.Q)
    element_forces(model, theta, t, motion.z, motion.zd, kin, comp.W, found.Q)
    constraint_forces(model, theta, motion.z, kin, state.lam, eq.lines, comp.W, found.Q)
    start_elastic_rows(tree, found.Q, found.G)
    flexible_forces(model, theta, motion.z, motion.zd, motion.zdd, kin, comp, found.G)
    residual(tree, kin, comp, found.Q, found.G)
    add_armature_forces(model, theta, motion.zdd, found.G)
    rows_to_coordinates(tree, kin.rows, found.G, eq.G)


def evaluate_free(model, theta, t, at_center, state, kin, comp, eq):
    tree, found = model.tree, comp.equations
    load_free(model, theta, t, at_center, state, kin, comp)
    residual(tree, kin, comp, found.Q, found.G)
    add_armature_forces(model, theta, kin.motion.zdd, found.G)
    rows_to_coordinates(tree, kin.rows, found.G, eq.G)


@inlined
def load_free(model, theta, t, at_center, state, kin, comp):
    """Kinematics; forces on single bodies in ``comp.W``, on columns in Q, and in G those of elastic rows."""
    tree, motion, found = model.tree, kin.motion, comp.equations
    _stand(tree, theta, at_center, state, kin)
    clear_wrenches(comp.W, found.Q)
    element_forces(model, theta, t, motion.z, motion.zd, kin, comp.W, found.Q)
    start_elastic_rows(tree, found.Q, found.G)
    flexible_forces(model, theta, motion.z, motion.zd, motion.zdd, kin, comp, found.G)


@inlined
def _stand(tree, theta, at_center, state, kin):
    """Motion of columns and bodies."""
    motion = kin.motion
    place_columns(tree, theta, state.z, kin.rows, motion.z)
    move_columns(tree, theta, kin.rows, state.zd, state.zdd, motion)
    position_kinematics(tree, theta, motion.z, at_center, kin)
    motion_kinematics(tree, theta, motion.z, motion.zd, motion.zdd, kin)


def tangent_free(model, theta, t, beta, gamma, state, none, kin, comp, T_out):
    _tangent(model, theta, t, beta, gamma, state, none.no_lines, none.no_lambda, kin, comp, T_out)


@kernel
def _tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp, T_out):
    """Tangent by coordinates; what stands for constraints may be empty."""
    tree, found = model.tree, comp.equations
    if tree.bent.size:
        _tangent_of_columns(model, theta, t, 1.0, 0.0, lines, multiplier, kin, comp, found.T)
        keep_node_columns(tree, kin.rows, found.T, found.rates)
        mass_matrix(tree, kin, comp, found.T)
        add_flexible_mass(model, theta, kin, found.T)
        keep_node_columns(tree, kin.rows, found.T, found.nodes)
    _tangent_of_columns(model, theta, t, beta, gamma, lines, multiplier, kin, comp, found.T)
    matrix_to_coordinates(tree, kin.rows, found.T, T_out)
    add_stiffened_tangent(tree, theta, beta, gamma, state.zd, state.zdd, found, T_out)


@inlined
def _tangent_of_columns(model, theta, t, beta, gamma, lines, multiplier, kin, comp, T):
    motion = kin.motion
    newton_matrix(model, theta, t, beta, gamma, motion.z, motion.zd, lines, multiplier, kin, comp, T)
    add_flexible_tangent(model, theta, beta, gamma, motion, kin, comp, T)
    add_armature_mass(model, theta, T)


def vary_free(model, theta, directions, t, state, sens, kin, comp, tw, dG_out):
    _vary_motion(
        model.tree, theta, directions.dtheta, directions.touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd,
        sens.zdd, tw,
    )  # fmt: skip
    slope_bodies(model, theta, kin.motion, kin)
    clear_forces(tw, tw.dG)
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, dG_out)


@merged
def _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, dG_out):
    """Variation of all forces but those of constraints, summed over subtrees and brought to coordinates."""
    dtheta, touch = directions.dtheta, directions.touch
    motion, change = kin.motion, tw.change
    vary_element_forces(
        model, theta, dtheta, touch, t, motion.z, motion.zd, change.z, change.zd, kin, tw, tw.dG
    )  # fmt: skip
    vary_flexible_forces(model, theta, dtheta, touch, motion, change, kin, tw, tw.dG)
    vary_bodies(model.tree, theta, dtheta, touch, motion.z, change.z, kin, comp, tw, tw.dG)
    vary_armatures(model, theta, dtheta, motion.zdd, change.zdd, tw.dG)
    vary_rows(model.tree, theta, kin.rows, dtheta, state.z, sens.z, comp.equations.G, tw.dG, dG_out)


def pull_free(model, theta, t, state, kin, comp, virtual, adj):
    motion = kin.motion
    moved, columns = _pull_bodies(model, theta, motion, True, kin, virtual, adj)
    pull_element_forces(model, theta, t, motion.z, motion.zd, kin, moved, columns)
    pull_armatures(model, theta, motion.zdd, moved, columns)
    _pull_to_coordinates(model, theta, state, kin, comp, moved, columns, virtual, adj)


@merged
def _pull_bodies(model, theta, motion, stiff, kin, virtual, adj):
    """Start adjoints from what bodies do; return the virtual motion of columns and the adjoints of these."""
    spread_columns(model.tree, kin.rows, virtual.each, virtual.mu, virtual.columns)
    moved, columns = virtual_of_columns(virtual), adjoints_of_columns(adj)
    virtual_motion(model.tree, kin, moved)
    clear_bodies(adj)
    pull_bodies(model.tree, theta, kin, moved, columns)
    pull_flexible_bodies(model, theta, motion.z, motion.zd, motion.zdd, stiff, kin, moved, columns)
    return moved, columns


@merged
def _pull_to_coordinates(model, theta, state, kin, comp, moved, columns, virtual, adj):
    """Give what bodies and columns hold to coordinates and numbers."""
    pull_tree(model.tree, theta, kin.motion.z, kin, comp, moved, columns)
    pull_gravity(columns)
    pull_virtual(model.tree, theta, state.z, comp.equations.G, virtual, adj)
    pull_columns(model.tree, theta, kin.rows, state.z, state.zd, state.zdd, adj)


def tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out):
    _tangent(model, theta, t, beta, gamma, state, eq.lines, state.lam, kin, comp, T_out)


def compose(model, kin, comp):
    composite_inertia(model.tree, kin, comp)


def mass(model, theta, kin, comp, M_out):
    M = comp.equations.T
    mass_matrix(model.tree, kin, comp, M)
    add_flexible_mass(model, theta, kin, M)
    add_armature_mass(model, theta, M)
    matrix_to_coordinates(model.tree, kin.rows, M, M_out)


def rates(model, theta, lines, t, state, kin, phi1_out, phi2_out):
    motion = kin.motion
    constraint_rates(model, theta, lines, t, motion.z, motion.zd, motion.zdd, kin, phi1_out, phi2_out)


def read_sensors(model, theta, t, z, zd, zdd, multiplier, kin, out):
    find_signals(model, theta, t, kin.motion.z, kin.motion.zd, kin)
    sense(model, theta, t, kin.motion.z, kin.motion.zd, kin.motion.zdd, multiplier, kin, out)


def energies(model, theta, t, z, zd, multiplier, kin, out):
    motion = kin.motion
    out[0] = kinetic_energy(model, theta, motion.z, motion.zd, kin)
    out[1] = potential_energy(model, theta, motion.z, kin)
    out[2] = other_power(model, theta, t, motion.z, motion.zd, multiplier, kin)


def measure(model, theta, m, state, kin):
    motion = kin.motion
    return measure_of_order(model, theta, m, 0, motion.z, motion.zd, motion.zdd, kin)


def measure_and_rate_of(model, theta, m, state, kin):
    return value_and_rate(model, theta, m, kin.motion.z, kin.motion.zd, kin)


def vary_bodies_of(model, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw):
    _vary_motion(model.tree, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw)


@kernel
def _vary_motion(tree, theta, dtheta, touch, z, zd, zdd, kin, dz, dzd, dzdd, tw):
    """Variations of the motion of columns and bodies."""
    change = tw.change
    vary_columns(
        tree, theta, kin.rows, dtheta, Motion(z, zd, zdd), Motion(dz, dzd, dzdd), change
    )  # fmt: skip
    vary_kinematics(tree, theta, dtheta, touch, kin, change.z, change.zd, change.zdd, tw)


def vary_equations(model, theta, dtheta, touch, lines, t, z, dz, kin, tw, out):
    vary_constraints(model, theta, dtheta, touch, lines, t, kin.motion.z, tw.change.z, kin, tw, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    clear_forces(tw, tw.dG)
    vary_constraint_forces(
        model, theta, directions.dtheta, directions.touch, eq.lines, state.lam, kin.motion.z, tw.change.z, kin, tw,
        tw.dG,
    )  # fmt: skip
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, dG_out)


def vary_at_rest(model, theta, dtheta, touch, lines, state, dz, kin, comp, tw, load, other_load, rest, other):
    tree, x, y, M, z = model.tree, comp.equations.x[0], comp.equations.x[1], comp.equations.T, state.z
    mass_matrix(tree, kin, comp, M)
    add_flexible_mass(model, theta, kin, M)
    keep_node_columns(tree, kin.rows, M, comp.equations.nodes)
    apply_columns(tree, kin.rows, load.x, x)
    apply_columns(tree, kin.rows, other_load.x, y)
    vary_flexible_resting(
        model, theta, dtheta, touch, lines, kin.motion.z, tw.change.z, kin, comp, tw, Load(x, load.multiplier),
        Load(y, other_load.multiplier), Resting(rest.A, rest.F, rest.N2, rest.dF, tw.dG, rest.dphi),
        Resting(other.A, other.F, other.N2, other.dF, tw.other_dG, other.dphi),
    )  # fmt: skip
    vary_armatures_alone(model, dtheta, x, tw.dG)
    vary_armatures_alone(model, dtheta, y, tw.other_dG)
    forces_of_nodes(tree, kin, rest.F, comp.equations.G)
    vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.dG, rest.dG)
    add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, load.x, rest.dG)
    forces_of_nodes(tree, kin, other.F, comp.equations.G)
    vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.other_dG, other.dG)
    add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, other_load.x, other.dG)


def vary_rates(model, theta, dtheta, touch, eq, t, state, sens, kin, tw, first_out, second_out):
    motion, change = kin.motion, tw.change
    vary_constraint_rates(
        model, theta, dtheta, touch, eq.lines, eq.line_rates, t, motion.z, motion.zd, motion.zdd, change.z, change.zd,
        change.zdd, kin, tw, first_out, second_out,
    )  # fmt: skip


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    spread_columns(model.tree, kin.rows, tw.each, dzd, tw.change.zd)
    vary_with_velocity(factor, model, eq.lines, eq.line_rates, kin.motion.zd, tw.change.zd, kin, second_out)
    vary_stiffened_speeds(factor, model.tree, theta, kin.J, tw.each, zd, dzd, second_out)


def vary_readings(model, theta, directions, t, z, zd, zdd, sens, kin, tw, out):
    motion, change = kin.motion, tw.change
    vary_signals(
        model, theta, directions.dtheta, directions.touch, t, motion.z, motion.zd, change.z, change.zd, kin, tw
    )
    vary_sensors(
        model, theta, directions.dtheta, directions.touch, t, motion.z, motion.zd, motion.zdd,
        LoadedMotion(change.z, change.zd, change.zdd, sens.lam), kin, tw, out,
    )  # fmt: skip


def vary_measure(model, theta, dtheta, touch, m, g, k, state, sens, kin, tw):
    motion = kin.motion
    return vary_any_measure(
        model, theta, dtheta, touch, m, g, k, motion.z, motion.zd, motion.zdd, tw.change, kin, tw, 0
    )  # fmt: skip


def pull_readings(model, theta, t, z, zd, zdd, kin, comp, none, hat, adj):
    motion, columns = kin.motion, adjoints_of_columns(adj)
    clear_bodies(adj)
    pull_sensors(model, theta, t, motion.z, motion.zd, motion.zdd, kin, hat, columns)
    pull_signals(model, theta, t, motion.z, motion.zd, kin, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, virtual_of_columns(none), columns)
    pull_gravity(columns)
    pull_columns(model.tree, theta, kin.rows, z, zd, zdd, adj)


def pull_rates(model, theta, t, z, zd, zdd, eq, kin, comp, none, nu1, nu2, adj):
    motion, columns = kin.motion, adjoints_of_columns(adj)
    clear_bodies(adj)
    pull_constraint_rates(
        model, theta, t, motion.z, motion.zd, motion.zdd, kin, eq.lines, eq.line_rates, nu1, nu2, columns
    )  # fmt: skip
    pull_tree(model.tree, theta, motion.z, kin, comp, virtual_of_columns(none), columns)
    pull_columns(model.tree, theta, kin.rows, z, zd, zdd, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    pull_with_velocity(1.0, model, eq.lines, eq.line_rates, kin.motion.zd, nu2, kin, adj.columns.zd)
    pull_rows(model.tree, kin.rows, adj.each, adj.columns.zd, zd_out)
    pull_stiffened_speeds(model.tree, theta, kin.J, adj.each, zd, nu2, zd_out)


def pull_at_rest(model, theta, t, z, no_rate, x, multiplier, eq, kin, comp, virtual, no_nu, adj):
    tree, of_z, of_x, found = model.tree, kin.motion.z, comp.equations.x[0], comp.equations
    apply_columns(tree, kin.rows, x, of_x)
    motion_kinematics(tree, theta, of_z, comp.zero, of_x, kin)
    clear_wrenches(comp.W, found.Q)
    constraint_forces(model, theta, of_z, kin, multiplier, eq.lines, comp.W, found.Q)
    resting_flexible_forces(model, theta, of_z, of_x, kin, comp)
    residual(tree, kin, comp, found.Q, found.G)
    moved, columns = _pull_bodies(model, theta, Motion(of_z, comp.zero, of_x), False, kin, virtual, adj)
    pull_armatures(model, theta, of_x, moved, columns)
    pull_constraints(model, theta, t, of_z, kin, eq.lines, multiplier, moved, no_nu, columns)
    pull_tree(tree, theta, of_z, kin, comp, moved, columns)
    pull_virtual(tree, theta, z, found.G, virtual, adj)
    pull_columns(tree, theta, kin.rows, z, no_rate, x, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    motion = kin.motion
    moved, columns = _pull_bodies(model, theta, motion, True, kin, virtual, adj)
    pull_element_forces(model, theta, t, motion.z, motion.zd, kin, moved, columns)
    pull_armatures(model, theta, motion.zdd, moved, columns)
    pull_constraints(model, theta, t, motion.z, kin, eq.lines, state.lam, moved, nu, columns)
    _pull_to_coordinates(model, theta, state, kin, comp, moved, columns, virtual, adj)
