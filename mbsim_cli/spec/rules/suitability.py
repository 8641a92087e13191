"""Suitability: what forces, constraints and sensors name is of a kind that they can act on, or read."""

from typing import Any

from mbsim_cli.spec.constraints import COUPLINGS
from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.rules.references import SIDES

_PLACES = {"force": "point", "torque": "body", "drag": "point", "tyre": "center"}  # of what acts on one body
_ON_COORDINATES = (
    "spring_damper",
    "rotational_spring_damper",
    "motion",
    *COUPLINGS,
    "drive",
    "viscous_friction",
    "anti_roll_bar",
    "bump_stop",
)


def check(review: Review) -> None:
    """Report what acts on nothing, or on what it does not suit; names that nothing defines are reported before."""
    for section in ("constraints", "forces", "sensors"):
        for name, item in getattr(review.model, section).items():
            _bodies(review, (section, name), item)
            if item.type in _ON_COORDINATES and getattr(item, "coordinate", "") is not None:
                _suitable(review, (section, name), item)
            if section == "forces":
                _acts(review, (section, name), item)


def _bodies(review: Review, path: Path, item: Any) -> None:
    """Points and vectors that must differ, or be of one body."""
    for key in ("points", "vectors"):
        given = getattr(item, key, None)
        if isinstance(given, list) and given[0] == given[1]:
            review.report((*path, key), f"both {key} are {given[0]!r}")
    for key, side in SIDES.items():
        if (given := getattr(item, key, None)) is not None:
            _same_body(review, (*path, key), given.point, getattr(given, side))
    if item.type == "tyre" and path[0] == "forces":
        _same_body(review, (*path, "axis"), item.center, item.axis)
    if item.type == "contact" and path[0] == "forces":
        _contact(review, path, item)
    if item.type == "bushing" and path[0] == "forces":
        for key in ("axis", "reference"):
            for index, vector in enumerate(getattr(item, key) or ()):
                _same_body(review, (*path, key, index), item.points[index], vector)
    if item.type == "displacement":
        _same_body(review, (*path, "direction"), item.points[0], item.direction)


def _contact(review: Review, path: Path, item: Any) -> None:
    """Report shapes that are not of one body, or of the body that they touch."""
    shape, face = item.touching, item.touched
    places = shape.points if shape.type == "points" else [shape.center]
    for place in places[1:]:
        _same_body(review, (*path, "shape"), places[0], place)
    for key, given in (("shape", item.shape), ("against", item.against)):
        if (axis := getattr(given, "axis", None)) is not None:
            _same_body(review, (*path, key, "axis"), given.center, axis)
    if item.against is not None and face.type == "plane":
        _same_body(review, (*path, "against"), face.point, face.normal)
    body, other = places[0].partition(".")[0], (face.point if face.type == "plane" else face.center).partition(".")[0]
    if body == other:
        key = next(key for key in ("against", "plane", "points") if getattr(item, key) is not None)
        if key != "points" or item.points[0] != item.points[1]:
            what = {"plane": "sphere and plane", "points": "both spheres"}.get(key, "shape and face")
            review.report((*path, key), f"{what} are both on {body!r}" if key != "points" else f"both are on {body!r}")


def _same_body(review: Review, path: Path, point: str, vector: str) -> None:
    if point.split(".")[0] != vector.split(".")[0]:
        review.report(path, f"{point!r} and {vector!r} must be of one body")


def _acts(review: Review, path: Path, item: Any) -> None:
    """Report a force that moves nothing: one on the ground, or within one rigid body."""
    key = _PLACES.get(item.type)
    if key is not None and getattr(item, key).partition(".")[0] == GROUND:
        message = f"the ground does not move, and a {item.type} on it changes nothing"
        review.report((*path, key), message, "name the body that it acts on")
    points: list[str] = getattr(item, "points", None) or []
    bodies = {point.partition(".")[0] for point in points}
    if len(bodies) == 1 and points[0] != points[1] and _is_rigid(review, body := bodies.pop()):
        message = f"both points are on {body!r}, whose points keep their distance: no force between them moves it"
        review.report((*path, "points"), message, "the second one belongs to another body")


def _is_rigid(review: Review, name: str) -> bool:
    body = review.model.bodies.get(name)
    return name == GROUND or (body is not None and body.flexible is None)


def _suitable(review: Review, path: Path, item: Any) -> None:
    for name, place, is_key in _coordinates_of(path, item):
        joint, _, coordinate = name.partition(".")
        if joint not in review.model.joints or coordinate not in review.model.joints[joint].coordinates:
            continue  # reported already
        if coordinate in ("e0", "e1", "e2", "e3"):
            hint = "no force or constraint acts on an Euler parameter alone"
            review.report(place, f"{name!r} is an Euler parameter", hint, key=is_key)
        elif item.type == "rotational_spring_damper" and not coordinate.startswith("angle"):
            review.report(
                place,
                f"{name!r} is not an angle",
                "a spring on a translation is a spring_damper",
            )
        elif item.type == "spring_damper" and coordinate.startswith("angle"):
            review.report(place, f"{name!r} is an angle", "a spring on one is a rotational_spring_damper")


def _coordinates_of(path: Path, item: Any) -> list[tuple[str, Path, bool]]:
    """Coordinates that an item acts on, with their places, and whether they stand there as keys."""
    if item.type == "coupling" and item.terms is not None:
        return [(name, (*path, "terms", name), True) for name in item.terms]
    if item.type in COUPLINGS:
        return [(item.of, (*path, "of"), False), (item.by, (*path, "by"), False)]
    if item.type == "anti_roll_bar":
        return [(name, (*path, "coordinates", index), False) for index, name in enumerate(item.coordinates)]
    return [(item.coordinate, (*path, "coordinate"), False)]
