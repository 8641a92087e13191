"""Runge-Kutta methods: tableaus, driver, step control and work; closed loops as ordinary differential equations."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from mbsim_cli.kernels.algebra.linear_solve import NormalEquations
from mbsim_cli.kernels.algorithms.closed_loops import Loops
from mbsim_cli.kernels.algorithms.equations.constraints import LINE_SIZE
from mbsim_cli.kernels.algorithms.equations.residual_variation import resting
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.course import COURSE, Scheme
from mbsim_cli.kernels.drivers.integrate import IntegrationWork, integrate
from mbsim_cli.kernels.drivers.integrate_implicit import ImplicitControl, ImplicitWork, integrate_implicit
from mbsim_cli.kernels.drivers.stepping import BEFORE_START, CLOCK
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.kernels.integrators.dense_output import TERMS, Dense, Ends
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau, LoopStages, NewtonControl, StageEquations
from mbsim_cli.kernels.integrators.runge_kutta import Carry, ErrorControl, Stages, Tableau
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.model.layout import NONE, Model
from mbsim_cli.model.problem import WORK, Options, Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.breakpoints import breakpoints_of, onsets_of
from mbsim_cli.solve.open_trees import dop853_coefficients as dop853


@cache
def tableau(name: str) -> Tableau | ImplicitTableau:
    """The method of that name; its arrays are shared and must not change."""
    if name == "rk4":  # the classical method of order 4; Kutta (1901)
        a = np.zeros((5, 5))
        a[1, 0] = a[2, 1] = 0.5
        a[3, 2] = 1.0
        b = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
        return Tableau(a, b, np.array([0.0, 0.5, 0.5, 1.0, 1.0]), np.zeros((2, 5)), np.zeros((0, 5)))
    if name == "dop853":  # the pair 8(5,3) of Dormand and Prince, with dense output of order 7
        a = _dense(dop853.A, 16)
        return Tableau(a, a[12, :12].copy(), np.array(dop853.C), _dense(dop853.E, 13), _dense(dop853.D, 16))
    if name == "esdirk":
        return _esdirk()
    raise KeyError(name)


def stages_kept(method: Tableau | ImplicitTableau) -> int:
    """Rows of stages in ``drivers.record.Steps``."""
    return method.c.size + (2 if isinstance(method, ImplicitTableau) else 0)


def _esdirk() -> ImplicitTableau:
    """ESDIRK4(3)6L[2]SA; Kennedy and Carpenter, Applied Numerical Mathematics 44 (2003), appendix D."""
    a = 0.25 * np.eye(6)
    a[0, 0] = 0.0
    a[1, 0] = 1 / 4
    a[2, :2] = 8611 / 62500, -1743 / 31250
    a[3, :3] = 5012029 / 34652500, -654441 / 2922500, 174375 / 388108
    a[4, :4] = 15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912
    a[5, :5] = 82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211
    embedded = (
        4586570599 / 29645900160, 0, 178811875 / 945068544, 814220225 / 1159782912, -3700637 / 11593932, 61727 / 225920
    )  # fmt: skip
    c = np.array([0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1])
    ahead = np.zeros((6, 6))
    for i in range(1, 6):  # of a parabola through the beginning of the step and the two stages before; fewer at first
        known = sorted({0, max(0, i - 2), i - 1})
        for j in known:
            ahead[i, j] = np.prod([(c[i] - c[k]) / (c[j] - c[k]) for k in known if k != j])
    return ImplicitTableau(a, c, np.array([a[5] - embedded, np.zeros(6)]), ahead)


def _dense(rows: Sequence[Mapping[int, float]], width: int) -> np.ndarray:
    """Matrix from the non-zero entries of its rows."""
    matrix = np.zeros((len(rows), width))
    for row, entries in enumerate(rows):
        for column, value in entries.items():
            matrix[row, column] = value
    return matrix


def loops_of(problem: Problem, theta: np.ndarray, p: int, expected: np.ndarray, *, redundant: bool) -> Loops:
    """Allocate Loops for p directions, ``padded``; angles between bodies are read near those ``expected``."""
    model, dtype = problem.model, theta.dtype.type
    nb, n, m = allocate.sizes(model)
    kin, comp, eq, turning = allocate.work_at_instant(model, theta)
    kin.expected[:] = expected
    least = np.zeros(n) if problem.least is None else problem.least.copy()
    factor = allocate.factor(n, m, allocate.allocators(model).sparsity(model), dtype)
    factor = allocate.with_units(factor, model, theta)._replace(least=least, J=eq.J)

    z = partial(np.zeros, dtype=dtype)
    normal = NormalEquations(zeros((n, padded(n)), dtype), np.zeros(max(1, n), np.int64))
    d_motion = LoadedMotion(*(zeros((rows, p), dtype) for rows in (n, n, n, m)))
    return Loops(
        np.full(n, NONE, np.int64), np.zeros(0, np.int64), kin, comp, eq, factor, allocate.columns(n, m, 1, dtype),
        LoadedMotion(z(n), z(n), z(n), z(m)), np.array(scales_of(model, theta).rows, float), z(n),
        np.zeros(1, np.int64), z(n), z(m), z(n), z(m), z(n), bool(redundant), normal, turning.measure,
        allocate.twists_of(model, p, dtype), allocate.columns(n, m, p, dtype), resting(nb, n, m, p, dtype),
        resting(nb, n, m, p, dtype), d_motion, zeros((n, p), dtype),
    )  # fmt: skip


STAGE = 1e-3  # last correction of a stage, in units of the bounds of a step's error
ALL_DIGITS = 1e-15
STALLED = 0.1  # the same where round-off ends the iteration


def integration(
    problem: Problem, theta: np.ndarray, p: int, tree: Any, *, varies: bool, at_once: float
) -> tuple[Callable, Scheme, IntegrationWork | ImplicitWork]:
    """The integrator for p directions of an OpenTree or Loops: driver, scheme, work; a call tries ``at_once`` steps."""
    options, model = problem.options, problem.model
    method, control = tableau(options.integrator), error_control(options, varies=varies, at_once=at_once)
    (_, n, _), s, dtype = allocate.sizes(model), method.c.size, theta.dtype.type

    z = partial(np.zeros, dtype=dtype)

    def motion() -> tuple[State, Sensitivity]:
        return allocate.state(model, dtype), allocate.sensitivity(model, p, dtype)

    scheme = Scheme(float(options.step), options.end, method, control)
    begun = np.array([BEFORE_START, *np.zeros(CLOCK - 1)]), breakpoints_of(problem, theta), np.zeros(COURSE)
    counters, probe, trial = np.zeros(len(WORK), np.int64), motion(), motion()
    stages, carry, owed = Stages(z((s, n)), z((s, n)), z((s, n, p)), z((s, n, p))), Carry(z(n), z(n)), Carry(z(n), z(n))
    onsets = onsets_of(model, theta, options.onset_steps)
    watched = onsets, z((onsets.force.size, 2))
    if isinstance(method, ImplicitTableau):
        newton = newton_control(options, stepped=np.iscomplexobj(theta))
        equations: StageEquations | LoopStages = (
            _stage_equations(model, theta, p)
            if options.open_tree
            else LoopStages(allocate.another(tree.factor), np.zeros(1))
        )
        ends = Ends(*trial, *motion())
        work = ImplicitWork(*begun, counters, *probe, stages, carry, owed, ends, equations, *watched)
        return integrate_implicit, scheme._replace(control=ImplicitControl(control, newton)), work
    terms = TERMS if method.dense.size else 0
    dense = Dense(z(n), z(n), *(z(shape) for shape in ((n, p), (terms, n), (terms, n, p)) for _ in range(2)))
    explicit = IntegrationWork(*begun, counters, *probe, *trial, stages, carry, owed, dense, *watched)
    return integrate, scheme, explicit


def error_control(options: Options, *, varies: bool, at_once: float = np.inf) -> ErrorControl:
    """The error control of the steps, of which one call tries about ``at_once``."""
    chosen = INTEGRATORS[options.integrator]
    order = chosen.control_order
    derived = varies and options.error_control == "sensitivities"
    return ErrorControl(
        order > 0, float(options.tolerance), float(options.absolute_tolerance), 1.0 / (order or 1), chosen.safety,
        derived, float(options.max_steps), float(at_once),
    )  # fmt: skip


def hardest(scheme: Scheme, state: State, stages: Stages) -> int:
    """The coordinate that has the largest error in the last step that was tried."""
    errors = scheme.control.error if isinstance(scheme.control, ImplicitControl) else scheme.control
    weights = scheme.tableau.error[0]
    parts = [
        (weights @ rates[: weights.size]).real / (errors.absolute + errors.relative * np.abs(like.real))
        for rates, like in ((stages.zd, state.z), (stages.zdd, state.zd))
    ]
    return int(np.argmax(np.nan_to_num(np.hypot(*parts), nan=np.inf)))


def newton_control(options: Options, *, stepped: bool) -> NewtonControl:
    """When a stage of an implicit method is solved: to two digits more than gradients are asked for, if not sooner.

    With ``stepped`` all digits are needed: under a complex step the imaginary part converges one correction later.
    """
    needed = ALL_DIGITS if stepped else 1e-2 * options.gradient_tolerance
    share = min(STAGE, needed / max(options.tolerance, options.absolute_tolerance))
    bounds = share * options.tolerance, share * options.absolute_tolerance
    return NewtonControl(*bounds, STALLED / share, int(options.max_iterations), needed)


def _stage_equations(model: Model, theta: np.ndarray, p: int) -> StageEquations:
    """Allocate the equations of implicit stages of an open tree."""
    make, dtype = allocate.allocators(model), theta.dtype.type
    _, n, m = allocate.sizes(model)

    z = partial(np.zeros, dtype=dtype)
    kin, comp = make.kinematics(model, dtype), make.composite(model, dtype)
    set_ground(theta, kin)
    square, another = ((zeros((n, padded(n)), dtype), np.zeros(n, np.int64)) for _ in range(2))
    return StageEquations(
        kin, comp, allocate.twists_of(model, p, dtype), *square, *another, np.zeros(1),
        np.zeros(open_tree(model).euler.size), z(n), z(n), z((n, 1)), z((n, p)), z((m, LINE_SIZE)), z(m),
    )  # fmt: skip
