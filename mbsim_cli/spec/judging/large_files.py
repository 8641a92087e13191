"""What is wrong with very large files: a part of it, section by section, for each error takes a kilobyte or more."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import path_of

MOST = 10_000  # errors that are listed
LARGE = 100_000  # items of all sections: above that they are judged in pieces before they are read
PIECE = 1_000  # items judged at once
Entry = Mapping[str, Any]


def is_large(data: Any) -> bool:
    """Whether errors of the whole file might not fit into memory."""
    return isinstance(data, dict) and sum(len(items) for items in data.values() if isinstance(items, dict)) > LARGE


def first_errors(data: dict[str, Any], classes: dict[int, Any]) -> list[Entry]:
    """The first errors of all sections, as ``ValidationError.errors()`` gives them."""
    return list(islice(_errors(data, classes), MOST))


def _errors(data: dict[str, Any], classes: dict[int, Any]) -> Iterator[Entry]:
    for section, content in data.items():
        cut = isinstance(content, dict) and len(content) > PIECE
        for piece in _pieces(content) if cut else (content,):
            for entry in _errors_of(section, piece, classes):
                path = path_of(entry["loc"])
                absent = entry["type"] == "missing" and len(path) == (2 if cut else 1)  # it may be in another piece
                if path[:1] == (section,) and not absent:
                    yield entry


def _errors_of(section: str, piece: Any, classes: dict[int, Any]) -> list[Any]:
    """Errors of a file that holds nothing but a piece of a section."""
    try:
        ModelFile.model_validate({section: piece}, context=classes)
    except ValidationError as error:
        if error.error_count() <= MOST:
            return error.errors(include_url=False)
        return [{"type": "many", "loc": (section,), "msg": f"more than {MOST} of its entries are wrong"}]
    return []


def _pieces(items: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rest = iter(items.items())
    while piece := dict(islice(rest, PIECE)):
        yield piece
