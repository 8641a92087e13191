"""Flexible bodies against references of another program: motions, and gradients by the densities of elements.

They are converged in time to 1e-13: Runge-Kutta of order 8 on equations by hand, differentiated by complex steps
through mesh, modes and motion.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import mbsim_cli as mbsim

from .command import ROOT

MODELS = ROOT / "models" / "flexible"
REFERENCES = json.loads(Path(__file__).with_name("slider_crank.json").read_text())
EVEN = ("wave: 0.25", "wave: 0"), ("value: 0.7", "value: 1")
STEPS = 2e-4, 1e-4
ADAPTIVE = """
analysis:
  formulation: recursive
  integrator: dop853
  tolerance: 1e-11
  duration: 2
  sensitivity: {method: adjoint, parameters: [], fields: [p]}
"""

pytestmark = pytest.mark.slow


def changed(folder: Path, model: str, *changes: tuple[str, str]) -> Path:
    """A model with other words."""
    text = (MODELS / f"{model}.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "m.yaml"
    path.write_text(text)
    return path


def extrapolated(coarse, fine):
    """What the values of two steps tend to, one half of the other; the order is two."""
    return fine + (fine - coarse) / 3


@pytest.fixture(
    scope="module",
    params=[("A", "densities", EVEN), ("A2", "densities", ()), ("C", "fine", ())],
    ids=["even", "uneven", "finer"],
)
def crank(request, tmp_path_factory):
    """References of a slider-crank, and its results with both steps."""
    case, model, changes = request.param
    path = changed(tmp_path_factory.mktemp(case), f"slider_crank_{model}", *changes)
    return REFERENCES[case], [mbsim.run(path, step=step) for step in STEPS]


def test_psi_and_all_element_gradients(crank):
    """Shapes that did not follow the densities would err by 1.5 %."""
    reference, results = crank
    coarse, fine = (result.objectives["psi"] for result in results)
    psi, gradient = reference["psi"], np.array(reference["gradient"])
    assert (coarse.value - psi) / (fine.value - psi) == pytest.approx(4, rel=1e-3)
    assert extrapolated(coarse.value, fine.value) == pytest.approx(psi, rel=1e-8)
    found = extrapolated(coarse.by_fields["p"], fine.by_fields["p"])
    assert np.linalg.norm(found - gradient) < 1e-6 * np.linalg.norm(gradient)


def test_strain_and_the_pin_along_time(crank):
    """q . K q of the crank, and the displacement of the pin in its axes."""
    reference, results = crank
    for sensor, factor, name, bound in (("U", 2, "strain", 1e-6), ("u", 1, "pin", 1e-5)):
        coarse, fine = (
            result[f"sensors/{sensor}"][np.searchsorted(result.time, np.array(reference["times"]) - step / 2)]
            for step, result in zip(STEPS, results, strict=True)
        )
        expected = np.array(reference[name]).reshape(len(fine), -1)
        found = factor * extrapolated(coarse, fine)[:, : expected.shape[1]]
        assert np.abs(found - expected).max() < bound * np.abs(expected).max()


@pytest.mark.parametrize(
    ("old", "new", "psi"),
    [
        ("count: 6", "count: 1", 0.0569169),
        ("count: 6", "count: 2", 0.0585233),
        ("count: 6", "count: 4", 0.0620481),
        ("count: 6", "count: 10", 0.0624053),
        ("count: 6", "count: 24", 0.0624879),
        ("[20, 4]", "[40, 8]", 0.0637574),
        ("[20, 4]", "[80, 16]", 0.0641503),
        ("[20, 4]", "[160, 32]", 0.0642563),
    ],
)
def test_psi_of_other_numbers_of_modes_and_elements(tmp_path, old, new, psi):
    path = changed(tmp_path, "slider_crank", (old, new))
    found = [mbsim.run(path, step=step, sensitivity="none").objectives["psi"].value for step in (5e-4, 2.5e-4)]
    assert extrapolated(*found) == pytest.approx(psi, abs=6e-8)


def test_pendulum_and_its_element_gradients(tmp_path):
    """The hinge turns freely: J(q), Gr and the row of the rotation count, which a driven crank never asks for."""
    text = (MODELS / "pendulum.yaml").read_text().partition("analysis:")[0]
    path = tmp_path / "m.yaml"
    path.write_text(text + ADAPTIVE)
    results = [mbsim.run(path, step=step).objectives for step in STEPS]
    psi = [result["psi"] for result in results]
    assert extrapolated(*(found.value for found in psi)) == pytest.approx(5.076896429883e-4, rel=1e-9)
    found = extrapolated(*(found.by_fields["p"][[0, 41, 79]] for found in psi))
    assert found == pytest.approx([-2.313413179e-5, -3.239471031e-6, 3.409965710e-5], abs=1e-9)
    angle = results[1]["angle"]
    assert angle.value == pytest.approx(-2.697518393457, rel=1e-10)
    expected = [2.752851454e-2, 2.664793103e-2, -9.795528185e-2]
    assert angle.by_fields["p"][[0, 41, 79]] == pytest.approx(expected, abs=1e-6)
