"""``mbsim explain``: what a key of the model file means, from the schema; what a code of a message stands for."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.output import emit, plain_table, show_table, tell
from mbsim_cli.errors import UsageError

Key = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY|CODE]",
        help="Key, as joints.revolute.axis, or code of a message, as MB106; without it, all sections.",
        show_default=False,
        autocompletion=completion.keys,
    ),
]
CODE = re.compile(r"MB\d+", re.IGNORECASE)
MOST_PLACES = 20  # that a word is listed with

Part = dict[str, Any]


def command(key: Key = None, json: options.Json = False) -> None:
    """Explain a key of the model file, or a message by its code."""
    if CODE.fullmatch(key or ""):
        _message(key or "", json)
        return
    from mbsim_cli.spec.schema import written_out

    found = explain(written_out(), key or "")
    if json:
        emit(found)
    else:
        _print(found)


def _message(code: str, json: bool) -> None:
    """Cause, cure and an example of a kind of message."""
    from mbsim_cli.messages import report

    found = report(code)
    if found is None:
        raise UsageError(f"there is no message {code!r}; docs/messages.md lists all")
    if json:
        emit(found)
        return
    tell(f"{found['code']}: {found['title']}")
    for part in ("cause", "cure", "example"):
        tell(f"{part}: {found[part]}")


def explain(whole: Part, key: str) -> Part:
    """Describe a key: meaning, type, examples, and the keys below it.

    A key is a path of sections, types and keys joined by dots; names that users give are left out or stand for
    themselves (``bodies.crank.mass`` is ``bodies.mass``). A single word that is no section is looked up everywhere.
    Raises UsageError for an unknown key.
    """
    words = [word for word in key.split(".") if word]
    if len(words) == 1 and words[0] not in whole["properties"]:
        standing = sorted({place for place in places(whole) if place.rsplit(".", 1)[-1] == words[0]})
        if len(standing) == 1:
            return explain(whole, standing[0])
        if standing:
            return {"key": key, "places": standing}
        known = {word for place in places(whole) for word in place.split(".")}
        raise UsageError(_unknown(words[0], known))
    parts, required = [whole], False
    for word in words:
        found = [step for part in parts for step in _step(whole, part, word)]
        if not found:
            # a name that the user gave, as of a body
            named = [inner for part in parts for inner in _named(whole, part)]
            if word == words[-1] or not named:
                known = {name for part in parts for name in _below(whole, part)}
                raise UsageError(_unknown(word, known))
            found = [(part, False) for part in named]
        parts = [part for part, _ in found]
        required = any(must for _, must in found)
    return _report(whole, key, parts, required)


def _unknown(word: str, known: set[str]) -> str:
    from mbsim_cli.spec.reading.suggestions import suggest

    hint = suggest(word, known)
    return f"unknown key {word!r}; {hint or 'mbsim explain lists the sections'}"


def _resolved(whole: Part, part: Part) -> list[Part]:
    """The alternatives of a part of the schema, references followed."""
    if "anyOf" in part:
        inner = [entry for choice in part["anyOf"] for entry in _resolved(whole, choice)]
        own = {name: part[name] for name in ("description", "examples") if name in part}
        return [own | entry if "properties" not in entry else entry for entry in inner if entry.get("type") != "null"]
    if "$ref" in part:
        definition = whole["$defs"][part["$ref"].rsplit("/", 1)[1]]
        more = {name: value for name, value in part.items() if name == "required"}
        return [{**entry, **more} for entry in _resolved(whole, definition)]
    return [part]


def _named(whole: Part, part: Part) -> list[Part]:
    """Schemas of the entries whose names the user chooses."""
    return [
        inner
        for entry in _resolved(whole, part)
        if isinstance(entry.get("additionalProperties"), dict)
        for inner in _resolved(whole, entry["additionalProperties"])
    ]


def _types_of(part: Part) -> list[str]:
    """Values of ``type`` that choose this alternative."""
    stated = part.get("properties", {}).get("type", {})
    return [stated["const"]] if "const" in stated else list(stated.get("enum", ()))


def _step(whole: Part, part: Part, word: str) -> list[tuple[Part, bool]]:
    """Schemas that a word selects, by key or by type; each with whether the key is required."""
    found = []
    for entry in _resolved(whole, part):
        if word in entry.get("properties", {}):
            found.append((entry["properties"][word], word in entry.get("required", ())))
    if not found:
        for inner in [*_named(whole, part), *_resolved(whole, part)]:
            if word in _types_of(inner):
                found.append((inner, False))
    if not found:
        for inner in _named(whole, part):
            if word in inner.get("properties", {}):
                found.append((inner["properties"][word], word in inner.get("required", ())))
    return found


def _below(whole: Part, part: Part) -> Iterator[str]:
    """Words that may follow."""
    for inner in [*_resolved(whole, part), *_named(whole, part)]:
        yield from inner.get("properties", {})
        yield from _types_of(inner)


def places(whole: Part) -> Iterator[str]:
    """All keys as paths of section, type and key."""
    for section, part in whole["properties"].items():
        yield section
        for inner in [*_named(whole, part), *(e for e in _resolved(whole, part) if "properties" in e)]:
            types = _types_of(inner)
            stem = f"{section}.{types[0]}" if types else section
            if types:
                yield stem
            for name in inner.get("properties", {}):
                yield f"{stem}.{name}"


def _report(whole: Part, key: str, parts: list[Part], required: bool) -> Part:
    texts = list(dict.fromkeys(part["description"] for part in parts if "description" in part))
    alternatives = [entry for part in parts for entry in _resolved(whole, part)]
    named = [inner for part in parts for inner in _named(whole, part)]
    kinds = [inner for inner in (*named, *alternatives) if _types_of(inner)]
    report: Part = {"key": key, "description": texts, "required": required}
    if values := [_kind(entry) for entry in alternatives if "properties" not in entry and not named]:
        report["value"] = list(dict.fromkeys(filter(None, values)))
    if default := [part["default"] for part in parts if "default" in part]:
        report["default"] = default[0]
    examples = [example for part in parts for example in part.get("examples", ())]
    report["examples"] = [example for n, example in enumerate(examples) if example not in examples[:n]]
    if len(kinds) > 1:
        report["types"] = {name: kind.get("description", "") for kind in kinds for name in _types_of(kind)}
    else:
        inner = next((entry for entry in (*alternatives, *named) if "properties" in entry), None)
        if inner is not None:
            must = inner.get("required", ())
            report["keys"] = {
                name: {"description": _described(whole, entry), "required": name in must}
                for name, entry in inner["properties"].items()
            }
    return report


def _described(whole: Part, part: Part) -> str:
    return part.get("description") or next((e.get("description", "") for e in _resolved(whole, part)), "")


def _kind(part: Part) -> str:
    """Kind of a value, in words."""
    if "enum" in part:
        return "one of " + ", ".join(map(str, part["enum"]))
    if "const" in part:
        return str(part["const"])
    kind = part.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_kind({"type": entry}) for entry in kind)
    words = {"array": "list", "object": "mapping", "boolean": "true or false", "string": "text"}
    return words.get(kind, str(kind))


def _print(found: Part) -> None:
    if "places" in found:
        tell(f"{found['key']} is a key of several things; mbsim explain one of")
        for place in found["places"][:MOST_PLACES]:
            tell(f"  {place}")
        if len(found["places"]) > MOST_PLACES:
            tell(f"  and {len(found['places']) - MOST_PLACES} more")
        return
    if found["key"]:
        tell(f"{found['key']}{' (required)' if found['required'] else ''}: {' '.join(found['description'])}")
    if found.get("value"):
        tell(f"value: {', or '.join(found['value'])}")
    if "default" in found:
        tell(f"default: {_text(found['default'])}")
    if found["examples"] and found["key"]:
        tell("example:" if len(found["examples"]) == 1 else "examples:")
        for example in found["examples"]:
            for line in example_lines(found["key"].rsplit(".", 1)[-1], example):
                tell(f"  {line}")
    if "types" in found:
        show_table(plain_table(("type", "meaning"), found["types"].items()))
    elif "keys" in found:
        rows = [(name, "yes" * entry["required"], entry["description"]) for name, entry in found["keys"].items()]
        show_table(plain_table(("key", "required", "meaning"), rows))


def example_lines(name: str, example: Any) -> list[str]:
    """An example as one writes it in a file."""
    if isinstance(example, dict):
        return [f"{name}:", *(f"  {key}: {_text(value)}" for key, value in example.items())]
    return [f"{name}: {_text(example)}"]


def _text(value: Any) -> str:
    """A value in YAML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    text = str(value)
    return f'"{text}"' if isinstance(value, str) and any(mark in text for mark in ",:{}[]#") else text
