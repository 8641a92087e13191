"""Linear elements that are too long to bend: they follow by shear, which is stiffer."""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.reduction.mesh import Mesh

TOO_STIFF = 1.1  # times what bending takes, above which it is told


def too_stiff(mesh: Mesh, nu: complex) -> Iterator[str]:
    """Warn of a grid of rectangles or bricks whose elements are long beside the thickness of the body.

    Along l of a body of thickness h an element bends 1 + (G/E) (l/h)^2 times as stiffly as it should, however many lie
    across it.
    """
    if not mesh.alike:
        return
    d = mesh.dimension
    size, length = (np.ptp(points.real, axis=0)[:d] for points in (mesh.points, mesh.points[mesh.cells[0]]))
    slender = np.where(size[:, None] > size, length[:, None] / size, 0.0)
    factor = 1.0 + slender.max() ** 2 / (2.0 * (1.0 + np.real(nu)))
    if factor > TOO_STIFF:
        yield (
            f"elements are {slender.max():.2g} times as long as the body is thick, and bend {factor:.3g} times as "
            "stiffly as they should: linear ones follow by shear; take shorter ones, a beam, or a mesh of second order"
        )
