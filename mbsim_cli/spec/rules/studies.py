"""Studies, optimisations and fits: parameters that exist and may vary, ranges that make sense, limits, measurements."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mbsim_cli.errors import counted
from mbsim_cli.spec.base import references, walk
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.families import Fit, Measurement, Optimization, Study
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, issue_of
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules.bodies import with_densities_of
from mbsim_cli.spec.rules.laws import check_delimiter

if TYPE_CHECKING:
    from mbsim_cli.spec.studies import Cloud, Limit, Range

MOST_CASES = 10_000_000


def check(review: Review) -> None:
    """Report what no study, optimisation or fit can be made of."""
    rules: dict[str, Any] = {"study": _study, "optimization": _optimization, "measurements": _measurement, "fit": _fit}
    for section, check_one in rules.items():
        for name, given in getattr(review.model, section).items():
            if review.intact(section, name):
                _unknown_names(review, (section, name), given)
                check_one(review, (section, name), given)


def _study(review: Review, path: Path, study: Study) -> None:
    """Report what is wrong with a study that stands at a path."""
    stated, place = study.stated(study.kind), (*path, study.kind)
    if study.kind in ("grid", "zip"):
        _axes(review, place, stated)
    elif study.kind == "list":
        before: dict[frozenset[tuple[str, float | None]], int] = {}  # values of cases, and the first case with them
        for index, case in enumerate(stated):
            values = frozenset((name, review.value(number)) for name, number in case.items())
            if before.setdefault(values, index) != index and any(stated) and None not in dict(values).values():
                review.report((*place, index), f"has the same values as case {before[values]} of the list")
            for name, number in case.items():
                if moving := _changed_in(review, number, set(case) - {name}):
                    message = f"{number.text} has the file's value of {moving}, which this case changes too"
                    review.report((*place, index, name), message, "state the number")
        if not any(stated):
            review.report(place, "no case changes a parameter", "mbsim run computes the file's own values", key=True)
    elif study.kind == "csv":
        for name, factor in stated.scale.items():
            if review.value(factor) == 0.0:
                review.report((*place, "scale", name), "must not be zero")
    else:
        _cloud(review, (*place, "parameters"), stated)
    _kept(review, (*path, "keep"), study.keep)


SECTIONS = {  # of kinds of names
    "varied": "parameters", "quantity": "parameters", "objective": "objectives", "field": "fields",
    "measurement": "measurements",
}  # fmt: skip


def _unknown_names(review: Review, path: Path, given: Study | Optimization | Measurement | Fit) -> None:
    """Report names of parameters, objectives, fields and measurements that are none."""
    for place, kind, name, is_key, _ in references(given, path):
        section = SECTIONS.get(kind)
        if section is None or name in review.names(section) or review.lost(section):
            continue
        if section == "parameters" and name in review.names("constants"):
            message = f"{name!r} is a constant, and studies vary parameters"
            review.report(place, message, "make it a parameter", key=is_key)
        else:
            hint = review.suggest(name, review.names(section))
            review.report(place, f"unknown {section.removesuffix('s')} {name!r}", hint, key=is_key)


def _changed_in(review: Review, number: Number | None, changing: set[str]) -> str:
    """Names of those parameters among some that a number has the value by."""
    if number is None or number.literal is not None or review.value(number) is None:
        return ""
    return ", ".join(sorted(changing.intersection(review.model.expressions.gradient(number))))


def _axes(review: Review, path: Path, axes: Mapping[str, Any]) -> None:
    """Report what no grid or zip can be made of."""
    kind = path[-1]
    lengths = {name: len(axis) if isinstance(axis, tuple) else axis.count for name, axis in axes.items()}
    for name, axis in axes.items():
        if not isinstance(axis, tuple):
            _range(review, (*path, name), axis)
        elif not axis:
            review.report((*path, name), "needs one value at least")
        elif kind == "grid":
            before: set[float] = set()
            for index, number in enumerate(axis):
                if (value := review.value(number)) in before:
                    review.report((*path, name, index), f"{value:g} stands twice, and would make equal cases")
                elif value is not None:
                    before.add(value)
    first = next(iter(lengths))
    if kind == "zip":
        for name, length in lengths.items():
            if length != lengths[first]:
                message = f"{counted(length, 'value')} beside the {lengths[first]} of {first!r}"
                hint = "a zip needs as many of each parameter; a grid combines them"
                review.report((*path, name), message, hint, key=True)
    elif (cases := prod(lengths.values())) > MOST_CASES:
        message = f"{cases:.3g} cases are more than {MOST_CASES:.0e}"
        review.report(path, message, "a sobol fills space with fewer", key=True)


def _cloud(review: Review, path: Path, cloud: "Cloud") -> None:
    if not cloud.parameters:
        review.report(path, "needs one parameter at least")
    for place, name in review.each_once(path, cloud.parameters):
        if isinstance(cloud.parameters, dict):
            _range(review, place, cloud.parameters[name])
        elif name in review.model.parameters and review.intact("parameters", name):
            _bounded(review, place, "parameters", name)


def _bounded(review: Review, path: Path, section: str, name: str) -> None:
    """Report a parameter or field without bounds that it can vary within."""
    what, bounds = f"{section.removesuffix('s')} {name!r}", getattr(review.model, section)[name].bounds
    if bounds is None:
        hint = "give it bounds"
        if section == "parameters":
            hint += f", or state its range here: {path[-2]}: {{{name}: {{from: ..., to: ...}}}}"
        review.report(path, f"{what} has no bounds that it could vary within", hint)
    elif not _are_apart(review, bounds):
        review.report(path, f"the bounds of {what} leave it nothing to vary within")


def _around_start(review: Review, path: Path, name: str, stated: "Range") -> None:
    """Report a range that does not hold the value of the parameter, where a search begins."""
    low, high = review.value(stated.from_), review.value(stated.to)
    value = review.value(review.model.parameters[name].value) if name in review.model.parameters else None
    if low is None or high is None:
        return
    if low > high:
        review.report((*path, "to"), f"{high:g} is less than {low:g}")
    elif value is not None and not low <= value <= high:
        review.report(path, f"the value {value:g} of {name!r}, where the search begins, lies outside", key=True)


def _range(review: Review, path: Path, stated: "Range") -> None:
    """Report equal ends of a range, and ends that a log scale does not have."""
    ends = [(key, review.value(number)) for key, number in (("from", stated.from_), ("to", stated.to))]
    for key, value in ends:
        if stated.scale == "log" and value is not None and value <= 0.0:
            review.report((*path, key), f"must be greater than zero on a log scale, is {value:g}")
    if ends[0][1] is not None and ends[0][1] == ends[1][1]:
        review.report((*path, "to"), "must differ from the first value")


def _kept(review: Review, path: Path, keep: str | Sequence[str]) -> None:
    names = [*review.names("objectives"), *review.names("sensors")]
    lost = review.lost("objectives") or review.lost("sensors")
    if keep == "objectives" and not review.names("objectives") and not lost:
        hint = "keep: sensors keeps what sensors show"
        review.report(path, "there are no objectives that a study could keep", hint, key=True)
    if keep == () or (keep == "sensors" and not names and not lost):
        review.report(path, "keeps nothing", "name objectives or sensors", key=True)
    for place, name in review.each_once(path, keep) if isinstance(keep, tuple) else ():
        if name not in names and not lost:
            review.report(place, f"unknown objective or sensor {name!r}", review.suggest(name, names))


def study_of(model: ModelFile, stated: Mapping[str, Any]) -> tuple[Study | None, list[str]]:
    """A study that stands in no file, and what is wrong with it, in sentences."""
    from mbsim_cli.spec import studies

    review, study = Review(model, model.source, set()), None
    try:
        study = studies.Study.model_validate(dict(stated))
    except ValidationError as error:
        review.issues += [issue_of(each, {}, dict(stated), model.source) for each in error.errors(include_url=False)]
    else:
        _unknown_names(review, (), study)
        _study(review, (), study)
        for path, number in walk(study, (), Number):  # those of a file are validated with all others of it
            try:
                review.model.expressions.value(number)
            except ExpressionError as error:
                review.report(path, error.message, error.hint)
    return study, [f"{one.path}: {one.message}" + (f"; {one.hint}" if one.hint else "") for one in review.issues]


# Optimisations: objectives and parameters that exist, ranges that hold the start, limits that leave something.


def _optimization(review: Review, path: Path, given: Optimization) -> None:
    for name, limit in given.constraints.items():
        _limit(review, given, (*path, "constraints", name), limit, "slsqp does")
    _fields(review, path, given)
    for place, name in _varying(review, (*path, "variables"), given, "give those that vary bounds, or ranges here"):
        if name not in review.model.parameters or not review.intact("parameters", name):
            continue
        if isinstance(given.varied, dict):
            _range_of_search(review, given, place, name, given.varied[name])
        else:
            _bounded(review, place, "parameters", name)


def _limit(review: Review, given: Optimization, path: Path, limit: "Limit", instead: str) -> None:
    """Report limits that leave nothing, move, or are equalities of mma, ``instead`` of which something else does."""
    low, high = review.value(limit.at_least), review.value(limit.at_most)
    if low is not None and high is not None and low > high:
        review.report((*path, "at_least"), f"{low:g} is more than at_most, {high:g}")
    for key in ("at_least", "at_most", "equals"):
        _at_rest(review, (*path, key), getattr(limit, key), _varied_by(review, given))
    if limit.equals is not None and given.algorithm == "mma":
        review.report((*path, "equals"), "mma keeps no equalities", instead, key=True)


def _varied_by(review: Review, given: Optimization | Fit) -> set[str]:
    """Parameters that an optimisation varies, or a fit estimates; by default those with bounds to vary within."""
    if given.varied != "all":
        return set(given.varied)
    return {name for name, parameter in review.model.parameters.items() if _are_apart(review, parameter.bounds)}


def _are_apart(review: Review, bounds: Sequence[Number] | None) -> bool:
    """Whether there are bounds that differ, as far as they have values."""
    ends = review.vector(bounds)
    return bounds is not None and (ends is None or ends[0] != ends[1])


def _at_rest(review: Review, path: Path, number: Number | None, varied: set[str]) -> None:
    """Report a number that a search would change, though it is read at the start alone."""
    if number is not None and (moving := _changed_in(review, number, varied)):
        hint = "an objective may have it in its formula, and a number as its limit"
        review.report(path, f"{number.text} is read at the start alone, and would not follow {moving}", hint)


def _fields(review: Review, path: Path, given: Optimization) -> None:
    for place, name in review.each_once((*path, "fields"), given.fields):
        if name not in review.names("fields"):
            continue
        if review.intact("fields", name) and not _are_apart(review, review.model.fields[name].bounds):
            _bounded(review, place, "fields", name)
        elif len(users := with_densities_of(review, name)) != 1:
            review.report(place, f"field {name!r} gives the densities of {len(users)} bodies, not of one")
    for name, limit in given.volume.items():
        at = (*path, "volume", name)
        if name not in given.fields:
            review.report(at, f"{name!r} is not among the fields that vary", key=True)
        _limit(review, given, at, limit, "at_most does")
        field = review.model.fields.get(name)
        bounds = review.vector(field.bounds) if field is not None and review.intact("fields", name) else None
        for key in ("at_least", "at_most", "equals"):  # of a mean between bounds others hold always, or never
            value = review.value(getattr(limit, key))
            if bounds is not None and value is not None and not bounds[0] <= value <= bounds[1]:
                message = f"no mean comes to {value:g}: {name!r} lies between {bounds[0]:g} and {bounds[1]:g}"
                review.report((*at, key), message)


def _varying(review: Review, path: Path, given: Optimization | Fit, hint: str) -> Sequence[tuple[Path, str]]:
    """Parameters that a search states, with their places; reports that there are none that it could vary."""
    if given.varied == "all":
        if review.intact("parameters") and not _varied_by(review, given):
            review.report(path, "no parameter has bounds that it could vary within", hint, key=True)
        return ()
    if not given.varied and not getattr(given, "fields", ()):
        review.report(path, "needs one parameter at least")
    return review.each_once(path, given.varied)


def _range_of_search(review: Review, given: Optimization, path: Path, name: str, stated: "Range") -> None:
    """Report a range without the value that the search begins with, or beyond the parameter's own bounds."""
    others = _varied_by(review, given) - {name}
    _range(review, path, stated)
    _at_rest(review, (*path, "from"), stated.from_, others)
    _at_rest(review, (*path, "to"), stated.to, others)
    _around_start(review, path, name, stated)
    ends, bounds = review.vector((stated.from_, stated.to)), review.vector(review.model.parameters[name].bounds)
    if ends and bounds and not bounds[0] <= ends[0] <= ends[1] <= bounds[1]:
        review.report(path, f"reaches beyond the bounds {bounds[0]:g} and {bounds[1]:g} of {name!r}", key=True)


# Fits: histories, columns and parameters that exist, numbers that the search leaves as they are.


def _measurement(review: Review, path: Path, given: Measurement) -> None:
    check_delimiter(review, path, given)
    ends = review.vector(given.between)
    if ends is not None and not ends[0] < ends[1]:
        review.report((*path, "between"), f"{ends[1]:g} is not after {ends[0]:g}")
    for name, column in given.columns.items():
        place = (*path, "columns", name)
        if name == given.time:
            review.report(place, f"column {name!r} holds the times", "time names their column", key=True)
        _history(review, (*place, "sensor"), column.sensor)
        if review.value(column.scale) == 0.0:
            review.report((*place, "scale"), "must not be zero: the column would not depend on the sensor")


def _history(review: Review, path: Path, name: str) -> None:
    """Report a history whose name begins with no sensor or joint; the run tells whether the rest is right."""
    if any(review.lost(section) for section in ("sensors", "joints", "bodies")):
        return
    known = review.names("sensors") | review.names("joints") | review.names("bodies")  # bodies have elastic coordinates
    if not any(name == other or name.startswith(f"{other}.") for other in known):
        first = name.partition(".")[0]
        review.report(path, f"unknown sensor or joint {first!r}", review.suggest(first, known))


def _fit(review: Review, path: Path, given: Fit) -> None:
    used = [("measurements", name) for name in given.measurements] + [("hold_out", name) for name in given.hold_out]
    review.each_once((*path, "measurements"), given.measurements)
    for place, name in review.each_once((*path, "hold_out"), given.hold_out):
        if name in given.measurements and name in review.names("measurements"):
            review.report(place, f"{name!r} is held out, and fitted to", "leave it out of one of the lists")
    _parameters(review, (*path, "parameters"), given)
    varied = _varied_by(review, given)
    for key, name in used:
        measured = review.model.measurements.get(name)
        if measured is None or not review.intact("measurements", name):
            continue
        fixed: list[tuple[str, object]] = [("time_scale", measured.time_scale)]
        fixed += [("between", number) for number in measured.between or ()]
        fixed += [(f"columns.{column}.sigma", entry.sigma) for column, entry in measured.columns.items()]
        for what, stated in fixed:
            if isinstance(stated, Number) and (moving := _changed_in(review, stated, varied)):
                message = f"{what} of {name!r} has the value of {moving}, which this fit changes"
                review.report((*path, key), message, "state a number there", key=True)
        for column, entry in measured.columns.items():
            moving = _changed_in(review, entry.delay, varied)
            for parameter in filter(None, moving.split(", ")):
                ends = getattr(review.model.parameters.get(parameter), "bounds", None)
                if isinstance(given.parameters, dict):
                    ends = given.parameters.get(parameter)
                if ends is None:
                    message = f"{parameter!r}, the delay of column {column!r} of {name!r}, has no bounds"
                    hint = "bounds say which readings lie within the run whatever the delay is"
                    review.report((*path, "parameters"), message, hint, key=True)


def _parameters(review: Review, path: Path, given: Fit) -> None:
    stated = given.parameters
    fitted_to = [review.model.measurements[name] for name in given.measurements if name in review.model.measurements]
    for place, name in _varying(review, path, given, "name the parameters that are estimated"):
        if fitted_to and all(name in measured.parameters for measured in fitted_to):
            message = f"every measurement states its own value of {name!r}"
            review.report(place, message, "leave it out", key=isinstance(stated, dict))
        elif isinstance(stated, dict):
            _range(review, place, stated[name])
            _around_start(review, place, name, stated[name])
        elif name in review.model.parameters and review.model.parameters[name].bounds is not None:
            _bounded(review, place, "parameters", name)
