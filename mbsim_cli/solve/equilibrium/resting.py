"""Where a mechanism rests: one equilibrium of those that neutral modes lead to, and how it varies with the parameters.

Coordinates that measure these modes keep their initial values. Equations and reasons: docs/theory/equilibrium.md.
"""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.equilibrium.statics import ADVICE, BALANCED, LARGEST_TURN, NEARLY_CLOSED, POLISHING, Modes, Statics
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.redundancy import kept_in_range, rank_and_pivots, without_columns
from mbsim_cli.solve.tables import going_on

OF_STIFFNESS = 1e-12  # force over stiffness and size, of round-off
SOLVED = 1e-13  # last correction, relative
CONTRACTING = 0.3  # correction over the one before it, above which Newton may leave for another equilibrium
NOISE = 1e-10  # correction, relative, below which round-off may decide
MOST_SLIDES = 30  # towards the initial position
NEAREST = 1e-2  # change of the coordinates, relative, that takes nothing nearer to there
TRIES = 3  # times that neutral coordinates are chosen
SHORTEST_RETURN = 1 / 1024  # of the way of neutral coordinates back to their initial values
NO_FORCE = "a force at the equilibrium is no number; look for an overflowing law"


@dataclass(frozen=True)
class Equilibrium:
    """What an equilibrium rests on; its coordinates and multipliers stand in the state."""

    held: np.ndarray  # coordinates that keep their initial values: those asked for, and those of neutral modes
    rows: np.ndarray  # independent constraints, which carry multipliers
    modes: Modes
    iterations: int
    tangent: np.ndarray  # of the other coordinates and of multipliers of the rows, as ``Resting.tangent``


class Resting(Statics):
    """A mechanism on its way to the one equilibrium that is meant."""

    def rest(self, initial: np.ndarray) -> tuple[np.ndarray, np.ndarray, Modes, int]:
        """Go to the equilibrium, neutral coordinates to their ``initial`` values.

        Returns held coordinates, rows with multipliers, modes there, and iterations of the search.
        """
        modes, iterations = self.search()
        modes = self._nearest(initial, self._with_signs_of(initial, modes))
        for _ in range(TRIES):
            held, rows = self._held_by(modes)
            self.put_back(initial, held, rows, modes)
            if (driven := self._driven(held)).size:
                self._fail_there(held, int(driven[-1]))
            before, modes = modes, self.modes(self._left())
            if modes.neutral.sum() == before.neutral.sum():
                return held, rows, modes, iterations
        raise AnalysisError(f"no equilibrium was found: what no force resists changes on the way there; {ADVICE}")

    def neutral_coordinates(self, modes: Modes) -> np.ndarray:
        """Coordinates (k,) that measure the k neutral modes best."""
        neutral = np.linalg.qr(modes.shape[:, modes.neutral])[0]
        rank, order = rank_and_pivots(neutral.T)
        return order[:rank]

    def independent_rows(self, held: np.ndarray) -> np.ndarray:
        """Constraints that do not follow from others."""
        J = np.delete(self.eq.J.real, held, axis=1)
        rank, order = rank_and_pivots(J.T)
        return np.sort(order[:rank])

    def _held_by(self, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates that are held, those of neutral modes too, and independent constraints of the others."""
        held = np.sort(np.concatenate([self.hold, self.neutral_coordinates(modes)]))
        return held, self.independent_rows(held)

    def _with_signs_of(self, initial: np.ndarray, modes: Modes) -> Modes:
        """Take the nearer one to the ``initial`` one of Euler parameters e and -e, which are the same orientation."""
        z, change = self.state.z, np.zeros_like(self.state.z)
        for first in self.quaternions:
            four = slice(first, first + 4)
            if z[four] @ initial[four] < 0.0 and not np.isin(np.arange(first, first + 4), self.hold).any():
                change[four] = -2.0 * z[four]
        return self.modes_behind(change) if change.any() else modes

    def _nearest(self, initial: np.ndarray, modes: Modes) -> Modes:
        """Go to the equilibrium nearest to the ``initial`` position, of those that neutral modes lead to.

        Which coordinates measure them best there does not depend on where the search ended.
        """
        radius = LARGEST_TURN
        for _ in range(MOST_SLIDES if modes.neutral.any() else 0):
            along = np.linalg.qr(modes.shape[:, modes.neutral])[0]
            change = along @ (along.T @ (initial - self.state.z))
            near = NEAREST * (1.0 + np.abs(self.state.z).max())
            if np.abs(change).max() <= near or radius < near:
                break
            there = self._modes_after(self._limited(change, radius), modes)
            radius = 2.0 * radius if there else 0.5 * radius
            modes = there or modes
        return modes

    def _modes_after(self, change: np.ndarray, modes: Modes) -> Modes | None:
        """Go to another equilibrium, about that ``change`` (n,) from here; its modes if it is one of the same kind."""
        before = self.state.z.copy()
        held, rows = self._held_by(modes)
        self.state.z[:] += change
        if self.polish(held, rows) and not self._driven(held).size:
            there = self.modes(self._left())
            if there.neutral.sum() == modes.neutral.sum():
                return there
        self.state.z[:] = before
        return None

    def put_back(self, initial: np.ndarray, held: np.ndarray, rows: np.ndarray, modes: Modes) -> None:
        """Solve all equations with the held coordinates at their initial values; they go there in steps if need be."""
        origin = self.state.z[held].copy()
        done, step = 0.0, 1.0
        while done < 1.0:
            before, way = self.state.z.copy(), min(1.0, done + step)
            self.state.z[held] = origin + way * (initial[held] - origin)
            if self.polish(held, rows):
                done, step = way, 2.0 * step
                continue
            self.state.z[:], step = before, 0.5 * step
            if step < SHORTEST_RETURN:
                self._fail_to_return(held, modes)

    def _left(self) -> np.ndarray:
        """Forces (n,) at a solution, which may act on coordinates that nothing holds alone; ``unit`` is evaluated."""
        self.unit.evaluate()
        left = self.eq.G.copy()
        left[self.hold] = 0.0
        self._weigh(left)
        return left

    def _driven(self, held: np.ndarray) -> np.ndarray:
        """Those of the ``held`` coordinates that nothing holds, and a force acts on, the worst one last."""
        left = np.abs(self._left())
        stiffness, size = np.abs(self.stiffness).max(axis=1, initial=0.0), 1.0 + np.abs(self.state.z).max(initial=0.0)
        order = held[np.argsort(left[held], kind="stable")]
        return order[left[order] > BALANCED * self.load + OF_STIFFNESS * stiffness[order] * size]

    def polish(self, held: np.ndarray, rows: np.ndarray) -> bool:
        """Newton on all equations for the other coordinates and the multipliers; whether it converged.

        One that does not contract may go anywhere, and has not converged.
        """
        state, eq = self.state, self.eq
        others = self._others(held)
        state.lam[:] = 0.0
        self.still.evaluate()
        state.lam[rows] = np.linalg.lstsq(eq.J[np.ix_(rows, others)].T, -eq.G[others], rcond=None)[0]
        scale, before = 1.0 + np.abs(state.z).max(initial=0.0), np.inf
        settled, wanted = 0, 3 if np.iscomplexobj(state.z) else 1  # the imaginary part converges after the real one
        for _ in range(POLISHING):
            self.unit.evaluate()
            left = np.concatenate([eq.G[others], eq.phi[rows]])
            try:
                x = np.linalg.solve(self.tangent(others, rows), -left)
            except np.linalg.LinAlgError:
                return False
            if not np.isfinite(x).all():
                return False
            state.z[others] += x[: others.size]
            state.lam[rows] += x[others.size :]
            size = np.abs(x[: others.size].real).max(initial=0.0)
            if size > max(CONTRACTING * before, NOISE * scale):
                return False
            before = size
            settled += bool(size <= SOLVED * (1.0 + np.abs(state.z).max(initial=0.0)))
            if settled == wanted:
                self.still.evaluate()
                return bool(np.abs(eq.phi.real).max(initial=0.0) < NEARLY_CLOSED)
        return False

    def _others(self, held: np.ndarray) -> np.ndarray:
        return all_but(self.state.z.size, held)

    def tangent(self, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Derivative of all equations by coordinates and multipliers, at the state that ``unit`` evaluated last."""
        K, J = self.stiffness[np.ix_(others, others)], self.eq.J[np.ix_(rows, others)]
        return np.block([[K, J.T], [J, np.zeros((rows.size, rows.size), self.dtype)]])

    def resisting(self, held: np.ndarray) -> np.ndarray:
        """The Jacobian (m, n) where held coordinates take no force of constraints."""
        return without_columns(self.eq.J, held)

    def _fail_to_return(self, held: np.ndarray, modes: Modes) -> NoReturn:
        free = np.setdiff1d(held, self.hold)
        if free.size:
            raise AnalysisError(f"no equilibrium was found with {self._at_start(free)}; {ADVICE}")
        weakest = int(np.argmax(np.abs(modes.shape[:, np.argmin(np.abs(modes.value))])))
        raise AnalysisError(
            f"no equilibrium is certain: where forces balance, what resists {self.names.coordinates[weakest]} vanishes "
            f"with them; {ADVICE}"
        )

    def _fail_there(self, held: np.ndarray, worst: int) -> NoReturn:
        where, what = self._at_start(np.setdiff1d(held, self.hold)), self._unbalanced(worst, self.eq.G)
        raise AnalysisError(
            f"no equilibrium was found with {where}: {what} there, though the search ended where no force acts on it; "
            f"{ADVICE}"
        )

    def _at_start(self, columns: np.ndarray) -> str:
        names = ", ".join(self.names.coordinates[c] for c in columns)
        return f"{names} at {'its initial value' if columns.size == 1 else 'their initial values'}"


def settle(problem: Problem, start: Instant, *, vary: bool = True) -> Equilibrium:
    """Move an assembled ``start`` to its equilibrium, with multipliers and derivatives; raise AnalysisError.

    Unless they ``vary``, derivatives are those of the held coordinates alone.
    """
    initial, d_initial = start.state.z.copy(), start.sens.z.copy()
    for arrays in (start.state[1:], start.sens):
        for array in arrays:
            array[:] = 0.0
    ending = start.theta.copy()
    start.theta[:] = going_on(start.model.laws, ending)  # tables: a search may pass beyond their ends
    real = start if start.dtype is np.float64 else _real_part(problem, start)
    found = Resting(problem, real, problem.hold)
    held, rows, modes, iterations = found.rest(initial.real)
    if real is not start:
        start.state.z[:], start.state.lam[:] = real.state.z, real.state.lam
        start.work.kin.expected[:] = real.work.kin.expected
        start.state.z[held] = initial[held]
        found = Resting(problem, start, problem.hold)
        if not found.polish(held, rows):
            raise AnalysisError("no equilibrium was found a complex step away")
    start.theta[:] = ending
    found.still.evaluate()
    if not np.isfinite(found.eq.G).all():
        raise AnalysisError(NO_FORCE, (0.0, start.state.z.real.copy(), np.zeros(start.n)))
    if rows.size < start.m:
        start.state.lam[:] = kept_in_range(found.resisting(held), start.state.lam)
    start.sens.z[held] = d_initial[held]
    found.unit.evaluate()
    tangent = found.tangent(all_but(start.n, held), rows)
    if vary:
        _vary(found, start, tangent, held, rows)
    return Equilibrium(held, rows, modes, iterations, tangent)


def _vary(found: Resting, start: Instant, tangent: np.ndarray, held: np.ndarray, rows: np.ndarray) -> None:
    """Derivatives of coordinates and multipliers: those of the held coordinates are given."""
    others = all_but(start.n, held)
    start.evaluate()
    change = np.linalg.solve(tangent, -np.concatenate([start.out.dG[others], start.out.dphi[0][rows]]))
    start.sens.z[others], start.sens.lam[rows] = change[: others.size], change[others.size :]
    if rows.size < start.m:
        start.sens.lam[:] = kept_in_range(found.resisting(held), start.sens.lam)


def _real_part(problem: Problem, start: Instant) -> Instant:
    real = Instant(problem, np.ascontiguousarray(start.theta.real), np.zeros((start.theta.size, 0)))
    real.state.z[:] = start.state.z.real
    real.work.kin.expected[:] = start.work.kin.expected
    return real
