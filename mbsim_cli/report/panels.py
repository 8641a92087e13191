"""Data of pictures: a quantity, or the gradient of an objective, from several results."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.model.pictures import GradientOf, Series

MOST = 24  # parameters of an objective: more bars cannot be distinguished


class Panel(NamedTuple):
    """Plot of a quantity from several results (None: missing), over time or the quantity ``over``."""

    title: str
    series: tuple[Series | None, ...]
    over: tuple[Series | None, ...] = ()

    def across(self, number: int) -> np.ndarray | None:
        """Values (N,) on the horizontal axis for a result; None if it lacks them."""
        series, over = self.series[number], self.over[number] if self.over else None
        if self.over:
            return None if over is None else over.values[:, 0]
        return None if series is None else series.time

    @property
    def across_label(self) -> tuple[str, str]:
        """Name and unit of the horizontal axis."""
        known = [over for over in self.over if over is not None]
        if not known:
            return "time", "s"
        several = len({series.name for series in self.series if series is not None}) > 1
        names = dict.fromkeys(over.name for over in (known if several else known[:1]))
        return ", ".join(names), known[0].unit

    @property
    def is_path(self) -> bool:
        """Whether both axes are lengths, so that the lines are paths in space."""
        return bool(self.over) and all(s.unit == "m" for s in (*self.series, *self.over) if s is not None)


class Curve(NamedTuple):
    """The frequency response of an output to an input at F frequencies [Hz]."""

    label: str
    unit: str  # of the gain
    frequencies: np.ndarray
    gain: np.ndarray
    phase: np.ndarray  # rad


class Cells(NamedTuple):
    """A field on a mesh: faces (f, corners), indices of points (N, 3), their cells (f,), and values (ne,) of cells."""

    points: np.ndarray
    faces: np.ndarray
    owner: np.ndarray
    values: np.ndarray


class Bars(NamedTuple):
    """Gradients of an objective from several results; None: missing."""

    objective: str
    gradients: tuple[GradientOf | None, ...]

    @property
    def parameters(self) -> dict[str, str]:
        """Units by name of the ``MOST`` parameters with the largest relative derivatives, in the file's order."""
        units = {n: u for g in self._known for n, u in zip(g.parameters, g.parameter_units, strict=True)}
        weight = {name: np.abs(np.nan_to_num(self.of(name, relative=True))).max() for name in units}
        largest = sorted(units, key=lambda name: -weight[name])[:MOST]
        return {name: unit for name, unit in units.items() if name in largest}

    def of(self, parameter: str, relative: bool) -> list[float]:
        """Derivatives by a parameter, one per result, NaN where missing."""
        found = []
        for gradient in self.gradients:
            if gradient is None or parameter not in gradient.parameters:
                found.append(np.nan)
            else:
                numbers = gradient.relative if relative else gradient.gradient
                found.append(float(numbers[gradient.parameters.index(parameter)]))
        return found

    @property
    def _known(self) -> list[GradientOf]:
        return [gradient for gradient in self.gradients if gradient is not None]

    @property
    def unit(self) -> str:
        """Unit of the objective."""
        return self._known[0].unit

    @property
    def value(self) -> float | None:
        """Value of the objective; None if several results have it."""
        return self._known[0].value if len(self._known) == 1 else None
