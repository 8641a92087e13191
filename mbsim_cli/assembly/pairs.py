"""Pairs of bodies with the columns on the path between them."""

from collections.abc import Sequence

from mbsim_cli.assembly.arrays import table
from mbsim_cli.model.layout import GROUND, Pairs


class PairTable:
    """Collects the pairs that elements ask for; equal pairs are stored once."""

    def __init__(self, parent: Sequence[int], first_column: Sequence[int]):
        self._parent, self._first_column = parent, first_column
        self._number: dict[tuple[int, int], int] = {}
        self._paths: list[tuple[list[int], list[int]]] = []

    def number(self, a: int, b: int) -> int:
        """Number of the pair (a, b)."""
        key = (a, b)
        if key not in self._number:
            self._number[key] = len(self._paths)
            self._paths.append(self._path(a, b))
        return self._number[key]

    def columns(self, pair: int) -> list[int]:
        """Columns between the bodies of a pair."""
        return self._paths[pair][0]

    def table(self) -> Pairs:
        """The pairs as arrays."""
        first, column, sign = [0], [], []
        for columns, signs in self._paths:
            column += columns
            sign += signs
            first.append(len(column))
        a, b = zip(*self._number, strict=True) if self._number else ((), ())
        return table(Pairs, a=a, b=b, first=first, column=column, sign=sign)

    def _path(self, a: int, b: int) -> tuple[list[int], list[int]]:
        """Columns from b up to the common ancestor, then from a up to it, with their signs."""
        bodies_a, bodies_b = self._ancestors(a), self._ancestors(b)
        while bodies_a and bodies_b and bodies_a[-1] == bodies_b[-1]:
            bodies_a.pop()
            bodies_b.pop()
        down = [column for body in bodies_b for column in self._columns_of(body)]
        up = [column for body in bodies_a for column in self._columns_of(body)]
        return down + up, [1] * len(down) + [-1] * len(up)

    def _ancestors(self, body: int) -> list[int]:
        found = []
        while body != GROUND:
            found.append(body)
            body = self._parent[body]
        return found

    def _columns_of(self, body: int) -> range:
        return range(self._first_column[body + 1] - 1, self._first_column[body] - 1, -1)
