"""The design of a study: which parameters vary, and their values in every case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.study.sweep import sequences

Value = Callable[[Any], float]  # of a number of the model file


class Design(NamedTuple):
    """Cases: a row of values for each, in the order of the study."""

    names: tuple[str, ...]  # (v,) parameters that vary
    values: np.ndarray  # (N, v) in the units of the file


def design_of(study: Any, model_file: Any, read: Callable[[Any], Mapping[str, np.ndarray]]) -> Design:
    """Cases of a study (``spec.studies.Study``); ``read`` gives the columns of a file of cases by parameter.

    The study has been judged by the rules of the model file.
    """

    def value(number: Any) -> float:
        return float(model_file.expressions.value(number).real)

    stated = study.stated(study.kind)
    if study.kind in ("grid", "zip"):
        axes = [_axis_values(axis, value) for axis in stated.values()]
        return Design(tuple(stated), (_combined if study.kind == "grid" else np.column_stack)(axes))
    if study.kind == "list":
        return _listed(stated, model_file, value)
    if study.kind == "csv":
        return _of_file(stated, read(stated), value)
    points = getattr(sequences, study.kind)(len(stated.parameters), stated.count, stated.seed)
    return _scattered(stated.parameters, points, model_file, value)


def _axis_values(axis: Any, value: Value) -> np.ndarray:
    """Values (k,) along an axis: those listed, or from one number to another, both met exactly."""
    if isinstance(axis, list):
        return np.array([value(number) for number in axis])
    first, last = value(axis.from_), value(axis.to)
    values = between(first, last, np.arange(axis.count) / (axis.count - 1), axis.scale)
    values[[0, -1]] = first, last
    return values


def between(first: float, last: float, share: np.ndarray, scale: str) -> np.ndarray:
    """Values at shares (k,) of the way from one number to another, by distance (linear) or by ratio (log)."""
    return first * (last / first) ** share if scale == "log" else first + (last - first) * share


def _combined(axes: Sequence[np.ndarray]) -> np.ndarray:
    """Every combination; the last axis runs fastest."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _listed(cases: Sequence[Mapping[str, Any]], model_file: Any, value: Value) -> Design:
    """What a case leaves out is as the file defines it, by the values that the case states too."""
    names = tuple(dict.fromkeys(name for case in cases for name in case))
    rows = []
    for number, case in enumerate(cases):
        stated = {name: value(given) for name, given in case.items()}
        rows.append([stated[n] if n in stated else _defined(n, number, stated, model_file) for n in names])
    return Design(names, np.array(rows))


def _defined(name: str, case: int, stated: Mapping[str, float], model_file: Any) -> float:
    """Value of a parameter that a case leaves out."""
    try:
        return float(model_file.expressions.value(model_file.parameters[name].value, stated).real)
    except ExpressionError as error:
        raise UsageError(f"case {case} of the list leaves {name!r} without a value: {error.message}") from error


def _of_file(stated: Any, columns: Mapping[str, np.ndarray], value: Value) -> Design:
    names = tuple(columns)
    factors = [value(stated.scale[name]) if name in stated.scale else 1.0 for name in names]
    return Design(names, np.column_stack([columns[name] for name in names]) * factors)


def _scattered(parameters: Any, points: np.ndarray, model_file: Any, value: Value) -> Design:
    """Points (N, v) of the unit cube, stretched to the ranges of the parameters."""
    columns = [
        between(first, last, column, scale)
        for (first, last, scale), column in zip(_ranges(parameters, model_file, value), points.T, strict=True)
    ]
    return Design(tuple(parameters), np.column_stack(columns))


def _ranges(parameters: Any, model_file: Any, value: Value) -> Iterable[tuple[float, float, str]]:
    for name in parameters:
        if isinstance(parameters, dict):
            stated = parameters[name]
            yield value(stated.from_), value(stated.to), stated.scale
        else:
            lower, upper = model_file.parameters[name].bounds
            yield value(lower), value(upper), "linear"
