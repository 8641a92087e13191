"""``mbsim inspect`` of flexible bodies in files."""

import pytest

from .conftest import ROOT

FILES = ROOT / "tests" / "reduction" / "files"


def test_an_ascii_file(mbsim):
    found = mbsim("inspect", FILES / "Beam_3m.SID_FEM", "--json").json
    assert found["mass"] == 706.5 and len(found["nodes"]) == 21
    assert found["modes"][0]["frequency"] == pytest.approx(9.088683, rel=1e-6)
    # Rayleigh damping of the file's own comment: alpha 2.13, beta 4e-5
    w = 2 * 3.141592653589793 * 9.088683
    assert found["modes"][0]["damping"] == pytest.approx((2.13 / w + 4e-5 * w) / 2, rel=1e-3)
    assert found["inertia"][2][2] == pytest.approx(706.5 * (3**2 + 0.3**2) / 12, rel=2e-3)
    shown = mbsim("inspect", FILES / "Beam_3m.SID_FEM")
    assert "4 modes, 21 nodes" in shown.out and "9.0886826" in shown.out and "warning: the squares of Oe" in shown.err


def test_the_unit_of_length(mbsim, fivebar):
    found = mbsim("inspect", FILES / "example.sid_fem", "--length-unit", "mm", "--json").json
    assert found["center_of_mass"] == pytest.approx([0.25, 0, 0])
    wrong = mbsim("inspect", FILES / "example.sid_fem", "--length-unit", "ft")
    assert wrong.code == 2 and "m, cm, mm, in, not 'ft'" in wrong.err
    assert mbsim("inspect", fivebar, "--length-unit", "mm").code == 2


def test_a_damaged_file(mbsim, tmp_path):
    text = (FILES / "balken1m.SID_FEM").read_text("latin-1")
    (tmp_path / "cut.SID_FEM").write_text(text[:3000], "latin-1")
    done = mbsim("inspect", "cut.SID_FEM")
    assert done.code == 5 and "cut.SID_FEM:" in done.err and "the file ends within" in done.err
    assert mbsim("inspect", "nothing.SID_FEM").code == 5
