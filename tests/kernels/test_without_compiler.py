"""The kernels as plain Python, the stricter mode: index errors, unset variables and invalid values raise there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "plain"


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("test_*.py")))
def test_single_kernels_and_small_simulations_without_compiler(file):
    path = str(FOLDER / file)
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "pytest", "-q", "-p", "no:xdist", path]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, cwd=FOLDER.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
