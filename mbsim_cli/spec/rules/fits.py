"""Measurements and fits: histories, columns and parameters that exist, numbers that the search leaves as they are."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.rules.laws import HDF5_SUFFIXES, delimiter_fault
from mbsim_cli.spec.rules.studies import Fault, around_start, changed_in, known_parameters, positive, range_of
from mbsim_cli.spec.studies import Fit, Measurement, Range


def check(review: Review) -> None:
    """Report what no fit can be made of."""
    for section, faults in (("measurements", _of_measurement), ("fit", _of_fit)):
        for name, given in getattr(review.model, section).items():
            if review.intact(section, name):
                for fault in faults(review, given):
                    review.report((section, name, *fault.path), fault.message, fault.hint, key=fault.key)


def _of_measurement(review: Review, given: Measurement) -> Iterator[Fault]:
    if given.delimiter is not None:
        is_hdf5 = PurePath(given.file).suffix.lower() in HDF5_SUFFIXES
        if fault := delimiter_fault(given.delimiter, is_hdf5):
            yield Fault(("delimiter",), *fault)
    yield from known_parameters(review, ("parameters",), given.parameters)
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
                if _ends_of(review, given, parameter) is None:
                    message = f"{parameter!r}, the delay of column {column!r} of {name!r}, has no bounds"
                    hint = "bounds say which readings lie within the run whatever the delay is"
                    yield Fault(("parameters",), message, hint, True)


def _measurements(review: Review, given: Fit) -> Iterator[Fault]:
    known, lost = review.names("measurements"), review.lost("measurements")
    for key, names in (("measurements", given.measurements), ("hold_out", given.hold_out)):
        for index, name in enumerate(names):
            if name not in known and not lost:
                yield Fault((key, index), f"unknown measurement {name!r}", review.suggest(name, known))
            elif name in names[:index]:
                yield Fault((key, index), f"{name!r} stands twice")
            elif key == "hold_out" and name in given.measurements:
                yield Fault((key, index), f"{name!r} is held out, and fitted to", "leave it out of one of the lists")


def varied_by(review: Review, given: Fit) -> set[str]:
    """Parameters that a fit estimates."""
    if given.parameters == "all":
        bounded = ((name, parameter.bounds) for name, parameter in review.model.parameters.items())
        return {name for name, bounds in bounded if bounds is not None and _differ(review.vector(bounds))}
    return set(given.parameters)


def _differ(ends: Sequence[float] | None) -> bool:
    return ends is None or ends[0] != ends[1]


def _ends_of(review: Review, given: Fit, name: str) -> object:
    """What a parameter varies within, None without limits."""
    if isinstance(given.parameters, dict):
        return given.parameters.get(name)
    parameter = review.model.parameters.get(name)
    return None if parameter is None else parameter.bounds


def _parameters(review: Review, given: Fit) -> Iterator[Fault]:
    stated = given.parameters
    if stated == "all":
        if review.intact("parameters") and not varied_by(review, given):
            message = "no parameter has bounds that it could vary within"
            yield Fault(("parameters",), message, "name the parameters that are estimated", True)
        return
    if not stated:
        yield Fault(("parameters",), "needs one parameter at least")
    listed = isinstance(stated, list)
    yield from known_parameters(review, ("parameters",), stated, key=not listed)
    fitted_to = [review.model.measurements[name] for name in given.measurements if name in review.model.measurements]
    for index, name in enumerate(stated):
        path: Path = ("parameters", index if listed else name)
        if listed and name in stated[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif fitted_to and all(name in measured.parameters for measured in fitted_to):
            yield Fault(path, f"every measurement states its own value of {name!r}", "leave it out", not listed)
        elif not listed:
            yield from _range(review, path, name, stated[name])
        elif name in review.model.parameters and (bounds := review.model.parameters[name].bounds) is not None:
            ends = review.vector(bounds)
            if not _differ(ends):
                yield Fault(path, f"the bounds of parameter {name!r} leave it nothing to vary within")


def _range(review: Review, path: Path, name: str, stated: Range) -> Iterator[Fault]:
    """A range that holds the start of the search."""
    yield from range_of(review, path, stated)
    yield from around_start(review, path, name, stated)
