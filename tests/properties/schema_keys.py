"""Every key that a model file may hold, taken from the classes that read it."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from mbsim_cli.spec.base import Later, Spec
from mbsim_cli.spec.model_file import ModelFile

Key = tuple[str, str]  # class that reads a mapping, key in it


def name_of(cls: type[Spec]) -> str:
    """Name of a class, with its file: sensors and constraints share some."""
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"


def every_class() -> set[type[Spec]]:
    """Classes that read any part of a model file."""
    found: set[type[Spec]] = set()
    waiting: list[type[Spec]] = [ModelFile]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found.add(cls)
            for field in cls.model_fields.values():
                waiting += [part for part in parts(field) if isinstance(part, type) and issubclass(part, Spec)]
    return found


def every_key() -> set[Key]:
    """Keys of all classes."""
    return {(name_of(cls), field.alias or name) for cls in every_class() for name, field in cls.model_fields.items()}


def field_of(cls: type[Spec], key: str) -> Any:
    """The field that a key fills."""
    return next(field for name, field in cls.model_fields.items() if (field.alias or name) == key)


def choices(field: Any) -> list[Any]:
    """Values that a field offers for a choice; none where it offers any."""
    return [choice for part in parts(field) if get_origin(part) is Literal for choice in get_args(part)]


def parts(field: Any) -> Iterator[Any]:
    """Types and metadata that a field's annotation is made of."""
    waiting = [field.annotation, *field.metadata]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [part.kind] if isinstance(part, Later) else []
        waiting += [] if get_origin(part) is Literal else get_args(part)
