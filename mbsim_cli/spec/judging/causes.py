"""Root causes: what is wrong first, and makes much else look wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from mbsim_cli.errors import Issue
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, keys_of, path_of
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.reading.suggestions import nearest

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
