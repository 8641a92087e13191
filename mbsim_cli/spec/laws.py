"""Laws: functions of time, elongation or rate."""

from typing import Literal

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, by_kind, by_type, description, field, require_one
from mbsim_cli.spec.number import Number


class _Law(Spec):
    description: str | None = description()


class Constant(_Law):
    """A constant."""

    type: Literal["constant"] = field("A constant.", "constant")
    value: Number = field("The value.", 10.0)


class Polynomial(_Law):
    """c0 + c1 x + c2 x^2 + ..."""

    type: Literal["polynomial"] = field("A polynomial.", "polynomial")
    coefficients: list[Number] = field("Coefficients, the constant first.", [0, 1.5, "a/2"], min_length=1)


class Harmonic(_Law):
    """offset + amplitude sin(angular_frequency x + phase)."""

    type: Literal["harmonic"] = field("A sine.", "harmonic")
    offset: Number = field("Mean value.", 0.0, default=Number(0.0))
    amplitude: Number = field("Amplitude.", 0.2)
    frequency: Number | None = field("Frequency [Hz]; or give angular_frequency.", 2.0, default=None)
    angular_frequency: Number | None = field("Angular frequency [rad/s].", "2*pi", default=None)
    phase: Number = field("Phase [rad].", "90 deg", default=Number(0.0))

    @model_validator(mode="after")
    def _one_frequency(self) -> "Harmonic":
        require_one(
            self, "frequency or angular_frequency", (self.frequency is None) == (self.angular_frequency is None)
        )
        return self


class SmoothStep(_Law):
    """A quintic step: value and two derivatives are continuous at both ends."""

    type: Literal["smooth_step"] = field("A smooth step.", "smooth_step")
    from_: Number = field("Value before the start.", 0.0, alias="from")
    to: Number = field("Value after the end.", 1.0)
    start: Number = field("Where the step begins [s].", 0.5)
    end: Number = field("Where the step ends [s].", 1.5)


class Spline(_Law):
    """A natural cubic spline through a table."""

    type: Literal["spline"] = field("A cubic spline.", "spline")
    x: list[Number] | None = field("Arguments, increasing; or give times.", [0, 0.1, 0.2], default=None)
    times: list[Number] | None = field("Arguments when they are times [s], increasing.", [0, 1, 2], default=None)
    values: list[Number] = field("Values at the arguments.", [0, 5, 3], min_length=2)

    @property
    def arguments(self) -> list[Number]:
        """Arguments of the table, under whichever key they stand."""
        given = self.x if self.x is not None else self.times
        return given if given is not None else []

    @model_validator(mode="after")
    def _one_argument(self) -> "Spline":
        require_one(self, "x or times", (self.x is None) == (self.times is None))
        return self


class Table(_Law):
    """A natural cubic spline through a column of a file."""

    type: Literal["table"] = field("A column of a CSV or HDF5 file.", "table")
    file: str = field("CSV or HDF5 file, relative to the model file.", "ground_reactions.csv")
    column: str = field("Column that holds the values.", "Fz_left")
    time: str = field("Column that holds the times [s], increasing.", "t", default="time")


Law = by_type(Constant, Polynomial, Harmonic, SmoothStep, Spline, Table)
LawOrName = by_kind(text=str, mapping=Law)
