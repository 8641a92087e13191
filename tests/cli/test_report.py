"""``mbsim report`` and ``mbsim view``: what stands on a page is what the files hold."""

import base64
import http.client
import json
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.study_file import read_study
from mbsim_cli.study.pictures.motion import RunFilm

from .conftest import COMMAND, ROOT, environment, ordinary_signals


def data_of(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def array(stored):
    return np.frombuffer(base64.b64decode(stored["f4"]), "<f4").reshape(stored["shape"])


@pytest.fixture
def of_fivebar(mbsim, fivebar, tmp_path):
    done = mbsim("report", fivebar, "-o", "page.html", "--json")
    assert done.code == 0, done.err
    assert done.json["kind"] == "result" and done.json["bytes"] == (tmp_path / "page.html").stat().st_size
    return data_of(tmp_path / "page.html")


def test_histories_and_derivatives_are_those_of_the_result(of_fivebar, fivebar):
    content = ResultFile(fivebar)
    found = {one["name"]: one for one in of_fivebar["histories"]["list"]}
    assert set(found) == set(content.entries) and of_fivebar["histories"]["opened"] == ["r2", "v2", "a2"]
    np.testing.assert_allclose(array(of_fivebar["histories"]["time"]), content.time, rtol=1e-6)
    for name in ("r2", "P1.angle.velocity"):
        np.testing.assert_array_equal(array(found[name]["values"]), content.history(name).values.astype("f4"))
        slopes = array(found[name]["derivatives"])
        for column, parameter in enumerate(content.parameters):
            expected = content.sensitivity(name, parameter).values.astype("f4")
            np.testing.assert_array_equal(slopes[..., column], expected)


def test_objectives_parameters_and_captions(of_fivebar, fivebar):
    content = ResultFile(fivebar)
    (psi1, *_), gradients = of_fivebar["objectives"], content.gradients
    assert psi1["gradient"] == gradients["psi1"].gradient.tolist() and psi1["method"] == "ddm"
    assert psi1["description"] == "departure of point 2"
    assert [one["name"] for one in of_fivebar["parameters"]] == list(content.parameters)
    assert of_fivebar["parameters"][0]["description"].startswith("natural length of spring 1")
    assert of_fivebar["description"].startswith("Planar five-bar") and dict(of_fivebar["provenance"])["status"]


def test_poses_put_points_where_films_have_them(of_fivebar, fivebar):
    motion = of_fivebar["motion"]
    time, r, q = array(motion["time"]), array(motion["position"]), array(motion["rotation"])
    filming = RunFilm(ResultFile(fivebar), speed=1.0, fps=1.0)
    local, frame = array(motion["points"]), len(time) // 3
    z = filming._coordinates(time[frame : frame + 1].astype(float))[0]
    expected = filming.moving.positions(z)
    for name, number in motion["names"].items():
        body = motion["of"][number]
        place = local[number]
        if body >= 0:
            v, w = q[frame, body, :3], q[frame, body, 3]
            place = place + 2 * np.cross(v, np.cross(v, place) + w * place) + r[frame, body]
        np.testing.assert_allclose(place, expected[filming.moving.scene.names[name]], atol=1e-6)
    assert motion["plane"] == "xy" and [line[0] for line in motion["lines"]].count("spring") == 2


def test_a_study_has_its_cases_slopes_and_effects(mbsim, springs, tmp_path):
    assert mbsim("report", springs, "--quiet").code == 0
    found, study = data_of(tmp_path / "springs.html"), read_study(springs / "study.h5")
    assert found["title"] == "springs" and found["description"].startswith("Five-bar linkage. Planar five-bar ")
    np.testing.assert_array_equal(array(found["design"]), study.design.astype("f4"))
    np.testing.assert_array_equal(array(found["results"]), study.results.astype("f4"))
    effects = array(found["effects"])
    assert effects.shape == (2, 2) and np.allclose(effects.sum(axis=1), 1.0, atol=0.05)
    assert array(found["slopes"]).shape == (6, 2, 2)


def test_a_page_does_not_replace_what_is_none(mbsim, fivebar, tmp_path):
    (tmp_path / "notes.html").write_text("<p>mine</p>")
    assert mbsim("report", fivebar, "-o", "notes.html").code == 5
    assert (tmp_path / "notes.html").read_text() == "<p>mine</p>"
    assert [mbsim("report", fivebar, "-o", "notes.html", *more).code for more in (["--force"], [])] == [0, 0]


@pytest.mark.parametrize(
    "arguments, code, sentence",
    [
        (["report", "none.h5"], 5, "there is no file none.h5"),
        (["report", "model.yaml"], 5, "is not an mbsim result"),
        (["report", "."], 5, "is a folder without study.h5"),
        (["report", "model.yaml", "-o", "x.pdf"], 2, "a page ends in .html"),
        (["report", "fit.json"], 5, "fit.json is no fit that mbsim wrote, or is damaged"),
        (["view", "none.h5", "--live"], 2, "--live is for model files"),
        (["view", "model.yaml", "--port", "8000"], 2, "--port is for --live"),
        (["view", "none.h5", "-p", "a=1"], 2, "-p and -s are for model files"),
        (["view", "model.yaml", "--no-browser"], 3, ""),
    ],
)
def test_what_is_asked_wrongly(mbsim, tmp_path, arguments, code, sentence):
    (tmp_path / "model.yaml").write_text("mbsim: 1\nnothing: 2\n")
    (tmp_path / "fit.json").write_text('{"format": "mbsim-fit", "format_version": 1, "readings": [{}]}')
    done = mbsim(*arguments)
    assert done.code == code and sentence in done.err, done.err


def test_a_model_stands_with_its_loops_closed(mbsim):
    done = mbsim("view", ROOT / "models/fivebar.yaml", "--no-browser", "-p", "L_A1=1.5", "-s", "name=Mine", "--json")
    assert done.code == 0, done.err
    found = data_of(Path(done.json["page"]))
    assert (found["kind"], found["title"]) == ("model", "Mine")
    assert array(found["motion"]["position"]).shape == (1, 4, 3)
    value = {one["name"]: one["value"] for one in found["parameters"]}["L_A1"]
    number = found["motion"]["names"]["bar_A1.P1"]
    assert value == 1.5 and array(found["motion"]["points"])[number, 0] == 1.5


PAGE = (ROOT / "docs/report.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]


def test_commands_of_the_page_work(mbsim, fivebar, springs, tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    shutil.copy(fivebar, tmp_path)
    shutil.copytree(springs, tmp_path / "springs")
    assert len(COMMANDS) == 5
    done = [mbsim(*command, *["--no-browser"] * (command[0] == "view")) for command in COMMANDS]
    assert [outcome.code for outcome in done] == [0] * 5, [outcome.err for outcome in done]
    assert "report.html: result, 0." in done[0].out and "springs.html: study" in done[1].out
    found, stored = data_of(tmp_path / "sledge.html"), json.loads((tmp_path / "sledge.json").read_text())
    assert found["kind"] == "fit" and found["converged"]
    m = next(one for one in found["parameters"] if one["name"] == "m")
    assert m["value"] == stored["fit"]["parameters"]["m"]["value"]
    for drawn, readings in zip(found["columns"], stored["readings"], strict=True):
        order = np.argsort(readings["time"], kind="stable")
        for key in ("time", "measured", "computed", "residuals"):
            np.testing.assert_array_equal(array(drawn[key]), np.array(readings[key])[order].astype("f4"))
        off = (np.array(readings["computed"]) - readings["measured"]) / readings["sigma"]
        np.testing.assert_allclose(readings["residuals"], off, rtol=1e-12, atol=1e-12)
    assert [drawn["held_out"] for drawn in found["columns"]] == [False, False, True]


def asked(port, path, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content


def test_a_model_is_shown_while_it_is_edited(pendulum, tmp_path):
    """What is wrong with it is on the page; nobody else's page may read it."""
    command = [*COMMAND, "view", str(pendulum), "--live", "--no-browser"]
    server = subprocess.Popen(
        command, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True, preexec_fn=ordinary_signals
    )
    try:
        port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", server.stdout.readline())[1])
        status, text = asked(port, "/")
        first = asked(port, "/version")[1]
        assert status == 200 and "connect-src 'self'" in text and first in text and '"kind":"model"' in text
        time.sleep(0.01)
        pendulum.write_text(pendulum.read_text().replace("rod, length: L", "rodd, length: L"))
        assert asked(port, "/version")[1] != first
        page = asked(port, "/")[1]
        assert '"kind":"error"' in page and "pendulum.yaml:" in page and "rodd" in page
        assert asked(port, "/", "evil.example")[0] == 403 and asked(port, "/elsewhere")[0] == 404
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 130
    finally:
        server.kill()
        server.wait()


def test_checks_of_the_model_are_compared_unless_it_was_changed(of_fivebar):
    """The fixture runs for another duration; at the file's own, references pass or fail by their tolerances."""
    from mbsim_cli import spec
    from mbsim_cli.study.pictures.pages import _references

    rows = dict(of_fivebar["checks"])
    assert rows["checks of the model"] == "not compared: the command line replaced values or the duration"
    file = spec.load(ROOT / "models" / "fivebar.yaml")
    gradient = {"L_s1": -4.2288, "L_s2": 3.2116, "m_A1": 0.31866, "x_G_A1": 0.44235}
    found = {"value": 0.8, "gradient": gradient}
    facts = {"overrides": {}, "options": {"duration": 5.0}, "objectives": {"psi1": found}}
    rows = _references(Path("fivebar.h5"), file, facts)
    texts = [text for name, text in rows if name == "check table 7, psi1"]
    assert sum(text.startswith("passed: d psi1 / d ") for text in texts) == 4
    assert "d psi1 / d L_A1 is not in this result" in texts
    assert any(text.startswith("FAILED: psi1 is 0.8, 0.72687746 is stated") for _, text in rows)
    assert rows[-1][0] == "other checks" and "degrees of freedom, " in rows[-1][1]


@pytest.mark.interpreted
def test_states_alone_are_shown_without_a_mechanism(mbsim, tmp_path):
    model = ROOT / "models/benchmarks/van_der_pol.yaml"
    assert mbsim("run", model, "--duration", "0.1", "-o", "states.h5", "--sensitivity", "none").code == 0
    told = "the model has no bodies to draw"
    done = mbsim("report", "states.h5")
    assert done.code == 0, done.err
    page = data_of(tmp_path / "states.html")
    assert "motion" not in page and any(told in note for note in page["notes"]) and page["histories"]["list"]
    done = mbsim("animate", "states.h5")
    assert done.code == 5 and told in done.err
    page = data_of(Path(mbsim("view", model, "--no-browser").out.strip()))
    assert "motion" not in page and f"Nothing is drawn: {told}." in page["notes"]
