"""Taking what is invalid out of a file's data, so that the rest can be judged in the same pass."""

from typing import Any

from pydantic import ValidationError

from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path, path_of

_ROUNDS = 8
Broken = set[tuple[str | int, ...]]


def valid_part(data: dict[str, Any], error: ValidationError) -> tuple[ModelFile | None, Broken]:
    """Return the model without its invalid parts, and the items (section, name) or sections that lost some.

    None when what is left makes no model. ``data`` is changed.
    """
    broken: Broken = set()
    for _ in range(_ROUNDS):
        for entry in error.errors(include_url=False, include_context=False):
            path = path_of(entry["loc"])
            broken.add(path[:2])
            inside = path[:-1] if entry["type"] == "missing" else path
            if inside:
                broken.add(inside[:2])  # a section that lacks a key goes as a whole
                _remove(data, inside)
        data["mbsim"] = 1
        try:
            return ModelFile.model_validate(data), broken
        except ValidationError as remaining:
            error = remaining
    return None, broken


def _remove(data: Any, path: Path) -> None:
    # of a list the whole goes: the places of its other entries must not move
    owner: tuple[dict[str, Any], str] | None = None
    below_list = False
    for part in path:
        if isinstance(data, dict):
            if part not in data:
                return  # an earlier error took it out
            owner = owner if below_list else (data, str(part))
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            below_list = True
            data = data[part]
        else:
            break
    if owner is not None:
        owner[0].pop(owner[1], None)
