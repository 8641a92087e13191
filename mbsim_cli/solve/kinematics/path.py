"""The position of a driven mechanism, followed through time by Newton's method with continuation.

A step is as long as Newton contracts from where position, velocity and acceleration point; so the motion stays on the
branch that it began on. Derivation: docs/theory/driven_mechanisms.md.
"""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.redundancy import rank_and_pivots

ITERATIONS = 12  # of Newton, in a step
CONTRACTING = 0.25  # correction over the one before it, at most
NEAR = 0.05  # rad or the mechanism's unit: first correction that is always small enough
OF_WAY = 0.3  # of the way, the same
SOLVED = 1e-13  # last correction, in these units
ROUNDED = 1e-11  # correction that may be as small as they become
NOISE = 1e-9  # correction below which round-off may decide
SHORTEST = 1e-10  # step, of the time between two samples
SINGULAR = 1e-10  # smallest singular value over the largest, of rows of unit length
NEARLY = 1e-3  # the same over that at the start, where the motion cannot go on


@dataclass
class Lost(Exception):
    """The motion cannot go on; ``sentence`` says where and why."""

    sentence: str


class Path:
    """A position that meets all constraints, at a time; the state and the arrays are those of ``at``.

    ``at`` stands at the assembled start, where ``rows`` (n,) of the constraints are independent. Its numbers may be
    complex.
    """

    def __init__(self, problem: Problem, at: Instant, rows: np.ndarray) -> None:
        self.at, self.names, self.rows, self._span = at, problem.names, rows, problem.options.step
        scales = scales_of(problem.model, at.theta)
        self._units, self._columns = scales.rows, scales.columns
        self._laws = np.flatnonzero(problem.model.constraints.law != NONE)
        self._wanted = 3 if np.iscomplexobj(at.theta) else 2  # the imaginary part converges after the real one
        self.time, self.iterations = 0.0, 0
        self._newton(0.0, at.state.z.copy(), np.inf)
        self._length = self._span
        self._follow_rates()
        self._usual = self._independence()[0]

    def go(self, time: float) -> None:
        """Move on to a time; raise Lost where there is no way."""
        self.iterations = 0
        while self.time < time:
            left = time - self.time
            step = min(self._length, left)
            if step > 0.75 * left:
                step = left
            before, expected = self.z.copy(), self.at.work.kin.expected.copy()
            move = step * self.zd + 0.5 * step * step * self.zdd
            near = max(NEAR, OF_WAY * self._size(move))
            if self._newton(time if step == left else self.time + step, before + move, near):
                self.time = time if step == left else self.time + step
                self._follow_rates()
                self._length = 2.0 * step
                continue
            self.at.state.z[:], self.at.work.kin.expected[:] = before, expected
            self._length = 0.5 * step
            if self._length < SHORTEST * self._span:
                raise Lost(self._why())

    @property
    def z(self) -> np.ndarray:
        """Position (n,)."""
        return self.at.state.z

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The x (n, ...) with J x = right (m, ...) at the last evaluation, by the independent equations."""
        return np.linalg.solve(self.at.work.eq.J[self.rows], right[self.rows])

    @property
    def orientation(self) -> float:
        """Sign of the determinant of J, which changes at singular positions; 0 in one."""
        sign = float(np.linalg.slogdet(self.at.work.eq.J[self.rows].real)[0])
        sizes = self._independence()[0]
        return sign if sizes[-1] > SINGULAR * sizes[0] else 0.0

    def rest(self) -> None:
        """Set rates and multipliers of the state to zero."""
        for array in self.at.state[1:]:
            array[:] = 0.0

    def _newton(self, time: float, guess: np.ndarray, near: float) -> bool:
        """Solve for the position from a guess; whether it converged, without leaving for another branch."""
        at, eq = self.at, self.at.work.eq
        self.rest()
        at.state.z[:] = guess
        before, settled = np.inf, 0
        for number in range(ITERATIONS):
            at.evaluate(time)
            self.iterations += 1
            try:
                step = -self.solve(eq.phi)
            except np.linalg.LinAlgError:
                return False
            size = self._size(step)
            if not np.isfinite(size) or (number == 0 and size > near):
                return False
            if number and size > max(CONTRACTING * before, NOISE):
                return False
            at.state.z[:] += step
            before = size
            settled = settled + 1 if size <= SOLVED * (1.0 + self._size(at.state.z)) else 0
            if settled == self._wanted:
                return True
        return before <= ROUNDED

    def _follow_rates(self) -> None:
        """Velocity and acceleration at the position."""
        at, eq = self.at, self.at.work.eq
        at.evaluate(self.time)
        self._choose_rows_anew()
        try:
            at.state.zd[:] = -self.solve(eq.phi1)
            at.evaluate(self.time)
            at.state.zdd[:] = -self.solve(eq.phi2)
        except np.linalg.LinAlgError:
            at.state.zd[:] = at.state.zdd[:] = 0.0  # a singular position: the next one is tried from here
        self.zd, self.zdd = at.state.zd.copy(), at.state.zdd.copy()

    def _choose_rows_anew(self) -> None:
        """Take other equations where those chosen depend on each other, and others do not."""
        if len(self._units) == len(self.rows):
            return
        J = self.at.work.eq.J.real / self._units[:, None]
        sizes = [np.linalg.svd(part, compute_uv=False)[-1] for part in (J[self.rows], J)]
        if sizes[0] < 0.1 * sizes[1]:
            rank, order = rank_and_pivots(J.T)
            self.rows = np.sort(order[:rank])

    def _size(self, z: np.ndarray) -> float:
        return float(np.abs(z.real / self._columns).max(initial=0.0))

    def _independence(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular values of the independent rows, scaled to unit length, and their vectors."""
        J = self.at.work.eq.J[self.rows].real * self._columns
        lengths = np.linalg.norm(J, axis=1)
        u, sizes, v = np.linalg.svd(J / np.where(lengths > 0.0, lengths, 1.0)[:, None])
        return sizes, u, v

    def _why(self) -> str:
        """Why the motion cannot go on, where it stands."""
        self.at.evaluate(self.time)
        sizes, u, v = self._independence()
        laws = ", ".join(repr(self.names.constraints[row]) for row in self._laws)
        where = f"beyond t = {self.time:.6g} s"
        if sizes[-1] > NEARLY * self._usual[-1]:
            return f"the motion cannot be followed {where}: is there a jump in what drives it ({laws})?"
        share = np.where(np.isin(self.rows, self._laws), 0.0, np.abs(u[:, -1]))
        joint = self.names.constraints[self.rows[int(np.argmax(share))]].partition(".")[0]
        coordinate = self.names.coordinates[int(np.argmax(np.abs(v[-1])))].lstrip("-")
        return (
            f"the mechanism locks {where}: {coordinate} turns back in a singular position there, in which the "
            f"constraints of {joint!r} lose their rank; {laws} {'drive' if len(self._laws) > 1 else 'drives'} it "
            "further than it can go"
        )
