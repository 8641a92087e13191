"""``mbsim optimize`` as users call it, and what docs/optimization.md shows, on shorter runs."""

import re
import shlex
import shutil

import pytest

from .conftest import ROOT

PAGE = (ROOT / "docs/optimization.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]


@pytest.fixture
def models(tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    model = tmp_path / "models/fivebar.yaml"
    text = model.read_text()
    short = text.replace("step: 1e-3\n  duration: 5\n", "step: 1e-2\n  duration: 1\n")
    model.write_text(short.partition("\nchecks:\n")[0])
    assert short != text
    return model


def test_commands_of_the_page_work(mbsim, models, tmp_path):
    done = [mbsim(*command) for command in COMMANDS]
    assert len(COMMANDS) >= 3 and [outcome.code for outcome in done] == [0] * len(COMMANDS)
    assert {"fivebar-rest.h5", "calm.h5", "fivebar-calm.h5"} <= {path.name for path in tmp_path.iterdir()}
    assert "psi1 minimized: " in done[0].out and "at_least 0.5" in done[1].out
    report = done[2].json
    assert report["sensitivity"] == "adjoint" and report["optimization"]["method"] == "mma"
    assert report["optimization"]["analyses"] == 5 and "the limit of 5 analyses" in report["warnings"][-1]
    inspected = mbsim("inspect", "calm.h5", "--json").json
    assert inspected["objectives"]["psi3"]["value"] == pytest.approx(
        mbsim("run", models, *_overrides(inspected), "--json", "-o", "again.h5").json["objectives"]["psi3"]["value"],
        rel=1e-12,
    )


def _overrides(inspected):
    """Options of a run at the best design."""
    values = inspected["overrides"]
    return [word for name, value in values.items() for word in ("-p", f"{name}={value}")]


def test_what_is_asked_wrongly(mbsim, models, pendulum):
    for arguments, code, sentence in (
        ((models,), 2, "name an optimization: the model has rest, calm"),
        ((models, "clam"), 2, "unknown optimization 'clam': the model has rest, calm"),
        ((pendulum,), 2, "name an optimization: the model has none: write one under optimization"),
        ((models, "rest", "-o", models), 5, "is the model itself"),
        ((models, "rest", "--evaluations", "0"), 2, "evaluations"),
        ((models, "rest", "-p", "L_s1=4"), 2, "begins with L_s1 = 4, outside of its range 1.5 to 3"),
    ):
        outcome = mbsim("optimize", *arguments)
        assert outcome.code == code and sentence in outcome.err, outcome.err


def test_bounds_that_leave_nothing_are_no_variable(mbsim, variant):
    """By default all vary that have bounds: one that is held by equal ones stays."""
    bounded = ("L: {value: 1.0, unit: m}", "L: {value: 1, bounds: [0.5, 2]}\n  held: {value: 3, bounds: [3, 3]}")
    model = variant(*bounded)
    model.write_text(model.read_text() + "optimization: {least: {minimize: swing, evaluations: 2}}\n")
    done = mbsim("optimize", model, "--json")
    assert done.code == 0 and list(done.json["optimization"]["variables"]) == ["L"], done.err


def test_what_could_not_be_saved_is_refused_before_the_search(mbsim, tmp_path):
    """The control is an included one, and its own mapping has no room for values."""
    shutil.copy(ROOT / "models/benchmarks/sliding_mass.yaml", tmp_path)
    model = tmp_path / "over.yaml"
    model.write_text("mbsim: 1\ninclude: [sliding_mass.yaml]\ncontrols: {u: {}}\n")
    done = mbsim("optimize", model, "--save-model", tmp_path / "best.yaml", "-o", tmp_path / "out.h5")
    assert done.code == 2 and "the values of control 'u' cannot be saved: its mapping is empty here" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["over.yaml", "sliding_mass.yaml"]
