"""Doubts about units: free fall in millimetres, and inertias that belong to bodies of quite another size."""

import math
from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.judging.geometry import local_point
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.points import DesignPoint
from mbsim_cli.spec.reading.messages import Path

_EARTH = 9.81  # m/s^2
_NEARLY = 0.01
_THIN, _WIDE = 1 / 300, 100.0  # radius of gyration by the distance of points; of bodies that exist 1/30 to 20


def doubtful_sizes(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """What lengths in millimetres or inertias in other units than kg m^2 leave behind."""
    review = Review(model, model.source, set())
    fall = math.hypot(*(review.vector(model.gravity) or (0.0,)))
    for unit, factor in (("mm", 1000), ("cm", 100)):
        if abs(fall / factor / _EARTH - 1) < _NEARLY:
            yield ("gravity",), f"free fall of {fall:g} m/s^2 is that of the earth in {unit}", "lengths are in m"
    carried = _carried(model)
    for name, body in model.bodies.items():
        if ("bodies", name) not in model._made:
            yield from _size(review, name, body, carried.get(name, []))


def _size(review: Review, name: str, body: Any, names: list[str]) -> Iterator[tuple[Path, str, str]]:
    """That an inertia stated in the file does not fit where the points of its body are."""
    mass, moment = review.value(body.mass), _largest_moment(review, body.inertia)
    if not (mass and moment and mass > 0 and moment > 0):
        return
    places = [place for point in names if (place := local_point(review, name, point))]
    center = local_point(review, name, "center_of_mass")
    if center is None or not places:
        return
    radius, distance = math.sqrt(moment / mass), max(math.dist(center, place) for place in places)
    if distance > 0 and not _THIN < radius / distance < _WIDE:
        message = f"a radius of gyration of {radius:.3g} m, where a point is {distance:.3g} m from the centre of mass"
        yield ("bodies", name, "inertia"), message, "lengths are in m, masses in kg, inertias in kg m^2"


def _largest_moment(review: Review, given: Any) -> float | None:
    """The largest moment of inertia on the diagonal."""
    if given is None:
        return None
    numbers = [given[i][i] for i in range(3)] if isinstance(given, list) else [given.xx, given.yy, given.zz]
    return max((value for number in numbers if (value := review.value(number)) is not None), default=None)


def _carried(model: ModelFile) -> dict[str, list[str]]:
    """Names of the points on each body."""
    found: dict[str, list[str]] = {}
    for name, point in model.points.items():
        for body in point.bodies if isinstance(point, DesignPoint) else point:
            found.setdefault(body, []).append(name)
    return found
