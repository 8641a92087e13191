"""``mbsim explain``: the meaning of keys of the model file, from the schema, and of codes of messages."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.output import print_report, show_table, tell
from mbsim_cli.errors import UsageError
from mbsim_cli.messages import KINDS

Key = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY|CODE]",
        help="Key or type, as joints.revolute.axis, or code of a message, as MB106; without it, all sections.",
        show_default=False,
        autocompletion=completion.keys,
    ),
]
CODE = re.compile(r"MB\d+", re.IGNORECASE)
MOST_PLACES = 20  # listed for a word
WIDTH = 100  # characters in a line of an example

Part = dict[str, Any]


def command(key: Key = None, json: options.Json = False) -> None:
    """Explain a key or type of the model file, or a message."""
    if not CODE.fullmatch(key or ""):
        from mbsim_cli.spec.schema import written_out

        return print_report(explain(written_out(), key or ""), json, _print)
    if (kind := KINDS.get((key or "").upper())) is None:
        raise UsageError(f"there is no message {key!r}; docs/messages.md lists all")
    parts = ("code", "title", "cause", "cure", "example")
    print_report({part: getattr(kind, part) for part in parts}, json, _print_message)


def _print_message(kind: dict[str, str]) -> None:
    tell(f"{kind['code']}: {kind['title']}")
    for part in ("cause", "cure", "example"):
        tell(f"{part}: {kind[part]}")


def explain(whole: Part, key: str) -> Part:
    """Describe a key or type: meaning, kind of value, examples from a model file, and the keys below it.

    A key is a path of sections, types and keys joined by dots. Names that users choose are optional:
    ``bodies.crank.mass`` means ``bodies.mass``. A single word that is no section is searched in the whole schema.
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
        raise UsageError(_unknown(words[0], known, []))
    parts, required, above = [whole], False, [whole]
    for place, word in enumerate(words):
        found = [step for part in parts for step in _step(whole, part, word)]
        if not found:
            # a name that the user gave, as of a body
            named = [inner for part in parts for inner in _named(whole, part)]
            if word == words[-1] or not named:
                inners = [inner for part in parts for inner in (*_resolved(whole, part), *_named(whole, part))]
                known = {name for inner in inners for name in (*inner.get("properties", {}), *_types_of(inner))}
                raise UsageError(_unknown(word, known, words[:place]))
            found = [(part, False) for part in named]
        above, parts = parts, [part for part, _ in found]
        required = any(must for _, must in found)
    report = _report(whole, key, parts, required)
    report["examples"] = [_in_its_place(whole, words, above, example) for example in report["examples"]]
    return report


def _in_its_place(whole: Part, words: list[str], above: list[Part], example: Any) -> Any:
    """An example under the key that contains it, or under a name in its section."""
    if not words:
        return example
    named = [kind for part in above for inner in _named(whole, part) for kind in _types_of(inner)]
    if words[-1] in named:
        return {words[-2]: {"NAME": example}}
    types = [kind for part in above for inner in _resolved(whole, part) for kind in _types_of(inner)]
    return {words[-2] if words[-1] in types and isinstance(example, dict) else words[-1]: example}


def _unknown(word: str, known: set[str], above: list[str]) -> str:
    """A sentence that suggests a known word: one that contains the given word, or else a similar one."""
    from mbsim_cli.spec.reading.messages import nearest

    parts = sorted(name for name in known if word in name.split("_"))
    match = parts[0] if parts else nearest(word, known)
    hint = f"did you mean {match!r}?" if match else f"mbsim explain {'.'.join(above)}".rstrip() + " lists what there is"
    return f"unknown key {word!r}; {hint}"


def _resolved(whole: Part, part: Part) -> list[Part]:
    """The alternatives of a part of the schema, with references resolved."""
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


def _listed(whole: Part, part: Part) -> list[Part]:
    """Schemas of the entries of a list that are mappings."""
    lists = [entry["items"] for entry in _resolved(whole, part) if isinstance(entry.get("items"), dict)]
    return [inner for items in lists for inner in _resolved(whole, items) if "properties" in inner]


def _types_of(part: Part) -> list[str]:
    """Values of ``type`` that select this alternative."""
    stated = part.get("properties", {}).get("type", {})
    return [stated["const"]] if "const" in stated else list(stated.get("enum", ()))


def _step(whole: Part, part: Part, word: str) -> list[tuple[Part, bool]]:
    """Schemas that a word selects, by key or by type; each with whether the key is required."""
    own, named = _resolved(whole, part), _named(whole, part)
    choices = named if len(own) == 1 else [*own, *named]  # a single alternative is selected: the word may be its key
    if found := [(inner, False) for inner in choices if word in _types_of(inner)]:
        return found
    for inners in (own, named, _listed(whole, part)):
        having = [inner for inner in inners if word in inner.get("properties", {})]
        if having:
            return [(inner["properties"][word], word in inner.get("required", ())) for inner in having]
    return []


def places(whole: Part) -> Iterator[str]:
    """All keys and types as paths, each at its shortest path."""
    waiting, seen = deque(whole["properties"].items()), set()
    while waiting:
        path, part = waiting.popleft()
        yield path
        for inner in [*_named(whole, part), *_resolved(whole, part), *_listed(whole, part)]:
            below = inner.get("properties", {})
            if id(below) not in seen:
                seen.add(id(below))
                stem = ".".join([path, *_types_of(inner)])
                if stem != path:
                    yield stem
                waiting.extend((f"{stem}.{name}", entry) for name, entry in below.items())


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
        forms = [entry for entry in alternatives if "properties" in entry]
        forms = forms or [entry for entry in named if "properties" in entry][:1]
        musts = list(dict.fromkeys(tuple(form.get("required", ())) for form in forms))
        if len(musts) > 1 and all(musts):
            report["forms"] = list(map(list, musts))
        if forms:
            report["keys"] = {}
        for name, entry in ((name, entry) for form in forms for name, entry in form["properties"].items()):
            text = next((part.get("description", "") for part in _resolved(whole, entry)), "")
            must = all(name in form.get("required", ()) for form in forms)
            report["keys"].setdefault(name, {"description": entry.get("description") or text, "required": must})
    return report


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
            for line in example_lines(example):
                tell(f"  {line}")
    if "forms" in found:
        tell(f"one of several forms, by their required keys: {'; '.join(map(', '.join, found['forms']))}")
    if "types" in found:
        show_table(("type", "meaning"), found["types"].items())
    elif "keys" in found:
        rows = [(name, "yes" * entry["required"], entry["description"]) for name, entry in found["keys"].items()]
        show_table(("key", "required", "meaning"), rows)


def example_lines(example: Part, indent: str = "") -> list[str]:
    """An example as the text of a model file."""
    lines = []
    for key, value in example.items():
        line = f"{indent}{key}: {_text(value)}"
        if isinstance(value, dict) and (not indent or len(line) > WIDTH):
            lines += [f"{indent}{key}:", *example_lines(value, indent + "  ")]
        else:
            lines.append(line)
    return lines


def _text(value: Any) -> str:
    """A value in YAML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return f'"{text}"' if isinstance(value, str) and any(mark in text for mark in ",:{}[]#") else text
