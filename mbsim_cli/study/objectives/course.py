"""The instants of a run as objectives take them, block by block, with what integrals weigh them by."""

from typing import NamedTuple

import numpy as np

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
