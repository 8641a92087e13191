"""Which of two exact methods gives gradients sooner: the direct one, by its parameters, or the adjoint."""

from typing import Any

from mbsim_cli.study.costs import costs_of, steps_of
from mbsim_cli.study.settings import Settings

AUTO = "auto"


def chosen(model_file: Any, settings: Settings, assembled: Any) -> tuple[str, str]:
    """The method for an assembled model, and why in words."""
    from mbsim_cli.solve.tape import MEMORY

    analysis, problem, objectives = model_file.analysis, assembled.problem, len(assembled.objectives)
    lacking = without_adjoint(analysis, settings)
    if lacking:
        return "ddm", f"{lacking} has no adjoint"
    costs = costs_of(problem, objectives, MEMORY if settings.memory is None else settings.memory)
    p, steps = problem.theta_rho.shape[1], steps_of(problem)
    counted = [_count(p, "parameter"), _count(objectives, "objective"), *([_count(steps, "step")] if steps else [])]
    return costs.quicker, f"{', '.join(counted)}: {costs.sentence()}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def without_adjoint(analysis: Any, settings: Settings) -> str:
    """What has no adjoint, in words; empty where there is one."""
    from mbsim_cli.spec.analysis import without_adjoint

    asked = {"formulation": settings.formulation, "integrator": settings.integrator, "error_control": None}
    return without_adjoint(*(stated or getattr(analysis, key, None) for key, stated in asked.items()))
