"""Agreement of methods: the analysis repeated by other formulations, or differentiated by complex step or adjoint."""

from collections.abc import Iterator, Mapping
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
from mbsim_cli.study.verification.differences import scale_of
from mbsim_cli.study.verification.numerical import size_of

COMPLEX_STEP, ADJOINT = "complex_step", "adjoint"
DUST = 1e-13  # of what an objective adds up, relative: derivatives below that are round-off, of no size


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
                labels["objective"] = objective
                yield from _rows(analysed, others[method][objective], analysed.tolerances(check), labels)


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
    analysed: Analysed, theirs: Gradient, tolerances: tuple[float, float], labels: dict[str, Any]
) -> Iterator[Comparison]:
    """The value, and each derivative relative to its own size, but for round-off of what there is to differentiate."""
    ours, (relative, absolute) = analysed.results[labels["objective"]], tolerances
    yield compare(ours.value, theirs.value, *tolerances, **labels)
    for parameter, a, b in zip(analysed.assembled.parameters, ours.gradient, theirs.gradient, strict=True):
        if parameter.name not in ours.undefined:  # the numerical check tells of the others
            dust = DUST * size_of(ours) / scale_of(parameter.value)
            yield compare(a, b, relative, max(absolute, dust), parameter=parameter.name, **labels)
