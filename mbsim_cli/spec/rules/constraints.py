"""Constraints: distances that points can have, couplings that hold something."""

from mbsim_cli.spec.constraints import Coupling, Distance
from mbsim_cli.spec.judging.review import Review


def check(review: Review) -> None:
    """Report distances that are not greater than zero, and couplings whose factors are all zero."""
    for name, constraint in review.model.constraints.items():
        if isinstance(constraint, Distance) and constraint.law is None:
            value = review.value(constraint.distance)
            if value is not None and value <= 0:
                hint = "a spherical joint keeps two points together" if value == 0 else None
                review.report(("constraints", name, "distance"), f"must be greater than zero, is {value:g}", hint)
        elif isinstance(constraint, Coupling):
            values = [review.value(number) for number in constraint.terms.values()]
            if not any(value is None or value for value in values):
                review.report(("constraints", name, "terms"), "all factors are zero, so that it holds nothing")
