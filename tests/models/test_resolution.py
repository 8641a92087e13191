"""Models at their own steps: no false alarm, and estimates of the size of the errors."""

import pytest

from benchmarks.resolution import RUNS, measured

OWN = [name for name, step in RUNS if step is None]
NOT_SMOOTH = {
    "double_pendulum": "chaotic: errors grow",
    "benchmarks/a02_four_bars_40": "passes singular positions",
    "benchmarks/slider_crank_rheonomic": "no error but round-off",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_estimates_of_motions_at_their_own_steps(name):
    estimated, true = measured(name, None)[1][0]
    assert estimated < 1e-2
    if name not in NOT_SMOOTH:
        assert true / 5.0 < estimated < 5.0 * true
