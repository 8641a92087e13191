"""What results hand to pictures: histories and gradients, with their names and units."""

from typing import NamedTuple

import numpy as np


class Series(NamedTuple):
    """A quantity of k components along N instants."""

    name: str
    unit: str
    components: tuple[str, ...]  # (k,)
    time: np.ndarray  # (N,) s
    values: np.ndarray  # (N, k)


class GradientOf(NamedTuple):
    """An objective with its derivatives by p parameters."""

    name: str
    unit: str
    value: float
    parameters: tuple[str, ...]  # (p,)
    parameter_units: tuple[str, ...]
    parameter_values: np.ndarray  # (p,)
    gradient: np.ndarray  # (p,)

    @property
    def relative(self) -> np.ndarray:
        """rho / psi * d psi / d rho (p,); NaN where psi is zero."""
        if not self.value:
            return np.full(len(self.gradient), np.nan)
        return self.parameter_values / self.value * self.gradient


def quotient(unit: str, by: str) -> str:
    """Unit of a derivative."""
    if by in ("", "1"):
        return unit
    above = f"({unit})" if "/" in unit else unit or "1"
    below = f"({by})" if " " in by or "/" in by else by
    return f"{above}/{below}"
