"""Order of definitions: every name behind those that it reads; cycles are reported."""

from collections.abc import Mapping, Sequence


def sort(reads: Mapping[str, Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names in order, and cycles as lists that end where they begin; depth first, no recursion."""
    order: list[str] = []
    cycles: list[list[str]] = []
    closed: dict[str, bool] = {}  # False while the name is on the path
    for root in reads:
        path: list[tuple[str, list[str]]] = []
        _enter(root, reads, closed, path)
        while path:
            name, ahead = path[-1]
            if not ahead:
                path.pop()
                closed[name] = True
                order.append(name)
                continue
            following = ahead.pop()
            if closed.get(following) is False:
                names = [entry for entry, _ in path]
                cycles.append([*names[names.index(following) :], following])
            else:
                _enter(following, reads, closed, path)
    return order, cycles


def _enter(
    name: str, reads: Mapping[str, Sequence[str]], closed: dict[str, bool], path: list[tuple[str, list[str]]]
) -> None:
    if name in reads and name not in closed:
        closed[name] = False
        path.append((name, list(reversed(reads[name]))))


def shown(cycle: Sequence[str]) -> str:
    """Return a cycle as text, shortened in the middle."""
    names = list(cycle) if len(cycle) <= 12 else [*cycle[:10], "...", cycle[-1]]
    return " -> ".join(names)
