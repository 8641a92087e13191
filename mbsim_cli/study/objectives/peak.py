"""What a signal and its derivatives do around the instant at which it is largest."""

import numpy as np


class Peak:
    """Estimates how far rows (1 + p, B), a signal and its derivatives, are off where the signal is largest.

    The largest value lies up to half an interval beside the largest instant. A signal exceeds its instants there by an
    eighth of their second difference; derivatives, which have no extremum, are off by half of their change.
    A signal that is largest at an end of the run is so at that instant.
    """

    def __init__(self, p: int):
        self._before = np.zeros((1 + p, 0))  # rows of the last instant but one
        self.error = np.zeros(1 + p)

    def add(self, rows: np.ndarray, largest: int | None) -> None:
        """Take rows in that begin with the last instant before; ``largest`` is None if none is above those before."""
        if largest is not None:
            near = rows[:, max(0, largest - 1) : largest + 2]
            self._look(near if largest else np.concatenate([self._before, near], axis=1))
        if rows.shape[1] > 1:
            self._before = rows[:, -2:-1].copy()

    def _look(self, near: np.ndarray) -> None:
        """Estimate from rows at the largest instant and beside it, if it has two sides."""
        self.error = np.zeros(len(near))
        if near.shape[1] == 3:
            steps = np.diff(near.real)
            self.error = 0.5 * np.abs(steps).max(axis=1)
            self.error[0] = abs(steps[0, 1] - steps[0, 0]) / 8.0
