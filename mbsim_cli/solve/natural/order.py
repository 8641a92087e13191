"""The order of elimination: of the coordinates left, the one next that meets the fewest others (minimum degree)."""

from collections.abc import Collection, Sequence

import numpy as np


def eliminated_last(n: int, cliques: Sequence[np.ndarray], ahead: Collection[int] = ()) -> np.ndarray:
    """New numbers (n,) of coordinates that meet in ``cliques``: elimination goes from the last number to the first.

    Those ``ahead`` go before all others and keep their order: they have the last numbers.
    """
    meets: list[set[int]] = [set() for _ in range(n)]
    for clique in cliques:
        for c in clique.tolist():
            meets[c].update(clique.tolist())
    for c in range(n):
        meets[c].discard(c)
    left, first, order = set(range(n)), set(ahead), np.zeros(n, np.int64)
    for number in range(n - 1, -1, -1):
        c = max(first) if first else min(left, key=lambda x: (len(meets[x]), -x))
        first.discard(c)
        left.discard(c)
        order[c] = number
        for other in meets[c]:
            meets[other] |= meets[c]
            meets[other] -= {c, other}
    return order
