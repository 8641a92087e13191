"""Initial coordinates as the solver gets them: independent values of cut joints become those of tree coordinates.

A joint that is cut has no coordinates, so a value declared for it is an equation. It is solved here, with its exact
derivatives by the parameters; what the solver gets are initial coordinates like any others.
"""

import numpy as np

from mbsim_cli.assembly.parameters.numbers import STEP
from mbsim_cli.assembly.position.closing import Closing, scaled_group
from mbsim_cli.assembly.position.equations import Equations
from mbsim_cli.assembly.position.groups import groups
from mbsim_cli.assembly.position.search import RANK_TOLERANCE, Nearest, determined, newton
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import kinds


def start_from(
    equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Theta (size,) and d theta / d rho (size, p) with dependent coordinates where the loops were closed.

    These are first guesses of the solver, which so finds the closing that was checked; they have no derivatives. Euler
    parameters that the norm alone determines are no guesses: they are declared, with the three others. Coordinates that
    had to leave their declared values keep those of the nearest closed position, with derivatives.
    """
    theta, theta_rho = _nearest(equations, closing, theta, theta_rho)
    if equations.initial_measures:
        return _solved(equations, closing, theta, theta_rho)
    theta, theta_rho, tree = theta.copy(), theta_rho.copy(), equations.problem.model.tree
    guessed = ~closing.held & ~_of_unit_norm(kinds(tree), closing.held)
    guesses = tree.initial[0] + np.flatnonzero(guessed)
    theta[guesses], theta_rho[guesses] = closing.z[guessed], 0.0
    return theta, theta_rho


def _of_unit_norm(columns: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Mask (n,) of the Euler parameters of joints where three of the four keep their declared values."""
    mask = np.zeros(len(held), dtype=bool)
    for first in np.flatnonzero(columns == Column.EULER_0):
        mask[first : first + 4] = held[first : first + 4].sum() == 3
    return mask


def _nearest(
    equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Theta (size,) and d theta / d rho (size, p) with moved coordinates where the nearest closed position has them."""
    if not closing.moved.any():
        return theta, theta_rho
    (group,), (part,) = groups(equations), closing.parts  # geometric equations are one group
    problem, theta, theta_rho = equations.problem, theta.copy(), theta_rho.copy()
    scaled = scaled_group(group, problem, closing.scales)
    position = slice(problem.model.tree.initial[0], problem.model.tree.initial[0] + len(closing.z))
    nearest = Nearest(scaled, theta.tolist(), theta[position] / scaled.columns, part.found.weights)
    z = nearest.from_position(newton(scaled, theta.tolist(), part.found.z, np.flatnonzero(part.found.moved).tolist()))
    for column in theta_rho.T:
        d_declared = column[position] / scaled.columns
        column[position] = nearest.derivative(z, column, d_declared) * scaled.columns
    theta[position] = z * scaled.columns
    return theta, theta_rho


def _solved(
    equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Theta (size,) and d theta / d rho (size, p) with the initial block solved from all equations."""
    first, n = equations.problem.model.tree.initial[0], len(closing.z)
    position, velocity = slice(first, first + n), slice(first + n, first + 2 * n)
    numbers, held, held_velocity = theta.tolist(), closing.held, closing.held_velocity
    rows, every = equations.of_position, list(range(equations.m + len(equations.initial_measures)))
    z = newton(equations, numbers, np.where(held, theta[position], closing.z), np.flatnonzero(~held).tolist())
    J = equations.at(numbers, z)[1]

    def completed(rates: np.ndarray, kept: np.ndarray, rows: list[int], defect: np.ndarray) -> np.ndarray:
        """Rates of the coordinates: those kept, and the others so that they mend the defect of the rows."""
        found = np.where(kept, rates, 0.0)
        found[~kept] = np.linalg.lstsq(J[rows][:, ~kept], -defect[rows], rcond=RANK_TOLERANCE)[0]
        return found

    start = np.where(held_velocity, theta[velocity], 0.0)
    zd = completed(start, held_velocity, every, equations.rates(numbers, z, start))
    solved, solved_rho = theta.copy(), theta_rho.copy()
    solved[position], solved[velocity] = z, zd
    for k, column in enumerate(theta_rho.T):
        stepped = (theta + 1j * STEP * column).tolist()
        dz = np.where(held, column[position], 0.0)
        dz = completed(dz, held, rows, equations.at(stepped, z + 1j * STEP * dz)[0].imag / STEP)
        dzd = np.where(held_velocity, column[velocity], 0.0)
        defect = equations.rates(stepped, z + 1j * STEP * dz, zd + 1j * STEP * dzd).imag / STEP
        solved_rho[position, k] = dz
        solved_rho[velocity, k] = completed(dzd, held_velocity, every, defect)
    return solved, solved_rho


def kept_by_constraints(equations: Equations, closing: Closing) -> tuple[np.ndarray, np.ndarray]:
    """Masks (n,) of coordinates and of rates that keep their values when only the constraints are left to hold."""
    if not equations.initial_measures:
        return closing.held, closing.held_velocity
    rows = [row for row in equations.of_position if row < equations.m]
    masks, J = [], closing.J
    for wanted, held in ((rows, closing.held), (list(range(equations.m)), closing.held_velocity)):
        kept = np.ones(len(held), dtype=bool)
        kept[determined(J[wanted], ~held, np.zeros_like(held))] = False
        masks.append(kept)
    return masks[0], masks[1]
