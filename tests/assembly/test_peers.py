"""What programs of peers are told of a mechanism is the model that mbsim reads."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmarks.peer_programs.common import MECHANISMS
from tests.models.command import mbsim

MODELS = Path(__file__).parents[2] / "models"
DELTA = "../benchmarks/peer_programs/delta"


def first_value(model, check):
    """Numbers at the start that a check of a model knows."""
    data = yaml.safe_load((MODELS / f"{model}.yaml").read_text())
    return np.array(data["checks"][check]["values"][0]["value"], float)


def angular_velocities(mechanism):
    found = {"": np.zeros(3)}
    for body, rates in zip(mechanism.bodies, mechanism.rates(), strict=True):
        found[body.name] = found[body.parent] + rates @ np.array(body.axes)
    return found


def test_rates_that_loops_ask_for():
    found = angular_velocities(MECHANISMS["rssr"]())
    assert found["coupler"] == pytest.approx(first_value("benchmarks/rssr_fourbar", "coupler"), abs=1e-9)
    bars = angular_velocities(MECHANISMS["a02"]())
    assert all(w[2] == pytest.approx(-1.0 if name.startswith("v") else 0.0, abs=1e-9) for name, w in bars.items())


def test_places_at_the_start():
    assert MECHANISMS["chain24"]().seen[1] == pytest.approx(first_value("chain", "tip at the start"), abs=1e-12)
    assert MECHANISMS["rssr"]().seen[1] == pytest.approx(first_value("benchmarks/rssr_fourbar", "point B"))
    assert MECHANISMS["delta"]().seen[1] == pytest.approx(first_value(DELTA, "center"))


@pytest.mark.slow
def test_the_delta_robot_of_other_programs():
    """The model moves as Pinocchio says, to 1e-8."""
    mbsim("check", "benchmarks/peer_programs/delta.yaml")
