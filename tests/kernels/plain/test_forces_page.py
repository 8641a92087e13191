"""The models that docs/forces.md begins with."""

import math
import re
from pathlib import Path

import pytest

import mbsim_cli

BLOCKS = re.findall(r"```yaml\n(.*?)```", (Path(__file__).parents[3] / "docs" / "forces.md").read_text(), re.DOTALL)


def run(folder, text, **changes):
    path = folder / "model.yaml"
    path.write_text(text)
    return mbsim_cli.run(path, **changes).objectives


def test_two_bodies_go_round_each_other(tmp_path):
    """On an ellipse with a = 1 about the common centre, n^2 = G (M + m) / a^3 = 4: back after pi."""
    text = BLOCKS[0].replace("step: 0.1", "step: pi/16, tolerance: 1e-11")
    found = run(tmp_path, text)
    assert [found["x_end"].value, found["y_end"].value] == pytest.approx([1.0, 0.0], abs=1e-8)
    # Hill's equations with a push -dmu inwards: y = 2 dmu (t - sin(n t)/n)/n, dmu = (M + m) dG
    assert found["y_end"].gradient[0] == pytest.approx(4.0 * math.pi, rel=1e-6)


def test_the_magnet_swings(tmp_path):
    found = run(tmp_path, BLOCKS[1].replace("duration: 1,", "duration: 0.02,"))
    assert found["swing"].value > 0.0
    assert found["swing"].gradient[0] != 0.0
