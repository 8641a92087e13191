"""Nonlinear least squares: Levenberg's damped steps with Nielsen's rule for the damping.

K. Madsen, H. B. Nielsen, O. Tingleff: Methods for non-linear least squares problems, 2nd ed., DTU 2004, algorithm 3.16.
"""

from collections.abc import Callable

import numpy as np

MAX_ITERATIONS = 100
FIRST_DAMPING = 1e-3  # over the largest square of a column
SOLVED = 1e-13
FLAT = 1e-10  # cosine between residual and columns at a minimum


def least_squares(at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], start: np.ndarray) -> np.ndarray:
    """A local minimum (n,) of the sum of squares, searched from ``start``; ``at(x)`` gives residuals (m,) and J (m, n).

    Residuals and coordinates should be scaled to similar sizes.
    """
    x, growth = start.copy(), 2.0
    f, J = at(x)
    damping = FIRST_DAMPING * max((J * J).sum(axis=0).max(initial=0.0), np.finfo(float).tiny)
    for _ in range(MAX_ITERATIONS if x.size else 0):
        slope, size = J.T @ f, np.linalg.norm(f)
        if size < SOLVED or np.linalg.norm(slope) <= FLAT * size * np.linalg.norm(J):
            break
        try:
            step = -np.linalg.solve(J.T @ J + damping * np.eye(x.size), slope)
        except np.linalg.LinAlgError:  # columns depend on each other, and good steps have reduced the damping to zero
            damping, growth = damping * growth, 2.0 * growth
            continue
        if np.linalg.norm(step) <= np.finfo(float).eps * (1.0 + np.linalg.norm(x)):
            break
        attempt, derivatives = at(x + step)
        foreseen = step @ (damping * step - slope)
        gain = (size * size - attempt @ attempt) / foreseen if foreseen > 0.0 else -1.0
        if gain > 0.0:
            x, f, J = x + step, attempt, derivatives
            damping, growth = damping * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), 2.0
        else:
            damping, growth = damping * growth, 2.0 * growth
    return x
