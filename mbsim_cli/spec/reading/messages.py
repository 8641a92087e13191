"""Sentences on what is wrong in a file: what pydantic found, and which known name an unknown one may stand for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import yaml

from mbsim_cli.errors import Issue, counted

if TYPE_CHECKING:
    from mbsim_cli.spec.reading.source import Source

Path = tuple[str | int, ...]
_PLAIN = {
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
}
_OF_ENTRIES = ("list_type", "dict_type", "model_type", "model_attributes_type")
_OTHER_WORDS = {  # for types, in other programs
    **dict.fromkeys(("hinge", "pin", "rotational"), "revolute"),
    **dict.fromkeys(("slider", "translational", "sliding"), "prismatic"),
    **dict.fromkeys(("ball", "ball_joint", "socket"), "spherical"),
    **dict.fromkeys(("cardan", "hooke"), "universal"),
    **dict.fromkeys(("weld", "rigid"), "fixed"),
    **dict.fromkeys(("free", "free_joint", "6dof"), "floating"),
    **dict.fromkeys(("sine", "sinus", "cosine"), "harmonic"),
}
OTHER_KEYS = {  # in other programs
    **dict.fromkeys(("dt", "timestep", "time_step", "h"), "step"),
    **dict.fromkeys(("tend", "t_end", "t_final", "tf", "end_time", "stop_time", "simulation_time"), "duration"),
    **dict.fromkeys(("cog", "com", "cg", "center_of_gravity", "centre_of_mass"), "center_of_mass"),
    **dict.fromkeys(("mu", "friction_coefficient"), "dynamic"),
    **dict.fromkeys(("rest_length", "free_length", "unstretched_length", "l0"), "natural_length"),
    **dict.fromkeys(("rest_angle", "free_angle"), "natural_angle"),
    **dict.fromkeys(("preload", "pretension"), "force"),
    **dict.fromkeys(("q0", "initial_conditions", "start"), "initial"),
    **dict.fromkeys(("g", "gravitation"), "gravity"),
    **dict.fromkeys(("solver", "method"), "integrator"),
}
_DRIVE = "a drive acts on a coordinate: {type: drive, coordinate: A.angle, value: 1}"
_REACTION = "a reaction is the force and moment of a joint or constraint: {type: reaction, joint: A}"
_OF_FORCE = "the value of a force element is read by {type: force, force: NAME}"
_OF_OTHER_TYPES = {  # keys by section and type of an item that has none of them
    **dict.fromkeys((("forces", "torque", "coordinate"), ("forces", "force", "coordinate")), _DRIVE),
    ("forces", "force", "body"): "a force acts at a point, as point: BODY.center_of_mass",
    ("sensors", "angle", "joint"): "{type: coordinate, coordinate: A.angle} reads the angle of a joint",
    **{("sensors", kind, key): _REACTION for kind in ("torque", "force") for key in ("joint", "constraint")},
    **dict.fromkeys((("sensors", "torque", "force"), ("sensors", "torque", "drive")), _OF_FORCE),
    **{("sensors", "force", key): _OF_FORCE for key in ("drive", "coordinate", "body", "point")},
}
_KIND_WORDS = {"text": "a text", "list": "a list", "mapping": "a mapping", "number": "a number"}


def path_of(location: Sequence[str | int]) -> Path:
    """Return pydantic's location without the tags of unions, which hold = or < and are no keys of the file."""
    return tuple(part for part in location if not (isinstance(part, str) and re.fullmatch(r"type=.*|<.*>", part)))


def issue_of(error: Mapping[str, Any], classes: Mapping[int, Any], data: Any, source: "Source") -> Issue:
    """Issue of an entry of ``ValidationError.errors()``; ``classes``: the class that read each mapping, by its id."""
    path, kind, context = path_of(error["loc"]), error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return source.issue(path, f"unknown key {path[-1]!r}", _meant_by(path, classes, data), key=True)
    if kind == "missing":
        return source.issue(path[:-1], f"key {path[-1]!r} is missing", key=True)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _union_issue(path, context, error["input"], source, _right(classes, data, path))
    if kind == "literal_error":
        value, expected = error["input"], context["expected"]
        choices = re.findall(r"'([^']*)'", expected)
        hint = suggest(value, choices) if isinstance(value, str) and len(choices) > 1 else None
        hint = hint if hint and hint.startswith("did") else None
        if hint is None and error["loc"][-1] == "<text>" and (example := _example(classes, data, path)):
            hint = f"or a {'list' if example.startswith('such as [') else 'mapping'}, {example}"
        return source.issue(path, f"must be {expected}, not {_short(value)}", hint)
    if kind == "model_type" and str(context.get("class_name")).endswith("File") and isinstance(error["input"], str):
        return source.issue(path, "must be a mapping", f"a file is named by {{file: {_short(error['input'])[1:-1]}}}")
    if kind in ("expression", "number", "combination"):
        hint = _in_the_unit(unit_in(_description(classes, data, path)), context.get("hint"))
        return source.issue(path, error["msg"], hint, offset=context.get("offset"))
    if kind in ("too_short", "too_long"):
        marks = marks_of(_field(classes, data, path))
        hints = _meaning(classes, data, path), _decimal_comma(source, path) if kind == "too_long" else ""
        return source.issue(path, _count(context, marks), "; ".join(filter(None, hints)))
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        return source.issue(path, f"must be {'at least' if 'ge' in context else 'at most'} {bound}")
    listed = kind == "string_type" and isinstance(error["input"], (list, dict))
    hint = _right(classes, data, path) if kind in _OF_ENTRIES or listed else None
    text = error.get("input") if kind in _OF_ENTRIES[1:] else None
    glued = re.fullmatch(r"([\w.]+):\S+", text) if isinstance(text, str) else None  # mass:3
    if glued and (kind == "dict_type" or glued[1] in _keys_below(classes, data, path)):
        hint = "a blank stands behind the colon of a key"
    return source.issue(path, _PLAIN.get(kind) or error["msg"][:200], hint)


def _meant_by(path: Path, classes: Mapping[int, Any], data: Any) -> str | None:
    """A hint on what an unknown key may stand for."""
    key, holder = str(path[-1]), _at(data, path[:-1])
    known, value = keys_in(classes.get(id(holder))), _at(holder, path[-1:])
    before, colon, _ = key.partition(":")
    if colon and value is None and before in known:  # {mass:3}
        return f"a blank stands behind the colon of {before}"
    if key.isdecimal() and value is None:  # {length: 0,5}
        return "decimals stand behind a point"
    if hint := _OF_OTHER_TYPES.get((str(path[0]), str(holder.get("type")), key)):
        return hint
    other = OTHER_KEYS.get(key.lower())
    match = other if other in known else nearest(key, known)
    nested = isinstance(value, (dict, list)) and set(known).isdisjoint(holder)  # study: {grid: {r: [1]}}
    if nested and match is None and len(path) == 3 and path[1] in known:
        return f"each entry of {path[0]} has a name: {path[0]}: {{NAME: {{{path[1]}: ...}}}}"
    return f"did you mean {match!r}?" if match is not None else suggest(key, known)


def cut_off(errors: Sequence[Mapping[str, Any]], data: Any) -> set[Path]:
    """Places of keys that commas cut off wrong expressions without quotes, to the last bracket: {value: max(a, b)}."""
    found: set[Path] = set()
    for error in (error for error in errors if error["type"] in ("expression", "number")):
        path, text = path_of(error["loc"]), error["input"]
        holder = _at(data, path[:-1])
        if not isinstance(text, str) or not isinstance(holder, dict) or path[-1] not in holder:
            continue
        pieces, depth = [], _depth(text)
        for key in list(holder)[list(holder).index(path[-1]) + 1 :]:
            if depth <= 0 or holder[key] is not None:
                break
            pieces.append((*path[:-1], key))
            depth += _depth(key)
        found.update(pieces if depth <= 0 else ())
    return found


def _depth(text: str) -> int:
    """How many brackets stay open in a text; negative where it closes more."""
    return text.count("(") - text.count(")")


def _count(context: Mapping[str, Any], marks: Sequence[Any]) -> str:
    """How many entries a list or mapping needs, of whose field ``marks`` are the annotations."""
    wanted = context.get("min_length", context.get("max_length"))
    of_many = any(getattr(mark, "limits", None) == {"min_length": wanted} for mark in marks)
    least = "at least " if of_many or (wanted == 1 and "min_length" in context) else ""
    return f"needs {least}{counted(wanted, 'entry')}, not {context['actual_length']}"


def _decimal_comma(source: "Source", path: Path) -> str:
    """A hint where a comma between two numbers of a list has no blank behind it, as in [0,5, 1]."""
    entries = source.nearest(path).value
    for one, other in pairwise(entries if isinstance(entries, list) else ()):
        written = source.line(one.file, one.line)[one.column - 1 : other.column] if one.line == other.line else ""
        if found := re.fullmatch(r"([-+]?\d+),\d", written):
            return f"decimals stand behind a point, {found[1]}.{other.value}"
    return ""


def marks_of(entry: Any) -> list[Any]:
    """Annotations of a field and of the types in it; none for None."""
    kinds, found = [] if entry is None else [entry.annotation], list(getattr(entry, "metadata", ()))
    while kinds:
        kind = kinds.pop()
        found += getattr(kind, "__metadata__", ())
        kinds += get_args(kind)
    return found


def _keys_below(classes: Mapping[int, Any], data: Any, path: Path) -> list[str]:
    """Keys of all classes that may read what stands at a path."""
    entry = _field(classes, data, path) or _field(classes, data, path[:-1])
    kinds, found = [] if entry is None else [entry.annotation, *entry.metadata], []
    while kinds:
        kind = kinds.pop()
        found += keys_in(kind) if hasattr(kind, "model_fields") else []
        later = getattr(kind, "kind", None)  # of a type that is imported when a file first has one
        kinds += [*get_args(kind), *([] if later is None else [later])]
    return found


def _union_issue(path: Path, context: Mapping[str, Any], value: Any, source: "Source", right: str | None) -> Issue:
    expected = re.findall(r"'(type=|<)(\w[\w ]*)>?'", context.get("expected_tags", ""))
    words = [word for _, word in expected]
    if not any(mark == "type=" for mark, _ in expected):
        kinds = list(dict.fromkeys(_KIND_WORDS.get(word, word) for word in words))
        return source.issue(path, f"must be {' or '.join(kinds)}", right)
    if not isinstance(value, dict):
        return source.issue(path, "must be a mapping with a type", right)
    if "type" not in value:
        misspelt = next((key for key in value if sorted(key.lower()) == sorted("type") or key.lower() == "typ"), None)
        if misspelt is not None:
            return source.issue((*path, misspelt), f"unknown key {misspelt!r}", "did you mean 'type'?", key=True)
        return source.issue(path, "key 'type' is missing", "one of " + ", ".join(words), key=True)
    meant = _OTHER_WORDS.get(str(value["type"]).lower())
    hint = suggest(str(meant if meant in words else value["type"]), words) or "one of " + ", ".join(words)
    return source.issue((*path, "type"), f"unknown type {_short(value['type'])}", hint)


def _field(classes: Mapping[int, Any], data: Any, path: Path) -> Any:
    """The field of the key at a path, or of the last key in it; None if the key is unknown."""
    keys = [k for k, part in enumerate(path) if isinstance(part, str)]
    model = classes.get(id(_at(data, path[: keys[-1]]))) if keys else None
    fields = model.model_fields.items() if model is not None else ()
    return next((entry for name, entry in fields if (entry.alias or name) == path[keys[-1]]), None)


def _description(classes: Mapping[int, Any], data: Any, path: Path) -> str:
    """The description of the key at a path; empty if there is none."""
    entry = _field(classes, data, path)
    return (entry.description or "") if entry else ""


def _meaning(classes: Mapping[int, Any], data: Any, path: Path) -> str:
    """The first clause of the description of the key at a path; empty if there is none."""
    meant = re.split("[.;] ", _description(classes, data, path))[0].rstrip(".")
    return meant[:1].lower() + meant[1:]


def _right(classes: Mapping[int, Any], data: Any, path: Path) -> str | None:
    """A hint at a path: an example, else the meaning of the key."""
    return _example(classes, data, path) or _meaning(classes, data, path) or None


def _example(classes: Mapping[int, Any], data: Any, path: Path) -> str | None:
    """A hint with an example of the list or mapping at a path; None if there is none."""
    entry, section = _field(classes, data, path), _field(classes, data, path[:-1])
    if isinstance(path[-1], int):
        examples = (one[0] for one in (entry.examples if entry else None) or () if isinstance(one, list))
        inner = next((one for one in examples if isinstance(one, (list, dict))), None)
        return f"such as {_in_a_line(inner)}" if inner is not None and isinstance(path[-2], str) else None
    named = entry or section
    example = next((one for one in (named.examples if named else None) or () if isinstance(one, (list, dict))), None)
    if example is None:
        return None
    if entry is not None or isinstance(example, list):
        return f"such as {_in_a_line(example)}"
    items = [name for name, one in example.items() if isinstance(one, (list, dict))]  # by names that users choose
    return f"such as {items[0]} in {_in_a_line({items[0]: example[items[0]]})}" if items else None


def _in_a_line(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000).strip()


def unit_in(description: str) -> str:
    """The unit in brackets in the description of a key; nothing where there is none."""
    found = re.search(r"\[([^\]]+)\]", description)
    return found[1] if found else ""


def _in_the_unit(unit: str, hint: str | None) -> str | None:
    """The hint on a number with a unit, unless that is no unit of what the key asks for."""
    meant = re.search(r"; the unit is (.*)", hint or "")
    if not unit or meant is None or meant[1] == unit:
        return hint
    return "the unit here is rad; degrees are written 30 deg" if unit == "rad" else f"the unit here is {unit}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def keys_in(model: Any) -> list[str]:
    """Keys of a mapping that a class of the specification reads."""
    return [entry.alias or name for name, entry in model.model_fields.items()] if model is not None else []


def keys_of(classes: Mapping[int, Any], data: Any, path: Path) -> tuple[list[str], list[str]]:
    """Keys that a mapping at a path may have, and those that it has."""
    given = _at(data, path)
    return keys_in(classes.get(id(given))), list(given) if isinstance(given, dict) else []


def _at(data: Any, path: Path) -> Any:
    for part in path:
        if isinstance(part, int):
            data = data[part] if isinstance(data, list) and part < len(data) else data
        else:
            data = data[part] if isinstance(data, dict) and part in data else data
    return data


MAX_SUGGESTIONS = 50  # looking for similar names is slow where thousands are wrong
ALIKE = 0.75  # similarity of words that begin with different letters; of others 0.6 is enough


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` was probably meant to be, or None."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    folded = name.lower()[:100]
    for whole in (folded, folded.rpartition(".")[2]):  # bodies.A and forces.A say whose point it is, joints do not
        if whole in by_folded:
            return by_folded[whole]
    candidates: Iterable[str] = by_folded
    if len(folded) <= 2:
        # one letter of two is much: only names as short are near
        candidates = [candidate for candidate in by_folded if len(candidate) <= len(folded) + 1]
    found = get_close_matches(folded, candidates, cutoff=0.6 if len(folded) > 2 else 0.5)
    for match in found:  # few mistakes of typing change the first letter: friction does not stand for description
        if folded[0] == match[0] or SequenceMatcher(None, folded, match).ratio() >= ALIKE:
            return by_folded[match]
    return None


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'B'?", or a short list of what exists, or None."""
    known = list(known)
    other = _OTHER_NAMES.get(name.lower())
    match = other if other in known else nearest(name, known)
    if match is not None:
        return f"did you mean {match!r}?"
    if 0 < len(known) <= 12:
        return "known: " + ", ".join(sorted(known))
    return None


_OTHER_NAMES = {  # in other programs
    **dict.fromkeys(("world", "earth", "inertial", "base_frame"), "ground"),
    "time": "t",
    "ln": "log",
    "fabs": "abs",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2")},
}


class Named(dict[str, Any]):
    """A dictionary by names whose KeyError says which name may be meant."""

    def __init__(self, kind: str, entries: Any):
        super().__init__(entries)
        self._kind = kind

    def __missing__(self, name: str) -> Any:
        raise KeyError(unknown(self._kind, name, self))

    def __reduce__(self) -> Any:
        return Named, (self._kind, dict(self))


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence of a KeyError: there is none of the name, and which one may be meant."""
    hint = suggest(str(name), known)
    return f"no {kind} {name!r}" + (f"; {hint}" if hint else "")
