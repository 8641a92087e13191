"""Linear elements that bend too stiffly: they follow by shear, and cannot swell on one side and shrink on the other."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from mbsim_cli.reduction.mesh import Mesh

TOO_STIFF = 1.1  # times what bending takes, above which it is told


def too_stiff(mesh: Mesh, nu: complex) -> Iterator[str]:
    """Warn of a grid of rectangles or bricks that bends more stiffly than the body does."""
    if not mesh.alike:
        return
    d = mesh.dimension
    size, length = (np.ptp(points.real, axis=0)[:d] for points in (mesh.points, mesh.points[mesh.cells[0]]))
    bending = [(i, j) for i, j in permutations(range(d), 2) if size[i] > size[j]]
    if not bending:
        return
    factor, slender = max((_factor(size, length, i, j, float(np.real(nu))), length[i] / size[j]) for i, j in bending)
    if factor > TOO_STIFF:
        yield (
            f"elements are {slender:.2g} times as long as the body is thick, and bend {factor:.3g} times as "
            "stiffly as they should: linear ones follow by shear; take shorter ones, a beam, or a mesh of second order"
        )


def _factor(size: np.ndarray, length: np.ndarray, i: int, j: int, nu: float) -> float:
    """How many times as stiffly as it should a body along i bends across j; E is 1.

    Shear adds (G/E) (l/h)^2. Within an element eps_y is constant where bending wants -nu kappa y, which the n elements
    across the thickness h do in steps. Bricks leave v without its nu kappa z^2/2 within an element as well: eps_z =
    -beta kappa y, with the beta of least energy.
    """
    shear = 0.5 / (1.0 + nu)
    share, plane = (length[j] / size[j]) ** 2, 1.0 / (1.0 - nu**2)
    by_shear = shear * (length[i] / size[j]) ** 2
    if len(size) == 2:
        return 1.0 - share + plane * share + by_shear
    wide = length[3 - i - j] / size[j]
    lame = nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    A = plane * (1.0 - share) + (lame + 2.0 * shear) * share
    B = nu * plane * (1.0 - share) + lame * share
    return A - B**2 / (A + shear * wide**2) + by_shear
