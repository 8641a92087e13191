"""Forces of constraints of the motion that is shown: where their multipliers do not converge there is no number."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.forward import forward, start
from tests.assembly.texts import assemble
from tests.marks import NATURAL
from tests.solve.test_light_bodies import LIFT, lifting

SOFT = LIFT.replace("LIGHT", "1")


@pytest.mark.parametrize("formulation", [NATURAL])
def test_forces_that_are_never_found(tmp_path, formulation):
    """A weight of next to nothing makes penalties of projections as soft."""
    problem = assemble(tmp_path, SOFT, formulation=formulation, weighting=1e-12).problem
    with pytest.raises(
        AnalysisError, match=r"forces of constraints at t = .* s are not found: '.*' is open by [0-9.]+%"
    ):
        start(problem).first_block(20)


def test_forces_that_are_found_at_first(tmp_path):
    """The motion goes on behind them, and so do all other sensors."""
    blocks = list(forward(assemble(tmp_path, SOFT, weighting=1e-12).problem))
    time, sensors, lost, unknown = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("time", "sensors", "lost", "undetermined")
    )
    found = np.equal(lost, None)
    assert 0 < found.sum() < 20 and len(time) == 501
    assert np.isfinite(sensors[found]).all() and np.isnan(sensors[~found]).all()
    assert (unknown == ~found[:, None]).all()
    weight = 9.81 - 0.1 * np.pi**2 * np.sin(np.pi * time[found])  # the jack's own
    assert sensors[found, 2] == pytest.approx(lifting(time[found]) + weight, rel=2e-3)


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_objectives_of_forces_that_are_not_found(tmp_path, method):
    file = tmp_path / "lift.yaml"
    turn = "sensors:\n  turn: {type: coordinate, coordinate: pivot.angle}"
    high = "objectives: {high: {final: turn}, "
    text = SOFT.replace("sensors:", turn).replace("objectives: {", high).replace("step:", "weighting: 1e-12, step:")
    file.write_text(f"mbsim: 1\nname: lift\n{text}")
    result = mbsim.run(file, sensitivity=method)
    last, turned = result.objectives["last"], result.objectives["high"]
    assert np.isnan(last.value) and np.isnan(last.gradient).all()
    assert turned.gradient == pytest.approx([0.0, 0.1 / 0.25 / np.cos(turned.value)], abs=1e-6)
    told = [sentence for sentence in result.warnings if "are no numbers at" in sentence]
    assert len(told) == 1 and "'stroke' is open by" in told[0] and "push.force" in told[0]
    assert not any("round-off alone" in sentence for sentence in result.warnings)
