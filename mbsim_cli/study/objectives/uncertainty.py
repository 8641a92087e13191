"""Estimated discretisation errors of objectives, added up beside them. Derivation: docs/theory/resolution.md."""

from typing import NamedTuple

import numpy as np

CANCELS = 1e-2  # of what is added up: a number that cancels to less is measured by that
CONSTANT = 1e-3  # of its size: what wanders less is constant but for errors
NOUGHT = 1e-9  # of a value over a parameter: a derivative below is round-off


class Uncertainty(NamedTuple):
    """Estimated errors of a value and of its derivatives by p parameters, and the sizes of what adds up to them."""

    value: float
    gradient: np.ndarray  # (p,)
    size: float
    gradient_size: np.ndarray  # (p,)

    def sizes(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """What errors (1 + p,) are relative to: value and derivatives by ``parameters`` (p,), unless they cancel."""
        p = len(self.gradient)
        sizes = np.maximum(np.abs(np.append(value, gradient[:p])), CANCELS * np.append(self.size, self.gradient_size))
        of_parameters = np.where(parameters[:p] == 0.0, 1.0, np.abs(parameters[:p]))
        sizes[1:] = np.maximum(sizes[1:], NOUGHT * sizes[0] / of_parameters)
        return sizes

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
        return Uncertainty(self.value, np.zeros(0), self.size, np.zeros(0))

    def unknown(self) -> "Uncertainty":
        """The same without an estimate."""
        return self._replace(value=float("nan"), gradient=np.full(len(self.gradient), np.nan))


class Spread:
    """How far a signal and its derivatives by p parameters wander, as long as the signal may be a constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._wanders = False  # for certain, and so for ever

    def add(self, value: np.ndarray, derivative: np.ndarray) -> None:
        """Take values (B,) and derivatives (B, p) in."""
        if self._wanders:
            return
        self._widen(slice(0, 1), value.real[:, None])
        if self.of_constants[0] > 0.0 or self._least[0] == self._most[0]:  # derivatives of others are not constant
            self._widen(slice(1, None), derivative.real)
        else:
            self._wanders = True

    def _widen(self, part: slice, rows: np.ndarray) -> None:
        self._least[part] = np.minimum(self._least[part], rows.min(axis=0))
        self._most[part] = np.maximum(self._most[part], rows.max(axis=0))

    @property
    def of_constants(self) -> np.ndarray:
        """How far (1 + p,) the constants of a motion wander, known by their looks; zero for what is none."""
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


class IntegralErrors:
    """Errors of an integral over instants, and of its derivatives, by two causes: its quadrature, and the motion.

    Each is a sum over intervals of a factor times the change of the integrand: for quadrature that by which the
    trapezoidal rule on pairs of intervals differs, for the motion the time by which it is ahead.
    """

    def __init__(self, p: int):
        self._value, self._gradient = np.zeros(2), np.zeros((2, p))
        self._size, self._gradient_size = 0.0, np.zeros(p)
        self._intervals = 0
        self._length = 0.0  # of the last interval
        self._ends = np.zeros((0, 1 + p))  # integrand and its derivatives at the last three instants

    def add(self, rows: tuple[np.ndarray, ...], weights: np.ndarray, shrink: float = 1.0) -> None:
        """Take connected rows of time, integrand, its derivatives and shift; what was added so far shrinks."""
        time, value, derivative, shift = rows
        of_causes = self._weights(time, shift)
        self._value = shrink * self._value + of_causes @ value
        self._gradient = shrink * self._gradient + of_causes @ derivative
        self._size = shrink * self._size + weights @ np.abs(value)
        self._gradient_size = shrink * self._gradient_size + weights @ np.abs(derivative)
        self._intervals += len(time) - 1
        self._length = time[-1] - time[-2:][0]
        ends = np.column_stack([value[-3:], derivative[-3:]])
        self._ends = np.concatenate([shrink * self._ends[:-1], ends])[-3:]

    def _weights(self, time: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Weights (2, B) of the integrand at instants in both errors."""
        factors = np.empty((2, len(time) - 1))
        np.multiply(np.diff(time), -1.0 / 6.0, out=factors[0])
        factors[0, (self._intervals + 1) % 2 :: 2] *= -1.0
        np.multiply(shift[1:] + shift[:-1], 0.5, out=factors[1])
        weights = np.zeros((2, len(time)))
        weights[:, 1:] = factors
        weights[:, :-1] -= factors
        return weights

    @property
    def causes(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the integral (2,) and of its derivatives (2, p) by either cause."""
        if self._intervals == 1:  # tells nothing
            return self._value * np.nan, self._gradient * np.nan
        value, gradient = self._value.copy(), self._gradient.copy()
        if self._intervals % 2:
            unpaired = self._last_interval
            value[0] += unpaired[0]
            gradient[0] += unpaired[1:]
        return value, gradient

    @property
    def _last_interval(self) -> np.ndarray:
        """What an interval without a partner adds to the quadrature (1 + p,): half of the last pair's error."""
        before, middle, end = self._ends
        return self._length * ((end - middle) / 6.0 + (before - 2.0 * middle + end) / 12.0)

    @property
    def of_integral(self) -> Uncertainty:
        """Both causes together; they may have different signs, and are not set off against each other."""
        value, gradient = self.causes
        return Uncertainty(np.abs(value).sum(), np.abs(gradient).sum(axis=0), self._size, self._gradient_size)

    def of_smooth_maximum(self, mean: complex, slope: np.ndarray, sharpness: complex) -> Uncertainty:
        """That of log(integral)/sharpness and of slope = (integral of derivatives) / integral."""
        value, gradient = (errors / mean for errors in self.causes)
        change = np.abs(gradient - np.multiply.outer(value, slope)).sum(axis=0)
        return Uncertainty(np.abs(value / sharpness).sum(), change, 0.0, self._gradient_size / abs(mean))
