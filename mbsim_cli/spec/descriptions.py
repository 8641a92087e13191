"""Free texts for the reader, with the places that they describe."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.base import Spec, parts
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path


def descriptions_of(model: ModelFile) -> Iterator[tuple[Path, str]]:
    """Yield every description with the path of what it describes; that of the model itself stands at ()."""
    return _below(model, ())


def _below(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Spec) and (text := getattr(value, "description", None)):
        yield path, text
    for key, entry in parts(value):
        yield from _below(entry, (*path, key))
