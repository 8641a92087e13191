"""Static equilibrium: the search for a position of rest, its derivatives by the parameters, and the analysis of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import TRANSLATIONS, TURNING, Column
from mbsim_cli.model.coordinates import all_but, among, connected, kinds
from mbsim_cli.model.layout import GRAVITY, GROUND, MASS, FlexibleTree
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.model.standard_data import MASS as MASS_OF_FLEXIBLE
from mbsim_cli.model.units import force_on
from mbsim_cli.solve import redundancy
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.breakpoints import going_on
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import Initial, close_position, initial_of, require_closed, require_forces_alone
from mbsim_cli.solve.tape import Tape

NEUTRAL = 1e-11  # stiffness over the largest one below which a mode has none
ROUND_OFF = 1e-13  # the same over the forces, where nothing is stiff


@dataclass(frozen=True)
class StiffnessModes:
    """Modes of unit mass, d of them, in free directions, in which the symmetric part of the stiffness is diagonal.

    What nothing couples has modes of its own: what is small is so beside the rest of its part of the mechanism.
    """

    shape: np.ndarray  # (n, d) coordinates of each mode
    stiffness: np.ndarray  # (d, d) 1/s^2
    value: np.ndarray  # (d,) its diagonal
    force: np.ndarray  # (d,) unbalanced force along each mode
    neutral: np.ndarray  # (d,) bool: no force resists the mode
    largest: np.ndarray  # (d,) largest stiffness in the mode's part of the mechanism
    load: np.ndarray  # (d,) largest force there

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the stiffness over the mass, without the neutral ones, by increasing real part; 1/s^2."""
        stiff = ~self.neutral
        return np.sort_complex(np.linalg.eigvals(self.stiffness[np.ix_(stiff, stiff)]))

    @property
    def stable(self) -> bool:
        """Whether all eigenvalues have positive real parts: forces oppose any small change of the coordinates."""
        return bool((self.eigenvalues.real > 0.0).all())


MAX_TRIES = 400  # positions in all, shortened steps included
MAX_HALVINGS = 30
POLISHING = 25  # iterations at most, where the solution is near
BALANCED = 1e-8  # force over the largest one, along neutral modes
NEAR = 1e-7  # correction of the coordinates, relative, from which Newton on all equations takes over (resting)
CLOSED = 1e-12  # of the units of constraints
NEARLY_CLOSED = 1e3 * CLOSED  # where redundant constraints, or round-off, leave more
FIRST_RADIUS = 0.1  # largest change of a coordinate in the first iteration, rad or of the mechanism's size
LARGEST_TURN = 0.5  # rad, in any iteration
FAR = 1000 * 2.0**10  # rad, or of the mechanism's size: a coordinate that moves farther diverges
OVERSHOT = 0.9  # slope at the end of a step over that at its start, above which the step is shortened
ADVICE = "give it a spring or a stop, hold it (hold: in the analysis), or start nearer to the equilibrium"


class Statics:
    """A mechanism at rest; ``hold`` lists coordinates that keep their values."""

    def __init__(self, problem: Problem, start: Instant, hold: tuple[int, ...]) -> None:
        n, size = start.n, start.theta.size
        self._problem = problem
        self.names = problem.names
        self.state, self.eq, self.dtype = start.state, start.work.eq, start.dtype
        self.hold = np.array(sorted(hold), dtype=int)
        self.free = all_but(n, self.hold)
        columns, scales = kinds(start.model.tree), scales_of(start.model, start.theta)
        self.turns = np.isin(columns, TURNING)
        self.quaternions = np.flatnonzero(columns == Column.EULER_0)
        self.still = Instant(problem, start.theta, np.zeros((size, 0), start.dtype), start)
        self.unit = Instant(problem, start.theta, np.zeros((size, padded(n)), start.dtype), start)
        self.unit.sens.z[:, :n] = np.eye(n)
        # derivative (n, n) of the forces by the coordinates, at the state that ``unit`` evaluated last
        self.stiffness = self.unit.out.dG[:, :n]
        self._weight = _weights(start)
        self._rows = scales.rows  # units of constraints
        self._units = np.where(among(columns, TRANSLATIONS), scales.size, 1.0)  # rad, or the mechanism's size
        self._first, self._here = np.zeros((2, n))  # unbalanced forces at the start, and here
        self._tries = 0

    @property
    def _J(self) -> np.ndarray:
        """Derivatives (m, n) of the constraints, in their units."""
        return self.eq.J / self._rows[:, None]

    def search(self) -> tuple[StiffnessModes, int]:
        """Search from the present state along the forces for an equilibrium; return its modes and the iterations."""
        radius, start = FIRST_RADIUS, self.state.z.copy()
        self._close()
        force = self._balance()
        self._first = np.abs(force)
        iteration = 0
        while self._tries < MAX_TRIES:
            iteration += 1
            try:
                modes = self.modes(force)
                newton, fall = self._changes(modes)
            except np.linalg.LinAlgError:
                break
            if self._size(newton) <= NEAR * self._scale and not fall.any():
                return self.modes_behind(newton), iteration
            force, share = self._move(self._limited(newton, radius) + self._limited(fall, radius), force)
            if share == 0.0 or self._size(self.state.z - start) > FAR:
                break
            radius = 2.0 * radius if share == 1.0 else max(2.0 * share * radius, 1e-6)
        from mbsim_cli.solve.faults import NEGATIVE_INERTIA, body_of_negative_inertia

        if (body := body_of_negative_inertia(self._problem, self.unit.out.M)) is not None:
            raise AnalysisError(
                f"no static equilibrium was found in {iteration} iterations: the inertia of {body!r} is negative: "
                f"{NEGATIVE_INERTIA}; leave out `rotation`, which moves no equilibrium, or take fewer modes or a frame "
                "on a chord"
            )
        unbalanced = self._unbalanced(int(np.argmax(np.abs(force))), force)
        raise AnalysisError(f"no static equilibrium was found in {iteration} iterations: {unbalanced}; {ADVICE}")

    def modes(self, force: np.ndarray) -> StiffnessModes:
        """Modes at the state, where forces (n,) are unbalanced; stiffness below the round-off of forces is zero."""
        self.unit.evaluate()
        parts, K, M, n, d = self.parts, self.stiffness, self.unit.out.M, len(force), 0
        load = self.load(parts)
        shape, stiffness = np.zeros((2, n, n))
        value, largest, most = np.zeros((3, n))
        neutral = np.zeros(n, dtype=bool)
        for part, rows in parts:
            free = np.setdiff1d(part, self.hold)
            J, inner = self._J[np.ix_(rows, free)], np.eye(free.size)
            if len(J):
                _, sizes, vectors = np.linalg.svd(J)
                inner = vectors[int((sizes > redundancy.PIVOT_TOLERANCE * max(1.0, sizes.max(initial=0.0))).sum()) :].T
            root = np.linalg.inv(np.linalg.cholesky(inner.T @ M[np.ix_(free, free)] @ inner))
            A = root @ (inner.T @ K[np.ix_(free, free)] @ inner) @ root.T
            values, vectors = np.linalg.eigh(0.5 * (A + A.T))
            own, A = slice(d, d + values.size), vectors.T @ A @ vectors
            shape[free, own], stiffness[own, own], value[own] = inner @ root.T @ vectors, A, values
            sizes = np.abs(A)
            largest[own], most[own] = sizes.max(initial=0.0), load[part].max()
            coupled = np.maximum(sizes.max(axis=0, initial=0.0), sizes.max(axis=1, initial=0.0))
            noise = ROUND_OFF * most[own] * np.abs(shape[:, own]).max(axis=0, initial=0.0) ** 2
            neutral[own] = coupled <= np.maximum(NEUTRAL * np.abs(values).max(initial=0.0), noise)
            d = own.stop
        shape, value, neutral, largest, most = shape[:, :d], value[:d], neutral[:d], largest[:d], most[:d]
        return StiffnessModes(shape, stiffness[:d, :d], value, shape.T @ force, neutral, largest, most)

    @property
    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Coordinates (k,) that inertia, stiffness or constraints couple, and numbers of these constraints.

        Of the state that ``unit`` evaluated last. Coordinates that are held couple no others.
        """
        J, M, K = self.eq.J != 0.0, self.unit.out.M, self.stiffness
        counted = J.astype(float)  # many times as fast as the product of masks
        coupled = (M != 0.0) | (K != 0.0) | (K.T != 0.0) | (counted.T @ counted != 0.0)
        coupled[self.hold] = coupled[:, self.hold] = False
        first = connected(len(coupled), *np.nonzero(coupled))
        parts = (np.flatnonzero(first == number) for number in sorted(set(first.tolist())))
        return [(part, np.flatnonzero(J[:, part].any(axis=1))) for part in parts]

    def load(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """What unbalanced forces are compared with (n,), N or N m: the largest in their part of the mechanism."""
        sizes = np.abs(self.eq.J.T * self.state.lam).max(axis=1, initial=0.0)
        sizes = np.maximum(np.maximum(sizes, self._first), np.abs(self._here))
        found = np.zeros(len(sizes))
        for part, _ in parts:
            found[part] = max(sizes[part].max(), self._weight[:, part].max(axis=1, initial=0.0).sum())
        return found

    def modes_behind(self, change: np.ndarray) -> StiffnessModes:
        """Modes after a last change: unbalanced forces near an equilibrium could hide neutral modes."""
        self.state.z[:] += change
        self._close()
        return self.modes(self._balance())

    def _close(self) -> bool:
        """Project the free coordinates onto the constraints; return whether the constraints are met."""
        for _ in range(POLISHING):
            self.still.evaluate()
            phi = self.eq.phi / self._rows
            size = np.abs(phi).max(initial=0.0)
            if not np.isfinite(size) or size < CLOSED:
                break
            change = np.linalg.lstsq(self._J[:, self.free], -phi, rcond=redundancy.PIVOT_TOLERANCE)[0]
            self.state.z[self.free] += change
        return bool(size < NEARLY_CLOSED)

    def _balance(self) -> np.ndarray:
        """Unbalanced forces (n,) with multipliers of least squares; zero on held coordinates."""
        change = np.linalg.lstsq(self._J[:, self.free].T, -self.eq.G[self.free], rcond=redundancy.PIVOT_TOLERANCE)[0]
        left = self.eq.G + self._J.T @ change
        left[self.hold] = 0.0
        self.state.lam[:] += change / self._rows
        self._here = left
        return left

    def _changes(self, modes: StiffnessModes) -> tuple[np.ndarray, np.ndarray]:
        """Newton's change of the coordinates (n,), and a change along neutral modes on which a force acts (n,)."""
        stiff = ~modes.neutral
        amount = np.zeros_like(modes.force)
        if modes.stable:
            amount[stiff] = np.linalg.solve(modes.stiffness[np.ix_(stiff, stiff)], -modes.force[stiff])
        if not modes.force @ amount < 0.0:  # unstable, at a solution, or against forces that have no potential
            sizes = np.maximum(np.abs(modes.value), NEUTRAL * modes.largest)  # values of modes only coupled may be zero
            amount[stiff] = -modes.force[stiff] / sizes[stiff]
        along = modes.force / np.abs(modes.shape).max(axis=0, initial=0.0)  # a unit of the mode's largest coordinate
        driven = modes.neutral & (np.abs(along) > BALANCED * modes.load)
        fall = modes.shape @ np.where(driven, -modes.force, 0.0)
        return modes.shape @ amount, fall / max(self._size(fall), 1e-300) * FAR

    def _limited(self, change: np.ndarray, radius: float) -> np.ndarray:
        largest = np.where(self.turns, min(radius, LARGEST_TURN), radius)
        return change / max(1.0, self._size(change / largest))

    def _size(self, change: np.ndarray) -> float:
        """The largest of changes of coordinates (n,), or of coordinates, in their units."""
        return float(np.abs(change / self._units).max(initial=0.0))

    @property
    def _scale(self) -> float:
        """Size of the position, to which corrections are relative."""
        return 1.0 + self._size(self.state.z)

    def _move(self, change: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, float]:
        """Change the coordinates by a share of ``change`` that does not overshoot; return forces and share, or 0."""
        origin, multipliers, slope, share = self.state.z.copy(), self.state.lam.copy(), abs(force @ change), 1.0
        for _ in range(MAX_HALVINGS):
            self._tries += 1
            self.state.z[:], self.state.lam[:] = origin + share * change, multipliers
            # closing must move less than the step: farther away the loops would close in another configuration
            if self._close() and self._size(self.state.z - (origin + share * change)) <= self._size(share * change):
                left = self._balance()
                ahead = left @ change
                if ahead <= OVERSHOT * slope:
                    return left, share
                share *= float(np.clip(slope / (slope + ahead), 0.1, 0.5)) if np.isfinite(ahead) else 0.5
            else:
                share *= 0.5
        self.state.z[:], self.state.lam[:] = origin, multipliers
        return force, 0.0

    def _unbalanced(self, column: int, force: np.ndarray) -> str:
        unit = force_on(self.names.coordinate_units[column])
        return f"{self.names.coordinates[column]} stays unbalanced by {abs(force[column]):.4g} {unit}"


def _weights(start: Instant) -> np.ndarray:
    """Weight (bodies, n), N, of each body that a coordinate moves; 0 of others."""
    tree, theta = start.model.tree, start.theta.real
    mass = theta[tree.theta + MASS]
    moves = np.zeros((mass.size, tree.column_kind.size))
    for body, parent in enumerate(tree.parent):
        if parent != GROUND:
            moves[body] = moves[parent]
        moves[body, tree.column_body == body] = 1.0
    if isinstance(tree, FlexibleTree):
        mass = mass.copy()
        mass[tree.flexible] += theta[tree.block + MASS_OF_FLEXIBLE]
        moves = moves[:, tree.column]
    return moves * mass[:, None] * np.linalg.norm(theta[GRAVITY : GRAVITY + 3])


OF_STIFFNESS = 1e-12  # force over stiffness and size of coordinates, below which it is round-off
SOLVED = 1e-13  # last correction of Newton's iteration, relative
CONTRACTING = 0.3  # correction over the one before it, above which Newton may reach another equilibrium
NOISE = 1e-10  # relative correction below which round-off may prevent contraction
MOST_SLIDES = 30  # moves along neutral modes towards the initial position
NEAREST = 1e-2  # relative change of the coordinates below which sliding stops
TRIES = 3  # times that neutral coordinates are chosen
SHORTEST_RETURN = 1 / 1024  # of the way of neutral coordinates back to their initial values
NO_FORCE = "a force at the equilibrium is no number; look for an overflowing law"


@dataclass(frozen=True)
class Equilibrium:
    """Held coordinates and independent constraints of an equilibrium; its position is in the state."""

    held: np.ndarray  # coordinates that keep their initial values: those asked for, and those of neutral modes
    rows: np.ndarray  # independent constraints, which carry multipliers
    modes: StiffnessModes
    iterations: int
    tangent: np.ndarray  # of the other coordinates and of multipliers of the rows, as ``NearestEquilibrium.tangent``
    leaves: np.ndarray  # (p,) bool: directions that drive a neutral mode, so that there is no equilibrium nearby


class NearestEquilibrium(Statics):
    """Search for the equilibrium nearest to the initial position, if neutral modes allow several."""

    def find(self, initial: np.ndarray) -> tuple[np.ndarray, np.ndarray, StiffnessModes, int]:
        """Go to the equilibrium, neutral coordinates to ``initial`` values; return held, rows, modes, iterations."""
        modes, iterations = self.search()
        z, change = self.state.z, np.zeros_like(self.state.z)
        for first in self.quaternions:  # of e and -e, which are the same orientation, the nearer one to the initial one
            four = slice(first, first + 4)
            if z[four] @ initial[four] < 0.0 and not np.isin(np.arange(first, first + 4), self.hold).any():
                change[four] = -2.0 * z[four]
        modes = self._nearest(initial, self.modes_behind(change) if change.any() else modes)
        for _ in range(TRIES):
            held, rows = self._held_by(modes)
            self.return_held(initial, held, rows, modes)
            if (driven := self._driven(held)).size:
                where, what = self._at_start(np.setdiff1d(held, self.hold)), self._unbalanced(driven[-1], self.eq.G)
                raise AnalysisError(
                    f"no equilibrium was found with {where}: {what} there, though the search ended where no force acts "
                    f"on it; {ADVICE}"
                )
            before, modes = modes, self.modes(self._left())
            if modes.neutral.sum() == before.neutral.sum():
                return held, rows, modes, iterations
        raise AnalysisError(
            f"no equilibrium was found: the motions that no force resists differ from one position to the "
            f"next; {ADVICE}"
        )

    def _held_by(self, modes: StiffnessModes) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates that are held, those of neutral modes too, and independent constraints of the others."""
        rank, order = redundancy.rank_and_pivots(np.linalg.qr(modes.shape[:, modes.neutral])[0].T)
        held = np.sort(np.concatenate([self.hold, order[:rank]]))  # these measure the neutral modes best
        rank, order = redundancy.rank_and_pivots(np.delete(self._J, held, axis=1).T)
        return held, np.sort(order[:rank])

    def _nearest(self, initial: np.ndarray, modes: StiffnessModes) -> StiffnessModes:
        """Go to the equilibrium nearest to the ``initial`` position, of those that neutral modes lead to.

        Which coordinates measure them best there does not depend on where the search ended.
        """
        radius = LARGEST_TURN
        for _ in range(MOST_SLIDES if modes.neutral.any() else 0):
            along = np.linalg.qr(modes.shape[:, modes.neutral])[0]
            change = along @ (along.T @ (initial - self.state.z))
            near = NEAREST * self._scale
            if self._size(change) <= near or radius < near:
                break
            before = self.state.z.copy()
            held, rows = self._held_by(modes)
            self.state.z[:] += self._limited(change, radius)
            there = self.solve_all(held, rows) and not self._driven(held).size and self.modes(self._left())
            if there and there.neutral.sum() == modes.neutral.sum():  # an equilibrium of the same kind
                modes, radius = there, 2.0 * radius
            else:
                self.state.z[:], radius = before, 0.5 * radius
        return modes

    def return_held(self, initial: np.ndarray, held: np.ndarray, rows: np.ndarray, modes: StiffnessModes) -> None:
        """Solve all equations with the held coordinates at their initial values, approached in steps if necessary."""
        origin = self.state.z[held].copy()
        done, step = 0.0, 1.0
        while done < 1.0 and step >= SHORTEST_RETURN:
            before, way = self.state.z.copy(), min(1.0, done + step)
            self.state.z[held] = origin + way * (initial[held] - origin)
            if self.solve_all(held, rows):
                done, step = way, 2.0 * step
                continue
            self.state.z[:], step = before, 0.5 * step
        free = np.setdiff1d(held, self.hold)
        if done < 1.0 and free.size:
            raise AnalysisError(f"no equilibrium was found with {self._at_start(free)}; {ADVICE}")
        if done < 1.0:
            weakest = int(np.argmax(np.abs(modes.shape[:, np.argmin(np.abs(modes.value))])))
            raise AnalysisError(
                "no equilibrium is certain: where forces balance, the stiffness along "
                f"{self.names.coordinates[weakest]} vanishes, too; {ADVICE}"
            )

    def _left(self) -> np.ndarray:
        """Forces (n,) at a solution, zero on coordinates that keep their values; evaluates ``unit``."""
        self.unit.evaluate()
        left = self.eq.G.copy()
        left[self.hold] = 0.0
        self._here = left
        return left

    def _driven(self, held: np.ndarray) -> np.ndarray:
        """The coordinates among ``held`` on which a force acts, the largest force last."""
        left = np.abs(self._left())
        stiffness = (np.abs(self.stiffness) * self._units).max(axis=1, initial=0.0)
        noise = OF_STIFFNESS * stiffness * self._scale
        order = held[np.argsort(left[held], kind="stable")]
        return order[left[order] > (BALANCED * self.load(self.parts) + noise)[order]]

    def solve_all(self, held: np.ndarray, rows: np.ndarray) -> bool:
        """Newton on all equations for the other coordinates and the multipliers; whether it converged.

        An iteration that does not contract counts as not converged: it could reach another equilibrium.
        """
        state, eq = self.state, self.eq
        others = all_but(state.z.size, held)
        state.lam[:] = 0.0
        self.still.evaluate()
        state.lam[rows] = np.linalg.lstsq(eq.J[np.ix_(rows, others)].T, -eq.G[others], rcond=None)[0]
        scale, before = self._scale, np.inf
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
            size = np.abs(x[: others.size].real / self._units[others]).max(initial=0.0)
            if size > max(CONTRACTING * before, NOISE * scale):
                return False
            before = size
            settled += bool(size <= SOLVED * self._scale)
            if settled == wanted:
                self.still.evaluate()
                return bool(np.abs(eq.phi.real / self._rows).max(initial=0.0) < NEARLY_CLOSED)
        return False

    def tangent(self, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Derivative of all equations by coordinates and multipliers, at the state that ``unit`` evaluated last."""
        K, J = self.stiffness[np.ix_(others, others)], self.eq.J[np.ix_(rows, others)]
        return np.block([[K, J.T], [J, np.zeros((rows.size, rows.size), self.dtype)]])

    def _at_start(self, columns: np.ndarray) -> str:
        names = ", ".join(self.names.coordinates[c] for c in columns)
        return f"{names} at {'its initial value' if columns.size == 1 else 'their initial values'}"


def find_equilibrium(problem: Problem, start: Instant, *, vary: bool = True) -> Equilibrium:
    """Move an assembled ``start`` to its equilibrium, with multipliers and derivatives; raise AnalysisError.

    Unless they ``vary``, derivatives are those of the held coordinates alone.
    """
    initial, d_initial = start.state.z.copy(), start.sens.z.copy()
    for arrays in (start.state[1:], start.sens):
        for array in arrays:
            array[:] = 0.0
    ending = start.theta.copy()
    start.theta[:] = going_on(start.model.laws, ending)  # tables: a search may pass beyond their ends
    real = start
    if start.dtype is not np.float64:
        real = Instant(problem, np.ascontiguousarray(start.theta.real), np.zeros((start.theta.size, 0)))
        real.state.z[:] = start.state.z.real
        real.work.kin.expected[:] = start.work.kin.expected
    found = NearestEquilibrium(problem, real, problem.hold)
    require_forces_alone(real, found.still.evaluate, "the search for an equilibrium")
    held, rows, modes, iterations = found.find(initial.real)
    if real is not start:
        start.state.z[:], start.state.lam[:] = real.state.z, real.state.lam
        start.work.kin.expected[:] = real.work.kin.expected
        start.state.z[held] = initial[held]
        found = NearestEquilibrium(problem, start, problem.hold)
        if not found.solve_all(held, rows):
            raise AnalysisError("no equilibrium was found a complex step away")
    start.theta[:] = ending
    found.still.evaluate()
    require_forces_alone(start, found.still.evaluate, "the search for an equilibrium")
    if not np.isfinite(found.eq.G).all():
        raise AnalysisError(NO_FORCE, (0.0, start.state.z.real.copy(), np.zeros(start.n)))
    start.state.lam[:] = redundancy.of_least_norm(redundancy.without_columns(found.eq.J, held), rows, start.state.lam)
    start.sens.z[held] = d_initial[held]
    found.unit.evaluate()
    others = all_but(start.n, held)
    tangent = found.tangent(others, rows)
    start.evaluate()  # along the held coordinates, whose derivatives are given
    given = np.abs(start.out.dG.real)
    change = np.linalg.solve(tangent, -np.concatenate([start.out.dG[others], start.out.dphi[0][rows]]))
    start.sens.z[others], start.sens.lam[rows] = change[: others.size], change[others.size :]
    start.sens.lam[:] = redundancy.of_least_norm(redundancy.without_columns(found.eq.J, held), rows, start.sens.lam)
    leaves = redundancy.changes_force(start, modes.shape[:, modes.neutral], given, found.load(found.parts))
    if not vary:
        start.sens.z[others], start.sens.lam[:] = 0.0, 0.0
    return Equilibrium(held, rows, modes, iterations, tangent, leaves)


def equilibrium(problem: Problem, *, theta: np.ndarray | None = None, tape: Tape | None = None) -> Iterator[Block]:
    """Yield the equilibrium as a block of one time point; ``theta`` may replace the numbers, also by complex ones.

    A ``tape`` keeps what an adjoint needs. Raises AnalysisError where the mechanism cannot be assembled, or no
    equilibrium is found.
    """
    initial, drift = start_at_equilibrium(problem, theta, vary=tape is None)
    assert initial.equilibrium is not None
    if tape is not None:
        tape.initial = initial
    block = Simulation(problem, initial, tape).first_block()
    yield block._replace(iterations=np.array([initial.equilibrium.iterations]), drift=np.array([[drift, 0.0, 0.0]]))


def start_at_equilibrium(
    problem: Problem, theta: np.ndarray | None = None, *, vary: bool = True
) -> tuple[Initial, float]:
    """The equilibrium as a start, and the largest violation of a constraint there; raises AnalysisError."""
    position = close_position(problem, theta)
    require_closed(problem, position.residual)
    start = position.start
    found = find_equilibrium(problem, start, vary=vary)
    rank = redundancy.rank_and_pivots(redundancy.in_units(start))[0]
    initial = initial_of(position.at_equilibrium(problem, found), rank, found.rows, found.held)
    return initial, float(np.abs(start.work.eq.phi.real).max(initial=0.0))
