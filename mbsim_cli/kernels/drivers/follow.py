"""Angles between bodies along the rows of a motion that is computed already."""

from mbsim_cli.kernels.algebra.whole import copy_to
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.turning import follow_angles
from mbsim_cli.kernels.algorithms.systems.contract import move, place
from mbsim_cli.kernels.compiler.jit import entry


@entry
def follow_rows(model, theta, kin, turns, record):
    """Fill the rows of expected angles, from ``turns`` on; between rows they change by the mean of their rates."""
    for row in range(record.time.size):
        half = 0.5 * (record.time[row] - turns.time[0])
        place(model, theta, record.position[row], True, kin)
        move(model, theta, record.position[row], record.velocity[row], record.acceleration[row], kin)
        for j in range(turns.measure.size):
            k = turns.measure[j]
            _, rate, _ = measure_and_rate(model, theta, k, kin)
            kin.expected[k] = turns.value[j] + half * (turns.rate[j] + rate.real)
        follow_angles(model, theta, kin, turns)
        turns.time[0] = record.time[row]
        copy_to(kin.expected, record.expected[row])
