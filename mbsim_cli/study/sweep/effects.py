"""Main effects: how much of an objective's variance each parameter explains by itself.

First-order sensitivity indices, estimated from whatever cases there are: the variance, over layers of a parameter, of
the mean in a layer, less what chance alone gives (epsilon squared of Kelley, 1935).
"""

import numpy as np

MOST_LAYERS = 64
FEWEST = 16  # cases that say anything


def main_effects(values: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Shares (v,) of the variance of ``results`` (N,) by the parameters ``values`` (N, v); NaN where nobody can tell.

    What is not finite is left out.
    """
    known = np.isfinite(results)
    values, results = values[known], results[known]
    if len(results) < FEWEST or not np.ptp(results) > 0.0:
        return np.full(values.shape[1], np.nan)
    return np.array([_share(_layers(column), results) for column in values.T])


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
