"""All of a kind that stands in a part of a model file."""

from collections.abc import Iterable, Iterator
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.reading.messages import Path


def walk(value: Any, path: Path, kind: type) -> Iterator[tuple[Path, Any]]:
    """Yield what is of a kind in a part of the file, with its path; nothing is looked for inside of it."""
    if isinstance(value, kind):
        yield path, value
        return
    for key, entry in parts(value):
        if entry is not None and (type(entry) is not str or kind is str):
            yield from walk(entry, (*path, key), kind)


def parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    """What a section, a mapping or a list is made of, with its keys in the file; nothing of anything else."""
    if isinstance(value, Spec):
        fields = type(value).model_fields
        return [(fields[name].alias or name, entry) for name, entry in value.__dict__.items() if name in fields]
    if type(value) is dict:
        return value.items()
    return enumerate(value) if type(value) is list else ()
