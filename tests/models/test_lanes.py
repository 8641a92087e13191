"""Eight cases of a study of a mechanism in lanes: each with the bits that it has alone."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.lanes import run_beside, why_alone
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run
from tests.blocks import joined

pytestmark = [
    pytest.mark.slow,  # compiles the loop of eight cases
    pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time"),
]


def problems_of(path, duration, spread, **settings):
    """Eight cases with other values of all parameters."""
    file, timing = spec.load(path), Timing()
    plan = plan_run(file, Settings(method="none", duration=duration, **settings), timing, SILENT)
    own = {name: float(file.expressions.value(number.value).real) for name, number in file.parameters.items()}
    rng = np.random.default_rng(3)
    for _ in range(8):
        values = {name: value * rng.uniform(1 - spread, 1 + spread) for name, value in own.items()}
        problem = plan_run(plan.model_file, plan.settings, timing, SILENT, values=values).assembled.problem
        yield replace(problem, options=replace(problem.options, output_interval=1))


@pytest.mark.parametrize(
    ("path", "duration", "spread", "alone"),
    [
        ("models/fivebar.yaml", 0.5, 0.02, 0.01),
        ("models/buggy.yaml", 1.2, 0.2, 0.1),  # wheels leave the ground, tyres slip
        ("models/buggy_lane_change.yaml", 3.0, 0.2, 0.1),
        ("models/benchmarks/slider_crank_rheonomic.yaml", 0.2, 0.01, 0.1),
        ("models/benchmarks/rssr_fourbar.yaml", 0.2, 0.01, 1.0),  # corrections end at round-off in half of the steps
    ],
)
def test_each_case_has_the_bits_that_it_has_alone(path, duration, spread, alone):
    problems = list(problems_of(path, duration, spread))
    assert not why_alone(problems[0])
    runs, parted = run_beside(problems, lambda: None)
    assert parted <= alone
    for problem, run in zip(problems, runs, strict=True):
        single, made = joined(forward(problem)), joined(forward(replace(problem, ahead=run)))
        for values, expected in zip(made, single, strict=True):
            np.testing.assert_array_equal(values, expected)
