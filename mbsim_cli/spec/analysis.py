"""Analysis: what is computed, how, and to what accuracy."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.base import Spec, by_kind, field
from mbsim_cli.spec.number import Number


class Sensitivity(Spec):
    """Which gradients, by which method."""

    method: Literal["none", "ddm", "fd"] = field(
        "none; ddm: direct differentiation; fd: central differences.", "ddm", default="ddm"
    )
    parameters: by_kind(text=Literal["all"], list=list[str]) = field(
        "Parameters that gradients are wanted for, or all.", ["L_s1", "L_s2"], "all", default="all"
    )


class Analysis(Spec):
    """One analysis of the model."""

    type: Literal["forward_dynamics"] = field("Kind of analysis.", "forward_dynamics", default="forward_dynamics")
    formulation: Literal["ali3p-rtdyn0", "ali3p-rtdyn1"] = field(
        "Equations of motion and integrator.", "ali3p-rtdyn1", default="ali3p-rtdyn1"
    )
    step: Number = field("Time step [s].", 1e-3, default=Number(1e-3))
    duration: Number = field("Duration [s].", 5.0, default=Number(1.0))
    output_interval: Number | None = field("Time between stored instants [s]; default the step.", 0.01, default=None)
    tolerance: Number = field("Relative tolerance of the motion.", 1e-10, default=Number(1e-10))
    gradient_tolerance: Number = field("Relative tolerance of the gradients.", 1e-10, default=Number(1e-10))
    max_iterations: int = field("Newton iterations a step at most.", 20, default=20, ge=1, le=1000)
    penalty: Number = field("Penalty factor at 1 kg and 1 ms.", 1e9, default=Number(1e9))
    weighting: Number = field("Factor on the penalty of the projections.", 1.0, default=Number(1.0))
    projection: Literal["mass", "identity"] = field("Metric of the projections.", "mass", default="mass")
    sensitivity: Sensitivity = field(
        "Gradients.", {"method": "ddm", "parameters": "all"}, default_factory=lambda: Sensitivity(method="none")
    )
