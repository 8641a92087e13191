"""Bodies too large to factor: multigrid against the factor, on small ones."""

import numpy as np
import pytest

from mbsim_cli.reduction import structure as multigrid
from mbsim_cli.reduction.fields import element_gradients
from mbsim_cli.reduction.reduce import reduced

from .bodies import brick, crank, free, waves, with_rigid_pin

pytest.importorskip("pyamg")

CASES = {
    "solid": lambda: brick(elements=(24, 5, 4), k=5),
    "free": lambda: free(brick(elements=(24, 5, 4), k=5)),
    "static shapes": lambda: crank(60, 12, 4, density=waves(60, 12), static=(0,)),
    "rigid pin": lambda: with_rigid_pin(crank(60, 12, 4), 0.4),
}


@pytest.mark.parametrize("case", CASES)
def test_terms_and_gradients_are_those_of_the_factor(case, monkeypatch):
    direct = reduced(CASES[case]())
    adjoint = direct.sid.map(lambda _, term: term.map(np.zeros_like))
    adjoint.Ke.M0[...] = np.diag(1 / np.diag(direct.sid.Ke.M0))
    adjoint.J.M0[...] = np.eye(3)
    monkeypatch.setattr(multigrid, "LARGE", 0)
    monkeypatch.setattr(multigrid, "COARSEST", 100)
    found = reduced(CASES[case]())
    assert any("too large to factor" in warning for warning in found.sid.warnings)
    assert found.sid.frequencies() == pytest.approx(direct.sid.frequencies(), rel=1e-9)
    for by, wanted in zip(element_gradients(found, adjoint), element_gradients(direct, adjoint), strict=True):
        assert by == pytest.approx(wanted, abs=1e-6 * np.abs(wanted).max())
