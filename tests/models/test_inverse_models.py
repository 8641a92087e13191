"""The human and the robots: connectivity, and torques and derivatives of the printed recursion with 4 x 4 matrices."""

import re

import h5py
import numpy as np
import pytest

from mbsim_cli import spec
from tests.models.command import ROOT, mbsim
from tests.models.tables import links
from tests.naive.lagrange_recursion import torques

HUMAN = ROOT / "models" / "human43.yaml"
MODELS = [HUMAN, ROOT / "models" / "human43_loaded.yaml", ROOT / "models" / "robots" / "puma560.yaml"]
PARENTS = [*range(13), 5, *range(14, 21), 5, *range(22, 31), 22, *range(32, 40), 22, 41, 42]


def test_connectivity_of_the_human():
    """Equations (18)-(20) of Zhakatayev et al. (2023)."""
    shown = mbsim("info", str(HUMAN))
    assert shown["joint_parent"] == [[i + 1, parent] for i, parent in enumerate(PARENTS)]
    assert shown["branch_parent"] == [[1, 0], [2, 1], [3, 1], [4, 1], [5, 4], [6, 4], [7, 4]]
    assert shown["joint_branch"] == [[1, 5], [6, 13], [14, 21], [22, 22], [23, 31], [32, 40], [41, 43]]
    uses = {parameter["name"]: parameter["used_in"] for parameter in shown["parameters"]}
    assert uses["m4"] == ["dh.human.rows.q12.link.shape.mass"]


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_printed_recursion(model, tmp_path):
    mbsim("run", str(model), "-o", str(tmp_path / "out.h5"), "--sensitivity", "ddm")
    chain = links(spec.load(model))
    with h5py.File(tmp_path / "out.h5") as file:
        motion = [file[f"coordinates/{kind}"] for kind in ("position", "velocity", "acceleration")]
        found = [file["torque"], *(file[f"sensitivity/torque/{k}"] for k in ("position", "velocity", "acceleration"))]
        for row in (0, 37, len(file["time"]) - 1):
            expected = torques(chain, *(array[row] for array in motion))
            for ours, theirs in zip(found, expected, strict=True):
                assert np.abs(ours[row] - theirs).max() <= 1e-11 * np.abs(theirs).max()
        assert file["sensitivity/torque/position"].shape == (len(file["time"]), len(chain), len(chain))
        assert [axis.label for axis in file["sensitivity/torque/parameter"].dims] == ["time", "coordinate", "parameter"]
        mass = file["sensitivity/torque/acceleration"][()]
        assert np.abs(mass - np.swapaxes(mass, 1, 2)).max() <= 1e-12 * np.abs(mass).max()


def test_the_page_shows_values_of_the_printed_recursion(tmp_path):
    """Derivatives of torques in the table of docs/human.md."""
    mbsim("run", str(HUMAN), "-o", str(tmp_path / "out.h5"))
    with h5py.File(tmp_path / "out.h5") as file:
        time = file["time"][()].round(3).tolist()
        motion = [file[f"coordinates/{kind}"][()] for kind in ("position", "velocity", "acceleration")]
    chain, page = links(spec.load(HUMAN)), (ROOT / "docs" / "human.md").read_text()
    instants = [float(t) for t in re.findall(r"([\d.]+) s \|", re.search(r"\| derivative \|.*", page)[0])]
    shown = re.findall(r"^\| q(\d+)\.angle\.torque by q(\d+)\.angle(\.\w+)? \|(.*)\|$", page, re.MULTILINE)
    assert len(instants) == 3 and len(shown) == 6
    for k, instant in enumerate(instants):
        expected = torques(chain, *(array[time.index(instant)] for array in motion))
        for i, m, rate, values in shown:
            level = ("", ".velocity", ".acceleration").index(rate)
            value = expected[1 + level][int(i) - 1, int(m) - 1]
            assert float(values.split("|")[k]) == pytest.approx(value, rel=1e-7)


def test_parameters_by_the_printed_recursion(tmp_path):
    """Differences of the twin at changed values; the human's own parameters reach every kind of entry."""
    mbsim("run", str(MODELS[1]), "-o", str(tmp_path / "out.h5"), "--sensitivity", "ddm")
    with h5py.File(tmp_path / "out.h5") as file:
        names = [name.decode() for name in file["parameters/name"][()]]
        values = dict(zip(names, file["parameters/value"][()], strict=True))
        motion = [file[f"coordinates/{kind}"][37] for kind in ("position", "velocity", "acceleration")]
        found = file["sensitivity/torque/parameter"][37]
    for name in ("m2", "m15", "L4", "L6", "L20"):
        h = 1e-5 * values[name]
        near = [
            torques(links(spec.load(MODELS[1], {name: repr(float(values[name] + s * h))})), *motion)[0] for s in (1, -1)
        ]
        expected = (near[0] - near[1]) / (2 * h)
        assert np.abs(found[:, names.index(name)] - expected).max() <= 2e-7 * np.abs(expected).max()
