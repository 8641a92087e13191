"""Roads, tyres, stops and drag: lengths and coefficients that make sense, roads that are not made of themselves."""

from itertools import pairwise
from typing import Any

from mbsim_cli.spec.expressions.named_numbers import shown, sort
from mbsim_cli.spec.forces import SphereShape
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.roads import Profile, Ramp, RoadSum

_POSITIVE = {
    "step": ("width",),
    "ramp": ("onset",),
    "sinusoidal": ("wavelength",),
    "bumps": ("length",),
    "magic_formula": ("B", "C"),
    "linear": ("longitudinal_stiffness", "lateral_stiffness"),
}


def check(review: Review) -> None:
    """Report what no road, tyre, stop or drag can be."""
    for name, road in review.model.roads.items():
        _road(review, ("roads", name), road)
    for name, force in review.model.forces.items():
        _sizes(review, ("forces", name), force)
        if force.type == "tyre":
            _upright(review, ("forces", name))
            _sizes(review, ("forces", name, "slip"), force.slip)
            if force.road is not None and not isinstance(force.road, str):
                _road(review, ("forces", name, "road"), force.road)
        elif force.type == "contact":
            _contact(review, ("forces", name), force)
        elif force.type == "bump_stop":
            low, high = review.value(force.minimum), review.value(force.maximum)
            if low is not None and high is not None and high <= low:
                review.report(("forces", name, "maximum"), f"{high:g} is not above the minimum {low:g}")
    reads = {name: road.roads for name, road in review.model.roads.items() if isinstance(road, RoadSum)}
    for cycle in sort(reads)[1]:
        review.report(("roads", cycle[0]), f"the road is made of itself: {shown(cycle)}")


def _contact(review: Review, path: Path, force: Any) -> None:
    if (exponent := review.value(force.exponent)) is not None and exponent < 1.0:
        message = f"must be at least 1, is {exponent:g}"
        review.report((*path, "exponent"), message, "a smaller one has no derivative where contact begins")
    if force.law == "rigid":
        message = "rigid impacts are not available"
        review.report((*path, "law"), message, "leave law out: contacts are compliant, as stiff as you state")
    for key in ("shape", "against", "impact"):
        given = getattr(force, key)
        for name in ("radius", "length", "depth", "damping", "tube"):
            may_be_zero = name in ("damping", "tube") or (name == "radius" and isinstance(given, SphereShape))
            judge = review.not_negative if may_be_zero else review.positive
            if (number := getattr(given, name, None)) is not None:
                judge((*path, key, name), number)
    for index, number in enumerate(getattr(force.shape, "size", None) or ()):
        review.not_negative((*path, "shape", "size", index), number)
    for index, number in enumerate(force.youngs_modulus or ()):
        review.positive((*path, "youngs_modulus", index), number)
    for index, number in enumerate(force.poisson_ratio or ()):
        if (value := review.value(number)) is not None and not -1.0 <= value <= 0.5:
            review.report((*path, "poisson_ratio", index), f"must be between -1 and 0.5, is {value:g}")
    for index, radius in enumerate(force.radii or ()):
        review.not_negative((*path, "radii", index), radius)
    if force.restitution is not None:
        value = review.value(force.restitution.value)
        if value is not None and not 0.0 < value <= 1.0:
            review.report((*path, "restitution", "value"), f"must be above 0 and at most 1, is {value:g}")
        review.positive((*path, "restitution", "speed"), force.restitution.speed)


def _upright(review: Review, path: Path) -> None:
    gravity = review.vector(review.model.gravity)
    if gravity is not None and any(gravity) and gravity[2] >= 0.0:
        shown = ", ".join(f"{g:g}" for g in gravity)
        message = f"a tyre needs gravity that points down the z axis, and gravity is [{shown}]"
        review.report(path, message, "roads are heights along z over x; turn the model, or gravity")


def _road(review: Review, path: Path, road: Any) -> None:
    _sizes(review, path, road)
    if isinstance(road, RoadSum):
        for index, name in enumerate(road.roads):
            review.known((*path, "roads", index), name, "roads", "road")
    elif isinstance(road, Ramp):
        start, end = review.value(road.start), review.value(road.end)
        if start is not None and end is not None and end <= start:
            review.report((*path, "end"), f"the ramp ends at {end:g}, not behind its start at {start:g}")
    elif isinstance(road, Profile):
        if len(road.x) != len(road.z):
            review.report((*path, "z"), f"{len(road.z)} heights stand for {len(road.x)} places")
        values = [review.value(number) for number in road.x]
        for index, (before, here) in enumerate(pairwise(values), start=1):
            if before is not None and here is not None and before >= here:
                review.report((*path, "x", index), f"x must increase, but {here:g} follows {before:g}")


def _sizes(review: Review, path: Path, item: Any) -> None:
    for key in getattr(item, "positive", _POSITIVE.get(item.type, ())):
        review.positive((*path, key), getattr(item, key))
    for key in getattr(item, "not_negative", ()):
        review.not_negative((*path, key), getattr(item, key))
