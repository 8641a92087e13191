"""``agreement`` checks: the analysis repeated by other formulations, or differentiated by complex step."""

import numpy as np
import pytest

from mbsim_cli.study import verification
from mbsim_cli.study.evaluation import Gradient

from .conftest import PENDULUM, ROOT

OBJECTIVES = """\
  low: {maximum: -angle*L, sharpness: 3*k}
  last: {final: "atan2(angle, -k) + abs(angle - L)"}
  all: {expression: swing*low + k*last}
checks:
"""
SWING = "objectives: {swing: {integral: angle**2, unit: rad^2 s}}\n"


@pytest.fixture
def check(mbsim, tmp_path):
    """Check the pendulum with more objectives and parameters; its rows that are of agreement."""

    def call(entry, *arguments):
        text = PENDULUM.replace(SWING, "").replace("  k: {value: 2.0", "  half: L/2\n  k: {value: 4 * half")
        text = text.replace("checks: {freedom: {mobility: 1}}\n", "")
        objectives = SWING.replace("{swing", "\n  swing").replace("}}", "}") + OBJECTIVES
        (tmp_path / "p.yaml").write_text(f"{text}{objectives}  all agree: {entry}\n")
        done = mbsim("check", "p.yaml", "--json", *arguments)
        return done, [row for row in done.json["checks"] if row["kind"] == "agreement"]

    return call


def test_complex_step_differentiates_every_kind_of_objective(check):
    done, rows = check("{agreement: [complex_step], relative_tolerance: 1e-8}")
    assert done.code == 0, done.json
    expected = [(o, p) for o in ("swing", "low", "last", "all") for p in (None, "L", "half", "k")]
    assert [(row["objective"], row["parameter"]) for row in rows] == expected
    assert {row["name"] for row in rows} == {"all agree: complex_step"}
    assert all(abs(row["reference"]) > 1e-3 for row in rows)


def test_the_analysis_is_repeated_by_another_formulation(check):
    done, rows = check("{agreement: [ali3p-rtdyn0], relative_tolerance: 1e-10, objectives: [swing, last]}")
    assert done.code == 0 and {row["objective"] for row in rows} == {"swing", "last"}
    assert rows[0]["source"] == "the analysis repeated by ali3p-rtdyn0"


def test_a_method_can_be_left_out(check):
    done, rows = check("{agreement: [ali3p-rtdyn0]}", "--without", "ali3p-rtdyn0")
    assert (done.code, rows) == (0, []) and "leaves nothing out" not in done.err
    done, rows = check("{agreement: [ali3p-rtdyn0]}", "--without", "ali3p-natural")
    assert rows and "--without ali3p-natural leaves nothing out: no check of p.yaml names it" in done.err


def test_a_method_that_the_command_line_chose_is_not_compared_with_itself(check):
    assert check("{agreement: [ali3p-rtdyn0]}", "--formulation", "ali3p-rtdyn0")[1] == []


@pytest.mark.parametrize("method", ["ali3p-rtdyn0", "complex_step"])
def test_a_wrong_gradient_is_found(check, monkeypatch, method):
    honest = verification._repeated

    def wrong(*arguments):
        results = honest(*arguments)
        return {name: Gradient(r.value, r.gradient * (1 + 1e-2)) for name, r in results.items()}

    monkeypatch.setattr(verification, "_repeated", wrong)
    done, rows = check(f"{{agreement: [{method}], relative_tolerance: 1e-3}}")
    assert done.code == 1 and [row["passed"] for row in rows] == [row["parameter"] is None for row in rows]


def test_the_five_bar(mbsim, tmp_path):
    text = (ROOT / "models/fivebar.yaml").read_text()
    text = text[: text.index("\nchecks:")].replace("duration: 5", "duration: 0.02")
    entry = "{agreement: [ali3p-rtdyn0, complex_step], relative_tolerance: 1e-4}"
    (tmp_path / "fivebar.yaml").write_text(f"{text}\nchecks: {{agree: {entry}}}\n")
    done = mbsim("check", "fivebar.yaml", "--json")
    rows = {(row["name"], row["objective"], row["parameter"]): row["relative_error"] for row in done.json["checks"]}
    assert done.code == 0, done.json
    exact = [error for (name, _, _), error in rows.items() if name == "agree: complex_step"]
    assert len(exact) >= 15 and np.median(exact) < 1e-9
