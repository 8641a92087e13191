"""The flexible slider-crank by densities, all of them, against references of another program.

They are converged in time to 1e-13: Runge-Kutta of order 8 on the equations of the driven crank by hand, differentiated
by complex steps through mesh, modes and motion.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli.study.assembling import load
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import draft
from mbsim_cli.study.run import run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing

from .command import ROOT

MODELS = ROOT / "models" / "flexible"
REFERENCES = json.loads(Path(__file__).with_name("slider_crank.json").read_text())
EVEN = ('"mean + 0.25*sin(2*pi*(2*x/length + y/0.08 + 1/2))"', "mean"), ("value: 0.7", "value: 1")


def found(path, step):
    """Psi, and its gradient by all elements."""
    timing, settings = Timing(), Settings(step=step)
    plan = draft(load(path, settings), settings, timing).plan(timing, SILENT)
    plan.compile(SILENT)
    outcome = run(plan, timing, SILENT)
    return outcome.results["psi"].value, outcome.by_fields["psi"]["p"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "model", "changes"),
    [("A", "densities", EVEN), ("A2", "densities", ()), ("C", "fine", ())],
    ids=["even", "uneven", "finer"],
)
def test_psi_and_all_element_gradients(tmp_path, case, model, changes):
    """Extrapolated in the step; the order is two. Shapes that did not follow the densities would err by 1.5 %."""
    text = (MODELS / f"slider_crank_{model}.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "m.yaml"
    path.write_text(text)
    (coarse, by_coarse), (fine, by_fine) = (found(path, step) for step in (2e-4, 1e-4))
    psi, gradient = REFERENCES[case]["psi"], np.array(REFERENCES[case]["gradient"])
    assert (coarse - psi) / (fine - psi) == pytest.approx(4, rel=1e-3)
    assert fine + (fine - coarse) / 3 == pytest.approx(psi, rel=1e-8)
    extrapolated = by_fine + (by_fine - by_coarse) / 3
    assert np.linalg.norm(extrapolated - gradient) < 1e-6 * np.linalg.norm(gradient)
