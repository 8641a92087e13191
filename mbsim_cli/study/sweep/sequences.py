"""Points that fill the unit cube."""

import warnings

import numpy as np


def sobol(dimensions: int, count: int, seed: int) -> np.ndarray:
    """The first points (count, dimensions) of a scrambled Sobol sequence; more points begin with the same ones."""
    from scipy.stats import qmc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a count that is no power of two is less balanced, and useful
        return qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed)).random(count)


def latin_hypercube(dimensions: int, count: int, seed: int) -> np.ndarray:
    """Points (count, dimensions), one in each of ``count`` layers of every dimension."""
    from scipy.stats import qmc

    return qmc.LatinHypercube(dimensions, seed=np.random.default_rng(seed)).random(count)
