"""Which of two exact methods gives gradients sooner: the direct one, by its parameters, or the adjoint.

Both take eight columns at a time: the direct method parameters, along with the motion; the adjoint objectives, in a
sweep that costs about as much as twice as many parameters, whatever the mechanism (``benchmarks/adjoint.py``).
"""

from typing import Any

from mbsim_cli.study.settings import Settings

AUTO = "auto"
TOGETHER = 8
SWEEP = 2  # blocks of parameters that a block of objectives in a sweep back costs as much as
RARE = ("multiplier", "reaction")  # sensors that not every mechanism has an adjoint for


def chosen(model_file: Any, settings: Settings) -> tuple[str, str]:
    """The method, and why in words."""
    analysis = model_file.analysis
    if not has_adjoint(analysis, settings):
        what = (
            formulation_of(analysis, settings)
            if analysis.type == "forward_dynamics"
            else f"an analysis of type {analysis.type}"
        )
        return "ddm", f"{what} has no adjoint"
    if _reads(model_file, RARE):
        return "ddm", "objectives read multipliers or reactions"
    wanted = analysis.sensitivity.parameters
    p = len(model_file.parameters if settings.all_numbers or wanted == "all" else wanted)
    k = len(model_file.objectives)
    method = "adjoint" if -(-p // TOGETHER) > SWEEP * -(-k // TOGETHER) else "ddm"
    return method, f"{p} parameters, {k} objectives"


def has_adjoint(analysis: Any, settings: Settings) -> bool:
    """Whether there is an adjoint of an analysis."""
    from mbsim_cli.spec.analysis import NO_ADJOINT

    return analysis.type == "forward_dynamics" and formulation_of(analysis, settings) not in NO_ADJOINT


def formulation_of(analysis: Any, settings: Settings) -> str | None:
    """The formulation that is asked for; None for an analysis that has none."""
    return settings.formulation or getattr(analysis, "formulation", None)


def _reads(model_file: Any, kinds: tuple[str, ...]) -> bool:
    """Whether an objective reads a sensor of one of these kinds."""
    from mbsim_cli.spec.syntax import names, parse

    found = {name for name, sensor in model_file.sensors.items() if sensor.type in kinds}
    texts = (objective.text for objective in model_file.objectives.values())
    return any(found & set(names(parse(text, vectors=True))) for text in texts)
