"""Roads: their height along x, in global axes with z up; they reach to both sides in y."""

from typing import ClassVar, Literal

from mbsim_cli.spec.base import Spec, by_kind, by_type, description, field
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.laws import Extrapolate, TableFile, beyond_its_ends

_ZERO = Number(0.0)


class _Road(Spec):
    description: str | None = description()


class Flat(_Road):
    """A plane."""

    type: Literal["flat"] = field("A plane.", "flat")
    height: Number = field("Its height [m].", 0.1, default=_ZERO)


class Ramp(_Road):
    """A slope that begins, and may end, smoothly."""

    type: Literal["ramp"] = field("A slope.", "ramp")
    start: Number = field("x where it begins [m].", 10.0)
    end: Number | None = field("x where it begins to level out [m]; left out: never.", 20.0, default=None)
    slope: Number = field("Rise over length.", 0.08)
    onset: Number = field("Length over which the slope grows and vanishes [m].", 0.5, default=Number(0.2))


class Step(_Road):
    """A quintic step up or down."""

    type: Literal["step"] = field("A step with a smooth edge.", "step")
    position: Number = field("x where it begins [m].", 5.5)
    width: Number = field("Length over which the road rises or falls [m].", 0.02)
    height: Number = field("Height behind it, negative for a step down [m].", -0.01)


class Sinusoidal(_Road):
    """offset + amplitude sin(2 pi x / wavelength + phase)."""

    type: Literal["sinusoidal"] = field("Waves.", "sinusoidal")
    amplitude: Number = field("Amplitude [m].", 0.02)
    wavelength: Number = field("Length of a wave [m].", 1.5)
    phase: Number = field("Phase at x = 0 [rad].", "90 deg", default=_ZERO)
    offset: Number = field("Mean height [m].", 0.0, default=_ZERO)


class Bumps(_Road):
    """Bumps height sin(pi s)^3, 0 < s < 1, on a plane at height 0."""

    type: Literal["bumps"] = field("Bumps on a plane.", "bumps")
    positions: list[Number] = field("x where each begins [m].", [5, 15], min_length=1)
    length: Number = field("Length of a bump [m].", 0.5)
    height: Number = field("Its height [m].", 0.05)


class Profile(_Road):
    """A natural cubic spline through a table."""

    type: Literal["profile"] = field("A table of heights.", "profile")
    x: list[Number] = field("Places, increasing [m].", [0, 1, 2], min_length=2)
    z: list[Number] = field("Heights [m].", [0, 0.02, 0], min_length=2)
    extrapolate: Extrapolate = beyond_its_ends()


class MeasuredProfile(TableFile, _Road):
    """The same from a file."""

    arguments: ClassVar[tuple[str, ...]] = ("x",)
    values: ClassVar[tuple[str, ...]] = ("z",)

    type: Literal["table"] = field("Columns x and z of a file.", "table")


class RoadSum(_Road):
    """The sum of other roads."""

    type: Literal["sum"] = field("The sum of other roads.", "sum")
    roads: list[str] = field("Their names.", ["hill", "bumps"], min_length=2)


SimpleRoad = by_type(Flat, Ramp, Step, Sinusoidal, Bumps, Profile, MeasuredProfile)
Road = by_type(Flat, Ramp, Step, Sinusoidal, Bumps, Profile, MeasuredProfile, RoadSum)
RoadOrName = by_kind(text=str, mapping=SimpleRoad)
