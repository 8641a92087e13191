"""JSON Schema of the model file, for editors; ``schemas/model.schema.json`` is this, written out."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Annotated, Any

from pydantic.json_schema import GenerateJsonSchema

from mbsim_cli.spec.base import ByKind, field
from mbsim_cli.spec.expressions.number import Number, Pair
from mbsim_cli.spec.model_file import SECTIONS, ModelFile, Sections

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


_Named = dict[str, dict[str, Number] | None]


class Repetition(Sections):
    """Sections that stand for as many items as there are instances; {i} in a text or key is replaced."""

    for_: dict[str, Annotated[Pair[Number] | _Named, ByKind()]] = field(
        "Instances: [first, last], or names with values; of several entries the last runs fastest.",
        {"i": [1, "n"]},
        {"side": {"left": {"sy": 1}, "right": {"sy": -1}}},
        alias="for",
        min_length=1,
    )
    with_: dict[str, Number] = field(
        "Further values of an instance: numbers, formulas or texts.", {"before": "link_{i-1}"}, alias="with", default={}
    )
    first: dict[str, Any] = field(
        "Laid over the first instance: 'with' and sections.", {"with": {"before": "ground"}}, default={}
    )
    last: dict[str, Any] = field(
        "Laid over the last instance: 'with' and sections.", {"bodies": {"link_{i}": {"mass": 2}}}, default={}
    )
    repeat: dict[str, "Repetition"] = field(
        "Blocks that are repeated in each instance.",
        {"toes": {"for": {"j": [1, 3]}, "points": {"toe_{i}_{j}": {"foot_{i}": ["j/10", 0, 0]}}}},
        default={},
    )


class _Written(ModelFile):
    __doc__ = ModelFile.__doc__
    repeat: dict[str, Repetition] = ModelFile.model_fields["repeat"]  # type: ignore[assignment]


class _Sorted(GenerateJsonSchema):
    """Keys in alphabetical order, but those of examples as one writes them."""

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """Sort a part of the schema; fields keep their order, but ``type`` is the first and free text the last."""
        if isinstance(value, list):
            return [self.sort(entry, parent_key) for entry in value]
        if not isinstance(value, dict) or parent_key in ("examples", "default"):
            return value
        in_order = (lambda name: (name == "description") - (name == "type")) if parent_key == "properties" else None
        names = sorted(value, key=in_order)
        return {name: self.sort(value[name], None if parent_key == "properties" else name) for name in names}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the model file."""
    whole = written_out()
    return {"$schema": _DRAFT, **whole, **_with_halves(whole)}


def written_out() -> dict[str, Any]:
    """The schema of a file without blocks and includes, where each item states all the keys that it needs."""
    return _plain(_Written.model_json_schema(by_alias=True, schema_generator=_Sorted))


def _with_halves(whole: dict[str, Any]) -> dict[str, Any]:
    """Let items state a part of their keys in blocks, and where blocks or other files may state the rest.

    The keys of an item are asked for where it is referred to; returns the condition for those of sections.
    """
    definitions = whole["$defs"]
    required = {f"#/$defs/{name}": entry.pop("required", []) for name, entry in definitions.items()}
    block = definitions[Repetition.__name__]
    block["required"] = required.pop(f"#/$defs/{Repetition.__name__}")
    own = {name: deepcopy(whole["properties"][name]["additionalProperties"]) for name in SECTIONS}
    sections = [place["properties"][name] for name in SECTIONS for place in (block, whole)]
    items = [section["additionalProperties"] for section in sections]
    halves = {id(reference) for each in items for reference in each.get("anyOf", [each])}
    for reference in _references([whole, own]):
        if id(reference) not in halves and required.get(reference["$ref"]):
            reference["required"] = required[reference["$ref"]]
    elsewhere = [{"required": [name]} for name in ("include", "repeat")]
    entire = {name: {"additionalProperties": items} for name, items in own.items()}
    return {"if": {"anyOf": elsewhere}, "else": {"properties": entire}}


def _references(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part
        part = list(part.values())
    for entry in part if isinstance(part, list) else ():
        yield from _references(entry)


def _plain(part: Any) -> Any:
    # members of a union may overlap for a schema that are told apart by their content: anyOf, not oneOf
    if isinstance(part, dict):
        part = {("anyOf" if key == "oneOf" else key): _plain(entry) for key, entry in part.items()}
        names, nothing = [key for key in ("title",) if isinstance(part.get(key), str)], ("default", None)
        return {key: entry for key, entry in part.items() if key not in names and (key, entry) != nothing}
    return [_plain(entry) for entry in part] if isinstance(part, list) else part
