"""Friction in joints by a given loss."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Any, Literal

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, field, require_one
from mbsim_cli.spec.expressions.number import Number

_ZERO = Number(0.0)
_BY_REACTION = ("static", "dynamic", "radius")


class Friction(Spec):
    """Dry friction on a coordinate, of a size that does not depend on what the joint carries."""

    loss: Number = field("Friction while it slides [N m or N].", 0.8)
    breakaway: Number | None = field("Friction that holds, at most [N m or N]; left out: loss.", 1.1, default=None)
    velocity: Number = field(
        "Rate over which friction turns round, and falls from breakaway to loss [rad/s or m/s].",
        0.01,
        default=Number(1e-3),
    )
    viscous: Number = field("Further friction, in proportion to the rate [N m s/rad or N s/m].", 0.02, default=_ZERO)
    law: Literal["brown_mcphee", "bristle"] = field(
        "brown_mcphee is a smooth function of the rate and creeps under load; bristle has a state and holds.",
        "bristle",
        default="brown_mcphee",
    )
    stiffness: Number | None = field(
        "Stiffness of the bristles, before they slide [N m/rad or N/m]; of law: bristle.", 1e5, default=None
    )
    damping: Number | None = field(
        "Damping of the bristles, at rates below velocity [N m s/rad or N s/m]; of law: bristle, left out: zero.",
        300,
        default=None,
    )

    @model_validator(mode="before")
    @classmethod
    def _not_by_reaction(cls, data: Any) -> Any:
        given = [key for key in _BY_REACTION if isinstance(data, dict) and key in data]
        require_one(f"loss instead of {given[0] if given else ''}: friction does not follow the reaction", bool(given))
        return data

    @model_validator(mode="after")
    def _of_bristles(self) -> "Friction":
        bristles = self.law == "bristle"
        require_one("stiffness, of the bristles", bristles and self.stiffness is None)
        given = self.stiffness is not None or self.damping is not None
        require_one("law: bristle, which alone has stiffness and damping", given and not bristles)
        return self
