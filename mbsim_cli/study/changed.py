"""Whole new analyses with changed parameters, for numerical derivatives."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.spec import with_values
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.assembling import build
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.settings import Settings


def values_at(
    model_file: Any, settings: Settings, changes: Mapping[str, float], listener: Listener = SILENT, before: Any = None
) -> np.ndarray:
    """Objectives of a whole new analysis with changed parameters, judged and assembled anew.

    A change is added to whatever defines the parameter, so that those defined by others still follow them. What was
    assembled ``before`` of the same file saves time.
    """
    definitions = model_file.definitions
    values = {name: f"({definitions[name].text}) + ({float(change)!r})" for name, change in changes.items()}
    assembled = build(with_values(model_file, values), settings, [], before)
    health = ANALYSES[assembled.problem.options.analysis].diagnostics(assembled.problem, assembled.objectives)
    found = evaluate(assembled.problem, assembled.objectives, (health.add,), listener=listener)
    if health.drifts:
        raise AnalysisError(f"the mechanism does not stay assembled: constraints are violated by {health.drift:.1e}")
    return np.array([result.value for result in found.values()])
