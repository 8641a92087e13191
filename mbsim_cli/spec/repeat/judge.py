"""What is wrong with a block whatever its instance: keys, names, and placeholders that read unknown names."""

import re
from collections.abc import Collection, Iterator

from mbsim_cli.spec.reading.nodes import Node
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.repeat.block import SECTIONS
from mbsim_cli.spec.repeat.error import RepeatError
from mbsim_cli.spec.repeat.template import Part
from mbsim_cli.spec.rules.naming import in_expressions

ENDS = ("first", "last")
_OVER = ("with", "repeat", *SECTIONS)  # what may be laid over an instance
_KEYS = ("for", *ENDS, *_OVER)
_NOTHING = re.compile("(?!)")
_SAME = "every instance gives the same values"


def wrong_with(
    block: Node, outer: Collection[str], taken: dict[str, str], constants: Collection[str]
) -> list[RepeatError]:
    """Return what is wrong with a block; ``outer`` are names of blocks around it, ``taken`` names of the file.

    ``constants`` are the names that placeholders may read, too.
    """
    if type(block.value) is not dict:
        return [RepeatError(block, "must be a mapping", "a block has 'for' and sections")]
    shape = list(_shape(block))
    if shape:
        return shape
    parameters = [name for name, section in taken.items() if section == "parameters"]
    known = {*outer, *own_names(block), *constants}
    return list(_names(block, outer, taken)) or list(_placeholders(block, known, parameters))


def own_names(block: Node) -> dict[str, Node]:
    """Names that a block gives its instances, each with a node under that key; the first where one stands twice."""
    return {name: node for name, node in reversed(list(_own(block)))}


def _own(block: Node) -> Iterator[tuple[str, Node]]:
    for name, loop in block.value["for"].value.items():
        yield name, loop
        if type(loop.value) is dict:
            yield from _values_of(loop).items()
    yield from _entries(block, "with").items()


def _values_of(loop: Node) -> dict[str, Node]:
    """Values of the first of named instances."""
    return next(iter(loop.value.values())).value or {}


def _entries(node: Node, key: str) -> dict[str, Node]:
    return node.value[key].value if key in node.value else {}


def _shape(block: Node) -> Iterator[RepeatError]:
    for key, node in block.value.items():
        if key not in _KEYS:
            yield RepeatError(node, f"unknown key {key!r}", suggest(key, _KEYS), key=True)
        elif type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", key=node.value is None)
        elif key in ENDS:
            yield from _end(node, block)
    if "for" not in block.value:
        yield RepeatError(block, "key 'for' is missing", "for: {i: [1, n]}", key=True)
    elif type(block.value["for"].value) is dict:
        if not block.value["for"].value:
            yield RepeatError(block.value["for"], "counts nothing", "for: {i: [1, n]}", key=True)
        for name, loop in block.value["for"].value.items():
            yield from _loop(name, loop)


def _end(end: Node, block: Node) -> Iterator[RepeatError]:
    given = block.value["with"].value if "with" in block.value else {}
    for key, node in end.value.items():
        if key not in _OVER:
            yield RepeatError(node, f"unknown key {key!r}", suggest(key, _OVER), key=True)
        elif type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", key=node.value is None)
        elif key == "with" and type(given) is dict:
            for name in (name for name in node.value if name not in given):
                hint = suggest(name, given) or "give it to the other instances, too"
                yield RepeatError(node.value[name], f"{name!r} does not stand in 'with' of the block", hint, key=True)


def _loop(name: str, loop: Node) -> Iterator[RepeatError]:
    if type(loop.value) is list and len(loop.value) == 2:
        return
    if type(loop.value) is not dict or not loop.value:
        hint = f"{name}: [1, n], or {name}: {{left: {{side: 1}}, right: {{side: -1}}}}"
        yield RepeatError(loop, "must be [first, last] or a mapping of named instances", hint)
        return
    wrong = [node for node in loop.value.values() if type(node.value) is not dict and node.value is not None]
    if wrong:
        yield from (RepeatError(node, "must be a mapping of values") for node in wrong)
        return
    wanted = _values_of(loop)
    for node in loop.value.values():
        given = node.value or {}
        for key in (key for key in wanted if key not in given):
            yield RepeatError(node, f"{key!r} is missing", _SAME, key=True)
        for key in (key for key in given if key not in wanted):
            yield RepeatError(given[key], f"{key!r} is missing in the first instance", _SAME, key=True)


def _names(block: Node, outer: Collection[str], taken: dict[str, str]) -> Iterator[RepeatError]:
    seen = set(outer)
    for name, node in _own(block):
        for message, hint in in_expressions(name):
            yield RepeatError(node, message, hint, key=True)
        if name in seen:
            yield RepeatError(node, f"{name!r} stands twice in one repetition", "give it another name", key=True)
        elif name in taken:
            message = f"{name!r} is also one of the {taken[name]}"
            yield RepeatError(node, message, "give one of them another name", key=True)
        seen.add(name)


def _placeholders(block: Node, known: Collection[str], parameters: Collection[str]) -> Iterator[RepeatError]:
    bodies = [block, *(block.value[end] for end in ENDS if end in block.value)]
    for key, node in ((key, node) for body in bodies for key, node in body.value.items()):
        if key not in ("for", "repeat", *ENDS):
            try:
                for text in Part(node, _NOTHING).texts():
                    yield from text.check(known, parameters)
            except RepeatError as error:
                yield error
