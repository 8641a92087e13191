"""Constraints: distances that points can have, couplings that hold something."""

from typing import Any

from mbsim_cli.spec.constraints import COUPLINGS, Distance
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path


def check(review: Review) -> None:
    """Report distances that are not greater than zero, and couplings whose factors are all zero."""
    for name, constraint in review.model.constraints.items():
        if isinstance(constraint, Distance) and constraint.law is None:
            value = review.value(constraint.distance)
            if value is not None and value <= 0:
                hint = "a spherical joint keeps two points together" if value == 0 else None
                review.report(("constraints", name, "distance"), f"must be greater than zero, is {value:g}", hint)
        elif constraint.type in COUPLINGS:
            values = [review.value(number) for number in constraint.factors.values()]
            if not any(value is None or value for value in values):
                review.report(("constraints", name, "terms"), "all factors are zero, so that it holds nothing")
            if constraint.type != "coupling":
                _ratio(review, ("constraints", name), constraint)
            elif constraint.of is not None and constraint.of == constraint.by:
                review.report(("constraints", name, "by"), f"{constraint.by!r} cannot follow itself")


def _ratio(review: Review, path: Path, constraint: Any) -> None:
    """Report a gear, rack or screw without a ratio, or between coordinates of the wrong kinds."""
    key, _ = constraint.factor
    if (value := review.value(getattr(constraint, key))) is not None and value == 0.0:
        review.report((*path, key), "must not be zero", "a coordinate that stands still is a motion, or no joint")
    if constraint.of == constraint.by:
        review.report((*path, "by"), f"{constraint.by!r} cannot follow itself")
        return
    turns = [name.rpartition(".")[2].startswith("angle") for name in (constraint.of, constraint.by)]
    if constraint.type == "gear" and turns[0] != turns[1]:
        review.report((*path, "by"), "a gear couples two angles, or two displacements", "take a rack or a screw")
    if constraint.type != "gear" and turns != [False, True]:
        wrong = "of" if turns[0] else "by"
        wanted = "a displacement" if turns[0] else "an angle"
        review.report((*path, wrong), f"{getattr(constraint, wrong)!r} is not {wanted}")
