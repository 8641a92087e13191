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
    basis = np.zeros(J.shape)
    found: list[int] = []
    for number, row in enumerate(J):
        known = basis[: number - len(found)]
        rest = row - (known @ row) @ known
        rest = rest - (known @ rest) @ known
        size = np.linalg.norm(rest)
        if size < RANK_TOLERANCE:
            found.append(number)
        else:
            basis[len(known)] = rest / size
    return found


def determined(
    J: np.ndarray, free: np.ndarray, stated: np.ndarray, beyond: bool = False, last: np.ndarray | None = None
) -> list[int]:
    """Free coordinates that the rows of J determine, as many as the rank; ``stated`` ones only where they must be.

    Those of the mask ``last`` come only after all others, however badly the rows determine these.
    ``beyond`` takes others where the free ones are too few: an automatic target leaves a position but binds its rate.
    """
    rest = unit_rows(J).copy()
    chosen: list[int] = []
    squares = (rest * rest).sum(axis=0)
    last = np.zeros_like(free) if last is None else last
    early = free & ~last
    groups = [(early & ~stated, WELL), (early & stated, WELL), (early, RANK_TOLERANCE)]
    for group, enough in [*groups, (free & last, WELL), (free, RANK_TOLERANCE), (~free & beyond, RANK_TOLERANCE)]:
        candidates = group.copy()
        candidates[chosen] = False
        while len(chosen) < len(rest) and candidates.any():  # no more columns are independent than there are rows
            best = int(np.argmax(np.where(candidates, squares, -1.0)))
            size = np.linalg.norm(rest[:, best])
            squares[best] = size * size  # the running value has lost digits
            if size < enough:
                if squares[candidates].max() < enough * enough:
                    break
                continue
            column = rest[:, best] / size
            share = column @ rest
            rest -= np.outer(column, share)
            squares = np.maximum(squares - share * share, 0.0)
            candidates[best] = False
            chosen.append(best)
    return sorted(chosen)
