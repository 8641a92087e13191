"""Objectives and sensors of type expression: their expressions read sensors, names and objectives that exist."""

from collections.abc import Collection, Mapping

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.ordering import shown, sort
from mbsim_cli.spec.expressions.syntax import MAX_LENGTH, ExpressionError, names, parse
from mbsim_cli.spec.expressions.widths import check_formula
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.objectives import MODAL
from mbsim_cli.spec.reading.messages import Path


def check(review: Review) -> None:
    """Report unknown names, vectors where numbers are wanted, and objectives made of themselves."""
    model = review.model
    plain = dict.fromkeys((*review.names("parameters"), *review.names("constants")), 1)
    sensors = model.shown
    objectives = dict.fromkeys(review.names("objectives"), 1)
    for name, objective in model.objectives.items():
        if not review.intact("objectives", name):
            continue
        if objective.kind in MODAL:
            if model.analysis.type != "modes" and not review.lost("analysis"):
                message = f"{objective.kind} is a number of a mode, which only type: modes finds"
                review.report(("objectives", name, objective.kind), message, key=True)
            continue
        path = ("objectives", name, objective.kind)
        if objective.kind == "expression":
            _formula(review, path, objective.text, {**plain, **objectives}, "objective", review.names("sensors"))
        elif objective.at is not None:
            _time(review, (*path, "time"), objective.at.time)
            _formula(review, (*path, "value"), objective.text, {**plain, **sensors, "t": 1}, "sensor", objectives)
        else:
            _formula(review, path, objective.text, {**plain, **sensors, "t": 1}, "sensor", objectives)
        sharpness = review.value(objective.sharpness)
        if sharpness is not None and sharpness <= 0:
            review.report(("objectives", name, "sharpness"), f"must be greater than zero, is {sharpness:g}")
    of_others = {name: objective.text for name, objective in model.objectives.items() if objective.kind == "expression"}
    _cycles(review, "objectives", "expression", of_others)
    of_sensors = {name: spec.value for name, spec in model.sensors.items() if spec.type == "expression"}
    _cycles(review, "sensors", "value", of_sensors)
    for name, text in of_sensors.items():
        if review.intact("sensors", name):
            path = ("sensors", name, "value")
            _formula(review, path, text, {**plain, **sensors, "t": 1}, "sensor", objectives, vectors=True)
            if len(model.formulas[name]) > MAX_LENGTH:
                message = f"with the expressions of the sensors in it, it is longer than {MAX_LENGTH} characters"
                review.report(path, message)


def _time(review: Review, path: Path, time: Number) -> None:
    """Report a time that the analysis does not pass."""
    analysis, value = review.model.analysis, review.value(time)
    duration = review.value(getattr(analysis, "duration", None))
    if analysis.type in ("equilibrium", "modes"):
        review.report(path, f"type: {analysis.type} is of one instant", "final: reads it")
    elif value is not None and duration is not None and not 0 <= value <= duration:
        review.report(path, f"{value:g} s lies outside of the analysis, which lasts {duration:g} s")


def _formula(
    review: Review,
    path: Path,
    text: str,
    widths: Mapping[str, int],
    what: str,
    elsewhere: Collection[str],
    vectors: bool = False,
) -> None:
    used = names(parse(text, vectors=True))
    if review.lost("sensors") or review.lost("parameters") or review.lost("constants"):
        return
    invalid = review.names("sensors") - set(review.model.sensors)
    lost = {other for other in used if other.partition(".")[0] in invalid}
    unknown = [(other, offset) for other, offset in used.items() if other not in widths and other not in lost]
    for other, offset in unknown:
        hint: str | None
        if other in elsewhere:
            kind = "an objective" if what == "sensor" else "a sensor"
            hint = f"it is {kind}; objectives of objectives stand under expression"
        elif other in review.model.sensors:
            hint = "its parts are " + " and ".join(review.model.sensors[other].shows(other))
        else:
            hint = review.suggest(other, widths)
        review.report(path, f"unknown {what} {other!r}", hint, offset)
    if unknown or lost:
        return
    try:
        check_formula(text, widths, vectors)
    except ExpressionError as error:
        review.report(path, error.message, error.hint, error.offset)


def _cycles(review: Review, section: str, key: str, texts: Mapping[str, str]) -> None:
    """Report expressions that read each other in a ring."""
    reads = {
        name: list(names(parse(text, vectors=True))) for name, text in texts.items() if review.intact(section, name)
    }
    for cycle in sort(reads)[1]:
        review.report((section, cycle[0], key), f"{section[:-1]} is defined by itself: {shown(cycle)}")
