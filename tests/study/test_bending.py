"""Bodies that deform further than linear shapes know are warned of, and no others."""

import pytest

import mbsim_cli as mbsim
from tests.models.command import ROOT


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", pytest.param("ali3p-natural", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("stiffening", "warned"), [("[rotation, acceleration]", False), ("[]", True)])
def test_a_beam_that_spins_up(tmp_path, formulation, stiffening, warned):
    text = (ROOT / "models/flexible/spin_up.yaml").read_text().replace("[rotation, acceleration]", stiffening)
    (tmp_path / "spin_up.yaml").write_text(text)
    result = mbsim.run(tmp_path / "spin_up.yaml", formulation=formulation, sensitivity="none")
    found = [text for text in result.report["warnings"] if "'beam' deforms by more than a tenth of its size" in text]
    assert len(found) == warned and all("first at t = 7.08 s" in text for text in found)
