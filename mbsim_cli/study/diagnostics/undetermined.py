"""Numbers that the equations leave open: derivatives, and multipliers and reactions that are one choice of many."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Block, InverseBlock, Problem

# Parameters that nothing can be differentiated by, with the reasons.


class UndefinedDirections:
    """Parameters without derivatives, with the reasons: often the mechanism cannot be assembled at other values."""

    def __init__(self, names: Names):
        self._names = names
        self.reasons: dict[str, str] = dict(names.undefined)  # by parameter

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        broken = getattr(block, "broken", np.zeros((0, 0)))  # open trees of inverse dynamics break nothing
        for k in np.flatnonzero(broken.any(axis=0)) if broken.any() else ():
            parameter, row = self._names.parameters[k], int((broken[:, k] != 0).argmax())
            if parameter not in self.reasons:
                self.reasons[parameter] = self._reason(parameter, int(broken[row, k]), float(block.time[row]))

    def _reason(self, parameter: str, number: int, time: float) -> str:
        equation = self._names.equation(abs(number))
        if number < 0:
            return (
                f"{parameter} moves {equation}, which loses its rank in the singular position that the mechanism "
                f"passes before t = {time:g} s: behind it nothing depends smoothly on {parameter}"
            )
        since = f"from t = {time:g} s on " if time > 0.0 else ""
        if number > len(self._names.constraints):
            why = f"{equation} holds whatever the coordinates are, and {parameter} breaks it"
        else:
            why = f"{parameter} breaks {equation}, which depends on other equations"
        return f"{why}: beside this value {since}the mechanism cannot be assembled"


def masked(gradient: np.ndarray, parameters: Sequence[str], undefined: Iterable[str]) -> np.ndarray:
    """A gradient (p,) with NaN for undefined parameters; (0,) without sensitivities."""
    found = np.array(gradient, dtype=float)
    found[[parameters.index(name) for name in undefined]] = np.nan
    return found


def footnotes(objectives: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Footnotes of a table of objectives: why numbers are NaN, or only one choice."""
    reasons = {name: why for entry in objectives.values() for name, why in entry.get("undefined", {}).items()}
    lines = [f"d/d {name} is NaN: {why}" for name, why in reasons.items()]
    return lines + [f"{name}*: {why}" for name, entry in objectives.items() for why in entry.get("flags", ())]


# Multipliers that are only one choice of many, and what multipliers are in the first place.

OF_STEP = "multipliers of the integrator's step, of first order in it"
SHOWN = "; sensors of multipliers and reactions show forces of the positions and velocities that are stored"
OF_PROJECTIONS = {"sigma": "multipliers of the projection of velocities", "kappa": "those of accelerations"}


class MultiplierHealth:
    """Multipliers that the motion does not determine, and those that the projection leaves of first order."""

    def __init__(self, problem: Problem, objectives: Sequence[Any]):
        self._options, self._names, self._objectives = problem.options, problem.names, objectives
        sensors = (problem if problem.system is None else problem.system).model.sensors
        kinds, equations = sensors.kind, sensors.index
        self._read = {
            name: int(equations[s])
            for s, name in zip(range(len(kinds)), problem.names.sensors, strict=False)
            if kinds[s] == Sensor.MULTIPLIER
        }
        self._free = np.zeros(len(problem.names.constraints), dtype=bool)

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        if isinstance(block, Block) and block.free.any():
            self._free |= block.free.any(axis=0)

    @property
    def free(self) -> list[str]:
        """Equations whose multipliers are not determined."""
        return [self._names.constraints[row] for row in np.flatnonzero(self._free)]

    @property
    def projected(self) -> bool:
        """Whether the motion is projected after each step, so that its multipliers are not the reactions."""
        return self._options.analysis == "forward_dynamics" and not self._options.integrated

    @property
    def first_order(self) -> bool:
        """Whether sensors of multipliers are of first order in the step."""
        return self.projected and self._options.projection == "identity"

    @property
    def descriptions(self) -> dict[str, str]:
        """Descriptions of the multipliers in a result, by kind."""
        if not self.projected:
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

    def flags(self, objective: Any) -> list[str]:
        """Why the value of an objective is only one choice."""
        return [f"sensor {name}: {why}" for name, why in self.sensors.items() if name in _sensors_of(objective)]

    @property
    def warnings(self) -> list[str]:
        """Sentences on sensors of multipliers."""
        found = [f"sensor {name}: {why}" for name, why in self.sensors.items()]
        if self.first_order and self._read:
            found.append(
                f"sensors of multipliers ({', '.join(self._read)}) are of first order in the step, "
                "as the motion is with projection: identity; projection: mass gives both of second order"
            )
        return found


def _sensors_of(objective: Any) -> set[str]:
    """Sensors that an objective reads, directly or through others."""
    if objective.operands:
        return set().union(*map(_sensors_of, objective.operands))
    return set(objective.integrand.sensors)


# Reactions that are no numbers, undetermined or not found: which components, why, and which objectives read them.

MOST = 12  # names in a sentence
REMEDY = "joints that leave room determine them"


class UnknownReactions:
    """Watches the reactions of a run go by; ``rows`` and ``redundant`` equations are for the sentences alone."""

    def __init__(
        self,
        problem: Problem,
        objectives: Sequence[Any],
        rows: Mapping[str, slice] | None = None,
        redundant: Sequence[str] = (),
    ):
        self._wanted = problem.reacting is not None
        self._objectives, self._rows, self._redundant = objectives, rows or {}, redundant
        self._components = dict(zip(problem.names.sensors, problem.names.sensor_components, strict=True))
        self._unknown: np.ndarray = np.zeros(0, bool)
        self._lost = Lost(self._components, self._rows)

    def add(self, block: Block | InverseBlock) -> None:
        """Take the next instants in."""
        undetermined = block.undetermined
        if isinstance(block, Block) and any(block.lost):
            self._lost.add(block)
            undetermined = undetermined[block.lost == None]  # noqa: E711, instant by instant
        if self._wanted and len(undetermined):
            found = np.logical_or.reduce(undetermined, axis=0)
            self._unknown = found | self._unknown if self._unknown.size else found

    @property
    def sensors(self) -> dict[str, str]:
        """Why components of sensors are not determined, by sensor."""
        undetermined = {
            name: f"{_listed(found)} not determined{self._because}; no number is shown"
            for name in self._rows
            if (found := self._components_of(name))
        }
        return self._lost.sensors | undetermined

    def _components_of(self, name: str) -> list[str]:
        """Components of a sensor that are not determined, as they are called in sentences."""
        if not self._unknown.any():
            return []
        marks = zip(self._components[name], self._unknown[self._rows[name]], strict=True)
        return [f"{name}.{label}" for label, unknown in marks if unknown]

    @property
    def _because(self) -> str:
        return f": {_listed(self._redundant)} follow from other equations" if self._redundant else ""

    @property
    def objectives(self) -> list[str]:
        """Objectives that read what is not determined."""
        return [
            objective.name
            for objective in self._objectives
            if (self._unknown.any() and self._reads(objective)) or self._lost.is_read_by(objective)
        ]

    def _reads(self, objective: Any) -> list[str]:
        """Components that an objective reads and that are not determined."""
        if objective.operands:
            return list(dict.fromkeys(one for operand in objective.operands for one in self._reads(operand)))
        return [
            f"{name}.{self._components[name][k]}"
            for name, read in objective.integrand.components.items()
            for k in read
            if self._unknown[objective.sensors[name]][k]
        ]

    @property
    def warnings(self) -> list[str]:
        """Sentences on components and objectives that are no numbers."""
        found = [component for name in self._rows for component in self._components_of(name)]
        if not found:
            return self._lost.warnings
        return [
            *self._lost.warnings,
            f"redundant constraints leave {_listed(found)} undetermined{self._because}; {REMEDY}",
            *(self._of_objective(objective, found) for objective in self._objectives if self._reads(objective)),
        ]

    def _of_objective(self, objective: Any, undetermined: list[str]) -> str:
        read = self._reads(objective)
        part, _, axis = read[0].rpartition(".")
        known = [one for other in "xyz" if (one := f"{part}.{other}") not in undetermined] if axis in "xyz" else []
        remedy = f"; {' and '.join(known)} can be read alone" if known else ""
        return f"objective {objective.name} is NaN, for it reads {_listed(read)} (not determined){remedy}"


class Lost:
    """Watches for instants at which forces of constraints are not found, and sensors of them are no numbers."""

    def __init__(self, components: Mapping[str, Sequence[str]], rows: Mapping[str, slice]) -> None:
        self._components, self._rows = components, rows
        self._count, self._first = 0, ""
        self._columns: np.ndarray = np.zeros(0, bool)

    def add(self, block: Block) -> None:
        """Take instants in, some of which are such."""
        where = np.flatnonzero(block.lost)
        found = np.logical_or.reduce(block.undetermined[where], axis=0)
        self._first = self._first or f"first at t = {block.time[where[0]]:g} s, where they {block.lost[where[0]]}"
        self._columns = found | self._columns if self._count else found
        self._count += len(where)

    @property
    def sensors(self) -> dict[str, str]:
        """Why sensors are no numbers at some instants, by sensor."""
        return dict.fromkeys((name for name, rows in self._rows.items() if self._reads(rows)), self._sentence)

    def is_read_by(self, objective: Any) -> bool:
        """Whether an objective reads sensors that are no numbers at some instants."""
        if objective.operands:
            return any(map(self.is_read_by, objective.operands))
        return any(self._reads(objective.sensors[name]) for name in objective.integrand.components)

    def _reads(self, rows: slice) -> bool:
        return self._count > 0 and bool(self._columns[rows].any())

    @property
    def _sentence(self) -> str:
        return f"forces of constraints are no numbers at {self._count} instant{'s' * (self._count > 1)}, {self._first}"

    @property
    def warnings(self) -> list[str]:
        """A sentence, where there are such instants."""
        read = f"({_listed(list(self.sensors))}), nor is what reads them then"
        return [f"{self._sentence} {read}"] if self._count else []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
