"""All that watches a run go by, and what it has to say in the end."""

from collections.abc import Mapping
from typing import Any

from mbsim_cli.study.diagnostics import discretisation, smooth
from mbsim_cli.study.diagnostics.bending import BendingHealth, StiffeningHealth
from mbsim_cli.study.diagnostics.contact import ContactHealth
from mbsim_cli.study.diagnostics.extremes import Extremes
from mbsim_cli.study.diagnostics.finite import FiniteHealth
from mbsim_cli.study.diagnostics.multipliers import MultiplierHealth
from mbsim_cli.study.diagnostics.reactions import UnknownReactions
from mbsim_cli.study.evaluation import Gradient, resolution_of
from mbsim_cli.study.plan import Plan


class Watchers:
    """Health of the analysis, bodies that deform, tyres, reactions, multipliers, and how well steps resolve it."""

    def __init__(self, plan: Plan):
        assembled = plan.assembled
        problem, objectives = assembled.problem, assembled.objectives
        self._plan = plan
        self.resolution = resolution_of(
            problem, assembled.parameters
        )  # consumed by the evaluation, which needs what it returns
        self.health = plan.analysis.diagnostics(problem, objectives)
        self.multipliers = MultiplierHealth(problem, objectives)
        self._bending = BendingHealth(problem)
        self._stiffening = StiffeningHealth(problem)
        self._contact = ContactHealth(problem, assembled.contacts)
        self.reactions = UnknownReactions(problem, objectives, assembled.sensor_rows, assembled.overdetermined)
        self._finite = FiniteHealth(assembled.sensor_rows)
        self.extremes = None if objectives else Extremes(problem.names, assembled.sensor_rows)

    def add(self, block: Any) -> None:
        """Take the next instants in."""
        for watcher in (
            self.health, self._bending, self._stiffening, self._contact, self.reactions, self._finite, self.multipliers,
        ):  # fmt: skip
            watcher.add(block)
        if self.extremes:
            self.extremes.add(block)

    def warnings(self, results: Mapping[str, Gradient]) -> list[str]:
        """Sentences of all."""
        plan, options = self._plan, self._plan.assembled.problem.options
        return [
            *plan.assembled.warnings,
            *self.health.warnings,
            *self._bending.warnings,
            *self._stiffening.warnings,
            *self._contact.warnings,
            *self.reactions.warnings,
            *self.multipliers.warnings,
            *self._finite.warnings,
            *smooth.warnings(results, plan.assembled.objectives),
            *discretisation.warnings_of_sampling(self.resolution, plan.assembled.objectives),
            *discretisation.warnings(self.resolution, results, plan.parameters, options),
        ]

    @property
    def resolved(self) -> dict[str, Any]:
        """What is known of the motion's discretisation error."""
        halving = self._plan.halving
        return discretisation.of_motion(self.resolution) | (halving.report if halving else {})
