"""CasADi with CVODES on equations that were derived by hand: four absolute angles, the loop by multipliers.

``benchmarks/casadi_fivebar.py`` says which equations. Adams' method with functional iteration is the best of CVODES
here. Compiled: the same functions, compiled by the C compiler of the machine, where there is one.
"""

import shutil
import sys
from pathlib import Path

import casadi as ca
import numpy as np
from common import DERIVATIVES, report, task

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.casadi_fivebar import ADAMS, NOMINAL, absolute, assembled_start


def main() -> None:
    _, time, expected, derivatives = task()
    rows, size = time.size, np.abs(derivatives).max(axis=(0, 1))
    d_expected = (derivatives / size).reshape(rows, -1)
    q, qd, qdd, p, p2 = absolute()
    dae = {"x": ca.vertcat(q, qd), "p": p, "ode": ca.vertcat(qd, qdd)}
    place = ca.Function("p2", [q, p], [p2]).map(time.size - 1)
    start = assembled_start(NOMINAL)[0]
    first = np.array(ca.Function("p2", [q, p], [p2])(start[:4], NOMINAL)).ravel()
    compiled = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3"]}}
    for name, more in (("", {}), (", compiled by gcc", compiled if shutil.which("gcc") else None)):
        if more is None:
            continue
        for tolerance in 10.0 ** -np.arange(3, 13):
            options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": 1_000_000, **ADAMS, **more}
            solver = ca.integrator("motion", "cvodes", dae, 0, time[1:], options)

            def run(solver=solver) -> np.ndarray:
                states = solver(x0=start, p=NOMINAL)["xf"]
                found = np.array(place(states[:4, :], ca.repmat(NOMINAL, 1, time.size - 1))).T
                return np.vstack([first, found])

            series, setting = f"CasADi CVODES, equations by hand{name}", f"tolerance {tolerance:g}"
            report(series, setting, run, expected[:, :2])
            slopes = _gradients(solver, q, p, p2, rows)
            report(series, setting, lambda slopes=slopes: (slopes() / size).reshape(rows, -1), d_expected, DERIVATIVES)


def _gradients(solver: ca.Function, q: ca.SX, p: ca.SX, p2: ca.SX, rows: int):
    """A run with forward sensitivities by all parameters, which CVODES solves and controls along with the motion."""
    start, d_start = assembled_start(NOMINAL)
    forward, count = solver.forward(5), solver.numel_in("p")
    slopes = ca.Function("slopes", [q, p], [p2, ca.jacobian(p2, q), ca.jacobian(p2, p)])
    first = [np.array(part) for part in slopes(start[:4], NOMINAL)]
    mapped = slopes.map(rows - 1)
    states = solver(x0=start, p=NOMINAL)["xf"]  # which the other function does not return, but computes

    def run() -> np.ndarray:
        moved = forward(x0=start, p=NOMINAL, fwd_x0=d_start, fwd_p=np.eye(count))["fwd_xf"]
        dx = np.array(moved).reshape(start.size, 5, rows - 1)
        _, by_q, by_p = mapped(states[:4, :], ca.repmat(NOMINAL, 1, rows - 1))
        by_q, by_p = (np.array(part).reshape(2, rows - 1, -1) for part in (by_q, by_p))
        later = np.einsum("irq,qpr->rip", by_q, dx[:4]) + by_p.transpose(1, 0, 2)
        return np.concatenate([(first[1] @ d_start[:4] + first[2])[None], later])

    return run


if __name__ == "__main__":
    main()
