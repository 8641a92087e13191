"""Names of everything that stands by number in ``Model``."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """Names in the order of the arrays of ``Model``; units as printed in results."""

    bodies: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()  # tree joint of each body
    coordinates: tuple[str, ...] = ()  # "joint.angle"
    coordinate_units: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()  # "joint.equation"
    constraint_units: tuple[str, ...] = ()  # of the equations: those of their multipliers follow
    forces: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()
    sensor_units: tuple[str | tuple[str, ...], ...] = ()  # one for all components, or one for each
    sensor_components: tuple[tuple[str, ...], ...] = ()  # labels of what each sensor gives
    parameters: tuple[str, ...] = ()
    parameter_units: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()  # equations that hold whatever the coordinates are
    undefined: Mapping[str, str] = field(default_factory=dict)  # why parameters give no derivative
    expressions: Mapping[tuple[int, int], str] = field(
        default_factory=dict
    )  # place in the file, by force and component

    def equation(self, number: int) -> str:
        """Name of an equation by its number from 1: of the constraints, then of the identities."""
        return (*self.constraints, *self.identities)[number - 1]
