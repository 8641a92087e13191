"""What runs tell of their own errors, beside what half the step tells: random trees and loops."""

import numpy as np
import pytest

from benchmarks.resolution import judged
from mbsim_cli.errors import MbsimError
from mbsim_cli.study.settings import Settings
from tests.campaign.generator import FAMILIES, load

EACH = 12
ANALYSES = {
    "open tree": [{"formulation": "ali3p-rtdyn1"}, {"formulation": "recursive", "integrator": "rk4"}],
    "loop in space": [{"formulation": "ali3p-rtdyn1"}],
    "loop in a plane": [{"formulation": "ali3p-rtdyn1"}],
}
STEPS = {"step": 2e-3, "duration": 0.4, "sensitivity": {"method": "ddm"}}
EXACT = 1e-9  # errors below are round-off


def ratios(family, seeds, analysis):
    """Largest estimated over largest true error (values, gradients) of each mechanism that runs."""
    found = []
    for seed in seeds:
        try:
            _, pairs = judged(load(FAMILIES[family](seed) | {"analysis": STEPS | analysis}), Settings())
        except MbsimError:
            continue
        found += [estimated / true for estimated, true in filter(None, pairs[1:]) if true > EXACT]
    return np.array(found)


def test_a_few_mechanisms():
    assert np.all(ratios("open tree", [3, 7], ANALYSES["open tree"][0]) > 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("family", ANALYSES)
def test_estimates_of_random_mechanisms(family):
    """Most are of the size of the errors; none is of a motion that is said to be exact."""
    for analysis in ANALYSES[family]:
        found = ratios(family, range(EACH), analysis)
        print(family, analysis, np.sort(found))  # shown by -s
        assert len(found) > EACH
        assert np.all((found > 0.1) & (found < 100.0)) and np.mean(found > 0.3) > 0.9
