"""Checks: reference values that ``mbsim check`` compares with."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from pydantic import model_validator

from mbsim_cli.spec.analysis import Formulation
from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.number import Number


class SensorValue(Spec):
    """What a sensor shows at one time."""

    time: Number = field("Time [s].", 1.0)
    value: by_kind(number=Number, text=Number, list=list[Number]) = field(
        "Value, or the components of a vector.", [0.81, -2.1, 0]
    )


class Check(Spec):
    """One reference: of an objective, of a sensor over time, of the mechanism's structure, or of other methods."""

    objective: str | None = field("Objective that is compared.", "psi1", default=None)
    value: Number | None = field("Reference of its value.", 0.72688, default=None)
    gradient: dict[str, Number] = field("Reference of its gradient.", {"L_s1": -4.2288}, default={})
    field_gradient: dict[str, dict[str, Number]] = field(
        "Reference of its derivatives by elements of fields, counted from 0; tolerances are of their norm.",
        {"rho": {"0": -0.01076, "40": -0.002684}},
        default={},
    )
    sensor: str | None = field("Sensor that is compared.", "r2", default=None)
    values: list[SensorValue] = field("References of the sensor.", [{"time": 1, "value": 0.5}], default=[])
    redundant_constraints: int | None = field("How many constraints are redundant.", 3, default=None, ge=0)
    mobility: int | None = field("Degrees of freedom.", 1, default=None, ge=0)
    agreement: list[Literal[Formulation, "complex_step", "adjoint"]] = field(
        "Other formulations, or complex_step or adjoint: they repeat the analysis, and give the same objectives and "
        "gradients.",
        ["conventional", "complex_step"],
        default=[],
    )
    objectives: list[str] = field("Objectives that must agree; default all.", ["psi1"], default=[])
    relative_tolerance: Number = field("Relative tolerance.", 2e-4, default=Number(1e-6))
    absolute_tolerance: Number = field("Absolute tolerance, added.", 1e-9, default=Number(0.0))
    source: str | None = field("Where the reference comes from.", "Table 7", default=None)
    description: str | None = description()

    @model_validator(mode="after")
    def _one_kind(self) -> "Check":
        kinds = (self.objective, self.sensor, self.redundant_constraints, self.mobility, self.agreement or None)
        require_one(
            "one of objective, sensor, redundant_constraints, mobility and agreement",
            sum(k is not None for k in kinds) != 1,
        )
        require_one("agreement beside objectives", bool(self.objectives) and not self.agreement)
        compared = self.value is not None or bool(self.gradient) or bool(self.field_gradient)
        require_one("objective beside value or gradient", self.objective is None and compared)
        require_one("value or gradient beside objective", self.objective is not None and not compared)
        structure = self.redundant_constraints is not None or self.mobility is not None
        tolerances = self.model_fields_set & {"relative_tolerance", "absolute_tolerance"}
        require_one("no tolerance: whole numbers agree or do not", structure and bool(tolerances))
        require_one("sensor and values together", (self.sensor is None) != (not self.values))
        return self
