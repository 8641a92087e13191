"""Least squares: residuals and their Jacobian of one run, against differences; measurements with gaps and scales."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, least_squares

import mbsim_cli as mbsim
from mbsim_cli.study.evaluation import blocks_of
from mbsim_cli.study.result import interpolated
from tests.cli.conftest import PENDULUM

TIP = "{angle: {type: coordinate, coordinate: A.angle}, tip: {type: position, point: rod.E}}"
MODEL = PENDULUM.replace("{angle: {type: coordinate, coordinate: A.angle}}", TIP).replace(
    "points: {", "points: {E: {rod: [L, 0, 0]}, "
)


class Counted(mbsim.Model):
    """Counts its runs."""

    runs = 0

    def recorded(self, *values, **options):
        self.runs += 1
        return super().recorded(*values, **options)


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
        ({"angle": np.zeros(3)}, {}, r"'angle' has shape \(51,\), and its measurements have \(3,\)"),
        ({"angle": np.zeros(51)}, {"scales": {"tip": 1.0}}, "a scale of tip, which was not measured"),
        ({"angle": np.zeros(51)}, {"scales": {"angle": 0.0}}, "positive and finite, not 0.0"),
        ({"angle": np.zeros(51)}, {"sensitivity": "adjoint"}, "leave sensitivity out"),
        ({"kinetic_energy": np.zeros(51)}, {}, "no derivatives of 'kinetic_energy' along time"),
    ],
)
def test_what_makes_no_residuals(model, given, options, sentence):
    with pytest.raises(mbsim.UsageError, match=sentence):
        model.residuals(given, **options)(model.rho)


SMOOTH = ("A.angle", "A.angle.velocity", "A.angle.acceleration", "angle", "tip")


def test_between_rows_a_fine_run_is_met(model, tmp_path):
    """Of sixth order in the distance of rows; velocities of fourth."""
    exact = {"duration": 0.4, "formulation": "recursive", "integrator": "dop853", "tolerance": 1e-12}
    found, rows = model.run(step=1e-3, **exact), model.run(step=2e-2, **exact)
    times = found.time[1:-1]
    assert len(rows.time) == 21
    for name in SMOOTH:
        size = np.abs(found[name]).max()
        assert np.abs(rows.at(times, name) - found[name][1:-1]).max() < 2e-6 * size, name
        assert rows.at(rows.time, name) == pytest.approx(rows[name], abs=0.0), name
    stored = mbsim.open(rows.save(tmp_path / "rows.h5"))
    assert stored.at(times, "tip") == pytest.approx(rows.at(times, "tip"), abs=0.0)


def test_derivatives_between_rows_are_those_of_what_is_computed(model):
    """The complex step of the whole run, whose rows go by the same map."""
    times = np.array([0.0, 0.0137, 0.2501, 0.3, 0.49999, 0.5])
    result = model.run(sensitivity="ddm")
    planned, _ = model._plan(None, {"sensitivity": "ddm"})
    problem = planned.assembled.problem
    for number, name in enumerate(model.differentiated):
        moved = problem.theta + 1e-30j * problem.theta_rho[:, number]
        block = MemoryBlocks(blocks_of(problem, moved, None))
        rows = [part.imag / 1e-30 for part in (block.position, block.velocity, block.acceleration, block.sensors)]
        angle = interpolated(result.time, times, rows[:3])[:, 0]
        tip = interpolated(result.time, times, rows[3:])[:, 1:4]
        assert result.sensitivity("A.angle", name, times=times) == pytest.approx(angle, rel=1e-10, abs=1e-12)
        assert result.sensitivity("tip", name, times=times) == pytest.approx(tip, rel=1e-10, abs=1e-12)


class MemoryBlocks:
    """Blocks of a run, one behind the other."""

    def __init__(self, blocks):
        found = list(blocks)
        for field in ("position", "velocity", "acceleration", "sensors"):
            setattr(self, field, np.concatenate([np.array(getattr(block, field)) for block in found]))


def test_measurements_at_times_of_their_own(model):
    """Neither on output times nor on steps, by each sensor others; the file stores every tenth step."""
    text = model.path.read_text().replace(
        "step: 1e-2, duration: 0.5", "step: 1e-3, duration: 0.5, output_interval: 1e-2"
    )
    model.path.write_text(text)
    model = Counted(model.path)
    times = {"tip": np.array([0.01234, 0.2, 0.41]), "A.angle.velocity": np.linspace(0.1, 0.49, 8)}
    truth = model.recorded([0.9, 2.5], {"sensitivity": "none"}, every=1)
    seen = {name: truth.at(at, name) for name, at in times.items()}
    seen["tip"][1, 0] = np.nan
    residuals = model.residuals(seen, times=times, scales={"tip": 1e-2})
    assert residuals(model.rho).shape == (3 * 3 - 1 + 8,) and residuals.jacobian(model.rho).shape == (16, 2)
    differences = approx_fprime(model.rho, residuals, 1e-6)
    assert np.abs(residuals.jacobian(model.rho) - differences).max() < 1e-5 * np.abs(differences).max()
    found = least_squares(residuals, model.rho, residuals.jacobian, bounds=([0.1, 0.1], [2.0, 5.0]))
    assert found.x == pytest.approx([0.9, 2.5], rel=1e-6)
    once = model.residuals({"tip": truth.at([0.3], "tip")}, times=[0.3])
    assert once([0.9, 2.5]) == pytest.approx(np.zeros(3), abs=1e-14)


@pytest.mark.parametrize("times", [[0.6], [-0.1], [np.nan], [[0.1]], {"angle": [0.1]}, {"tip": [0.1], "angle": [0.1]}])
def test_times_that_a_run_does_not_cover(model, times):
    with pytest.raises(mbsim.UsageError, match=r"times (must be|want)"):
        model.residuals({"tip": np.zeros((1, 3))}, times=times)(model.rho)
