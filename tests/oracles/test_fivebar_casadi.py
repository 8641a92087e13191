"""The five-bar at other parameter values, against CasADi with CVODES."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("casadi")

from benchmarks.casadi_fivebar import ADAMS, NOMINAL, FiveBar
from benchmarks.reference import GRADIENTS, PARAMETERS, PSI
from tests.models.command import ROOT, run

pytestmark = pytest.mark.oracles


def test_oracle_meets_the_references():
    values, gradients = FiveBar(1e-11, **ADAMS).gradient()
    assert np.allclose(values, PSI, rtol=3e-8)
    assert np.allclose(gradients, GRADIENTS, rtol=3e-8)


def test_other_parameter_values(tmp_path: Path):
    given = {"m_A1": 1.3, "L_s1": 2.1, "L_A1": 1.45}
    p = np.array([given.get(name, value) for name, value in zip(PARAMETERS, NOMINAL, strict=True)])
    values, gradients = FiveBar(1e-11, **ADAMS).gradient(p)
    overrides = [text for name, value in given.items() for text in ("-p", f"{name}={value}")]
    found, by = run(
        ROOT / "models/fivebar.yaml", tmp_path / "out.h5", "--sensitivity", "ddm", "--step", "2.5e-4", *overrides
    )
    assert np.allclose(found, values, rtol=1e-6)
    # d psi3 / d x_G_A1 nearly cancels here: 5e-4 at 1 ms, a quarter of it with each halving
    assert np.allclose(np.column_stack([by[name] for name in PARAMETERS]), gradients, rtol=5e-5)
