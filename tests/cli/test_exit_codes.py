"""Every way for a command to end has its exit code, a sentence, and with --json one object."""

import json
import os
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from mbsim_cli.cli.commands import app_of

from .conftest import ROOT

COMMANDS = ("run", "check", "validate", "info", "inspect")


def assert_failed(done, code, sentence):
    assert done.code == code, done
    assert sentence in done.err and done.out == ""
    assert done.err.count("\n") <= 4


def assert_failed_json(done, code, sentence):
    assert done.code == code, done
    report = done.json
    assert report["status"] == "failed" and report["exit_code"] == code and sentence in report["message"]


USAGE = [
    (["rnu"], "Did you mean 'run'"),
    (["run"], "Missing argument"),
    (["run", "m.yaml", "--stp", "1"], "No such option"),
    (["run", "m.yaml", "--step", "fast"], "--step"),
    (["run", "m.yaml", "--duration", "long"], "'--duration': must be a number"),
    (["run", "m.yaml", "--threads", "1.5"], "'--threads': must be a whole number"),
    (["run", "m.yaml", "--threads", "0"], "'--threads': must be at least 1"),
    (["run", "m.yaml", "--step", "-1"], "positive"),
    (["run", "m.yaml", "--duration", "nan"], "positive"),
    (["run", "m.yaml", "-p", "L"], "NAME=VALUE"),
    (["run", "m.yaml", "--sensitivity", "magic"], "magic"),
    (
        ["run", "m.yaml", "--sensitivity", "dmm"],
        "'--sensitivity': 'dmm' is not one of 'none', 'ddm', 'adjoint', 'auto'",
    ),
    (["run", "m.yaml", "--sensitivity", "dmm"], "; did you mean 'ddm'?"),
    (["check", "m.yaml", "--sensitivity", "fd"], "'fd' is not one of 'ddm'"),
    # what would have no effect
    (["run", "m.yaml", "-p", "L=1", "-p", "L = 2"], "-p states L twice"),
    (["run", "m.yaml", "--top", "3"], "--top is for the table of --all-numbers"),
    (["check", "m.yaml", "--seed", "-1"], "'--seed'"),
    (["plot", "r.h5", "--by", ","], "--by must be PARAM"),
    (["plot", "r.h5", "--field", "rho", "--gradient", "--label", "a"], "has no use for --gradient, --label"),
    (["plot", "r.h5", "q", "--list", "-o", "a.png"], "--list draws nothing, and has no use for --output, NAME"),
    (["animate", "r.h5", "-o", "a.pvd", "--view", "xy", "--size", "64x64"], "has no use for --view, --size"),
    (["sweep", "m.yaml", "--fail-fast", "--max-failures", "2"], "--fail-fast ends a study at the first failure"),
    (["sweep", "m.yaml", "--dry-run", "--retry", "0", "--fail-fast"], "leave --retry, --fail-fast out"),
]


@pytest.mark.parametrize("arguments, sentence", USAGE, ids=[" ".join(a) or "nothing" for a, _ in USAGE])
def test_wrong_usage(mbsim, arguments, sentence):
    assert_failed(mbsim(*arguments), 2, sentence)
    if arguments:
        assert_failed_json(mbsim(*arguments, "--json"), 2, sentence)


def test_an_unknown_parameter_is_wrong_usage_with_a_suggestion(mbsim, variant):
    path = variant("  L: {value: 1.0, unit: m}", "  L: 1.0\n  length: 2.0")
    assert_failed(mbsim("run", path, "-p", "lenght=2"), 2, "'length'")


@pytest.mark.parametrize(
    ("value", "hint"), [("2,5", "decimals stand behind a point"), ("2 mm", "write 0.002; the unit is m")]
)
def test_values_of_the_command_line_are_judged_as_those_of_files(mbsim, pendulum, value, hint):
    assert_failed(mbsim("run", pendulum, "-p", f"L={value}"), 2, hint)


def test_steps_of_a_grid_are_judged_as_those_of_files(mbsim, pendulum):
    assert_failed(mbsim("sweep", pendulum, "--grid", "L=1:2:0", "-o", "s"), 2, "grid.L.count: must be at least 2")


def test_files_that_are_not_the_model(mbsim, pendulum, tmp_path):
    near = pendulum.with_suffix(".yml")
    assert_failed(mbsim("run", near), 5, f"did you mean {pendulum}?")
    (tmp_path / "result.h5").write_bytes(b"\x89HDF\r\n\x1a\n\0")
    assert_failed(mbsim("run", "result.h5"), 3, "an HDF5 file is no model")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file(mbsim, command):
    assert_failed(mbsim(command, "none.yaml"), 5, "none.yaml")
    assert_failed_json(mbsim(command, "none.yaml", "--json"), 5, "none.yaml")


@pytest.mark.parametrize("command", ["run", "info"])
def test_an_invalid_model(mbsim, variant, command):
    path = variant("point: O", "point: OO")
    done = mbsim(command, path)
    assert done.code == 3 and done.out == ""
    assert "variant.yaml:9:" in done.err and "OO" in done.err and "^" in done.err
    report = mbsim(command, path, "--json").json
    assert report["exit_code"] == 3 and report["errors"][0]["line"] == 9


@pytest.mark.parametrize("integrand", ["log(angle)", "1/(angle - angle)", "exp(1e4 - angle)"])
def test_an_analysis_that_fails(mbsim, variant, integrand):
    path = variant("integral: angle**2", f"integral: {integrand}")
    done = mbsim("run", path, "--json")
    assert_failed_json(done, 4, "swing")
    assert not (path.parent / "variant.h5").exists()


def test_a_failed_check(mbsim, variant):
    path = variant("mobility: 1", "mobility: 2")
    assert mbsim("check", path).code == 1


def test_an_output_that_cannot_be_written(mbsim, pendulum, tmp_path):
    (tmp_path / "pendulum.h5").write_text("mine")
    assert_failed(mbsim("run", pendulum), 5, "--force")
    assert_failed(mbsim("run", pendulum, "-o", tmp_path), 5, "folder")
    assert_failed(mbsim("run", pendulum, "-o", "no/r.h5"), 5, "no folder")
    assert_failed(mbsim("run", pendulum, "-o", pendulum, "--force"), 5, "model itself")
    assert (tmp_path / "pendulum.h5").read_text() == "mine"
    assert mbsim("run", pendulum, "--force").code == 0
    assert mbsim("run", pendulum).code == 0


def test_something_that_is_no_result(mbsim, pendulum):
    assert_failed(mbsim("inspect", pendulum), 5, "not an mbsim result")


def test_a_defect_is_one_sentence(mbsim, pendulum, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("deep\ninside")

    monkeypatch.setattr("mbsim_cli.study.plan.build", broken)
    done = mbsim("run", pendulum)
    assert done.code == 70 and done.err.startswith("mbsim: internal error, a defect of mbsim (ZeroDivisionError: deep ")
    assert "MBSIM_DEBUG=1" in done.err and done.err.count("\n") == 1
    assert mbsim("run", pendulum, "--json").json["exit_code"] == 70
    monkeypatch.setenv("MBSIM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        mbsim("run", pendulum)


def test_a_full_disk_behind_standard_output(process):
    import subprocess

    from .conftest import COMMAND, environment

    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "schema"], stdout=full, stderr=subprocess.PIPE, env=environment(), text=True)
    assert done.returncode == 5 and "No space left" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_goes_away(tmp_path):
    import subprocess

    from .conftest import COMMAND, environment

    with subprocess.Popen(
        [*COMMAND, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as run:
        run.stdout.close()
        assert run.stderr.read() == "" and run.wait(60) == 141


def test_json_stays_json_beside_warnings(mbsim, pendulum):
    done = mbsim("run", pendulum, "--json")
    assert done.code == 0
    json.loads(done.out)


def test_an_open_tree_formulation_refuses_a_loop(mbsim):
    done = mbsim("run", ROOT / "models/fivebar.yaml", "--formulation", "recursive")
    assert done.code == 3 and "form a loop, and recursive is for open trees; use formulation: ali3p-rtdyn1" in done.err


def test_an_integrator_wants_an_open_tree(mbsim, pendulum):
    done = mbsim("run", pendulum, "--integrator", "rk4")
    assert done.code == 2 and "--integrator is for recursive, conventional, partial_recursive, ali1p-rtdyn1" in done.err
    assert "ali3p-rtdyn1 has none" in done.err
    assert mbsim("check", pendulum, "--tolerance", "0").code == 2
    assert mbsim("check", pendulum, "--tolerance", "1").code == 2


def test_a_step_fits_into_the_duration(mbsim, pendulum):
    done = mbsim("run", pendulum, "--step", "3", "--duration", "2")
    assert done.code == 2 and "the step 3 s is longer than the duration 2 s" in done.err


@pytest.mark.parametrize(
    "given",
    [
        ("--step", "1e-300"),
        ("--duration", "1e300"),
        ("--duration", "1e-9", "--step", "1e-320"),
        ("--step", "auto", "--duration", "1e9"),
    ],
)
def test_more_steps_than_anyone_can_make_are_refused(mbsim, variant, tmp_path, given):
    """The file's own numbers are judged; those of the command line filled the disk."""
    done = mbsim("run", variant("duration: 0.5", "duration: 0.5, output_interval: 0.1"), *given)
    assert done.code == 2 and "steps of" in done.err and "more than 1e+09" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["variant.yaml"]


def test_fixed_steps_have_no_tolerance(mbsim, pendulum):
    done = mbsim("run", pendulum, "--formulation", "recursive", "--integrator", "rk4", "--tolerance", "1e-6")
    assert done.code == 2 and "rk4 takes fixed steps, which --step sets" in done.err


def test_keys_of_another_formulation_are_refused(mbsim, pendulum):
    """The option replaces the formulation with its settings; such a key had no effect."""
    done = mbsim("run", pendulum, "--formulation", "recursive", "--set", "analysis.penalty=1e9")
    assert done.code == 2
    assert "analysis.penalty is set for ali3p-rtdyn1, the formulation of the file, and has no effect on rec" in done.err


@pytest.mark.parametrize(
    ("model", "option"),
    [
        ("models/robots/ur5.yaml", option)
        for option in ("--formulation=recursive", "--integrator=rk4", "--tolerance=1e-6")
    ]
    + [("REST", option) for option in ("--formulation=recursive", "--step=1e-2", "--duration=2", "--tolerance=1e-6")],
)
def test_options_that_an_analysis_has_no_use_for_are_refused(mbsim, variant, model, option):
    rest = variant("type: forward_dynamics, step: 1e-2, duration: 0.5", "type: equilibrium")
    path, kind = (rest, "equilibrium") if model == "REST" else (ROOT / model, "inverse_dynamics")
    for command in ("run", "check"):
        done = mbsim(command, path, option)
        assert done.code == 2
        assert f"{option.partition('=')[0]} means nothing to an analysis of type {kind}; leave it out" in done.err


@pytest.mark.parametrize(
    "given, option",
    [
        (("run", "--step", "1e-2", "--step", "2e-2"), "--step"),
        (("run", "-o", "a.h5", "--output=b.h5"), "--output"),
        (("sweep", "-j", "1", "-j", "2"), "--jobs"),
        (("sweep", "retry", "--shard", "1/2", "--shard", "2/2"), "--shard"),
        (("plot", "--by", "L", "--by", "k"), "--by"),
    ],
)
def test_a_value_that_is_stated_twice_is_refused(mbsim, pendulum, tmp_path, given, option):
    """The last one won in silence."""
    done = mbsim(*given[: 1 + (given[1] == "retry")], pendulum, *given[1 + (given[1] == "retry") :])
    assert done.code == 2 and f"{option} is given twice" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["pendulum.yaml"]


def test_what_may_be_repeated_is(mbsim, pendulum):
    assert mbsim("run", pendulum, "-p", "L=1.1", "-p", "k=3", "--force", "--force", "--json").code == 0


def test_of_several_files_all_are_judged(mbsim, variant):
    wrong = variant("type: revolute", "type: revolving")
    done = mbsim("validate", "gone.yaml", wrong, "lost.yaml")
    assert done.code == 5 and "joints.A.type: unknown type 'revolving'" in done.err
    assert "cannot read gone.yaml: No such file or directory" in done.err and "cannot read lost.yaml" in done.err


def files_of_commands():
    """What commands say of the files that they are given, with names."""
    app = app_of()
    groups = (app, *(group.typer_instance for group in app.registered_groups))
    for command in (command for group in groups for command in group.registered_commands):
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            kind, *told = get_args(hint) or (None,)
            if kind is Path or Path in get_args(kind):
                yield f"{command.callback.__module__}: {name}", told


def test_what_reads_a_file_says_that_it_may_not_be_read():
    """Not the library of the command line, which would call it wrong usage."""
    found = list(files_of_commands())
    assert len(found) > 20
    assert [name for name, told in found if any(entry.readable for entry in told)] == []


def test_a_folder_that_may_not_be_written_in(mbsim, pendulum, monkeypatch, tmp_path):
    """It is told before anything is computed: a search would end with nothing."""
    pendulum.write_text(
        pendulum.read_text() + "optimization: {o: {minimize: swing, variables: {L: {from: 0.5, to: 2}}}}\n"
    )
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # whoever runs the tests may be root
    done = mbsim("optimize", pendulum, "-o", "best.h5")
    assert_failed(done, 5, f"cannot write in {tmp_path}: it may not be written in")
    assert "analysis" not in done.err
