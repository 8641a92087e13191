"""The interface of a mechanical system to integrators, for all coordinates; chosen by the type of ``model.tree``.

Most callers import this module as ``system``. A new system is a module with these functions and a row of the table.
"""

from types import SimpleNamespace
from typing import Any

from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.algorithms.equations import sensors, signals
from mbsim_cli.kernels.algorithms.flexible import columns as flexible
from mbsim_cli.kernels.algorithms.systems import system_of_flexible_trees, system_of_points, system_of_trees
from mbsim_cli.kernels.compiler.jit import merged
from mbsim_cli.model.layout import FlexibleNatural, FlexibleTree, Natural, Tree

# Functions of ``system_of_trees`` that also serve trees with bodies that deform; the others differ for these
INHERITED = (
    *("compose", "measure", "pull_at_rest", "pull_free", "pull_rates", "pull_readings", "pull_residual", "rates"),
    *("rotate_prediction", "vary_bodies_of", "vary_equations", "vary_free", "vary_measure", "vary_rates"),
    "vary_residual",
)
SYSTEMS: dict[type, Any] = {
    Tree: system_of_trees,
    FlexibleTree: SimpleNamespace(
        **vars(system_of_flexible_trees), **{name: getattr(system_of_trees, name) for name in INHERITED}
    ),
    Natural: system_of_points,
    FlexibleNatural: system_of_points,
}


_of_system = members_by_type("model.tree", system_of_trees, SYSTEMS.__getitem__)


place = _of_system("place", "Poses of all bodies.")
shape = _of_system(
    "shape", "Prepare ``mass`` after ``place`` where no ``evaluate`` follows: inertia of bodies that deform."
)
move_bodies = _of_system("move_bodies", "V and A of all bodies; needs ``place``.")
move_columns = _of_system(
    "move_columns", "S'' of columns, for tangents, variations and pull-backs; needs ``move_bodies``."
)
rotate_prediction = _of_system(
    "rotate_prediction",
    "Turn ``expected`` accelerations (n,) and their differences with vectors; returns the largest angle.",
)
constrain = _of_system("constrain", "Phi, J and the lines of measures; needs ``place``.")
load = _of_system("load", "``move_bodies``, forces and the residual G of the state; needs ``place`` and ``constrain``.")
tangent = _of_system(
    "tangent",
    "``move_columns``, and T = M + beta C + gamma K at the state evaluated last; lines and multipliers may be zeros.",
)
# The same without constraints, of open trees
evaluate_free = _of_system("evaluate_free", "Kinematics and residual G at the state.")
vary_free = _of_system("vary_free", "Variation of G (n, p), after ``evaluate_free``.")
pull_free = _of_system("pull_free", "The pull-back of mu . G about the global origin, after ``evaluate_free``.")
compose = _of_system("compose", "Prepare ``mass`` where the tangent has not.")
mass = _of_system("mass", "M (n, n); needs ``compose`` or ``tangent``.")
rates = _of_system("rates", "Phi' and Phi'' (m,) of the motion in ``kin``.")
measure = _of_system("measure", "Value of measure m; needs ``place`` and ``move_bodies``.")
vary_bodies_of = _of_system(
    "vary_bodies_of", "Twists N, N', N'' of all bodies along directions; needs ``move_columns``."
)
vary_equations = _of_system("vary_equations", "Variation of Phi (m, p); needs ``vary_bodies_of``.")
vary_residual = _of_system("vary_residual", "Variation of G (n, p); needs ``vary_bodies_of`` and ``tangent``.")
vary_at_rest = _of_system(
    "vary_at_rest", "Variation of M x + Phi_z^T multiplier for two pairs of x and multiplier, ``loads``."
)
vary_rates = _of_system("vary_rates", "Variations of Phi' and Phi''; needs ``vary_bodies_of`` and ``move_lines``.")
vary_rates_with_velocity = _of_system("vary_rates_with_velocity", "Add a change of Phi'' with velocities alone.")
vary_measure = _of_system("vary_measure", "Variation k, of the block at g, of measure m; needs ``vary_bodies_of``.")
# Pull-backs, about the global origin
pull_readings = _of_system(
    "pull_readings",
    "Add adjoints of sensors (width, p) to those of the motion; needs ``read_sensors`` and ``move_columns``.",
)
pull_rates = _of_system(
    "pull_rates", "The pull-back of nu1 . Phi' + nu2 . Phi''; needs ``move_columns`` and ``move_lines``."
)
pull_rates_with_velocity = _of_system(
    "pull_rates_with_velocity",
    "Add the pull-back of nu2 . Phi'' to velocities alone, zd (n, p); ``adj`` is work. Needs ``move_lines``.",
)
pull_at_rest = _of_system(
    "pull_at_rest",
    "The pull-back of mu . (M x + Phi_z^T multiplier) at fixed x, z'' of ``state``, and multiplier; moves ``kin``.",
)
pull_residual = _of_system(
    "pull_residual", "The pull-back of mu . G + nu . Phi; needs ``evaluate`` and ``move_columns``."
)


# The same in all coordinates ------------------------------------------------------------------------------------------


@merged
def evaluate(model, theta, t, at_center, state, kin, comp, eq):
    """Kinematics, Phi, J and G at the state."""
    place(model, theta, state.z, at_center, kin)
    constrain(model, theta, t, state.z, kin, eq)
    load(model, theta, t, state, kin, comp, eq)


@merged
def move(model, theta, state, kin):
    """``move_bodies`` and ``move_columns``."""
    move_bodies(model, theta, state, kin)
    move_columns(model, theta, state, kin)


@merged
def read_sensors(model, theta, t, state, multiplier, kin, out):
    """All sensors (width,), as ``sensors.sense``; needs ``place`` and ``move_bodies``."""
    motion = flexible.motion_of(model, state, kin)
    signals.read_multipliers(model, multiplier, kin)
    signals.find_signals(model, theta, t, motion, kin)
    sensors.sense(model, theta, t, motion, multiplier, kin, out)


@merged
def energies(model, theta, t, state, multiplier, kin, out):
    """Kinetic and potential energy, other power (3,); needs ``read_sensors``."""
    motion = flexible.motion_of(model, state, kin)
    out[0] = sensors.kinetic_energy(model, theta, motion, kin)
    out[1] = sensors.potential_energy(model, theta, motion, kin)
    out[2] = sensors.other_power(model, theta, t, motion, multiplier, kin)


@merged
def measure_and_rate_of(model, theta, m, state, kin):
    """g and g' of measure m; needs ``place`` and ``move_bodies``."""
    motion = flexible.motion_of(model, state, kin)
    return sensors.value_and_rate(model, theta, m, motion, kin)


@merged
def vary_readings(model, theta, directions, t, state, sens, kin, tw, out):
    """Variations of all sensors (width, p); needs ``read_sensors`` and ``vary_bodies_of``."""
    motion, change = flexible.motion_of(model, state, kin), flexible.loaded_changes_of(model, sens, tw)
    signals.vary_multipliers(model, change.lam, tw)
    signals.vary_signals(model, theta, directions, t, motion, change, kin, tw)
    sensors.vary_sensors(model, theta, directions, t, motion, change, kin, tw, out)
