"""``step: auto``: halved until objectives and gradients are as accurate as asked, or a sentence."""

import h5py
import numpy as np
import pytest

from mbsim_cli.study import automatic_step
from tests.cli.conftest import ROOT
from tests.cli.test_discretisation import BALL

AUTO = ("step: 1e-2, duration: 0.5", "step: auto, accuracy: 1e-3, duration: 0.5")


def errors(done, exact):
    """Largest relative error of value and gradient."""
    swing, true = done["objectives"]["swing"], exact["objectives"]["swing"]
    found = [(swing["value"], true["value"])] + [(swing["gradient"][p], true["gradient"][p]) for p in swing["gradient"]]
    return max(abs(a / b - 1.0) for a, b in found)


def test_the_file_asks_and_the_accuracy_is_kept(mbsim, variant):
    exact = mbsim("run", variant(*AUTO), "--step", "1e-4", "--json").json
    done = mbsim("run", variant(*AUTO), "--json").json
    assert errors(done, exact) < 1e-3
    told = done["discretisation"]
    assert told["accuracy"] == 1e-3 and told["error"] <= 1e-3 and 3 <= told["runs"] <= 6
    assert done["step"] == pytest.approx(0.5 / 64 / 2 ** (told["runs"] - 1)) and done["steps"] == round(
        0.5 / done["step"]
    )
    swing = done["objectives"]["swing"]["discretisation"]
    assert max(swing["relative"]["value"], *swing["relative"]["gradient"].values()) == pytest.approx(told["error"])
    with h5py.File("variant.h5") as file:
        assert file["meta/discretisation/runs"][()] == told["runs"]
        assert file["objectives/swing/discretisation"][()] == swing["value"]
    finer = mbsim("run", variant(*AUTO), "--accuracy", "1e-6", "--json").json
    assert finer["step"] < done["step"] and errors(finer, exact) < 1e-4


def test_the_command_line_asks(mbsim, pendulum):
    done = mbsim("run", pendulum, "--step", "auto", "--accuracy", "1e-3")
    assert "step of" in done.err and "runs: objectives and gradients within" in done.err
    assert "chosen" not in mbsim("run", pendulum, "--step", "auto", "--accuracy", "1e-3", "--quiet").err
    values = mbsim("run", pendulum, "--step", "auto", "--sensitivity", "none", "--json").json
    assert values["discretisation"]["accuracy"] == 1e-4 and values["objectives"]["swing"]["gradient"] == {}
    fewer = mbsim("run", pendulum, "--step", "auto", "--accuracy", "1e-3", "--sensitivity", "fd", "--json").json
    assert fewer["objectives"]["swing"]["discretisation"]["gradient"] == {} and fewer["difference_steps"]


def test_a_check_chooses_the_step_too(mbsim, variant):
    checks = "checks: {freedom: {mobility: 1}, value: {objective: swing, value: 0.7, relative_tolerance: 0.5}}"
    path = variant("checks: {freedom: {mobility: 1}}", checks)
    done = mbsim("check", path, "--step", "auto", "--accuracy", "1e-3")
    assert done.code == 0 and "chosen by" in done.err
    rows = mbsim("check", path, "--step", "auto", "--accuracy", "1e-3", "--json").json["checks"]
    long = mbsim("check", path, "--step", "0.05", "--json").json["checks"]
    assert rows[1]["computed"] != long[1]["computed"]


def test_a_fast_motion_is_found_though_it_is_smooth_nowhere_at_first(mbsim, tmp_path):
    """16 turns of 1000 rad/s in 0.1 s: the first steps of 1.6 ms turn by more than a quarter."""
    path = tmp_path / "ball.yaml"
    path.write_text(BALL)
    done = mbsim("run", path, "--step", "auto", "--accuracy", "1e-2", "--json").json
    assert abs(done["objectives"]["end"]["value"] - np.cos(100.0)) < 1e-2 and done["step"] < 1e-4


def test_an_accuracy_that_is_not_reached_ends_in_a_sentence(mbsim, variant, monkeypatch):
    monkeypatch.setattr(automatic_step, "HALVINGS", 3)
    done = mbsim("run", variant(*AUTO), "--accuracy", "1e-9")
    assert done.code == 4 and "no step down to 0.000977 s keeps to the accuracy 1e-09" in done.err
    assert "swing" in done.err and "larger accuracy" in done.err


def test_steps_that_fail_are_halved_and_failures_end(mbsim, variant, monkeypatch):
    honest, seen = automatic_step._Search._errors_of_run, []

    def run(self, problem, *others):
        seen.append(problem.options.step)
        if problem.options.step > 2e-3:
            raise automatic_step.AnalysisError("the Newton iteration did not converge")
        return honest(self, problem, *others)

    monkeypatch.setattr(automatic_step._Search, "_errors_of_run", run)
    done = mbsim("run", variant(*AUTO), "--json").json
    assert done["discretisation"]["runs"] == len(seen) == 5 and done["step"] == min(seen) < 1e-3
    monkeypatch.setattr(automatic_step, "FAILURES", 1)
    assert mbsim("run", variant(*AUTO)).code == 4


def test_without_objectives_the_motion_counts(mbsim, variant):
    path = variant("objectives: {swing: {integral: angle**2, unit: rad^2 s}}", "objectives: {}")
    done = mbsim("run", path, "--step", "auto", "--accuracy", "1e-3", "--json").json
    assert done["discretisation"]["motion"] == done["discretisation"]["error"] <= 1e-3
    adaptive = mbsim("run", path, "--step", "auto", "--formulation", "recursive")
    assert adaptive.code == 2 and "needs an integral or maximum" in adaptive.err


def test_a_tolerance_controls_the_motion_and_the_step_what_is_summed_over_it(mbsim, pendulum):
    done = mbsim("run", pendulum, "--step", "auto", "--accuracy", "1e-3", "--formulation", "recursive")
    assert "runs: quadrature of objectives and gradients within" in done.err


def test_runs_tell_the_errors_that_one_run_does_not(mbsim, tmp_path):
    """Of the end of a motion that projections by the identity slow down."""
    path, options = tmp_path / "fivebar.yaml", ("--duration", "0.5", "--json")
    text = (ROOT / "models/fivebar.yaml").read_text().replace("psi1: {integral:", "psi1: {final:")
    path.write_text(text)
    exact = mbsim("run", path, *options).json["objectives"]["psi1"]["value"]
    path.write_text(text.replace("  step: 1e-3\n", "  step: auto\n  accuracy: 2e-3\n  projection: identity\n", 1))
    found = mbsim("run", path, "--sensitivity", "none", *options).json["objectives"]["psi1"]
    told = found["discretisation"]["value"]
    assert 0.5 * told < abs(found["value"] - exact) < 2.0 * told


def test_no_first_step_is_longer_than_the_output_interval(mbsim, variant):
    path = variant(AUTO[0], "step: auto, accuracy: 0.5, output_interval: 1e-3, duration: 0.5")
    done = mbsim("run", path, "--json").json
    assert done["step"] * 2 ** (done["discretisation"]["runs"] - 1) == pytest.approx(1e-3)
    assert mbsim("info", path).code == mbsim("validate", path).code == 0


@pytest.mark.parametrize(
    ("text", "options", "code", "sentence"),
    [
        ("step: 1e-2, accuracy: 1e-3, duration: 0.5", (), 3, "only step: auto keeps to an accuracy"),
        ("step: auto, accuracy: 2, duration: 0.5", (), 3, "must be less than one"),
        ("step: 1e-2, tolerance: 1, duration: 0.5", (), 3, "analysis.tolerance: must be less than one"),
        ("step: auto, accuracy: 0, duration: 0.5", (), 3, "must be greater than zero"),
        ("step: auto, accuracy: 1e-3*k, duration: 0.5", (), 3, "accuracy depends on the parameter 'k'"),
        (
            "step: auto, duration: 0.5",
            ("--step", "1e-2", "--accuracy", "0.1"),
            2,
            "--accuracy is what --step auto keeps",
        ),
        ("step: auto, duration: 0.5", ("--accuracy", "2"), 2, "between 0 and 1"),
        ("step: auto, duration: 0.5", ("--step", "soon"), 2, "or auto, not 'soon'"),
    ],
)
def test_what_makes_no_sense_is_refused(mbsim, variant, text, options, code, sentence):
    done = mbsim("run", variant(AUTO[0], text), *options)
    assert done.code == code and sentence in done.err


def test_a_start_that_fails_is_tried_once(mbsim, variant, monkeypatch):
    """The step has no part in it."""
    honest, seen = automatic_step._Search._errors_of_run, []
    monkeypatch.setattr(
        automatic_step._Search, "_errors_of_run", lambda self, *given: seen.append(1) or honest(self, *given)
    )
    spring = "{type: spring_damper, points: [ground.O, rod.O], stiffness: 1, natural_length: 0.1}"
    done = mbsim("run", variant("forces: {", f"forces: {{s: {spring}, "), "--step", "auto")
    assert done.code == 4 and "'s'" in done.err and len(seen) == 1
