"""Checks: what they compare exists and has the shape that they state."""

from collections.abc import Mapping

from mbsim_cli.spec.analysis import LINEAR, WITH_ADJOINT, lacks_adjoint
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.objectives import Check, SensorValue
from mbsim_cli.spec.reading.messages import Path


def check(review: Review) -> None:
    """Report unknown objectives, sensors and parameters, and references of the wrong width."""
    for name, given in review.model.checks.items():
        path = ("checks", name)
        if given.objective is not None:
            review.known((*path, "objective"), given.objective, "objectives", "objective")
        for parameter in given.gradient:
            _parameter(review, (*path, "gradient", parameter), parameter)
        for name, elements in given.field_gradient.items():
            _field(review, (*path, "field_gradient", name), name, elements)
        if given.sensor is not None and _is_shown(review, (*path, "sensor"), given.sensor):
            _values(review, path, given)
        if given.agreement:
            _agreement(review, path, given)
        for key in ("relative_tolerance", "absolute_tolerance"):
            review.not_negative((*path, key), getattr(given, key))


def _is_shown(review: Review, path: Path, name: str) -> bool:
    """Whether a sensor of this name, or a part of one, exists or has been reported."""
    shown = review.model.shown
    if name.partition(".")[0] in review.names("sensors") - set(review.model.sensors):
        return True
    if name in review.model.sensors and name not in shown:
        review.report(path, f"sensor {name!r} shows " + " and ".join(review.model.sensors[name].shows(name)))
        return False
    return review.known(path, name, "sensors", "sensor", shown)


def _agreement(review: Review, path: Path, given: Check) -> None:
    """Other methods than the file's own, and something that they can be asked for."""
    for index, name in enumerate(given.objectives):
        review.known((*path, "objectives", index), name, "objectives", "objective")
    if not review.names("objectives") and not review.lost("objectives"):
        review.report((*path, "agreement"), "there are no objectives that could agree")
    analysis = review.model.analysis
    own = getattr(analysis, "formulation", None)
    for index, method in enumerate(given.agreement):
        if method == own and review.intact("analysis", "formulation"):
            review.report((*path, "agreement", index), f"{method} is the method of the analysis itself")
        elif analysis.type in LINEAR:
            message = "small motions have one method; their gradients are compared with differences"
            review.report((*path, "agreement", index), message)
        elif method == "adjoint" and lacks_adjoint(analysis):
            review.report((*path, "agreement", index), f"{lacks_adjoint(analysis)} has no adjoint", WITH_ADJOINT)
        elif analysis.type == "inverse_dynamics" and method != "adjoint" and not review.lost("analysis"):
            review.report((*path, "agreement", index), "inverse dynamics has one other method, adjoint")
        elif analysis.type in ("equilibrium", "kinematics") and method not in ("complex_step", "adjoint"):
            what = "an equilibrium has" if analysis.type == "equilibrium" else "kinematics has"
            message = f"{what} one formulation; complex_step and adjoint differentiate it"
            review.report((*path, "agreement", index), message)
        elif method in ("complex_step", "adjoint") and not review.names("parameters") and not review.lost("parameters"):
            review.report((*path, "agreement", index), "there are no parameters to differentiate by")


def _parameter(review: Review, path: Path, name: str) -> None:
    names = review.names("parameters")
    if name not in names and not review.lost("parameters"):
        review.report(path, f"unknown parameter {name!r}", review.suggest(name, names), key=True)


def _field(review: Review, path: Path, name: str, elements: Mapping[str, Number]) -> None:
    """A field that gradients are taken by, and numbers of elements."""
    if name not in review.model.analysis.sensitivity.fields and not review.lost("analysis"):
        review.report(path, f"no gradient is taken by {name!r}", "name it in analysis.sensitivity.fields", key=True)
    for element in elements:
        if not element.isdecimal():
            review.report((*path, element), f"{element!r} is no element: they are counted from 0", key=True)


def _values(review: Review, path: Path, given: Check) -> None:
    known = given.sensor in review.model.shown and review.intact("joints")
    wanted = review.model.width_of(given.sensor) if known and given.sensor else None
    analysis = review.model.analysis
    duration = review.value(getattr(analysis, "duration", None))
    for index, entry in enumerate(given.values):
        place = (*path, "values", index)
        if wanted is not None:
            _width(review, (*place, "value"), entry, wanted)
        time = review.value(entry.time)
        if analysis.type in ("equilibrium", *LINEAR) and time:
            what = "an equilibrium has" if analysis.type == "equilibrium" else "small motions have"
            review.report((*place, "time"), f"{what} one instant, at time 0")
        elif time is not None and duration is not None and not 0 <= time <= duration * (1 + 1e-9):
            review.report((*place, "time"), f"{time:g} s lies outside the duration of {duration:g} s")


def _width(review: Review, path: Path, entry: SensorValue, wanted: int) -> None:
    width = len(entry.value) if isinstance(entry.value, list) else 1
    if width != wanted or (isinstance(entry.value, list) and wanted == 1):
        review.report(path, "the sensor gives " + ("one number" if wanted == 1 else f"{wanted} numbers in a list"))
