"""Bodies that deform further than linear shapes know are warned of, and no others."""

import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import AnalysisError
from tests.models.command import ROOT

pytestmark = pytest.mark.slow  # kernels of bodies that deform


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
@pytest.mark.parametrize(("stiffening", "warned"), [("[rotation, acceleration]", False), ("[]", True)])
def test_a_beam_that_spins_up(tmp_path, formulation, stiffening, warned):
    text = (ROOT / "models/flexible/spin_up.yaml").read_text().replace("[rotation, acceleration]", stiffening)
    (tmp_path / "spin_up.yaml").write_text(text)
    result = mbsim.run(tmp_path / "spin_up.yaml", formulation=formulation, sensitivity="none")
    found = [text for text in result.report["warnings"] if "'beam' deforms by more than a tenth of its size" in text]
    assert len(found) == warned and all("first at t = 7.08 s" in text for text in found)


def turning(tmp_path, *changes):
    """Warnings of a spin-up of 2 s after changes of its text."""
    text = (ROOT / "models/flexible/spin_up.yaml").read_text()
    for before, after in (("duration: 15", "duration: 2"), ("T: 15", "T: 2"), *changes):
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "turning.yaml"
    path.write_text(text[: text.index("\nchecks:")])
    found = mbsim.run(path, sensitivity="none").report["warnings"]
    return [w for w in found if "centrifugal stresses" in w]


WITHOUT = ("stiffening: [rotation, acceleration]", "stiffening: []")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([WITHOUT], True),
        ([WITHOUT, ("value: 6, unit: rad/s", "value: 0.02, unit: rad/s")], False),
        ([("[rotation, acceleration]", "[acceleration]")], True),
        ([("[rotation, acceleration]", "[rotation]")], False),
        ([WITHOUT, ("E: {value: 2.8e7", "E: {value: 2.8e10")], False),  # stiff for its speed
    ],
)
def test_centrifugal_stresses_that_are_left_out_are_warned_of_where_they_matter(tmp_path, changes, told):
    found = turning(tmp_path, *changes)
    assert len(found) == told and all("body 'beam'" in w and "add rotation to its `stiffening`" in w for w in found)


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (
            2,
            r"the inertia of 'plate' vanishes at t = 0\.06.* several bodies .*; body 'plate' deforms by more",
        ),
        (4, r"the inertia of 'plate' vanishes at t = 0\.03.* fewer modes, a frame on a chord or several bodies .* do$"),
    ],
)
def test_runs_of_bodies_that_are_too_soft_name_them(tmp_path, count, told):
    """Steps grow short without bounds as a thousandfold softer plate bends."""
    text = (ROOT / "models/flexible/pendulum_open_tree.yaml").read_text()
    plate = f"bodies: {{plate: {{flexible: {{stiffening: [rotation], modes: {{count: {count}}}}}}}}}\n"
    path = tmp_path / "soft.yaml"
    path.write_text(text[: text.index("checks:")].replace("[pendulum", f"[{ROOT}/models/flexible/pendulum") + plate)
    with pytest.raises(AnalysisError, match=told):
        mbsim.load(path).run({"E": 2.1e6}, sensitivity="none", duration=0.2)
