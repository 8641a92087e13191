"""The instants of a run as objectives take them, block by block, with what integrals weigh them by."""

from typing import NamedTuple

import numpy as np

INSTANTS = 5  # that are kept of those behind


class Instants(NamedTuple):
    """Connected instants (B,), the last of those before among them."""

    time: np.ndarray  # (B,) s
    weights: np.ndarray  # (3, B) of an integral by the trapezoidal rule, and of its errors by quadrature and by motion


class Course:
    """Joins each block to the last instant of the one before, so that no interval is lost; once for all objectives.

    Each error of an integral is a sum over intervals of a factor times the change of the integrand: for quadrature that
    by which the trapezoidal rule on pairs of intervals differs, for the motion the time by which it is ahead.
    """

    def __init__(self) -> None:
        self.last = np.zeros(0)  # times of the last instants
        self.start = 0.0
        self.intervals = 0
        self.ahead: float | None = None  # by how much time the motion is ahead at the last instant
        self._latest: tuple[np.ndarray | None, Instants] = None, Instants(self.last, np.zeros((3, 0)))

    def instants(self, time: np.ndarray, shift: np.ndarray | None) -> Instants:
        """Those that the times (B,) of a block end; whoever asks for the same block again is given the same.

        ``shift`` (B,) is by how much time their motion is ahead, None if not known.
        """
        if self._latest[0] is not time:
            self._latest = time, self._joined(time, shift)
        return self._latest[1]

    def _joined(self, time: np.ndarray, shift: np.ndarray | None) -> Instants:
        known = len(self.last[-1:])
        if not known:
            self.start = time[0]
        self.last, joined = np.append(self.last, time)[-INSTANTS:], np.append(self.last[-1:], time)
        shifts = np.zeros(len(joined))
        if shift is not None:
            shifts[known:], shifts[:known] = shift, self.ahead
        self.ahead = None if shift is None else float(shifts[-1])
        weights = self._weights(joined, shifts)
        self.intervals += len(joined) - 1
        return Instants(joined, weights)

    def _weights(self, time: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """``Instants.weights``; errors are as of ``intervals`` before."""
        length = np.diff(time)
        factors = np.empty((2, len(length)))
        np.multiply(length, -1.0 / 6.0, out=factors[0])
        factors[0, (self.intervals + 1) % 2 :: 2] *= -1.0
        np.multiply(shift[1:] + shift[:-1], 0.5, out=factors[1])
        weights = np.zeros((3, len(time)))
        weights[0] = trapezoidal(time)
        weights[1:, 1:] = factors
        weights[1:, :-1] -= factors
        return weights


def trapezoidal(time: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule."""
    half, weights = 0.5 * np.diff(time), np.zeros(len(time))
    weights[:-1] = half
    weights[1:] += half
    return weights
