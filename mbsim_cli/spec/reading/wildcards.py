"""Patterns in the list of parameters that gradients are wanted for."""

from fnmatch import fnmatchcase

from mbsim_cli.spec.reading.nodes import Node


def replace_wildcards(root: Node) -> None:
    """Put the parameters that a pattern such as ``L_*`` matches in its place; one without a match stays."""
    place: Node | None = root
    for key in ("analysis", "sensitivity", "parameters"):
        place = _below(place, key)
    known = _below(root, "parameters")
    if place is None or type(place.value) is not list or known is None or type(known.value) is not dict:
        return
    listed: list[Node] = []
    taken = {node.value for node in place.value if isinstance(node.value, str)}
    for node in place.value:
        pattern = node.value if isinstance(node.value, str) and "*" in node.value else None
        matches = [name for name in known.value if pattern and fnmatchcase(name, pattern)]
        listed += [_named(name, node) for name in matches if name not in taken] if matches else [node]
        taken.update(matches)
    place.value = listed


def _below(node: Node | None, key: str) -> Node | None:
    return node.value.get(key) if node is not None and type(node.value) is dict else None


def _named(name: str, pattern: Node) -> Node:
    return Node(name, pattern.file, pattern.line, pattern.column, plain=False)
