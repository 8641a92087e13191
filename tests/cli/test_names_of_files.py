"""Names of files that are no UTF-8, as older archives and other systems have them, do as well as any."""

import os
import subprocess
import sys

import pytest

from .conftest import PENDULUM, ROOT, environment

NAME = os.fsdecode(b"older \xff")
PLATE = ROOT / "models/flexible/pendulum.yaml"


@pytest.fixture
def result(mbsim, tmp_path):
    (tmp_path / f"{NAME}.yaml").write_text(PENDULUM + "study: {two: {grid: {L: [1, 2]}}}\n")
    assert mbsim("run", f"{NAME}.yaml", "--quiet").code == 0
    return tmp_path / f"{NAME}.h5"


def test_results_and_pictures(mbsim, result, fivebar, tmp_path):
    for arguments in (("plot", result, fivebar), ("animate", result, "--size", "64x64", "--fps", "2")):
        done = mbsim(*arguments)
        assert done.code == 0, done.err
    assert mbsim("inspect", result, "--json").code == 0 and (tmp_path / f"{NAME}.gif").exists()


def test_studies(mbsim, result, tmp_path):
    done = mbsim("sweep", f"{NAME}.yaml")
    assert done.code == 0, done.err
    for command in (("status",), ("collect", "--to", "csv"), ("script", "--parallel"), ("retry",)):
        assert mbsim("sweep", command[0], f"{NAME}-two", *command[1:]).code == 0


def test_flexible_bodies(mbsim, tmp_path):
    (tmp_path / f"{NAME}.yaml").write_bytes(PLATE.read_bytes())
    done = mbsim("reduce", f"{NAME}.yaml", "--no-derivatives", "-o", f"{NAME}.sid.h5")
    assert done.code == 0, done.err
    assert mbsim("inspect", f"{NAME}.sid.h5").code == 0


def test_a_backend_of_other_programs_is_none_of_ours(fivebar, tmp_path):
    """Notebooks set one for all that they start; pictures go to files."""
    command = [sys.executable, "-m", "mbsim_cli", "plot", str(fivebar), "r2", "-o", "r2.png"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(MPLBACKEND="junk"), capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "r2.png").exists(), done.stderr


def test_a_result_is_no_table(mbsim, pendulum, tmp_path):
    done = mbsim("run", pendulum, "-o", "swing.csv")
    assert done.code == 2 and "swing.csv: a result is HDF5, as swing.h5; mbsim export writes tables" in done.err
    assert not (tmp_path / "swing.csv").exists()
