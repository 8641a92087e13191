"""Natural cubic splines through tables, and what they are beyond the tables' ends.

Beyond its ends a table says nothing: without ``extrapolate`` the law is no number there (NaN), which ends an analysis
that asks for it; ``hold`` keeps the value of the last row, ``linear`` goes on with its slope.
"""

from collections.abc import Sequence

from mbsim_cli.assembly.parameters.vectors import Scalar

ROUND_OFF = 1e-9  # of the table's length, that an argument may lie beyond its ends
UNKNOWN = (float("nan"),) * 4


def continued(x: Sequence[Scalar], y: Sequence[Scalar], extrapolate: str) -> list[Scalar]:
    """Breakpoints, then the cubics of the natural spline through (x, y) and of what continues it on both sides."""
    pieces, count = spline(x, y), len(x)
    knots, cubics = pieces[:count], pieces[count:]
    slope_first, first = cubics[2], cubics[3]
    a, b, slope, value = cubics[-4:]
    h = x[-1] - x[-2]
    slope_last = (3.0 * a * h + 2.0 * b) * h + slope
    last = ((a * h + b) * h + slope) * h + value
    if extrapolate == "hold":
        return [x[0] - 1.0, *knots, x[-1] + 1.0, 0.0, 0.0, 0.0, first, *cubics, 0.0, 0.0, 0.0, last]
    if extrapolate == "linear":
        before = [0.0, 0.0, slope_first, first - slope_first]
        return [x[0] - 1.0, *knots, x[-1] + 1.0, *before, *cubics, 0.0, 0.0, slope_last, last]
    beyond = ROUND_OFF * (x[-1] - x[0])
    knots = [x[0] - 1.0 - beyond, x[0] - beyond, *knots[:-1], x[-1] + beyond, x[-1] + 1.0 + beyond]
    return [*knots, *UNKNOWN, 0.0, 0.0, slope_first, first - beyond * slope_first, *cubics, *UNKNOWN]


def breakpoints(rows: int, extrapolate: str) -> int:
    """Number of breakpoints of a table that ``continued`` continues."""
    return rows + (3 if extrapolate == "none" else 2)


def spline(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """Breakpoints, then the cubics of the natural spline through (x, y), highest power first."""
    intervals = range(len(x) - 1)
    h = [x[i + 1] - x[i] for i in intervals]
    slope = [(y[i + 1] - y[i]) / h[i] for i in intervals]
    curvature = _curvatures(h, slope)
    pieces = list(x)
    for i in intervals:
        a, b = curvature[i], curvature[i + 1]
        pieces += [(b - a) / (6.0 * h[i]), 0.5 * a, slope[i] - h[i] * (2.0 * a + b) / 6.0, y[i]]
    return pieces


def _curvatures(h: Sequence[Scalar], slope: Sequence[Scalar]) -> list[Scalar]:
    """Second derivatives at the breakpoints, zero at both ends (Thomas algorithm, analytic in its arguments)."""
    upper, right = [0.0], [0.0]
    for i in range(1, len(h)):
        pivot = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * upper[-1]
        upper.append(h[i] / pivot)
        right.append((6.0 * (slope[i] - slope[i - 1]) - h[i - 1] * right[-1]) / pivot)
    values = [0.0] * (len(h) + 1)
    for i in range(len(h) - 1, 0, -1):
        values[i] = right[i] - upper[i] * values[i + 1]
    return values
