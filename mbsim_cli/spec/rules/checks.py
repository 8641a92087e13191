"""Checks: what they compare exists and has the shape that they state."""

from mbsim_cli.spec.checks import Check, SensorValue
from mbsim_cli.spec.messages import Path
from mbsim_cli.spec.review import Review


def check(review: Review) -> None:
    """Report unknown objectives, sensors and parameters, and references of the wrong width."""
    for name, given in review.model.checks.items():
        path = ("checks", name)
        if given.objective is not None:
            review.known((*path, "objective"), given.objective, "objectives", "objective")
        for parameter in given.gradient:
            _parameter(review, (*path, "gradient", parameter), parameter)
        if given.sensor is not None and review.known((*path, "sensor"), given.sensor, "sensors", "sensor"):
            _values(review, path, given)
        for key in ("relative_tolerance", "absolute_tolerance"):
            tolerance = review.value(getattr(given, key))
            if tolerance is not None and tolerance < 0:
                review.report((*path, key), f"must not be negative, is {tolerance:g}")


def _parameter(review: Review, path: Path, name: str) -> None:
    names = review.names("parameters")
    if name not in names and not review.lost("parameters"):
        review.report(path, f"unknown parameter {name!r}", review.suggest(name, names), key=True)


def _values(review: Review, path: Path, given: Check) -> None:
    known = given.sensor in review.model.sensors and review.intact("joints")
    wanted = review.model.width_of(given.sensor) if known and given.sensor else None
    duration = review.value(review.model.analysis.duration)
    for index, entry in enumerate(given.values):
        place = (*path, "values", index)
        if wanted is not None:
            _width(review, (*place, "value"), entry, wanted)
        time = review.value(entry.time)
        if time is not None and duration is not None and not 0 <= time <= duration * (1 + 1e-9):
            review.report((*place, "time"), f"{time:g} s lies outside the duration of {duration:g} s")


def _width(review: Review, path: Path, entry: SensorValue, wanted: int) -> None:
    width = len(entry.value) if isinstance(entry.value, list) else 1
    if width != wanted or (isinstance(entry.value, list) and wanted == 1):
        review.report(path, "the sensor gives " + ("one number" if wanted == 1 else f"{wanted} numbers in a list"))
