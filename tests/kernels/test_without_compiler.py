"""The kernels as plain Python, the stricter mode: index errors, unset variables and invalid values raise there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "plain"
FILES = sorted(map(str, FOLDER.glob("test_*.py")))
PROCESSES = 2  # each takes longer to start than most files to run
# elsewhere: a few steps of what is compiled for no other test
INTERPRETED = sorted(
    str(path) for path in FOLDER.parents[1].rglob("test_*.py") if "mark.interpreted" in path.read_text()
)


@pytest.mark.parametrize("files", [FILES[k::PROCESSES] for k in range(PROCESSES)], ids=range(PROCESSES))
def test_single_kernels_and_small_simulations_without_compiler(files):
    without_compiler(*files)


def test_steps_that_are_compiled_for_no_other_test():
    without_compiler("-m", "interpreted and not slow", *(path for path in INTERPRETED if path != __file__))


def without_compiler(*arguments):
    """Run pytest on plain Python in a process of its own; all that it chooses passes."""
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "pytest", "-q", "-p", "no:xdist", *arguments]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, cwd=FOLDER.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
