"""The search for a position in which loops are closed: ranks, Newton steps, and the nearest position."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.position.equations import Equations, Group
from mbsim_cli.model.layout import STEP
from mbsim_cli.spec.geometry import Scalar
from mbsim_cli.system import cached_property

RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
TINY = 1e-12
WELL = 1e-2  # part of a unit row that a coordinate must add to be a good choice


def unit_rows(J: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length."""
    return J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), TINY)


def rank(J: np.ndarray) -> int:
    """Number of independent rows."""
    return int(np.linalg.matrix_rank(unit_rows(J), tol=RANK_TOLERANCE)) if J.size else 0


def dependent_rows(J: np.ndarray) -> list[int]:
    """Rows of a matrix (of unit rows) that are combinations of rows before them."""
    basis = np.zeros(J.shape)
    found: list[int] = []
    for number, row in enumerate(J):
        known = basis[: number - len(found)]
        rest = row - (known @ row) @ known
        rest = rest - (known @ rest) @ known
        size = np.linalg.norm(rest)
        if size < RANK_TOLERANCE:
            found.append(number)
        else:
            basis[len(known)] = rest / size
    return found


def determined(
    J: np.ndarray, free: np.ndarray, stated: np.ndarray, beyond: bool = False, last: np.ndarray | None = None,
    first: np.ndarray | None = None,
) -> list[int]:  # fmt: skip
    """Free coordinates that the rows of J determine, as many as the rank; ``stated`` ones only if necessary.

    Those of the mask ``first`` come before all others, however badly the rows determine them; those of ``last`` come
    only after all others, however badly the rows determine those.
    ``beyond`` takes others where the free ones are too few: an automatic target leaves a position but binds its rate.
    """
    rest = unit_rows(J).copy()
    chosen: list[int] = []
    squares = (rest * rest).sum(axis=0)
    last = np.zeros_like(free) if last is None else last
    early = free & ~last
    groups = [] if first is None else [(early & first, RANK_TOLERANCE)]
    groups += [(early & ~stated, WELL), (early & stated, WELL), (early, RANK_TOLERANCE)]
    for group, enough in [*groups, (free & last, WELL), (free, RANK_TOLERANCE), (~free & beyond, RANK_TOLERANCE)]:
        candidates = group.copy()
        candidates[chosen] = False
        while len(chosen) < len(rest) and candidates.any():  # no more columns are independent than there are rows
            best = int(np.argmax(np.where(candidates, squares, -1.0)))
            size = np.linalg.norm(rest[:, best])
            squares[best] = size * size  # the running value has lost digits
            if size < enough:
                if squares[candidates].max() < enough * enough:
                    break
                continue
            column = rest[:, best] / size
            share = column @ rest
            rest -= np.outer(column, share)
            squares = np.maximum(squares - share * share, 0.0)
            candidates[best] = False
            chosen.append(best)
    return sorted(chosen)


MAX_ITERATIONS = 100
SOLVED = 1e-13
LIGHTEST, HEAVIEST = 1e-4, 1e8  # damping of Newton's steps


def newton(
    equations: Equations | Group, theta: Sequence[Scalar], start: np.ndarray, dependent: list[int],
    weights: np.ndarray | float = 1.0, most: int = MAX_ITERATIONS,
) -> np.ndarray:  # fmt: skip
    """Solve for the dependent coordinates (k,) from a start (n,) in ``most`` steps, each the least by ``weights`` (k,).

    Steps are damped where they must be (Levenberg, Marquardt). Returns the coordinates (n,) of smallest residual.
    """
    z, damping, rows = start.copy(), 0.0, equations.of_position
    by_dependent = np.ix_(rows, dependent)
    phi, J = equations.at(theta, z)
    for _ in range(most if dependent else 0):
        size = np.linalg.norm(phi[rows])
        if size < SOLVED or damping > HEAVIEST:
            break
        trial = z.copy()
        slopes, gap = J[by_dependent] / weights, phi[rows]
        if damping == 0.0:
            step = np.linalg.lstsq(slopes, -gap, rcond=RANK_TOLERANCE)[0]
        else:  # by the singular values: beside squares of steep slopes the damping is round-off
            u, sizes, v = np.linalg.svd(slopes, full_matrices=False)
            step = -v.T @ (sizes / (sizes**2 + damping) * (u.T @ gap))
        trial[dependent] += step / weights
        attempt, slope = equations.at(theta, trial)
        if np.linalg.norm(attempt[rows]) < size:
            z, phi, J = trial, attempt, slope
            damping = damping / 10.0 if damping > LIGHTEST else 0.0
        else:
            damping = max(10.0 * damping, LIGHTEST)
    return z


# The closed position nearest to the declared one, and its derivatives.
#
# Least weighted distance |W (z - z_0)| under Phi(z) = 0: the multipliers mu and z solve
#
#     W^2 (z - z_0) + Phi_z^T mu = 0,    Phi = 0,
#
# so that z depends on the declared position and on every number of the model by the implicit function theorem.
# Second derivatives of Phi are complex steps of Phi_z^T mu. All is solved for W z, so that weights may differ by
# powers of ten.

WALKS, STEPS, HALVINGS, CORRECTIONS, POLISHING = 20, 4, 12, 10, 12
REDUNDANT = 1e-14  # singular values, relative, that are but round-off
NEARBY = 1e-9  # of distances that count as equal
STANDS = 1e-10  # relative step below which the nearest position is reached


class Nearest:
    """Coordinates with ``weights`` (l,) above 0 move, as little as they can, from ``declared`` (l,)."""

    def __init__(self, equations: Group, theta: Sequence[Scalar], declared: np.ndarray, weights: np.ndarray) -> None:
        self.equations, self.theta, self.declared = equations, theta, declared
        self.loose = np.flatnonzero(weights)
        self.weights = weights[self.loose]
        self.rows = equations.of_position

    def from_position(self, z: np.ndarray) -> np.ndarray:
        """The nearest position that descent along closed positions reaches from a closed one."""
        for _ in range(WALKS):
            z, ended = self._walk(z)
            polished = self._polish(z)
            if polished is not None:
                return polished
            if ended:
                break
        return z

    def _polish(self, z: np.ndarray) -> np.ndarray | None:
        """Newton on the equations of the nearest position, None where it does not lead to one that is as near."""
        farthest, mu = self._distance(z), self._multipliers(z)
        left = self._residual(z, mu, self.theta, self.declared)
        for _ in range(POLISHING):
            size = np.linalg.norm(left)
            if size < SOLVED:
                return z if self._distance(z) <= farthest * (1.0 + NEARBY) + SOLVED else None
            change = self._solve(z, mu, left)
            z, mu = z.copy(), mu - change[self.loose.size :]
            z[self.loose] -= change[: self.loose.size] / self.weights
            left = self._residual(z, mu, self.theta, self.declared)
            if not np.linalg.norm(left) < size:
                return z if size < NEARBY and self._distance(z) <= farthest * (1.0 + NEARBY) + SOLVED else None
        return None

    def derivative(self, z: np.ndarray, d_theta: np.ndarray, d_declared: np.ndarray) -> np.ndarray:
        """Derivative (l,) of the nearest position along directions of theta and of the declared position."""
        mu = self._multipliers(z)
        theta = (np.asarray(self.theta) + 1j * STEP * d_theta).tolist()
        fixed = d_declared.copy()
        fixed[self.loose] = 0.0
        change = self._residual(z + 1j * STEP * fixed, mu, theta, self.declared + 1j * STEP * d_declared).imag / STEP
        fixed[self.loose] = -self._solve(z, mu, change)[: self.loose.size] / self.weights
        return fixed

    def _residual(self, z: np.ndarray, mu: np.ndarray, theta: Sequence[Scalar], declared: np.ndarray) -> np.ndarray:
        phi, J = self.equations.at(theta, z)
        pull = self.weights * (z - declared)[self.loose] + (self._part(J) / self.weights).T @ mu
        return np.concatenate([pull, phi[self.rows]])

    def _solve(self, z: np.ndarray, mu: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solution of the equations' linearisation, weighted coordinates before multipliers, for a right-hand side."""
        J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
        H = np.eye(self.loose.size)
        for k, column in enumerate(self.loose):
            stepped = z.astype(complex)
            stepped[column] += 1j * STEP
            bent = (self._part(self.equations.at(self.theta, stepped)[1]).T @ mu).imag / STEP
            H[:, k] += bent / (self.weights * self.weights[k])
        whole = np.block([[H, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.lstsq(whole, right, rcond=RANK_TOLERANCE**2)[0]

    def _part(self, J: np.ndarray) -> np.ndarray:
        """Derivatives of the rows of the position by the coordinates that move."""
        return J[self.rows][:, self.loose]

    def _multipliers(self, z: np.ndarray) -> np.ndarray:
        J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
        return np.linalg.lstsq(J.T, -self.weights * (z - self.declared)[self.loose], rcond=REDUNDANT)[0]

    def _walk(self, z: np.ndarray) -> tuple[np.ndarray, bool]:
        """Descend along closed positions towards the declared one; return position and whether descent has ended."""
        for _ in range(STEPS):
            J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
            way = self.weights * (self.declared - z)[self.loose]
            way -= np.linalg.lstsq(J, J @ way, rcond=RANK_TOLERANCE)[0]
            if np.linalg.norm(way) <= STANDS * (1.0 + np.linalg.norm(z)):
                return z, True
            for halving in range(HALVINGS):
                trial = z.copy()
                trial[self.loose] += 0.5**halving * way / self.weights
                trial = newton(self.equations, self.theta, trial, self.loose.tolist(), self.weights, CORRECTIONS)
                if self._distance(trial) < self._distance(z):
                    z = trial
                    break
            else:
                return z, True
        return z, False

    def _distance(self, z: np.ndarray) -> float:
        """From the declared position; positions that are not closed are farther than any."""
        phi = self.equations.at(self.theta, z)[0][self.rows]
        if not np.abs(phi).max(initial=0.0) < 1e3 * SOLVED:
            return np.inf
        return float(np.linalg.norm(self.weights * (z - self.declared)[self.loose]))


# Search for a position that closes a mechanism's loops, the nearest to the declared one.
#
# Where the coordinates that the declared ones determine close the loops, by Newton's method, nothing else moves.
# Where that fails, all coordinates move that the file does not state, if they can close the loops whatever the
# values of the others are. Else those that it states move, too, as little as can be. Where there are too many of
# these for the others to close the loops, the others follow: stated values that just close the loops are so the
# limit of values that almost do, and the start has one derivative there. Coordinates declared independent never
# move. Damped least squares start from the declared position and from around it, farther and farther off.

CLOSED = 1e-9  # lengths in the mechanism's unit (``model.scales``), or rad
CHOICES = 3
FAR = 0.5  # change of a stated coordinate, rad or the mechanism's unit, that makes others worth a look
AWAY = (0.1, 0.3, 1.0, 3.0)  # how far off searches start, the same
SEARCHES = 60  # coordinates times searches from each of these distances
UNSTATED = 0.1  # weight of a coordinate that the file does not state, where closed positions are compared
FOLLOWING = (1e-2, 1e-3, 1e-4, 1e-5)  # the same, one after the other, where the nearest is sought
DIFFERENCE = 1e-6  # step of difference quotients of deviations at cut joints, rad or the mechanism's unit
CANDIDATES = 4  # nearest ones among the closed positions found, from which to look for still nearer ones
SAME = 1e-4  # two positions nearer than this are one


class Found(NamedTuple):
    """A position (l,) of a group of equations: closed, or the one with the smallest gap."""

    z: np.ndarray
    dependent: list[int]  # coordinates that the others determine
    weights: np.ndarray  # (l,) of coordinates that moved to the nearest closed position; 0: declared, or determined
    closures: int = 1  # different closed positions that were found

    @property
    def moved(self) -> np.ndarray:
        """Mask (l,) of coordinates that could not keep their declared values."""
        return self.weights > 0.0


class Search:
    """Search for closed positions from ``start`` (l,); ``accepts`` checks a closed position.

    ``free``, ``stated`` and ``own`` are masks; those of ``own`` are what the others determine, if they can. ``at_cuts``
    gives the deviations of cut joints from their stated values, rad or in sizes of the mechanism.
    """

    def __init__(
        self, equations: Group, theta: list[float], start: np.ndarray, free: np.ndarray, stated: np.ndarray,
        own: np.ndarray, accepts: Callable[[np.ndarray], bool], at_cuts: Callable[[np.ndarray], list[float]],
    ) -> None:  # fmt: skip
        self.equations, self.theta, self.start = equations, theta, start
        self.free, self.stated, self.own, self.accepts, self.at_cuts = free, stated, own, accepts, at_cuts
        self.rows = equations.of_position

    def keep(self) -> Found:
        """Newton from the declared position for the coordinates that others determine; all others keep their values."""
        dependent = self._dependent(self.start)
        for _ in range(CHOICES):
            z = newton(self.equations, self.theta, self.start, dependent)
            J = self.equations.at(self.theta, z)[1]
            better = determined(J[self.rows], self.free, self.stated, first=self.own)
            if better == dependent or len(better) <= rank(J[self.rows][:, dependent]):
                break
            dependent = better
        return Found(self._unturned(z), dependent, np.zeros(self.start.size))

    def find(self) -> Found:
        """A closed position, or the one with the smallest gap that was found."""
        found = self.keep()
        if self._closes(found.z):
            change = np.abs(found.z - self.start)[self.free & self.stated].max(initial=0.0)
            at_cuts = np.abs(self.at_cuts(found.z)).max(initial=0.0)
            if not max(change, at_cuts) > FAR:
                return found
            return self._nearest([found, *self._others(found)])
        if not self.free.any():
            return found
        anywhere = list(self._from(np.flatnonzero(self.free)))
        if not any(map(self._closes, anywhere)):
            tried = [found.z, *anywhere]
            return Found(min(tried, key=self._gap), found.dependent, found.weights, 0)
        unstated, closed = self.free & ~self.stated, []
        if unstated.any() and (self.free & self.stated).any():
            closed = self._moved(unstated, filter(self._is_free_to_close, self._from(np.flatnonzero(unstated))))
        return self._nearest(closed or self._moved(self.free, anywhere))

    def generic(self) -> np.ndarray:
        """A position in no special configuration, near the declared one."""
        noise = np.random.default_rng(1).standard_normal(self.start.size)
        return self.start + np.where(self.free, AWAY[0] * noise, 0.0)

    def distance(self, z: np.ndarray) -> float:
        """From the declared position; coordinates that the file does not state count less."""
        return float(np.linalg.norm(np.append(self._weights(self.free) * (z - self.start), self.at_cuts(z))))

    def _weights(self, loose: np.ndarray, unstated: float = UNSTATED) -> np.ndarray:
        """Of coordinates that may move (l,); alike where none or all of them are stated."""
        stated = self.stated & loose
        return np.where(loose, np.where(stated | ~stated.any(), 1.0, unstated), 0.0)

    def _is_free_to_close(self, z: np.ndarray) -> bool:
        """Whether what the file does not state closes the loops near z whatever it states."""
        J = self.equations.at(self.theta, z)[1][self.rows]
        return rank(J[:, self.free & ~self.stated]) == rank(J[:, self.free])

    def _gap(self, z: np.ndarray) -> float:
        return float(np.linalg.norm(self.equations.at(self.theta, z)[0][self.rows]))

    def _closes(self, z: np.ndarray) -> bool:
        phi = self.equations.at(self.theta, z)[0][self.rows]
        return bool(np.abs(phi).max(initial=0.0) <= CLOSED) and self.accepts(z)

    def _nearest(self, closed: list[Found]) -> Found:
        """The nearest, and how many there are; of equally near ones the first."""
        different: list[np.ndarray] = []
        for found in closed:
            if all(np.abs(found.z - z).max() > SAME for z in different):
                different.append(found.z)
        best = min(closed, key=lambda found: round(self.distance(found.z), 9))
        return Found(best.z, best.dependent, best.weights, len(different))

    @cached_property
    def _generator(self) -> "np.random.Generator":  # quoted, for numpy imports it when it is named
        return np.random.default_rng(0)

    def _starts(self, loose: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Where searches start: how far off, and coordinates (l,)."""
        yield 0.0, self.start
        if self._fitted is not self.start:
            yield 0.0, self._fitted
        for away in AWAY:
            for _ in range(max(1, SEARCHES // max(10, int(loose.sum())))):
                yield away, self._fitted + np.where(loose, away * self._generator.standard_normal(loose.size), 0.0)

    @cached_property
    def _fitted(self) -> np.ndarray:
        """The declared position with what the file does not state fitted to what it states."""
        unstated = self.free & ~self.stated
        if not unstated.any() or not self.stated.any():
            return self.start
        return self._descend(self.start, np.flatnonzero(unstated))

    def _descend(self, z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The least-squares position reached from z by the coordinates ``columns``."""
        from mbsim_cli.solve.least_squares import least_squares

        def at(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            trial[columns] = part
            phi, J = self.equations.at(self.theta, trial)
            return phi[self.rows], J[self.rows][:, columns]

        trial = z.copy()
        trial[columns] = least_squares(at, z[columns])
        return self._unturned(newton(self.equations, self.theta, trial, columns.tolist()))

    def _unturned(self, z: np.ndarray) -> np.ndarray:
        """The same position with angles less than half a turn from where they started, unless equations count turns."""
        turns = np.where(self.equations.turns, np.round((z - self.start) / (2.0 * np.pi)), 0.0)
        if not turns.any():
            return z
        found = z - 2.0 * np.pi * turns
        return found if self._gap(found) <= self._gap(z) + CLOSED else z

    def _fitted_to_cuts(self, columns: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Starts with these coordinates fitted to equations and stated values of cut joints, if there are any."""
        from mbsim_cli.solve.least_squares import least_squares

        def at(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            trial[columns] = part
            phi, J = self.equations.at(self.theta, trial)
            off, slopes = np.array(self.at_cuts(trial)), []
            for column in columns:
                moved = trial.copy()
                moved[column] += DIFFERENCE
                slopes.append((self.at_cuts(moved) - off) / DIFFERENCE)
            return np.append(phi[self.rows], off), np.vstack([J[self.rows][:, columns], np.transpose(slopes)])

        for away in (0.0, *AWAY) if self.at_cuts(self.start) else ():
            trial = self.start.copy()
            trial[columns] = least_squares(at, trial[columns] + away * self._generator.standard_normal(columns.size))
            yield 0.0, trial

    def _from(self, columns: np.ndarray) -> Iterator[np.ndarray]:
        """Positions to which these coordinates move from all starts; once one closes, farther starts are skipped."""
        enough, loose = np.inf, np.isin(np.arange(self.start.size), columns)
        for away, start in chain(self._fitted_to_cuts(columns), self._starts(loose)):
            if away > enough:
                break
            z = self._descend(np.where(loose, start, self.start), columns)
            if self._closes(z):
                enough = max(away, AWAY[0])
            yield z

    def _others(self, found: Found) -> Iterator[Found]:
        """Other closed positions with the same coordinates at their declared values."""
        positions = self._from(np.array(found.dependent, dtype=int))
        return (Found(z, found.dependent, found.weights) for z in positions if self._closes(z))

    def _moved(self, loose: np.ndarray, positions: Iterable[np.ndarray]) -> list[Found]:
        """The closed ones of some positions, led to the nearest closed position."""
        found = []
        for closed in sorted(filter(self._closes, positions), key=self.distance)[:CANDIDATES]:
            weights = self._weights(loose)
            z = Nearest(self.equations, self.theta, self.start, weights).from_position(closed)
            if (weights == UNSTATED).any() and not self._is_free_to_close(z):
                for unstated in FOLLOWING:
                    weights = self._weights(loose, unstated)
                    z = Nearest(self.equations, self.theta, self.start, weights).from_position(z)
            if self._closes(z):
                found.append(Found(z, self._dependent(z), weights))
        return found

    def _dependent(self, z: np.ndarray) -> list[int]:
        J = self.equations.at(self.theta, z)[1]
        return determined(J[self.rows], self.free, self.stated, first=self.own)
