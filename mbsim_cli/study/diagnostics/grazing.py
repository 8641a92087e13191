"""Grazing: a stop, contact or tyre is touched without normal speed, and the motion has no derivative there.

A small change of a parameter that moves the gap turns a miss into a hit. As a function of it the later motion has a
finite slope on one side, and on the other side it changes like a square root. The gap is a parabola about its least
value. Where that value is zero within the change of the gap over one step, the steps cannot tell a miss from a hit.
docs/theory/ali3p.md, section 7.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.problem import Block, Problem

BEFORE = 4  # instants for which there is no contact before: less is a body that comes to rest on another
WITHIN = 0.5  # of the second derivative of the gap times the square of the step: contact of two steps
MOVES = 1.0  # of the same: how much a parameter moves the least gap, in parts of itself, if that depends on it
SMOOTH = 1e-10  # of the largest gap: less curvature of a parabola through three instants is round-off
WORDS = "grazing has no derivative"


class Event(NamedTuple):
    """A gap that has its least value, zero as far as steps tell."""

    gap: int  # in ``Problem.gaps``
    time: float  # s
    instants: np.ndarray  # (3,) s, before
    weights: np.ndarray  # (3,) of these in a value at the time of the event
    bend: float  # second derivative of the gap times the square of the step


class Grazing:
    """Watches the gaps of a motion go by; ``count`` directions are followed by the blocks, or none by the adjoint."""

    def __init__(self, problem: Problem, count: int):
        self._problem, self._count = problem, count
        gaps = problem.gaps
        self._side = np.array([gap.side for gap in gaps], float)
        self._rows, self._at = problem.touching
        self._time, self._gaps = np.zeros(0), np.zeros((0, len(gaps)))
        self._shown = np.zeros((0, len(gaps), count))
        self._largest = np.zeros(len(gaps))
        self.events: list[Event] = []
        self._moved: list[np.ndarray] = []  # derivatives (p,) of the gap of each event

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        gaps = self._side * (self._at - block.sensors[:, self._rows].real)
        self._time, self._gaps = np.append(self._time, block.time), np.concatenate([self._gaps, gaps])
        if self._count:
            self._shown = np.concatenate([self._shown, block.d_sensors[:, self._rows].real])
        self._largest = np.maximum(self._largest, np.abs(gaps).max(axis=0, initial=0.0))
        if len(self._time) > BEFORE:
            self._find()
        self._time, self._gaps, self._shown = self._time[-BEFORE:], self._gaps[-BEFORE:], self._shown[-BEFORE:]

    def _find(self) -> None:
        """Note where a gap that closes is about to open again, or to be closed, with hardly any speed."""
        g, t, n = self._gaps, self._time, len(self._time) - 1
        before = [g[k : n - (BEFORE - 1) + k] for k in range(BEFORE)]  # those at BEFORE - 1, ..., 0 instants before
        last, behind = before[-1], g[BEFORE:]
        near = (np.min(before, axis=0) > 0.0) & (last < before[-2]) & ((behind <= 0.0) | (behind >= last))
        for row, gap in zip(*np.nonzero(near), strict=True):
            at = row + BEFORE - 1
            h = t[at] - t[at - 1]
            bend = g[at, gap] - 2.0 * g[at - 1, gap] + g[at - 2, gap]  # times h^2
            rate = 0.5 * (3.0 * g[at, gap] - 4.0 * g[at - 1, gap] + g[at - 2, gap])  # times h
            if bend <= SMOOTH * self._largest[gap] or abs(g[at, gap] - 0.5 * rate**2 / bend) > WITHIN * bend:
                continue
            s, three = -rate / bend, slice(at - 2, at + 1)
            weights = 0.5 * np.array([s * (s + 1.0), -2.0 * s * (s + 2.0), (s + 1.0) * (s + 2.0)])
            self.events.append(Event(int(gap), float(t[at] + h * s), t[three], weights, float(bend)))
            if self._count:
                self._moved.append(weights @ self._shown[three, gap])

    def seen(self, time: np.ndarray) -> Sequence[tuple[np.ndarray, int, np.ndarray]]:
        """Instants (3,) by number in ``time``, row of the sensor, and weights: of each event, for the adjoint."""
        gaps = self._problem.gaps
        return [(np.searchsorted(time, e.instants), gaps[e.gap].row, e.weights) for e in self.events]

    def reasons(self, moved: np.ndarray | None = None) -> dict[str, str]:
        """Why there is no derivative, by parameter; ``moved`` (E, p) are those of the sensors of all events."""
        found: dict[str, str] = {}
        names, problem = self._problem.names, self._problem
        for event, shown in zip(self.events, self._moved if moved is None else moved, strict=True):
            gap = problem.gaps[event.gap]
            moves = np.abs(problem.theta_rho[list(gap.begins)].real.sum(axis=0) - shown[: len(names.parameters)])
            for k in np.flatnonzero(moves * sizes(problem) > MOVES * event.bend):
                found.setdefault(
                    names.parameters[k],
                    f"{names.forces[gap.force]} is touched at t = {event.time:.6g} s without normal speed, as far as "
                    f"steps tell, and {names.parameters[k]} moves it: {WORDS}",
                )
        return found


def sizes(problem: Problem) -> np.ndarray:
    """Sizes (p,) of the parameters: the least change that changes a number of the model by its value; 1 without any."""
    theta, by = np.abs(problem.theta.real)[:, None], np.abs(problem.theta_rho.real)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((by > 0.0) & (theta > 0.0), theta / by, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(ratios), ratios, 1.0)


def is_of_grazing(why: str) -> bool:
    """Whether a reason is that of an event here."""
    return why.endswith(WORDS)
