"""Allocation of the arrays of a simulation, and a single time point with its directions of differentiation."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.linear_solve import PIVOTS, NormalEquations
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import BY_PENALTY, Columns, Factor
from mbsim_cli.kernels.algorithms.elimination.structure import Panels, lists, tree_panels
from mbsim_cli.kernels.algorithms.equations.constraints import LINE_SIZE
from mbsim_cli.kernels.algorithms.equations.forces import Turns, turns
from mbsim_cli.kernels.algorithms.equations.residual_variation import resting
from mbsim_cli.kernels.algorithms.flexible import workspace as flexible
from mbsim_cli.kernels.algorithms.motion import workspace as rigid
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Directions, Kinematics, Twists
from mbsim_cli.kernels.algorithms.natural import workspace as natural
from mbsim_cli.kernels.compiler.jit import bound
from mbsim_cli.kernels.compiler.simd import WIDTH, padded, zeros
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import SensitivityWork, Work
from mbsim_cli.kernels.drivers.time_points import Linearisation, close_loops, linearise, stand
from mbsim_cli.kernels.elements import elements
from mbsim_cli.kernels.elements.element import Element
from mbsim_cli.kernels.integrators.ali3p import BY_UPDATES, HARDEST, WHOLE, Control, Equations, State
from mbsim_cli.kernels.integrators.ali3p_derivatives import OfProjections, Sensitivity
from mbsim_cli.kernels.integrators.predictor import ADDED, TERMS, Past
from mbsim_cli.kernels.integrators.singular_passage import TURNS, Watch
from mbsim_cli.model.codes import TURNING, Force, Measure, Sensor
from mbsim_cli.model.coordinates import among, are_elastic, kinds
from mbsim_cli.model.layout import NATURAL, NONE, STARTS_NEAR, FlexibleNatural, FlexibleTree, Model, Natural, Tree
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import distance_of_ground, units_of
from mbsim_cli.solve.breakpoints import onsets_of

if TYPE_CHECKING:
    from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints

NO_ROWS = np.zeros(0, np.int64)
STIFF = 1e3  # penalty ratio beyond which Newton's corrections need no multiplier updates
OF_POINTS = 10.0  # factor on the penalty ratio for natural coordinates in that case
SHORTEST = 2.0**-18  # shortest piece of a step that is divided at an onset of force, as a share of the step
MANY_COORDINATES = 16.0  # growth of round-off where a body's pose follows from many coordinates
Make = Callable[[tuple[int, ...], type], np.ndarray]  # allocates an array of a shape and type
BENDING = [kind for each in elements(Element) if each.quantities for kind in each.kinds]  # like contacts, with no law
PENALTY_RATIO = 1e-5  # of the user's penalty: the constraint term over inertia in the discrete equations


class Allocators(NamedTuple):
    """Functions that allocate the work arrays of a system."""

    sparsity: Callable[..., Panels]  # (model)
    kinematics: Callable[..., Any]  # (model, dtype)
    touch: Callable[..., Any]  # (model, dtheta)
    composite: Callable[..., Any]  # (model, dtype) of trees, (model, theta) of natural coordinates
    twists: Callable[..., Any]  # (model, p, dtype)
    adjoints: Callable[..., Any]  # (model, len(theta), p, dtype)
    virtual: Callable[..., Any]  # (model, p, dtype), of zeros


OF_NATURAL = natural.natural_twists, natural.natural_adjoints, natural.natural_virtual
ALLOCATORS = {
    Tree: Allocators(
        tree_panels, rigid.kinematics, rigid.touch, rigid.composite, rigid.twists, rigid.adjoints, rigid.virtual
    ),
    FlexibleTree: Allocators(
        tree_panels, flexible.flexible_kinematics, flexible.flexible_touch, flexible.flexible_composite,
        flexible.flexible_twists, flexible.flexible_adjoints, flexible.flexible_virtual,
    ),
    Natural: Allocators(
        natural.natural_sparsity, natural.natural_kinematics, natural.natural_touch, natural.natural_forces, *OF_NATURAL
    ),
    FlexibleNatural: Allocators(
        natural.natural_sparsity, natural.flexible_natural_kinematics, natural.flexible_natural_touch,
        natural.flexible_natural_forces, *OF_NATURAL,
    ),
}  # fmt: skip


def allocators(model: Model) -> Allocators:
    """The functions for the system of a model."""
    return ALLOCATORS[type(model.tree)]


def sizes(model: Model) -> tuple[int, int, int]:
    """Numbers of bodies, coordinates and constraints."""
    tree = model.tree
    rigid = tree.rigid.size if isinstance(tree, NATURAL) else 0
    return tree.parent.size, kinds(tree).size, model.constraints.measure.size + rigid


def control(problem: Problem, *, redundant: bool) -> Control:
    """Numbers of the integrator from the user's options."""
    options, forces = problem.options, problem.model.forces
    of_motion = (forces.kind == Force.ALONG_MEASURE) & (forces.law[:, 1:3] != NONE).any(axis=1)
    ratio = options.penalty * PENALTY_RATIO
    alone = ratio >= STIFF
    if options.natural and alone:
        ratio = max(ratio, min(OF_POINTS * ratio, HARDEST))
    return Control(
        float(options.step), WHOLE, options.formulation == "ali3p-rtdyn0", float(options.tolerance),
        float(options.gradient_tolerance), int(options.max_iterations), ratio, ratio * options.weighting,
        options.projection == "mass", bool(redundant), BY_PENALTY if alone else BY_UPDATES, SHORTEST * options.step,
        MANY_COORDINATES if options.natural else 1.0, bool((np.isin(forces.kind, BENDING) | of_motion).any()),
    )  # fmt: skip


def sensor_width(model: Model) -> int:
    """Number of values that all sensors read."""
    return int(model.sensors.first[-1])


def multiplier_sensors(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Indices of sensors of multipliers among all sensor values, and of the equations that they read."""
    reading = np.flatnonzero(model.sensors.kind == Sensor.MULTIPLIER)
    return model.sensors.first[reading], model.sensors.index[reading]


def jacobian(m: int, n: int, dtype: type) -> np.ndarray:
    """Allocate J (m, n), padded at the end because its last row, too, is read in blocks of columns."""
    return zeros((m * n + WIDTH,), dtype)[: m * n].reshape(m, n)


def factor(n: int, m: int, structure: Panels, dtype: type) -> Factor:
    """Allocate Factor."""
    count = 3 * structure.neighbour.size
    return Factor(
        T=zeros((n, padded(n)), dtype),
        J=jacobian(m, n, dtype),
        packed=np.zeros(structure.row_column.size, dtype),
        alpha=np.zeros(m),
        weight=np.zeros(n),
        least=np.zeros(n),
        extent=np.ones(n),
        row_extent=np.ones(m),
        sparsity=structure,
        lower=np.zeros(count, dtype),
        upper=np.zeros(count, dtype),
        inverse=np.zeros(max(n, PIVOTS * (n // 3)), dtype),
        lu=zeros((n, padded(n)), dtype),
        pivot=np.zeros(max(1, n), np.int64),
    )


def with_units(factor: Factor, model: Model, theta: np.ndarray) -> Factor:
    """The same with the squared units of coordinates and constraints; lengths have one that fits the mechanism.

    Those of coordinates grow with the distance from the global origin, as round-off of positions does; natural
    coordinates contain it.
    """
    columns, rows = units_of(model, theta)
    if not isinstance(model.tree, NATURAL):
        columns = columns * distance_of_ground(model, theta)
    return factor._replace(extent=np.where(are_elastic(model.tree), 0.0, columns**2), row_extent=rows**2)


def another(tangent: Factor) -> Factor:
    """Allocate a Factor for the same equations."""
    m, n = tangent.J.shape
    found = factor(n, m, tangent.sparsity, tangent.T.dtype.type)
    return found._replace(J=tangent.J, least=tangent.least, extent=tangent.extent, row_extent=tangent.row_extent)


def columns(n: int, m: int, p: int, dtype: type) -> Columns:
    """Allocate Columns."""
    return Columns(*(zeros((rows, p), dtype) for rows in (n, m, n, m, n, m, m)))


def state(model: Model, dtype: type) -> State:
    """Allocate State."""
    _, n, m = sizes(model)
    return State(*(np.zeros(k, dtype) for k in (n, n, n, m, m, m)))


def sensitivity(model: Model, p: int, dtype: type) -> Sensitivity:
    """Allocate Sensitivity."""
    _, n, m = sizes(model)
    return Sensitivity(*(zeros((k, p), dtype) for k in (n, n, n, m, m, m)))


def grounded(model: Model, theta: np.ndarray) -> Kinematics:
    """Allocate Kinematics with the pose of the ground, and angles expected near their starting values."""
    kin, angles = allocators(model).kinematics(model, theta.dtype.type), model.measures.kind == Measure.ANGLE
    set_ground(theta, kin)
    kin.expected[angles] = theta[model.measures.theta[angles] + STARTS_NEAR].real
    return kin


def at_rest(kin: Kinematics) -> Kinematics:
    """Kinematics with the same poses, whose velocities and accelerations are its own."""
    return kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())


def watch(model: Model, structure: Panels, rows: np.ndarray) -> Watch:
    """Allocate Watch for the independent ``rows`` of the constraints; angles count that a constraint depends on."""
    k, n = rows.size, kinds(model.tree).size
    listed = [set(structure.row_column[structure.row_first[r] : structure.row_first[r + 1]].tolist()) for r in rows]
    partners = [  # of each row: itself and the rows behind it that share a coordinate with it
        np.array([a, *(b for b in range(a + 1, k) if not own.isdisjoint(listed[b]))], np.int64)
        for a, own in enumerate(listed)
    ]
    first_partner, partner = lists(partners)
    on_constraints = among(kinds(model.tree), TURNING) & np.isin(np.arange(n), structure.row_column)
    turns = model.tree.swing if isinstance(model.tree, NATURAL) else 1.0 * on_constraints
    motion = (np.zeros((TURNS, n)) for _ in range(3))
    return Watch(
        rows.astype(np.int64), first_partner, partner, np.zeros(k), np.zeros((k, k)), np.zeros(k),
        1.0 + np.arange(k)[:, None] / max(k, 1), np.zeros(n), np.zeros(n), turns, np.zeros(1), np.zeros(3, np.int64),
        np.zeros((TURNS, 2), np.int64), *motion,
    )  # fmt: skip


class WorkAtInstant(NamedTuple):
    """The work arrays of ``Work`` that a time point takes, without any step."""

    kin: Kinematics
    comp: Any
    eq: Equations
    turns: Turns


def work_at_instant(model: Model, theta: np.ndarray) -> WorkAtInstant:
    """Allocate WorkAtInstant."""
    kin, dtype = grounded(model, theta), theta.dtype.type
    comp = allocators(model).composite(model, theta if isinstance(model.tree, NATURAL) else dtype)
    _, n, m = sizes(model)
    others = (np.zeros(shape, dtype) for shape in ((m, LINE_SIZE), (m, 12), m, m, m, n, n))
    return WorkAtInstant(kin, comp, Equations(jacobian(m, n, dtype), *others), turns(model))


def work(model: Model, theta: np.ndarray, rows: np.ndarray = NO_ROWS, least: np.ndarray | None = None) -> Work:
    """Allocate the work of a motion; ``rows`` are watched for singular positions, ``least`` is as in ``Problem``."""
    _, n, m = sizes(model)
    dtype, onsets = theta.dtype.type, onsets_of(model, theta)
    kin, comp, eq, turning = work_at_instant(model, theta)
    structure = allocators(model).sparsity(model)
    if least is None:
        least = model.tree.least if isinstance(model.tree, NATURAL) else np.zeros(n)
    tangent = with_units(factor(n, m, structure, dtype), model, theta)
    tangent = tangent._replace(least=least.copy(), J=eq.J)  # a checkpoint restores all work arrays
    normal = NormalEquations(zeros((n, padded(n)), dtype), np.zeros(max(1, n), np.int64))
    return Work(
        kin, comp, eq, tangent, another(tangent), columns(n, m, 1, dtype), past(n, m, dtype), np.zeros((2, n), dtype),
        np.zeros(n, dtype), state(model, dtype), normal, turning, watch(model, structure, rows), onsets,
        np.zeros((onsets.force.size, 2), dtype), state(model, dtype),
    )  # fmt: skip


def past(n: int, m: int, dtype: type) -> Past:
    """Allocate Past, without earlier steps."""
    differences: list[np.ndarray] = [np.zeros((k, terms + 1), dtype) for k in (n, m) for terms in (TERMS, ADDED)]
    others: tuple[np.ndarray, ...] = np.zeros(m), np.zeros(n, dtype), np.zeros(m, dtype)
    return Past._make([*differences, *np.zeros((2, TERMS + 1)), *others])


def sensitivity_work(model: Model, p: int, tangent: Factor) -> SensitivityWork:
    """Allocate the work of sensitivities in p directions, by their ``tangent``."""
    dtype = tangent.T.dtype.type
    nb, n, m = sizes(model)
    systems = OfProjections(*(resting(nb, n, m, p, dtype) for _ in range(2)))
    common = columns(n, m, p, dtype)
    projections = OfProjections(*(common._replace(b=system.dG, e=system.dphi) for system in systems))
    return SensitivityWork(tangent, common, twists_of(model, p, dtype), np.zeros((2, n), dtype), systems, projections)


def twists_of(model: Model, p: int, dtype: type) -> Twists:
    """Allocate the variations of all bodies in p directions."""
    return allocators(model).twists(model, p, dtype)


def motion_adjoints(model: Model, rows: int, p: int, dtype: type) -> "MotionAdjoints":
    """Allocate adjoints of the motion at ``rows`` time points."""
    from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints

    _, n, m = sizes(model)
    return MotionAdjoints(*(zeros((rows, k, p), dtype) for k in (n, n, n, m)))


def padded_directions(theta_rho: np.ndarray, dtype: type) -> np.ndarray:
    """Directions dtheta (len(theta), ``padded(p)``) from theta_rho (len(theta), p); further ones are zero."""
    size, p = theta_rho.shape
    dtheta = zeros((size, padded(p)), dtype)
    dtheta[:, :p] = theta_rho
    return dtheta


def directions(model: Model, dtheta: np.ndarray, dtype: type) -> Directions:
    """Directions of differentiation from dtheta (len(theta), p), p ``simd.padded``."""
    return Directions(np.ascontiguousarray(dtheta, dtype), allocators(model).touch(model, dtheta))


def record(model: Model, rows: int, dtype: type, *, corrections: bool = False) -> Record:
    """Allocate the rows of a block, with ``corrections`` where a backward sweep will need them."""
    _, n, m = sizes(model)
    motion = _side_by_side(rows, [(n,), (n,), (n,), (m,), (m,), (m,), (m,), (sensor_width(model),), (3,)], dtype, zeros)
    turning = (model.measures.kind == Measure.ANGLE).any()
    expected = np.zeros((rows, model.measures.kind.size if turning else 0))
    corrected: np.ndarray = np.zeros((rows, 2 if corrections else 0, n), dtype)
    diagnostics = np.zeros(rows, np.int64), np.zeros((rows, 3))
    return Record._make([np.zeros(rows), *motion[:6], *diagnostics, *motion[6:], expected, corrected])


def sensitivity_record(model: Model, rows: int, p: int, dtype: type, make: Make = zeros) -> SensitivityRecord:
    """Allocate the rows of a block of sensitivities; ``make`` need not clear where all rows will be filled."""
    _, n, m = sizes(model)
    shapes = [(k, p) for k in (n, n, n, m, m, sensor_width(model))]
    return SensitivityRecord._make([*_side_by_side(rows, shapes, dtype, make), np.zeros(rows)])


def _side_by_side(rows: int, shapes: Sequence[tuple[int, ...]], dtype: type, make: Make) -> list[np.ndarray]:
    """Arrays (rows, *shape) in one allocation; each begins on a cache line."""
    counts = [rows * math.prod(shape) for shape in shapes]
    begins = np.cumsum([0, *map(padded, counts)]).tolist()
    room = make((begins.pop(),), dtype)
    parts = zip(begins, counts, shapes, strict=True)
    return [room[first : first + count].reshape(rows, *shape) for first, count, shape in parts]


class Evaluable:
    """A state, and the work arrays to evaluate it at one time point; ``theta`` may be complex.

    ``dtheta`` (len(theta), p), p ``padded``, holds the directions of differentiation. One ``beside`` another has the
    same state and work arrays, and other directions.
    """

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, beside: "Evaluable | None" = None) -> None:
        self.model, self.theta, self.dtheta, self.dtype = model, theta, dtheta, theta.dtype.type
        (_, n, m), p, nm = sizes(model), dtheta.shape[1], model.measures.kind.size
        self.n, self.m, self.p = n, m, p
        self.state: State = beside.state if beside else state(model, self.dtype)
        self.sens = sensitivity(model, p, self.dtype)
        self.work: WorkAtInstant = beside.work if beside else work_at_instant(model, theta)
        self.twists = twists_of(model, p, self.dtype)
        shapes = ((n, n), (n, padded(n)), (n, p), (3, m, p), (nm,), (nm, p))
        self.out = Linearisation(*(np.zeros(shape, self.dtype) for shape in shapes))
        self.update_directions()

    def update_directions(self) -> None:
        """Note which numbers vary."""
        self.directions = directions(self.model, self.dtheta, self.dtype)
        self._evaluate = self._entry()

    def evaluate(self, t: float = 0.0) -> None:
        """Evaluate the current state, and its derivatives along the current sensitivities."""
        self._evaluate(t)

    def _entry(self) -> Callable[[float], Any]:
        """The function of time that evaluates."""
        raise NotImplementedError


class Instant(Evaluable):
    """A time point of a mechanism in joint coordinates."""

    def __init__(self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, beside: Evaluable | None = None):
        self.at_center = control(problem, redundant=False).at_center
        super().__init__(problem.model, theta, dtheta, beside)
        first = self.model.tree.initial[0] + self.n
        self.d_rates = dtheta[first : first + self.n].copy()  # (n, p) derivatives of the declared velocities
        self.angles = self.work.turns.measure

    def evaluate(self, t: float = 0.0) -> None:
        """Evaluate as ``Evaluable`` does; angles are then expected near the values found."""
        super().evaluate(t)
        if self.angles.size:
            self.work.kin.expected[self.angles] = self.out.measures[self.angles].real

    def _entry(self) -> Callable[[float], Any]:
        work = self.work
        return bound(
            linearise, self.model, self.theta, 0.0, 0.0, self.at_center, self.directions, self.state, self.sens,
            work.kin, work.comp, work.eq, self.twists, self.out,
        )  # fmt: skip


class Geometry(Instant):
    """A time point of which constraints and measures alone are evaluated, not forces."""

    def _entry(self) -> Callable[[float], Any]:
        work = self.work
        return bound(
            close_loops, self.model, self.theta, self.at_center, self.directions, self.state, self.sens, work.kin,
            work.eq, self.twists, self.out,
        )  # fmt: skip


class Standing(Evaluable):
    """A time point of a mechanism in natural coordinates; angles are read near ``expected``."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, expected: np.ndarray) -> None:
        super().__init__(model, theta, dtheta)
        self.work.kin.expected[:] = expected

    def _entry(self) -> Callable[[float], Any]:
        work = self.work
        return bound(
            stand, self.model, self.theta, False, self.directions, self.state, self.sens, work.kin, work.comp, work.eq,
            self.twists, self.out,
        )  # fmt: skip


def evaluable(problem: Problem, theta: np.ndarray, dtheta: np.ndarray, expected: np.ndarray) -> Evaluable:
    """A time point with work arrays of its own; natural coordinates read angles near those ``expected``."""
    if problem.options.natural:
        return Standing(problem.model, theta, dtheta, expected)
    return Instant(problem, theta, dtheta)
