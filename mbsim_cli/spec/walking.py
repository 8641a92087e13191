"""All of a kind that stands in a part of a model file."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.reading.messages import Path


def walk(value: Any, path: Path, kind: type) -> Iterator[tuple[Path, Any]]:
    """Yield what is of a kind in a part of the file, with its path."""
    if isinstance(value, kind):
        yield path, value
    elif isinstance(value, Spec):
        for name, entry in value.__dict__.items():
            if entry is not None and (type(entry) is not str or kind is str):
                yield from walk(entry, (*path, type(value).model_fields[name].alias or name), kind)
    elif type(value) is dict:
        for name, entry in value.items():
            yield from walk(entry, (*path, name), kind)
    elif type(value) is list:
        for index, entry in enumerate(value):
            yield from walk(entry, (*path, index), kind)
