"""Models at their own steps: no false alarm, and estimates of the size of the errors."""

import pytest

from benchmarks.resolution import RUNS, measured

EXACT = 1e-9  # errors below are round-off
OWN = [name for name, step in RUNS if step is None and not name.startswith("flexible")]
NOT_SMOOTH = {
    "double_pendulum": "chaotic: errors grow",
    "benchmarks/a02_four_bars_40": "passes singular positions",
}
TOO_LARGE = {"buggy": 10.0}  # with twice the step tyres land so roughly that errors fall by more than the square
NEAR = {"flexible/beam_limits", "flexible/rotating_beam", "flexible/slider_crank", "benchmarks/whipple_bicycle"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_estimates_of_motions_at_their_own_steps(name):
    motion, *numbers = measured(name, None)[1]
    estimated, true = motion or (0.0, 0.0)  # that of inverse dynamics is given
    assert estimated < 1e-2
    if name not in NOT_SMOOTH:
        assert true < EXACT or true / 5.0 < estimated < TOO_LARGE.get(name, 5.0) * true
        assert all(told > 0.1 * off for told, off in filter(None, numbers) if off > EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [run for run in RUNS if run[0] in NEAR])
def test_estimates_of_numbers_where_modes_ring_or_motions_are_steady(name, step):
    for told, off in filter(None, measured(name, step)[1][1:]):
        assert off / 5.0 < told < 5.0 * off
