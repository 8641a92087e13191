"""Causes of many faults at once, and faults of large files."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError

from mbsim_cli.errors import Issue
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, keys_of, path_of
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.reading.suggestions import nearest

# Root causes: what is wrong first, and makes much else look wrong.

OWN = "x-"  # what sections of the user's own begin with


def leave_out_own_sections(source: Source) -> None:
    """Drop the sections that are the user's own: places for anchors."""
    root = source.root
    if root is not None:
        root.value = {key: node for key, node in root.value.items() if not key.startswith(OWN)}


def rename_sections(source: Source) -> list[Issue]:
    """Give misspelt sections the names that they were meant to have, and report them.

    Everything that names what they hold would be wrong, too.
    """
    root = source.root
    issues: list[Issue] = []
    if root is None:
        return issues
    sections = [field.alias or name for name, field in ModelFile.model_fields.items()]
    for key in [key for key in root.value if key not in sections]:
        meant = nearest(key, sections)
        if meant is not None and meant not in root.value:
            issues.append(source.issue((key,), f"unknown key {key!r}", f"did you mean {meant!r}?", key=True))
            root.value[meant] = root.value.pop(key)
    return issues


def consequences(entries: Sequence[Mapping[str, Any]], classes: Mapping[int, Any], data: Any) -> list[int]:
    """Numbers of the entries of a validation error that follow from others: keys that are missing, being misspelt."""
    meant: set[Path] = set()
    for entry in entries:
        if entry["type"] == "extra_forbidden":
            *place, key = path_of(entry["loc"])
            known, given = keys_of(classes, data, tuple(place))
            match = nearest(str(key), [name for name in known if name not in given])
            meant |= {(*place, match)} if match is not None else set()
    return [
        number for number, entry in enumerate(entries) if entry["type"] == "missing" and path_of(entry["loc"]) in meant
    ]


# What is wrong with very large files: a part of it, section by section, for each error takes a kilobyte or more.

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
