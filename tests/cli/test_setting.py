"""``--set`` in every command that reads a model; former names of options."""

import h5py
import pytest
from typer.main import get_command

from mbsim_cli.cli.commands import app_of


def test_every_command_that_reads_a_model_takes_it():
    group = get_command(app_of())
    commands = dict(group.commands)
    commands |= {f"sweep {name}": command for name, command in commands.pop("sweep").commands.items()}
    taking = {
        name for name, command in commands.items() if any("--set" in parameter.opts for parameter in command.params)
    }
    assert {"run", "check", "validate", "info", "linearize", "reduce", "optimize", "fit", "sweep run"} <= taking
    assert {"view", "export", "compile"} <= taking
    for name in taking:
        assert any("--parameter" in parameter.opts for parameter in commands[name].params)


def test_a_result_tells_what_was_set(mbsim, pendulum):
    done = mbsim("run", pendulum, "-s", "analysis.duration=0.02", "-s", "forces.spring.damping=1", "--json")
    assert done.code == 0, done.err
    assert done.json["overrides"] == {".analysis.duration": "0.02", ".forces.spring.damping": "1"}
    assert done.json["steps"] == 2
    with h5py.File(done.json["output"]) as file:
        assert file["meta/parameters/.forces.spring.damping"][()] == b"1"
    assert ".forces.spring.damping = 1" in mbsim("inspect", done.json["output"]).out


def test_faults_name_the_option(mbsim, pendulum):
    done = mbsim("validate", pendulum, "--set", "analysis.stepp=1")
    assert done.code == 3 and "unknown key 'stepp' (in --set analysis.stepp=1); did you mean 'step'?" in done.err
    done = mbsim("info", pendulum, "-s", "analysis.step")
    assert done.code == 2 and "-s must be KEY=VALUE" in done.err
    done = mbsim("info", pendulum, "-s", "gravity.x=1", "-s", "gravity.x=2")
    assert done.code == 2 and "-s states gravity.x twice" in done.err


@pytest.mark.parametrize("words", [["check", "--method", "fd", "m.yaml"], ["plot", "--sensitivity=,", "r.h5"]])
def test_former_names_of_options_warn(mbsim, words):
    done = mbsim(*words)
    assert done.code == 2 and "warning: --" in done.err and "is now called" in done.err
