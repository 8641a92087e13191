"""Which of two exact methods gives gradients sooner: the direct one, by its parameters, or the adjoint."""

from typing import Any

from mbsim_cli.study.costs import costs_of, steps_of
from mbsim_cli.study.settings import Settings

AUTO = "auto"


def chosen(model_file: Any, settings: Settings, assembled: Any) -> tuple[str, str]:
    """The method for an assembled model, and why in words."""
    from mbsim_cli.solve.tape import MEMORY

    analysis, problem, objectives = model_file.analysis, assembled.problem, len(assembled.objectives)
    if not has_adjoint(analysis, settings):
        return "ddm", f"{formulation_of(analysis, settings)} has no adjoint"
    costs = costs_of(problem, objectives, MEMORY if settings.memory is None else settings.memory)
    p, steps = problem.theta_rho.shape[1], steps_of(problem)
    counted = [_count(p, "parameter"), _count(objectives, "objective"), *([_count(steps, "step")] if steps else [])]
    return costs.quicker, f"{', '.join(counted)}: {costs.sentence()}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def has_adjoint(analysis: Any, settings: Settings) -> bool:
    """Whether there is an adjoint of an analysis."""
    from mbsim_cli.spec.analysis import NO_ADJOINT

    return analysis.type != "forward_dynamics" or formulation_of(analysis, settings) not in NO_ADJOINT


def formulation_of(analysis: Any, settings: Settings) -> str | None:
    """The formulation that is asked for; None for an analysis that has none."""
    return settings.formulation or getattr(analysis, "formulation", None)
