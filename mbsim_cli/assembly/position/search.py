"""Search for a position that closes a mechanism's loops, the nearest to the declared one.

Where the coordinates that the declared ones determine close the loops, by Newton's method, nothing else moves. Where
that fails, all coordinates move that the file does not state, if they can close the loops whatever the values of the
others are. Else those that it states move, too, as little as can be. Where there are too many of these for the others
to close the loops, the others follow: stated values that just close the loops are so the limit of values that almost
do, and the start has one derivative there. Coordinates declared independent never move. Damped least squares start from
the declared position and from around it, farther and farther off.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mbsim_cli.assembly.position.groups import Scaled
from mbsim_cli.assembly.position.nearest import Nearest
from mbsim_cli.assembly.position.newton import newton
from mbsim_cli.assembly.position.rank import determined, rank
from mbsim_cli.solve.least_squares import least_squares
from mbsim_cli.system import cached_property

CLOSED = 1e-9  # lengths in the mechanism's unit (``model.scales``), or rad
CHOICES = 3
FAR = 0.5  # change of a stated coordinate, rad or the mechanism's unit, that makes others worth a look
AWAY = (0.1, 0.3, 1.0, 3.0)  # how far off searches start, the same
SEARCHES = 60  # coordinates times searches from each of these distances
UNSTATED = 0.1  # weight of a coordinate that the file does not state, where closed positions are compared
FOLLOWING = (1e-2, 1e-3, 1e-4, 1e-5)  # the same, one after the other, where the nearest is sought
CANDIDATES = 4  # nearest ones among the closed positions found, from which to look for still nearer ones
SAME = 1e-4  # two positions nearer than this are one


@dataclass(frozen=True)
class Found:
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
    """Coordinates from ``start`` (l,); ``free`` and ``stated`` are masks; ``accepts`` judges a closed position."""

    def __init__(
        self, equations: Scaled, theta: list[float], start: np.ndarray, free: np.ndarray, stated: np.ndarray,
        accepts: Callable[[np.ndarray], bool],
    ) -> None:  # fmt: skip
        self.equations, self.theta, self.start = equations, theta, start
        self.free, self.stated, self.accepts = free, stated, accepts
        self.rows = equations.of_position

    def keep(self) -> Found:
        """What Newton makes of the declared position, all values kept that others do not determine."""
        dependent = self._dependent(self.start)
        for _ in range(CHOICES):
            z = newton(self.equations, self.theta, self.start, dependent)
            J = self.equations.at(self.theta, z)[1]
            better = determined(J[self.rows], self.free, self.stated)
            if better == dependent or len(better) <= rank(J[self.rows][:, dependent]):
                break
            dependent = better
        return Found(self._unturned(z), dependent, np.zeros(self.start.size))

    def find(self) -> Found:
        """A closed position, or the one with the smallest gap that was found."""
        found = self.keep()
        if self._closes(found.z):
            return found if not self._is_far(found.z) else self._nearest([found, *self._others(found)])
        if not self.free.any():
            return found
        anywhere = list(self._loose(self.free))
        if not any(map(self._closes, anywhere)):
            tried = [found.z, *anywhere]
            return Found(min(tried, key=self._gap), found.dependent, found.weights, 0)
        unstated, closed = self.free & ~self.stated, []
        if unstated.any() and (self.free & self.stated).any():
            closed = self._moved(unstated, filter(self._is_free_to_close, self._loose(unstated)))
        return self._nearest(closed or self._moved(self.free, anywhere))

    def generic(self) -> np.ndarray:
        """A position in no special configuration, near the declared one."""
        noise = np.random.default_rng(1).standard_normal(self.start.size)
        return self.start + np.where(self.free, AWAY[0] * noise, 0.0)

    def distance(self, z: np.ndarray) -> float:
        """From the declared position; coordinates that the file does not state count less."""
        return float(np.linalg.norm(self._weights(self.free) * (z - self.start)))

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

    def _is_far(self, z: np.ndarray) -> bool:
        return bool(np.abs(z - self.start)[self.free & self.stated].max(initial=0.0) > FAR)

    def _nearest(self, closed: list[Found]) -> Found:
        """The nearest, and how many there are; of equally near ones the first."""
        different: list[np.ndarray] = []
        for found in closed:
            if all(np.abs(found.z - z).max() > SAME for z in different):
                different.append(found.z)
        best = min(closed, key=lambda found: round(self.distance(found.z), 9))
        return Found(best.z, best.dependent, best.weights, len(different))

    @cached_property
    def _generator(self) -> np.random.Generator:
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
        """Where least squares lead by the coordinates ``columns``."""

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

    def _from(self, way: Callable[[np.ndarray], np.ndarray], loose: np.ndarray) -> Iterator[np.ndarray]:
        """Positions found from all starts; once one closes, only those from as far off are of interest."""
        enough = np.inf
        for away, start in self._starts(loose):
            if away > enough:
                break
            z = way(start)
            if self._closes(z):
                enough = max(away, AWAY[0])
            yield z

    def _others(self, found: Found) -> Iterator[Found]:
        """Other closed positions with the same coordinates at their declared values."""
        columns = np.array(found.dependent, dtype=int)
        loose = np.isin(np.arange(self.start.size), columns)
        way = self._from(lambda start: self._descend(np.where(loose, start, self.start), columns), loose)
        return (Found(z, found.dependent, found.weights) for z in way if self._closes(z))

    def _loose(self, loose: np.ndarray) -> Iterator[np.ndarray]:
        """Positions to which all coordinates of a mask may move."""
        columns = np.flatnonzero(loose)
        return self._from(lambda start: self._descend(start, columns), loose)

    def _moved(self, loose: np.ndarray, positions: Iterable[np.ndarray]) -> list[Found]:
        """The closed ones of some positions, led to the nearest closed position."""
        closed = sorted(filter(self._closes, positions), key=self.distance)
        near = [self._led(loose, z) for z in closed[:CANDIDATES]]
        return [Found(z, self._dependent(z), weights) for z, weights in near if self._closes(z)]

    def _led(self, loose: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest closed position from one that is closed, and the weights (l,) for which it is."""
        weights = self._weights(loose)
        z = Nearest(self.equations, self.theta, self.start, weights).from_position(z)
        if (weights == UNSTATED).any() and not self._is_free_to_close(z):
            for unstated in FOLLOWING:
                weights = self._weights(loose, unstated)
                z = Nearest(self.equations, self.theta, self.start, weights).from_position(z)
        return z, weights

    def _dependent(self, z: np.ndarray) -> list[int]:
        return determined(self.equations.at(self.theta, z)[1][self.rows], self.free, self.stated)
