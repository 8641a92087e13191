"""The command that repeats one case of a study."""

import shlex
from collections.abc import Sequence

from mbsim_cli.study.sweep.study_plan import StudyPlan

_OPTIONS = ("formulation", "integrator", "tolerance", "step", "duration")


def command_of(plan: StudyPlan, values: Sequence[float]) -> str:
    """One line for a shell: ``mbsim run`` with the exact values (v,) of the case."""
    settings = plan.settings
    chosen = {column.name: repr(float(value)) for column, value in zip(plan.varied, values, strict=True)}
    words = ["mbsim", "run", str(plan.path)]
    for name, value in {**settings.get("overrides", {}), **chosen}.items():
        words += ["-p", f"{name}={value}"]
    for name in _OPTIONS:
        if settings.get(name) is not None:
            words += [f"--{name}", str(settings[name])]
    return shlex.join([*words, "--sensitivity", settings["method"]])
