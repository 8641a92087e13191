"""``mbsim run``: objectives, gradients, result file."""

import h5py
import numpy as np
import pytest

from mbsim_cli.cli import output
from mbsim_cli.cli.run import _print
from mbsim_cli.solve.open_trees import open_tree
from mbsim_cli.study.assembling import Settings, load
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run


@pytest.fixture
def report(mbsim, pendulum):
    return mbsim("run", pendulum, "--json").json


def test_json_is_the_contract(report, tmp_path):
    assert {
        "model": str(tmp_path / "pendulum.yaml"),
        "status": "done",
        "analysis": "forward_dynamics",
        "formulation": "ali3p-rtdyn1",
        "integrator": None,
        "sensitivity": "ddm",
        "steps": 50,
        "output": "pendulum.h5",
        "warnings": [],
    }.items() <= report.items()
    assert list(report["timing"]) == ["load", "compile", "solve", "estimate", "write"]
    swing = report["objectives"]["swing"]
    assert swing["unit"] == "rad^2 s" and list(swing["gradient"]) == ["L", "k"] and 0 < swing["value"] < 1.1


def test_result_holds_what_was_printed(report, tmp_path):
    with h5py.File(tmp_path / "pendulum.h5") as file:
        assert file.attrs["status"] == "complete" and file["time"].shape == (51,)
        assert file["sensitivity/sensors/angle"].shape == (51, 1, 2)
        assert file["sensors/angle"][0, 0] == pytest.approx(-np.pi / 3)
        swing = report["objectives"]["swing"]
        assert file["objectives/swing/value"][()] == swing["value"]
        assert list(file["objectives/swing/gradient"]) == list(swing["gradient"].values())
        assert file["objectives/swing"].attrs["method"] == "ddm"
        assert "mbsim: 1" in file["meta/model_yaml"][()].decode()
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["pendulum.h5", "pendulum.yaml"]


def test_differences_agree_with_the_direct_method(report, mbsim, pendulum):
    other = mbsim("run", pendulum, "--sensitivity", "fd", "--json")
    assert other.json["sensitivity"] == "fd" and "L with steps down to" in other.err
    step = other.json["difference_steps"]["L"]
    assert 0 < step["step"] < 1e-3 and step["estimated_error"]["swing"] < 1e-6
    for name, number in report["objectives"]["swing"]["gradient"].items():
        assert other.json["objectives"]["swing"]["gradient"][name] == pytest.approx(number, rel=1e-8)
    with h5py.File("pendulum.h5") as file:
        assert "sensitivity" not in file and file["objectives/swing"].attrs["method"] == "fd"
        assert file["objectives/swing/gradient"].shape == (2,)


def test_no_gradients(mbsim, pendulum):
    done = mbsim("run", pendulum, "--sensitivity", "none", "--json")
    assert done.json["objectives"]["swing"]["gradient"] == {}
    with h5py.File("pendulum.h5") as file:
        assert not {"sensitivity", "parameters"} & set(file)


def test_overrides_and_options(mbsim, pendulum, report):
    done = mbsim(
        "run", pendulum, "-p", "k=2*2", "-p", "L=1.5", "--formulation", "ali3p-rtdyn0",
        "--step", "0.02", "--duration", "0.4", "-o", "x.h5", "--json",
    )  # fmt: skip
    assert done.json["formulation"] == "ali3p-rtdyn0" and done.json["steps"] == 20 and done.json["output"] == "x.h5"
    with h5py.File("x.h5") as file:
        assert file["meta/parameters/k"][()].decode() == "2*2" and list(file["parameters/value"]) == [1.5, 4.0]
    assert done.json["objectives"] != report["objectives"]


def test_a_tolerance_of_the_motion_that_gradients_cannot_keep_to_theirs_by_is_said(mbsim, variant):
    """With gradients alone, and where it is the looser one."""
    path = variant("duration: 0.5", "duration: 0.5, tolerance: 1e-8, gradient_tolerance: 1e-9")
    warnings = mbsim("run", path, "--json").json["warnings"]
    said = "analysis.tolerance: 1e-08 keeps gradients from their tolerance of 1e-09: they are as accurate as the motion"
    assert any(said in warning for warning in warnings)
    (chosen,) = mbsim("run", path, "--tolerance", "1e-6", "--json").json["warnings"]
    assert chosen.startswith("tolerance 1e-06 keeps gradients from their tolerance of 1e-09")
    plain = mbsim("run", path, "--sensitivity", "none", "--json").json["warnings"]
    sharper = mbsim("run", variant("duration: 0.5", "duration: 0.5, tolerance: 1e-13"), "--json").json["warnings"]
    assert not any("keeps gradients" in warning for warning in plain + sharper)


@pytest.mark.parametrize("method", ["none", "fd"])
def test_a_tolerance_of_gradients_that_nothing_keeps_to_is_said(mbsim, variant, method):
    """The file contradicts itself; the command line may ask for what it likes."""
    path = variant("sensitivity: {method: ddm,", f"gradient_tolerance: 1e-8, sensitivity: {{method: {method},")
    (warning,) = mbsim("run", path, "--json").json["warnings"]
    assert ": analysis.gradient_tolerance: has no effect: " in warning and f"(method: {method})" in warning
    assert mbsim("validate", path, "--json").json["warnings"] == [warning]
    for options in (("--sensitivity", "ddm"), ("--sensitivity", "adjoint")):
        assert mbsim("run", path, *options, "--json").json["warnings"] == []
    both = variant("sensitivity: {", "gradient_tolerance: 1e-8, sensitivity: {")
    assert mbsim("run", both, "--sensitivity", "none", "--json").json["warnings"] == []


def test_an_output_interval_of_no_whole_steps_is_said(mbsim, variant):
    """It is rounded; where a step of the command line is longer, too."""
    path = variant("duration: 0.5", "duration: 0.5, output_interval: 0.015")
    (warning,) = mbsim("validate", path, "--json").json["warnings"]
    assert ": analysis.output_interval: 0.015 s are 1.5 steps of 0.01 s; results are stored every 0.02 s" in warning
    warnings = mbsim("run", path, "--step", "0.05", "--sensitivity", "none", "--json").json["warnings"]
    assert any("0.3 steps of 0.05 s; results are stored every 0.05 s" in warning for warning in warnings)
    warnings = mbsim("run", path, "--step", "5e-3", "--sensitivity", "none", "--json").json["warnings"]
    assert not any("output_interval" in warning for warning in warnings)


def test_the_output_interval_thins_the_file_and_not_the_objectives(mbsim, variant, report):
    path = variant("duration: 0.5", "duration: 0.5, output_interval: 0.2")
    done = mbsim("run", path, "--json")
    assert done.json["objectives"] == report["objectives"]
    with h5py.File("variant.h5") as file:
        np.testing.assert_allclose(file["time"], [0, 0.2, 0.4, 0.5])


def test_a_parameter_defined_by_another(mbsim, variant):
    path = variant("k: {value: 2.0, unit: N m/rad}", "k: 2 * L**2")
    direct = mbsim("run", path, "--json").json["objectives"]["swing"]["gradient"]
    differences = mbsim("run", path, "--sensitivity", "fd", "--json").json["objectives"]["swing"]["gradient"]
    assert differences == pytest.approx(direct, rel=1e-8)
    assert mbsim("check", path).code == 0


def test_a_smooth_maximum_far_below_the_largest_value(mbsim, variant):
    """With little sharpness it is nearly the mean."""
    path = variant("integral: angle**2", "maximum: angle**2, sharpness: 1e-3")
    found = mbsim("run", path, "--json").json
    objective = found["objectives"]["swing"]
    with h5py.File(found["output"]) as file:
        history = file["sensors/angle"][:, 0] ** 2
    assert objective["largest"] == pytest.approx(history.max(), rel=1e-12) and objective["value"] < 0.9 * history.max()
    (told,) = (warning for warning in found["warnings"] if "objective swing is a smooth maximum" in warning)
    advised = told.partition("a sharpness of ")[2].split()[0]
    assert advised.isdecimal()
    sharp = mbsim("run", variant("integral: angle**2", f"maximum: angle**2, sharpness: {advised}"), "--json").json
    assert history.max() > sharp["objectives"]["swing"]["value"] > 0.85 * history.max()
    sharp = mbsim("run", variant("integral: angle**2", "maximum: angle**2, sharpness: 1e3"), "--json").json
    assert not any("smooth" in warning for warning in sharp["warnings"])


def test_for_people(mbsim, pendulum):
    done = mbsim("run", pendulum)
    assert done.code == 0 and done.err == ""
    for text in ("swing [rad^2 s]", "d/d L [m]", "pendulum.h5: ali3p-rtdyn1, 50 steps of 0.01 s", "solve"):
        assert text in done.out
    quiet = mbsim("run", pendulum, "--quiet").out
    assert "d/d L" in quiet and "pendulum.h5:" not in quiet


def test_a_run_from_the_cache_announces_nothing(mbsim, pendulum):
    mbsim("run", pendulum)
    assert "compiling" not in mbsim("run", pendulum).err


def test_no_colour_and_no_bar_outside_a_terminal(process, pendulum):
    done = process("run", pendulum, NO_COLOR="1")
    assert done.code == 0 and not set("\x1b\r") & set(done.out + done.err)


def test_tables_show_texts_as_they_are(monkeypatch):
    monkeypatch.setattr(output, "_pending", [])
    output.show_table([":car:"], [[":bike: [mass]"]])
    assert all(text in output._pending[0] for text in (":car:", ":bike: [mass]"))


@pytest.mark.parametrize("of_numbers", [False, True])
@pytest.mark.parametrize(
    "rows", [[], [["value", "", "3*"]], [["", " b  c", "1"], ["d/d L", "-2.5", "x [m]"], ["", "", ""]]]
)
def test_plain_tables_are_those_of_rich(monkeypatch, rows, of_numbers):
    monkeypatch.setattr(output, "_pending", [])
    titles = ["", "psi [m^2 s]", "a"]
    drawn = output._drawn(titles, rows, of_numbers, output.WIDE)
    assert not output._drawn(titles, rows, of_numbers, 21)
    assert not output._drawn(["", "ψ", "a"], rows, of_numbers, output.WIDE)
    monkeypatch.setattr(output, "_drawn", lambda *table: "")
    output.show_table(titles, rows, of_numbers)
    assert output._pending == [drawn]


@pytest.mark.parametrize(
    ("integrator", "sentence"),
    [
        (None, "recursive, 50 steps of 0.01 s"),
        ("rk4", "recursive by rk4, 50 steps of 0.01 s"),
        ("dop853", "recursive by dop853, 50 steps and 3 rejected"),
    ],
)
def test_the_last_line_tells_how_it_was_integrated(monkeypatch, integrator, sentence):
    report = {"warnings": [], "objectives": {}, "timing": {"solve": 1.0}, "output": "x.h5", "formulation": "recursive"}
    report |= {"analysis": "forward_dynamics", "discretisation": {"motion": None, "worst": None}}
    diagnostics = {"work": {"steps": 50, "rejected": 3}}
    monkeypatch.setattr(output, "_pending", [])
    _print(
        report | {"integrator": integrator, "steps": 50, "step": 0.01, "diagnostics": diagnostics}, quiet=False, top=0
    )
    assert output._pending == [f"x.h5: {sentence} (solve 1.00 s)\n"]


def test_an_open_tree_tells_its_integrator_and_work(mbsim, pendulum):
    done = mbsim("run", pendulum, "--formulation", "recursive", "--integrator", "rk4", "--json").json
    work = {"steps": 50, "rejected": 0, "evaluations": 201, "jacobians": 0, "factorisations": 0}
    assert done["integrator"] == "rk4" and done["steps"] == 50 and done["diagnostics"]["work"] == work
    with h5py.File("pendulum.h5") as file:
        assert {name: int(count[()]) for name, count in file["meta/work"].items()} == work
        assert file["meta/options/integrator"][()] == b"rk4"
        assert file["diagnostics/iterations"][()].sum() == work["evaluations"]
    loose = mbsim("run", pendulum, "--formulation", "recursive", "--tolerance", "1e-4", "--json").json
    assert loose["integrator"] == "dop853" and loose["steps"] < 50
    assert loose["objectives"]["swing"]["value"] == pytest.approx(done["objectives"]["swing"]["value"], rel=1e-3)


def test_an_automatic_integrator_is_told_with_its_reason(mbsim, pendulum):
    done = mbsim("run", pendulum, "--formulation", "recursive", "--integrator", "auto", "--tolerance", "1e-4")
    assert "integrator dop853: accuracy bounds the steps of dop853 up to t = " in done.err
    assert mbsim("run", pendulum, "--formulation", "ali3p-rtdyn1", "--integrator", "auto").code == 2


def test_an_automatic_integrator_is_the_one_of_the_run(pendulum, monkeypatch):
    monkeypatch.setattr(open_tree, "pilot", lambda problem: open_tree.Pilot(1.0, 1.0, 0))  # stability bounds its steps
    settings = Settings(formulation="recursive", integrator="auto")
    plan = plan_run(load(pendulum, settings), settings, Timing(), SILENT)
    assert plan.assembled.problem.options.integrator == plan.settings.integrator == "esdirk"


def test_an_accuracy_chooses_tolerance_and_integrator(mbsim, pendulum):
    tree = ("run", pendulum, "--formulation", "recursive")
    done = mbsim(*tree, "--accuracy", "1e-6", "--json")
    assert "integrator dop853: accuracy bounds" in done.err and "tolerance of 1e-0" in done.err
    exact = mbsim(*tree, "--tolerance", "1e-12", "--json").json["objectives"]["swing"]
    found = done.json["objectives"]["swing"]
    assert found["value"] == pytest.approx(exact["value"], rel=1e-6)
    assert found["gradient"] == pytest.approx(exact["gradient"], rel=1e-6)
    assert done.json["discretisation"]["accuracy"] == 1e-6 and done.json["discretisation"]["runs"] >= 2
    assert mbsim(*tree, "--accuracy", "1e-6", "--tolerance", "1e-8").code == 2
    assert mbsim(*tree, "--integrator", "rk4", "--accuracy", "1e-6").code == 2


def test_an_accuracy_reports_errors_between_output_times(mbsim, variant):
    """A smallest value is that of a parabola through output times, whatever the tolerance."""
    path = variant("swing: {integral: angle**2, unit: rad^2 s}", "low: {minimum: angle, unit: rad}")
    tree = ("run", path, "--formulation", "recursive", "--duration", "1.2", "--json")
    done = mbsim(*tree, "--step", "0.1", "--accuracy", "1e-7")
    found, exact = (each.json["objectives"]["low"] for each in (done, mbsim(*tree, "--step", "1e-3")))
    off = max(abs(found["gradient"][name] / exact["gradient"][name] - 1.0) for name in ("L", "k"))
    error = done.json["discretisation"]["error"]
    assert off > 1e-3 and off / 5 < error < 5 * off
    assert "larger than the accuracy: try a shorter step" in done.err
