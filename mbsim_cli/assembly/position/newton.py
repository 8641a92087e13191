"""Newton's method for coordinates that close loops, damped where it must be (Levenberg, Marquardt)."""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.position.groups import System
from mbsim_cli.assembly.position.rank import RANK_TOLERANCE

MAX_ITERATIONS = 100
SOLVED = 1e-13
LIGHTEST, HEAVIEST = 1e-4, 1e8  # damping of Newton's steps


def newton(equations: System, theta: Sequence[Scalar], start: np.ndarray, dependent: list[int]) -> np.ndarray:
    """Solve for the dependent coordinates from a start (n,).

    Returns the nearest it came, (n,).
    """
    z, damping, rows = start.copy(), 0.0, equations.of_position
    by_dependent = np.ix_(rows, dependent)
    phi, J = equations.at(theta, z)
    for _ in range(MAX_ITERATIONS if dependent else 0):
        size = np.linalg.norm(phi[rows])
        if size < SOLVED or damping > HEAVIEST:
            break
        trial = z.copy()
        trial[dependent] += _damped_step(J[by_dependent], phi[rows], damping)
        attempt, slope = equations.at(theta, trial)
        if np.linalg.norm(attempt[rows]) < size:
            z, phi, J = trial, attempt, slope
            damping = damping / 10.0 if damping > LIGHTEST else 0.0
        else:
            damping = max(10.0 * damping, LIGHTEST)
    return z


def _damped_step(J: np.ndarray, phi: np.ndarray, damping: float) -> np.ndarray:
    """Step that minimises |J step + phi|^2 + damping |step|^2."""
    if damping == 0.0:
        return np.linalg.lstsq(J, -phi, rcond=RANK_TOLERANCE)[0]
    return np.linalg.solve(J.T @ J + damping * np.eye(J.shape[1]), -J.T @ phi)
