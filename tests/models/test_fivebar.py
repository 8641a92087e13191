"""What the five-bar must show: order of convergence, formulations, choice of the cut, energy."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml

from benchmarks.reference import GRADIENTS, PARAMETERS, PSI
from tests.models.command import ROOT, mbsim, run

FIVEBAR = ROOT / "models" / "fivebar.yaml"


def errors(values: np.ndarray, gradients: dict[str, np.ndarray]) -> np.ndarray:
    """Relative errors (3, 6) of objectives and gradients."""
    found = np.column_stack([values, *(gradients[name] for name in PARAMETERS)])
    return found / np.column_stack([PSI, GRADIENTS]) - 1


def test_error_falls_by_four_when_the_step_halves(tmp_path: Path):
    coarse, fine = (
        errors(*run(FIVEBAR, tmp_path / "out.h5", "--sensitivity", "ddm", "--step", step)) for step in ("4e-3", "2e-3")
    )
    assert np.abs(fine).max() < 1e-3
    resolved = np.abs(fine) > 1e-6  # the references end at 1e-8
    assert resolved.sum() > 12
    assert np.allclose(coarse[resolved] / fine[resolved], 4, rtol=0.05)


def test_small_step_meets_the_eight_digits(tmp_path: Path):
    found = errors(*run(FIVEBAR, tmp_path / "out.h5", "--sensitivity", "ddm", "--step", "1e-4"))
    assert np.abs(found).max() < 3e-6


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1"])
def test_checks_hold_for_both_formulations(formulation: str, tmp_path: Path):
    text = FIVEBAR.read_text().replace("formulation: ali3p-rtdyn1", f"formulation: {formulation}")
    (tmp_path / "fivebar.yaml").write_text(text)
    assert mbsim("check", str(tmp_path / "fivebar.yaml"), "--without", "ali3p-natural")["passed"]


def test_formulations_agree(tmp_path: Path):
    found, results = [], []
    for name in ("ali3p-rtdyn0", "ali3p-rtdyn1"):
        output = tmp_path / f"{name}.h5"
        values, gradients = run(FIVEBAR, output, "--sensitivity", "ddm", "--formulation", name)
        found.append(np.column_stack([values, *gradients.values()]))
        with h5py.File(output) as file:
            results.append([file[f"coordinates/{level}"][:] for level in ("position", "velocity", "acceleration")])
    assert np.allclose(found[0], found[1], rtol=1e-9, atol=0)
    for a, b in zip(*results, strict=True):
        assert np.abs(a - b).max() < 1e-9 * np.abs(b).max()


# Each cut keeps two coordinates of its own tree; they fix the same start, but not the same derivative by L_A1.
INDEPENDENT = {"A": ("P3", "B"), "P1": ("A", "B"), "P2": ("A", "P1"), "P3": ("A", "P1"), "B": ("A", "P1")}


def cut_at(joint: str, folder: Path) -> Path:
    """The five-bar, its loop cut at a given joint."""
    model = yaml.safe_load(FIVEBAR.read_text())
    for name, fields in model["joints"].items():
        fields["initial"].pop("independent", None)
        if name in INDEPENDENT[joint]:
            fields["initial"]["independent"] = True
    model["joints"][joint]["cut"] = True
    del model["checks"]
    path = folder / f"cut_{joint}.yaml"
    path.write_text(yaml.safe_dump(model, sort_keys=False))
    return path


def test_cuts_agree_and_converge_to_each_other(tmp_path: Path):
    spread = {}
    for step in ("2e-3", "1e-3"):
        found = []
        for joint in INDEPENDENT:
            values, gradients = run(
                cut_at(joint, tmp_path), tmp_path / "out.h5", "--sensitivity", "ddm", "--step", step
            )
            found.append(np.column_stack([values, *(gradients[name] for name in PARAMETERS[:4])]))
        spread[step] = np.ptp(found, axis=0) / np.abs(found[0])
    assert spread["1e-3"].max() < 2e-4
    assert 3.5 < spread["2e-3"].max() / spread["1e-3"].max() < 4.5


def test_energy_drifts_with_the_square_of_the_step(tmp_path: Path):
    model, drift = tmp_path / "energies.yaml", []
    energies = "  kinetic: {type: kinetic_energy}\n  potential: {type: potential_energy}\n"
    model.write_text(FIVEBAR.read_text().replace("sensors:\n", "sensors:\n" + energies))
    for step in ("1e-3", "5e-4"):
        run(model, tmp_path / "out.h5", "--sensitivity", "none", "--step", step)
        with h5py.File(tmp_path / "out.h5") as file:
            energy = (file["sensors/kinetic"][:] + file["sensors/potential"][:]).ravel()
        drift.append(np.abs(energy - energy[0]).max() / abs(energy[0]))
    assert drift[0] < 1e-4
    assert 3.5 < drift[0] / drift[1] < 4.5
