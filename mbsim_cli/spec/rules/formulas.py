"""Objectives: their expressions read sensors, names and other objectives that exist."""

from collections.abc import Collection, Mapping

from mbsim_cli.spec.expressions.ordering import shown, sort
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.expressions.widths import check_formula
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.objectives import MODAL


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
        if objective.kind == "expression":
            _formula(review, name, {**plain, **objectives}, "objective", review.names("sensors"))
        else:
            _formula(review, name, {**plain, **sensors, "t": 1}, "sensor", objectives)
        sharpness = review.value(objective.sharpness)
        if sharpness is not None and sharpness <= 0:
            review.report(("objectives", name, "sharpness"), f"must be greater than zero, is {sharpness:g}")
    _cycles(review)


def _formula(review: Review, name: str, widths: Mapping[str, int], what: str, elsewhere: Collection[str]) -> None:
    objective = review.model.objectives[name]
    path = ("objectives", name, objective.kind)
    used = names(parse(objective.text, vectors=True))
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
        check_formula(objective.text, widths)
    except ExpressionError as error:
        review.report(path, error.message, error.hint, error.offset)


def _cycles(review: Review) -> None:
    reads = {
        name: list(names(parse(objective.text, vectors=True)))
        for name, objective in review.model.objectives.items()
        if review.intact("objectives", name) and objective.kind == "expression"
    }
    for cycle in sort(reads)[1]:
        path = ("objectives", cycle[0], "expression")
        review.report(path, f"objective is defined by itself: {shown(cycle)}")
