"""Objectives: numbers that a run computes and gradients are taken of; checks: what they are compared with."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mbsim_cli.spec.analysis import Formulation
from mbsim_cli.spec.base import ByKind, Spec, description, field, named, require_one
from mbsim_cli.spec.expressions.number import Formula, Many, Number
from mbsim_cli.spec.expressions.units import Label

MODAL = ("frequency", "damping_ratio", "real_part", "imaginary_part")  # numbers of a mode
TRANSFERS = ("gain", "phase")  # numbers of a frequency response
EXTREMES = ("maximum", "minimum")
SUMS = ("integral", "mean", "rms")  # over time
KINDS = (*SUMS, *EXTREMES, "final", "at", "expression", *MODAL, *TRANSFERS)
LARGEST = "largest"

NO_EXPRESSION = "0"
Ordinal = Annotated[int, Field(ge=1)]
_OrdinalOrLargest: Any = Annotated[Ordinal | Literal["largest"], ByKind()]


def mode(text: str) -> Any:
    """Return a field for the number of a mode."""
    return field(f"{text}, by its number from the smallest eigenvalue on.", 1, default=None, ge=1)


class At(Spec):
    """An expression at one time."""

    time: Number = field(
        "The time [s]; between output times a cubic polynomial through the four around it is used.", 0.5
    )
    value: Formula = field("The expression.", "r2.x - 0.5")


class Transfer(Spec):
    """From an input to an output, at a frequency."""

    input: named.Input = field("Input of the analysis: FORCE, FORCE.component or a law.", "suspension")
    output: named.Output = field("Output: SENSOR or SENSOR.component.", "comfort.z")
    frequency: Number | None = field(
        "Frequency [Hz]; default, for a gain: that of the analysis at which it is largest.",
        1.5,
        default=None,
    )


class Objective(Spec):
    """One number made of sensors over time, or of other objectives."""

    integral: Formula | None = field("Integrand over the whole time.", "dot(v2, v2)", default=None)
    mean: Formula | None = field("Expression whose mean over the whole time is taken.", "v2.x", default=None)
    rms: Formula | None = field("Expression whose root mean square over time is taken.", "q - t", default=None)
    final: Formula | None = field("Expression taken at the end.", "r2.x - 0.5", default=None)
    maximum: Formula | None = field("Expression whose largest value over time is taken.", "norm(a2)", default=None)
    minimum: Formula | None = field("Expression whose smallest value over time is taken.", "gap", default=None)
    sharpness: Number | None = field(
        "Sharpness s of a smooth maximum log(mean exp(s f)) / s, or minimum, in place of the true one.",
        50.0,
        default=None,
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
    gain: Transfer | None = field(
        "Amplitude of an output over that of an input.",
        {"input": "suspension", "output": "comfort.z", "frequency": 1.5},
        default=None,
    )
    phase: Transfer | None = field(
        "Angle by which an output is ahead of an input, -pi to pi [rad].",
        {"input": "suspension", "output": "comfort.z", "frequency": 1.5},
        default=None,
    )
    unit: Label = field("Unit, for tables and result files.", "m^2 s", default="")
    description: named.Text | None = description()

    @property
    def kind(self) -> str:
        """Which of ``KINDS`` is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_sum(self) -> bool:
        """Whether it is made of a sum over time."""
        return self.kind in SUMS or self.sharpness is not None

    @property
    def reads_single_times(self) -> bool:
        """Whether it is an extreme, or a value at one time."""
        return not self.is_sum and self.kind in (*EXTREMES, "final", "at")

    @property
    def text(self) -> str:
        """The expression, whatever the kind; numbers of modes and responses have none."""
        if self.at is not None:
            return self.at.value
        return NO_EXPRESSION if self.kind in (*MODAL, *TRANSFERS) else getattr(self, self.kind)

    @model_validator(mode="after")
    def _one_kind(self) -> "Objective":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        choice = "integral, mean, rms, maximum, minimum, final, at, expression, gain, phase or a number of a mode"
        require_one(f"one of {choice}", len(given) != 1)
        require_one("maximum or minimum beside sharpness", self.sharpness is not None and given[0] not in EXTREMES)
        require_one("phase and frequency together", self.phase is not None and self.phase.frequency is None)
        return self


# Checks: reference values that ``mbsim check`` compares with.


class SensorValue(Spec):
    """What a sensor shows at one time."""

    time: Number = field("Time [s].", 1.0)
    value: Annotated[Number | Many[Number], ByKind()] = field("Value, or the components of a vector.", [0.81, -2.1, 0])


class Check(Spec):
    """One reference: of an objective, of a sensor over time, of the mechanism's structure, or of other methods."""

    objective: named.Objective | None = field("Objective that is compared.", "psi1", default=None)
    value: Number | None = field("Reference of its value.", 0.72688, default=None)
    gradient: dict[named.Parameter, Number] = field("Reference of its gradient.", {"L_s1": -4.2288}, default={})
    field_gradient: dict[named.FieldOfGradients, dict[named.Text, Number]] = field(
        "Reference of its derivatives by elements of fields, counted from 0; tolerances are of their norm.",
        {"rho": {"0": -0.01076, "40": -0.002684}},
        default={},
    )
    sensor: named.Shown | None = field("Sensor that is compared.", "r2", default=None)
    values: Many[SensorValue] = field("References of the sensor.", [{"time": 1, "value": 0.5}], default=())
    redundant_constraints: int | None = field("How many constraints are redundant.", 3, default=None, ge=0)
    mobility: int | None = field("Degrees of freedom.", 1, default=None, ge=0)
    agreement: Many[Literal[Formulation, "complex_step", "adjoint"]] = field(
        "Other formulations, or complex_step or adjoint: they repeat the analysis, and give the same objectives and "
        "gradients.",
        ["conventional", "complex_step"],
        default=(),
    )
    objectives: Many[named.Objective] = field("Objectives that must agree; default all.", ["psi1"], default=())
    relative_tolerance: Number = field("Relative tolerance.", 2e-4, default=Number(1e-6))
    absolute_tolerance: Number = field("Absolute tolerance, added.", 1e-9, default=Number(0.0))
    source: named.Text | None = field("Where the reference comes from.", "Table 7", default=None)
    description: named.Text | None = description()

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
