"""Studies: parameters that exist and may vary, ranges that make sense, something to keep."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from mbsim_cli.spec.base import walk
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, issue_of
from mbsim_cli.spec.reading.source import join
from mbsim_cli.spec.studies import Cloud, Range, Steps, Study

MOST_CASES = 10_000_000


class Fault(NamedTuple):
    """What is wrong below the path of a study."""

    path: Path
    message: str
    hint: str | None = None
    key: bool = False


def check(review: Review) -> None:
    """Report what no study can be made of."""
    for name, study in review.model.study.items():
        if review.intact("study", name):
            for fault in faults(review, study):
                review.report(("study", name, *fault.path), fault.message, fault.hint, key=fault.key)


def faults(review: Review, study: Study) -> Iterator[Fault]:
    """Yield what is wrong with a study of the model under review."""
    stated = study.stated(study.kind)
    if study.kind in ("grid", "zip"):
        yield from _axes(review, study.kind, stated)
    elif study.kind == "list":
        for index, case in enumerate(stated):
            yield from known_parameters(review, ("list", index), case)
            yield from _by_the_file(review, ("list", index), case)
        if not any(stated):
            yield Fault(("list",), "no case changes a parameter", "mbsim run computes the file's own values", True)
    elif study.kind == "csv":
        for place in ("columns", "scale"):
            yield from known_parameters(review, ("csv", place), getattr(stated, place))
        for name, factor in stated.scale.items():
            if review.value(factor) == 0.0:
                yield Fault(("csv", "scale", name), "must not be zero")
    else:
        yield from _cloud(review, study.kind, stated)
    yield from _kept(review, study.keep)


def known_parameters(review: Review, path: Path, names: Any, key: bool = True) -> Iterator[Fault]:
    """Names of parameters, as keys of a mapping or as entries of a list."""
    known = review.names("parameters")
    for index, name in enumerate(names):
        if name in known or review.lost("parameters"):
            continue
        place = (*path, name if key else index)
        if name in review.names("constants"):
            yield Fault(place, f"{name!r} is a constant, and studies vary parameters", "make it a parameter", key)
        else:
            yield Fault(place, f"unknown parameter {name!r}", review.suggest(name, known), key)


def _by_the_file(review: Review, path: Path, case: Mapping[str, Any]) -> Iterator[Fault]:
    """Values of a case that are formulas of others that it changes too."""
    for name, number in case.items():
        if moving := changed_in(review, number, set(case) - {name}):
            message = f"{number.text} has the file's value of {moving}, which this case changes too"
            yield Fault((*path, name), message, "state the number")


def changed_in(review: Review, number: Number | None, changing: set[str]) -> str:
    """Names of those parameters among some that a number has the value by."""
    if number is None or number.literal is not None or review.value(number) is None:
        return ""
    return ", ".join(sorted(changing.intersection(review.model.expressions.gradient(number))))


def _axes(review: Review, kind: str, axes: Mapping[str, Any]) -> Iterator[Fault]:
    yield from known_parameters(review, (kind,), axes)
    lengths = {name: axis.count if isinstance(axis, Steps) else len(axis) for name, axis in axes.items()}
    for name, axis in axes.items():
        if isinstance(axis, Steps):
            yield from range_of(review, (kind, name), axis)
        elif not axis:
            yield Fault((kind, name), "needs one value at least")
        elif kind == "grid":
            yield from _twice(review, (kind, name), axis)
    first = next(iter(lengths))
    if kind == "zip":
        for name, length in lengths.items():
            if length != lengths[first]:
                message = f"{length} values stand beside the {lengths[first]} of {first!r}"
                yield Fault((kind, name), message, "a zip needs as many of each parameter; a grid combines them", True)
        return
    cases = 1
    for length in lengths.values():
        cases *= length
    if cases > MOST_CASES:
        yield Fault(
            (kind,), f"{cases:.3g} cases are more than {MOST_CASES:.0e}", "a sobol fills space with fewer", True
        )


def _twice(review: Review, path: Path, axis: list[Number]) -> Iterator[Fault]:
    """Values of a grid that would make equal cases."""
    seen: set[float] = set()
    for index, number in enumerate(axis):
        if (value := review.value(number)) in seen:
            yield Fault((*path, index), f"{value:g} stands twice, and would make equal cases")
        elif value is not None:
            seen.add(value)


def _cloud(review: Review, kind: str, cloud: Cloud) -> Iterator[Fault]:
    path: Path = (kind, "parameters")
    listed = not isinstance(cloud.parameters, dict)
    yield from known_parameters(review, path, cloud.parameters, key=not listed)
    if not cloud.parameters:
        yield Fault(path, "needs one parameter at least")
    for index, name in enumerate(cloud.parameters):
        if not listed:
            yield from range_of(review, (*path, name), cloud.parameters[name])
        elif name in cloud.parameters[:index]:
            yield Fault((*path, index), f"{name!r} stands twice")
        elif name in review.model.parameters and review.intact("parameters", name):
            yield from bounded(review, (*path, index), name)


def bounded(review: Review, path: Path, name: str) -> Iterator[Fault]:
    """A parameter has bounds that it can vary within."""
    bounds = review.model.parameters[name].bounds
    if bounds is None:
        hint = f"give it bounds, or state its range here: {path[-2]}: {{{name}: {{from: ..., to: ...}}}}"
        yield Fault(path, f"parameter {name!r} has no bounds that it could vary within", hint)
        return
    values = review.vector(bounds)
    if values is not None and values[0] == values[1]:
        yield Fault(path, f"the bounds of parameter {name!r} leave it nothing to vary within")


def around_start(review: Review, path: Path, name: str, stated: Range) -> Iterator[Fault]:
    """Faults of a range that does not hold the value of the parameter, where a search begins."""
    low, high = review.value(stated.from_), review.value(stated.to)
    value = review.value(review.model.parameters[name].value) if name in review.model.parameters else None
    if low is None or high is None:
        return
    if low > high:
        yield Fault((*path, "to"), f"{high:g} is less than {low:g}")
    elif value is not None and not low <= value <= high:
        yield Fault(path, f"the value {value:g} of {name!r}, where the search begins, lies outside", None, True)


def range_of(review: Review, path: Path, stated: Range) -> Iterator[Fault]:
    """The ends of a range differ, and are positive on a log scale."""
    ends = [(key, review.value(number)) for key, number in (("from", stated.from_), ("to", stated.to))]
    for key, value in ends:
        if stated.scale == "log" and value is not None and value <= 0.0:
            yield Fault((*path, key), f"must be greater than zero on a log scale, is {value:g}")
    if ends[0][1] is not None and ends[0][1] == ends[1][1]:
        yield Fault((*path, "to"), "must differ from the first value")


def positive(review: Review, path: Path, number: Number | None) -> Iterator[Fault]:
    """A number is greater than zero."""
    value = review.value(number)
    if value is not None and value <= 0.0:
        yield Fault(path, f"must be greater than zero, is {value:g}")


def _kept(review: Review, keep: str | list[str]) -> Iterator[Fault]:
    names = [*review.names("objectives"), *review.names("sensors")]
    lost = review.lost("objectives") or review.lost("sensors")
    if keep == "objectives" and not review.names("objectives") and not lost:
        hint = "keep: sensors keeps what sensors show"
        yield Fault(("keep",), "there are no objectives that a study could keep", hint, True)
    if keep == [] or (keep == "sensors" and not names and not lost):
        yield Fault(("keep",), "keeps nothing", "name objectives or sensors", True)
    for index, name in enumerate(keep if isinstance(keep, list) else ()):
        if name not in names and not lost:
            yield Fault(("keep", index), f"unknown objective or sensor {name!r}", review.suggest(name, names))
        elif name in keep[:index]:
            yield Fault(("keep", index), f"{name!r} stands twice")


def study_of(model: ModelFile, stated: Mapping[str, Any]) -> tuple[Study | None, list[str]]:
    """A study that stands in no file, and what is wrong with it, in sentences."""
    try:
        study = Study.model_validate(dict(stated))
    except ValidationError as error:
        issues = [issue_of(entry, {}, dict(stated), model.source) for entry in error.errors(include_url=False)]
        return None, [f"{issue.path}: {issue.message}" + (f"; {issue.hint}" if issue.hint else "") for issue in issues]
    review = Review(model, model.source, set())
    found = [*faults(review, study), *_numbers(review, study)]
    return study, [
        f"{join(fault.path)}: {fault.message}" + (f"; {fault.hint}" if fault.hint else "") for fault in found
    ]


def _numbers(review: Review, study: Study) -> Iterator[Fault]:
    """Numbers without a value; those of a file are judged with all others of it."""
    for path, number in walk(study, (), Number):
        try:
            review.model.expressions.value(number)
        except ExpressionError as error:
            yield Fault(path, error.message, error.hint)
