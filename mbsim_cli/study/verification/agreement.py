"""Agreement of methods: the analysis repeated by other formulations, or differentiated by complex step or adjoint."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mbsim_cli.model.problem import OPEN_TREES
from mbsim_cli.study.assembling import build
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.evaluation import Gradient, evaluate
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.verification.analysed import Analysed
from mbsim_cli.study.verification.comparison import Comparison, compare
from mbsim_cli.study.verification.complex_step import complex_steps

COMPLEX_STEP, ADJOINT = "complex_step", "adjoint"


def agreements(analysed: Analysed, listener: Listener) -> Iterator[Comparison]:
    """Compare objectives and gradients with those of the methods that the file's checks name."""
    checks, settings, results = analysed.file.checks, analysed.settings, analysed.results
    chosen = (analysed.assembled.problem.options.formulation, settings.method)  # on the command line, or by the file
    others: dict[str, Mapping[str, Gradient]] = {}
    named = {method for check in checks.values() for method in check.agreement}
    for method in sorted({*settings.without} - named):
        listener.say(f"--without {method} leaves nothing out: no check of {analysed.path} names it")
    for name, check in checks.items():
        for method in check.agreement:
            if method in (*chosen, *settings.without):
                continue
            if method not in others:
                others[method] = _repeated(method, analysed, listener)
            labels = {"model": str(analysed.path), "name": f"{name}: {method}", "kind": "agreement"}
            labels["source"] = f"the analysis repeated by {method}"
            for objective in check.objectives or results:
                pair, labels["objective"] = (results[objective], others[method][objective]), objective
                yield from _rows(*pair, analysed.assembled.parameters, analysed.tolerances(check), labels)


def stepped_objectives(model_file: Any) -> set[str]:
    """Objectives that the file has differentiated by complex step, which says more than differences of analyses."""
    checks = [check for check in model_file.checks.values() if COMPLEX_STEP in check.agreement]
    return {name for check in checks for name in check.objectives or model_file.objectives}


def _repeated(method: str, analysed: Analysed, listener: Listener) -> Mapping[str, Gradient]:
    assembled, settings = analysed.assembled, analysed.settings
    if method == COMPLEX_STEP:
        return complex_steps(assembled, listener)
    if method == ADJOINT:
        changed = replace(settings, method=ADJOINT)
    else:
        integrator = settings.integrator if method in OPEN_TREES else None
        own = "ddm" if settings.method == ADJOINT else settings.method  # which every formulation has
        changed = replace(settings, formulation=method, integrator=integrator, method=own, memory=None)
    other = build(analysed.file, changed, [parameter.key for parameter in assembled.parameters])
    compile_kernels(other.problem, listener, objectives=other.objectives)
    return evaluate(other.problem, other.objectives, listener=listener)


def _rows(
    ours: Gradient,
    theirs: Gradient,
    parameters: Sequence[Any],
    tolerances: tuple[float, float],
    labels: dict[str, Any],
) -> Iterator[Comparison]:
    """The value, and each derivative relative to its own size."""
    yield compare(ours.value, theirs.value, *tolerances, **labels)
    for parameter, a, b in zip(parameters, ours.gradient, theirs.gradient, strict=True):
        if parameter.name not in ours.undefined:  # the numerical check tells of the others
            yield compare(a, b, *tolerances, parameter=parameter.name, **labels)
