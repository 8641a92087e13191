"""Whatever stands in a file, and wherever it stands: a sentence and a documented exit code, never that of a defect."""

import os

import h5py
import pytest

from tests.cli.conftest import PENDULUM, ROOT

STEPS = "step: 1e-2, duration: 0.5"
INTEGRAL = "integral: angle**2"
LENGTH = "L: {value: 1.0, unit: m}"
SENSORS = "sensors: {angle"

MODELS = {
    "a huge output interval": (STEPS, f"{STEPS}, output_interval: 1e300", "an output interval of 1e+302 steps"),
    "too many steps": (STEPS, "step: 1e-300, duration: 0.5", "steps are more than"),
    "an infinite number": (INTEGRAL, "integral: angle**(1e400)", "value is too large"),
    "a division by zero": (INTEGRAL, "integral: angle*(1/0)", "division by zero"),
    "functions of functions": (INTEGRAL, f"integral: {'sin(' * 190}angle{')' * 190}", "nested too deeply"),
    "many signs": (INTEGRAL, f"integral: {'-' * 1500}angle", "nested too deeply"),
    "a tower of powers": (LENGTH, "L: 9**9**9**9**9", "value is too large"),
    "a sum of thousands": (LENGTH, f"L: {'+'.join(['1'] * 1900)}", "nested too deeply"),
    "five thousand digits": ("mass: 3 * L", f"mass: {'9' * 5000}", "must be a finite number"),
    "names with dots": (SENSORS, "sensors: {'..': {type: coordinate, coordinate: A.angle}, angle", "'..' cannot be"),
    "names with slashes": ("swing:", "'a/b':", "'a/b' cannot be"),
    "no mass": ("mass: 3 * L", "mass: 0", "nothing gives inertia"),
}


@pytest.mark.parametrize("case", MODELS)
def test_models(mbsim, variant, case):
    old, new, sentence = MODELS[case]
    done = mbsim("validate", variant(old, new))
    assert done.code == 3 and sentence in done.err and "variant.yaml:" in done.err, done


def test_other_encodings(mbsim, tmp_path):
    (tmp_path / "wide.yaml").write_bytes(PENDULUM.encode("utf-16"))
    assert mbsim("run", "wide.yaml").code == 0
    with h5py.File(tmp_path / "wide.h5") as file:
        assert file["meta/model_yaml"][()].decode() == PENDULUM
    (tmp_path / "zero.yaml").write_bytes(PENDULUM.encode().replace(b"Pendulum", b"Pen\0dulum"))
    (tmp_path / "latin.yaml").write_bytes(PENDULUM.replace("Pendulum", "Pêndulo").encode("latin-1"))
    for name in ("zero.yaml", "latin.yaml"):
        assert mbsim("validate", name).code == 3


def test_pipes_devices_and_folders(mbsim, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    os.mkfifo(tmp_path / "pipe.h5")
    (tmp_path / "folder.yaml").mkdir()
    cases = [("run", "pipe.yaml"), ("run", "/dev/zero"), ("inspect", "pipe.h5"), ("run", "folder.yaml")]
    for arguments in cases:
        done = mbsim(*arguments)
        assert done.code == 5 and ("pipe or a device" in done.err or "folder" in done.err), done


def test_pipes_as_includes_and_tables(mbsim, variant, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = mbsim("validate", variant("name: Pendulum", "include: [pipe]"))
    assert done.code == 3 and "pipe or a device" in done.err
    law = "{type: table, file: pipe, columns: {value: x}}"
    model = variant("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {law}}}}}\nforces:")
    done = mbsim("validate", model)
    assert done.code == 3 and "pipe or a device" in done.err


def test_a_header_of_any_length(mbsim, variant, tmp_path):
    (tmp_path / "t.csv").write_text(f"time,{'x' * 200_000}\n0,1\n1,2\n")
    law = "{type: table, file: t.csv, columns: {value: x}}"
    model = variant("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {law}}}}}\nforces:")
    done = mbsim("validate", model)
    assert done.code == 3 and "larger than field limit" in done.err


def test_long_names(mbsim, pendulum, tmp_path):
    done = mbsim("run", pendulum, "-o", "x" * 300 + ".h5")
    assert done.code == 5 and "File name too long" in done.err
    assert mbsim("run", "x" * 300 + ".yaml").code == 5
    (tmp_path / "circle.h5").symlink_to("circle.h5")
    assert mbsim("run", pendulum, "-o", "circle.h5").code == 5


def test_a_folder_that_was_deleted(pendulum, tmp_path):
    import subprocess

    from tests.cli.conftest import COMMAND, environment

    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"rmdir {gone} && {' '.join(COMMAND)} run {pendulum}"
    done = subprocess.run(["sh", "-c", line], cwd=gone, env=environment(HOME=""), capture_output=True, text=True)
    assert done.returncode == 5 and "Traceback" not in done.stderr, done


@pytest.mark.parametrize(
    "error, code, sentence",
    [
        (MemoryError(), 4, "not enough memory"),
        (RecursionError(), 3, "nested too deeply"),
        (OSError(5, "Input/output error", "f"), 5, "Input/output error (f)"),
    ],
)
def test_what_the_machine_refuses(mbsim, pendulum, monkeypatch, error, code, sentence):
    def refused(*arguments):
        raise error

    monkeypatch.setattr("mbsim_cli.study.plan.build", refused)
    done = mbsim("run", pendulum, "--json")
    assert done.code == code and sentence in done.json["message"]


def test_a_folder_that_is_removed_under_a_command_is_told(mbsim, pendulum, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = mbsim("sweep", tmp_path / pendulum, "--grid", "L=1,2")
    why = "No such file or directory (the current folder was removed)"
    assert done.code == 5 and done.err == f"mbsim: cannot make the folder pendulum-study: {why} [MB502]\n"


def test_a_link_to_itself_is_not_said_to_be_meant(mbsim, tmp_path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    done = mbsim("validate", "loop.yaml")
    assert done.code == 5 and done.err == "mbsim: cannot read loop.yaml: Too many levels of symbolic links [MB501]\n"


def test_includes_are_counted_as_often_as_they_are_read(mbsim, tmp_path):
    """Thirty files, each of which includes the next one twice, would be read a thousand million times."""
    for number in range(30):
        (tmp_path / f"m{number}.yaml").write_text(f"include: [m{number + 1}.yaml, m{number + 1}.yaml]\n")
    (tmp_path / "m30.yaml").write_text("mbsim: 1\n")
    done = mbsim("validate", "m0.yaml")
    assert done.code == 3 and "more than 100 files" in done.err


def test_an_equation_that_no_coordinate_changes(mbsim, variant):
    """It is met wherever the rod stands; solving for its multiplier ended with exit code 70."""
    sensors = "sensors: {m: {type: multiplier, constraint: d}, angle"
    path = variant(
        SENSORS, f"constraints: {{d: {{type: distance, points: [ground.Q, rod.O], distance: 2}}}}\n{sensors}"
    )
    path.write_text(path.read_text().replace("points: {", "points: {Q: {ground: [0, 2, 0]}, "))
    done = mbsim("run", path)
    assert done.code == 0 and "its multiplier is not determined" in done.err


def test_lengths_that_overflow(process, tmp_path):
    """No position is a number; and nobody sees what numpy thinks of that."""
    text = (ROOT / "models" / "fivebar.yaml").read_text()
    (tmp_path / "far.yaml").write_text(text.replace("bar_A1: [L_A1, 0, 0]", "bar_A1: [L_A1, 1e308, 0]"))
    assert "1e308" in (tmp_path / "far.yaml").read_text()
    done = process("info", "far.yaml")
    assert done.code == 3 and "Warning" not in done.err and "far.yaml:" in done.err


FEW_HANDLES = """\
import os, pathlib, resource, sys
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io import results, target
path, first, hard = pathlib.Path(sys.argv[1]), os.dup(0), resource.getrlimit(resource.RLIMIT_NOFILE)
os.close(first)
for look in (target.is_result, lambda path: results.ResultFile(path).report()):
    for more in range(8):
        target._fault_of.cache_clear()
        resource.setrlimit(resource.RLIMIT_NOFILE, (first + more, hard[1]))
        try:
            said = "yes" if look(path) else "no"
        except (OSError, InputOutputError) as error:
            refused = isinstance(error, OSError) or str(error).startswith("cannot read")
            said = "refused" if refused and "Too many open files" in str(error) else str(error)
        resource.setrlimit(resource.RLIMIT_NOFILE, hard)
        os.write(1, f"{said}\\n".encode())
"""


def test_where_handles_run_out_a_result_is_still_one(fivebar, tmp_path):
    """It was said to be none, and the process that looks at it went on as a second program."""
    import subprocess
    import sys

    from tests.cli.conftest import environment

    called = [sys.executable, "-c", FEW_HANDLES, fivebar]
    said = subprocess.run(called, env=environment(), capture_output=True, text=True, timeout=300).stdout.split("\n")
    assert said.pop() == "" and len(said) == 16 and set(said) == {"refused", "yes"}, said
    assert said[7] == said[15] == "yes", said
