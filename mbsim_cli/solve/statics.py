"""Static equilibrium: Phi(z) = 0 and Phi_z^T lambda - Q(z, z' = 0, t = 0) = 0, and how it varies with the parameters.

Newton in the directions that the constraints leave free, with the exact stiffness. Where that is not positive, each
of its modes is followed downhill, which ends in a stable equilibrium. Neutral modes, which no force resists, take no
part; coordinates that measure them keep their initial values. Equations and reasons: docs/theory/equilibrium.md.
"""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels._simd import padded
from mbsim_cli.model.codes import TURNING
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.flexible import MASS as MASS_OF_FLEXIBLE
from mbsim_cli.model.layout import GRAVITY, MASS, FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.units import force_on
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.modes import Modes, modes_of
from mbsim_cli.solve.pivots import RANK_TOLERANCE, rank_and_pivots
from mbsim_cli.solve.redundancy import kept_in_range, without_columns
from mbsim_cli.solve.tables import going_on

MAX_ITERATIONS = 400
MAX_HALVINGS = 30
POLISHING = 25  # Newton iterations at most, where the solution is near
BALANCED = 1e-8  # force over the largest one, along neutral modes
NEAR = 1e-7  # correction of the coordinates, relative, from which Newton on all equations takes over
SOLVED = 1e-13  # last correction, relative
CLOSED = 1e-12  # m or rad
FIRST_RADIUS = 0.1  # largest change of a coordinate in the first iteration, m or rad
LARGEST_TURN = 0.5  # rad, in any iteration
FAR = 1e6  # m or rad: what falls so far falls for ever
OVERSHOT = 0.9  # slope at the end of a step over that at its start, above which the step is shortened
SHORTEST_RETURN = 1 / 256  # of the way of neutral coordinates back to their initial values
NO_FORCE = "a force at the equilibrium is no number; look for an overflowing law"
ADVICE = "give it a spring or a stop, hold it (hold: in the analysis), or start nearer to the equilibrium"


@dataclass(frozen=True)
class Equilibrium:
    """What an equilibrium rests on; its coordinates and multipliers stand in the state."""

    held: np.ndarray  # coordinates that keep their initial values: those asked for, and those of neutral modes
    rows: np.ndarray  # independent constraints, which carry multipliers
    modes: Modes
    iterations: int
    tangent: np.ndarray  # of the other coordinates and of multipliers of the rows, as ``Statics.tangent``


class Statics:
    """A mechanism at rest; ``hold`` lists coordinates that something else holds."""

    def __init__(self, problem: Problem, start: Instant, hold: tuple[int, ...]) -> None:
        n, size = start.n, start.theta.size
        self.names = problem.names
        self.state, self.eq, self.dtype = start.state, start.work.eq, start.dtype
        self.hold = np.array(sorted(hold), dtype=int)
        self.free = np.setdiff1d(np.arange(n), self.hold)
        self.turns = np.isin(kinds(start.model.tree), TURNING)
        self.still = _sharing(start, problem, np.zeros((size, 0), start.dtype))
        self.unit = _sharing(start, problem, np.zeros((size, padded(n)), start.dtype))
        self.unit.sens.z[:, :n] = np.eye(n)
        self.load = _weight(start)  # N or N m, what unbalanced forces are compared with

    @property
    def stiffness(self) -> np.ndarray:
        """Derivative (n, n) of the forces by the coordinates, at the state that ``unit`` evaluated last."""
        return self.unit.out.dG[:, : self.unit.n]

    def search(self) -> tuple[Modes, int]:
        """Go to the equilibrium that the state leads down to; its modes, and the iterations taken."""
        radius = FIRST_RADIUS
        self._close()
        force = self._balance()
        for iteration in range(1, MAX_ITERATIONS + 1):
            self.unit.evaluate()
            try:
                modes = modes_of(self.stiffness, self.unit.out.M, self.eq.J, self.free, force, self.load)
            except np.linalg.LinAlgError:
                break
            newton, fall = self._changes(modes)
            scale = 1.0 + np.abs(self.state.z).max(initial=0.0)
            if np.abs(newton).max(initial=0.0) <= NEAR * scale and not fall.any():
                return modes, iteration
            force, share = self._move(self._limited(newton, radius) + self._limited(fall, radius), force)
            if share == 0.0 or np.abs(self.state.z).max(initial=0.0) > FAR:
                break
            radius = 2.0 * radius if share == 1.0 else max(2.0 * share * radius, 1e-6)
        self._fail(force, iteration)

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

    def put_back(self, initial: np.ndarray, held: np.ndarray, rows: np.ndarray) -> None:
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
                names = ", ".join(self.names.coordinates[c] for c in held)
                raise AnalysisError(f"no equilibrium was found with {names} at their initial values; {ADVICE}")

    def polish(self, held: np.ndarray, rows: np.ndarray) -> bool:
        """Newton on all equations for the other coordinates and the multipliers; whether it converged."""
        state, eq = self.state, self.eq
        others = np.setdiff1d(np.arange(state.z.size), held)
        state.lam[:] = 0.0
        self.still.evaluate()
        state.lam[rows] = np.linalg.lstsq(eq.J[np.ix_(rows, others)].T, -eq.G[others], rcond=None)[0]
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
            settled += bool(size <= SOLVED * (1.0 + np.abs(state.z).max(initial=0.0)))
            if settled == wanted:
                self.still.evaluate()
                return True
        return False

    def tangent(self, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Derivative of all equations by coordinates and multipliers, at the state that ``unit`` evaluated last."""
        K, J = self.stiffness[np.ix_(others, others)], self.eq.J[np.ix_(rows, others)]
        return np.block([[K, J.T], [J, np.zeros((rows.size, rows.size), self.dtype)]])

    def resisting(self, held: np.ndarray) -> np.ndarray:
        """The Jacobian (m, n) where held coordinates take no force of constraints."""
        return without_columns(self.eq.J, held)

    def _close(self) -> bool:
        """Move the free coordinates onto the constraints by the shortest way; whether that was possible."""
        for _ in range(POLISHING):
            self.still.evaluate()
            size = np.abs(self.eq.phi).max(initial=0.0)
            if not np.isfinite(size) or size < CLOSED:
                break
            change = np.linalg.lstsq(self.eq.J[:, self.free], -self.eq.phi, rcond=RANK_TOLERANCE)[0]
            self.state.z[self.free] += change
        return bool(size < 1e3 * CLOSED)

    def _balance(self) -> np.ndarray:
        """Unbalanced forces (n,) with the multipliers that leave the least; those on held coordinates are carried."""
        J = self.eq.J[:, self.free]
        change = np.linalg.lstsq(J.T, -self.eq.G[self.free], rcond=RANK_TOLERANCE)[0]
        left = self.eq.G + self.eq.J.T @ change
        left[self.hold] = 0.0
        self.state.lam[:] += change
        carried = np.abs(self.eq.J.T * self.state.lam).max(initial=0.0)
        self.load = max(self.load, float(carried), float(np.abs(left).max(initial=0.0)))
        return left

    def _changes(self, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """Newton's change of the coordinates (n,), and one down the modes that a force drives and none resists."""
        stiff = ~modes.neutral
        amount = np.zeros_like(modes.force)
        if (modes.value[stiff] > 0.0).all():
            amount[stiff] = np.linalg.solve(modes.stiffness[np.ix_(stiff, stiff)], -modes.force[stiff])
        else:
            amount[stiff] = -modes.force[stiff] / np.abs(modes.value[stiff])
        along = modes.force / np.abs(modes.shape).max(axis=0, initial=0.0)  # a unit of the mode's largest coordinate
        driven = modes.neutral & (np.abs(along) > BALANCED * self.load)
        fall = modes.shape @ np.where(driven, -modes.force, 0.0)
        return modes.shape @ amount, fall / max(np.abs(fall).max(initial=0.0), 1e-300) * 1e3

    def _limited(self, change: np.ndarray, radius: float) -> np.ndarray:
        largest = np.where(self.turns, min(radius, LARGEST_TURN), radius)
        return change / max(1.0, (np.abs(change) / largest).max(initial=0.0))

    def _move(self, change: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, float]:
        """Change the coordinates, less where the way down ends before; the new forces, and the share taken or 0."""
        origin, multipliers, slope, share = self.state.z.copy(), self.state.lam.copy(), abs(force @ change), 1.0
        for _ in range(MAX_HALVINGS):
            self.state.z[:], self.state.lam[:] = origin + share * change, multipliers
            if self._close():
                left = self._balance()
                ahead = left @ change
                if ahead <= OVERSHOT * slope:
                    return left, share
                share *= float(np.clip(slope / (slope + ahead), 0.1, 0.5)) if np.isfinite(ahead) else 0.5
            else:
                share *= 0.5
        self.state.z[:], self.state.lam[:] = origin, multipliers
        return force, 0.0

    def _fail(self, force: np.ndarray, iterations: int) -> NoReturn:
        worst = int(np.argmax(np.abs(force)))
        unit = force_on(self.names.coordinate_units[worst])
        raise AnalysisError(
            f"no static equilibrium was found in {iterations} iterations: {self.names.coordinates[worst]} stays "
            f"unbalanced by {abs(force[worst]):.4g} {unit}; {ADVICE}"
        )


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
    search = Statics(problem, real, problem.hold)
    modes, iterations = search.search()
    held = np.sort(np.concatenate([search.hold, search.neutral_coordinates(modes)]))
    rows = search.independent_rows(held)
    search.put_back(initial.real, held, rows)
    found = search
    if real is not start:
        start.state.z[:], start.state.lam[:] = real.state.z, real.state.lam
        start.work.kin.expected[:] = real.work.kin.expected
        start.state.z[held] = initial[held]
        found = Statics(problem, start, problem.hold)
        found.polish(held, rows)
    start.theta[:] = ending
    found.still.evaluate()
    if not np.isfinite(found.eq.G).all():
        raise AnalysisError(NO_FORCE, (0.0, start.state.z.real.copy(), np.zeros(start.n)))
    if rows.size < start.m:
        start.state.lam[:] = kept_in_range(found.resisting(held), start.state.lam)
    start.sens.z[held] = d_initial[held]
    found.unit.evaluate()
    tangent = found.tangent(np.setdiff1d(np.arange(start.n), held), rows)
    if vary:
        _vary(found, start, tangent, held, rows)
    return Equilibrium(held, rows, modes, iterations, tangent)


def _vary(found: Statics, start: Instant, tangent: np.ndarray, held: np.ndarray, rows: np.ndarray) -> None:
    """Derivatives of coordinates and multipliers: those of the held coordinates are given."""
    others = np.setdiff1d(np.arange(start.n), held)
    start.evaluate()
    change = np.linalg.solve(tangent, -np.concatenate([start.out.dG[others], start.out.dphi[0][rows]]))
    start.sens.z[others], start.sens.lam[rows] = change[: others.size], change[others.size :]
    if rows.size < start.m:
        start.sens.lam[:] = kept_in_range(found.resisting(held), start.sens.lam)


def _sharing(start: Instant, problem: Problem, dtheta: np.ndarray) -> Instant:
    """An instant of the same state with other directions."""
    other = Instant(problem, start.theta, dtheta)
    other.state, other.work = start.state, start.work
    return other


def _real_part(problem: Problem, start: Instant) -> Instant:
    real = Instant(problem, np.ascontiguousarray(start.theta.real), np.zeros((start.theta.size, 0)))
    real.state.z[:] = start.state.z.real
    real.work.kin.expected[:] = start.work.kin.expected
    return real


def _weight(start: Instant) -> float:
    tree, theta = start.model.tree, start.theta.real
    mass = theta[tree.theta + MASS].sum()
    if isinstance(tree, FlexibleTree):
        mass += theta[tree.block + MASS_OF_FLEXIBLE].sum()
    return float(mass * np.linalg.norm(theta[GRAVITY : GRAVITY + 3]))
