"""Events of tyres: where a wheel leaves or meets the road, and where the instants are too coarse for the road."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, InverseBlock, Problem
from mbsim_cli.solve.tables import ends

STEPS = 3  # a feature of the road passed in fewer is not resolved
_ONLY_HERE = "gradients hold for these instants only"


class ContactHealth:
    """Watches the tyres of a run go by; ``contacts`` say where the record holds each one's load and place."""

    def __init__(self, problem: Problem, contacts: Sequence[Any]):
        self._contacts = contacts
        self._features = [features(problem, contact.road) for contact in contacts]
        self._lifted: dict[str, list[float]] = {}  # times of each tyre's lift-offs and landings
        self._coarse: dict[str, tuple[float, float, np.ndarray]] = {}  # steps, time and feature of the worst passage
        self._last: tuple[np.ndarray, np.ndarray] | None = None  # time and sensors of the latest instant

    def add(self, block: Block | InverseBlock) -> None:
        """Take the next instants in."""
        if not self._contacts or not len(block.time):
            return
        time, sensors = block.time, np.real(block.sensors)
        if self._last is not None:
            time = np.append(self._last[0], time)
            sensors = np.concatenate([self._last[1], sensors])
        self._last = time[-1:].copy(), sensors[-1:].copy()
        for contact, ranges in zip(self._contacts, self._features, strict=True):
            touching = sensors[:, contact.load] > 0.0
            self._lifted.setdefault(contact.tyre, []).extend(time[1:][touching[1:] != touching[:-1]].tolist())
            self._passages(contact.tyre, time, sensors[:, contact.place], touching, ranges)

    def _passages(self, tyre: str, time: np.ndarray, x: np.ndarray, touching: np.ndarray, ranges: np.ndarray) -> None:
        low, high, way = np.minimum(x[1:], x[:-1]), np.maximum(x[1:], x[:-1]), np.abs(np.diff(x))
        for start, end in ranges:
            step = np.flatnonzero((low < end) & (high > start) & (end - start < STEPS * way) & touching[1:])
            if len(step):
                steps = (end - start) / float(way[step].max())
                if steps < self._coarse.get(tyre, (STEPS,))[0]:
                    self._coarse[tyre] = steps, float(time[step[0] + 1]), np.array([start, end])

    @property
    def warnings(self) -> list[str]:
        """Sentences on events."""
        found = []
        for tyre, times in self._lifted.items():
            if times:
                often = (
                    f"leaves or meets the road {len(times)} times, first"
                    if len(times) > 1
                    else "leaves or meets the road"
                )
                found.append(f"tyre {tyre} {often} at t = {times[0]:.4g} s")
        for tyre, (steps, time, (start, end)) in self._coarse.items():
            found.append(
                f"tyre {tyre} passes its road between x = {start:.6g} m and {end:.6g} m in {steps:.2g} steps, at "
                f"t = {time:.4g} s; {_ONLY_HERE}: {STEPS} steps or more resolve it"
            )
        return found


def features(problem: Problem, law: int) -> np.ndarray:
    """Ranges of x (k, 2) in which the road of a law changes its slope."""
    laws, theta, found = problem.model.laws, problem.theta, []
    while law != NONE:
        first, count = laws.theta[law], laws.count[law]
        kind, window = laws.kind[law], laws.window[law]
        if window != NONE:
            found.append(theta[window : window + 2])
        elif kind == Law.SMOOTH_STEP:
            found.append(theta[first : first + 2])
        elif kind == Law.ONE_SIDED:
            found.append(np.array([theta[first], theta[first] + theta[first + 1]]))
        elif kind == Law.SPLINE:
            knots = theta[first : first + count]
            if ends(laws, theta, law) is not None:
                knots = knots[2:-1]
            found += list(np.column_stack([knots[:-1], knots[1:]]))
        law = laws.next[law]
    return np.array(found).reshape(-1, 2)
