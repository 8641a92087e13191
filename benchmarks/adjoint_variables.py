"""Adjoint variables of the five-bar: those of the discrete steps beside the adjoint differential equations' solution.

    python benchmarks/adjoint_variables.py [--picture FILE] [--quick] [--json]

The discrete ones are mu / h of each step, of a sweep back for psi1. The continuous ones come from other equations: the
index-1 form in absolute angles (``casadi_fivebar``), whose adjoint DOP853 integrates backwards along the motion. Both
are derivatives of the objective by an impulse of force along a coordinate, and so the same numbers. Prints the largest
differences for halved steps; exits with 1 where they do not fall as those of a method of second order.
"""

# ruff: noqa: E402
import argparse
import json
import sys
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.casadi_fivebar import NOMINAL, B, absolute, assembled_start, masses, places
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.drivers.sweep_back import sweep_back
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.readings import work_of
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import Adjoint, SensorAdjoints, accumulated

DURATION, STEPS = 1.0, (0.02, 0.01, 0.005, 0.0025)
COORDINATES = {"A.angle": (1, 0, 0, 0), "P1.angle": (-1, 1, 0, 0), "B.angle": (0, 0, 0, 1), "P3.angle": (0, 0, -1, 1)}
TOLERANCE = 1e-11
FALL = 3.5  # of differences by a halved step, at least


def discrete(step):
    """Times (N,) of the steps' ends, but for the last, and mu / h (N, 4) of each."""
    settings = Settings(method="adjoint", step=step, duration=DURATION)
    assembled = build(load(ROOT / "models" / "fivebar.yaml", settings), settings, None)
    problem, objectives = assembled.problem, assembled.objectives[:1]
    assert problem.names.coordinates == tuple(COORDINATES)
    adjoint = Adjoint(problem, objectives)
    found = accumulated(problem, objectives, adjoint=adjoint)
    initial, seen = adjoint.tape.initial, SensorAdjoints(list(found.values()), 8, adjoint.tape.time)
    work, pulling = work_of(problem.model, initial.theta, 8)
    control = allocate.control(problem, redundant=False)
    given = allocate.motion_adjoints(problem.model, 0, 8, np.float64)
    times, variables = [], []
    for first, record in adjoint.tape.backwards():
        hat = seen(first, record)
        for row in range(record.time.size - 1, -1, -1):
            if first + row > 0:
                one = Record(*(array[row : row + 1] for array in record))
                sweep_back(problem.model, initial.theta, control, 0, one, hat[row : row + 1], given, work, pulling)
                times.append(record.time[row])
                variables.append(work.columns.x[:, 0] / step)
    return np.array(times[:0:-1]), np.array(variables[:0:-1])  # the last node has half the weight


def continuous(times):
    """The solution (N, 4) of the adjoint differential equations at times (N,), increasing."""
    q, qd, qdd, p, p2 = absolute()
    x, costate = ca.vertcat(q, qd), ca.SX.sym("costate", 8)
    rates, away = ca.vertcat(qd, qdd), p2 - ca.DM([0.5, -2])
    motion = ca.Function("motion", [x, p], [rates])
    back = -ca.jtimes(rates, x, costate, True) - ca.gradient(ca.dot(away, away), x)
    adjoint = ca.Function("adjoint", [x, costate, p], [back])
    *_, end, centres = places(q, p)
    (m, inertia), J = masses(p[2]), ca.jacobian(end - B, q)
    moving = ca.jacobian(centres, q)
    matrix = ca.blockcat([[moving.T @ ca.diag(m) @ moving + ca.diag(inertia), J.T], [J, ca.SX(2, 2)]])
    inverse = ca.Function("inverse", [q, p], [ca.inv(ca.densify(matrix))[:4, :4]])
    options = {"method": "DOP853", "rtol": TOLERANCE, "atol": TOLERANCE}
    forward = solve_ivp(
        lambda t, y: np.array(motion(y, NOMINAL))[:, 0], (0.0, DURATION), assembled_start(NOMINAL)[0],
        dense_output=True, **options,
    )  # fmt: skip
    backward = solve_ivp(
        lambda t, y: np.array(adjoint(forward.sol(t), y, NOMINAL))[:, 0], (DURATION, 0.0), np.zeros(8),
        t_eval=times[::-1], **options,
    )  # fmt: skip
    turns = np.array(list(COORDINATES.values()), dtype=float)
    velocities = backward.y[4:, ::-1].T  # an impulse of force changes them by the inverse of the mass matrix
    rows = zip(times, velocities, strict=True)
    return np.array([turns @ np.array(inverse(forward.sol(t)[:4], NOMINAL)) @ column for t, column in rows])


def compared(steps):
    """{step: times, discrete and continuous variables}."""
    found = {step: discrete(step) for step in steps}
    return {step: (times, ours, continuous(times)) for step, (times, ours) in found.items()}


def largest(found):
    """{step: largest difference, over the largest variable}."""
    return {h: float(np.abs(ours - exact).max() / np.abs(exact).max()) for h, (_, ours, exact) in found.items()}


def draw(found, path):
    """Variables and their differences against time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    coarse, fine = max(found), min(found)
    for k, name in enumerate(COORDINATES):
        left.plot(found[fine][0], found[fine][2][:, k], f"C{k}", lw=1, label=name)
        left.plot(found[coarse][0], found[coarse][1][:, k], f"C{k}.", ms=4)
    left.set(
        xlabel="time [s]", ylabel="mu [m$^2$/(N m)]", title=f"lines: continuous, dots: mu/h, h = {1e3 * coarse:g} ms"
    )
    left.legend(ncols=2)
    for step, (times, ours, exact) in found.items():
        right.semilogy(times, np.abs(ours - exact).max(axis=1), lw=1, label=f"h = {1e3 * step:g} ms")
    right.set(xlabel="time [s]", title="largest difference")
    right.legend(ncols=2)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main():
    """Compare, print, judge, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="the two longest steps alone")
    parser.add_argument("--picture", type=Path, help="file to draw to")
    arguments = parser.parse_args()
    found = compared(STEPS[:2] if arguments.quick else STEPS)
    errors = list(largest(found).values())
    ratios = [before / after for before, after in pairwise(errors)]
    if arguments.json:
        print(json.dumps({"differences": dict(zip(map(str, found), errors, strict=True)), "ratios": ratios}))
    else:
        for step, error, ratio in zip(found, errors, [None, *ratios], strict=True):
            print(f"h = {1e3 * step:5g} ms   {error:.2e}   {'' if ratio is None else f'{ratio:.2f}'}")
    if arguments.picture:
        draw(found, arguments.picture)
    return int(min(ratios) < FALL)


if __name__ == "__main__":
    sys.exit(main())
