"""Numbers that the equations leave open, and derivatives that do not exist: rank, reactions, grazing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.errors import counted, some_of
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Block, InverseBlock, Problem
from mbsim_cli.solve.redundancy import beyond_equations


class UndefinedDirections:
    """Parameters without derivatives, with the reasons: often the mechanism cannot be assembled at other values."""

    def __init__(self, names: Names):
        self._names = names
        self.reasons: dict[str, str] = dict(names.undefined)  # by parameter

    def add(self, block: Block | InverseBlock) -> None:
        broken = block.broken
        for k in np.flatnonzero(broken.any(axis=0)) if broken is not None and broken.any() else ():
            parameter, row = self._names.parameters[k], int((broken[:, k] != 0).argmax())
            if parameter not in self.reasons:
                self.reasons[parameter] = self._reason(parameter, int(broken[row, k]), float(block.time[row]))

    def _reason(self, parameter: str, number: int, time: float) -> str:
        if number == beyond_equations(self._names):
            drives = f"a change of {parameter} drives a motion that no force resists"
            return f"{drives}: with another value there is no equilibrium nearby"
        equation = self._names.equation(abs(number))
        if number < 0:
            return (
                f"{parameter} moves {equation}, which loses its rank in the singular position that the mechanism "
                f"passes before t = {time:g} s: behind it nothing depends smoothly on {parameter}"
            )
        since = f"from t = {time:g} s on " if time > 0.0 else ""
        if number > len(self._names.constraints):
            why = f"{equation} holds in every position, and a change of {parameter} violates it"
        else:
            why = f"a change of {parameter} violates {equation}, which depends on other equations"
        return f"{why}: with another value {since}the mechanism cannot be assembled"


def masked(gradient: np.ndarray, parameters: Sequence[str], undefined: Iterable[str]) -> np.ndarray:
    """A gradient (p,) with NaN for undefined parameters; (0,) without sensitivities."""
    found = np.array(gradient, dtype=float)
    found[[parameters.index(name) for name in undefined]] = np.nan
    return found


# Multipliers that are only one choice of many, and what multipliers are in the first place.

OF_STEP = "multipliers of the integrator's step, of first order in it"
SHOWN = "; sensors of multipliers and reactions show forces of the positions and velocities that are stored"
OF_PROJECTIONS = {"sigma": "multipliers of the projection of velocities", "kappa": "those of accelerations"}


class MultiplierHealth:
    """Multipliers that the motion does not determine, and those that the projection leaves of first order."""

    def __init__(self, problem: Problem, objectives: Sequence[Objective]):
        options = problem.options
        self._names, self._objectives = problem.names, objectives
        # the motion is projected after each step, so that multipliers of the step are not the reactions
        self._projected = options.analysis == "forward_dynamics" and not options.integrated
        self._first_order = self._projected and options.projection == "identity"
        sensors = (problem if problem.system is None else problem.system).model.sensors
        listed = zip(problem.names.sensors, sensors.kind, sensors.index, strict=False)
        self._read = {name: int(equation) for name, kind, equation in listed if kind == Sensor.MULTIPLIER}
        self._free = np.zeros(len(problem.names.constraints), dtype=bool)

    def add(self, block: Block) -> None:
        if isinstance(block, Block) and block.free.any():
            self._free |= block.free.any(axis=0)

    @property
    def free(self) -> list[str]:
        """Equations whose multipliers are not determined."""
        return [self._names.constraints[row] for row in np.flatnonzero(self._free)]

    @property
    def descriptions(self) -> dict[str, str]:
        """Descriptions of the multipliers in a result, by kind."""
        if not self._projected:
            return {"lambda": "forces of the constraints, as sensors of multipliers show them"}
        return {"lambda": f"{OF_STEP}{SHOWN}", **OF_PROJECTIONS}

    @property
    def sensors(self) -> dict[str, str]:
        """Why the multiplier that a sensor reads is not determined, by sensor."""
        return {
            name: f"{self._names.constraints[row]} depends on other equations, which may carry its load: "
            "its multiplier is not determined, and that of least norm is shown"
            for name, row in self._read.items()
            if self._free[row]
        }

    def flags(self, objective: Objective) -> list[str]:
        """Why the value of an objective is only one choice."""
        read = {name for leaf in leaves(objective) for name in leaf.integrand.sensors}
        return [f"sensor {name}: {why}" for name, why in self.sensors.items() if name in read]

    @property
    def warnings(self) -> list[str]:
        found = [f"sensor {name}: {why}" for name, why in self.sensors.items()]
        if self._first_order and self._read:
            found.append(
                f"sensors of multipliers ({', '.join(self._read)}) are of first order in the step, "
                "as the motion is with projection: identity; projection: mass gives both of second order"
            )
        return found


def leaves(objective: Objective) -> list[Objective]:
    """The objectives of sensors that an objective consists of: itself, or those of its operands."""
    if not objective.operands:
        return [objective]
    return [leaf for operand in objective.operands for leaf in leaves(operand)]


# Reactions that are no numbers, undetermined or not found: which components, why, and which objectives read them.

MOST = 12  # names in a sentence
REMEDY = "joints that leave room determine them"


class UnknownReactions:
    """Reactions that are NaN in a run: not determined at all, or not found at some times."""

    def __init__(
        self,
        problem: Problem,
        objectives: Sequence[Objective],
        rows: Mapping[str, slice] | None = None,  # of sensors, for the sentences alone
        redundant: Sequence[str] = (),  # equations, for the same
    ):
        self._has_reactions = problem.reacting is not None
        self._objectives, self._rows = objectives, rows or {}
        self._because = f": {some_of(redundant, MOST)} follow from other equations" if redundant else ""
        self._components = dict(zip(problem.names.sensors, problem.names.sensor_components, strict=True))
        # by column of the sensors, once there are time points: not determined, and not found at some times
        self._unknown = self._lost = np.zeros((), bool)
        self._lost_times, self._first_lost = 0, ""

    def add(self, block: Block | InverseBlock) -> None:
        undetermined = block.undetermined
        if isinstance(block, Block) and any(block.lost):
            where = np.flatnonzero(block.lost)
            if not self._lost_times:
                self._first_lost = f"first at t = {block.time[where[0]]:g} s, where they {block.lost[where[0]]}"
            self._lost = self._lost | np.logical_or.reduce(undetermined[where], axis=0)
            self._lost_times += len(where)
            undetermined = undetermined[block.lost == None]  # noqa: E711, time point by time point
        if self._has_reactions:
            self._unknown = self._unknown | np.logical_or.reduce(undetermined, axis=0)

    @property
    def sensors(self) -> dict[str, str]:
        """Why components of sensors are NaN, by sensor."""
        return {name: self._lost_sentence for name in self._lost_sensors} | {
            name: f"{some_of(found, MOST)} not determined{self._because}; no number is shown"
            for name in self._rows
            if (found := self._components_of(name))
        }

    def _components_of(self, name: str) -> list[str]:
        """Components of a sensor that are not determined, as they are called in sentences."""
        if not self._unknown.any():
            return []
        marks = zip(self._components[name], self._unknown[self._rows[name]], strict=True)
        return [f"{name}.{label}" for label, unknown in marks if unknown]

    @property
    def _lost_sensors(self) -> list[str]:
        return [name for name, rows in self._rows.items() if self._lost_times and self._lost[rows].any()]

    @property
    def _lost_sentence(self) -> str:
        return f"forces of constraints are no numbers at {counted(self._lost_times, 'time point')}, {self._first_lost}"

    @property
    def objectives(self) -> list[str]:
        """Objectives that read components that are NaN."""
        found = []
        for objective in self._objectives:
            read = [leaf.sensors[name] for leaf in leaves(objective) for name in leaf.integrand.components]
            lost = self._lost_times and any(self._lost[rows].any() for rows in read)
            if lost or (self._unknown.any() and self._reads(objective)):
                found.append(objective.name)
        return found

    def _reads(self, objective: Objective) -> list[str]:
        """Components that an objective reads and that are not determined."""
        components = (
            f"{name}.{self._components[name][k]}"
            for leaf in leaves(objective)
            for name, read in leaf.integrand.components.items()
            for k in read
            if self._unknown[leaf.sensors[name]][k]
        )
        return list(dict.fromkeys(components))

    @property
    def warnings(self) -> list[str]:
        found = []
        if self._lost_times:
            read = f"({some_of(self._lost_sensors, MOST)}), nor is what reads them then"
            found.append(f"{self._lost_sentence} {read}")
        undetermined = [component for name in self._rows for component in self._components_of(name)]
        if not undetermined:
            return found
        found.append(f"redundant constraints leave {some_of(undetermined, MOST)} undetermined{self._because}; {REMEDY}")
        for objective in self._objectives:
            if read_by := self._reads(objective):
                part, _, axis = read_by[0].rpartition(".")
                others = [f"{part}.{other}" for other in "xyz"] if axis in "xyz" else []
                known = [one for one in others if one not in undetermined]
                remedy = f"; {' and '.join(known)} can be read alone" if known else ""
                named = f"{some_of(read_by, MOST)} (not determined)"
                found.append(f"objective {objective.name} is NaN, for it reads {named}{remedy}")
        return found


# Grazing: a stop, contact or tyre is touched without normal speed, and the motion has no derivative there.
#
# A small change of a parameter that moves the gap turns a miss into a hit. As a function of it the later motion has a
# finite slope on one side, and on the other side it changes like a square root. The gap is a parabola about its least
# value. Where that value is zero within the change of the gap over one step, the steps cannot tell a miss from a hit.
# docs/theory/ali3p.md, section 7.

BEFORE = 4  # time points for which there is no contact before: less is a body that comes to rest on another
WITHIN = 0.5  # of the second derivative of the gap times the square of the step: contact of two steps
MOVES = 1.0  # of the same: how much a parameter moves the least gap, in parts of itself, if that depends on it
SMOOTH = 1e-10  # of the largest gap: less curvature of a parabola through three time points is round-off
GRAZES = "grazing has no derivative"


class Event(NamedTuple):
    """A gap that has its least value, zero as far as steps tell."""

    gap: int  # in ``Problem.gaps``
    time: float  # s
    times: np.ndarray  # (3,) s, of the time points before
    weights: np.ndarray  # (3,) of these in a value at the time of the event
    bend: float  # second derivative of the gap times the square of the step


class Grazing:
    """Watches the gaps of a motion go by; ``count`` directions are followed by the blocks, or none by the adjoint."""

    def __init__(self, problem: Problem, count: int):
        self._problem, self._count = problem, count
        gaps = problem.gaps
        self._side = np.array([gap.side for gap in gaps], float)
        self._rows, self._at = problem.touching
        self._time, self._gaps = np.zeros(0), np.zeros((0, len(gaps)))
        self._shown = np.zeros((0, len(gaps), count))
        self._largest = np.zeros(len(gaps))
        self.events: list[Event] = []
        self._moved: list[np.ndarray] = []  # derivatives (p,) of the gap of each event

    def add(self, block: Block) -> None:
        gaps = self._side * (self._at - block.sensors[:, self._rows].real)
        self._time, self._gaps = np.append(self._time, block.time), np.concatenate([self._gaps, gaps])
        if self._count:
            self._shown = np.concatenate([self._shown, block.d_sensors[:, self._rows].real])
        self._largest = np.maximum(self._largest, np.abs(gaps).max(axis=0, initial=0.0))
        if len(self._time) > BEFORE:
            g, t, n = self._gaps, self._time, len(self._time) - 1
            # those at BEFORE - 1, ..., 0 time points before
            before = [g[k : n - (BEFORE - 1) + k] for k in range(BEFORE)]
            last, behind = before[-1], g[BEFORE:]
            near = (np.min(before, axis=0) > 0.0) & (last < before[-2]) & ((behind <= 0.0) | (behind >= last))
            for row, gap in zip(*np.nonzero(near), strict=True):
                at = row + BEFORE - 1
                h = t[at] - t[at - 1]
                bend = g[at, gap] - 2.0 * g[at - 1, gap] + g[at - 2, gap]  # times h^2
                rate = 0.5 * (3.0 * g[at, gap] - 4.0 * g[at - 1, gap] + g[at - 2, gap])  # times h
                if bend <= SMOOTH * self._largest[gap] or abs(g[at, gap] - 0.5 * rate**2 / bend) > WITHIN * bend:
                    continue
                s, three = -rate / bend, slice(at - 2, at + 1)
                weights = 0.5 * np.array([s * (s + 1.0), -2.0 * s * (s + 2.0), (s + 1.0) * (s + 2.0)])
                self.events.append(Event(int(gap), float(t[at] + h * s), t[three], weights, float(bend)))
                if self._count:
                    self._moved.append(weights @ self._shown[three, gap])
        self._time, self._gaps, self._shown = self._time[-BEFORE:], self._gaps[-BEFORE:], self._shown[-BEFORE:]

    def weights(self, time: np.ndarray) -> Sequence[tuple[np.ndarray, int, np.ndarray]]:
        """Time points (3,) by number in ``time``, row of the sensor, and weights: of each event, for the adjoint."""
        gaps = self._problem.gaps
        return [(np.searchsorted(time, e.times), gaps[e.gap].row, e.weights) for e in self.events]

    def reasons(self, moved: np.ndarray | None = None) -> dict[str, str]:
        """Why there is no derivative, by parameter; ``moved`` (E, p) are those of the sensors of all events."""
        found: dict[str, str] = {}
        problem, names = self._problem, self._problem.names
        for event, shown in zip(self.events, self._moved if moved is None else moved, strict=True):
            gap = problem.gaps[event.gap]
            moves = np.abs(problem.theta_rho[list(gap.begins)].real.sum(axis=0) - shown[: len(names.parameters)])
            for k in np.flatnonzero(moves * sizes(problem) > MOVES * event.bend):
                found.setdefault(
                    names.parameters[k],
                    f"{names.forces[gap.force]} is touched at t = {event.time:.6g} s without normal speed, as far as "
                    f"the steps resolve it, and {names.parameters[k]} moves it: {GRAZES}",
                )
        return found


def sizes(problem: Problem) -> np.ndarray:
    """Sizes (p,) of the parameters: the least change that changes a number of the model by its value; 1 without any."""
    theta, by = np.abs(problem.theta.real)[:, None], np.abs(problem.theta_rho.real)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((by > 0.0) & (theta > 0.0), theta / by, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(ratios), ratios, 1.0)
