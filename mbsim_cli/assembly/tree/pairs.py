"""Pairs of bodies with the columns on the path between them."""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.assembly.parameters.vectors import table
from mbsim_cli.model.layout import Pairs


class PairTable:
    """Collects the pairs that elements ask for; equal pairs are stored once."""

    def __init__(self, parent: Sequence[int], first_column: Sequence[int]):
        self._parent, self._first_column = parent, first_column
        self._number: dict[tuple[int, int], int] = {}
        self._paths: list[tuple[np.ndarray, int]] = []

    def number(self, a: int, b: int) -> int:
        """Number of the pair (a, b)."""
        key = (a, b)
        if key not in self._number:
            self._number[key] = len(self._paths)
            columns, below_b = self._path(a, b)
            self._paths.append((np.array(columns, dtype=np.int64), below_b))
        return self._number[key]

    def bodies(self, pair: int) -> tuple[int, int]:
        """Bodies of a pair."""
        return list(self._number)[pair]

    def columns(self, pair: int) -> np.ndarray:
        """Columns between the bodies of a pair."""
        return self._paths[pair][0]

    def table(self) -> Pairs:
        """The pairs as arrays."""
        first = np.cumsum([0, *(len(columns) for columns, _ in self._paths)])
        column = np.concatenate([np.zeros(0, dtype=np.int64), *(columns for columns, _ in self._paths)])
        sign = np.full(len(column), -1)
        for start, (_, below_b) in zip(first, self._paths, strict=False):
            sign[start : start + below_b] = 1
        a, b = zip(*self._number, strict=True) if self._number else ((), ())
        return table(Pairs, a=a, b=b, first=first, column=column, sign=sign)

    def _path(self, a: int, b: int) -> tuple[list[int], int]:
        """Columns from b up to the common ancestor, then from a up to it, and how many of them are on b's side."""
        up: list[int] = []
        down: list[int] = []
        while a != b:
            # a body stands behind all that carry it, so the later one is never the common ancestor
            if a > b:
                up += self._columns_of(a)
                a = self._parent[a]
            else:
                down += self._columns_of(b)
                b = self._parent[b]
        return down + up, len(down)

    def _columns_of(self, body: int) -> range:
        return range(self._first_column[body + 1] - 1, self._first_column[body] - 1, -1)
