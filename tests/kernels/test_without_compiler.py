"""The kernels as plain Python, the stricter mode: index errors, unset variables and invalid values raise there."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKED = sorted(str(path) for path in (ROOT / "tests").rglob("test_*.py") if "mark.interpreted" in path.read_text())


def test_what_is_interpreted_passes():
    """Tests of single kernels, and short runs of formulations that no other quick test compiles."""
    files = [str(Path(__file__).parent / "plain"), *(path for path in MARKED if path != __file__)]
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "pytest", "-q", "-p", "no:xdist"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [*command, "-m", "interpreted and not slow", *files], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
