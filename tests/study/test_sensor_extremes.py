"""Least and largest values of sensors: over all blocks, without NaN, when they are reached first."""

from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.model.layout import Names
from mbsim_cli.study.diagnostics.steps import Extremes

NAMES = Names(
    sensors=("r", "hidden", "mixed"),
    sensor_units=("m", "1", ("N", "N m")),
    sensor_components=(("value",), ("value",), ("force", "moment")),
)
ROWS = {"r": slice(0, 1), "mixed": slice(2, 4)}


def test_over_blocks():
    extremes = Extremes(NAMES, ROWS)
    values = np.array([[1.0, 0, np.nan, np.nan], [-2.0, 0, 5.0, np.nan], [3.0, 0, 4.0, np.nan], [-2.0, 0, 5.0, np.nan]])
    for rows in (slice(0, 1), slice(1, 1), slice(1, 4)):
        extremes.add(SimpleNamespace(time=np.arange(4.0)[rows], sensors=values[rows]))
    report = extremes.report
    assert list(report) == ["r", "mixed.force", "mixed.moment"]
    assert report["r"] == {"unit": "m", "least": -2.0, "least_at": 1.0, "largest": 3.0, "largest_at": 2.0}
    assert report["mixed.force"] == {"unit": "N", "least": 4.0, "least_at": 2.0, "largest": 5.0, "largest_at": 1.0}
    assert report["mixed.moment"].pop("unit") == "N m" and np.isnan(list(report["mixed.moment"].values())).all()


@pytest.mark.parametrize("sensors", [np.zeros((1, 0)), np.zeros((0, 4))])
def test_nothing_to_tell(sensors):
    extremes = Extremes(NAMES, ROWS)
    extremes.add(SimpleNamespace(time=np.zeros(len(sensors)), sensors=sensors))
    assert extremes.report == {}
