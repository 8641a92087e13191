"""Made-up series and gradients, and what a picture holds."""

import numpy as np

from mbsim_cli.model.pictures import GradientOf, Series


def series(*columns, name="r", unit="m", components=("x", "y", "z"), end=1.0):
    values = np.array(columns, dtype=float).T
    return Series(
        name, (unit,) * values.shape[1], components[: values.shape[1]], np.linspace(0.0, end, len(values)), values
    )


def gradient(numbers, value=2.0, rho=None, name="psi"):
    p = len(numbers)
    names = tuple(f"p{k}" for k in range(p))
    return GradientOf(
        name, "m^2/s", value, names, ("m",) * p, np.ones(p) if rho is None else np.array(rho), np.array(numbers)
    )
