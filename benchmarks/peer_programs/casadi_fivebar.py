"""CasADi with CVODES on equations that were derived by hand: four absolute angles, the loop by multipliers.

``benchmarks/casadi_fivebar.py`` says which equations. Adams' method with functional iteration is the best of CVODES
here. Compiled: the same functions, compiled by the C compiler of the machine, where there is one.
"""

import shutil
import sys
from pathlib import Path

import casadi as ca
import numpy as np
from common import reference, report

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.casadi_fivebar import ADAMS, NOMINAL, absolute, assembled_start


def main() -> None:
    time, expected = reference()
    q, qd, qdd, p, p2 = absolute()
    dae = {"x": ca.vertcat(q, qd), "p": p, "ode": ca.vertcat(qd, qdd)}
    place = ca.Function("p2", [q, p], [p2]).map(time.size - 1)
    start = assembled_start(NOMINAL)[0]
    first = np.array(ca.Function("p2", [q, p], [p2])(start[:4], NOMINAL)).ravel()
    compiled = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3"]}}
    for name, more in (("", {}), ("compiled, ", compiled if shutil.which("gcc") else None)):
        if more is None:
            continue
        for tolerance in 10.0 ** -np.arange(3, 13):
            options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": 1_000_000, **ADAMS, **more}
            solver = ca.integrator("motion", "cvodes", dae, 0, time[1:], options)

            def run(solver=solver) -> np.ndarray:
                states = solver(x0=start, p=NOMINAL)["xf"]
                found = np.array(place(states[:4, :], ca.repmat(NOMINAL, 1, time.size - 1))).T
                return np.vstack([first, found])

            report(f"{name}tolerance {tolerance:g}", run, expected)


if __name__ == "__main__":
    main()
