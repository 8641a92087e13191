"""Functions: laws of time, elongation or rate, controls that an optimisation finds, roads over x."""

from typing import Annotated, ClassVar, Literal

from mbsim_cli.spec.base import ByKind, ByType, Described, field, named, one_of, optional
from mbsim_cli.spec.expressions.number import Many, Number, Pair, Positive, Several, Some
from mbsim_cli.spec.expressions.units import Unit
from mbsim_cli.spec.families import AnyLaw
from mbsim_cli.spec.tables import Extrapolate, TableFile, beyond_its_ends


class Constant(AnyLaw):
    """A constant."""

    type: Literal["constant"] = field("A constant.", "constant")
    value: Number = field("The value.", 10.0)


class Polynomial(AnyLaw):
    """c0 + c1 x + c2 x^2 + ..."""

    type: Literal["polynomial"] = field("A polynomial.", "polynomial")
    coefficients: Some[Number] = field("Coefficients, the constant first.", [0, 1.5, "a/2"])


class Harmonic(AnyLaw):
    """offset + amplitude sin(angular_frequency x + phase)^power."""

    in_example = ("frequency",)

    type: Literal["harmonic"] = field("A sine.", "harmonic")
    offset: Number = field("Mean value.", 0.0, default=0.0)
    amplitude: Number = field("Amplitude.", 0.2)
    frequency: Number | None = optional("Frequency [Hz]; or give angular_frequency.", 2.0)
    angular_frequency: Number | None = optional("Angular frequency [rad/s].", "2*pi")
    phase: Number = field("Phase [rad].", "90 deg", default=0.0)
    power: int = field("Power of the sine.", 3, default=1, ge=1, le=20)

    _one_frequency = one_of("frequency or angular_frequency", "frequency", "angular_frequency")


class SmoothStep(AnyLaw):
    """A quintic step: value and two derivatives are continuous at both ends."""

    type: Literal["smooth_step"] = field("A smooth step.", "smooth_step")
    from_: Number = field("Value before the start.", 0.0, alias="from")
    to: Number = field("Value after the end.", 1.0)
    start: Number = field("Where the step begins [s].", 0.5)
    end: Number = field("Where the step ends [s].", 1.5)


class Spline(AnyLaw):
    """A curve through a table: a natural cubic spline, or straight lines or steps between its values."""

    in_example = ("times",)

    type: Literal["spline"] = field("A curve through a table.", "spline")
    x: Many[Number] | None = optional("Arguments, increasing; or give times.", [0, 0.1, 0.2])
    times: Many[Number] | None = optional("Arguments when they are times [s], increasing.", [0, 1, 2])
    values: Several[Number] = field("Values at the arguments.", [0, 5, 3])
    between: Literal["cubic", "linear", "constant"] = field(
        "cubic: a natural cubic spline; linear: straight lines; constant: each value holds up to the next argument.",
        "linear",
        default="cubic",
    )
    extrapolate: Extrapolate = beyond_its_ends()

    _one_argument = one_of("x or times", "x", "times")

    @property
    def arguments(self) -> tuple[Number, ...]:
        """Arguments of the table, under whichever key they stand."""
        given = self.x if self.x is not None else self.times
        return given if given is not None else ()


class Table(TableFile, AnyLaw):
    """A natural cubic spline through a column of a file."""

    arguments: ClassVar[tuple[str, ...]] = ("time", "x")
    values: ClassVar[tuple[str, ...]] = ("value",)

    type: Literal["table"] = field("Columns time (or x, where it is not time) and value of a file.", "table")


class OneSided(AnyLaw):
    """Zero on one side, a straight line on the other, with two continuous derivatives."""

    type: Literal["one_sided"] = field("A straight line on one side, zero on the other.", "one_sided")
    side: Literal["above", "below"] = field("Where it is not zero.", "below", default="above")
    start: Number = field("Where it begins; the line itself is zero half an onset farther.", 0.05)
    slope: Number = field("Slope of the line.", 2e5)
    onset: Positive = field("Length over which the slope grows.", 0.005)


_Simple = Constant | Polynomial | Harmonic | SmoothStep | Spline | Table | OneSided
SimpleLawOrName = Annotated[named.Law | Annotated[_Simple, ByType()], ByKind()]


class Windowed(AnyLaw):
    """A law in a window, and zero outside; the law counts its argument from the start of the window."""

    type: Literal["windowed"] = field("A law in a window, zero outside.", "windowed")
    start: Number = field("Where the window begins.", 2)
    end: Number = field("Where it ends.", "2 + T")
    law: SimpleLawOrName = field("The law; its argument is 0 at the start of the window.", "wave")


WindowedLawOrName = Annotated[named.Law | Annotated[_Simple | Windowed, ByType()], ByKind()]


class Sum(AnyLaw):
    """The sum of laws."""

    type: Literal["sum"] = field("The sum of laws.", "sum")
    laws: Some[WindowedLawOrName] = field("The laws.", ["wave", "ramp"])


class Piecewise(AnyLaw):
    """Laws that follow each other."""

    type: Literal["piecewise"] = field("Laws one after another.", "piecewise")
    breaks: Some[Number] = field("Where one law ends and the next begins, increasing.", [1, 2.5])
    laws: Several[WindowedLawOrName] = field("The laws, one more than breaks.", ["ramp", "hold", "fall"])


Law = Annotated[_Simple | Windowed | Sum | Piecewise, ByType()]


class Control(Described):
    """A law of time of its name, over the duration of the analysis; its values are parameters: NAME_0, NAME_1, ..."""

    force: named.Force | None = optional("The force that takes this function as its law.", "push")
    intervals: int = field("Intervals of equal length.", 40, ge=1, le=100_000)
    between: Literal["linear", "constant"] = field(
        "linear: straight lines between values at the ends of the intervals; constant: one value in each.",
        "linear",
        default="linear",
    )
    bounds: Pair[Number] | None = optional("Lower and upper limit of the values.", [-20, 20])
    initial: Annotated[Number | named.LawOrFormula | Many[Number], ByKind()] = field(
        "Values to begin with: one for all, an expression of t, the name of a law, or a list.",
        0,
        "5*sin(pi*t)",
        [0, 1.5, 2],
        default=0.0,
    )
    unit: Unit = field("Unit of the values.", "N", default="")

    @property
    def count(self) -> int:
        """Number of values."""
        return self.intervals + (self.between == "linear")

    def parameters(self, name: str) -> list[str]:
        """Names of the parameters that hold the values of the control of this name."""
        return [f"{name}_{k}" for k in range(self.count)]


# Roads: their height along x, in global axes with z up; the same for all y.


class Flat(Described):
    """A plane."""

    type: Literal["flat"] = field("A plane.", "flat")
    height: Number = field("Its height [m].", 0.1, default=0.0)


class Ramp(Described):
    """A slope that begins, and may end, smoothly."""

    type: Literal["ramp"] = field("A slope.", "ramp")
    start: Number = field("x where it begins [m].", 10.0)
    end: Number | None = optional("x where it begins to level out [m]; left out: never.", 20.0)
    slope: Number = field("Rise over length.", 0.08)
    onset: Positive = field("Length over which the slope grows and vanishes [m].", 0.5, default=0.2)


class Step(Described):
    """A quintic step up or down."""

    type: Literal["step"] = field("A step with a smooth edge.", "step")
    position: Number = field("x where it begins [m].", 5.5)
    width: Positive = field("Length over which the road rises or falls [m].", 0.02)
    height: Number = field("Height behind it, negative for a step down [m].", -0.01)


class Sinusoidal(Described):
    """offset + amplitude sin(2 pi x / wavelength + phase)."""

    type: Literal["sinusoidal"] = field("Waves.", "sinusoidal")
    amplitude: Number = field("Amplitude [m].", 0.02)
    wavelength: Positive = field("Length of a wave [m].", 1.5)
    phase: Number = field("Phase at x = 0 [rad].", "90 deg", default=0.0)
    offset: Number = field("Mean height [m].", 0.0, default=0.0)


class Bumps(Described):
    """Bumps height sin(pi s)^3, 0 < s < 1, on a plane at height 0."""

    type: Literal["bumps"] = field("Bumps on a plane.", "bumps")
    positions: Some[Number] = field("x where each begins [m].", [5, 15])
    length: Positive = field("Length of a bump [m].", 0.5)
    height: Number = field("Its height [m].", 0.05)


class Profile(Described):
    """A natural cubic spline through a table."""

    type: Literal["profile"] = field("A table of heights.", "profile")
    x: Several[Number] = field("Places, increasing [m].", [0, 1, 2])
    z: Several[Number] = field("Heights [m].", [0, 0.02, 0])
    extrapolate: Extrapolate = beyond_its_ends()


class MeasuredProfile(TableFile, Described):
    """The same from a file."""

    arguments: ClassVar[tuple[str, ...]] = ("x",)
    values: ClassVar[tuple[str, ...]] = ("z",)

    type: Literal["table"] = field("Columns x and z of a file.", "table")


class RoadSum(Described):
    """The sum of other roads."""

    type: Literal["sum"] = field("The sum of other roads.", "sum")
    roads: Several[named.Road] = field("Their names.", ["hill", "bumps"])


_Single = Flat | Ramp | Step | Sinusoidal | Bumps | Profile | MeasuredProfile
SimpleRoad = Annotated[_Single, ByType()]
Road = Annotated[_Single | RoadSum, ByType()]
