"""A run ends as it deserves, whatever its standard streams are; and files do not steer terminals."""

import json
import os
import subprocess

import pytest

from mbsim_cli.cli.streams import visible
from tests.cli.conftest import COMMAND, environment


def shell(tmp_path, command, **extra):
    """Run a shell command in which MBSIM stands for the tool."""
    line = command.replace("MBSIM", " ".join(COMMAND))
    return subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment(**extra), capture_output=True)


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_a_run_whose_warnings_nobody_hears_ends_well(pendulum, tmp_path, streams):
    done = shell(tmp_path, f"MBSIM run pendulum.yaml {streams}")
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    done = shell(tmp_path, "MBSIM inspect pendulum.h5 --json")
    assert json.loads(done.stdout)["status"] == "complete"


@pytest.mark.parametrize("kind", ["", "--json"])
@pytest.mark.parametrize("streams", [">&-", ">/dev/full"])
def test_an_answer_that_cannot_be_given_is_an_error_and_the_result_stays(pendulum, tmp_path, streams, kind):
    done = shell(tmp_path, f"MBSIM run pendulum.yaml {kind} {streams}")
    assert done.returncode == 5 and b"cannot write to standard output" in done.stderr
    assert (tmp_path / "pendulum.h5").exists()


def test_other_alphabets(variant, tmp_path):
    model = variant("swing:", "größe:").rename(tmp_path / "é.yaml")
    for arguments in ("run", "run --json"):
        done = shell(tmp_path, f"MBSIM {arguments} {model.name}", PYTHONIOENCODING="ascii")
        assert done.returncode == 0 and b"Traceback" not in done.stderr
    assert "größe" in json.loads(done.stdout)["objectives"]


def test_names_that_are_no_texts(pendulum, tmp_path):
    name = b"caf\xe9.yaml"
    os.rename(pendulum, os.fsencode(tmp_path) + b"/" + name)
    done = subprocess.run(
        [*(part.encode() for part in COMMAND), b"run", name, b"--json"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
    )
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["model"] == "caf\udce9.yaml"


def test_control_characters_are_written_out():
    assert visible("a\x1b[31mb\x9b\x07\u202e\n\té") == "a\\x1b[31mb\\x9b\\x07\\u202e\n\té"


@pytest.mark.parametrize("escape", ["\\e[31m", "\\0", "\\x9b"])
def test_texts_of_a_model_hold_none(mbsim, variant, escape):
    done = mbsim("validate", variant("name: Pendulum", f'name: "a{escape}"'))
    assert done.code == 3 and "control character" in done.err and ":2:7:" in done.err and "\x1b" not in done.err


def test_tables_and_sentences_hold_none(mbsim, tmp_path):
    done = mbsim("validate", "a\x1b[31m.yaml")
    assert done.code == 5 and "\x1b" not in done.err and "\\x1b[31m" in done.err
