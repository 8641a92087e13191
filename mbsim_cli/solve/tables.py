"""Tables that end: where, and laws that go on straight instead, for a search that may pass beyond."""

import numpy as np

from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import Laws


def ends(laws: Laws, theta: np.ndarray, k: int) -> tuple[float, float] | None:
    """First and last argument of the table of term k; None where it has no end."""
    first, count = laws.theta[k], laws.count[k]
    if laws.kind[k] != Law.SPLINE or not np.isnan(theta[first + count]):
        return None
    return float(theta[first + 2].real), float(theta[first + count - 2].real)


def going_on(laws: Laws, theta: np.ndarray) -> np.ndarray:
    """Theta where tables that end go on with the slopes of their ends."""
    found = theta.copy()
    for k in range(len(laws.kind)):
        if ends(laws, theta, k) is not None:
            first, count = laws.theta[k], laws.count[k]
            knots, cubics = found[first : first + count], found[first + count : first + 5 * count - 4].reshape(-1, 4)
            cubics[0] = [0.0, 0.0, cubics[1, 2], cubics[1, 3] - cubics[1, 2] * (knots[1] - knots[0])]
            a, b, slope, value = cubics[-2]
            h = knots[-2] - knots[-3]
            cubics[-1] = [0.0, 0.0, (3.0 * a * h + 2.0 * b) * h + slope, ((a * h + b) * h + slope) * h + value]
    return found
