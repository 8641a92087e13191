"""Forces: each states something to exert, on something that moves it."""

from mbsim_cli.spec.forces import ADDED_LAWS, SOURCES
from mbsim_cli.spec.judging.review import Review


def check(review: Review) -> None:
    """Report elements that state nothing to exert, and bars between a coordinate and itself."""
    for name, force in review.model.forces.items():
        if not review.intact("forces", name):
            continue
        possible = (*SOURCES.get(force.type, ()), *ADDED_LAWS.get(force.type, ()))
        if possible and force.model_fields_set.isdisjoint(possible):
            hint = f"give {', '.join(possible[:-1])} or {possible[-1]}"
            review.report(("forces", name), "exerts nothing", hint, key=True)
        if force.type == "anti_roll_bar" and force.coordinates[0] == force.coordinates[1]:
            message = f"both coordinates are {force.coordinates[0]!r}"
            kind = "rotational_spring_damper" if ".angle" in force.coordinates[0] else "spring_damper"
            review.report(("forces", name, "coordinates"), message, f"a spring on one is a {kind}")
