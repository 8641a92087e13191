"""The sweep back through the steps of a Runge-Kutta method, of an open tree or of closed loops.

Derivation: docs/theory/adjoint.md.
"""

import numpy as np

from mbsim_cli.kernels.algorithms.closed_loops.accelerations import ClosedLoops
from mbsim_cli.kernels.algorithms.closed_loops.pull_back import PulledLoops
from mbsim_cli.kernels.algorithms.equations.constraints import LINE_SIZE
from mbsim_cli.kernels.algorithms.motion.workspace import Covectors
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import PulledAccelerations, pulled_accelerations
from mbsim_cli.kernels.algorithms.open_trees.flexible_open_tree import dense_elimination, pulled_flexible_accelerations
from mbsim_cli.kernels.algorithms.open_trees.flexible_recursive import articulated_elimination
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Stretch
from mbsim_cli.kernels.drivers.sweep_steps import StepPulling, SweepWork, sweep_steps
from mbsim_cli.kernels.integrators.dense_output import TERMS
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.esdirk_adjoint import StageTangent
from mbsim_cli.kernels.integrators.runge_kutta_adjoint import StepCovectors, StepWork
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import FlexibleTree, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.steps import without_solution
from mbsim_cli.solve.open_trees.kinks import kinks_of
from mbsim_cli.solve.open_trees.loops import loops_of
from mbsim_cli.solve.open_trees.methods import stages_kept, tableau

# Allocation of what pulls accelerations and projections of closed loops back.


def pulled_loops(problem: Problem, theta: np.ndarray, p: int, *, redundant: bool) -> PulledLoops:
    """Allocate PulledLoops for p columns."""
    model, dtype = problem.model, theta.dtype.type
    _, n, m = allocate.sizes(model)
    loops = loops_of(problem, theta, 0, allocate.grounded(model, theta).expected, redundant=redundant)
    loops = loops._replace(d_columns=allocate.columns(n, m, p, dtype))
    kin = loops.kin
    still = kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())
    virtual, none = (allocate.virtual_of(model, p, dtype) for _ in range(2))
    rest = allocate.covectors_of(model, theta.size, p, dtype)
    rest = rest._replace(**{name: zeros((n, p), dtype) for name in ("z", "zd", "zdd")})
    return PulledLoops(
        loops, allocate.work_at_instant(model, theta).comp, ClosedLoops(loops, kin), still, virtual, none, rest,
        zeros((m, p), dtype), zeros((m, p), dtype), zeros((n, p), dtype),
    )  # fmt: skip


class StepSweep:
    """Covectors of p columns on their way back to the start; ``redundant`` as in ``Loops``."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, *, redundant: bool = False) -> None:
        model, dtype = problem.model, theta.dtype.type
        _, n, m = allocate.sizes(model)
        self._model, self._theta, self._end = model, theta, problem.options.end
        self._tableau = tableau(problem.options.integrator)
        stages = stages_kept(self._tableau)

        def columns(*shape: int) -> np.ndarray:
            return zeros((*shape, p), dtype)

        motions = (allocate.state(model, dtype) for _ in range(4))
        pulled = _pulled(problem, theta, p, dtype, redundant)
        kin = allocate.grounded(model, theta)
        if isinstance(pulled, PulledLoops):  # rows tell between which turns angles are
            kin = kin._replace(expected=pulled.dyn.kin.expected)
        self._work = SweepWork(
            kin,
            pulled.comp,
            np.zeros(allocate.sensor_width(model), dtype),
            StepWork(*motions, np.zeros(n, dtype), np.zeros((TERMS, n), dtype)),
            pulled,
            _tangent(model, isinstance(self._tableau, ImplicitTableau) and problem.options.open_tree, dtype),
            kinks_of(problem, theta),
        )
        cov = allocate.covectors_of(model, theta.size, p, dtype)
        if isinstance(pulled, PulledLoops):
            pulled = pulled._replace(rest=pulled.rest._replace(theta=cov.theta))
            self._work = self._work._replace(accelerations=pulled)
        self._pulling = StepPulling(
            cov,
            StepCovectors(
                *(columns(n) for _ in range(5)), columns(m), columns(n), columns(stages, n), columns(stages, n)
            ),
            allocate.virtual_of(model, p, dtype),
        )

    def back(self, first: int, stretch: Stretch, hat: np.ndarray, given: MotionCovectors) -> float:
        """Go back through a stretch with covectors of its sensors; return the size of what was left unsolved."""
        status, time, error = sweep_steps(
            self._model, self._theta, self._end, 1 if first == 0 else 0, self._tableau, stretch.rows, stretch.steps,
            hat, given, self._work, self._pulling,
        )  # fmt: skip
        if Status(status) != Status.OK:
            raise without_solution(time)
        return error

    @property
    def found(self) -> Covectors:
        """Covectors of what the run has been pulled back to, and of theta."""
        step = self._pulling.step
        return self._pulling.cov._replace(z=step.z, zd=step.zd, zdd=step.zdd, lam=step.lam)


def _pulled(
    problem: Problem, theta: np.ndarray, p: int, dtype: type, redundant: bool
) -> PulledAccelerations | PulledLoops:
    """Allocate what pulls accelerations back."""
    model = problem.model
    if not problem.options.open_tree:
        return pulled_loops(problem, theta, p, redundant=redundant)
    if not isinstance(model.tree, FlexibleTree):
        return pulled_accelerations(model, theta, p, dtype)
    make = articulated_elimination if problem.options.formulation == "recursive" else dense_elimination
    return pulled_flexible_accelerations(model, theta, p, make(model, theta, p, dtype), dtype)


def _tangent(model: Model, implicit: bool, dtype: type) -> StageTangent:
    """Allocate StageTangent; explicit methods and closed loops have none."""
    _, n, m = allocate.sizes(model)
    n, m = (n, m) if implicit else (0, 0)
    return StageTangent(
        zeros((n, padded(n)), dtype), np.zeros(n, np.int64), np.zeros(open_tree(model).euler.size if implicit else 0),
        zeros((m, LINE_SIZE), dtype), np.zeros(m, dtype),
    )  # fmt: skip
