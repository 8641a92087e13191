"""Analysis: what is computed, how, and to what accuracy."""

from typing import Annotated, Any, Literal, get_args

from mbsim_cli.model.codes import AUTO_INTEGRATOR, DEFAULT_INTEGRATOR, INTEGRATORS
from mbsim_cli.spec.base import ByKind, Spec, field, named, needs, optional
from mbsim_cli.spec.expressions.number import AutoNumber, Many, Number, Positive, Sign, Some, formula
from mbsim_cli.spec.families import LawOrName
from mbsim_cli.spec.tables import TableFile

OpenTree = Literal["recursive", "conventional", "partial_recursive"]
ClosedLoop = Literal["ali1p-rtdyn1"]
Formulation = Literal["ali3p-rtdyn0", "ali3p-rtdyn1", "ali3p-natural", OpenTree, ClosedLoop]
Integrator = Literal["rk4", "dop853", "esdirk", "auto"]
Method = Literal["none", "ddm", "adjoint", "auto", "fd"]
FORMULATIONS, OPEN_TREES, CLOSED_LOOPS, METHODS = map(get_args, (Formulation, OpenTree, ClosedLoop, Method))
INTEGRATED = (*OPEN_TREES, *CLOSED_LOOPS)  # by Runge-Kutta methods
OF_INTEGRATED = ("integrator", "absolute_tolerance", "error_control", "max_steps")  # settings that only these have
OF_CONSTRAINTS = ("penalty", "weighting", "projection")  # and those that only the others have
OF_FORMULATION = (*OF_INTEGRATED, *OF_CONSTRAINTS, "max_iterations")  # that another family does not take over
WITH_ADJOINT = "error_control: motion has one"
SENSITIVITIES = "sensitivities"


def without_adjoint(formulation: str | None, integrator: str | None, error_control: str | None) -> str:
    """What has no adjoint, in words; empty where there is one. None is for an analysis that has no such choice.

    Derivatives that control the steps are those of the direct method.
    """
    name = DEFAULT_INTEGRATOR if integrator in (None, AUTO_INTEGRATOR) else integrator
    if formulation in INTEGRATED and INTEGRATORS[name].adaptive and error_control == SENSITIVITIES:
        return f"error_control: {SENSITIVITIES}"
    return ""


class Sensitivity(Spec):
    """Which gradients, by which method."""

    method: Method = field(
        "none; ddm: direct differentiation; adjoint: by one sweep back, whatever the number of parameters; "
        "auto: the quicker of these two; fd: central differences.",
        "ddm",
        default="ddm",
    )
    parameters: Annotated[Literal["all"] | Many[named.Parameter], ByKind()] = field(
        "Parameters that gradients are wanted for, or all.", ["L_s1", "L_s2"], "all", default="all"
    )
    fields: Many[named.Field] = field("Fields that gradients are wanted for, by every element.", ["rho"], default=())


def gradients() -> Any:
    """Return the field for gradients, none by default."""
    example = {"method": "ddm", "parameters": "all"}
    return field("Gradients.", example, default_factory=lambda: Sensitivity(method="none"))


def hold() -> Any:
    """Return the field for coordinates that a static equilibrium leaves alone."""
    return field(
        "Coordinates, JOINT.coordinate, that keep their initial values in the equilibrium, whatever acts on them.",
        ["hub.angle"],
        default=(),
    )


class Analysis(Spec):
    """One analysis of the model."""

    in_example = ("step", "duration", "sensitivity")

    type: Literal["forward_dynamics"] = field("Kind of analysis.", "forward_dynamics", default="forward_dynamics")
    formulation: Formulation = field(
        "Equations of motion; ali1p-rtdyn1 integrates closed loops by Runge-Kutta methods, to any accuracy; recursive, "
        "conventional and partial_recursive are of open trees.",
        "ali3p-rtdyn1",
        default="ali3p-rtdyn1",
    )
    integrator: Integrator | None = optional(
        "Of open trees and ali1p-rtdyn1: rk4, fixed steps; dop853, adaptive; esdirk, adaptive and implicit, for stiff "
        "models; auto: dop853 or esdirk, chosen by the first steps; default dop853.",
        "esdirk",
    )
    start: Literal["declared", "equilibrium"] = field(
        "Positions at time zero: those declared, or those of the static equilibrium near them; velocities as declared.",
        "equilibrium",
        default="declared",
    )
    hold: Many[named.Coordinate] = hold()
    step: Annotated[AutoNumber, Sign.POSITIVE] = field(
        "Time step [s]; of an adaptive integrator the time between output times. "
        "Or auto: halved until objectives and gradients are as accurate as asked.",
        1e-3,
        "auto",
        default=1e-3,
    )
    accuracy: Positive | None = optional(
        "Relative discretisation error of objectives and gradients that step: auto allows; default 1e-4.", 1e-4
    )
    duration: Positive = field("Duration [s].", 5.0, default=1.0)
    output_interval: Positive | None = optional("Time between output times [s]; default the step.", 0.01)
    tolerance: Positive = field(
        "Relative tolerance of the motion, whether gradients are wanted or not.", 1e-10, default=1e-10
    )
    absolute_tolerance: Positive | None = optional(
        "Absolute tolerance of an adaptive integrator; default the value of tolerance.", 1e-10
    )
    error_control: Literal["motion", "sensitivities"] | None = optional(
        "Errors that an adaptive integrator keeps within the tolerances: of the motion, or of its sensitivities too; "
        "default motion.",
        "sensitivities",
    )
    max_steps: int | None = optional(
        "Steps that an adaptive integrator may try in a run; default 10 000 000.", 100_000, ge=1, le=1_000_000_000
    )
    gradient_tolerance: Positive = field("Relative tolerance of the gradients.", 1e-10, default=1e-10)
    max_iterations: int = field("Newton iterations of an implicit step at most.", 20, default=20, ge=1, le=1000)
    penalty: Positive = field(
        "Penalty factor at 1 kg and 1 ms; default 1e11, more where light bodies move heavy ones.", 1e11, default=1e11
    )
    weighting: Positive = field("Factor on the penalty of the projections.", 1.0, default=1.0)
    projection: Literal["mass", "identity"] = field("Metric of the projections.", "mass", default="mass")
    sensitivity: Sensitivity = gradients()


LINEAR = ("modes", "frequency_response")  # kinds of analysis of small motions
WITHOUT_ADJOINT = {kind: f"type: {kind}" for kind in LINEAR}  # kinds of analysis, in words


def lacks_adjoint(analysis: Any, formulation: str | None = None, integrator: str | None = None) -> str:
    """``without_adjoint`` of an analysis as the file has it, or with another formulation and integrator."""
    if analysis.type in WITHOUT_ADJOINT:
        return WITHOUT_ADJOINT[analysis.type]
    asked = {"formulation": formulation, "integrator": integrator, "error_control": None}
    return without_adjoint(*(stated or getattr(analysis, key, None) for key, stated in asked.items()))


class Equilibrium(Spec):
    """Positions, multipliers and sensors of the mechanism at rest, at time zero."""

    in_example = ("sensitivity",)

    type: Literal["equilibrium"] = field("Kind of analysis.", "equilibrium")
    hold: Many[named.Coordinate] = hold()
    sensitivity: Sensitivity = gradients()


# Small motions about an equilibrium or about a steady motion: their modes, and how they answer to inputs.


class SmallMotions(Spec):
    """Small motions about one position, at time zero."""

    at: Literal["equilibrium", "start"] = field(
        "Operating point: the static equilibrium near the declared position, or the start, with its velocities.",
        "start",
        default="equilibrium",
    )
    start: Literal["declared", "equilibrium"] | None = optional(
        "With at: start, positions there: those declared, or those of the static equilibrium near them; "
        "default declared.",
        "equilibrium",
    )
    hold: Many[named.Coordinate] = hold()
    sensitivity: Sensitivity = gradients()


class Modes(SmallMotions):
    """Natural frequencies, damping ratios and mode shapes, at time zero."""

    in_example = ("count",)

    type: Literal["modes"] = field("Kind of analysis.", "modes")
    count: int | None = optional(
        "Modes in results, those of the smallest eigenvalues; default all.", 10, ge=1, le=1_000_000
    )


class Frequencies(Spec):
    """So many frequencies from one to another, both included."""

    from_: Positive = field("First frequency [Hz].", 0.1, alias="from")
    to: Positive = field("Last frequency [Hz].", 100)
    count: int = field("How many, both ends included.", 201, default=201, ge=2, le=1_000_000)
    scale: Literal["linear", "log"] = field(
        "Equal distances (linear) or equal ratios (log) between frequencies.", "linear", default="log"
    )


class FrequencyResponse(SmallMotions):
    """Response of sensors to small harmonic inputs over a range of frequencies."""

    in_example = ("outputs",)

    type: Literal["frequency_response"] = field("Kind of analysis.", "frequency_response")
    inputs: Some[named.Input] = field(
        "Forces, their components as FORCE.x, and laws of forces that the inputs are added to.", ["suspension"]
    )
    outputs: Many[named.Output] = field("SENSOR or SENSOR.component; default all sensors.", ["comfort.z"], default=())
    frequencies: Annotated[Many[Positive] | Frequencies, ByKind()] = field(
        "Frequencies [Hz]: a list, or a range.", {"from": 0.1, "to": 100, "count": 201}, [0.5, 1, 2]
    )


class MotionTable(TableFile):
    """Coordinates, JOINT.coordinate, over time; a result of mbsim serves too."""

    derivatives: Literal["spline", "table"] = field(
        "spline: positions only, derivatives are those of a cubic spline; "
        "table: velocities and accelerations stand in columns NAME.velocity and NAME.acceleration.",
        "table",
        default="spline",
    )


class Motion(Spec):
    """Motion of every coordinate over time."""

    all: LawOrName | None = optional(
        "Law of every coordinate that laws and table do not give.", {"type": "harmonic", "amplitude": 1, "frequency": 1}
    )
    laws: dict[named.MovedCoordinate, LawOrName] = field(
        "Law of single coordinates, JOINT.coordinate.", {"q1.angle": "wave"}, default={}
    )
    table: MotionTable | None = optional("Table of coordinates.", {"file": "walk.csv"})
    constraints: Many[named.ConstraintThatMoves] = field(
        "With loops: constraints whose laws prescribe the motion, such as that of a tool; they exert no force.",
        ["tool_x"],
        default=(),
    )

    _something = needs(
        "all, laws, table or constraints",
        lambda item: item.all is None and not item.laws and item.table is None and not item.constraints,
    )


class InverseDynamics(Spec):
    """Torques that a given motion takes, and their derivatives."""

    type: Literal["inverse_dynamics"] = field("Kind of analysis.", "inverse_dynamics")
    sampling: Positive = field("Time between two samples [s].", 0.01)
    duration: Positive = field("Duration [s].", 3.0)
    motion: Motion = field("The motion.", {"all": "wave"})
    drives: Many[named.Drive] = field(
        "With loops: driven coordinates, JOINT.coordinate; default: those whose motion is prescribed.",
        ["left.angle", "right.angle"],
        default=(),
    )
    redundancy: Literal["least_norm"] | None = optional(
        "With more drives than freedoms: least_norm minimises the sum of squared drives.", "least_norm"
    )
    weights: dict[named.Drive, Positive] = field(
        "Weights of squared drives; default 1.", {"left.angle": 2, "right.angle": "1/4"}, default={}
    )
    sensitivity: Sensitivity = gradients()


class Range(Spec):
    """A range of a coordinate, from end to end at a constant rate."""

    from_: Number = field("First value [m or rad].", 0, alias="from")
    to: Number = field("Last value [m or rad].", "360 deg")
    count: int = field("Samples, both ends included.", 361, ge=2, le=10_000_000)


class Kinematics(Spec):
    """Positions, velocities, accelerations and reactions of a driven mechanism, without integration."""

    in_example = ("sweep",)

    type: Literal["kinematics"] = field("Kind of analysis.", "kinematics")
    sampling: Positive | None = optional("Time between two samples [s]; a sweep states a count instead.", 0.01)
    duration: Positive | None = optional("Duration [s]; default 1 with a sweep.", 3.0)
    sweep: dict[named.SweptCoordinate, Range] = field(
        "Ranges of coordinates, JOINT.coordinate, that drive the mechanism beside its laws, all together.",
        {"crank.angle": {"from": 0, "to": "360 deg", "count": 361}},
        default={},
    )
    sensitivity: Sensitivity = gradients()

    @property
    def lasts(self) -> Number:
        """Duration."""
        return Number(1.0) if self.duration is None else self.duration

    @property
    def intervals(self) -> int:
        """Number of intervals between the samples of a sweep."""
        return next((each.count - 1 for each in self.sweep.values()), 1)

    @property
    def samples(self) -> Number:
        """Time between two samples."""
        if self.sampling is not None:
            return self.sampling
        return formula("T/n", {"T": self.lasts, "n": Number(float(self.intervals))})
