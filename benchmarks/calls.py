"""Cost of the calls of one time point from Python, beyond the compiled kernel that they evaluate.

    python benchmarks/calls.py [--json] [--joints 7]

Of an arm of revolute joints: microseconds of each call of a model, of its kernel, and the difference. Each is the least
of many times, which a busy machine stretches little. Exits with 1 where a call adds more than its bound.
"""

# ruff: noqa: E402
import os

# read when the libraries are loaded
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import argparse
import sys
from pathlib import Path
from timeit import repeat

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import mbsim_cli as mbsim
from benchmarks.figures import Figure, tell

BOUND = 20.0  # microseconds beyond the kernel
TIMES, REPEATS = 20, 300
STAGES = 4  # evaluations of a step


def arm(joints):
    """An arm of revolute joints, about z and y in turn."""
    turns = {"type": "revolute", "point": "origin"}
    model = {"mbsim": 1, "gravity": [0, 0, -9.81], "parameters": {"m": 3.0}, "bodies": {}, "joints": {}, "points": {}}
    for k in range(joints):
        below, name = f"b{k - 1}" if k else "ground", f"b{k}"
        inertia = {"xx": 0.03, "yy": 0.03, "zz": 0.01, "xy": 0.001}
        model["bodies"][name] = {"mass": "m", "center_of_mass": [0.02, 0.01, 0.15], "inertia": inertia}
        model["points"][f"p{k}"] = {below: [0, 0, 0.3], name: [0, 0, 0]}
        model["joints"][f"j{k}"] = turns | {"bodies": [below, name], "point": f"p{k}", "axis": "zy"[k % 2]}
    return mbsim.loads(model)


def least(call):
    """Microseconds of a call."""
    call()
    return min(repeat(call, number=TIMES, repeat=REPEATS)) / TIMES * 1e6


def measured(joints):
    """{call: (microseconds of it, of the kernel that it evaluates)}; "d " stands for derivatives."""
    model = arm(joints)
    at, (q, v, a) = model.mechanics(), np.random.default_rng(0).normal(size=(3, joints))
    plain, varied = (least(lambda on=on: on.evaluate(0.0)) for on in (at._plain, at._directions()))
    calls = {  # the call, and evaluations of each kernel with derivatives
        "mass_matrix": (lambda **asked: model.mass_matrix(q, **asked), 0, joints + 1),
        "forces": (lambda **asked: model.forces(q, v, **asked), 0, 1),
        "accelerations": (lambda **asked: model.accelerations(q, v, **asked), 1, 1),
        "inverse_dynamics": (lambda **asked: model.inverse_dynamics(q, v, a, **asked), 0, 1),
        "kinematics": (lambda **asked: model.kinematics(q, v, a, **asked), 0, 1),
    }
    found = {
        "constraints": (least(lambda: model.constraints(q, v)), varied),
        "step": (least(lambda: model.step(q, v, 1e-3)), STAGES * plain),
        "step, forces": (least(lambda: model.step(q, v, 1e-3, forces=a)), STAGES * plain),
    }
    for name, (call, without, along) in calls.items():
        found[name] = least(call), plain
        found[f"d {name}"] = least(lambda call=call: call(derivatives=True)), without * plain + along * varied
    return found


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print numbers as JSON")
    parser.add_argument("--joints", type=int, default=7, help="joints of the arm")
    asked = parser.parse_args()
    figures = []
    for name, (whole, kernel) in sorted(measured(asked.joints).items()):
        figures.append(Figure(f"{name}, beyond the kernel's {kernel:.1f}", whole - kernel, "us", BOUND))
    tell("Calls of one time point", figures, asked.json)


if __name__ == "__main__":
    main()
