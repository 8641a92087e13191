"""Numbers, texts and choices of a model file, each with values that it might have instead."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mbsim_cli import spec
from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.expressions.number import Formula, Number, _Auto
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.nodes import read_nodes
from tests.properties.schema_keys import Key, choices, field_of, name_of, parts

MODELS = Path(__file__).parent / "models"
FREE_TEXTS = ("description", "unit", "source", "name")
LENGTHS_OF_TIME = ("duration", "output_interval", "sampling")  # rounded to whole steps
UNUSED = {"spare", "other"}  # points, vectors and laws of the files that are there to stand in the place of others
BY_NAME = ("laws", "roads")  # whose entries do nothing unless something names them
SPARE = ("spare", "other", "plinth", "other.csv", "s_2", "F", "all", "angle", "angle_2", "displacement", "x", "y", "e3")
OF_BODIES = ("spare", "origin", "center_of_mass", "x")


@dataclass(frozen=True)
class Leaf:
    """A scalar of a file: where it stands, what it is, and the class and key that it belongs to."""

    path: tuple[Any, ...]
    value: Any
    owner: type[Spec]
    key: str
    place: str  # class of the owner and those above it

    @property
    def known_as(self) -> Key:
        """Class and key."""
        return name_of(self.owner), self.key


class Base:
    """A model file whose scalars are changed one at a time."""

    def __init__(self, path: Path):
        self.path = path
        node = read_nodes(path.read_bytes(), str(path))[0]
        self.data: Any = node.data() if node else {}

    def load(self, data: Any = None) -> ModelFile:
        """The model, or what becomes of it with other data."""
        text = json.dumps(self.data if data is None else data)
        return spec.load(self.path, texts={str(self.path): text})

    def changed(self, leaf: Leaf, value: Any) -> Any:
        """The data with another value at a leaf."""
        return with_value(self.data, leaf.path, value)

    def without(self, path: tuple[Any, ...]) -> Any:
        """The data without a key."""
        data = copy.deepcopy(self.data)
        del _at(data, path[:-1])[path[-1]]
        return data

    @cached_property
    def _classes(self) -> dict[int, type[Spec]]:
        classes: dict[int, type[Spec]] = {id(self.data): ModelFile}
        ModelFile.model_validate(self.data, context=classes)
        return classes

    @cached_property
    def leaves(self) -> list[Leaf]:
        """All scalars."""
        found = _leaves(self.data, (), self._classes, (), ("", ""))
        return [leaf for leaf in found if not UNUSED & set(leaf.path)]

    @cached_property
    def keys(self) -> set[Key]:
        """All keys with the classes that read them."""
        return set(_keys(self.data, self._classes))

    def uses(self, leaf: Leaf) -> bool:
        """Whether a leaf is of something that acts by itself, or that such a thing names."""
        if "bounds" in leaf.path and leaf.path[0] == "fields":  # an optimization keeps to them
            return any(leaf.path[1] in given.get("fields", ()) for given in self.data.get("optimization", {}).values())
        return leaf.path[0] not in BY_NAME or leaf.path[1] in self._named()

    def _named(self) -> set[Any]:
        """What stands in things that act by themselves, and in what they name."""
        told = [leaf for leaf in self.leaves if leaf.key != "description"]
        found: set[Any] = set()
        more = {leaf.value for leaf in told if leaf.path[0] not in BY_NAME}
        while more - found:
            found |= more
            more = {leaf.value for leaf in told if leaf.path[0] in BY_NAME and leaf.path[1] in found}
        return found

    def alternatives(self, leaf: Leaf) -> Iterator[Any]:
        """Values that may stand at a leaf instead, likely ones first."""
        value, field = leaf.value, field_of(leaf.owner, leaf.key)
        if isinstance(value, bool):
            yield not value
        elif leaf.key == "type":
            yield "nothing"
        elif leaf.key == "unit":
            yield "cd"
        elif leaf.key in FREE_TEXTS:
            yield f"{value}_2"
        elif value in choices(field):
            others = (choice for choice in choices(field) if choice != value)
            yield from sorted(others, key=lambda choice: choice == "auto")  # which may stand for the value
        elif isinstance(value, int | float):
            yield from _numbers(value, leaf.key, whole=int in parts(field))
        elif value == "auto":
            yield 0.37
        elif is_number(field) or Formula in parts(field):
            yield f"1.01*({value})"
        else:
            yield from self._names(leaf)

    @cached_property
    def _coordinates(self) -> list[str]:
        return [
            f"{name}.{coordinate}" for name, joint in self.load().joints.items() for coordinate in joint.coordinates
        ]

    def _names(self, leaf: Leaf) -> list[str]:
        near = [other.value for other in self.leaves if other.key == leaf.key and isinstance(other.value, str)]
        body, dot, _ = leaf.value.partition(".")
        if leaf.value in self._coordinates:
            likely = self._coordinates
        elif dot and body in ("ground", *self.load().bodies):
            likely = [f"{body}.{name}" for name in OF_BODIES] + near
        else:
            sections = [section for section in self.data.values() if isinstance(section, dict)]
            own = [section for section in sections if leaf.value in section]  # no others hold what may stand here
            likely = [*near, *(name for section in own for name in section), *SPARE]
            likely += [] if own else [name for section in sections for name in section]
        return [name for name in dict.fromkeys(likely) if name != leaf.value]


def with_value(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the data with another value at a path."""
    if not path:
        return value
    copied = copy.copy(data)
    copied[path[0]] = with_value(data[path[0]], path[1:], value)
    return copied


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


def _numbers(value: float, key: str, *, whole: bool) -> list[float]:
    if whole:
        return [value + 1]
    if key in LENGTHS_OF_TIME:
        return [2 * value, value / 2]
    return [1.01 * value, 0.99 * value, -value, value + 0.5, value - 0.5] if value else [0.07, -0.07]


def is_number(field: Any) -> bool:
    return any(part is Number or isinstance(part, _Auto) or part is _Auto for part in parts(field))


def _leaves(value: Any, path: tuple, classes: dict, above: tuple[str, ...], within: tuple) -> Iterator[Leaf]:
    if isinstance(value, dict):
        cls = classes.get(id(value))
        above = (*above, name_of(cls)) if cls else above
        for key, entry in value.items():
            inside = (cls, key) if cls else within
            yield from _leaves(entry, (*path, key), classes, above, inside)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _leaves(entry, (*path, index), classes, above, within)
    elif value is not None:
        yield Leaf(path, value, *within, " ".join(above[-2:]))


def _keys(value: Any, classes: dict) -> Iterator[Key]:
    if isinstance(value, dict):
        if id(value) in classes:
            yield from ((name_of(classes[id(value)]), key) for key in value)
        value = list(value.values())
    for entry in value if isinstance(value, list) else ():
        yield from _keys(entry, classes)


BASES = {path.stem: Base(path) for path in sorted(MODELS.glob("*.yaml"))}
