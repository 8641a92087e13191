"""Whole new analyses with changed parameters, for numerical derivatives."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.assembling import build, load
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.settings import Settings


def values_at(
    path: Path, settings: Settings, model_file: Any, changes: Mapping[str, float], listener: Listener = SILENT
) -> np.ndarray:
    """Objectives of a whole new analysis, from the file on, with changed parameters.

    A change is added to whatever defines the parameter, so that those defined by others still follow them.
    """
    overrides = dict(settings.overrides)
    for name, change in changes.items():
        number = model_file.parameters[name].value
        defined = overrides.get(name) or (number.text if number.literal is None else repr(number.literal))
        overrides[name] = f"({defined}) + ({float(change)!r})"
    changed = replace(settings, overrides=overrides)
    assembled = build(load(path, changed), changed, [])
    health = ANALYSES[assembled.problem.options.analysis].diagnostics(assembled.problem, assembled.objectives)
    values = evaluate(assembled.problem, assembled.objectives, (health.add,), listener=listener)
    if health.drifts:
        raise AnalysisError(f"the mechanism does not stay assembled: constraints are violated by {health.drift:.1e}")
    return np.array([result.value for result in values.values()])
