"""Estimated discretisation errors of objectives, added up beside them. Derivation: docs/theory/resolution.md."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.study.objectives.course import Instants

CANCELS = 1e-2  # of what is added up: a number that cancels to less is measured by that
CONSTANT = 1e-3  # of its size: what wanders less is constant but for errors
ROUND_OFF = 1e-12  # of what an integrand is made of: a number below is zero
NOUGHT = 1e-9  # of a value over a parameter: a derivative below is round-off


class Uncertainty(NamedTuple):
    """Estimated errors of a value and of its derivatives by p parameters, and the sizes of what adds up to them.

    ``scale`` is how large the value would be if nothing cancelled in its integrand.
    """

    value: float
    gradient: np.ndarray  # (p,)
    size: float
    gradient_size: np.ndarray  # (p,)
    scale: float = 0.0

    @classmethod
    def of(cls, errors: np.ndarray, sizes: np.ndarray) -> "Uncertainty":
        """From errors (1 + p,) and sizes (1 + p,), those of the value first."""
        return cls(errors[0], errors[1:], sizes[0], sizes[1:])

    def sizes(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """What errors (1 + p,) are relative to: value and derivatives by ``parameters`` (p,), unless they cancel."""
        p = len(self.gradient)
        sizes = np.maximum(np.abs(np.append(value, gradient[:p])), CANCELS * np.append(self.size, self.gradient_size))
        of_parameters = np.where(parameters[:p] == 0.0, 1.0, np.abs(parameters[:p]))
        sizes[1:] = np.maximum(sizes[1:], NOUGHT * sizes[0] / of_parameters)
        return np.maximum(sizes, ROUND_OFF * self.scale / np.append(1.0, of_parameters))

    def relative(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Errors (1 + p,) relative to the value and the derivatives by ``parameters`` (p,)."""
        found, size = np.append(self.value, self.gradient), self.sizes(value, gradient, parameters)
        return np.divide(found, size, out=np.where(np.isnan(found), np.nan, 0.0), where=size > 0.0)

    def plus(self, errors: np.ndarray) -> "Uncertainty":
        """The same with further errors (1 + p,)."""
        return self._replace(value=self.value + errors[0], gradient=self.gradient + errors[1:])

    @property
    def of_value(self) -> "Uncertainty":
        """The same of the value alone."""
        return Uncertainty(self.value, np.zeros(0), self.size, np.zeros(0), self.scale)

    def unknown(self) -> "Uncertainty":
        """The same without an estimate."""
        return self._replace(value=float("nan"), gradient=np.full(len(self.gradient), np.nan))


class Spread:
    """How far a signal and its derivatives by p parameters wander, as long as the signal may be a constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._wanders = False  # for certain, and so for ever

    def add(self, rows: np.ndarray) -> None:
        """Take rows (1 + p, B) in."""
        if self._wanders:
            return
        self._widen(slice(0, 1), rows.real)
        if self.of_constants[0] > 0.0 or self._least[0] == self._most[0]:  # derivatives of others are not constant
            self._widen(slice(1, None), rows.real)
        else:
            self._wanders = True

    def _widen(self, part: slice, rows: np.ndarray) -> None:
        self._least[part] = np.minimum(self._least[part], rows[part].min(axis=1))
        self._most[part] = np.maximum(self._most[part], rows[part].max(axis=1))

    @property
    def of_constants(self) -> np.ndarray:
        """How far (1 + p,) the constants of a motion wander, known by their looks; zero for what is none."""
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


class Integrals:
    """Integrals of rows (1 + p, B) over instants, and their errors by two causes: quadrature, and the motion.

    The first row is an integrand, the others its derivatives.
    """

    def __init__(self, p: int):
        self._sums: np.ndarray = np.zeros((3, 1 + p))  # as ``Instants.weights``
        self._sizes = np.zeros(1 + p)
        self._length = 0.0  # of the last interval
        self._ends = np.zeros((1 + p, 0))  # rows of the last three instants

    def add(self, instants: Instants, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Take connected instants in; what was added so far shrinks."""
        self._sums = shrink * self._sums + instants.weights @ rows.T
        self._sizes = shrink * self._sizes + np.abs(rows) @ instants.weights[0]
        self._length = instants.time[-1] - instants.time[-2:][0]
        self._ends = np.concatenate([shrink * self._ends[:, :-1], rows[:, -3:]], axis=1)[:, -3:]

    @property
    def value(self) -> np.ndarray:
        """The integrals (1 + p,)."""
        return self._sums[0]

    def _errors(self, intervals: int) -> np.ndarray:
        """Errors (2, 1 + p) of the integrals by either cause, over so many intervals."""
        if intervals == 1:  # tells nothing
            return self._sums[1:] * np.nan
        errors = self._sums[1:].copy()
        if intervals % 2:
            errors[0] += self._last_interval
        return errors

    @property
    def _last_interval(self) -> np.ndarray:
        """What an interval without a partner adds to the quadrature (1 + p,): half of the last pair's error."""
        before, middle, end = self._ends.T
        return self._length * ((end - middle) / 6.0 + (before - 2.0 * middle + end) / 12.0)

    def uncertainty(self, intervals: int) -> Uncertainty:
        """Both causes together; they may have different signs, and are not set off against each other."""
        return Uncertainty.of(np.abs(self._errors(intervals)).sum(axis=0), self._sizes)

    def uncertainty_of_maximum(self, intervals: int, sharpness: complex) -> Uncertainty:
        """That of log(integral)/sharpness and of (integral of derivatives) / integral."""
        mean = self.value[0]
        errors, slope = self._errors(intervals) / mean, self.value[1:] / mean
        value, gradient = errors[:, 0], errors[:, 1:]
        change = np.abs(gradient - np.multiply.outer(value, slope)).sum(axis=0)
        return Uncertainty(np.abs(value / sharpness).sum(), change, 0.0, self._sizes[1:] / abs(mean))

    def narrowness(self, intervals: int) -> float:
        """How far the integral is that of a single instant: 1 if it is, 0 if quadrature follows the integrand."""
        quadrature = self._errors(intervals)[0, 0]
        return float(np.minimum(1.0, 3.0 * np.abs(quadrature / self.value[0])))
