"""A model analysed by the plain compiler, which takes half a minute to compile; test_compilers has the quick probe."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.cli.conftest import COMMAND, ROOT, environment

MODEL = ROOT / "models" / "robots" / "puma560.yaml"


def analysed(folder, name, **variables):
    output = f"{name}.h5"
    command = [*COMMAND, "run", str(MODEL), "--sensitivity", "none", "--json", "-o", output]
    done = subprocess.run(command, cwd=folder, env=environment(**variables), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["objectives"]["effort"]["value"], done.stderr


@pytest.mark.slow
def test_both_compilers_give_the_same(tmp_path):
    usual, _ = analysed(tmp_path, "usual", MBSIM_COMPILER="linking")
    plain = {"MBSIM_COMPILER": "plain", "MBSIM_CACHE_DIR": str(tmp_path / "cache")}
    value, told = analysed(tmp_path, "plain", **plain)
    assert np.isclose(value, usual, rtol=1e-12) and "compiling inverse_dynamics.lane_torques" in told
    assert list((tmp_path / "cache").rglob("*.nbc"))
    assert analysed(tmp_path, "again", **plain)[0] == value


CALLED = """
from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.kernels.elements import laws, measures
build(spec.load("models/fivebar.yaml"))
print([kernel.dispatcher.signatures for kernel in (laws.law_value, measures.measure_value)])
"""


@pytest.mark.slow
def test_kernels_that_python_calls_are_not_compiled():
    """Else each command would compile what closes a mechanism at t = 0."""
    command = [sys.executable, "-c", CALLED]
    variables = environment(MBSIM_COMPILER="plain")
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "[[], []]\n"
