"""``mbsim plot``: what is named is drawn, and anything else is a sentence."""

import sys

import h5py
import pytest

from mbsim_cli.io.target import is_picture


@pytest.fixture
def plot(mbsim, fivebar):
    """Plot the five-bar's result, and maybe others, with ``--json``."""

    def call(*arguments):
        done = mbsim("plot", fivebar, *arguments, "--json")
        assert done.code == 0, done.out
        return done.json

    return call


@pytest.fixture
def undrawn(monkeypatch):
    """Write the first bytes of a picture in place of it: drawing takes most of a command's time."""
    monkeypatch.setattr(
        "mbsim_cli.report.sheet.save_sheet",
        lambda panels, bars, labels, path, *_: path.write_bytes(b"\x89PNG\r\n\x1a\n"),
    )


def refused(done, *words):
    assert done.code == 2 and not done.out and done.err.count("\n") == 1
    assert all(word in done.err for word in words), done.err


def test_without_names_all_sensors_and_gradients(plot, tmp_path):
    report = plot()
    assert report["histories"] == ["r2", "v2", "a2"] and report["gradients"] == ["psi1", "psi2", "psi3"]
    assert report["output"] == "fivebar.png" and is_picture(tmp_path / "fivebar.png") and not report["left_out"]


@pytest.mark.parametrize(
    "arguments, histories, gradients",
    [
        (
            ("r2", "v2.y", "A.angle.velocity", "kinetic_energy"),
            ["r2", "v2.y", "A.angle.velocity", "kinetic_energy"],
            [],
        ),
        (("--gradient",), [], ["psi1", "psi2", "psi3"]),
        (("psi2",), [], ["psi2"]),
        (("r2", "psi3"), ["r2"], ["psi3"]),
        (("r2", "psi3", "--gradient"), ["r2"], ["psi3"]),
        (("r2.x", "--gradient"), ["r2.x"], ["psi1", "psi2", "psi3"]),
        (("r2", "--by", "L_A1, m_A1"), ["∂r2/∂L_A1", "∂r2/∂m_A1"], []),
        (("--by", "m_A1"), ["∂r2/∂m_A1", "∂v2/∂m_A1", "∂a2/∂m_A1"], []),
        (("r2.y", "B.angle", "--by", "L_s1"), ["∂r2.y/∂L_s1", "∂B.angle/∂L_s1"], []),
        (("psi1", "--by", "m_A1"), [], ["psi1"]),
        (("psi1", "v2", "--by", "m_A1"), ["∂v2/∂m_A1"], ["psi1"]),
        (("r2.x,v2.y", "B.angle"), ["r2.x, v2.y", "B.angle"], []),
        (("r2.x,v2.y", "--by", "L_s1"), ["∂r2.x/∂L_s1, ∂v2.y/∂L_s1"], []),
        (("r2.y", "--over", "r2.x"), ["r2.y"], []),
        (("--over", "A.angle", "A.angle.velocity", "B.angle.velocity"), ["A.angle.velocity", "B.angle.velocity"], []),
    ],
)
def test_what_is_named_is_chosen(plot, undrawn, arguments, histories, gradients):
    report = plot(*arguments)
    assert (report["histories"], report["gradients"]) == (histories, gradients)


@pytest.mark.parametrize(
    "arguments",
    [("r2.x,v2.y", "kinetic_energy", "psi2"), ("r2", "r2.x,v2.y", "--by", "L_A1, m_A1"), ("r2.y", "--over", "r2.x")],
)
def test_panels_of_each_kind_are_drawn(plot, tmp_path, arguments):
    plot(*arguments)
    assert is_picture(tmp_path / "fivebar.png")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_ending_chooses_the_kind(plot, tmp_path, kind):
    plot("r2", "-o", f"a.{kind}")
    assert is_picture(tmp_path / f"a.{kind}")


def test_results_are_laid_over_each_other(mbsim, plot, pendulum, fivebar, tmp_path):
    assert mbsim("run", pendulum, "--quiet").code == 0
    report = plot("pendulum.h5", "angle", "r2", "psi1", "swing", "--label", "five", "--label", "one")
    assert report["results"] == [{"file": str(fivebar), "label": "five"}, {"file": "pendulum.h5", "label": "one"}]
    assert report["histories"] == ["angle", "r2"] and report["gradients"] == ["psi1", "swing"]


def test_a_result_is_known_by_its_content_too(plot, undrawn, fivebar, tmp_path):
    (tmp_path / "kept.h5.partial").write_bytes(fivebar.read_bytes())
    (tmp_path / "r2").write_text("a file that has the name of a sensor")
    report = plot("kept.h5.partial", "r2")
    assert [result["label"] for result in report["results"]] == ["fivebar", "kept.h5"]
    assert report["histories"] == ["r2"]


def test_results_of_one_name_are_told_by_their_paths(plot, undrawn, fivebar, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/fivebar.h5").write_bytes(fivebar.read_bytes())
    labels = [result["label"] for result in plot("other/fivebar.h5", "r2")["results"]]
    assert labels == [str(fivebar), "other/fivebar.h5"]


def test_list(mbsim, plot, fivebar):
    found = plot("--list")["results"][str(fivebar)]
    assert found["histories"]["r2"] == {
        "kind": "sensor",
        "unit": "m",
        "components": ["x", "y", "z"],
        "sensitivity": True,
    }
    assert found["gradients"] == ["psi1", "psi2", "psi3"] and "L_A1" in found["parameters"]
    words = mbsim("plot", fivebar, "--list")
    assert words.code == 0 and "A.angle.acceleration" in words.out and not words.err


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("r3",), ("'r3'", "did you mean 'r2'?")),
        (("r2.w",), ("'r2.w'",)),
        (("L_A1",), ("--by L_A1",)),
        (("--by", "L_A2"), ("'L_A2'", "did you mean")),
        (("iterations", "--by", "L_A1"), ("sensitivities of iterations",)),
        (("-o", "a.jpg"), (".png, .svg, .pdf",)),
        (("r2", "v2", "r2"), ("'r2' is named twice",)),
        (("--by", "L_A1,m_A1, L_A1"), ("'L_A1' is named twice",)),
        (("--label", "a", "--label", "b"), ("--label", "1 times")),
        (("r2.y", "--over", "r2"), ("a history of one number", "r2.x or r2.y or r2.z")),
        (("r2.y", "--over", "r3"), ("'r3'", "did you mean 'r2'?")),
        (("psi1", "--over", "r2.x"), ("none is drawn",)),
        (("r2,psi1",), ("psi1 is an objective",)),
        (("r2.x,r9.x",), ("'r9.x'",)),
    ],
)
def test_wrong_usage(mbsim, fivebar, arguments, words):
    refused(mbsim("plot", fivebar, *arguments), *words)


def test_names_without_a_result(mbsim):
    refused(mbsim("plot", "r2"), "name a result")


def test_a_result_without_gradients(mbsim, undrawn, pendulum):
    assert mbsim("run", pendulum, "--sensitivity", "none", "--quiet").code == 0
    refused(mbsim("plot", "pendulum.h5", "--gradient"), "mbsim run --sensitivity ddm")
    refused(mbsim("plot", "pendulum.h5", "swing"), "gradient of swing")
    assert mbsim("plot", "pendulum.h5", "--json").json["histories"] == ["angle"]


def test_a_name_that_is_history_and_objective(mbsim, undrawn, variant):
    variant("objectives: {swing:", "objectives: {angle: {final: angle}, swing:", "both.yaml")
    assert mbsim("run", "both.yaml", "--quiet").code == 0
    for arguments, histories, gradients in ((("angle",), ["angle"], []), (("angle", "--gradient"), [], ["angle"])):
        report = mbsim("plot", "both.h5", *arguments, "--json").json
        assert (report["histories"], report["gradients"]) == (histories, gradients)


def test_advice_is_what_would_help(mbsim, undrawn, variant):
    variant("objectives: {swing: {integral: angle**2, unit: rad^2 s}}", "objectives: {}", "none.yaml")
    assert mbsim("run", "none.yaml", "--quiet").code == 0
    refused(mbsim("plot", "none.h5", "--gradient"), "no result holds gradients, nor objectives that could have them")
    done = mbsim("plot", "none.h5", "iterations", "--by", "L")
    refused(done, "no result holds sensitivities of iterations [MB")


def test_a_label_names_one_result_too(plot, tmp_path):
    plot("r2", "-o", "a.svg")
    plot("r2", "-o", "b.svg", "--label", "five bars")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_a_reaction_is_drawn_by_its_parts(mbsim, variant):
    model = variant("sensors: {angle:", "sensors: {R: {type: reaction, joint: A}, angle:")
    assert mbsim("run", model, "--sensitivity", "none", "-o", "parts.h5").code == 0
    refused(mbsim("plot", "parts.h5", "R"), "'R'; its parts are R.force and R.moment")


def test_more_than_a_sheet_takes_is_left_out_and_said(mbsim, undrawn, variant):
    extra = ", ".join(f"s{k}: {{type: coordinate, coordinate: A.angle}}" for k in range(9))
    variant("sensors: {angle:", f"sensors: {{{extra}, angle:", "many.yaml")
    assert mbsim("run", "many.yaml", "--quiet").code == 0
    done = mbsim("plot", "many.h5")
    assert done.code == 0 and "8 of 10 histories are drawn" in done.err


def test_files_that_cannot_be(mbsim, fivebar, pendulum, tmp_path):
    (tmp_path / "notes.png").write_text("mine")
    (tmp_path / "folder.h5").mkdir()
    for arguments, sentence in (
        (("no.h5",), "there is no file"),
        (("folder.h5",), "cannot read folder.h5: it is a folder"),
        ((fivebar, "-o", "no/a.png"), "there is no folder"),
        ((fivebar, "-o", "notes.png"), "is not a picture; --force overwrites it"),
    ):
        done = mbsim("plot", *arguments)
        assert done.code == 5 and sentence in done.err
    assert (tmp_path / "notes.png").read_text() == "mine"
    assert mbsim("plot", fivebar, "r2", "-o", "notes.png", "--force", "--quiet").err == ""
    assert mbsim("plot", fivebar, "r2", "-o", "notes.png").code == 0


@pytest.mark.parametrize("command", ["plot", "animate"])
@pytest.mark.parametrize("library", ["matplotlib", "PIL"])
def test_without_the_library_a_sentence(mbsim, fivebar, monkeypatch, command, library):
    pytest.importorskip("matplotlib")  # an import that fails half-way would spoil it for the tests behind
    monkeypatch.setitem(sys.modules, library, None)
    refused(mbsim(command, fivebar), library, "pip install '.[plot]'")
    assert mbsim("plot", fivebar, "--list").code == 0


def test_a_study_is_drawn_from_its_file(mbsim, springs, tmp_path):
    """Its objectives over its varied parameters, whatever the file is called."""
    (tmp_path / "other.h5").write_bytes((springs / "study.h5").read_bytes())
    for file in (springs / "study.h5", tmp_path / "other.h5"):
        report = mbsim("plot", file, "-o", "s.png", "--json").json
        assert (report["objectives"], report["over"]) == (["psi1", "psi2"], ["L_s1", "L_s2"])
        assert is_picture(tmp_path / "s.png")
    one = mbsim("plot", springs / "study.h5", "psi2", "--over", "L_s2")
    assert one.code == 0 and one.out == "study.png: psi2 over L_s2, 6 cases\n" and is_picture(tmp_path / "study.png")
    refused(mbsim("plot", springs), "is a study: name", "study.h5")
    refused(mbsim("plot", springs / "study.h5", "psi3"), "no objective 'psi3'", "did you mean")
    refused(mbsim("plot", springs / "study.h5", "--over", "L_s3"), "no varied parameter 'L_s3'", "did you mean")
    refused(mbsim("plot", springs / "study.h5", "--gradient"), "no use for --gradient")


def test_a_study_that_is_damaged(mbsim, springs, tmp_path):
    path = tmp_path / "study.h5"
    for change in ("design", "objective", "result_unit"):
        path.write_bytes((springs / "study.h5").read_bytes())
        with h5py.File(path, "r+") as file:
            del file[change]
        done = mbsim("plot", path)
        assert done.code == 5 and "is missing" in done.err and done.err.count("\n") == 1, done
    with h5py.File(path, "r+") as file:
        file["result_unit"] = h5py.ExternalLink(str(springs / "study.h5"), "result_unit")
    done = mbsim("plot", path)
    assert done.code == 5 and done.err.count("\n") == 1, done
