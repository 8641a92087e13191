"""Objectives: numbers that a run computes and gradients are taken of; checks: what they are compared with."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mbsim_cli.spec.analysis import Formulation
from mbsim_cli.spec.base import ByKind, Described, Spec, complete, field, named, optional, require_one
from mbsim_cli.spec.expressions.number import Formula, Many, NotNegative, Number, Positive
from mbsim_cli.spec.expressions.units import Label

MODAL = ("frequency", "damping_ratio", "real_part", "imaginary_part")  # numbers of a mode
TRANSFERS = ("gain", "phase")  # numbers of a frequency response
EXTREMES = ("maximum", "minimum")
SUMS = ("integral", "mean", "rms")  # over time
KINDS = (*SUMS, *EXTREMES, "final", "at", "expression", *MODAL, *TRANSFERS)

NO_EXPRESSION = "0"
_OrdinalOrLargest: Any = Annotated[Annotated[int, Field(ge=1)] | Literal["largest"], ByKind()]


def mode(text: str) -> Any:
    """Return a field for the number of a mode."""
    return optional(f"{text}, by its number from the smallest eigenvalue on.", 1, ge=1)


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
    frequency: Positive | None = optional(
        "Frequency [Hz]; default, for a gain: that of the analysis at which it is largest.", 1.5
    )


_TRANSFER = {"input": "suspension", "output": "comfort.z", "frequency": 1.5}


class Objective(Described):
    """One number made of sensors over time, or of other objectives."""

    integral: Formula | None = optional("Integrand over the whole time.", "dot(v2, v2)")
    mean: Formula | None = optional("Expression whose mean over the whole time is taken.", "v2.x")
    rms: Formula | None = optional("Expression whose root mean square over time is taken.", "q - t")
    final: Formula | None = optional("Expression taken at the end.", "r2.x - 0.5")
    maximum: Formula | None = optional("Expression whose largest value over time is taken.", "norm(a2)")
    minimum: Formula | None = optional("Expression whose smallest value over time is taken.", "gap")
    sharpness: Positive | None = optional(
        "Sharpness s of a smooth maximum log(mean exp(s f)) / s, or minimum, in place of the true one.", 50.0
    )
    at: At | None = optional("Expression taken at one time.", {"time": 0.5, "value": "r2.x"})
    expression: Formula | None = optional("Expression of other objectives.", "psi1 + 0.1*psi2")
    frequency: int | None = mode("Natural frequency of a mode [Hz]: the magnitude of its eigenvalue over 2 pi")
    damping_ratio: int | None = mode("Damping ratio of a mode")
    real_part: _OrdinalOrLargest | None = optional(
        "Real part of the eigenvalue of a mode [1/s], by its number, or the largest of all.", 1, "largest"
    )
    imaginary_part: int | None = mode("Imaginary part of the eigenvalue of a mode [rad/s]")
    gain: Transfer | None = optional("Amplitude of an output over that of an input.", _TRANSFER)
    phase: Transfer | None = optional("Angle by which an output is ahead of an input, -pi to pi [rad].", _TRANSFER)
    unit: Label = field("Unit, for tables and result files.", "m^2 s", default="")

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

    @complete
    def _one_kind(self) -> None:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        kinds = "integral, mean, rms, maximum, minimum, final, at, expression, gain, phase or a number of a mode"
        require_one(f"only one of {', '.join(given)}" if given else f"one of {kinds}", len(given) != 1)
        require_one("maximum or minimum beside sharpness", self.sharpness is not None and given[0] not in EXTREMES)
        require_one("phase and frequency together", self.phase is not None and self.phase.frequency is None)


class SensorValue(Spec):
    """Value of a sensor at one time."""

    time: Number = field("Time [s].", 1.0)
    value: Annotated[Number | Many[Number], ByKind()] = field("Value, or the components of a vector.", [0.81, -2.1, 0])


class Check(Described):
    """One reference: of an objective, of a sensor over time, of the mechanism's structure, or of other methods."""

    objective: named.Objective | None = optional("Objective that is compared.", "psi1")
    value: Number | None = optional("Reference of its value.", 0.72688)
    gradient: dict[named.Parameter, Number] = field("Reference of its gradient.", {"L_s1": -4.2288}, default={})
    field_gradient: dict[named.FieldOfGradients, dict[named.Text, Number]] = field(
        "Reference of its derivatives by elements of fields, counted from 0; tolerances are of their norm.",
        {"rho": {"0": -0.01076, "40": -0.002684}},
        default={},
    )
    sensor: named.Shown | None = optional("Sensor that is compared.", "r2")
    values: Many[SensorValue] = field("References of the sensor.", [{"time": 1, "value": 0.5}], default=())
    redundant_constraints: int | None = optional("How many constraints are redundant.", 3, ge=0)
    mobility: int | None = optional("Degrees of freedom.", 1, ge=0)
    agreement: Many[Literal[Formulation, "complex_step", "adjoint"]] = field(
        "Other formulations, or complex_step or adjoint: they repeat the analysis, and give the same objectives and "
        "gradients.",
        ["conventional", "complex_step"],
        default=(),
    )
    objectives: Many[named.Objective] = field("Objectives that must agree; default all.", ["psi1"], default=())
    relative_tolerance: NotNegative = field("Relative tolerance.", 2e-4, default=1e-6)
    absolute_tolerance: NotNegative = field("Absolute tolerance, added.", 1e-9, default=0.0)
    source: named.Text | None = optional("Where the reference comes from.", "Table 7")

    @complete
    def _one_kind(self) -> None:
        kinds = (self.objective, self.sensor, self.redundant_constraints, self.mobility, self.agreement or None)
        count = sum(kind is not None for kind in kinds)
        require_one("one of objective, sensor, redundant_constraints, mobility and agreement", count != 1)
        require_one("agreement beside objectives", bool(self.objectives) and not self.agreement)
        compared = self.value is not None or bool(self.gradient) or bool(self.field_gradient)
        require_one("objective beside value or gradient", self.objective is None and compared)
        require_one("value or gradient beside objective", self.objective is not None and not compared)
        structure = self.redundant_constraints is not None or self.mobility is not None
        tolerances = self.model_fields_set & {"relative_tolerance", "absolute_tolerance"}
        require_one("no tolerance: whole numbers agree or do not", structure and bool(tolerances))
        require_one("sensor and values together", (self.sensor is None) != (not self.values))
