"""Free texts for the reader, with the places that they describe."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path


def descriptions_of(model: ModelFile) -> Iterator[tuple[Path, str]]:
    """Yield every description with the path of what it describes; that of the model itself stands at ()."""
    return _walk(model, ())


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Spec):
        if text := getattr(value, "description", None):
            yield path, text
        for name in type(value).model_fields:
            yield from _walk(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _walk(entry, (*path, name))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _walk(entry, (*path, index))
