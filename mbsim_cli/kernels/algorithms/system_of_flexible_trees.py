"""The semi-recursive system with bodies that deform: what the tree's kernels do, and what these bodies add."""

from mbsim_cli.kernels.algorithms import system_of_trees as rigid
from mbsim_cli.kernels.algorithms.constraint_pull_back import pull_constraints
from mbsim_cli.kernels.algorithms.constraint_variation import vary_constraint_forces
from mbsim_cli.kernels.algorithms.constraints import constraints
from mbsim_cli.kernels.algorithms.flexible_bodies import (
    add_flexible_mass,
    add_flexible_tangent,
    flexible_forces,
    shape_bodies,
    start_elastic_rows,
    vary_flexible_forces,
)
from mbsim_cli.kernels.algorithms.flexible_pull_back import pull_flexible_bodies, resting_flexible_forces
from mbsim_cli.kernels.algorithms.flexible_resting import vary_flexible_resting
from mbsim_cli.kernels.algorithms.force_pull_back import pull_element_forces
from mbsim_cli.kernels.algorithms.forces import clear_wrenches, constraint_forces, element_forces
from mbsim_cli.kernels.algorithms.inverse_dynamics import residual
from mbsim_cli.kernels.algorithms.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.newton_matrix import composite_inertia, mass_matrix, newton_matrix
from mbsim_cli.kernels.algorithms.residual_variation import clear_forces, vary_bodies, vary_element_forces
from mbsim_cli.kernels.algorithms.tree_pull_back import (
    clear_bodies,
    pull_bodies,
    pull_gravity,
    pull_tree,
    virtual_motion,
)

move, foresee, speeds, rates = rigid.move, rigid.foresee, rigid.speeds, rigid.rates
constrain = rigid.constrain
vary_bodies_of, vary_equations = rigid.vary_bodies_of, rigid.vary_equations
pull_seen, pull_rates = rigid.pull_seen, rigid.pull_rates
pull_rates_with_velocity = rigid.pull_rates_with_velocity
vary_rates, vary_rates_with_velocity = rigid.vary_rates, rigid.vary_rates_with_velocity


def place(model, theta, z, at_center, kin):
    position_kinematics(model.tree, theta, z, at_center, kin)
    shape_bodies(model, theta, z, kin)


def evaluate(model, theta, t, at_center, state, kin, comp, eq):
    position_kinematics(model.tree, theta, state.z, at_center, kin)
    motion_kinematics(model.tree, theta, state.z, state.zd, state.zdd, kin)
    constraints(model, theta, t, state.z, kin, eq.phi, eq.J, eq.lines)
    clear_wrenches(comp.W, eq.Q)
    element_forces(model, theta, t, state.z, state.zd, kin, comp.W, eq.Q)
    constraint_forces(model, theta, state.z, kin, state.lam, eq.lines, comp.W, eq.Q)
    start_elastic_rows(model.tree, eq.Q, eq.G)
    flexible_forces(model, theta, state, kin, comp, eq.G)
    residual(model.tree, kin, comp, eq.Q, eq.G)


def tangent(model, theta, t, beta, gamma, state, eq, kin, comp, T_out):
    newton_matrix(
        model, theta, t, beta, gamma, state.z, state.zd, eq.lines, state.lam, eq.no_eta, kin, comp, T_out
    )  # fmt: skip
    add_flexible_tangent(model, theta, beta, gamma, state, kin, comp, T_out)


def compose(model, kin, comp):
    composite_inertia(model.tree, kin, comp)


def mass(model, theta, kin, comp, M_out):
    mass_matrix(model.tree, kin, comp, M_out)
    add_flexible_mass(model, theta, kin, comp, M_out)


def vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out):
    dtheta, touch, no_eta = directions.dtheta, directions.touch, directions.no_eta
    clear_forces(tw, dG_out)
    vary_constraint_forces(model, theta, dtheta, touch, eq.lines, state.lam, sens.z, kin, tw, dG_out)
    vary_element_forces(model, theta, dtheta, touch, no_eta, t, state.z, state.zd, sens.z, sens.zd, kin, tw, dG_out)
    vary_flexible_forces(model, theta, dtheta, touch, state, sens, kin, tw, dG_out)
    vary_bodies(model.tree, theta, dtheta, touch, state.z, sens.z, kin, comp, tw, dG_out)


def vary_at_rest(model, theta, dtheta, touch, lines, state, dz, kin, comp, tw, load, other_load, rest, other):
    vary_flexible_resting(model, theta, dtheta, touch, lines, state.z, dz, kin, comp, tw, load, other_load, rest, other)


def pull_at_rest(model, theta, t, z, no_rate, x, multiplier, eq, kin, comp, virtual, no_nu, cov):
    motion_kinematics(model.tree, theta, z, no_rate, x, kin)
    clear_wrenches(comp.W, eq.Q)
    constraint_forces(model, theta, z, kin, multiplier, eq.lines, comp.W, eq.Q)
    resting_flexible_forces(model, theta, z, x, kin, comp)
    residual(model.tree, kin, comp, eq.Q, eq.G)
    virtual_motion(model.tree, kin, virtual)
    clear_bodies(cov)
    pull_bodies(model.tree, theta, kin, virtual, cov)
    pull_flexible_bodies(model, theta, z, comp.zero, x, False, kin, virtual, cov)
    pull_constraints(model, theta, t, z, kin, eq.lines, multiplier, virtual, no_nu, cov)
    pull_tree(model.tree, theta, z, kin, comp, virtual, cov)


def pull_residual(model, theta, t, state, eq, kin, comp, virtual, nu, cov):
    virtual_motion(model.tree, kin, virtual)
    clear_bodies(cov)
    pull_bodies(model.tree, theta, kin, virtual, cov)
    pull_flexible_bodies(model, theta, state.z, state.zd, state.zdd, True, kin, virtual, cov)
    pull_element_forces(model, theta, t, state.z, state.zd, kin, virtual, cov)
    pull_constraints(model, theta, t, state.z, kin, eq.lines, state.lam, virtual, nu, cov)
    pull_tree(model.tree, theta, state.z, kin, comp, virtual, cov)
    pull_gravity(cov)
