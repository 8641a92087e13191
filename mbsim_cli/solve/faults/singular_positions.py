"""Singular positions that a run has passed: when, in which constraints, and which derivatives end there.

At a singular position a combination u of the constraints, u^T J = 0, does not depend on the coordinates. A parameter
that moves it, u^T dPhi / d rho other than zero, opens a gap there or closes the way on: what the run computes behind
it does not depend smoothly on that parameter. Derivation: docs/theory/singular_positions.md.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.integrators.singular_passage import Watch
from mbsim_cli.solve.faults.failure import Scales, independence, scales_at
from mbsim_cli.solve.instant import Instant, Standing
from mbsim_cli.system import cached_property

BISECTIONS = 40
VANISHED = 0.02  # share of its size behind the passage, below which a singular value counts as zero
MOVED = 1e-3  # share of a parameter's largest effect on a constraint that moves u
INVOLVED = 0.1  # share of the largest entry of u that makes a constraint one of the singular ones


class Passage(NamedTuple):
    """A singular position that the motion has passed."""

    time: float
    constraints: list[int]  # that lose their rank there
    breaks: np.ndarray  # (p,) whether derivatives by the parameter end there


class Rank(NamedTuple):
    """How far constraints are from losing rank, by the singular values of those that are independent at the start."""

    sizes: np.ndarray  # (k,) singular values
    u: np.ndarray  # (k, k) columns are vectors of them, on the side of the constraints
    v: np.ndarray  # (n, n) on the side of the coordinates
    of_all: float  # of all constraints the singular value that must not vanish


class Passages:
    """Tells passages of singular positions from other turns of the vectors that the time loop follows."""

    def __init__(self, stand: Callable[[], Instant | Standing], step: float, watch: Watch) -> None:
        self._stand, self._watch, self._h = stand, watch, step

    @cached_property
    def _at(self) -> Instant | Standing:
        return self._stand()

    def take(self) -> Iterator[Passage]:
        """Passages since the last call."""
        found, self._watch.count[2] = self._watch.count[2], 0
        for turn in range(found):
            passage = self._examine(turn)
            if passage is not None:
                yield passage

    def _examine(self, turn: int) -> Passage | None:
        """The passage before a turn, by bisection of the time between two looks; None where nothing vanishes."""
        self._go(turn, 0.0)
        scales = scales_at(self._at)
        behind = self._rank(scales)
        before, after = self._watch.step[turn]
        late, early = 0.0, (after - before) * self._h
        for _ in range(BISECTIONS):
            middle = 0.5 * (early + late)
            self._go(turn, middle)
            late, early = (middle, early) if _same_side(self._rank(scales), behind) else (late, middle)
        time = self._go(turn, late)
        there = self._rank(scales)
        vanished = there.sizes < VANISHED * behind.sizes[-1]
        if not vanished.any() or there.of_all > VANISHED * behind.of_all:
            return None
        u = there.u[:, vanished]
        share = np.linalg.norm(u, axis=1)
        return Passage(time, self._watch.row[share > INVOLVED * share.max()].tolist(), self._broken(u))

    def _go(self, turn: int, back: float) -> float:
        """Evaluate the motion some time before a turn was found, on the parabola that ends there; return the time."""
        watch = self._watch
        time = float(watch.step[turn, 1]) * self._h - back
        self._at.state.z[:] = watch.z[turn] - back * watch.zd[turn] + 0.5 * back * back * watch.zdd[turn]
        self._at.evaluate(time)
        return time

    def _rank(self, scales: Scales) -> Rank:
        J, row = self._at.work.eq.J, self._watch.row
        sizes, u, v = independence(J[row], scales._replace(rows=np.sqrt(self._watch.largest)))
        return Rank(sizes, u, v[: row.size].T, float(independence(J, scales)[0][row.size - 1]))

    def _broken(self, u: np.ndarray) -> np.ndarray:
        """Mask (p,) of the parameters that move the combinations ``u`` (k, l) of constraints."""
        effect = self._at.out.dphi[0, self._watch.row] / np.sqrt(self._watch.largest)[:, None]
        return np.abs(u.T @ effect).max(axis=0) > MOVED * np.abs(effect).max(axis=0)


def _same_side(rank: Rank, other: Rank) -> bool:
    """Whether the smallest singular value has the sign that it has elsewhere: both vectors turn round, or none."""
    return bool((rank.u[:, -1] @ other.u[:, -1]) * (rank.v[:, -1] @ other.v[:, -1]) > 0.0)
