"""Forces: each states something to exert, on something that moves it."""

from typing import Any

from mbsim_cli.spec.forces import ADDED_LAWS, SOURCES
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path


def check(review: Review) -> None:
    """Report elements that state nothing to exert, and bars between a coordinate and itself."""
    for name, force in review.model.forces.items():
        if not review.intact("forces", name):
            continue
        possible = (*SOURCES.get(force.type, ()), *ADDED_LAWS.get(force.type, ()))
        if possible and force.model_fields_set.isdisjoint(possible):
            hint = f"give {', '.join(possible[:-1])} or {possible[-1]}"
            review.report(("forces", name), "exerts nothing", hint, key=True)
        if force.type == "bushing":
            _symmetric(review, ("forces", name), force)
        if force.type == "anti_roll_bar" and force.coordinates[0] == force.coordinates[1]:
            message = f"both coordinates are {force.coordinates[0]!r}"
            kind = "rotational_spring_damper" if ".angle" in force.coordinates[0] else "spring_damper"
            review.report(("forces", name, "coordinates"), message, f"a spring on one is a {kind}")


def _symmetric(review: Review, path: Path, force: Any) -> None:
    """Report matrices that no potential, or no dissipation, gives."""
    for key in ("stiffness_matrix", "damping_matrix"):
        rows = getattr(force, key) or []
        values = [[review.value(number) for number in row] for row in rows]
        size = max((abs(value) for row in values for value in row if value is not None), default=0.0)
        for i in range(len(values)):
            for j in range(i):
                low, high = values[i][j], values[j][i]
                if low is not None and high is not None and abs(low - high) > 1e-9 * size:
                    message = f"is not symmetric: {low:g} stands opposite to {high:g}"
                    review.report((*path, key, i, j), message, "both entries must be equal")
