"""The benchmark of open trees runs, on small cases."""

import json
import subprocess
import sys

import pytest

from tests.models.command import ROOT

pytestmark = pytest.mark.slow  # compiles all formulations
PINOCCHIO = "pinocchio"


@pytest.fixture(scope="module")
def printed():
    """What `python benchmarks/order_n.py --quick --json` prints."""
    program = [sys.executable, str(ROOT / "benchmarks" / "order_n.py"), "--quick", "--json"]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_times(printed):
    seconds = printed["seconds"]
    assert seconds["recursive"]["n"] == [2, 4, 8, 16, 24, 64, 128]
    assert seconds["conventional"]["n"] == seconds["partial_recursive"]["n"] == [2, 4, 8, 16]
    for times in seconds.values():
        assert len(times["alone"]) == len(times["with_sensitivities"]) == len(times["n"])
        assert all(0 < a < b for a, b in zip(times["alone"], times["with_sensitivities"], strict=True))


def test_figures(printed):
    from benchmarks.order_n import FIGURES

    figures = printed["figures"]
    always = {key for key in FIGURES if PINOCCHIO not in key and key != "alone_24"}
    assert set(figures) in (always, set(FIGURES))  # without Pinocchio, and with it
    assert figures["energy_drift"] < 1e-9
    assert figures.get("difference_to_pinocchio", 0.0) < 1e-9
    assert 50 < figures["command_memory"] < 2000
    assert printed["missed"] == []
    assert {"processor", "cores", "load", "python", "numpy", "numba", "pin"} == set(printed["machine"])
