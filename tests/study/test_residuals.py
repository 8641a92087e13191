"""Least squares: residuals and their Jacobian of one run, against differences; measurements with gaps and scales."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, least_squares

import mbsim_cli as mbsim
from tests.cli.conftest import PENDULUM

TIP = "{angle: {type: coordinate, coordinate: A.angle}, tip: {type: position, point: rod.E}}"
MODEL = PENDULUM.replace("{angle: {type: coordinate, coordinate: A.angle}}", TIP).replace(
    "points: {", "points: {E: {rod: [L, 0, 0]}, "
)


class Counted(mbsim.Model):
    """Counts its runs."""

    runs = 0

    def run(self, *values, **options):
        self.runs += 1
        return super().run(*values, **options)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m.yaml").write_text(MODEL)
    return Counted(tmp_path / "m.yaml")


def measured(model, rho):
    """Every other position of the tip, and all angles."""
    found = model.run(rho, sensitivity="none")
    tip = found["tip"].copy()
    tip[1::2] = np.nan
    return {"angle": found["angle"], "tip": tip, "A.angle.velocity": found["A.angle.velocity"]}


def test_one_run_gives_values_and_jacobian(model):
    residuals = model.residuals(measured(model, [0.9, 2.5]), scales={"tip": 0.1})
    model.runs = 0
    values, jacobian = residuals(model.rho), residuals.jacobian(model.rho)
    assert model.runs == 1
    found = model.run([0.9, 2.5], sensitivity="none"), model.run(sensitivity="none")
    there, here = ({name: result[name] for name in ("angle", "tip", "A.angle.velocity")} for result in found)
    assert values[:51] == pytest.approx(here["angle"] - there["angle"], abs=1e-14) and len(values) == 51 + 26 * 3 + 51
    assert values[51:-51] == pytest.approx((here["tip"] - there["tip"])[::2].ravel() / 0.1, abs=1e-13)
    differences = approx_fprime(model.rho, residuals, 1e-6)
    assert np.abs(jacobian - differences).max() < 1e-5 * np.abs(jacobian).max()
    values[:], jacobian[:] = 0.0, 0.0  # what was handed out is the caller's
    assert residuals([0.9, 2.5]) == pytest.approx(np.zeros(len(values)), abs=1e-14)
    assert residuals(model.rho).any() and residuals.jacobian(model.rho).any()


def test_a_fit_runs_each_trial_once(model):
    residuals = model.residuals(measured(model, [0.9, 2.5]))
    model.runs = 0
    found = least_squares(residuals, model.rho, residuals.jacobian, xtol=1e-12)
    assert found.x == pytest.approx([0.9, 2.5], rel=1e-9) and model.runs == found.nfev
    assert pickle.loads(pickle.dumps(residuals))(found.x) == pytest.approx(found.fun, abs=1e-15)
    assert repr(residuals) == "<mbsim residuals: angle, tip, A.angle.velocity by L, k>"


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        ({}, {}, "want what was measured"),
        ({"angle": np.zeros(3)}, {}, r"'angle' has shape \(51,\), and what was measured \(3,\)"),
        ({"angle": np.zeros(51)}, {"scales": {"tip": 1.0}}, "a scale of tip, which was not measured"),
        ({"angle": np.zeros(51)}, {"scales": {"angle": 0.0}}, "positive and finite, not 0.0"),
        ({"angle": np.zeros(51)}, {"sensitivity": "adjoint"}, "leave sensitivity out"),
        ({"kinetic_energy": np.zeros(51)}, {}, "no derivatives of 'kinetic_energy' along time"),
    ],
)
def test_what_makes_no_residuals(model, given, options, sentence):
    with pytest.raises(mbsim.UsageError, match=sentence):
        model.residuals(given, **options)(model.rho)
