"""Comparisons with what a model file states of itself: values, gradients, structure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mbsim_cli.assembly.densities import field_gradients
from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.assembling import build
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.verification.analysed import Analysed
from mbsim_cli.study.verification.comparison import Comparison, compare
from mbsim_cli.study.verification.recorder import Recorder


def sensors_named(model_file: Any, rows: Mapping[str, slice]) -> dict[str, slice]:
    """Rows of the record of the sensors that checks name, of all ``rows``."""
    named = {check.sensor for check in model_file.checks.values()}
    return {name: rows[name] for name in rows if name in named}


def references(analysed: Analysed, recorder: Recorder) -> Iterator[Comparison]:
    """Compare objectives with their gradients, sensors that were recorded, and the mechanism's structure."""
    for name, check in analysed.file.checks.items():
        labels = {"model": str(analysed.path), "name": name, "kind": "benchmark", "source": check.source}
        if check.objective is not None:
            yield from _objective(check, analysed, labels)
        elif check.sensor is not None:
            yield from _sensor(check, analysed, recorder, labels)
        elif not check.agreement:
            yield _structure(check, analysed.assembled, labels)


def _objective(check: Any, analysed: Analysed, labels: dict[str, Any]) -> Iterator[Comparison]:
    value, tolerances = analysed.file.expressions.value, analysed.tolerances(check)
    result, labels = analysed.results[check.objective], labels | {"objective": check.objective}
    if check.value is not None:
        yield compare(result.value, value(check.value), *tolerances, **labels)
    names = analysed.assembled.problem.names.parameters
    for parameter, reference in check.gradient.items():
        computed, why = result.gradient[names.index(parameter)], result.undefined.get(parameter)
        row = compare(computed, value(reference), *tolerances, parameter=parameter, **labels)
        yield row if why is None else replace(row, message=f"d {check.objective} / d {parameter} is NaN: {why}")


def _sensor(check: Any, analysed: Analysed, recorder: Recorder, labels: dict[str, Any]) -> Iterator[Comparison]:
    value, tolerances = analysed.file.expressions.value, analysed.tolerances(check)
    for entry in check.values:
        time = value(entry.time)
        entries = entry.value if isinstance(entry.value, list) else [entry.value]
        labels = labels | {"objective": f"{check.sensor} at {time:g} s"}
        yield compare(recorder.at(check.sensor, time), [value(e) for e in entries], *tolerances, **labels)


def _structure(check: Any, assembled: Any, labels: dict[str, Any]) -> Comparison:
    """Compare whole numbers: they agree or not.

    Equations that always hold, as out of the plane of a planar loop, are none that the solver sees, and do not count.
    """
    if check.mobility is not None:
        computed, reference, what = assembled.closing.mobility, check.mobility, "mobility"
    else:
        computed, reference = len(assembled.closing.redundant), check.redundant_constraints
        what = "redundant constraints"
    return compare(computed, reference, 0.0, 0.0, **labels | {"kind": "structure", "objective": what})


def references_by_elements(analysed: Analysed, listener: Listener) -> Iterator[Comparison]:
    """Compare derivatives by elements of fields, which the adjoint gives."""
    checks = {name: check for name, check in analysed.file.checks.items() if check.field_gradient}
    if checks and not analysed.assembled.fields:
        analysed = _by_adjoint(analysed, listener)
    for name, check in checks.items():
        moved = analysed.results[check.objective].moved
        by_field = {} if moved is None else field_gradients(analysed.assembled.fields, moved)
        labels = {"model": str(analysed.path), "name": name, "kind": "benchmark", "source": check.source}
        labels |= {"objective": check.objective}
        for field, elements in check.field_gradient.items():
            computed = by_field[field]
            if beyond := [element for element in elements if int(element) >= computed.size]:
                raise AnalysisError(f"field {field} has {computed.size} elements, none of number {beyond[0]}")
            reference = [analysed.file.expressions.value(number) for number in elements.values()]
            chosen = computed[[int(element) for element in elements]]
            yield compare(chosen, reference, *analysed.tolerances(check), parameter=field, **labels)


def _by_adjoint(analysed: Analysed, listener: Listener) -> Analysed:
    """The same analysis, differentiated by the adjoint."""
    assembled = build(analysed.file, replace(analysed.settings, method="adjoint"), None)
    compile_kernels(assembled.problem, listener, objectives=assembled.objectives)
    results = evaluate(assembled.problem, assembled.objectives, listener=listener)
    return analysed._replace(assembled=assembled, results=results)
