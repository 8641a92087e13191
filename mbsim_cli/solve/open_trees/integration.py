"""Integration of open trees by the method that the options name: its driver, coefficients, control and work."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.equations.constraints import LINE_SIZE
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.integrate import COURSE, IntegrationWork, integrate
from mbsim_cli.kernels.drivers.integrate_implicit import ImplicitControl, ImplicitWork, integrate_implicit
from mbsim_cli.kernels.drivers.stepping import BEFORE_START, CLOCK, Kinks
from mbsim_cli.kernels.integrators.dense_output import TERMS, Dense
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau, NewtonControl, StageEquations
from mbsim_cli.kernels.integrators.esdirk_loops import LoopStages
from mbsim_cli.kernels.integrators.onsets import Onsets
from mbsim_cli.kernels.integrators.runge_kutta import Carry, Stages, Tableau
from mbsim_cli.kernels.integrators.step_control import ErrorControl
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.model.problem import WORK, Options, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.onsets import onsets_of, room_for
from mbsim_cli.solve.open_trees.kinks import kinks_of
from mbsim_cli.solve.open_trees.loops import tangent_of
from mbsim_cli.solve.open_trees.methods import tableau

STAGE = 1e-3  # last correction of a stage, in units of the bounds of a step's error
ALL_DIGITS = 1e-15
STALLED = 0.1  # the same where round-off ends the iteration


class Integration(NamedTuple):
    """How an open tree is integrated."""

    drive: Callable
    tableau: Tableau | ImplicitTableau
    control: ErrorControl | ImplicitControl
    work: IntegrationWork | ImplicitWork


def integration(problem: Problem, theta: np.ndarray, p: int, *, varies: bool, at_once: float) -> Integration:
    """Prepare the integrator of the options for p directions; it pauses after trying some ``at_once`` steps."""
    options, model, kinks = problem.options, problem.model, kinks_of(problem, theta)
    method, control = tableau(options.integrator), error_control(options, varies=varies, at_once=at_once)
    if isinstance(method, ImplicitTableau):
        newton = newton_control(options, stepped=np.iscomplexobj(theta))
        implicit = ImplicitControl(control, newton)
        return Integration(
            integrate_implicit,
            method,
            implicit,
            implicit_work(model, theta, method.c.size, p, kinks, options, problem.least),
        )
    return Integration(integrate, method, control, integration_work(model, theta, method, p, kinks, options))


def error_control(options: Options, *, varies: bool, at_once: float = np.inf) -> ErrorControl:
    """What controls the steps, of which a call tries some ``at_once``."""
    order = INTEGRATORS[options.integrator].control_order
    return ErrorControl(
        order > 0,
        float(options.tolerance),
        float(options.absolute_tolerance),
        1.0 / (order or 1),
        varies and options.error_control == "sensitivities",
        float(options.max_steps),
        float(at_once),
    )


def integration_work(
    model: Any, theta: np.ndarray, method: Tableau, p: int, kinks: Kinks, options: Options
) -> IntegrationWork:
    """Allocate the work of an integration."""
    (_, n, _), stages, dtype = allocate.sizes(model), method.c.size, theta.dtype.type
    terms = TERMS if method.dense.size else 0

    def z(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype)

    return IntegrationWork(
        _clock(),
        kinks,
        np.zeros(COURSE),
        np.zeros(len(WORK), np.int64),
        *_motions(2, model, p, dtype),
        *_of_steps(stages, n, p, dtype),
        Dense(z(n), z(n), z(n, p), z(n, p), z(terms, n), z(terms, n), z(terms, n, p), z(terms, n, p)),
        *_of_onsets(model, theta, options),
    )


def hardest(
    control: ErrorControl | ImplicitControl, method: Tableau | ImplicitTableau, state: Any, stages: Stages
) -> int:
    """The coordinate that has the largest error in the last step that was tried."""
    if isinstance(control, ImplicitControl):
        control = control.error
    weights = method.error[0]
    parts = [
        (weights @ rates[: weights.size]).real / (control.absolute + control.relative * np.abs(like.real))
        for rates, like in ((stages.zd, state.z), (stages.zdd, state.zd))
    ]
    return int(np.argmax(np.nan_to_num(np.hypot(*parts), nan=np.inf)))


def newton_control(options: Options, *, stepped: bool) -> NewtonControl:
    """When a stage of an implicit method is solved: to two digits more than gradients are asked for, if not sooner.

    ``stepped`` asks for all digits: under a complex step the imaginary part converges one correction after the real.
    """
    needed = ALL_DIGITS if stepped else 1e-2 * options.gradient_tolerance
    share = min(STAGE, needed / max(options.tolerance, options.absolute_tolerance))
    return NewtonControl(
        share * options.tolerance,
        share * options.absolute_tolerance,
        STALLED / share,
        int(options.max_iterations),
        needed,
    )


def implicit_work(
    model: Any, theta: np.ndarray, stages: int, p: int, kinks: Kinks, options: Options, least: np.ndarray | None = None
) -> ImplicitWork:
    """Allocate the work of an implicit integration."""
    dtype = theta.dtype.type
    _, n, m = allocate.sizes(model)

    def z(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype)

    def equations() -> StageEquations:
        tree = type(model.tree)
        kin, comp = (make[tree](model, dtype) for make in (allocate.KINEMATICS, allocate.COMPOSITE))
        set_ground(theta, kin)
        square, another = ((zeros((n, padded(n)), dtype), np.zeros(n, np.int64)) for _ in range(2))
        return StageEquations(
            kin, comp, allocate.twists_of(model, p, dtype), *square, *another, np.zeros(1),
            np.zeros(open_tree(model).euler.size), z(n), z(n), z(n, 1), z(n, p), z(m, LINE_SIZE), z(m),
        )  # fmt: skip

    return ImplicitWork(
        _clock(),
        kinks,
        np.zeros(len(WORK), np.int64),
        *_motions(3, model, p, dtype),
        *_of_steps(stages, n, p, dtype),
        equations() if options.open_tree else LoopStages(tangent_of(model, dtype, least), np.zeros(1)),
        *_of_onsets(model, theta, options),
    )


def _of_onsets(model: Any, theta: np.ndarray, options: Options) -> tuple[Onsets, np.ndarray]:
    """Onsets, and room for their arguments."""
    onsets = onsets_of(model, theta, options.onset_steps)
    return onsets, room_for(onsets, theta.dtype)


def _clock() -> np.ndarray:
    """The clock of a run that is to start."""
    return np.array([BEFORE_START, *np.zeros(CLOCK - 1)])


def _motions(count: int, model: Any, p: int, dtype: type) -> list:
    """Pairs of a State and a Sensitivity."""
    return [
        made for _ in range(count) for made in (allocate.state(model, dtype), allocate.sensitivity(model, p, dtype))
    ]


def _of_steps(stages: int, n: int, p: int, dtype: type) -> tuple[Stages, Carry, Carry]:
    def z(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype)

    return (
        Stages(z(stages, n), z(stages, n), z(stages, n, p), z(stages, n, p)),
        Carry(z(n), z(n)),
        Carry(z(n), z(n)),
    )
