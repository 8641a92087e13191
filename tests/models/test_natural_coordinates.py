"""Natural coordinates against joint coordinates: closed models, and an open one, over many steps."""

from itertools import pairwise

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.objectives import accumulator
from tests.models.command import ROOT

MODELS = {  # step, steps, and whether equations are independent, so that there are gradients
    "fivebar": (2e-3, 400, True),
    "buggy_lane_change": (2.5e-3, 80, True),
    "buggy": (1e-3, 60, True),
    "double_pendulum": (1e-3, 300, True),
    "benchmarks/rssr_fourbar": (1e-3, 200, True),
    "benchmarks/a04_bricard": (2e-3, 200, False),
    "benchmarks/a02_four_bars_40": (1e-3, 20, False),
    "chain": (1e-3, 20, True),
    "benchmarks/slider_crank_sundials": (1e-3, 200, True),
    "benchmarks/quarter_car": (1e-3, 200, True),
}
NOTHING = 1e-20  # the lane change begins straight ahead


def run(name, formulation, step, steps, sensitivity):
    """Values (k,) and gradients (k, p) of the objectives, and the sensors at the end (width,)."""
    model = spec.load(ROOT / "models" / f"{name}.yaml")
    built = assembly.build(
        model, formulation=formulation, step=step, duration=steps * step, output_interval=1, sensitivity=sensitivity
    )
    p = built.problem.theta_rho.shape[1] if sensitivity == "ddm" else 0
    found = [accumulator(objective, p) for objective in built.objectives]
    for block in forward(built.problem):
        for each in found:
            each.add(block)
    values, gradients = np.array([float(each.value) for each in found]), np.array([each.gradient for each in found])
    return values, gradients, block.sensors[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_difference_falls_with_the_square_of_the_step(name):
    step, steps, independent = MODELS[name]
    left = []
    for part in (1, 2):
        size = (step / part, part * steps, "ddm" if independent else "none")
        pairs = zip(run(name, "ali3p-natural", *size), run(name, "ali3p-rtdyn1", *size), strict=True)
        left.append(
            [(np.abs(ours - theirs).max(initial=0.0), np.abs(theirs).max(initial=0.0)) for ours, theirs in pairs]
        )
    for (coarse, size), (fine, _) in zip(*left, strict=True):
        assert fine <= 0.3 * coarse + 1e-10 * size + NOTHING
        assert fine <= 5e-3 * size + NOTHING


@pytest.mark.slow
def test_the_five_bar_linkage_meets_its_reference():
    from benchmarks.reference import GRADIENTS, PSI

    errors = []
    for part in (1, 2, 4):
        values, gradients, _ = run("fivebar", "ali3p-natural", 1e-3 / part, 5000 * part, "ddm")
        errors.append((np.abs(values / PSI - 1).max(), np.abs(gradients / GRADIENTS - 1).max()))
    assert errors[0][1] < 2e-4
    for coarse, fine in pairwise(errors):
        assert np.divide(coarse, fine) == pytest.approx([4.0, 4.0], rel=0.1)
