"""Covectors of what sensors show at a stored instant, pulled back to its motion."""

from mbsim_cli.kernels.algebra.whole import add_scaled
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.systems.contract import move, place, pull_seen, see
from mbsim_cli.kernels.compiler.jit import kernel


@kernel
def pull_row(model, theta, record, row, seen, given, kin, comp, shown, none, cov):
    """Add to ``cov`` covectors ``seen`` (N, width, p) of the sensors and ``given`` ones of the motion, N rows or none.

    Leaves the motion in ``kin``; ``shown`` (width,) is work.
    """
    t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
    place(model, theta, z, False, kin)
    move(model, theta, z, zd, zdd, kin)
    expect_recorded(record.expected, row, kin)
    if seen.shape[1] > 0:
        see(model, theta, t, z, zd, zdd, record.reaction[row], kin, shown)
        pull_seen(model, theta, t, z, zd, zdd, kin, comp, none, seen[row], cov)
    if given.z.shape[0] > 0:
        add_scaled(1.0, given.z[row], cov.z)
        add_scaled(1.0, given.zd[row], cov.zd)
        add_scaled(1.0, given.zdd[row], cov.zdd)
        add_scaled(1.0, given.lam[row], cov.lam)
