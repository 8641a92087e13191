"""What sensors showed, at any time."""

from collections.abc import Mapping

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Block


class Recorder:
    """Keeps some sensors, by their rows of the record, at every instant."""

    def __init__(self, rows: Mapping[str, slice]):
        self._rows = rows
        self._times: list[np.ndarray] = []
        self._values: dict[str, list[np.ndarray]] = {name: [] for name in rows}

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        self._times.append(block.time.copy())
        for name, rows in self._rows.items():
            self._values[name].append(block.sensors[:, rows].copy())

    def at(self, name: str, time: float) -> np.ndarray:
        """Sensor (k,) at a time: an instant's own, or the cubic through the four instants around it."""
        times, values = np.concatenate(self._times), np.concatenate(self._values[name])
        step = times[-1] - times[-2] if len(times) > 1 else 1.0
        if not times[0] - 1e-6 * step <= time <= times[-1] + 1e-6 * step:
            raise AnalysisError(f"sensor {name} is checked at t = {time:g} s, but the analysis ends at {times[-1]:g} s")
        nearest = int(np.argmin(abs(times - time)))
        if abs(times[nearest] - time) < 1e-6 * step or len(times) < 4:
            return values[nearest]
        first = min(max(0, int(np.searchsorted(times, time)) - 2), len(times) - 4)
        near = times[first : first + 4]
        weights = [np.prod([(time - b) / (a - b) for b in near if b != a]) for a in near]
        return np.array(weights) @ values[first : first + 4]
