"""The drawable content of a mechanism: points fixed to its bodies, lines between them, and solids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.units import in_words


class Line(NamedTuple):
    """A polyline through points of the scene."""

    kind: str  # body | shape | mesh | spring | spiral | rod | slide
    body: int  # whose colour it has; -1 where it connects bodies
    points: tuple[int, ...]


class Solid(NamedTuple):
    """A solid fixed to a body: its centre, its axes as columns, and its extents along these, m."""

    kind: str  # box | cylinder (about its z) | sphere | wheel (about its z)
    body: int
    center: np.ndarray  # (3,) in the body's axes
    axes: np.ndarray  # (3, 3)
    size: np.ndarray  # (3,)


class Surface(NamedTuple):
    """Triangles fixed to a body, and the lines that a drawing without surfaces shows of them."""

    body: int
    points: np.ndarray  # (n, 3) in the body's axes, m
    triangles: np.ndarray  # (m, 3)
    edges: np.ndarray  # (e, 2)


@dataclass(frozen=True)
class Scene:
    """P points, each fixed to a body (-1: the ground), and what joins them."""

    bodies: tuple[str, ...]
    local: np.ndarray  # (P, 3) in the axes of the point's body, m
    body: np.ndarray  # (P,)
    names: Mapping[str, int]  # point by "body.name"; bodies' origins too
    lines: tuple[Line, ...]
    joints: tuple[int, ...]  # points where joints are
    ground: tuple[int, ...]  # points of the ground
    up: tuple[int, int]  # global axis nearest to the vertical, and 1 or -1: its sense
    solids: tuple[Solid, ...] = ()  # that views in space show in place of the lines of shapes
    surfaces: tuple[Surface, ...] = ()  # meshes of rigid bodies, for views in space
    left_out: tuple[str, ...] = ()  # sentences on meshes that cannot be read


# What results hand to pictures: histories and gradients, with their names and units.


class Series(NamedTuple):
    """A quantity of k components along N time points."""

    name: str
    units: tuple[str, ...]  # (k,)
    components: tuple[str, ...]  # (k,)
    time: np.ndarray  # (N,) s
    values: np.ndarray  # (N, k)

    @property
    def unit(self) -> str:
        """Unit of all components, or units where they differ."""
        return in_words(self.units)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components among those of other quantities."""
        return (self.name,) if len(self.components) == 1 else tuple(f"{self.name}.{c}" for c in self.components)


def together(parts: Sequence[Series | None]) -> Series | None:
    """Quantities of one result as the components of one; those that it lacks are left out, None where it has none."""
    known = [part for part in parts if part is not None]
    if len(known) < 2:
        return known[0] if known else None
    labels = tuple(label for part in known for label in part.labels)
    units = tuple(unit for part in known for unit in part.units)
    name = ", ".join(part.name for part in known)
    return Series(name, units, labels, known[0].time, np.concatenate([part.values for part in known], axis=1))


class GradientOf(NamedTuple):
    """An objective with its derivatives by p parameters."""

    name: str
    unit: str
    value: float
    parameters: tuple[str, ...]  # (p,)
    parameter_units: tuple[str, ...]
    parameter_values: np.ndarray  # (p,)
    gradient: np.ndarray  # (p,)

    def by(self, names: Sequence[str]) -> "GradientOf":
        """Its derivatives by the parameters of these names; by all without names."""
        kept = [k for k, parameter in enumerate(self.parameters) if not names or parameter in names]
        parameters, units = (tuple(each[k] for k in kept) for each in (self.parameters, self.parameter_units))
        values, gradient = self.parameter_values[kept], self.gradient[kept]
        return self._replace(parameters=parameters, parameter_units=units, parameter_values=values, gradient=gradient)

    @property
    def relative(self) -> np.ndarray:
        """rho / psi * d psi / d rho (p,); NaN where psi is zero."""
        if not self.value:
            return np.full(len(self.gradient), np.nan)
        return self.parameter_values / self.value * self.gradient
