"""Interface of assembly and solver: ``Problem`` is the input, ``Block`` the output, some time points at once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.codes import DEFAULT_INTEGRATOR, INTEGRATORS
from mbsim_cli.model.layout import Model, Names, Reactions

WORK = ("steps", "rejected", "evaluations", "jacobians", "factorisations")  # what an integrator counts
OPEN_TREES = ("recursive", "conventional", "partial_recursive")  # formulations without constraints
CLOSED_LOOPS = ("ali1p-rtdyn1",)  # formulations with constraints that Runge-Kutta methods integrate
INTEGRATED = (*OPEN_TREES, *CLOSED_LOOPS)


class Response(NamedTuple):
    """Inputs and outputs of a frequency response, and where it is wanted."""

    inputs: tuple[str, ...]  # forces and laws
    outputs: tuple[str, ...]  # (o,)
    units: tuple[str, ...]  # (o,) of the outputs
    rows: tuple[int, ...]  # (o,) of the sensors
    frequencies: np.ndarray  # (F,) Hz


@dataclass(frozen=True)
class Options:
    """Choices of an analysis; times in seconds."""

    analysis: str = "forward_dynamics"
    start: str = "declared"  # declared | equilibrium: positions at the start of forward dynamics
    formulation: str = "ali3p-rtdyn1"
    step: float = 1e-3
    duration: float = 1.0
    sensitivity: str = "none"  # none | ddm | adjoint | fd
    output_interval: int = 1  # steps between stored time points
    tolerance: float = 1e-10  # of the motion, relative: last Newton correction, or local error of an open tree
    gradient_tolerance: float = 1e-10  # of the sensitivities, relative
    max_iterations: int = 20
    penalty: float = 1e11  # at 1 kg and 1 ms, see docs/theory/ali3p.md
    weighting: float = 1.0  # of the projections' penalty
    projection: str = "mass"  # mass | identity
    integrator: str = DEFAULT_INTEGRATOR  # of open trees
    absolute_tolerance: float = 1e-10  # of the local error of an open tree
    max_steps: int = 10_000_000  # that an adaptive integrator of an open tree may try
    memory: float | None = None  # bytes that the time points kept for an adjoint may take; None for as many as usual
    onset_steps: float = 8.0  # in which a force begins, at least: longer ones are divided
    at: str | None = None  # equilibrium | start: what modes are about
    modes: int | None = None  # that are wanted, None: all
    error_control: str = "motion"  # motion | sensitivities: what the tolerances of an open tree hold for

    @property
    def at_once(self) -> bool:
        """Whether the analysis is of one time point."""
        return self.analysis in ("equilibrium", "modes", "frequency_response")

    @property
    def natural(self) -> bool:
        """Whether the coordinates are natural ones."""
        return self.formulation == "ali3p-natural"

    @property
    def differentiates(self) -> bool:
        """Whether the solver itself gives derivatives."""
        return self.sensitivity in ("ddm", "adjoint")

    @property
    def end(self) -> float:
        """When the last step ends, s."""
        return round(self.duration / self.step) * self.step

    @property
    def open_tree(self) -> bool:
        """Whether the formulation is one of open trees."""
        return self.formulation in OPEN_TREES

    @property
    def integrated(self) -> bool:
        """Whether a Runge-Kutta method integrates the formulation as an ordinary differential equation."""
        return self.formulation in INTEGRATED

    @property
    def adaptive(self) -> bool:
        """Whether the integrator chooses its steps; ``step`` is then the time between time points."""
        return self.integrated and INTEGRATORS[self.integrator].adaptive

    @property
    def implicit(self) -> bool:
        """Whether the integrator iterates its stages."""
        return self.integrated and INTEGRATORS[self.integrator].implicit


class Prescribed(NamedTuple):
    """Motion that an inverse analysis follows: a law for each coordinate, or a column of a table."""

    law: np.ndarray  # (n,) law of time, or NONE where the table gives the coordinate
    sign: np.ndarray  # (n,) the column holds sign times what the law or the table gives
    table_column: np.ndarray  # (k,) coordinates that the table gives
    table_time: np.ndarray  # (K,) s, increasing
    table: np.ndarray  # (1 or 3, K, k) positions, or also velocities and accelerations
    table_scale: np.ndarray  # (k,) theta index of the factor on each column of the table
    extrapolate: str = "none"  # hold | linear: what the table gives beyond its times
    torque_rows: tuple[tuple[int, float], ...] = ()  # (coordinate, sign) of each row that torque sensors fill

    @property
    def torque_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and signs of ``torque_rows``."""
        columns = np.array([column for column, _ in self.torque_rows], dtype=np.int64)
        return columns, np.array([sign for _, sign in self.torque_rows], dtype=float)

    @property
    def splined(self) -> bool:
        """Whether a table gives positions alone, of any coordinate."""
        return self.table.shape[0] == 1 and self.table.shape[2] > 0


class Drives(NamedTuple):
    """Of inverse dynamics of a mechanism with loops: constraints that give the motion, and coordinates that are driven.

    These constraints take no force; the drives exert what they would.
    """

    row: np.ndarray  # (f,) constraints that give the motion
    column: np.ndarray  # (f,) coordinate that each is, or NONE of points and bodies
    sign: np.ndarray  # (f,) the constraint's measure is sign times the coordinate
    tabled: np.ndarray  # (k,) numbers, in ``row``, of those that the table gives
    drive: np.ndarray  # (d,) coordinates, d >= f
    weight: np.ndarray  # (d,) theta index of the weight of each squared drive


class Reacting(NamedTuple):
    """Reactions that sensors read, and the model that they are computed with; their rows follow the other sensors.

    ``model`` is the model of the motion with the ``identities`` as last equations. Multipliers of identities are not
    determined, and neither are reactions that depend on them.
    """

    model: Model
    reactions: Reactions
    identities: int = 0

    @property
    def width(self) -> int:
        """Number of their rows."""
        return 6 * self.reactions.joint.size


class Gap(NamedTuple):
    """The gap of a stop, contact or tyre, whose force begins where the gap closes."""

    force: int
    row: int  # of the record of sensors, which holds the gap's coordinate
    side: int  # 1: contact above the closing value, -1: below
    begins: tuple[int, ...] = ()  # offsets in theta whose sum is the closing value


class Split(NamedTuple):
    """A time at which accelerations jump, or have a corner, so that integrals are split there."""

    numbers: tuple[int, ...]  # offsets in theta whose sum is the time
    before: tuple[float, float]  # from and to which time points lie between it and the change of a law before, s
    behind: tuple[float, float]
    corner: bool = False


class Branching(NamedTuple):
    """An expression of a force that may jump: it compares numbers, or takes a sign."""

    signal: int  # in ``Model.signals``
    place: str  # in the file
    rows: tuple[int, ...]  # of the record of sensors: g and g' of the force's measure, NONE without one, and the inputs


@dataclass(frozen=True)
class Problem:
    """A model with its numbers: all input of a solver, independent of the model file.

    ``theta_rho`` (len(theta), p) is d theta / d rho by the p parameters of sensitivities, in the order of
    ``names.parameters``.
    """

    model: Model
    names: Names
    theta: np.ndarray
    theta_rho: np.ndarray
    independent: np.ndarray  # (n,) bool: initial positions that keep their declared values
    independent_velocity: np.ndarray  # (n,) bool
    automatic: tuple[tuple[int, int], ...] = ()  # (theta index, measure): theta takes the initial value
    options: Options = field(default_factory=Options)
    prescribed: Prescribed | None = None  # of inverse dynamics
    drives: Drives | None = None  # of inverse dynamics with loops
    hold: tuple[int, ...] = ()  # coordinates that keep their initial values in a static equilibrium
    reacting: Reacting | None = None
    response: Response | None = None  # of an analysis of frequency response
    least: np.ndarray | None = None  # (n,) least inertia for penalties; None for natural ones
    system: Any = None  # solve.natural.system.NaturalSystem of natural coordinates: ``names`` are its own
    moved: np.ndarray | None = None  # (len(theta), w) d theta by the numbers that fields determine
    broken: tuple[tuple[int, int], ...] = ()  # (parameter, identity that it violates), by number
    stops: tuple[tuple[int, ...], ...] = ()  # for each event time of ALI3-P, offsets in theta of its summands
    gaps: tuple[Gap, ...] = ()  # observed for grazing
    branchings: tuple[Branching, ...] = ()  # observed for jumps
    expressed: tuple[Any, ...] = ()  # assembly.objectives.Objective of each number of sensors of type expression
    movable: np.ndarray | None = None  # (len(theta),) bool: numbers of laws that depend on parameters
    jumps: frozenset[int] = frozenset()  # offsets in theta of times at which accelerations jump
    splits: tuple[Split, ...] = ()  # in order of time; empty without integrals
    value_splits: tuple[Split, ...] = ()  # of extremes and values at single times; empty without these
    summed_laws: tuple[int, ...] = ()  # of comparisons of t that sums over time alone read
    ahead: Any = None  # solve.lanes.RunAhead, if the run is already made in a lane
    summed: bool = False  # an objective is an integral: adaptive integrators add time points inside steps

    @property
    def touching(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the record of sensors (g,) and closing values (g,) of all gaps."""
        values = [self.theta.real[list(gap.begins)].sum() for gap in self.gaps]
        return np.array([gap.row for gap in self.gaps], int), np.array(values, float)


class Block(NamedTuple):
    """B stored time points. Sensitivities have a trailing axis of p parameters (p = 0 without them)."""

    time: np.ndarray  # (B,)
    position: np.ndarray  # (B, n)
    velocity: np.ndarray  # (B, n)
    acceleration: np.ndarray  # (B, n)
    lambda_: np.ndarray  # (B, m)
    sigma: np.ndarray  # (B, m)
    kappa: np.ndarray  # (B, m)
    sensors: np.ndarray  # (B, width)
    d_position: np.ndarray  # (B, n, p)
    d_velocity: np.ndarray  # (B, n, p)
    d_acceleration: np.ndarray  # (B, n, p)
    d_lambda: np.ndarray  # (B, m, p)
    d_sensors: np.ndarray  # (B, width, p)
    iterations: np.ndarray  # (B,) Newton iterations of the step that ends here; for open trees its evaluations
    drift: np.ndarray  # (B, 3) largest |Phi|, |Phi'|, |Phi''|
    energy: np.ndarray  # (B, 3) kinetic, potential, power of all forces without potential
    gradient_error: np.ndarray  # (B,) relative size of the last correction of the sensitivities
    work: np.ndarray  # (B, 5) counts of WORK since the time point before, of an open tree
    broken: np.ndarray  # (B, p) number in ``Names.equation`` of the equation that a direction breaks, negative where
    # it moves that equation in a singular position passed before, or 0; one more than the number of equations where it
    # drives a neutral motion, so that there is no equilibrium nearby
    free: np.ndarray  # (B, m) bool: multipliers that the motion does not determine
    singular: np.ndarray  # (B, m) bool: constraints that lost their rank in a position passed since the row before
    undetermined: np.ndarray  # (B, width) bool: reactions that redundant constraints leave open, which are NaN
    rest: np.ndarray  # (B,) solve.equilibrium.Equilibrium that a motion starts from, else None
    lost: np.ndarray  # (B,) why forces of constraints were not found and sensors of them are NaN, else None
    linear: np.ndarray  # (B,) solve.linear's Found or Responses if small motions are about this point, else None
    inside: Any = ()  # Blocks of time points inside steps, nodes of the quadrature of integrals: one of each run that
    # gives derivatives; none if the stored time points are the nodes
    length: Any = None  # (B,) weights of such nodes in an integral, s
    reach: Any = None  # length of steps of dop853 so far over the stable one, where stability bounds them; else 0


def instants_of(block: Any, picked: slice | list[int]) -> Any:
    """Some time points of a block of forward or inverse dynamics; copies if ``picked`` is a list."""
    return block._replace(**{n: rows[picked] for n, rows in block._asdict().items() if isinstance(rows, np.ndarray)})


class Motion(NamedTuple):
    """B time points of a given motion."""

    time: np.ndarray  # (B,)
    position: np.ndarray  # (B, n)
    velocity: np.ndarray  # (B, n)
    acceleration: np.ndarray  # (B, n)


class Torques(NamedTuple):
    """Torques along a given motion, and their derivatives; those that are not wanted have no columns."""

    torque: np.ndarray  # (B, n)
    by_position: np.ndarray  # (B, n, n): d torque_i / d q_m
    by_velocity: np.ndarray  # (B, n, n)
    by_acceleration: np.ndarray  # (B, n, n)
    by_parameter: np.ndarray  # (B, n, p), the motion held
    finite: np.ndarray  # (B,) bool: whether all of these are known to be finite


class InverseBlock(NamedTuple):
    """B stored time points of inverse dynamics; without sensitivities the last axes are empty."""

    time: np.ndarray  # (B,)
    position: np.ndarray  # (B, n)
    velocity: np.ndarray  # (B, n)
    acceleration: np.ndarray  # (B, n)
    torque: np.ndarray  # (B, n)
    by_position: np.ndarray  # (B, n, n)
    by_velocity: np.ndarray  # (B, n, n)
    by_acceleration: np.ndarray  # (B, n, n)
    by_parameter: np.ndarray  # (B, n, p), through the motion too
    sensors: np.ndarray  # (B, width)
    d_sensors: np.ndarray  # (B, width, p)
    undetermined: np.ndarray  # (B, width) bool, as of ``Block``
    finite: np.ndarray  # (B,) bool: whether the torques and all their derivatives are known to be finite
    broken: Any = None  # (B, p) as of ``Block``; None for open trees, which no direction breaks


# Numbers of eigenvalues and of frequency responses.


def frequency(value: np.ndarray, d_value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|eigenvalue| / 2 pi [Hz] (k,), and derivatives (k, p)."""
    size = np.abs(value)
    return size / (2.0 * np.pi), (value.conj()[:, None] * d_value).real / size[:, None] / (2.0 * np.pi)


def damping_ratio(value: np.ndarray, d_value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """- Re(eigenvalue) / |eigenvalue| (k,), and derivatives (k, p)."""
    size = np.abs(value)
    d_size = (value.conj()[:, None] * d_value).real / size[:, None]
    ratio = -value.real / size
    return ratio, -(d_value.real + ratio[:, None] * d_size) / size[:, None]


MODE_NUMBERS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "frequency": frequency,
    "damping_ratio": damping_ratio,
    "real_part": lambda value, d_value: (value.real, d_value.real),
    "imaginary_part": lambda value, d_value: (value.imag, d_value.imag),
}


def gain(value: complex, d_value: np.ndarray) -> tuple[float, np.ndarray]:
    """|G|, and its derivatives (p,), zero where it is zero."""
    size = abs(value)
    return size, (np.conj(value) * d_value).real / (size or 1.0)


def phase(value: complex, d_value: np.ndarray) -> tuple[float, np.ndarray]:
    """arg G [rad], and its derivatives (p,), none where G is zero."""
    return float(np.angle(value)), (d_value / (value or np.nan)).imag
