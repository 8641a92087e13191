"""JSON Schema of the model file, for editors; ``schemas/model.schema.json`` is this, written out."""

from typing import Any

from mbsim_cli.spec.model_file import ModelFile

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the model file."""
    return {"$schema": _DRAFT, **_plain(ModelFile.model_json_schema(by_alias=True))}


def _plain(part: Any) -> Any:
    # members of a union may overlap for a schema that are told apart by their content: anyOf, not oneOf
    if isinstance(part, dict):
        part = {("anyOf" if key == "oneOf" else key): _plain(entry) for key, entry in part.items()}
        return {key: entry for key, entry in part.items() if not _noise(key, entry)}
    return [_plain(entry) for entry in part] if isinstance(part, list) else part


def _noise(key: str, entry: Any) -> bool:
    return (key == "title" and isinstance(entry, str)) or (key == "default" and entry is None)
