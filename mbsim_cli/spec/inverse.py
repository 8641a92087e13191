"""Inverse dynamics: the torques along a given motion."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from pydantic import model_validator

from mbsim_cli.spec.analysis import Sensitivity
from mbsim_cli.spec.base import Spec, field, require_one
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.laws import LawOrName
from mbsim_cli.spec.tables import TableFile


class MotionTable(TableFile):
    """Coordinates, JOINT.coordinate, over time; a result of mbsim serves too."""

    derivatives: Literal["spline", "table"] = field(
        "spline: positions only, derivatives are those of a cubic spline; "
        "table: velocities and accelerations stand in columns NAME.velocity and NAME.acceleration.",
        "table",
        default="spline",
    )


class Motion(Spec):
    """Where every coordinate is over time."""

    all: LawOrName | None = field(
        "Law of every coordinate that laws and table do not give.",
        {"type": "harmonic", "amplitude": 1, "frequency": 1},
        default=None,
    )
    laws: dict[str, LawOrName] = field("Law of single coordinates, JOINT.coordinate.", {"q1.angle": "wave"}, default={})
    table: MotionTable | None = field("Table of coordinates.", {"file": "walk.csv"}, default=None)
    constraints: list[str] = field(
        "With loops: constraints with laws that give the motion, as of a tool, and take no force.",
        ["tool_x"],
        default=[],
    )

    @model_validator(mode="after")
    def _something(self) -> "Motion":
        nothing = self.all is None and not self.laws and self.table is None and not self.constraints
        require_one("all, laws, table or constraints", nothing)
        return self


class InverseDynamics(Spec):
    """Torques that a given motion takes, and their derivatives."""

    type: Literal["inverse_dynamics"] = field("Kind of analysis.", "inverse_dynamics")
    sampling: Number = field("Time between two instants [s].", 0.01)
    duration: Number = field("Duration [s].", 3.0)
    motion: Motion = field("The motion.", {"all": "wave"})
    drives: list[str] = field(
        "With loops: coordinates, JOINT.coordinate, that are driven; default those that the motion gives.",
        ["left.angle", "right.angle"],
        default=[],
    )
    redundancy: Literal["least_norm"] | None = field(
        "With more drives than freedoms: least_norm, the least sum of squared drives.", "least_norm", default=None
    )
    weights: dict[str, Number] = field(
        "Weights of squared drives; default 1.", {"left.angle": 2, "right.angle": "1/4"}, default={}
    )
    sensitivity: Sensitivity = field(
        "Gradients.", {"method": "ddm", "parameters": "all"}, default_factory=lambda: Sensitivity(method="none")
    )
