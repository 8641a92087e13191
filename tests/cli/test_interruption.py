"""A run that is stopped ends soon, with the shell's exit code, and keeps what it has."""

import json
import re
import signal
import subprocess
import sys
import time

import h5py
import pytest

from .conftest import COMMAND, ROOT, environment, ordinary_signals

PATIENCE = 600  # seconds, of a machine that has other things to do


def stop(arguments, folder, number, started=lambda: True, **extra):
    """Start the tool, send it a signal once it has ``started``, and return its process with what it printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": ordinary_signals}
    run = subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment(**extra), **pipes)
    while not started() and run.poll() is None:
        time.sleep(0.02)
    run.send_signal(number)
    out, err = run.communicate(timeout=PATIENCE)
    return run, out, err


@pytest.fixture
def long_run(variant, tmp_path):
    """A run of hours, and whether it has written its first blocks."""
    variant("step: 1e-2, duration: 0.5", "step: 1e-4, duration: 1000", "long.yaml")

    def writing():
        return any(path.stat().st_size > 1_500_000 for path in tmp_path.glob(".long.h5.*.tmp"))

    return writing


@pytest.mark.parametrize(
    "number, code, word", [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_what_was_computed_is_kept(long_run, tmp_path, number, code, word):
    run, out, err = stop(["run", "long.yaml", "--json"], tmp_path, number, long_run)
    assert run.returncode == code, err
    report = json.loads(out)
    assert report["message"] == word and report["partial"].endswith("long.h5.partial") and "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["long.h5.partial", "long.yaml"]
    assert f"is kept in {tmp_path / 'long.h5.partial'}" in err
    with h5py.File(tmp_path / "long.h5.partial") as file:
        rows = len(file["time"])
        assert file.attrs["status"] == "partial" and rows > 1000
        assert {len(file[f"sensors/{name}"]) for name in file["sensors"]} == {rows}


def test_a_second_attempt_goes_through(long_run, pendulum, tmp_path, mbsim):
    stop(["run", "long.yaml"], tmp_path, signal.SIGINT, long_run)
    assert mbsim("inspect", "long.h5.partial", "--json").json["status"] == "partial"


FIRST_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "mbsim_cli.cli.{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
sys.argv = ["mbsim", "--help"]
from mbsim_cli.cli.app import main
main()
"""


@pytest.mark.parametrize(("module", "code"), [("signals", -signal.SIGINT), ("outcome", 130)])
def test_an_interruption_within_the_first_imports_is_quiet(module, code):
    command = [sys.executable, "-c", FIRST_IMPORT.format(module=module)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.06, 0.15, 0.3, 0.6])
def test_an_early_interruption_is_quiet(long_run, tmp_path, delay):
    start = time.monotonic()
    run, _, err = stop(["run", "long.yaml"], tmp_path, signal.SIGTERM, lambda: time.monotonic() > start + delay)
    assert run.returncode in (143, -signal.SIGTERM) and "Traceback" not in err
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_kernels_that_compile_are_no_hindrance(long_run, tmp_path, number, code):
    cache = tmp_path / "cache"

    def compiling():
        return any(path.is_file() and path.suffix != ".lock" for path in cache.rglob("*"))

    run, out, err = stop(["run", "long.yaml", "--json"], tmp_path, number, compiling, MBSIM_CACHE_DIR=str(cache))
    assert run.returncode == code and json.loads(out)["exit_code"] == code
    assert re.fullmatch(r"(compil[^\n]*\n)+", err) and not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_an_optimisation_keeps_its_best_design(tmp_path, number, code):
    """At its third report: in the result, with all that were tried, which the same command also reads to continue."""
    model = str(ROOT / "models/fivebar.yaml")
    arguments = ["optimize", model, "calm", "-o", "calm.h5", "--step", "1e-3", "--sensitivity", "ddm"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": ordinary_signals}
    run = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, env=environment(), **pipes)
    assert run.stderr is not None
    told = []
    while len(told) < 3:
        line = run.stderr.readline()
        assert line, told
        told += [line] if line.startswith("analysis ") else []
    run.send_signal(number)
    _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == code and "Traceback" not in err, err
    assert re.search(r"the best of \d+ designs is kept in calm\.h5", err)
    assert {path.name for path in tmp_path.iterdir()} == {"calm.h5", "calm.h5.designs"}
    with h5py.File(tmp_path / "calm.h5") as file:
        history = file["optimization"]
        assert history.attrs["ended"] in ("interrupted", "terminated")
        psi3, kept = history["objectives"][:, 2], history["violation"][:] <= 1e-6
        best = history.attrs["best"] - 1
        assert len(psi3) >= 3 and kept[best] and psi3[best] == psi3[kept].min()
        assert file["objectives/psi3/value"][()] == psi3[best]
        assert float(re.search(r"psi3 (\S+),", told[-1])[1]) >= psi3[best] * (1 - 1e-7)
