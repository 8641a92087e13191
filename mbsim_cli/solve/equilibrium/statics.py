"""Search for a static equilibrium: Phi(z) = 0 and Phi_z^T lambda - Q(z, z' = 0, t = 0) = 0.

Newton in the directions that the constraints leave free, with the exact stiffness. Where that is not positive, each
of its modes is followed downhill, which ends in a stable equilibrium. Neutral modes, which no force resists, take no
part unless a force drives them. Equations and reasons: docs/theory/equilibrium.md.
"""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import TURNING, Column
from mbsim_cli.model.coordinates import all_but, kinds
from mbsim_cli.model.flexible import MASS as MASS_OF_FLEXIBLE
from mbsim_cli.model.layout import GRAVITY, MASS, FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.units import force_on
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.redundancy import PIVOT_TOLERANCE

# Modes of a mechanism at rest: stiffness and mass in the directions that constraints leave free.

NEUTRAL = 1e-11  # stiffness over the largest one below which a mode has none
ROUND_OFF = 1e-13  # the same over the forces, where nothing is stiff


@dataclass(frozen=True)
class Modes:
    """Modes of unit mass in which the symmetric part of the stiffness is diagonal, d of them."""

    shape: np.ndarray  # (n, d) change of the coordinates in each mode
    stiffness: np.ndarray  # (d, d) 1/s^2
    value: np.ndarray  # (d,) its diagonal
    force: np.ndarray  # (d,) unbalanced, along each mode
    neutral: np.ndarray  # (d,) bool: no force resists the mode

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the stiffness over the mass, without the neutral ones, by increasing real part; 1/s^2."""
        stiff = ~self.neutral
        return np.sort_complex(np.linalg.eigvals(self.stiffness[np.ix_(stiff, stiff)]))

    @property
    def stable(self) -> bool:
        """Whether every force that a small change of the coordinates brings about drives them back."""
        return bool((self.eigenvalues.real > 0.0).all())


def modes_of(K: np.ndarray, M: np.ndarray, J: np.ndarray, free: np.ndarray, force: np.ndarray, load: float) -> Modes:
    """Modes of stiffness K and mass M (n, n) under constraints J (m, n), coordinates that are not ``free`` at rest.

    ``force`` (n,) is unbalanced; ``load`` the size of the forces at work, of whose round-off a stiffness may consist.
    """
    inner = _null_space(J[:, free])
    basis = np.zeros((K.shape[0], inner.shape[1]))
    basis[free] = inner
    root = np.linalg.inv(np.linalg.cholesky(basis.T @ M @ basis))
    A = root @ (basis.T @ K @ basis) @ root.T
    value, vectors = np.linalg.eigh(0.5 * (A + A.T))
    shape = basis @ root.T @ vectors
    stiffness = vectors.T @ A @ vectors
    coupled = np.maximum(np.abs(stiffness).max(axis=0, initial=0.0), np.abs(stiffness).max(axis=1, initial=0.0))
    noise = ROUND_OFF * load * np.abs(shape).max(axis=0, initial=0.0) ** 2
    neutral = coupled <= np.maximum(NEUTRAL * np.abs(value).max(initial=0.0), noise)
    return Modes(shape, stiffness, value, shape.T @ force, neutral)


def _null_space(J: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, d) of the directions that no constraint notices."""
    if J.shape[0] == 0:
        return np.eye(J.shape[1])
    _, sizes, rows = np.linalg.svd(J)
    rank = int((sizes > PIVOT_TOLERANCE * max(1.0, sizes.max(initial=0.0))).sum())
    return rows[rank:].T


MAX_TRIES = 400  # positions in all, shortened steps included
MAX_HALVINGS = 30
POLISHING = 25  # iterations at most, where the solution is near
BALANCED = 1e-8  # force over the largest one, along neutral modes
NEAR = 1e-7  # correction of the coordinates, relative, from which Newton on all equations takes over (resting)
CLOSED = 1e-12  # m or rad
NEARLY_CLOSED = 1e3 * CLOSED  # where redundant constraints, or round-off, leave more
FIRST_RADIUS = 0.1  # largest change of a coordinate in the first iteration, m or rad
LARGEST_TURN = 0.5  # rad, in any iteration
FAR = 1000 * 2.0**10  # m or rad: what falls so far falls for ever
OVERSHOT = 0.9  # slope at the end of a step over that at its start, above which the step is shortened
ADVICE = "give it a spring or a stop, hold it (hold: in the analysis), or start nearer to the equilibrium"


class Statics:
    """A mechanism at rest; ``hold`` lists coordinates that something else holds."""

    def __init__(self, problem: Problem, start: Instant, hold: tuple[int, ...]) -> None:
        n, size = start.n, start.theta.size
        self.names = problem.names
        self.state, self.eq, self.dtype = start.state, start.work.eq, start.dtype
        self.hold = np.array(sorted(hold), dtype=int)
        self.free = all_but(n, self.hold)
        self.turns = np.isin(kinds(start.model.tree), TURNING)
        self.quaternions = np.flatnonzero(kinds(start.model.tree) == Column.EULER_0)
        self.still = Instant(problem, start.theta, np.zeros((size, 0), start.dtype), start)
        self.unit = Instant(problem, start.theta, np.zeros((size, padded(n)), start.dtype), start)
        self.unit.sens.z[:, :n] = np.eye(n)
        self._least_load = _weight(start)
        self.load = self._least_load  # N or N m, what unbalanced forces are compared with
        self._tries = 0

    @property
    def stiffness(self) -> np.ndarray:
        """Derivative (n, n) of the forces by the coordinates, at the state that ``unit`` evaluated last."""
        return self.unit.out.dG[:, : self.unit.n]

    def search(self) -> tuple[Modes, int]:
        """Go to the equilibrium that the state leads down to; its modes, and the iterations taken."""
        radius = FIRST_RADIUS
        self._close()
        force = self._balance()
        self._least_load = max(self._least_load, float(np.abs(force).max(initial=0.0)))
        iteration = 0
        while self._tries < MAX_TRIES:
            iteration += 1
            try:
                modes = self.modes(force)
            except np.linalg.LinAlgError:
                break
            newton, fall = self._changes(modes)
            scale = 1.0 + np.abs(self.state.z).max(initial=0.0)
            if np.abs(newton).max(initial=0.0) <= NEAR * scale and not fall.any():
                return self.modes_behind(newton), iteration
            force, share = self._move(self._limited(newton, radius) + self._limited(fall, radius), force)
            if share == 0.0 or np.abs(self.state.z).max(initial=0.0) > FAR:
                break
            radius = 2.0 * radius if share == 1.0 else max(2.0 * share * radius, 1e-6)
        self._fail(force, iteration)

    def modes(self, force: np.ndarray) -> Modes:
        """Modes at the state, where forces (n,) are unbalanced."""
        self.unit.evaluate()
        return modes_of(self.stiffness, self.unit.out.M, self.eq.J, self.free, force, self.load)

    def modes_behind(self, change: np.ndarray) -> Modes:
        """Modes at the end of a change; forces out of balance by 1e-7 may resist what nothing resists."""
        self.state.z[:] += change
        self._close()
        return self.modes(self._balance())

    def _close(self) -> bool:
        """Move the free coordinates onto the constraints by the shortest way; whether that was possible."""
        for _ in range(POLISHING):
            self.still.evaluate()
            size = np.abs(self.eq.phi).max(initial=0.0)
            if not np.isfinite(size) or size < CLOSED:
                break
            change = np.linalg.lstsq(self.eq.J[:, self.free], -self.eq.phi, rcond=PIVOT_TOLERANCE)[0]
            self.state.z[self.free] += change
        return bool(size < NEARLY_CLOSED)

    def _balance(self) -> np.ndarray:
        """Unbalanced forces (n,) with the multipliers that leave the least; those on held coordinates are carried."""
        J = self.eq.J[:, self.free]
        change = np.linalg.lstsq(J.T, -self.eq.G[self.free], rcond=PIVOT_TOLERANCE)[0]
        left = self.eq.G + self.eq.J.T @ change
        left[self.hold] = 0.0
        self.state.lam[:] += change
        self._weigh(left)
        return left

    def _weigh(self, left: np.ndarray) -> None:
        """Note how large the forces at work are, here and at the start; what they were on the way tells nothing."""
        carried = np.abs(self.eq.J.T * self.state.lam).max(initial=0.0)
        self.load = max(self._least_load, float(carried), float(np.abs(left).max(initial=0.0)))

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
        return modes.shape @ amount, fall / max(np.abs(fall).max(initial=0.0), 1e-300) * FAR

    def _limited(self, change: np.ndarray, radius: float) -> np.ndarray:
        largest = np.where(self.turns, min(radius, LARGEST_TURN), radius)
        return change / max(1.0, (np.abs(change) / largest).max(initial=0.0))

    def _move(self, change: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, float]:
        """Change the coordinates, less where the way down ends before; the new forces, and the share taken or 0."""
        origin, multipliers, slope, share = self.state.z.copy(), self.state.lam.copy(), abs(force @ change), 1.0
        for _ in range(MAX_HALVINGS):
            self._tries += 1
            self.state.z[:], self.state.lam[:] = origin + share * change, multipliers
            if self._close() and self._is_near(origin + share * change, share * change):
                left = self._balance()
                ahead = left @ change
                if ahead <= OVERSHOT * slope:
                    return left, share
                share *= float(np.clip(slope / (slope + ahead), 0.1, 0.5)) if np.isfinite(ahead) else 0.5
            else:
                share *= 0.5
        self.state.z[:], self.state.lam[:] = origin, multipliers
        return force, 0.0

    def _is_near(self, aim: np.ndarray, change: np.ndarray) -> bool:
        """Whether the constraints were closed nearer to the aim of a step than it is long: beyond, in another way."""
        return bool(np.abs(self.state.z - aim).max() <= np.abs(change).max())

    def _fail(self, force: np.ndarray, iterations: int) -> NoReturn:
        worst = int(np.argmax(np.abs(force)))
        what = f"no static equilibrium was found in {iterations} iterations"
        raise AnalysisError(f"{what}: {self._unbalanced(worst, force)}; {ADVICE}")

    def _unbalanced(self, column: int, force: np.ndarray) -> str:
        unit = force_on(self.names.coordinate_units[column])
        return f"{self.names.coordinates[column]} stays unbalanced by {abs(force[column]):.4g} {unit}"


def _weight(start: Instant) -> float:
    tree, theta = start.model.tree, start.theta.real
    mass = theta[tree.theta + MASS].sum()
    if isinstance(tree, FlexibleTree):
        mass += theta[tree.block + MASS_OF_FLEXIBLE].sum()
    return float(mass * np.linalg.norm(theta[GRAVITY : GRAVITY + 3]))
