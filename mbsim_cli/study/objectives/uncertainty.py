"""Discretisation errors of objectives, from the course of what they are of along time."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.solve.open_trees.methods import SHARES, WEIGHTS

# The instants of a run as objectives take them, block by block, with what integrals weigh them by.

INSTANTS = 5  # that are kept of those behind


class Instants(NamedTuple):
    """Connected instants (B,), the last of those before among them."""

    time: np.ndarray  # (B,) s
    weights: np.ndarray  # (2, B) of an integral by the trapezoidal rule, and of its error by quadrature
    by_motion: np.ndarray  # (1 + p, B) of the errors that the motion leaves in an integral and its derivatives

    def errors_by_motion(self, rows: np.ndarray) -> np.ndarray:
        """Those of the integrals of rows (1 + q, B); derivatives that were not watched go with the motion."""
        by_motion = self.by_motion if len(self.by_motion) == len(rows) else self.by_motion[:1]
        return (by_motion * rows).sum(axis=1)


class Course:
    """Joins each block to the last instant of the one before, so that no interval is lost; once for all objectives.

    Each error of an integral is a sum over intervals of a factor times the change of the integrand: for quadrature that
    by which the trapezoidal rule on pairs of intervals differs, for the motion the time by which it is ahead, which is
    another one for each derivative.
    """

    def __init__(self) -> None:
        self.last = np.zeros(0)  # times of the last instants
        self.start = 0.0
        self.intervals = 0
        self.ahead: np.ndarray | None = None  # (1 + p,) by how much time motions are ahead at the last instant
        self._latest: tuple[np.ndarray | None, Instants] = None, Instants(self.last, *np.zeros((2, 2, 0)))

    def instants(self, time: np.ndarray, shift: np.ndarray | None) -> Instants:
        """Those that the times (B,) of a block end; whoever asks for the same block again is given the same.

        ``shift`` (1 + p, B) is by how much time their motion and its derivatives are ahead, None if not known.
        """
        if self._latest[0] is not time:
            self._latest = time, self._joined(time, shift)
        return self._latest[1]

    def _joined(self, time: np.ndarray, shift: np.ndarray | None) -> Instants:
        known = len(self.last[-1:])
        if not known:
            self.start = time[0]
        self.last, joined = np.append(self.last, time)[-INSTANTS:], np.append(self.last[-1:], time)
        shifts = np.zeros((1 if shift is None else len(shift), len(joined)))
        if shift is not None:
            shifts[:, known:] = shift
            if known and self.ahead is not None:
                shifts[:, 0] = self.ahead
        self.ahead = None if shift is None else shifts[:, -1]
        by_quadrature = np.diff(joined) / -6.0
        by_quadrature[(self.intervals + 1) % 2 :: 2] *= -1.0
        self.intervals += len(joined) - 1
        weights = np.stack([trapezoidal(joined), _of_changes(by_quadrature)])
        return Instants(joined, weights, _of_changes(0.5 * (shifts[:, 1:] + shifts[:, :-1])))


def _of_changes(factors: np.ndarray) -> np.ndarray:
    """Weights (..., B) of instants in the sum of factors (..., B - 1) times the changes over intervals."""
    weights = np.zeros((*factors.shape[:-1], factors.shape[-1] + 1))
    weights[..., 1:] = factors
    weights[..., :-1] -= factors
    return weights


def trapezoidal(time: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule."""
    half, weights = 0.5 * np.diff(time), np.zeros(len(time))
    weights[:-1] = half
    weights[1:] += half
    return weights


# Estimated discretisation errors of objectives, added up beside them. Derivation: docs/theory/resolution.md.

CANCELS = 1e-2  # of what is added up: a number that cancels to less is measured by that
INSENSITIVE = (
    0.1  # of a value: a derivative that changes it by less over the range of its parameter is measured by that
)
CONSTANT = 1e-3  # of its size: what wanders less is constant but for errors
ROUND_OFF = 1e-12  # of what an integrand is made of: a number below is zero
AT_REST = 2e-10  # of the same: what wanders less is at rest
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
        """Sizes (1 + p,) for relative errors: value and derivatives by ``parameters`` (p,), unless they cancel."""
        return np.maximum(self._shown(value, gradient), self._noughts(value, parameters))

    def _shown(self, value: float, gradient: np.ndarray) -> np.ndarray:
        """Sizes (1 + p,) of the numbers, or of what they are left of."""
        numbers = np.append(value, gradient[: len(self.gradient)])
        return np.maximum(np.abs(numbers), CANCELS * np.append(self.size, self.gradient_size))

    def _noughts(self, value: float, parameters: np.ndarray) -> np.ndarray:
        """Below what (1 + p,) a value and derivatives are zero but for round-off."""
        of_parameters = np.where(parameters == 0.0, 1.0, np.abs(parameters))[: len(self.gradient)]
        size = max(abs(value), CANCELS * self.size)
        noughts = np.append(0.0, NOUGHT * max(size, ROUND_OFF * self.scale) / of_parameters)
        return np.maximum(noughts, ROUND_OFF * self.scale / np.append(1.0, of_parameters))

    def told(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> "Uncertainty":
        """The same without an estimate of what is zero but for round-off, which none counts."""
        found = self._unless(self._shown(value, gradient) < self._noughts(value, parameters))
        return self._replace(value=found[0], gradient=found[1:])

    def _unless(self, nought: np.ndarray) -> np.ndarray:
        """All errors (1 + p,), NaN of what is zero but for round-off."""
        return np.where(nought, np.nan, np.append(self.value, self.gradient))

    def relative(
        self, value: float, gradient: np.ndarray, parameters: np.ndarray, ranges: np.ndarray | None = None
    ) -> np.ndarray:
        """Errors (1 + p,) relative to the value and the derivatives by ``parameters`` (p,); as ``told``.

        A derivative by which the value hardly changes over the range of its parameter, zero where there is none, is
        measured by a part of the value over that range: at an optimum it vanishes, and its error does not.
        """
        shown, noughts = self._shown(value, gradient), self._noughts(value, parameters)
        found, size = self._unless(shown < noughts), np.maximum(shown, noughts)
        if ranges is not None:
            ranges, least = ranges[: len(self.gradient)], INSENSITIVE * max(abs(value), CANCELS * self.size)
            size[1:] = np.maximum(size[1:], np.divide(least, ranges, out=np.zeros(len(ranges)), where=ranges > 0.0))
        unknown = np.isnan(found) | np.isnan(size)
        return np.divide(found, size, out=np.where(unknown, np.nan, 0.0), where=size > 0.0)

    def plus(self, errors: np.ndarray) -> "Uncertainty":
        """The same with further errors (1 + p,)."""
        return self._replace(value=self.value + errors[0], gradient=self.gradient + errors[1:])

    def with_gradient(self, errors: np.ndarray) -> "Uncertainty":
        """The same with other errors (p,) of derivatives, whose sizes are not known."""
        return self._replace(gradient=errors, gradient_size=np.zeros(len(errors)))

    def unknown(self) -> "Uncertainty":
        """The same without an estimate."""
        return self._replace(value=float("nan"), gradient=np.full(len(self.gradient), np.nan))


class Spread:
    """How far a signal and its derivatives by p parameters wander, as long as the signal may be a constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._scale = np.zeros(1 + p)
        self._wanders = False  # for certain, and so for ever

    def add(self, rows: np.ndarray, scale: float = 0.0) -> None:
        """Take rows (1 + p, B) in; ``scale`` is how large the signal would be if nothing cancelled in it."""
        if self._wanders:
            return
        self._scale[0] = scale
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
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        size = np.maximum(size, np.where(spread > AT_REST * self._scale, self._scale, 0.0))  # else it is at rest
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


# Weights of Gauss's instants in a step, on (-1, 1), in the coefficients of the Legendre polynomials 1 to 3.
_AT = 2.0 * SHARES - 1.0
_LEGENDRE = np.stack([3.0 * _AT, 2.5 * (3.0 * _AT**2 - 1.0), 3.5 * (5.0 * _AT**3 - 3.0 * _AT)]) * WEIGHTS


def _errors_inside(length: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Errors (1 + q,) of integrals of rows (1 + q, B) by Gauss's rule, whose instants are inside whole steps.

    The rule is exact but for what the signal has of polynomials of degree 8 and above. Coefficients fall from degree
    to degree as far as the signal is smooth: by as much from 1 to 8 as three and a half times from 1 to 3. A step
    about an extremum has little of degree 1, so it goes by its neighbours, too.
    """
    sizes = np.abs(rows.reshape(len(rows), -1, SHARES.size) @ _LEGENDRE.T)  # (1 + q, steps, 3)
    low, third = _beside(sizes[..., :2].max(axis=2)), _beside(sizes[..., 2])
    ratio = np.divide(third, low, out=np.ones_like(low), where=low > 0.0)
    lengths = np.abs(length.reshape(-1, SHARES.size).sum(axis=1))
    return np.maximum(low, third) * np.minimum(ratio, 1.0) ** 3.5 @ lengths


def _beside(sizes: np.ndarray) -> np.ndarray:
    """The largest of each step and of those beside it, (..., steps)."""
    found = sizes.copy()
    found[..., 1:] = np.maximum(found[..., 1:], sizes[..., :-1])
    found[..., :-1] = np.maximum(found[..., :-1], sizes[..., 1:])
    return found


class Integrals:
    """Integrals of rows (1 + p, B) over instants, and their errors by two causes: quadrature, and the motion.

    The first row is an integrand, the others its derivatives.
    """

    def __init__(self, p: int):
        self._sums: np.ndarray = np.zeros((3, 1 + p))  # integrals, their errors by quadrature and by motion
        self._sizes = np.zeros(1 + p)
        self._length = 0.0  # of the last interval
        self._ends = np.zeros((1 + p, 0))  # rows of the last three instants
        self._inside = False  # whether instants inside steps are summed

    def add(self, instants: Instants, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Take connected instants in; what was added so far shrinks."""
        self._sums = shrink * self._sums + np.vstack([instants.weights @ rows.T, instants.errors_by_motion(rows)])
        self._sizes = shrink * self._sizes + np.abs(rows) @ instants.weights[0]
        self._length = instants.time[-1] - instants.time[-2:][0]
        self._ends = np.concatenate([shrink * self._ends[:, :-1], rows[:, -3:]], axis=1)[:, -3:]

    def add_inside(self, length: np.ndarray, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Take instants inside steps in, each of which weighs a ``length``; what was added so far shrinks."""
        self._inside = True
        errors = _errors_inside(length, rows)
        self._sums = shrink * self._sums + np.vstack([rows @ length, errors, np.zeros_like(errors)])
        self._sizes = shrink * self._sizes + np.abs(rows) @ np.abs(length)

    @property
    def value(self) -> np.ndarray:
        """The integrals (1 + p,)."""
        return self._sums[0]

    def _errors(self, intervals: int) -> np.ndarray:
        """Errors (2, 1 + p) of the integrals by either cause, over so many intervals."""
        if self._inside:
            return self._sums[1:]
        if intervals == 1:  # tells nothing
            return self._sums[1:] * np.nan
        errors = self._sums[1:].copy()
        if intervals % 2:
            errors[0] += self._last_interval
        return errors

    @property
    def _last_interval(self) -> np.ndarray:
        """The share of an interval without a partner in the quadrature (1 + p,): half of the last pair's error."""
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
