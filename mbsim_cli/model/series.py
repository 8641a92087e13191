"""What results hand to pictures: histories and gradients, with their names and units."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.model.units import in_words


class Series(NamedTuple):
    """A quantity of k components along N instants."""

    name: str
    units: tuple[str, ...]  # (k,)
    components: tuple[str, ...]  # (k,)
    time: np.ndarray  # (N,) s
    values: np.ndarray  # (N, k)

    @property
    def unit(self) -> str:
        """Unit of all components, or units where they differ."""
        return in_words(self.units)


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
