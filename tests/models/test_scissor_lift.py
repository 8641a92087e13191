"""The scissor lift: a light roller under the weight of all stages, against Lagrange's equation and statics by hand."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.assembly import build
from mbsim_cli.spec import load
from tests.marks import NATURAL
from tests.models.command import ROOT

MODEL = ROOT / "models" / "scissor_lift.yaml"
VALUES = {"L": 2.0, "m": 30.0, "load": 500.0, "alpha": np.radians(20.0)}
G, TRAVEL, TIME = 9.81, 0.4, 2.0


def push(t, n, L, m, load, alpha):
    """Force of the jack, M x'' + M' x'^2 / 2 + V' in x: heights are (i - 1/2) h and n h, with h^2 = L^2 - x^2."""
    s = t / TIME
    x = L * np.cos(alpha) - TRAVEL * (10 * s**3 - 15 * s**4 + 6 * s**5)
    speed = -TRAVEL / TIME * (30 * s**2 - 60 * s**3 + 30 * s**4)
    rate = -TRAVEL / TIME**2 * (60 * s - 180 * s**2 + 120 * s**3)
    squares = sum(2 * m * (i - 0.5) ** 2 for i in range(1, n + 1)) + load * n**2
    h2 = L**2 - x**2
    mass = n * m / 2 + squares * x**2 / h2 + n * m * L**2 / 6 / h2  # sideways, upwards, turning
    slope = squares * 2 * x * L**2 / h2**2 + n * m * L**2 / 3 * x / h2**2
    weight = -(m * n**2 + load * n) * G * x / np.sqrt(h2)
    return -(mass * rate + slope * speed**2 / 2 + weight)


@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_jack(formulation, n):
    result = mbsim.run(MODEL, n=n, formulation=formulation, duration=TIME / 4)
    assert not [text for text in result.warnings if "converged" in text]
    assert result["push"] == pytest.approx(push(result.time, n, **VALUES), rel=1e-9)
    for name, value in VALUES.items():
        h = 1e-30
        slope = push(result.time, n, **VALUES | {name: value + 1j * h}).imag / h
        assert result.sensitivity("push", name) == pytest.approx(slope, rel=1e-7, abs=1e-7 * np.abs(slope).max())


def test_jack_of_a_tall_lift():
    """162 coordinates; the roller carries all stages by a lever each, so that the penalty must be large."""
    result = mbsim.run(MODEL, n=80, duration=0.1, sensitivity="none")
    assert result["push"] == pytest.approx(push(result.time, 80, **VALUES), rel=1e-8)


def test_a_penalty_that_is_too_small_is_named(tmp_path):
    file = tmp_path / "lift.yaml"
    file.write_text(MODEL.read_text().replace("step: 0.01,", "step: 0.01, penalty: 1e7,"))
    with pytest.raises(mbsim.errors.AnalysisError, match=r"of all 'middle\d+\.[xy]', for the penalty is too small"):
        mbsim.run(file, n=30, duration=0.1, sensitivity="none")


def test_work_lifts_the_weight():
    work = mbsim.run(MODEL).objectives["work"]
    start, end = (np.sqrt(4.0 - x**2) for x in (2 * np.cos(VALUES["alpha"]), 2 * np.cos(VALUES["alpha"]) - TRAVEL))
    assert work.value == pytest.approx((30 * 9 + 500 * 3) * G * (end - start), rel=1e-8)
    assert work.by("load") == pytest.approx(3 * G * (end - start), rel=1e-8)


def test_middle_pin_by_statics():
    """Moments about the middle of the lowest bar from the roller, where the lift has come to rest."""
    n, (L, m, load, _) = 3, VALUES.values()
    result = mbsim.run(MODEL, sensitivity="none")
    x, F = result["x"][-1], result["push"][-1]
    h = np.sqrt(L**2 - x**2)
    assert pytest.approx(n * (load + n * m) * G * x / h, rel=1e-10) == F
    roller = load * G * 0.9 / x + n * m * G  # moments about the left end
    left = load * G * (1 - 0.9 / x) + (n - 1) * m * G  # what the next stage carries on its left
    sideways = x / h * (roller + left) - F  # at the upper end of the bar
    assert result["pin.force"][-1, :2] == pytest.approx([F - sideways, m * G - roller + left], rel=1e-9)


def test_a_stated_penalty_that_is_too_small_is_warned_of(tmp_path):
    def warnings(penalty):
        path = tmp_path / "lift.yaml"
        path.write_text(MODEL.read_text().replace("step: 0.01,", f"step: 0.01, penalty: {penalty},"))
        return [text for text in build(load(path)).warnings if "penalty" in text]

    (told,) = warnings("1e9")
    assert "most of all by " in told and "gradients of forces may be wrong" in told
    assert warnings(told.split()[-1]) == []
