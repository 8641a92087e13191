"""The start of an open tree: declared positions and velocities, or an equilibrium, and what numbers take of them."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.instants import measure_start
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_sensitivity import Sensitivity
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import NO_ROWS
from mbsim_cli.solve.equilibrium.resting import Equilibrium
from mbsim_cli.solve.initial import assemble


@dataclass(frozen=True)
class Start:
    """The start of an open tree: theta and dtheta (len(theta), p), p ``padded``, include automatic values."""

    state: State
    sensitivity: Sensitivity
    theta: np.ndarray
    dtheta: np.ndarray
    rest: Equilibrium | None = None

    @property
    def redundant(self) -> np.ndarray:
        """Constraints that depend on others: there are none."""
        return NO_ROWS

    held = redundant


def assemble_start(problem: Problem, theta: np.ndarray, p: int, along: bool = True) -> Start:
    """Declared positions and velocities with their derivatives in p directions, and automatic values.

    Where no run goes ``along`` the directions they need no room of their own.
    """
    if problem.options.start == "equilibrium":
        return _settled_start(problem, theta, p)
    model, dtype = problem.model, theta.dtype.type
    _, n, _ = allocate.sizes(model)
    first = model.tree.initial[0]
    dtheta = problem.theta_rho
    if along or problem.automatic:
        dtheta = allocate.padded_directions(dtheta[:, :p], dtype)
    state, sens = allocate.state(model, dtype), allocate.sensitivity(model, dtheta.shape[1], dtype)
    state.z[:], state.zd[:] = theta[first : first + n], theta[first + n : first + 2 * n]
    sens.z[:], sens.zd[:] = dtheta[first : first + n], dtheta[first + n : first + 2 * n]
    targets = set(model.constraints.theta.tolist())
    of_laws = [pair for pair in problem.automatic if pair[0] in targets]
    others = [pair for pair in problem.automatic if pair[0] not in targets]
    for wanted in filter(None, (of_laws, others)):
        indices, measures = (np.array(column) for column in zip(*wanted, strict=True))
        value, d_value = _measured(model, theta, dtheta, state, sens, measures)
        if wanted is of_laws:  # a driven coordinate is where its law puts it: the target is what it lacks
            declared, d_declared = _declared(model, theta, dtheta, measures)
            value, d_value = declared - value, d_declared - d_value
        theta[indices] = value
        dtheta[indices] = d_value
    return Start(state, sens, theta, dtheta)


def _measured(
    model: Model, theta: np.ndarray, dtheta: np.ndarray, state: State, sens: Sensitivity, measures: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values (k,) of measures at the driven start, and their derivatives (k, p)."""
    dtype, p = theta.dtype.type, sens.z.shape[1]
    value, d_value = np.zeros(measures.size, dtype), np.zeros((measures.size, p), dtype)
    kin, directions = allocate.grounded(model, theta), allocate.directions(model, dtheta, dtype)
    tw = allocate.twists_of(model, p, dtype)
    measure_start(model, theta, open_tree(model), directions, state, sens, kin, tw, measures, value, d_value)
    return value, d_value


def _declared(
    model: Model, theta: np.ndarray, dtheta: np.ndarray, measures: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values (k,) of driven coordinates that the file declares, and their derivatives (k, p)."""
    factor = model.measures.theta[measures]
    driven = of_columns(model.tree, model.measures.coordinate[model.measures.first[measures]])
    initial = model.tree.initial[0] + driven
    d_value = dtheta[factor] * theta[initial, None] + theta[factor, None] * dtheta[initial]
    return theta[factor] * theta[initial], d_value


def _settled_start(problem: Problem, theta: np.ndarray, p: int) -> Start:
    """Positions at the equilibrium, declared velocities; directions beyond the parameters are zero."""
    found = assemble(problem, theta, motion_only=True)
    wanted = min(p, found.dtheta.shape[1])
    dtheta, sens = zeros((theta.size, p), theta.dtype), allocate.sensitivity(problem.model, p, theta.dtype.type)
    dtheta[:, :wanted] = found.dtheta[:, :wanted]
    sens.z[:, :wanted], sens.zd[:, :wanted] = found.sensitivity.z[:, :wanted], found.sensitivity.zd[:, :wanted]
    found.state.zdd[:], found.state.lam[:] = 0.0, 0.0
    return Start(found.state, sens, found.theta, dtheta, found.rest)
