"""Modes: small motions about an equilibrium or about a steady motion."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.analysis import Sensitivity, hold
from mbsim_cli.spec.base import Spec, field


class Modes(Spec):
    """Natural frequencies, damping ratios and mode shapes, at time zero."""

    type: Literal["modes"] = field("Kind of analysis.", "modes")
    at: Literal["equilibrium", "start"] = field(
        "What modes are about: the static equilibrium near the declared position, or the start, with its velocities.",
        "start",
        default="equilibrium",
    )
    start: Literal["declared", "equilibrium"] | None = field(
        "With at: start, positions there: those declared, or those of the static equilibrium near them; "
        "default declared.",
        "equilibrium",
        default=None,
    )
    hold: list[str] = hold()
    count: int | None = field(
        "Modes in results, those of the smallest eigenvalues; default all.", 10, default=None, ge=1, le=1_000_000
    )
    sensitivity: Sensitivity = field(
        "Gradients.", {"method": "ddm", "parameters": "all"}, default_factory=lambda: Sensitivity(method="none")
    )
