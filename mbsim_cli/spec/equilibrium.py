"""Static equilibrium: where the mechanism rests, and how that depends on the parameters."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.analysis import Sensitivity, hold
from mbsim_cli.spec.base import Spec, field


class Equilibrium(Spec):
    """Positions, multipliers and sensors of the mechanism at rest, at time zero."""

    type: Literal["equilibrium"] = field("Kind of analysis.", "equilibrium")
    hold: list[str] = hold()
    sensitivity: Sensitivity = field(
        "Gradients.", {"method": "ddm", "parameters": "all"}, default_factory=lambda: Sensitivity(method="none")
    )
