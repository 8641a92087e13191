"""How far constraints are from losing rank, in any units: rows count by their sizes, coordinates by their inertia."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.natural.standing import Standing

LEAST_INERTIA = 1e-8  # share of the largest one, so that massless coordinates count too
LEAST_SIZE = 1e-12  # of a row, the same


class Scales(NamedTuple):
    """What makes rows and columns of a Jacobian comparable."""

    rows: np.ndarray  # (m,) their sizes over those of the columns
    columns: np.ndarray  # (n,) roots of the inertia that each coordinate feels


def scales_at(instant: Instant | Standing) -> Scales:
    """Scales at an evaluated instant."""
    inertia = np.abs(np.diag(instant.out.M))
    columns = np.sqrt(np.maximum(inertia, LEAST_INERTIA * inertia.max()))
    sizes = np.linalg.norm(instant.work.eq.J / columns, axis=1)
    return Scales(np.maximum(sizes, LEAST_SIZE * sizes.max()), columns)


def independence(J: np.ndarray, scales: Scales) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values of rows of J (m, n), and their vectors (m, m) and (n, n), columns and rows."""
    u, values, v = np.linalg.svd(J / scales.columns / scales.rows[:, None])
    return values, u, v
