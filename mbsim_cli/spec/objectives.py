"""Objectives: numbers that a run computes and gradients are taken of."""

from typing import Any

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, description, field, require_one
from mbsim_cli.spec.expressions.formula import Formula
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Label

KINDS = ("integral", "final", "maximum", "expression")


class Objective(Spec):
    """One number made of sensors over time, or of other objectives."""

    integral: Formula | None = field("Integrand over the whole time.", "dot(v2, v2)", default=None)
    final: Formula | None = field("Expression taken at the end.", "r2.x - 0.5", default=None)
    maximum: Formula | None = field("Expression whose smooth maximum over time is taken.", "norm(a2)", default=None)
    sharpness: Number | None = field("Sharpness s of the maximum: log(mean exp(s f)) / s.", 50.0, default=None)
    expression: Formula | None = field("Expression of other objectives.", "psi1 + 0.1*psi2", default=None)
    unit: Label = field("Unit, for tables and result files.", "m^2 s", default="")
    description: str | None = description()

    @property
    def kind(self) -> str:
        """Which of integral, final, maximum and expression is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def text(self) -> str:
        """The expression, whatever the kind."""
        return getattr(self, self.kind)

    @model_validator(mode="after")
    def _one_kind(self) -> Any:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        require_one("integral, final, maximum or expression", len(given) != 1)
        require_one("maximum and sharpness together", ("maximum" in given) != (self.sharpness is not None))
        return self
