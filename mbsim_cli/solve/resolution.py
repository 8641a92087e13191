"""Discretisation error of a motion with fixed steps, estimated from the residual of its time points.

Over four steps coordinates must change by the integral of their rates, which Boole's rule gives to the seventh order
in the step. The difference is the error that a method of lower order made there. The same holds for derivatives of the
motion: docs/theory/resolution.md.
"""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve.least_inertia import extents

GIVEN = "the motion is given"
WINDOW = 4  # steps
BOOLE = np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0  # of the window's length
SMALL = 1e-3  # share of the largest motion of a unit, by which errors of coordinates that move less are measured
ROUND_OFF = 1e-9  # of a coordinate's unit, or of a coordinate over a parameter: coordinates that move less are at rest
AT_REST = 1e-3  # share of the largest squared speed: slower motions do not measure time shifts
COMPARED = 1000  # times at which two runs are compared
NO_TIMES = np.zeros(0)
FOLLOWED = 0.3  # error at the end, over the range of a coordinate, beyond which it does not measure time shifts


class Resolution:
    """Estimates the error of a run with fixed steps from its blocks, in one pass.

    The motion and its derivatives by p parameters are 1 + p motions of n coordinates, each with a clock of its own.
    ``elastic`` are the coordinates of bodies that deform, ``parameters`` values, ``scales`` (n,) the coordinates'
    units in the mechanism, as of ``scales.units_of``.
    """

    def __init__(
        self, names: Sequence[str], units: Sequence[str], steps: int = 0, elastic: slice = slice(0),
        parameters: Sequence[float] | np.ndarray = (), times: np.ndarray = NO_TIMES, scales: np.ndarray | float = 1.0,
    ):  # fmt: skip
        self.reason = f"fewer than {WINDOW} steps"  # why there is no estimate
        self._names = names
        rigid = np.ones(len(names), bool)
        rigid[elastic] = False
        alike = [np.array([unit == other for other in units], bool) & rigid for unit in dict.fromkeys(units)]
        self._alike = [(found, SMALL) for found in alike if found.any()]
        if not rigid.all():
            self._alike.append((~rigid, 1.0))  # modes that hardly move ring fast
        values = np.abs(np.asarray(parameters, float))
        self._parameters = np.where(values > 0.0, values, 1.0)
        self._at_rest = ROUND_OFF * scales
        self._expected = steps // WINDOW
        self._waiting: list[np.ndarray] = []  # time points since the last window ended, and its end
        self._windows = 0
        self.times, self._shown = times, np.full((times.size, len(names)), np.nan)  # for another run to compare with
        self._compared: np.ndarray | None = None

    def add(self, block: Block) -> np.ndarray:
        """Take the next time points in; return by how much time each of them is ahead (1 + p, B), s."""
        rates = block.velocity[..., None], block.d_velocity
        rows = [block.time, *(one.real for one in (block.position[..., None], block.d_position, *rates))]
        if not self._waiting:
            motions = 1 + block.d_position.shape[2]
            shape, self._start = (len(self._names), motions), block.time[0]
            self._least, self._most = np.full(shape, np.inf), np.full(shape, -np.inf)
            self._missing = np.zeros(shape)  # sums over windows
            self._fastest, self._shift = np.zeros(motions), np.zeros(motions)  # by how much time motions are ahead
        waiting = self._waiting or [row[:0] for row in rows]
        if len(waiting[0]):
            rows = [np.concatenate(pair) for pair in zip(waiting, rows, strict=True)]
        time, *rows = rows
        count, known = time.size, time.size - len(block.time)
        self._sample(time[max(0, known - 1) :], *(row[max(0, known - 1) :, :, 0] for row in (rows[0], rows[2])))
        windows = max(0, count - 1) // WINDOW
        shifts = np.repeat(self._shift[:, None], windows + 1, axis=1)
        if count > known:
            self._widen(slice(0, 1), _along(rows[0]))
        if windows:
            shifts[:, 1:] += np.cumsum(self._watch(windows, time, *rows), axis=1)
            self._shift = shifts[:, -1].copy()
        begun = windows * WINDOW
        self._waiting = [row[begun:].copy() for row in (time, *rows)]  # the memory of blocks is used again
        return np.repeat(shifts, WINDOW, axis=1)[:, known:count]

    def _sample(self, time: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> None:
        """Keep positions at the times of comparison among these, by Hermite's cubics."""
        first, last = np.searchsorted(self.times, [time[0], time[-1] * (1.0 + ROUND_OFF)], side="right")
        at = self.times[first:last]
        if at.size and time.size > 1:
            k = np.clip(np.searchsorted(time, at) - 1, 0, time.size - 2)
            h = (time[k + 1] - time[k])[:, None]
            s, change = (at - time[k])[:, None] / h, position[k + 1] - position[k]
            bend = (1.0 - s) * (h * velocity[k] - change) + s * (change - h * velocity[k + 1])
            self._shown[first:last] = position[k] + s * change + s * (1.0 - s) * bend

    def compare(self, other: "Resolution", share: float) -> None:
        """Take a share of the largest difference from a run at the same times for the error of each coordinate.

        Differences do not grow further once phases are lost: then the errors summed over windows are used.
        """
        off = np.abs(self._shown - other._shown)
        off = off[np.isfinite(off).all(axis=1)]
        if len(off):
            far = off.max(axis=0)
            self._compared = np.where(far > FOLLOWED * self.sizes, np.maximum(far, self._missing[:, 0]), share * far)

    def _widen(self, motions: slice, position: np.ndarray) -> None:
        """Take in how far motions reach at positions (n, 1 + p, ...)."""
        self._least[:, motions] = np.minimum(self._least[:, motions], position.min(axis=-1))
        self._most[:, motions] = np.maximum(self._most[:, motions], position.max(axis=-1))

    def _watch(self, windows: int, time: np.ndarray, *rows: np.ndarray) -> np.ndarray:
        """Add up what windows of time points miss; return the time (1 + p, W) that each of them gains."""
        ends = slice(0, windows * WINDOW + 1, WINDOW)
        position = np.concatenate([_along(one[ends]) for one in rows[:2]], axis=1)
        rates = zip(*(_in_windows(windows, one) for one in rows[2:]), strict=True)
        change, middle = (np.concatenate(pair, axis=1) for pair in rates)
        self._widen(slice(1, None), position[:, 1:])  # derivatives: the ends of windows suffice
        missing = np.diff(position) - np.diff(time[ends]) * change
        self._missing += np.abs(missing).sum(axis=-1)
        self._windows += windows
        return self._gained(missing, middle, time[ends][-1] - self._start)

    def _gained(self, missing: np.ndarray, rates: np.ndarray, elapsed: float) -> np.ndarray:
        """Time shifts (1 + p, W) of motions with errors ``missing`` (n, 1 + p, W) at ``rates`` of the same shape.

        The largest speed is at least the distance so far over the time so far; derivatives at rest shift with the
        motion. Coordinates whose phase will be lost have a weight near zero.
        """
        sizes = self._sizes
        lost = self._missing / sizes * max(1.0, self._expected / self._windows)
        lost = np.maximum(lost, lost[:, :1])
        weights = np.exp((lost.min(axis=0, initial=np.inf) - lost) / FOLLOWED) / sizes**2
        weights = np.sqrt(weights)[..., None]
        rates, missing = weights * rates, weights * missing
        speed, along = np.einsum("nkw,nkw->kw", rates, rates), np.einsum("nkw,nkw->kw", rates, missing)
        self._fastest = np.maximum(self._fastest, speed.max(axis=1, initial=0.0))
        least = AT_REST * np.maximum(self._fastest, max(self._fastest[0], elapsed**-2))[:, None]
        along[1:] -= (gained := along[:1] / np.maximum(speed[:1], least[:1])) * speed[1:]
        return np.concatenate([gained, gained + along[1:] / np.maximum(speed[1:], least[1:])])

    @property
    def _sizes(self) -> np.ndarray:
        """How far each coordinate has moved (n, 1 + p), no less than a part of what others of its kind have."""
        moved = self._most - self._least
        moved[:, 0] = np.maximum(moved[:, 0], self._at_rest)
        for alike, part in self._alike:
            moved[alike] = np.maximum(moved[alike], part * moved[alike].max(axis=0))
        p = moved.shape[1] - 1
        moved[:, 1:] = np.maximum(moved[:, 1:], ROUND_OFF * moved[:, :1] / self._parameters[:p])
        return moved

    @property
    def sizes(self) -> np.ndarray:
        """How far each coordinate has moved (n,), as errors are measured by it."""
        return self._sizes[:, 0]

    @property
    def still(self) -> bool:
        """Whether nothing moves but by round-off."""
        return self.enough and bool((self.sizes <= self._at_rest).all())

    @property
    def enough(self) -> bool:
        """Whether there have been steps to estimate from."""
        return self._windows > 0

    @property
    def worst(self) -> tuple[float, str | None]:
        """Largest estimated error of a coordinate, relative to how far it moves, and which; NaN without an estimate."""
        if not self.enough:
            return float("nan"), None
        relative = (self._missing[:, 0] if self._compared is None else self._compared) / self.sizes
        worst = int(np.argmax(relative)) if relative.size else None
        return (0.0, None) if worst is None else (float(relative[worst]), self._names[worst])


def _along(rows: np.ndarray) -> np.ndarray:
    """Time points (B, n, k) as (n, k, B): long rows are fast."""
    return np.ascontiguousarray(rows.transpose(1, 2, 0))


def _in_windows(windows: int, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean rates of windows of time points (B, n, k) by Boole's rule, and those in their middle (n, k, W)."""
    end, shape = windows * WINDOW, velocity.shape[1:]
    begun = velocity[:end].reshape(windows, WINDOW, -1)
    mean = BOOLE[:WINDOW] @ begun + BOOLE[WINDOW] * velocity[WINDOW : end + 1 : WINDOW].reshape(windows, -1)
    return _along(mean.reshape(windows, *shape)), _along(begun[:, WINDOW // 2].reshape(windows, *shape))


class NoSteps:
    """In place of ``Resolution`` where the motion's error does not come from fixed steps, with the ``reason``."""

    worst = (float("nan"), None)
    enough = True

    def __init__(self, reason: str, exact: bool = True):
        self.reason, self._exact = reason, exact

    def add(self, block: Block) -> np.ndarray | None:
        """Time shift (1, B) of the motion, s: zeros, or None if it is unknown."""
        return np.zeros((1, len(block.time))) if self._exact else None


def resolution_of(
    problem: Problem, parameters: Sequence[float] | np.ndarray, times: np.ndarray | None = None
) -> Resolution | NoSteps:
    """The estimator at these ``parameters``, compared with a run at ``times``, by default one of half as many steps."""
    options = problem.options
    if options.analysis == "inverse_dynamics":
        assert problem.prescribed is not None
        if problem.prescribed.splined:
            return NoSteps("the motion is a spline through rows of a table", exact=False)
        return NoSteps(GIVEN)
    if options.analysis == "kinematics":
        return NoSteps(GIVEN)
    if options.at_once:
        return NoSteps("an equilibrium takes no steps" if options.analysis == "equilibrium" else "modes take no steps")
    if options.adaptive:
        keeps = f"{options.integrator} keeps the error of each step"
        if options.error_control == "sensitivities" and options.sensitivity == "ddm":
            return NoSteps(f"{keeps}, derivatives included, within the tolerance", exact=False)
        return NoSteps(f"{keeps} of the motion within the tolerance", exact=False)
    if loses_energy(problem):
        return NoSteps("projection: identity leaves errors of first order, which step: auto shows", exact=False)
    names, steps = problem.names, round(options.duration / options.step)
    if times is None:
        half = max(1, steps // 2)
        every = -(-half // COMPARED)
        times = options.duration / half * np.arange(every, half + 1, every)
    units = np.sqrt(extents(problem.system)[0]) if options.natural else units_of(problem.model, problem.theta)[0]
    return Resolution(names.coordinates, names.coordinate_units, steps, elastic_of(problem), parameters, times, units)


def loses_energy(problem: Problem) -> bool:
    """Whether steps leave velocities errors of first order, which agree with the positions that follow from them."""
    options = problem.options
    projected = not options.integrated and (options.natural or len(problem.names.constraints) > 0)
    return projected and options.projection == "identity"


def elastic_of(problem: Problem) -> slice:
    """The coordinates of bodies that deform, the last ones."""
    n, columns = len(problem.names.coordinates), getattr(problem.model.tree, "elastic", np.zeros(1, int))
    return slice(n - int(columns[-1] - columns[0]), n)
