"""Adjoint variables of the five-bar tend to those of its differential equations, as docs/theory/adjoint.md shows."""

import json
import re
import subprocess
import sys

import pytest

from mbsim_cli.io.target import is_picture
from tests.models.command import ROOT

PAGE = (ROOT / "docs" / "theory" / "adjoint.md").read_text()
PROGRAM = "benchmarks/adjoint_variables.py"


def test_the_picture_is_there_small_and_drawn_by_the_command_that_the_page_names():
    (name,) = re.findall(r"\]\(\.\./(pictures/.*?)\)", PAGE)
    assert is_picture(ROOT / "docs" / name) and (ROOT / "docs" / name).stat().st_size < 100_000
    assert f"python {PROGRAM} --picture docs/{name}" in PAGE and (ROOT / PROGRAM).is_file()


@pytest.mark.slow
def test_differences_fall_with_the_square_of_the_step(tmp_path):
    pytest.importorskip("casadi")
    command = [sys.executable, PROGRAM, "--quick", "--json", "--picture", str(tmp_path / "a.png")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    rows = re.findall(r"^\| ([\d.]+) ms \| (\S+) \|", PAGE, re.MULTILINE)
    shown = {float(step) / 1e3: float(error) for step, error in rows}
    for step, error in printed["differences"].items():
        assert error == pytest.approx(shown[float(step)], rel=1e-2)
    assert printed["ratios"] == [pytest.approx(4.0, abs=0.1)] and is_picture(tmp_path / "a.png")
