"""``mbsim fit`` as users call it, and what docs/fit.md shows."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from .conftest import ROOT

PAGE = (ROOT / "docs/fit.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]


@pytest.fixture
def sledge(tmp_path):
    folder = tmp_path / "models/benchmarks"
    folder.mkdir(parents=True)
    for path in (ROOT / "models/benchmarks").glob("sledge*"):
        shutil.copy(path, folder)
    return folder / "sledge.yaml"


def test_commands_of_the_page_work(mbsim, sledge, tmp_path):
    assert len(COMMANDS) == 3
    done = [mbsim(*command) for command in COMMANDS]
    assert [outcome.code for outcome in done] == [0, 0, 0], [outcome.err for outcome in done]
    shown = re.search(r"│ m +│ 1.5 +│ ([\d.]+) ", PAGE)[1]
    assert f"│ {shown} " in done[0].out and "3 left out" not in done[0].out and "1 left out" in done[0].out
    assert "the data do not determine m, k and c" in done[1].err and "not determined" in done[1].out
    report = done[2].json
    assert report["fit"]["parameters"]["m"]["value"] == pytest.approx(float(shown), rel=1e-6)
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG") and report["picture"] == "fit.png"
    assert (sledge.parent / "fitted.yaml").exists()
    assert not list(tmp_path.glob("*.evaluations"))


def test_what_is_asked_wrongly(mbsim, sledge):
    for arguments, code, sentence in (
        (("none",), 2, "unknown fit 'none': the model has all, lumped"),
        (("all", "--save-model", "x.txt"), 2, "a model file ends in .yaml"),
        (("all", "--save-model", sledge), 5, "exists; --force overwrites it"),
        (("all", "--save-model", "x.yaml"), 2, "names other files relative to its folder"),
        (("all", "--picture", "x.txt"), 2, "a picture ends in"),
        (("all", "-p", "k=2000"), 2, "begins with k = 2000, outside of its range 1 to 1000"),
        (("all", "--duration", "1"), 3, "lie outside of the run"),
    ):
        outcome = mbsim("fit", sledge, *arguments)
        assert outcome.code == code and sentence in outcome.err, outcome.err
    assert not list(Path().glob("*.evaluations"))


def test_nothing_overwrites_the_files_of_the_model(mbsim, sledge):
    files = {path: path.read_bytes() for path in sledge.parent.iterdir()}
    readings = sledge.parent / "sledge_run1.csv"
    over = sledge.parent / "over.yaml"
    over.write_text("mbsim: 1\ninclude: [sledge.yaml]\n")
    for command in (
        ("fit", sledge, "all", "-o", readings),
        ("run", sledge, "-o", readings),
        ("fit", over, "all", "--save-model", sledge),
    ):
        done = mbsim(*command, "--force")
        assert done.code == 5 and f"{command[-1]} is a file that the model reads" in done.err, done
    assert files == {path: path.read_bytes() for path in files}


def test_estimates_that_cannot_be_saved_are_shown(mbsim, sledge):
    """Where the saved model would be invalid, as where another search would begin outside of its range."""
    text = sledge.read_text().replace(
        "fit:", "fit:\n  other: {measurements: [slow], parameters: {m: {from: 1, to: 1.6}}}"
    )
    sledge.write_text(text)
    done = mbsim("fit", sledge, "all", "--save-model", sledge.parent / "new.yaml")
    assert done.code == 2 and "cannot be saved" in done.err and "│ m         │ 1.5   │ 2.00" in done.out
    done = mbsim("fit", sledge, "all", "--save-model", sledge.parent / "new.yaml", "--json")
    assert done.code == 2 and done.json["fit"]["parameters"]["m"]["value"] == pytest.approx(2.0, rel=0.01)
    assert not (sledge.parent / "new.yaml").exists()


def test_what_could_not_be_saved_is_refused_before_the_search(mbsim, sledge):
    text = sledge.read_text()
    aliased = text.replace("m: {value: 1.5,", "m: {value: &m 1.5,").replace("payload: 1.5", "payload: *m")
    assert aliased.count("*m") > text.count("*m")
    sledge.write_text(aliased)
    done = mbsim("fit", sledge, "all", "--save-model", sledge.parent / "new.yaml")
    assert done.code == 2 and "the value of 'm' cannot be saved" in done.err and not done.out
