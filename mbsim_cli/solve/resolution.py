"""How well fixed steps resolve a motion: what its instants lack to be a solution.

Over four steps coordinates must change by the integral of their rates, which Boole's rule gives to the seventh order
in the step. What is missing is the error that a method of lower order made there: docs/theory/resolution.md.
"""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.model.problem import Block, Options, Problem

WINDOW = 4  # steps
BOOLE = np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0  # of the window's length
SMALL = 1e-3  # of the largest motion of a unit: what moves less is measured by that
ROUND_OFF = 1e-9  # m or rad: what moves less is at rest
AT_REST = 1e-3  # of the largest squared speed: what is slower tells no time


class Resolution:
    """Watches the instants of a run with fixed steps, one pass; coordinates stand in n columns."""

    def __init__(self, names: Sequence[str], units: Sequence[str]):
        self.reason = f"fewer than {WINDOW} steps"  # why there is no estimate
        self._names = names
        self._alike = [np.flatnonzero([unit == other for other in units]) for unit in dict.fromkeys(units)]
        self._waiting: tuple[np.ndarray, ...] = ()  # instants since the last window ended, and its end
        self._missing = np.zeros(len(names))  # sums over windows
        self._least, self._most = np.full(len(names), np.inf), np.full(len(names), -np.inf)
        self._shift = self._fastest = 0.0
        self._windows = 0

    def add(self, block: Block) -> np.ndarray:
        """Take the next instants in; return by how much time each of them is ahead (B,), s."""
        rows = (block.time, block.position.real.T, block.velocity.real.T)
        waiting = self._waiting or tuple(row[..., :0] for row in rows)
        time, position, velocity = map(_joined, waiting, rows)
        count, known = time.size, time.size - len(block.time)
        windows = max(0, count - 1) // WINDOW
        shifts = np.full(windows + 1, self._shift)
        if count > known:
            self._least = np.minimum(self._least, position.min(axis=1))
            self._most = np.maximum(self._most, position.max(axis=1))
        if windows:
            shifts[1:] += np.cumsum(self._watch(windows, time, position, velocity))
            self._shift = shifts[-1]
        begun = windows * WINDOW
        self._waiting = time[begun:], position[:, begun:], velocity[:, begun:]
        return np.repeat(shifts, WINDOW)[known:count]

    def _watch(self, windows: int, time: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Add up what windows of (n, ...) instants miss; return the time (W,) that each of them gains."""
        end = windows * WINDOW
        length = np.diff(time[: end + 1 : WINDOW])
        middle = velocity[:, WINDOW // 2 : end : WINDOW]
        rates = middle * BOOLE[2]
        for k in (0, 1):  # the rule is symmetric
            beyond = WINDOW - k
            rates += BOOLE[k] * (velocity[:, k:end:WINDOW] + velocity[:, beyond : end + beyond : WINDOW])
        missing = np.diff(position[:, : end + 1 : WINDOW]) - length * rates
        self._missing += np.abs(missing).sum(axis=1)
        self._windows += windows
        weight = self.sizes**-2
        speed = weight @ (middle * middle)
        self._fastest = max(self._fastest, float(speed.max(initial=0.0)))
        along = weight @ (missing * middle)
        return along / np.maximum(speed, AT_REST * self._fastest + np.finfo(float).tiny)

    @property
    def sizes(self) -> np.ndarray:
        """How far each coordinate has moved (n,), no less than a small part of what others of its unit have."""
        moved = np.maximum(self._most - self._least, ROUND_OFF)
        for alike in self._alike:
            moved[alike] = np.maximum(moved[alike], SMALL * moved[alike].max())
        return moved

    @property
    def enough(self) -> bool:
        """Whether there have been steps to judge by."""
        return self._windows > 0

    @property
    def worst(self) -> tuple[float, str | None]:
        """Largest estimated error of a coordinate, relative to how far it moves, and which; NaN without an estimate."""
        if not self.enough:
            return float("nan"), None
        relative = self._missing / self.sizes
        worst = int(np.argmax(relative)) if relative.size else None
        return (0.0, None) if worst is None else (float(relative[worst]), self._names[worst])


def _joined(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Rows of instants behind those before them, coordinate by coordinate: long rows are fast."""
    known = before.shape[-1]
    found = np.empty((*after.shape[:-1], known + after.shape[-1]))
    found[..., :known], found[..., known:] = before, after
    return found


class NoSteps:
    """In place of ``Resolution`` where the motion's error does not come from fixed steps; says why."""

    worst = (float("nan"), None)
    enough = True

    def __init__(self, reason: str, exact: bool = True):
        self.reason, self._exact = reason, exact

    def add(self, block: Block) -> np.ndarray | None:
        """No instant is ahead, or nobody knows."""
        return np.zeros(len(block.time)) if self._exact else None


def resolution_of(problem: Problem) -> Resolution | NoSteps:
    """What watches the instants of an analysis."""
    options = problem.options
    if options.analysis == "inverse_dynamics":
        return NoSteps("the motion is given")
    if options.analysis == "equilibrium":
        return NoSteps("an equilibrium takes no steps")
    if options.adaptive:
        return NoSteps(f"{options.integrator} keeps {_controlled(options)}", exact=False)
    return Resolution(problem.names.coordinates, problem.names.coordinate_units)


def _controlled(options: Options) -> str:
    """The errors that an adaptive integrator keeps to its tolerance, and what would keep the others."""
    if options.error_control == "sensitivities" and options.sensitivity == "ddm":
        return "the error of each step, derivatives included, within the tolerance"
    motion = "the error of each step of the motion within the tolerance"
    if options.sensitivity == "none":
        return motion
    return f"{motion}, that of its derivatives with error_control: sensitivities (and ddm) only"
