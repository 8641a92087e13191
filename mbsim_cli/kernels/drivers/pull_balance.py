"""Covectors of what ``balance`` finds, pulled back to positions and velocities.

Derivation: docs/theory/reactions.md.
"""

from mbsim_cli.kernels.algebra.whole import clear, copy_to, is_nothing
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.systems.contract import pull_rates, pull_residual
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.drivers.balance import evaluate_with_mass, stand_at, take_solution
from mbsim_cli.model.codes import Status


@entry
def pull_balance(model, theta, control, record, work, pulling, hat):
    """Replace covectors of accelerations and multipliers in ``hat`` (MotionCovectors) by more of z and z'.

    The record has what was found; ``pulling.cov.theta`` is summed. Returns as ``balance``.
    """
    kin, comp, eq, state, factor = work.kin, work.comp, work.eq, work.state, work.projection
    columns, cov = work.columns, pulling.cov
    for row in range(record.time.size - 1, -1, -1):  # sums do not depend on where a run is cut
        if is_nothing(hat.zdd[row]) and is_nothing(hat.lam[row]):
            continue
        t = record.time[row]
        stand_at(record, row, record.acceleration[row], record.reaction[row], kin, state)
        evaluate_with_mass(model, theta, t, False, state, kin, comp, eq, factor)
        if not factor_penalised(control.projection_ratio, factor):
            return Status.SINGULAR.value, row
        copy_to(hat.zdd[row], columns.b)
        copy_to(hat.lam[row], columns.e)
        clear(pulling.virtual.mu)
        clear(pulling.nu2)
        take_solution(factor, columns, pulling.virtual.mu, pulling.nu2)
        copy_to(hat.z[row], cov.z)
        copy_to(hat.zd[row], cov.zd)
        clear(cov.zdd)
        pull_residual(model, theta, t, state, eq, kin, comp, pulling.virtual, pulling.no_nu, cov)
        move_lines(model, theta, eq.lines, kin, eq.line_rates)
        pull_rates(
            model, theta, t, state.z, state.zd, state.zdd, eq, kin, comp, pulling.none, pulling.no_nu, pulling.nu2, cov
        )  # fmt: skip
        copy_to(cov.z, hat.z[row])
        copy_to(cov.zd, hat.zd[row])
        clear(hat.zdd[row])
        clear(hat.lam[row])
    return Status.OK.value, 0
