"""Objectives: numbers that a run computes and gradients are taken of."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.formula import Formula
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Label

MODAL = ("frequency", "damping_ratio", "real_part", "imaginary_part")  # numbers of a mode
SMOOTH = ("maximum", "minimum")
SUMS = ("integral", "mean", "rms", *SMOOTH)  # over all output times
KINDS = (*SUMS, "final", "at", "expression", *MODAL)
LARGEST = "largest"

NO_EXPRESSION = "0"
Ordinal = Annotated[int, Field(ge=1)]
_OrdinalOrLargest: Any = by_kind(number=Ordinal, text=Literal["largest"])


def mode(text: str) -> Any:
    """Return a field for the number of a mode."""
    return field(f"{text}, by its number from the smallest eigenvalue on.", 1, default=None, ge=1)


class At(Spec):
    """An expression at one time."""

    time: Number = field("The time [s]; between steps, of a cubic polynomial through the four around.", 0.5)
    value: Formula = field("The expression.", "r2.x - 0.5")


class Objective(Spec):
    """One number made of sensors over time, or of other objectives."""

    integral: Formula | None = field("Integrand over the whole time.", "dot(v2, v2)", default=None)
    mean: Formula | None = field("Expression whose mean over the whole time is taken.", "v2.x", default=None)
    rms: Formula | None = field("Expression whose root mean square over time is taken.", "q - t", default=None)
    final: Formula | None = field("Expression taken at the end.", "r2.x - 0.5", default=None)
    maximum: Formula | None = field("Expression whose smooth maximum over time is taken.", "norm(a2)", default=None)
    minimum: Formula | None = field("Expression whose smooth minimum over time is taken.", "gap", default=None)
    sharpness: Number | None = field(
        "Sharpness s of the maximum: log(mean exp(s f)) / s, or of the minimum.", 50.0, default=None
    )
    at: At | None = field("Expression taken at one time.", {"time": 0.5, "value": "r2.x"}, default=None)
    expression: Formula | None = field("Expression of other objectives.", "psi1 + 0.1*psi2", default=None)
    frequency: int | None = mode("Natural frequency of a mode [Hz]: the magnitude of its eigenvalue over 2 pi")
    damping_ratio: int | None = mode("Damping ratio of a mode")
    real_part: _OrdinalOrLargest | None = field(
        "Real part of the eigenvalue of a mode [1/s], by its number, or the largest of all.",
        1,
        "largest",
        default=None,
    )
    imaginary_part: int | None = mode("Imaginary part of the eigenvalue of a mode [rad/s]")
    unit: Label = field("Unit, for tables and result files.", "m^2 s", default="")
    description: str | None = description()

    @property
    def kind(self) -> str:
        """Which of ``KINDS`` is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def text(self) -> str:
        """The expression, whatever the kind; nothing of a mode has one."""
        if self.at is not None:
            return self.at.value
        return NO_EXPRESSION if self.kind in MODAL else getattr(self, self.kind)

    @model_validator(mode="after")
    def _one_kind(self) -> Any:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        choice = "integral, mean, rms, maximum, minimum, final, at, expression or a number of a mode"
        require_one(f"one of {choice}", len(given) != 1)
        smooth = given[0] if given[0] in SMOOTH else "maximum or minimum"
        require_one(f"{smooth} and sharpness together", (given[0] in SMOOTH) != (self.sharpness is not None))
        return self
