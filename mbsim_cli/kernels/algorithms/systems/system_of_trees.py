"""The semi-recursive system: coordinates of the joints of a spanning tree, and those of bodies that deform.

The kernels of trees see columns, which are these coordinates where no body deforms: see ``flexible.columns``.
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
from mbsim_cli.kernels.algorithms.equations.residual_variation import (
    Load,
    Resting,
    clear_forces,
    vary_bodies,
    vary_resting,
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
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    add_flexible_mass,
    add_flexible_tangent,
    forces_of_nodes,
    pull_flexible_bodies,
    resting_flexible_forces,
)
from mbsim_cli.kernels.algorithms.flexible.columns import (
    adjoints_of,
    bring_adjoints,
    bring_jacobian,
    bring_matrix,
    bring_residual,
    bring_variation,
    bring_virtual,
    changes_of,
    columns_at_rest,
    columns_moved,
    columns_placed,
    columns_varied,
    elastic_forces,
    equations_of,
    jacobian_of,
    loaded_changes_of,
    matrix_of,
    motion_of,
    rows_of,
    shape_placed,
    slope_moved,
    spread_virtual,
    vary_elastic_forces,
    virtual_of,
    with_columns,
)
from mbsim_cli.kernels.algorithms.flexible.node_columns import (
    add_changed_accelerations,
    add_stiffened_tangent,
    apply_columns,
    keep_node_columns,
    matrix_to_coordinates,
    pull_rows,
    pull_stiffened_speeds,
    spread_columns,
    vary_rows,
    vary_stiffened_speeds,
)
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone, of_position
from mbsim_cli.kernels.compiler.jit import inlined, merged


def place(model, theta, z, at_center, kin):
    """See ``contract``; so for all functions here."""
    position_kinematics(model.tree, theta, columns_placed(model, theta, z, kin).z, at_center, kin)


def shape(model, theta, kin):
    shape_placed(model, theta, kin)


@inlined
def move_bodies(model, theta, state, kin):
    motion = columns_moved(model, theta, state, kin)
    motion_kinematics(model.tree, theta, motion, kin)


@inlined
def move_columns(model, theta, state, kin):
    motion = motion_of(model, state, kin)
    column_kinematics(model.tree, theta, motion, kin)


@inlined
def move(model, theta, state, kin):
    move_bodies(model, theta, state, kin)
    move_columns(model, theta, state, kin)


def rotate_prediction(model, h, state, differences, expected):
    return 0.0


def constrain(model, theta, t, z, kin, eq):
    motion = motion_of(model, of_position(z), kin)
    constraints(model, theta, t, motion.z, kin, eq.phi, jacobian_of(model, kin, eq)[0], eq.lines)
    bring_jacobian(model, kin, eq.J)


def load(model, theta, t, state, kin, comp, eq):
    move_bodies(model, theta, state, kin)
    motion, found = motion_of(model, state, kin), equations_of(model, comp, eq)
    clear_wrenches(comp.W, found.Q)
    read_multipliers(model, state.lam, kin)
    element_forces(model, theta, t, motion, kin, comp.W, found.Q)
    constraint_forces(model, theta, motion.z, kin, state.lam, eq.lines, comp.W, found.Q)
    elastic_forces(model, theta, kin, comp)
    _sum_up(model, theta, motion, kin, comp, found, eq)


@inlined
def _sum_up(model, theta, motion, kin, comp, found, eq):
    """The residual, from the forces on single bodies."""
    residual(model.tree, kin, comp, found.Q, found.G)
    add_armature_forces(model, theta, motion.zdd, found.G)
    bring_residual(model, kin, comp, eq.G)


def evaluate_free(model, theta, t, at_center, state, kin, comp, eq):
    found = equations_of(model, comp, eq)
    load_free(model, theta, t, at_center, state, kin, comp, found)
    _sum_up(model, theta, motion_of(model, state, kin), kin, comp, found, eq)


@inlined
def load_free(model, theta, t, at_center, state, kin, comp, found):
    """Kinematics; forces on single bodies in ``comp.W``, on columns in Q, and in G those of elastic rows."""
    motion = motion_of(model, state, kin)
    position_kinematics(model.tree, theta, columns_placed(model, theta, state.z, kin).z, at_center, kin)
    move_bodies(model, theta, state, kin)
    clear_wrenches(comp.W, found.Q)
    element_forces(model, theta, t, motion, kin, comp.W, found.Q)
    elastic_forces(model, theta, kin, comp)


def tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out):
    move_columns(model, theta, state, kin)
    _tangent(model, theta, t, beta, gamma, state, eq.lines, state.lam, kin, comp, T_out)


def tangent_free(model, theta, t, beta, gamma, state, none, kin, comp, T_out):
    move_columns(model, theta, state, kin)
    _tangent(model, theta, t, beta, gamma, state, none.no_lines, none.no_lambda, kin, comp, T_out)


@inlined
def _tangent_of_columns(model, theta, t, beta, gamma, lines, multiplier, kin, comp, T):
    motion = motion_alone(kin.motion)
    newton_matrix(model, theta, t, beta, gamma, motion, lines, multiplier, kin, comp, T)
    add_flexible_tangent(model, theta, beta, gamma, motion, kin, comp, T)
    add_armature_mass(model, theta, T)


def _rigid_tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, comp, T_out):
    newton_matrix(model, theta, t, beta, gamma, motion_alone(state), lines, multiplier, kin, comp, T_out)
    add_armature_mass(model, theta, T_out)


@with_columns(_rigid_tangent)
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


def vary_free(model, theta, directions, t, state, sens, kin, comp, tw, dG_out):
    rows = rows_of(model, tw, dG_out)[0]
    change = columns_varied(model, theta, directions, state, kin, sens, tw)
    move_columns(model, theta, state, kin)
    vary_kinematics(model.tree, theta, directions, kin, change, tw)
    slope_moved(model, theta, kin)
    clear_forces(tw, rows)
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out)


@merged
def _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out):
    """Variation of all forces but those of constraints, summed over subtrees and brought to coordinates."""
    change = changes_of(model, sens, tw)
    motion = motion_of(model, state, kin)
    vary_element_forces(model, theta, directions, t, motion, change, kin, tw, rows)
    vary_elastic_forces(model, theta, directions, kin, tw, rows)
    vary_bodies(model.tree, theta, directions, motion.z, change.z, kin, comp, tw, rows)
    vary_armatures(model, theta, directions.dtheta, motion.zdd, change.zdd, rows)
    bring_variation(model, theta, directions.dtheta, state.z, sens.z, kin, comp, tw, dG_out)


def pull_free(model, theta, t, state, kin, comp, virtual, adj):
    motion = motion_of(model, state, kin)
    moving, columns = virtual_of(model, virtual), adjoints_of(model, adj)
    move_columns(model, theta, state, kin)
    _start_adjoints(model, theta, motion, True, kin, virtual, moving, columns)
    pull_element_forces(model, theta, t, motion, kin, moving, columns)
    pull_armatures(model, theta, motion.zdd, moving, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    pull_gravity(columns)
    bring_virtual(model, theta, state.z, comp, virtual, adj)
    bring_adjoints(model, theta, state, kin, adj)


@merged
def _start_adjoints(model, theta, motion, stiff, kin, virtual, moving, columns):
    """Virtual motion of all bodies, and what their inertia makes of it."""
    spread_virtual(model, kin, virtual)
    virtual_motion(model.tree, kin, moving)
    clear_bodies(columns)
    pull_bodies(model.tree, theta, kin, moving, columns)
    pull_flexible_bodies(model, theta, motion, stiff, kin, moving, columns)


def compose(model, kin, comp):
    composite_inertia(model.tree, kin, comp)


def mass(model, theta, kin, comp, M_out):
    (M,) = matrix_of(model, comp, M_out)
    mass_matrix(model.tree, kin, comp, M)
    add_flexible_mass(model, theta, kin, M)
    add_armature_mass(model, theta, M)
    bring_matrix(model, kin, M, M_out)


def speeds(model, theta, t, J, sparsity, zd, phi1_out):
    constraint_speeds(model, theta, t, J, sparsity, zd, phi1_out)


def rates(model, theta, t, state, lines, kin, phi1_out, phi2_out):
    motion = motion_of(model, state, kin)
    constraint_rates(model, theta, t, motion, lines, kin, phi1_out, phi2_out)


def read_sensors(model, theta, t, state, multiplier, kin, out):
    motion = motion_of(model, state, kin)
    read_multipliers(model, multiplier, kin)
    find_signals(model, theta, t, motion, kin)
    sense(model, theta, t, motion, multiplier, kin, out)


def energies(model, theta, t, state, multiplier, kin, out):
    motion = motion_of(model, state, kin)
    out[0] = kinetic_energy(model, theta, motion, kin)
    out[1] = potential_energy(model, theta, motion, kin)
    out[2] = other_power(model, theta, t, motion, multiplier, kin)


def measure(model, theta, m, state, kin):
    motion = motion_of(model, state, kin)
    return measure_of_order(model, theta, m, 0, motion, kin)


def measure_and_rate_of(model, theta, m, state, kin):
    motion = motion_of(model, state, kin)
    return value_and_rate(model, theta, m, motion, kin)


def vary_bodies_of(model, theta, directions, state, kin, sens, tw):
    change = columns_varied(model, theta, directions, state, kin, sens, tw)
    vary_kinematics(model.tree, theta, directions, kin, change, tw)


def vary_equations(model, theta, directions, t, z, dz, lines, kin, tw, out):
    motion, change = motion_of(model, of_position(z), kin), changes_of(model, of_position(dz), tw)
    vary_constraints(model, theta, directions, t, motion.z, change.z, lines, kin, tw, out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    change = changes_of(model, sens, tw)
    motion, rows = motion_of(model, state, kin), rows_of(model, tw, dG_out)[0]
    clear_forces(tw, rows)
    vary_constraint_forces(model, theta, directions, eq.lines, state.lam, motion.z, change.z, kin, tw, rows)
    hold_multipliers(model, tw)
    _vary_forces(model, theta, directions, t, state, sens, kin, comp, tw, rows, dG_out)


def vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    _vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests)


def _vary_rigid_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    vary_resting(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests)
    vary_armatures_alone(model, directions.dtheta, loads[0].x, rests[0].dG)
    vary_armatures_alone(model, directions.dtheta, loads[1].x, rests[1].dG)


@with_columns(_vary_rigid_at_rest)
def _vary_at_rest(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    """Variations of both systems, brought from columns to coordinates."""
    dtheta = directions.dtheta
    load, other_load = loads
    rest, other = rests
    tree, x, y, M = model.tree, comp.equations.x[0], comp.equations.x[1], comp.equations.T
    mass_matrix(tree, kin, comp, M)
    add_flexible_mass(model, theta, kin, M)
    keep_node_columns(tree, kin.rows, M, comp.equations.nodes)
    apply_columns(tree, kin.rows, load.x, x)
    apply_columns(tree, kin.rows, other_load.x, y)
    vary_resting(
        model, theta, directions, kin.motion.z, tw.change.z, lines, kin, comp, tw,
        (Load(x, load.multiplier), Load(y, other_load.multiplier)),
        (
            Resting(rest.A, rest.F, rest.N2, rest.dF, tw.dG, rest.dphi),
            Resting(other.A, other.F, other.N2, other.dF, tw.other_dG, other.dphi),
        ),
    )  # fmt: skip
    vary_armatures_alone(model, dtheta, x, tw.dG)
    vary_armatures_alone(model, dtheta, y, tw.other_dG)
    forces_of_nodes(tree, kin, rest.F, comp.equations.G)
    vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.dG, rest.dG)
    add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, load.x, rest.dG)
    forces_of_nodes(tree, kin, other.F, comp.equations.G)
    vary_rows(tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.other_dG, other.dG)
    add_changed_accelerations(tree, theta, dtheta, z, dz, comp.equations.nodes, other_load.x, other.dG)


def vary_rates(model, theta, directions, t, state, sens, eq, kin, tw, first_out, second_out):
    motion, change = motion_of(model, state, kin), changes_of(model, sens, tw)
    vary_constraint_rates(
        model, theta, directions, t, motion, change, eq.lines, eq.line_rates, kin, tw, first_out, second_out,
    )  # fmt: skip


def vary_rates_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    _vary_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out)


def _vary_rigid_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    vary_with_velocity(factor, model, eq.lines, eq.line_rates, zd, dzd, kin, second_out)


@with_columns(_vary_rigid_with_velocity)
def _vary_with_velocity(factor, model, theta, eq, zd, dzd, kin, tw, second_out):
    """Through columns, whose accelerations have a part of velocities where nodes stiffen."""
    spread_columns(model.tree, kin.rows, tw.each, dzd, tw.change.zd)
    vary_with_velocity(factor, model, eq.lines, eq.line_rates, kin.motion.zd, tw.change.zd, kin, second_out)
    vary_stiffened_speeds(factor, model.tree, theta, kin.J, tw.each, zd, dzd, second_out)


def vary_readings(model, theta, directions, t, state, sens, kin, tw, out):
    motion, change = motion_of(model, state, kin), loaded_changes_of(model, sens, tw)
    vary_multipliers(model, change.lam, tw)
    vary_signals(model, theta, directions, t, motion, change, kin, tw)
    vary_sensors(model, theta, directions, t, motion, change, kin, tw, out)


def vary_measure(model, theta, directions, m, g, k, state, sens, kin, tw):
    motion, change = motion_of(model, state, kin), changes_of(model, sens, tw)
    return vary_any_measure(model, theta, directions, m, g, k, motion, change, kin, tw, 0)


def pull_readings(model, theta, t, state, kin, comp, none, hat, adj):
    motion, columns = motion_of(model, state, kin), adjoints_of(model, adj)
    clear_bodies(columns)
    pull_sensors(model, theta, t, motion, kin, hat, columns)
    pull_signals(model, theta, t, motion, kin, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, virtual_of(model, none), columns)
    pull_gravity(columns)
    bring_adjoints(model, theta, state, kin, adj)


def pull_rates(model, theta, t, state, eq, kin, comp, none, nu1, nu2, adj):
    motion, columns = motion_of(model, state, kin), adjoints_of(model, adj)
    clear_bodies(columns)
    pull_constraint_rates(model, theta, t, motion, kin, eq.lines, eq.line_rates, nu1, nu2, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, virtual_of(model, none), columns)
    bring_adjoints(model, theta, state, kin, adj)


def pull_rates_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    _pull_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out)


def _pull_rigid_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    pull_with_velocity(1.0, model, eq.lines, eq.line_rates, zd, nu2, kin, zd_out)


@with_columns(_pull_rigid_with_velocity)
def _pull_with_velocity(model, theta, zd, eq, kin, nu2, adj, zd_out):
    """The transpose of ``_vary_with_velocity``."""
    pull_with_velocity(1.0, model, eq.lines, eq.line_rates, kin.motion.zd, nu2, kin, adj.columns.zd)
    pull_rows(model.tree, kin.rows, adj.each, adj.columns.zd, zd_out)
    pull_stiffened_speeds(model.tree, theta, kin.J, adj.each, zd, nu2, zd_out)


def pull_at_rest(model, theta, t, state, eq, kin, comp, virtual, no_nu, adj):
    motion, found = columns_at_rest(model, state, kin, comp), equations_of(model, comp, eq)
    motion_kinematics(model.tree, theta, motion, kin)
    column_kinematics(model.tree, theta, motion, kin)
    clear_wrenches(comp.W, found.Q)
    constraint_forces(model, theta, motion.z, kin, state.lam, eq.lines, comp.W, found.Q)
    resting_flexible_forces(model, theta, motion.z, motion.zdd, kin, comp)
    residual(model.tree, kin, comp, found.Q, found.G)
    moving, columns = virtual_of(model, virtual), adjoints_of(model, adj)
    _start_adjoints(model, theta, motion, False, kin, virtual, moving, columns)
    pull_armatures(model, theta, motion.zdd, moving, columns)
    pull_constraints(model, theta, t, motion.z, kin, eq.lines, state.lam, moving, no_nu, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    bring_virtual(model, theta, state.z, comp, virtual, adj)
    bring_adjoints(model, theta, state, kin, adj)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, adj):
    motion = motion_of(model, state, kin)
    moving, columns = virtual_of(model, virtual), adjoints_of(model, adj)
    _start_adjoints(model, theta, motion, True, kin, virtual, moving, columns)
    pull_element_forces(model, theta, t, motion, kin, moving, columns)
    pull_armatures(model, theta, motion.zdd, moving, columns)
    pull_constraints(model, theta, t, motion.z, kin, eq.lines, state.lam, moving, nu, columns)
    pull_tree(model.tree, theta, motion.z, kin, comp, moving, columns)
    pull_gravity(columns)
    bring_virtual(model, theta, state.z, comp, virtual, adj)
    bring_adjoints(model, theta, state, kin, adj)
