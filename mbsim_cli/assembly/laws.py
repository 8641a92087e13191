"""Laws: kinds and coefficients, natural cubic splines included."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from mbsim_cli.assembly.arrays import table
from mbsim_cli.assembly.frames import sine
from mbsim_cli.assembly.numbers import Numbers
from mbsim_cli.assembly.system import System
from mbsim_cli.assembly.vectors import Scalar
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws


class LawTable:
    """Collects laws; a named law is stored once, an inline one where it stands."""

    def __init__(self, system: System):
        self._system = system
        self._numbers: dict[str, int] = {}
        self.kind: list[int] = []
        self.offset: list[int] = []
        self.count: list[int] = []

    @property
    def names(self) -> list[str]:
        """Paths of the laws in the file."""
        return list(self._numbers)

    def number(self, law: Any, path: str) -> int:
        """Number of a law given by name, inline, or not at all (NONE)."""
        if law is None:
            return NONE
        if isinstance(law, str):
            law, path = self._system.model_file.laws[law], f"laws.{law}"
        if path not in self._numbers:
            if law.type == "table":
                return self._from_table(law, path)
            numbers = self._system.geometry.numbers
            kind = Law[law.type.upper()]
            self._numbers[path] = len(self._numbers)
            self.kind.append(int(kind))
            self.offset.append(self._system.theta.add(lambda: coefficients(numbers, law)))
            self.count.append(count(law, len(self._system.theta) - self.offset[-1]))
        return self._numbers[path]

    def _from_table(self, law: Any, path: str) -> int:
        """Add the spline through a column of a table."""
        tables = self._system.tables
        columns = tables.columns(law.file, f"{path}.file")
        x = tables.times(columns, law.time, f"{path}.time")
        y = tables.column(columns, law.column, f"{path}.column")
        block = spline(x.tolist(), y.tolist()) if len(x) == len(y) > 1 else (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        self._numbers[path] = len(self._numbers)
        self.kind.append(int(Law.SPLINE))
        self.offset.append(self._system.theta.add(lambda: block))
        self.count.append(len(x))
        return self._numbers[path]

    def table(self) -> Laws:
        """The laws as arrays."""
        return table(Laws, kind=self.kind, theta=self.offset, count=self.count)


def count(law: Any, size: int) -> int:
    """Number of coefficients, or of a spline's breakpoints."""
    return len(law.values) if law.type == "spline" else size


def coefficients(numbers: Numbers, law: Any) -> Sequence[Scalar]:
    """Coefficients of a law as ``model.layout`` orders them."""
    match law.type:
        case "constant":
            return (numbers(law.value),)
        case "polynomial":
            return numbers.vector(law.coefficients)
        case "harmonic":
            omega = (
                numbers(law.angular_frequency) if law.frequency is None else 6.283185307179586 * numbers(law.frequency)
            )
            return (numbers(law.offset), numbers(law.amplitude), omega, numbers(law.phase))
        case "smooth_step":
            return numbers.vector((law.start, law.end, law.from_, law.to))
    return spline(numbers.vector(law.arguments), numbers.vector(law.values))


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


def law_at(laws: Laws, theta: Sequence[Scalar], law: int, x: Scalar) -> Scalar:
    """Value of a packed law, without compiled code; analytic, so that a complex step gives its derivative."""
    kind, first, count = Law(laws.kind[law]), laws.theta[law], laws.count[law]
    c = theta[first : first + 5 * count]
    match kind:
        case Law.HARMONIC:
            return c[0] + c[1] * sine(c[2] * x + c[3])
        case Law.SMOOTH_STEP:
            if not c[0].real < x.real < c[1].real:
                return c[2] if x.real <= c[0].real else c[3]
            s = (x - c[0]) / (c[1] - c[0])
            return c[2] + (c[3] - c[2]) * s * s * s * (10.0 + s * (6.0 * s - 15.0))
        case Law.SPLINE:
            piece = min(max(bisect_right([knot.real for knot in c[:count]], x.real) - 1, 0), count - 2)
            a, b, slope, value = c[count + 4 * piece : count + 4 * piece + 4]
            t = x - c[piece]
            return ((a * t + b) * t + slope) * t + value
    total = 0.0
    for coefficient in reversed(c[:count]):
        total = total * x + coefficient
    return total
