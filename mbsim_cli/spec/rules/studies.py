"""Studies, optimisations and fits: parameters that exist and may vary, ranges that make sense, limits, measurements."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple

from pydantic import ValidationError

from mbsim_cli.errors import counted
from mbsim_cli.spec.base import references, walk
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, issue_of
from mbsim_cli.spec.reading.source import join
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules.bodies import with_densities_of
from mbsim_cli.spec.rules.laws import HDF5_SUFFIXES, delimiter_fault
from mbsim_cli.spec.studies import Cloud, Fit, Limit, Measurement, Optimization, Range, Steps, Study

MOST_CASES = 10_000_000


class Fault(NamedTuple):
    """What is wrong below the path of a study."""

    path: Path
    message: str
    hint: str | None = None
    key: bool = False


def check(review: Review) -> None:
    """Report what no study, optimisation or fit can be made of."""
    for section, faults_of in (
        ("study", faults),
        ("optimization", _of_optimization),
        ("measurements", _of_measurement),
        ("fit", _of_fit),
    ):
        for name, given in getattr(review.model, section).items():
            if review.intact(section, name):
                for fault in chain(unknown_names(review, given), faults_of(review, given)):
                    review.report((section, name, *fault.path), fault.message, fault.hint, key=fault.key)


def faults(review: Review, study: Study) -> Iterator[Fault]:
    """Yield what is wrong with a study of the model under review."""
    stated = study.stated(study.kind)
    if study.kind in ("grid", "zip"):
        yield from _axes(review, study.kind, stated)
    elif study.kind == "list":
        before: dict[frozenset[tuple[str, float | None]], int] = {}  # values of cases, and the first case with them
        for index, case in enumerate(stated):
            values = frozenset((name, review.value(number)) for name, number in case.items())
            if before.setdefault(values, index) != index and any(stated) and None not in dict(values).values():
                yield Fault(("list", index), f"has the same values as case {before[values]} of the list")
            for name, number in case.items():
                if moving := changed_in(review, number, set(case) - {name}):
                    message = f"{number.text} has the file's value of {moving}, which this case changes too"
                    yield Fault(("list", index, name), message, "state the number")
        if not any(stated):
            yield Fault(("list",), "no case changes a parameter", "mbsim run computes the file's own values", True)
    elif study.kind == "csv":
        for name, factor in stated.scale.items():
            if review.value(factor) == 0.0:
                yield Fault(("csv", "scale", name), "must not be zero")
    else:
        yield from _cloud(review, study.kind, stated)
    yield from _kept(review, study.keep)


SECTIONS = {  # of kinds of names
    "varied": "parameters", "quantity": "parameters", "objective": "objectives", "field": "fields",
    "measurement": "measurements",
}  # fmt: skip


def unknown_names(review: Review, given: Study | Optimization | Measurement | Fit) -> Iterator[Fault]:
    """Names of parameters, objectives, fields and measurements that are none."""
    for path, kind, name, is_key, _ in references(given):
        section = SECTIONS.get(kind)
        if section is None or name in review.names(section) or review.lost(section):
            continue
        if section == "parameters" and name in review.names("constants"):
            message = f"{name!r} is a constant, and studies vary parameters"
            yield Fault(path, message, "make it a parameter", is_key)
        else:
            hint = review.suggest(name, review.names(section))
            yield Fault(path, f"unknown {section.removesuffix('s')} {name!r}", hint, is_key)


def changed_in(review: Review, number: Number | None, changing: set[str]) -> str:
    """Names of those parameters among some that a number has the value by."""
    if number is None or number.literal is not None or review.value(number) is None:
        return ""
    return ", ".join(sorted(changing.intersection(review.model.expressions.gradient(number))))


def _axes(review: Review, kind: str, axes: Mapping[str, Any]) -> Iterator[Fault]:
    lengths = {name: axis.count if isinstance(axis, Steps) else len(axis) for name, axis in axes.items()}
    for name, axis in axes.items():
        if isinstance(axis, Steps):
            yield from range_of(review, (kind, name), axis)
        elif not axis:
            yield Fault((kind, name), "needs one value at least")
        elif kind == "grid":
            before: set[float] = set()
            for index, number in enumerate(axis):
                if (value := review.value(number)) in before:
                    yield Fault((kind, name, index), f"{value:g} stands twice, and would make equal cases")
                elif value is not None:
                    before.add(value)
    first = next(iter(lengths))
    if kind == "zip":
        for name, length in lengths.items():
            if length != lengths[first]:
                message = f"{counted(length, 'value')} beside the {lengths[first]} of {first!r}"
                yield Fault((kind, name), message, "a zip needs as many of each parameter; a grid combines them", True)
        return
    cases = 1
    for length in lengths.values():
        cases *= length
    if cases > MOST_CASES:
        yield Fault(
            (kind,), f"{cases:.3g} cases are more than {MOST_CASES:.0e}", "a sobol fills space with fewer", True
        )


def _cloud(review: Review, kind: str, cloud: Cloud) -> Iterator[Fault]:
    path: Path = (kind, "parameters")
    if not cloud.parameters:
        yield Fault(path, "needs one parameter at least")
    for index, name in enumerate(cloud.parameters):
        if isinstance(cloud.parameters, dict):
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


def positive(review: Review, path: Path, number: object) -> Iterator[Fault]:
    """A number is greater than zero."""
    value = review.value(number)
    if value is not None and value <= 0.0:
        yield Fault(path, f"must be greater than zero, is {value:g}")


def _kept(review: Review, keep: str | Sequence[str]) -> Iterator[Fault]:
    names = [*review.names("objectives"), *review.names("sensors")]
    lost = review.lost("objectives") or review.lost("sensors")
    if keep == "objectives" and not review.names("objectives") and not lost:
        hint = "keep: sensors keeps what sensors show"
        yield Fault(("keep",), "there are no objectives that a study could keep", hint, True)
    if keep == () or (keep == "sensors" and not names and not lost):
        yield Fault(("keep",), "keeps nothing", "name objectives or sensors", True)
    for index, name in enumerate(keep if isinstance(keep, tuple) else ()):
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
    found = [*unknown_names(review, study), *faults(review, study)]
    for path, number in walk(study, (), Number):  # those of a file are validated with all others of it
        try:
            review.model.expressions.value(number)
        except ExpressionError as error:
            found.append(Fault(path, error.message, error.hint))
    return study, [
        f"{join(fault.path)}: {fault.message}" + (f"; {fault.hint}" if fault.hint else "") for fault in found
    ]


# Optimisations: objectives and parameters that exist, ranges that hold the start, limits that leave something.


def _of_optimization(review: Review, given: Optimization) -> Iterator[Fault]:
    for name, limit in given.constraints.items():
        yield from _limit(review, given, ("constraints", name), limit)
        if limit.equals is not None and given.algorithm == "mma":
            yield Fault(("constraints", name, "equals"), "mma keeps no equalities", "slsqp does", True)
    yield from _fields(review, given)
    yield from positive(review, ("tolerance",), given.tolerance)
    yield from _variables(review, given)


def _limit(review: Review, given: Optimization, path: Path, limit: Limit) -> Iterator[Fault]:
    low, high = review.value(limit.at_least), review.value(limit.at_most)
    if low is not None and high is not None and low > high:
        yield Fault((*path, "at_least"), f"{low:g} is more than at_most, {high:g}")
    for key in ("at_least", "at_most", "equals"):
        yield from _at_rest(review, (*path, key), getattr(limit, key), varied_by(review, given))


def varied_by(review: Review, given: Optimization | Fit) -> set[str]:
    """Parameters that an optimisation varies, or a fit estimates."""
    return _free_parameters(review) if given.varied == "all" else set(given.varied)


def _free_parameters(review: Review) -> set[str]:
    """Parameters that have bounds to vary within."""
    return {name for name, parameter in review.model.parameters.items() if _are_apart(review, parameter.bounds)}


def _are_apart(review: Review, bounds: Sequence[Number] | None) -> bool:
    """Whether there are bounds that differ, as far as they have values."""
    ends = review.vector(bounds)
    return bounds is not None and (ends is None or ends[0] != ends[1])


def _at_rest(review: Review, path: Path, number: Number | None, varied: set[str]) -> Iterator[Fault]:
    """A number that the search leaves as it is, for it is read at the start alone."""
    if number is not None and (moving := changed_in(review, number, varied)):
        hint = "an objective may have it in its formula, and a number as its limit"
        yield Fault(path, f"{number.text} is read at the start alone, and would not follow {moving}", hint)


def _fields(review: Review, given: Optimization) -> Iterator[Fault]:
    for index, name in enumerate(given.fields):
        path: Path = ("fields", index)
        if name not in review.names("fields"):
            continue
        if name in given.fields[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif review.intact("fields", name) and review.model.fields[name].bounds is None:
            yield Fault(path, f"field {name!r} has no bounds that it could vary within", "give it bounds")
        elif review.intact("fields", name) and not _are_apart(review, review.model.fields[name].bounds):
            yield Fault(path, f"the bounds of field {name!r} leave it nothing to vary within")
        elif len(users := with_densities_of(review, name)) != 1:
            yield Fault(path, f"field {name!r} gives the densities of {len(users)} bodies, not of one")
    for name, limit in given.volume.items():
        if name not in given.fields:
            yield Fault(("volume", name), f"{name!r} is not among the fields that vary", None, True)
        yield from _limit(review, given, ("volume", name), limit)
        field = review.model.fields.get(name)
        bounds = review.vector(field.bounds) if field is not None and review.intact("fields", name) else None
        for key in ("at_least", "at_most", "equals"):  # of a mean between bounds others hold always, or never
            value = review.value(getattr(limit, key))
            if bounds is not None and value is not None and not bounds[0] <= value <= bounds[1]:
                message = f"no mean comes to {value:g}: {name!r} lies between {bounds[0]:g} and {bounds[1]:g}"
                yield Fault(("volume", name, key), message)
        if limit.equals is not None and given.algorithm == "mma":
            yield Fault(("volume", name, "equals"), "mma keeps no equalities", "at_most does", True)


def _variables(review: Review, given: Optimization) -> Iterator[Fault]:
    stated = given.varied
    if stated == "all":
        if review.intact("parameters") and not _free_parameters(review):
            message = "no parameter has bounds that it could vary within"
            yield Fault(("variables",), message, "give those that vary bounds, or ranges here", True)
        return
    if not stated and not given.fields:
        yield Fault(("variables",), "needs one parameter at least")
    for index, name in enumerate(stated):
        path: Path = ("variables", name if isinstance(stated, dict) else index)
        if isinstance(stated, tuple) and name in stated[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif name not in review.model.parameters or not review.intact("parameters", name):
            continue
        elif isinstance(stated, dict):
            yield from _range_of_search(review, given, path, name, stated[name])
        else:
            yield from bounded(review, path, name)


def _range_of_search(review: Review, given: Optimization, path: Path, name: str, stated: Range) -> Iterator[Fault]:
    """The range holds the value that the search begins with, and lies within the parameter's own bounds."""
    others = varied_by(review, given) - {name}
    yield from range_of(review, path, stated)
    yield from _at_rest(review, (*path, "from"), stated.from_, others)
    yield from _at_rest(review, (*path, "to"), stated.to, others)
    yield from around_start(review, path, name, stated)
    low, high = review.value(stated.from_), review.value(stated.to)
    bounds = review.vector(review.model.parameters[name].bounds)
    if low is None or high is None or bounds is None:
        return
    if not bounds[0] <= low <= high <= bounds[1]:
        yield Fault(path, f"reaches beyond the bounds {bounds[0]:g} and {bounds[1]:g} of {name!r}", None, True)


# Fits: histories, columns and parameters that exist, numbers that the search leaves as they are.


def _of_measurement(review: Review, given: Measurement) -> Iterator[Fault]:
    if given.delimiter is not None:
        is_hdf5 = PurePath(given.file).suffix.lower() in HDF5_SUFFIXES
        if fault := delimiter_fault(given.delimiter, is_hdf5):
            yield Fault(("delimiter",), *fault)
    yield from positive(review, ("time_scale",), given.time_scale)
    ends = review.vector(given.between)
    if ends is not None and not ends[0] < ends[1]:
        yield Fault(("between",), f"{ends[1]:g} is not after {ends[0]:g}")
    for name, column in given.columns.items():
        path: Path = ("columns", name)
        if name == given.time:
            yield Fault(path, f"column {name!r} holds the times", "time names their column", True)
        yield from _history(review, (*path, "sensor"), column.sensor)
        yield from positive(review, (*path, "sigma"), column.sigma)
        if review.value(column.scale) == 0.0:
            yield Fault((*path, "scale"), "must not be zero: the column would not depend on the sensor")


def _history(review: Review, path: Path, name: str) -> Iterator[Fault]:
    """The first part of a history's name is a sensor or a joint; the run tells whether the rest is right."""
    first = name.partition(".")[0]
    if any(review.lost(section) for section in ("sensors", "joints", "bodies")):
        return
    known = review.names("sensors") | review.names("joints") | review.names("bodies")  # bodies have elastic coordinates
    if not any(name == other or name.startswith(f"{other}.") for other in known):
        yield Fault(path, f"unknown sensor or joint {first!r}", review.suggest(first, known))


def _of_fit(review: Review, given: Fit) -> Iterator[Fault]:
    used = [("measurements", name) for name in given.measurements] + [("hold_out", name) for name in given.hold_out]
    yield from _measurements(review, given)
    yield from _parameters(review, given)
    varied = varied_by(review, given)
    for key, number in (("tolerance", given.tolerance), ("loss_scale", given.loss_scale)):
        yield from positive(review, (key,), number)
    for key, name in used:
        measured = review.model.measurements.get(name)
        if measured is None or not review.intact("measurements", name):
            continue
        fixed: list[tuple[str, object]] = [("time_scale", measured.time_scale)]
        fixed += [("between", number) for number in measured.between or ()]
        fixed += [(f"columns.{column}.sigma", entry.sigma) for column, entry in measured.columns.items()]
        for what, stated in fixed:
            if isinstance(stated, Number) and (moving := changed_in(review, stated, varied)):
                message = f"{what} of {name!r} has the value of {moving}, which this fit changes"
                yield Fault((key,), message, "state a number there", True)
        for column, entry in measured.columns.items():
            moving = changed_in(review, entry.delay, varied)
            for parameter in filter(None, moving.split(", ")):
                ends = getattr(review.model.parameters.get(parameter), "bounds", None)
                if isinstance(given.parameters, dict):
                    ends = given.parameters.get(parameter)
                if ends is None:
                    message = f"{parameter!r}, the delay of column {column!r} of {name!r}, has no bounds"
                    hint = "bounds say which readings lie within the run whatever the delay is"
                    yield Fault(("parameters",), message, hint, True)


def _measurements(review: Review, given: Fit) -> Iterator[Fault]:
    known = review.names("measurements")
    for key, names in (("measurements", given.measurements), ("hold_out", given.hold_out)):
        for index, name in enumerate(names):
            if name not in known:
                continue
            if name in names[:index]:
                yield Fault((key, index), f"{name!r} stands twice")
            elif key == "hold_out" and name in given.measurements:
                yield Fault((key, index), f"{name!r} is held out, and fitted to", "leave it out of one of the lists")


def _parameters(review: Review, given: Fit) -> Iterator[Fault]:
    stated = given.parameters
    if stated == "all":
        if review.intact("parameters") and not varied_by(review, given):
            message = "no parameter has bounds that it could vary within"
            yield Fault(("parameters",), message, "name the parameters that are estimated", True)
        return
    if not stated:
        yield Fault(("parameters",), "needs one parameter at least")
    fitted_to = [review.model.measurements[name] for name in given.measurements if name in review.model.measurements]
    for index, name in enumerate(stated):
        path: Path = ("parameters", index if isinstance(stated, tuple) else name)
        if isinstance(stated, tuple) and name in stated[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif fitted_to and all(name in measured.parameters for measured in fitted_to):
            message = f"every measurement states its own value of {name!r}"
            yield Fault(path, message, "leave it out", isinstance(stated, dict))
        elif isinstance(stated, dict):
            yield from range_of(review, path, stated[name])
            yield from around_start(review, path, name, stated[name])
        elif name in review.model.parameters:
            bounds = review.model.parameters[name].bounds
            if bounds is not None and not _are_apart(review, bounds):
                yield Fault(path, f"the bounds of parameter {name!r} leave it nothing to vary within")
