"""The benchmark bicycle against the linear equations of its paper, at other speeds than the model's checks."""

import numpy as np
import pytest
import yaml
from scipy.linalg import expm, logm

from mbsim_cli.assembly import build
from mbsim_cli.solve.forward import forward
from mbsim_cli.spec import load, with_values
from tests.marks import NATURAL
from tests.models.command import ROOT, run

MODEL = ROOT / "models" / "benchmarks" / "whipple_bicycle.yaml"
DURATION = 0.2  # less than half a turn of the fastest weave
STATES = ("lean", "steer", "lean_rate", "steer_rate")
# Meijaard, Papadopoulos, Ruina and Schwab (2007), section 6, lean and steer to the right
MASS = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
DAMPING = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])  # times v
WEIGHT = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])  # times g
CENTRIFUGAL = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])  # times v^2


def linear(v: float) -> np.ndarray:
    """Matrix of the rates of ``STATES``; the model's steer is positive to the left."""
    stiffness = 9.81 * WEIGHT + v * v * CENTRIFUGAL
    below = -np.linalg.solve(MASS, np.hstack([stiffness, v * DAMPING]))
    left = np.diag([1.0, -1.0, 1.0, -1.0])
    return left @ np.vstack([np.eye(4)[2:], below]) @ left


def transition(folder, *options: str) -> np.ndarray:
    """The states at the end by those at the start."""
    return np.column_stack([run(MODEL, folder / "bicycle.h5", *options)[1][state] for state in STATES])


def test_references_in_the_file():
    checks = yaml.safe_load(MODEL.read_text())["checks"]
    for name, row in zip(("leans", "steers", "leans_by", "steers_by"), expm(linear(5.0)), strict=True):
        assert np.allclose([checks[name]["gradient"][state] for state in STATES], row, rtol=1e-8)


@pytest.mark.parametrize("v", [3.0, 4.292, 6.024, 8.0])
def test_eigenvalues(v, tmp_path):
    """Unstable weave, its limit and that of capsizing, an unstable capsize."""
    matrix = transition(tmp_path, "-p", f"v={v}", "--step", "2e-4", "--duration", str(DURATION))
    found = np.linalg.eigvals(logm(matrix) / DURATION)
    expected = np.linalg.eigvals(linear(v))
    found, expected = (each[np.lexsort((each.imag, each.real))] for each in (found, expected))
    assert np.allclose(found, expected, rtol=1e-4, atol=4e-5)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_falls(formulation, tmp_path):
    """From a lean of 0.01 at 3 m/s; tyres so stiff make Newton's corrections overshoot where the fork turns round.

    Against the nonlinear equations of rolling without slip, integrated to 1e-10; their constraints stay regular.
    """
    options = ("-p", "v=3", "-p", "lean=0.01", "--step", "1e-3", "--duration", "3.2", "--sensitivity", "none")
    leans, steers, leans_by, steers_by = run(MODEL, tmp_path / "b.h5", "--formulation", formulation, *options)[0]
    assert (leans, steers) == pytest.approx((0.69633, -0.47667), abs=2e-3)
    assert (leans_by, steers_by) == pytest.approx((1.444, -4.9), rel=2e-2)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_falls_over(formulation, tmp_path):
    """From a lean of 0.3 at 1 m/s, without the slip that its tyres need: accelerations ring from step to step.

    Against the same equations; the front wheel has turned round by then and rolls backwards.
    """
    options = ("-p", "v=1", "-p", "lean=0.3", "--step", "1e-3", "--duration", "0.9", "--sensitivity", "none")
    _, steers, _, steers_by = run(MODEL, tmp_path / "b.h5", "--formulation", formulation, *options)[0]
    assert (steers, steers_by) == pytest.approx((-2.16773, -1.8387), abs=1.5e-2)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_lies_on_the_road(formulation):
    """Both wheels lean by 78 degrees, and it turns about their rims: accelerations grow to 5e3 rad/s^2 within 3 ms.

    Newton does not converge there in steps of 1 ms, which are divided. The rate at the end goes from 2.7 to 3.4 rad/s
    by last digits alone, as with a tighter tolerance.
    """
    model = with_values(load(MODEL), {"v": 1.0, "lean": 0.3})
    built = build(model, formulation=formulation, step=1e-3, duration=1.2, sensitivity="none")
    at_end = [block.sensors[-1] for block in forward(built.problem) if len(block.time)][-1]
    assert at_end[0] == pytest.approx(-1.251, rel=0.05)
    assert at_end[1] == pytest.approx(3.05, rel=0.2)
