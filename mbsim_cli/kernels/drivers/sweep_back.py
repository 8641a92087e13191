"""The compiled backward loops: adjoints of objectives through stored time points and steps, the last one first."""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import clear_motion
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, Kinematics, Virtual
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.compiler.simd import add_to, block, width
from mbsim_cli.kernels.compiler.simd import at as entry_of
from mbsim_cli.kernels.drivers.pull_back import pull_row
from mbsim_cli.kernels.drivers.stepping import MEETS, Breakpoints
from mbsim_cli.kernels.integrators import esdirk_adjoint, runge_kutta_adjoint
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import pull_motion, pull_projections
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.runge_kutta import Tableau
from mbsim_cli.kernels.integrators.runge_kutta_adjoint import StepAdjoints, StepWork, TakenStep
from mbsim_cli.model.codes import Status

# ALI3-P ---------------------------------------------------------------------------------------------------------------


@entry
def sweep_back(model, theta, control, starts, record, of_sensors, given, work, pulling):
    """Pull ``pulling.adj`` back through the rows of a record; ``starts`` (0 or 1) first ones end no step.

    ``of_sensors`` (N, width, p) are adjoints of the sensors, added at each time point, and ``given`` such of the
    motion, of N rows or none. Returns a Status, the row that it belongs to, and the largest relative residual.
    """
    kin, eq, state = work.kin, work.eq, work.state
    constrained, worst, status = eq.phi.size > 0, 0.0, Status.OK
    for row in range(record.time.size - 1, -1, -1):
        t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
        pull_row(model, theta, record, row, of_sensors, given, kin, work.comp, work.sensors, pulling.none, pulling.adj)
        if row < starts:
            break
        copy_to(z, state.z)
        copy_to(zd, state.zd)
        copy_to(zdd, state.zdd)
        copy_to(record.lam[row], state.lam)
        if constrained:
            system.constrain(model, theta, t, z, kin, eq)
            corrections = record.corrections[row]
            projected = State(z, zd, zdd, record.lam[row], record.sigma[row], record.kappa[row])
            status, error = pull_projections(model, theta, t, control, projected, corrections, work, pulling)
            worst = max(worst, error)
            for c in range(z.size):
                state.zd[c] -= corrections[0, c]
                state.zdd[c] -= corrections[1, c]
        if status == Status.OK:
            status, error = pull_motion(model, theta, t, control, work, pulling)
            worst = max(worst, error)
        if status != Status.OK:
            return status.value, row, worst
    return Status.OK.value, 0, worst


# Runge-Kutta methods --------------------------------------------------------------------------------------------------
#
# One loop decides what is next, a time point inside the step or a stage, and pulls rates back in one place.


# The adjoint of a step behind one set of functions, chosen by the type of the method's ``tableau``.
#
# A new kind of method is a module with these functions and a row of the table.

METHODS: dict[type, ModuleType] = {Tableau: runge_kutta_adjoint, ImplicitTableau: esdirk_adjoint}


_of_method = members_by_type("tableau", runge_kutta_adjoint, METHODS.__getitem__)


end_of = _of_method("end_of", "Stage that is the end of the step.")
stand_at_stage = _of_method("stand_at_stage", "Motion at a stage of the step.")
pull_stage = _of_method("pull_stage", "Pull adjoints of a stage's rates back to its sums; whether found, and an error.")
give_stage = _of_method("give_stage", "Hand adjoints of a stage's sums on to the beginning and to stages before.")
stand_inside = _of_method("stand_inside", "Motion at the share x of the step, but for z''.")
give_inside = _of_method("give_inside", "Hand adjoints of a time point inside the step on to both ends and the stages.")
give_earlier = _of_method(
    "give_earlier", "Hand on what the step after has of this one's stages; needs ``go_back_a_step``."
)


class SweepWork(NamedTuple):
    """Work of a sweep back through steps."""

    kin: Kinematics  # of time points
    comp: Any
    sensors: np.ndarray  # (width,)
    motion: StepWork
    accelerations: Any  # PulledAccelerations
    tangent: Any  # StageTangent
    breakpoints: Breakpoints


class StepPulling(NamedTuple):
    """Adjoints that go backwards in time."""

    adj: Adjoints  # of the motion that is pulled back; theta since the end
    step: StepAdjoints
    none: Virtual  # without motion


@entry
def sweep_steps(model, theta, end, begins, tableau, record, steps, of_sensors, given, work, pulling):
    """Pull adjoints back through rows and steps of a run to ``end``.

    The first step waits for the rows before, but where the run ``begins`` (0 or 1). ``of_sensors`` (N, width, p) are
    adjoints of the sensors, and ``given`` such of the motion, of N rows or none. Returns a Status, the time that it
    belongs to, and the largest relative residual.
    """
    adj, step, motion, tree = pulling.adj, pulling.step, work.motion, work.accelerations.open_tree
    last, near, row, worst = end_of(tableau), MEETS * end, record.time.size - 1, 0.0
    for number in range(steps.time.size - 1, -1, -1):
        t, h, stage = steps.time[number], steps.size[number], steps.stages[number] - 1
        taken = TakenStep(h, steps.z[number], steps.zd[number], steps.zdd[number])
        starts = h == 0.0
        while True:
            x, at = 0.0, steps.end[number]
            inside = False
            if row >= 0 and record.time[row] > (t - near if starts else t + near):
                clear_motion(adj)
                pull_row(
                    model, theta, record, row, of_sensors, given, work.kin, work.comp, work.sensors, pulling.none, adj
                )  # fmt: skip
                inside = np.abs(record.time[row] - at) > near
                row -= 1
                if not inside:
                    runge_kutta_adjoint.add_motion(adj, step)
                    continue
                x, at = (record.time[row + 1] - t) / (at - t), record.time[row + 1]
                stand_inside(model, theta, at, x, taken, tableau, tree, motion)
                copy_to(record.acceleration[row + 1], motion.state.zdd)
            elif stage == 0 or (number == 0 and begins == 0):
                break
            else:
                at = at if stage == last else t + tableau.c[stage] * h
                runge_kutta_adjoint.take_stage(stage, last, step, adj)
                stand_at_stage(model, theta, at, taken, tableau, stage, tree, motion)
            pulled = last if inside else stage
            solved, error = pull_stage(model, theta, at, h, tableau, pulled, motion.state, work, adj)
            if not solved:
                return Status.SINGULAR.value, at, worst
            worst = max(worst, error)
            if inside:
                give_inside(model, theta, at, x, h, tableau, work.accelerations, motion, adj, step)
            else:
                give_stage(model, theta, at, h, tableau, stage, work.accelerations, motion, adj, step)
                stage = 0 if starts else stage - 1
        if starts and t > 0.0 and (number > 0 or begins == 1):
            _pull_jump(t, taken.zdd[0], taken.zdd[last], work.breakpoints, adj, step)
        if number > 0 or begins == 1:
            runge_kutta_adjoint.go_back_a_step(step)
        if number > 0:
            give_earlier(tableau, steps.size[number - 1] == 0.0, step)
    return Status.OK.value, 0.0, worst


@kernel
def _pull_jump(t, before, behind, breakpoints, adj, step):
    """Transpose of ``stepping.jump`` from accelerations ``before`` (n,) to those ``behind`` a breakpoint."""
    for i in range(breakpoints.time.size):
        if breakpoints.time[i] == t:
            for c in range(before.size):
                for g in range(0, adj.each.size, width(adj.each)):
                    k = block(adj.each, g)
                    add_to(adj.theta, breakpoints.number[i], k, (before[c] - behind[c]) * entry_of(step.zd0, c, k))
