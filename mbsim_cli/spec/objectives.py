"""Objectives: numbers that a run computes and gradients are taken of."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.formula import Formula
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Label

MODAL = ("frequency", "damping_ratio", "real_part", "imaginary_part")  # numbers of a mode
KINDS = ("integral", "final", "maximum", "expression", *MODAL)
LARGEST = "largest"

NO_EXPRESSION = "0"
Ordinal = Annotated[int, Field(ge=1)]
_OrdinalOrLargest: Any = by_kind(number=Ordinal, text=Literal["largest"])


def mode(text: str) -> Any:
    """Return a field for the number of a mode."""
    return field(f"{text}, by its number from the smallest eigenvalue on.", 1, default=None, ge=1)


class Objective(Spec):
    """One number made of sensors over time, or of other objectives."""

    integral: Formula | None = field("Integrand over the whole time.", "dot(v2, v2)", default=None)
    final: Formula | None = field("Expression taken at the end.", "r2.x - 0.5", default=None)
    maximum: Formula | None = field("Expression whose smooth maximum over time is taken.", "norm(a2)", default=None)
    sharpness: Number | None = field("Sharpness s of the maximum: log(mean exp(s f)) / s.", 50.0, default=None)
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
        """Which of integral, final, maximum, expression or a number of a mode is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def text(self) -> str:
        """The expression, whatever the kind; nothing of a mode has one."""
        return NO_EXPRESSION if self.kind in MODAL else getattr(self, self.kind)

    @model_validator(mode="after")
    def _one_kind(self) -> Any:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        require_one("integral, final, maximum, expression or a number of a mode", len(given) != 1)
        require_one("maximum and sharpness together", ("maximum" in given) != (self.sharpness is not None))
        return self
