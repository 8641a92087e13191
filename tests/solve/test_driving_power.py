"""Power of what drives: written anew at every instant whose equations determine forces."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.model.layout import NONE
from mbsim_cli.solve import allocate
from mbsim_cli.solve.constraint_forces import DrivingPower
from mbsim_cli.solve.forward import forward
from tests.models.command import ROOT

ROWS = 12


@pytest.fixture(scope="module")
def driven():
    """A driven crank, stored instants of its motion, and what writes their power."""
    model = spec.load(ROOT / "models/benchmarks/slider_crank_rheonomic.yaml")
    problem = assembly.build(model, step=4e-3, duration=0.5, output_interval=1, projection="identity").problem
    blocks = list(forward(problem))
    record = allocate.record(problem.model, ROWS, float)
    for stored, name in zip(
        record[:7], ("time", "position", "velocity", "acceleration", *3 * ("lambda_",)), strict=True
    ):
        stored[:] = np.concatenate([getattr(block, name) for block in blocks])[-ROWS:]
    record.reaction[:] = record.lam
    assert (problem.model.constraints.law != NONE).any()
    return record, DrivingPower(problem, problem.theta, redundant=False)


@pytest.mark.parametrize("lost", [[], [0], [5, 6], [3, ROWS - 1], list(range(ROWS))])
def test_instants_that_determine_no_forces_keep_theirs_alone(driven, lost):
    """A motion that is no number stands for one whose equations are singular."""
    record, power = driven
    record.energy[:] = 0.0
    power.write(record)
    expected = record.energy.copy()
    assert (abs(expected[:, 2]) > 1e-3).all()
    damaged = record._replace(position=record.position.copy())
    damaged.position[lost] = np.nan
    damaged.energy[:] = 0.0
    power.write(damaged)
    expected[lost] = 0.0
    np.testing.assert_allclose(damaged.energy, expected, rtol=1e-12)
