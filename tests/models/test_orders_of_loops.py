"""Closed loops to any accuracy: order of each method in values and gradients, drift, energy, agreement with ALI3-P."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.reduced_bodies import standard_input
from tests.kernels.test_integrators import run

MODELS = Path(__file__).parents[2] / "models"
NAMES = ("fivebar", "benchmarks/rssr_fourbar", "benchmarks/a04_bricard")
END = 0.2
ORDERS = {"rk4": 4, "esdirk": 4, "dop853": 8}
COARSE = {  # end and steps of the coarser run: small enough for the order to show, and large enough for round-off
    ("fivebar", 4): (0.2, 20),
    ("fivebar", 8): (0.2, 4),
    ("benchmarks/rssr_fourbar", 4): (0.05, 16),
    ("benchmarks/rssr_fourbar", 8): (0.05, 8),
    ("benchmarks/a04_bricard", 4): (0.2, 20),
    ("benchmarks/a04_bricard", 8): (0.8, 4),
    ("buggy", 4): (0.02, 8),
    ("buggy", 8): (0.02, 4),
    ("flexible/slider_crank", 4): (0.2, 10),
    ("flexible/slider_crank", 8): (0.2, 2),
}
SOFT = {"flexible/slider_crank": {"E": "2.1e3"}}  # so that steps resolve its vibrations
TIGHT = {"tolerance": 1e-13, "absolute_tolerance": 1e-13, "error_control": "sensitivities"}
PAIRS = (("position", "velocity"), ("d_position", "d_velocity"))
DRIFT = 1e-12


def problem_of(name):
    """A model with all its parameters, in closed loops of index 1, and the directions of these."""
    model = spec.load(MODELS / f"{name}.yaml", SOFT.get(name, {}))
    problem = assembly.build(model, sensitivity="ddm", standard_input=standard_input).problem
    options = replace(problem.options, formulation="ali1p-rtdyn1", output_interval=1, sensitivity="none")
    still = replace(problem, options=options, theta_rho=problem.theta_rho[:, :0], summed=False)  # no objectives
    return still, list(problem.theta_rho.T)


def errors_at_end(found, reference):
    """Of values and of derivatives, relative to the largest of each; of those that a model has."""
    errors = []
    for names in PAIRS:
        known = [(found[name][-1], reference[name][-1]) for name in names if reference[name][-1].size]
        errors += [max(np.abs(a - b).max() / np.abs(b).max() for a, b in known)] if known else []
    return np.array(errors)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ORDERS)
@pytest.mark.parametrize("name", [*NAMES, "buggy", "flexible/slider_crank"])
def test_order(name, integrator):
    (problem, directions), order = problem_of(name), ORDERS[integrator]
    end, count = COARSE[name, order]
    chosen = {"formulation": "ali1p-rtdyn1", "directions": directions or None}
    reference = run(problem, "dop853", 1, end, **chosen, **TIGHT)
    runs = [run(problem, integrator, n, end / n, fixed=integrator != "rk4", **chosen) for n in (count, 2 * count)]
    assert all((found["drift"][:, :2] <= DRIFT).all() for found in runs)
    coarse, fine = (errors_at_end(found, reference) for found in runs)
    slopes = np.log2(coarse / fine)
    print(name, integrator, coarse, fine, slopes)
    assert (slopes > order - 0.5).all(), (coarse, fine)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_limit_of_ali3p(name):
    """Where the step of the trapezoidal rule goes to zero it agrees, with the square of the step."""
    problem, _ = problem_of(name)
    reference = run(problem, "dop853", 1, END, formulation="ali1p-rtdyn1", **TIGHT)
    errors = []
    for step in (2e-3, 1e-3):
        options = replace(problem.options, formulation="ali3p-rtdyn1", step=step, duration=END)
        last = list(forward(replace(problem, options=options)))[-1]
        errors.append(errors_at_end({"position": last.position, "velocity": last.velocity}, reference | {
            "d_position": np.zeros((1, 0)), "d_velocity": np.zeros((1, 0))
        })[0])  # fmt: skip
    print(name, errors)
    assert errors[1] < 1e-4 and np.log2(errors[0] / errors[1]) > 1.8, errors


@pytest.mark.slow
def test_energy_of_a_long_motion():
    """The five-bar keeps its energy, within 1e-7 of what moves, over 1000 s at a tolerance of 1e-10."""
    problem, _ = problem_of("fivebar")
    tolerances = {"tolerance": 1e-10, "absolute_tolerance": 1e-10}
    found = run(problem, "dop853", 1000, 1.0, formulation="ali1p-rtdyn1", **tolerances)
    total, drift = found["energy"][:, :2].sum(axis=1), found["drift"][:, :2].max()
    off = np.abs(total - total[0]).max() / found["energy"][:, 0].max()
    print(off, drift)
    assert off <= 1e-7 and drift <= DRIFT
