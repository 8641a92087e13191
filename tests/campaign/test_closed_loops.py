"""Random closed loops by Runge-Kutta methods: direct method, adjoint and complex step of whole runs agree to 1e-9."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.assembly import build
from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.forward import forward
from tests.campaign.generator import FAMILIES, load
from tests.kernels.adjoint import adjoint, summed, weights_of
from tests.kernels.differentiate import EPS

LOOPS = ("loop in space", "loop in a plane")
EACH = 30  # mechanisms of a family
TOGETHER = 10  # of them in one test
ROWS, STEP = 3, 0.02
ACCURATE = 1e-9
LEAST = 0.8  # share of the mechanisms that move so far: others meet singular positions
CONTROLLED = {"tolerance": 1e-8, "absolute_tolerance": 1e-8}
SOLVED = {"gradient_tolerance": 1e-12}  # esdirk solves stages to a hundredth of it; the error may grow from there
METHODS = {"rk4": {}, "dop853": CONTROLLED, "esdirk": CONTROLLED | SOLVED}


def problem_of(family, seed, integrator):
    """A mechanism in three rows of an integrator."""
    assembled = build(load(FAMILIES[family](seed)), sensitivity="ddm")
    changed = {"formulation": "ali1p-rtdyn1", "integrator": integrator, "step": STEP, "duration": ROWS * STEP}
    options = replace(assembled.problem.options, **changed, output_interval=1, **METHODS[integrator])
    return replace(assembled.problem, options=options)


def sensors(problem, theta=None, field="sensors"):
    """What sensors show in all rows, or their derivatives."""
    return np.concatenate([getattr(block, field) for block in forward(problem, theta=theta)])


def errors_of(problem):
    """Of the adjoint beside the direct method, and of that beside the complex step; relative to the largest of each."""
    weights, along = weights_of(problem, ROWS), np.random.default_rng(7).normal(size=problem.theta_rho.shape[1])
    derivatives = sensors(problem, field="d_sensors")
    lost = np.isnan(derivatives).any(axis=(0, 1))
    if lost.all():
        return 0.0, 0.0
    known = problem.theta_rho[:, ~lost]
    seen = ~np.isnan(derivatives[..., ~lost]).any(axis=(0, 2))
    weights[:, ~seen] = 0.0
    direct = summed(np.nan_to_num(derivatives[..., ~lost]), weights)
    size = np.maximum(1e-9, np.abs(direct).max(axis=0))
    swept = adjoint(problem, list(known.T), ROWS, weights)
    still = replace(problem, options=replace(problem.options, sensitivity="none"), theta_rho=problem.theta_rho[:, :0])
    along = along[~lost]
    stepped = summed(np.nan_to_num(sensors(still, problem.theta + 1j * EPS * (known @ along))).imag / EPS, weights)
    terms = np.maximum(1e-9, np.abs(along[:, None] * direct).sum(axis=0))
    return (np.abs(swept - direct) / size).max(), (np.abs(along @ direct - stepped) / terms).max()


def judge(family, seeds, integrator):
    """The worst errors, and how many mechanisms moved."""
    worst, moved = {}, 0
    for seed in seeds:
        try:
            found = errors_of(problem_of(family, seed, integrator))
        except AnalysisError as error:
            assert str(error)  # it says why
            continue
        moved += 1
        if max(found) > ACCURATE:
            worst[seed] = found
    return worst, moved


@pytest.mark.slow
@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", LOOPS)
def test_random_loops(family, start, integrator):
    worst, moved = judge(family, range(start, start + TOGETHER), integrator)
    assert worst == {}
    assert moved >= LEAST * TOGETHER
