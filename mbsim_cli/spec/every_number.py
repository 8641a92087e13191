"""Every number of a model as a parameter, named by its path in the file.

What stands in a place becomes the name of a new parameter, which is defined by what stood there: a number, or an
expression, whose names pass their own influence on. So a derivative by a place is that of the place alone. A place
where nothing but a name stands is no number: what the name stands for is one.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.expressions.number import Expression, Number
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.quantities import Parameter
from mbsim_cli.spec.reading.source import join

SECTIONS = (
    "gravity", "points", "vectors", "materials", "fields", "bodies", "joints", "dh", "constraints", "laws", "roads",
    "forces", "sensors", "objectives",
)  # fmt: skip
TOGETHER = ("rotation_matrix",)  # entries that make sense together only
_UNIT = re.compile(r"\[([^\]]+)\]")
Path = tuple[str | int, ...]


class Place(NamedTuple):
    """A number where it stands: ``holder[key]`` is it."""

    path: Path
    holder: Any
    key: Any
    number: Number
    unit: str


def name_numbers(model: ModelFile) -> None:
    """Put a parameter in the place of every number that the physics reads; constants become parameters."""
    for name in list(model.constants):
        model.parameters[name] = Parameter(value=model.constants.pop(name))
    taken = {*model.parameters, *model.sensors, *model.objectives}
    count = 0
    for place in list(places(model)):
        while (name := f"number_{count}") in taken:
            count += 1
        count += 1
        model.parameters[name] = Parameter.model_construct(value=place.number, unit=place.unit)
        place.holder[place.key] = Number(name)
        model._places[name] = _shown(place)
        model.source.stands_at[("parameters", name)] = place.path
    model.__dict__.pop("expressions", None)  # overrides were judged by those without these parameters


def places(model: ModelFile) -> Iterator[Place]:
    for section in SECTIONS:
        if section in model.model_fields_set:
            yield from _within(model.__dict__, section, (section,), "m/s^2" if section == "gravity" else "")


def _within(holder: Any, key: Any, path: Path, unit: str) -> Iterator[Place]:
    """Places of an entry; what the file leaves out has none."""
    value = holder[key]
    if isinstance(value, Number):
        if value.plain_name is None and not (isinstance(value, Expression) and value.literal is None):
            yield Place(path, holder, key, value, unit)
    elif isinstance(value, Spec):
        for name, known in type(value).model_fields.items():
            if name in value.model_fields_set and name not in TOGETHER:
                found = _UNIT.search(known.description or "")
                yield from _within(value.__dict__, name, (*path, known.alias or name), found[1] if found else unit)
    elif type(value) is dict:
        for name in value:
            yield from _within(value, name, (*path, name), unit or _of_section(path))
    elif type(value) is list:
        for index in range(len(value)):
            yield from _within(value, index, (*path, index), unit)


def _of_section(path: Path) -> str:
    return {"points": "m", "vectors": "1"}.get(str(path[0]), "")


def _shown(place: Place) -> str:
    """The path with letters for the components of a vector."""
    last = place.path[-1]
    if isinstance(last, int) and len(place.holder) == 3 and not isinstance(place.path[-2], int):
        return join((*place.path[:-1], "xyz"[last]))
    return join(place.path)
