"""The compiled backward loop of ALI3-P: covectors of objectives through stored instants, the last one first."""

from mbsim_cli.kernels.algebra.whole import copy_to
from mbsim_cli.kernels.algorithms.systems.contract import constrain
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.drivers.pull_instants import pull_row
from mbsim_cli.kernels.integrators.ali3p_adjoint import pull_motion, pull_projections
from mbsim_cli.model.codes import Status


@entry
def sweep_back(model, theta, control, starts, record, seen, given, work, pulling):
    """Pull ``pulling.cov`` back through the rows of a record; ``starts`` (0 or 1) first ones end no step.

    ``seen`` (N, width, p) are covectors of the sensors, added where each instant is met, and ``given`` such of the
    motion, of N rows or none. Returns a Status, the row that it belongs to, and the largest size of what was left
    unsolved, relative.
    """
    kin, eq, state = work.kin, work.eq, work.state
    constrained, worst, status = eq.phi.size > 0, 0.0, Status.OK
    for row in range(record.time.size - 1, -1, -1):
        t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
        pull_row(model, theta, record, row, seen, given, kin, work.comp, work.seen, pulling.none, pulling.cov)
        if row < starts:
            break
        copy_to(z, state.z)
        copy_to(zd, state.zd)
        copy_to(zdd, state.zdd)
        copy_to(record.lam[row], state.lam)
        if constrained:
            constrain(model, theta, t, z, kin, eq)
            corrections = record.corrections[row]
            status, error = pull_projections(
                model, theta, t, control, z, zd, zdd, record.sigma[row], record.kappa[row], corrections, work, pulling
            )  # fmt: skip
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
