"""Analyses of designs: the model at their values, and its objectives with derivatives by all variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbsim_cli.spec.moved import with_fields
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import Asking, Listener
from mbsim_cli.study.optimizing.statement import volume_of
from mbsim_cli.study.optimizing.variables import Variables
from mbsim_cli.study.plan import Plan, draft
from mbsim_cli.study.run import Outcome, run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing


@dataclass(frozen=True)
class Analyses:
    """Analyses of a model file at values of its variables."""

    model_file: Any
    settings: Settings
    variables: Variables
    by: Sequence[str] | None  # parameters that gradients are taken by; None: as the file says
    listener: Listener

    def plan(self, values: np.ndarray, timing: Timing) -> Plan:
        """The analysis of a design."""
        changed, fields = self.variables.parts(values)
        moved = with_fields(self.model_file, fields) if fields else self.model_file
        drafted = draft(moved, self.settings, timing, self.by, values=changed)
        return drafted.plan(timing, Asking(self.listener))

    def objectives(self, values: np.ndarray) -> Mapping[str, Gradient]:
        """What a design leads to, with derivatives (v,) by all variables."""
        spent = Timing()
        outcome = run(self.plan(values, spent), spent, Asking(self.listener))
        return _by_all(outcome, self.variables) if self.variables.fields else outcome.results


def _by_all(outcome: Outcome, variables: Variables) -> dict[str, Gradient]:
    """Objectives with derivatives (v,) by parameters and all elements of fields, and the fields' volumes."""
    found = {}
    for name, result in outcome.results.items():
        parts = [outcome.by_fields[name][field] for field in variables.fields]
        found[name] = replace(result, gradient=np.concatenate([result.gradient, *parts]))
    for given in outcome.plan.assembled.fields:
        mean, by_elements = given.body.share()
        gradient = np.zeros(len(variables.start))
        gradient[variables.fields[given.name]] = by_elements
        found[volume_of(given.name)] = Gradient(mean, gradient)
    return found
