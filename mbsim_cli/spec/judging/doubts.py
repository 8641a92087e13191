"""Doubts about a model that is valid: what may stand in a file, and is seldom meant."""

import re
from collections.abc import Iterator
from math import tau
from typing import Any

from mbsim_cli.spec.base import walk
from mbsim_cli.spec.every_number import Path, Place, places
from mbsim_cli.spec.expressions.number import Number, read_by
from mbsim_cli.spec.expressions.syntax import names, parse
from mbsim_cli.spec.expressions.units import has_angle
from mbsim_cli.spec.judging.doubtful_numbers import doubtful_forces, doubtful_sizes
from mbsim_cli.spec.judging.unit_sums import unit_sums
from mbsim_cli.spec.model_file import ModelFile

_DEGREES = re.compile(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)? deg\s*")
_NAMED = {"laws": "law", "roads": "road", "materials": "material", "fields": "field"}  # what acts by its name alone
_NAMING = ("forces", "constraints", "laws", "roads", "analysis")  # and bodies that deform
_OF_ITS_USE = ("checks", "study", "optimization")  # sections of what is done with a model


def doubts_of(model: ModelFile) -> list[str]:
    """Sentences with their places."""
    of_values = (
        *_angles(model),
        *_no_angles(model),
        *_beyond_bounds(model),
        *doubtful_sizes(model),
        *doubtful_forces(model),
    )
    values = (model.source.issue(*doubt) for doubt in of_values)
    of_names = (*_still(model), *_unread(model), *_unused(model))
    return [*map(str, values), *unit_sums(model), *(str(model.source.issue(*doubt, key=True)) for doubt in of_names)]


def doubts_of_values(model: ModelFile) -> list[str]:
    """Those that other values of parameters may cause."""
    return [str(model.source.issue(*doubt)) for doubt in doubtful_forces(model, moved=True)]


def _angles(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """Plain numbers of more than a turn where an angle in radians stands: degrees, most of them."""
    for path, number in _in_radians(model):
        value = number.literal
        if value is not None and abs(value) > tau:
            message = f"{value:g} rad are {abs(value) / tau:.3g} turns"
            yield path, message, f"degrees are written {value:g} deg"


def _in_radians(model: ModelFile) -> Iterator[tuple[Path, Number]]:
    for path, number, unit in _with_units(model):
        if unit == "rad":
            yield path, number


def _no_angles(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """Degrees where a number is in metres, kilograms, seconds."""
    for path, number, unit in _with_units(model):
        if _DEGREES.fullmatch(number.text) and not has_angle(unit):
            yield path, f"a number of degrees stands where the unit is {unit}", "deg is pi/180"


def _with_units(model: ModelFile) -> Iterator[tuple[Path, Number, str]]:
    """Numbers whose unit is known, as the file has them or -p in their place."""
    definitions = model.definitions
    for name, parameter in model.parameters.items():
        if parameter.unit:
            yield ("parameters", name, "value"), definitions[name], parameter.unit
    for place in places(model):
        if place.unit and place.path[:2] not in model._made:
            yield place.path, place.number, "rad" if _limits_an_angle(place) else place.unit


def _limits_an_angle(place: Place) -> bool:
    return place.unit == "m or rad" and ".angle" in (place.holder.get("coordinate") or "")


def _beyond_bounds(model: ModelFile) -> Iterator[tuple[Path, str, None]]:
    """Values in place of the file's, which may go beyond what the file allows itself."""
    for name, parameter in model.parameters.items():
        if name in model._overrides and parameter.bounds is not None:
            value, *bounds = (model.expressions.value(n).real for n in (model.definitions[name], *parameter.bounds))
            if not bounds[0] <= value <= bounds[1]:
                message = f"{value:g}, which stands for it, lies outside the bounds {bounds[0]:g} and {bounds[1]:g}"
                yield ("parameters", name, "value"), message, None


def _still(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """That the model has nothing that could move."""
    if not model.bodies:
        yield (), "the model has no bodies, and nothing moves", "they stand under bodies, or in a table under dh"


def _unread(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """Parameters that nothing reads."""
    if model._places:
        return  # every number is one
    read = {name for number in _numbers(model) for name in names(parse(number.text))}
    read |= {name for _, number in model.moving for name in read_by(number.text, model.parts).names}
    read |= {name for objective in model.objectives.values() for name in names(parse(objective.text, vectors=True))}
    read |= {name for text in model.formulas.values() for name in names(parse(text, vectors=True))}
    read |= {name for field in model.fields.values() if field.value for name in names(parse(field.value, vectors=True))}
    for name in model.parameters:
        if name not in read and ("parameters", name) not in model._made:
            yield ("parameters", name), "nothing reads this parameter", "gradients by it are zero"


def _unused(model: ModelFile) -> Iterator[tuple[Path, str, str]]:
    """Items whose name no place holds where such an item acts."""
    if not any(getattr(model, section) for section in _NAMED):
        return
    flexible = [body.flexible for body in model.bodies.values() if body.flexible is not None]
    places = [flexible, *(getattr(model, section) for section in _NAMING)]
    named = {text for _, text in walk(places, (), str)}
    named |= {law for _, number in model.moving for law in read_by(number.text, model.parts).laws}
    for section, what in _NAMED.items():
        for name in getattr(model, section):
            if name not in named:
                yield (section, name), f"nothing uses this {what}", "it acts where its name stands"


def _numbers(model: ModelFile) -> Iterator[Any]:
    return (number for path, number in model.computed if path[0] not in _OF_ITS_USE)
