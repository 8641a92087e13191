"""Warnings about forces and sizes of valid models that are unusual."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from mbsim_cli.spec.bodies import Cylinder, Rod
from mbsim_cli.spec.expressions.number import Number, is_moving
from mbsim_cli.spec.judging.geometry import local_point
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.quantities import DesignPoint
from mbsim_cli.spec.reading.messages import Path

# Doubts about numbers of forces: signs that no passive element has, elements that exert nothing, lengths not read.
#
# Laws and tables say what they say on purpose. What no tyre, stop or drag can be is refused (``rules.vehicles``),
# and so is an element that states nothing to exert (``rules.forces``).

_NEGATIVE = {
    "stiffness": "it pushes away from the state without force",
    "damping": "it feeds energy in",
    "natural_length": "no length is, so that the element pulls at every length",
}
_OF_POINTS = ("natural_length",)  # a coordinate may be less than zero
_NATURAL = ("natural_length", "natural_angle")


class Doubt(NamedTuple):
    """What is said of a place, as ``Source.issue`` takes it."""

    path: Path
    message: str
    hint: str


def doubtful_forces(model: ModelFile, *, moved: bool = False) -> Iterator[Doubt]:
    """Doubts about forces; of a model that is ``moved`` to other values of parameters those that the values cause."""
    values = model.expressions
    inputs = {name.partition(".")[0] for name in getattr(model.analysis, "inputs", ())}
    for name, force in model.forces.items():
        path = ("forces", name)
        for key, why in _NEGATIVE.items():
            if key in _OF_POINTS and getattr(force, "points", None) is None:
                continue
            for number in _entries(force, key):
                judged = (not moved or number.literal is None) and not is_moving(number, values)
                if judged and (value := values.value(number).real) < 0:
                    yield Doubt((*path, key), f"is negative: {value:g}", why)
        if not moved:
            if name not in inputs:
                yield from _idle(path, force)
            yield from _unread(path, force)


IDLE = "leave it out, unless it is an input of mbsim linearize"


def _idle(path: Path, force: Any) -> Iterator[Doubt]:
    """That an element exerts nothing, however it moves; a zero that parameters make may be where a study begins."""
    sources, factors = force.sources, force.factors
    if any(getattr(force, key, None) is not None for key in force.added_laws):
        return
    zeros = {key for key in (*sources, *factors) if all(n.literal == 0.0 for n in _entries(force, key))}
    if zeros and (not zeros.isdisjoint(factors) or zeros.issuperset(sources)):
        shown = [key for key in (*factors, *sources) if key in zeros and key in force.model_fields_set]
        yield Doubt(path, f"exerts nothing with zero {' and '.join(shown)}", IDLE)


def _unread(path: Path, force: Any) -> Iterator[Doubt]:
    """Natural lengths and angles that nothing counts from."""
    given = force.model_fields_set
    for key in _NATURAL:
        if key in given and given.isdisjoint(("stiffness", "elongation_law")):
            yield Doubt((*path, key), "nothing reads it", "it belongs to a stiffness or an elongation_law")


def _entries(force: Any, key: str) -> list[Number]:
    found = getattr(force, key, None)
    if isinstance(found, list):
        return [number for entry in found for number in (entry if isinstance(entry, list) else [entry])]
    return [found] if isinstance(found, Number) else []


# Doubts about units: free fall in millimetres, and inertias that belong to bodies of quite another size.

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
            yield from _beside(review, name, body, carried.get(name, []))


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


def _beside(review: Review, name: str, body: Any, names: list[str]) -> Iterator[tuple[Path, str, str]]:
    """That a rod or cylinder by default lies along an axis on which the body goes another way."""
    shape = body.shape
    if not isinstance(shape, (Rod, Cylinder)) or shape.center is not None or body.center_of_mass is not None:
        return
    places = {point: place for point in names if (place := local_point(review, name, point)) and any(place)}
    along = "xyz".index(shape.axis)
    if places and all(place[along] <= 0 for place in places.values()):
        point, place = next(iter(places.items()))
        stands = ", ".join(f"{entry:g}" for entry in place)
        message = f"this {shape.type} lies from the origin along {shape.axis}, but point {point} is at [{stands}]"
        yield ("bodies", name, "shape"), message, "axis and center say where it lies"


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
