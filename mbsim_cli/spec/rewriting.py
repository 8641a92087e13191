"""A model file with other values of parameters and constants: the same text with other numbers."""

from collections.abc import Mapping
from typing import Any

import yaml

from mbsim_cli.errors import UsageError
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.nodes import Node, read_nodes


def with_numbers(model_file: ModelFile, values: Mapping[str, float]) -> str:
    """The text of the model file where parameters and constants have these values, comments and layout kept.

    One that an included file defines is stated in the file itself. Raises UsageError where a value cannot be written:
    it stands as an alias, or a repetition makes it.
    """
    source = model_file.source
    text = source.text
    root, _ = read_nodes(text.encode(), source.file)
    assert root is not None
    changes: list[tuple[int, int, int, int, str]] = []  # line, column of the start and of the end, new text
    values = dict(values)
    tree: Any = yaml.compose(text, Loader=yaml.SafeLoader) if model_file.controls else None
    for name, control in model_file.controls.items():
        keys = control.parameters(name)
        if not values.keys().isdisjoint(keys):
            scope = model_file.expressions.scope()
            found = [float(values.pop(key, scope[key].real)) for key in keys]
            changes.append(_of_control(tree, text, name, f"[{', '.join(map(repr, found))}]"))
    added: dict[str, dict[str, float]] = {}
    scalars = _scalars(text)
    for name, value in values.items():
        section = "parameters" if name in model_file.parameters else "constants"
        node = _value_node(root, section, name)
        nearest = model_file.source._find((section, name))[0]
        if node is None and nearest is not None and nearest.instance:
            raise UsageError(f"the value of {name!r} cannot be saved: a repetition makes it")
        if node is None:
            added.setdefault(section, {})[name] = value
            continue
        place = (node.line - 1, node.column - 1)
        start = place if place in scalars else (place[0], place[1] - 1)  # nodes of quoted texts begin behind the quote
        end = scalars.get(start)
        if end is None or _count(root, node) > 1:
            raise UsageError(f"the value of {name!r} cannot be saved: it is an alias, or others are aliases of it")
        changes.append((*start, *end, repr(float(value))))
    for section, entries in added.items():
        changes.append(_insertion(root, section, entries, text))
    return _changed(text, changes)


def _of_control(tree: Any, text: str, name: str, found: str) -> tuple[int, int, int, int, str]:
    """The change that makes ``found`` the initial values of a control; ``tree`` is the composed text."""
    for key in ("controls", name):
        tree = next((value for node, value in getattr(tree, "value", ()) if node.value == key), None)
    if not isinstance(tree, yaml.MappingNode) or not tree.value:
        raise UsageError(f"the values of control {name!r} cannot be saved: the file itself does not define it")
    initial = next((value for node, value in tree.value if node.value == "initial"), None)
    if initial is None:
        first = tree.value[0][0].start_mark
        behind = ", " if tree.flow_style else "\n" + " " * first.column
        return first.line, first.column, first.line, first.column, f"initial: {found}{behind}"
    start, end = initial.start_mark, initial.end_mark
    old = text[start.index : end.index].rstrip()  # lists in lines of their own end where the next key begins
    rows = old.split("\n")
    last = start.line + len(rows) - 1
    return start.line, start.column, last, len(rows[-1]) + (start.column if len(rows) == 1 else 0), found


def _value_node(root: Node, section: str, name: str) -> Node | None:
    """The scalar that gives a parameter or constant its value, in the file itself."""
    entries = root.value.get(section)
    node = entries.value.get(name) if entries is not None and isinstance(entries.value, dict) else None
    if node is not None and isinstance(node.value, dict):
        node = node.value.get("value")
    return node


def _scalars(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Where scalars end, by where they begin: line and column, from 0."""
    events = yaml.parse(text, Loader=yaml.SafeLoader)  # whose marks count letters, with any characters before them
    return {
        (event.start_mark.line, event.start_mark.column): (event.end_mark.line, event.end_mark.column)
        for event in events
        if isinstance(event, yaml.ScalarEvent) and event.start_mark is not None and event.end_mark is not None
    }


def _count(node: Node, wanted: Node) -> int:
    """How many nodes stand where the wanted one does: aliases of it stand there, too."""
    found = int((node.line, node.column) == (wanted.line, wanted.column) and not isinstance(node.value, dict | list))
    parts = node.value.values() if isinstance(node.value, dict) else node.value if isinstance(node.value, list) else ()
    return found + sum(_count(part, wanted) for part in parts)


def _insertion(root: Node, section: str, entries: Mapping[str, float], text: str) -> tuple[int, int, int, int, str]:
    """New entries of a section, at its beginning, or as a new section at the end of the text."""
    node = root.value.get(section)
    form = "{name}: {{value: {value!r}}}" if section == "parameters" else "{name}: {value!r}"
    pairs = [form.format(name=name, value=float(value)) for name, value in entries.items()]
    if node is None:
        lines = text.split("\n")
        place = len(lines) - 1, len(lines[-1])
        return *place, *place, "\n" * bool(lines[-1]) + f"{section}:\n" + "".join(f"  {pair}\n" for pair in pairs)
    if not node.value:
        raise UsageError(f"values of {', '.join(entries)} cannot be saved: the section {section} is empty here")
    line, column = node.line - 1, node.column - 1
    if text.split("\n")[line][column] == "{":
        return line, column + 1, line, column + 1, ", ".join(pairs) + ", "
    return line, column, line, column, "".join(f"{pair}\n{' ' * column}" for pair in pairs)


def _changed(text: str, changes: list[tuple[int, int, int, int, str]]) -> str:
    """The text with pieces replaced, the last first."""
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    for line, column, last, end, new in sorted(changes, reverse=True):
        text = text[: starts[line] + column] + new + text[starts[last] + end :]
    return text
