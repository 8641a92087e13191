"""Which of two exact methods gives gradients sooner: the direct one, by its parameters, or the adjoint.

Both take eight columns at a time: the direct method parameters, along with the motion; the adjoint objectives, in a
sweep that costs about as much as twice as many parameters, whatever the mechanism (``benchmarks/adjoint.py``).
"""

from typing import Any

from mbsim_cli.study.settings import Settings

AUTO = "auto"
TOGETHER = 8
SWEEP = 2  # blocks of parameters that a block of objectives in a sweep back costs as much as


def chosen(model_file: Any, settings: Settings) -> tuple[str, str]:
    """The method, and why in words."""
    analysis = model_file.analysis
    if not has_adjoint(analysis, settings):
        return "ddm", f"{formulation_of(analysis, settings)} has no adjoint"
    wanted = analysis.sensitivity.parameters
    p = len(model_file.parameters if settings.all_numbers or wanted == "all" else wanted)
    k = len(model_file.objectives)
    method = "adjoint" if -(-p // TOGETHER) > SWEEP * -(-k // TOGETHER) else "ddm"
    return method, f"{p} parameters, {k} objectives"


def has_adjoint(analysis: Any, settings: Settings) -> bool:
    """Whether there is an adjoint of an analysis."""
    from mbsim_cli.spec.analysis import NO_ADJOINT

    return analysis.type != "forward_dynamics" or formulation_of(analysis, settings) not in NO_ADJOINT


def formulation_of(analysis: Any, settings: Settings) -> str | None:
    """The formulation that is asked for; None for an analysis that has none."""
    return settings.formulation or getattr(analysis, "formulation", None)
