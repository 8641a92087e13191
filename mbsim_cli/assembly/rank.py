"""Rank of a Jacobian, rows that follow from others, and coordinates that its rows determine."""

import numpy as np

RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
TINY = 1e-12
WELL = 1e-2  # part of a unit row that a coordinate must add to be a good choice


def unit_rows(J: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length."""
    return J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), TINY)


def rank(J: np.ndarray) -> int:
    """Number of independent rows."""
    return int(np.linalg.matrix_rank(unit_rows(J), tol=RANK_TOLERANCE)) if J.size else 0


def dependent_rows(J: np.ndarray) -> list[int]:
    """Rows of a matrix (of unit rows) that are combinations of rows before them."""
    basis, found = np.zeros((0, J.shape[1])), []
    for number, row in enumerate(J):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = np.linalg.norm(rest)
        if size < RANK_TOLERANCE:
            found.append(number)
        else:
            basis = np.vstack([basis, rest / size])
    return found


def determined(J: np.ndarray, free: np.ndarray, stated: np.ndarray, beyond: bool = False) -> list[int]:
    """Free coordinates that the rows of J determine, as many as the rank; ``stated`` ones only where they must be.

    ``beyond`` takes others where the free ones are too few: an automatic target leaves a position but binds its rate.
    """
    rest, chosen = unit_rows(J).copy(), []
    groups = [(free & ~stated, WELL), (free & stated, WELL), (free, RANK_TOLERANCE)]
    for group, enough in [*groups, (~free & beyond, RANK_TOLERANCE)]:
        candidates = [i for i in np.flatnonzero(group) if i not in chosen]
        while candidates and len(rest):
            sizes = np.linalg.norm(rest[:, candidates], axis=0)
            best = int(np.argmax(sizes))
            if sizes[best] < enough:
                break
            column = rest[:, candidates[best]] / sizes[best]
            rest -= np.outer(column, column @ rest)
            chosen.append(int(candidates.pop(best)))
    return sorted(chosen)
