"""From ranges of coordinates to laws that drive them: uniformly from one end to the other, in the whole duration."""

from mbsim_cli.spec.constraints import Motion
from mbsim_cli.spec.expand import formula
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.kinematics import Kinematics


def name_of(coordinate: str) -> str:
    """Name of the constraint that drives a coordinate along its range."""
    return f"sweep_{coordinate.replace('.', '_')}"


def expand_sweep(review: Review) -> None:
    """Add a motion to the constraints for every range."""
    model, analysis = review.model, review.model.analysis
    assert isinstance(analysis, Kinematics)
    for coordinate, given in analysis.sweep.items():
        name, path = name_of(coordinate), ("analysis", "sweep", coordinate)
        if name in model.constraints:
            review.report(path, f"{name!r} is also a constraint", "give that one another name", key=True)
            continue
        rate = formula("(b - a)/T", {"a": given.from_, "b": given.to, "T": analysis.lasts})
        law = {"type": "polynomial", "coefficients": [given.from_, rate]}
        model._made.add(("constraints", name))
        model.constraints[name] = Motion.model_validate({"type": "motion", "coordinate": coordinate, "law": law})
        review.source.stands_at[("constraints", name)] = path
