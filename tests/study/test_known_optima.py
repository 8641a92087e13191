"""Optimisations whose answers are known: searches that start elsewhere find them."""

from pathlib import Path

import pytest

import mbsim_cli as mbsim

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[2] / "models"


@pytest.mark.parametrize(
    ("model", "name", "start", "optimum", "objective", "value"),
    [
        # Lyapunov equations of linear systems
        (
            "benchmarks/tuned_mass_damper", "tuned", {"f": 0.8, "zeta": 0.3},
            {"f": 0.9315409788, "zeta": 0.1525398252}, "J", 3.1261361571,
        ),
        ("benchmarks/quarter_car_step", "comfort", {"c": 2000.0}, {"c": 716.24018}, "J", 2062.7717276),
        # the springs of the five-bar linkage that hold it where it is released: psi1 is zero
        ("fivebar", "rest", {}, {"L_s1": 2.431923574457584, "L_s2": 1.8448688868053877}, "psi1", 0.0),
    ],
    ids=["tuned mass damper", "quarter car", "five-bar"],
)  # fmt: skip
def test_known_optima(tmp_path, model, name, start, optimum, objective, value):
    found = mbsim.optimize(MODELS / f"{model}.yaml", name, parameters=start, output=tmp_path / "best.h5")
    report = found.report["optimization"]
    assert {name: entry["value"] for name, entry in report["variables"].items()} == pytest.approx(optimum, rel=2e-6)
    assert all(abs(entry["start"] / optimum[name] - 1) > 0.02 for name, entry in report["variables"].items())
    assert report["value"] == found.objectives[objective].value == pytest.approx(value, rel=1e-7, abs=1e-9)
