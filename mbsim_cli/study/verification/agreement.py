"""Agreement of methods: the analysis repeated by other formulations, or differentiated by complex step or adjoint."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mbsim_cli.model.problem import OPEN_TREES
from mbsim_cli.study.assembling import build
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.evaluation import Gradient, evaluate
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.verification.comparison import Comparison, compare
from mbsim_cli.study.verification.complex_step import complex_steps

COMPLEX_STEP, ADJOINT = "complex_step", "adjoint"


def agreements(
    model: str, model_file: Any, settings: Settings, assembled: Any, results: Mapping[str, Gradient], listener: Listener
) -> Iterator[Comparison]:
    """Compare objectives and gradients with those of the methods that the file's checks name."""
    value, own = model_file.expressions.value, assembled.problem.options.formulation
    others: dict[str, Mapping[str, Gradient]] = {}
    named = {method for check in model_file.checks.values() for method in check.agreement}
    for method in sorted({*settings.without} - named):
        listener.say(f"--without {method} leaves nothing out: no check of {model} names it")
    for name, check in model_file.checks.items():
        tolerances = (value(check.relative_tolerance), value(check.absolute_tolerance))
        for method in check.agreement:
            if method in (own, settings.method, *settings.without):  # chosen on the command line
                continue
            if method not in others:
                others[method] = _repeated(method, model_file, settings, assembled, listener)
            for objective in check.objectives or results:
                labels = {"model": model, "name": f"{name}: {method}", "kind": "agreement", "objective": objective}
                yield from _rows(results[objective], others[method][objective], assembled, tolerances, labels)


def stepped_objectives(model_file: Any) -> set[str]:
    """Objectives that the file has differentiated by complex step, which says more than differences of analyses."""
    checks = [check for check in model_file.checks.values() if COMPLEX_STEP in check.agreement]
    return {name for check in checks for name in check.objectives or model_file.objectives}


def _repeated(
    method: str, model_file: Any, settings: Settings, assembled: Any, listener: Listener
) -> Mapping[str, Gradient]:
    if method == COMPLEX_STEP:
        return complex_steps(assembled, listener)
    if method == ADJOINT:
        changed = replace(settings, method=ADJOINT)
    else:
        integrator = settings.integrator if method in OPEN_TREES else None
        own = "ddm" if settings.method == ADJOINT else settings.method  # which every formulation has
        changed = replace(settings, formulation=method, integrator=integrator, method=own, memory=None)
    other = build(model_file, changed, [parameter.key for parameter in assembled.parameters])
    compile_kernels(other.problem, listener, objectives=other.objectives)
    return evaluate(other.problem, other.objectives, listener=listener)


def _rows(
    ours: Gradient, theirs: Gradient, assembled: Any, tolerances: tuple[float, float], labels: dict[str, Any]
) -> Iterator[Comparison]:
    """The value, and each derivative relative to its own size."""
    source = f"the analysis repeated by {labels['name'].rpartition(': ')[2]}"
    yield compare(ours.value, theirs.value, *tolerances, source=source, **labels)
    for parameter, a, b in zip(assembled.parameters, ours.gradient, theirs.gradient, strict=True):
        if parameter.name in ours.undefined:  # the numerical check tells of it
            continue
        yield compare(a, b, *tolerances, source=source, parameter=parameter.name, **labels)
