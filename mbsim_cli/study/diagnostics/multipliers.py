"""Multipliers that are only one choice of many, and what multipliers are in the first place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.problem import Block, Problem

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
        return self._options.analysis == "forward_dynamics" and not self._options.open_tree

    @property
    def first_order(self) -> bool:
        """Whether sensors of multipliers are of first order in the step."""
        return self.projected and self._options.projection == "identity"

    @property
    def descriptions(self) -> dict[str, str]:
        """What the multipliers in a result are, by kind."""
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
