"""Main effects: how much of an objective's variance each parameter explains by itself.

First-order sensitivity indices, estimated from whatever cases there are: the variance, over layers of a parameter, of
the mean in a layer, less what chance alone gives (epsilon squared of Kelley, 1935).
"""

from collections.abc import Sequence

import numpy as np

MOST_LAYERS = 64
FEWEST = 16  # cases that say anything
TOGETHER = 0.9  # rank correlation of two parameters above which nobody can tell which of them it was


def main_effects(values: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Shares (v,) of the variance of ``results`` (N,) by the parameters ``values`` (N, v); NaN where nobody can tell.

    What is not finite is left out.
    """
    known = np.isfinite(results)
    values, results = values[known], results[known]
    if len(results) < FEWEST or not np.ptp(results) > 0.0:
        return np.full(values.shape[1], np.nan)
    shares = np.array([_share(_layers(column), results) for column in values.T])
    return np.where(_companions(values) < 0, shares, np.nan)


def unknown_effects(names: Sequence[str], values: np.ndarray, results: np.ndarray) -> dict[str, str]:
    """Why the main effects of some parameters are NaN."""
    known = np.isfinite(results)
    values, results = values[known], results[known]
    if len(results) < FEWEST or not np.ptp(results) > 0.0:
        few = f"fewer than {FEWEST} cases tell none"
        return dict.fromkeys(names, few if len(results) < FEWEST else "all cases have the same value")
    reasons = {}
    for name, column, other in zip(names, values.T, _companions(values), strict=True):
        if not np.ptp(column) > 0.0:
            reasons[name] = "it has one value"
        elif other >= 0:
            reasons[name] = f"it varies together with {names[other]}"
    return reasons


def _companions(values: np.ndarray) -> np.ndarray:
    """Number of another parameter that varies together with each (v,), or -1."""
    order = np.array([np.unique(column, return_inverse=True)[1] for column in values.T], float)
    order -= order.mean(axis=1, keepdims=True)
    sizes = np.linalg.norm(order, axis=1)
    order /= np.where(sizes > 0.0, sizes, 1.0)[:, None]
    alike = np.abs(order @ order.T)
    np.fill_diagonal(alike, 0.0)
    return np.where(alike.max(axis=1, initial=0.0) > TOGETHER, alike.argmax(axis=1), -1)


def _layers(column: np.ndarray) -> np.ndarray:
    """Number of the layer (N,) that each case is in: a value of a grid, or a part of the range with as many cases."""
    levels, layer = np.unique(column, return_inverse=True)
    count = max(2, min(MOST_LAYERS, round(np.sqrt(len(column) / 2))))
    if len(levels) <= max(count, len(column) // 4):
        return layer
    return np.argsort(np.argsort(column, kind="stable"), kind="stable") * count // len(column)


def _share(layer: np.ndarray, results: np.ndarray) -> float:
    count = np.bincount(layer)
    layers, cases = len(count), len(results)
    if layers < 2 or layers >= cases:
        return np.nan
    scaled = (results - results.mean()) / np.ptp(results)
    total = np.sum(scaled**2)
    between = np.sum(np.bincount(layer, scaled) ** 2 / count)
    chance = (layers - 1) / (cases - layers) * (total - between)
    return float(np.clip((between - chance) / total, 0.0, 1.0))
