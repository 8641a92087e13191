"""Reactions at places of bodies that deform: by hand, from both sides, and their derivatives by all methods."""

import numpy as np
import pytest

from mbsim_cli.solve import allocate
from mbsim_cli.solve.equilibrium import equilibrium
from tests.kernels.differentiate import simulate
from tests.kernels.plain.test_flexible_trees import BEAMS, FLOATING, REST, assembled, assert_sensitivities
from tests.kernels.reaction_adjoints import assert_pull_back_is_the_transpose

AT_REST = """\
  root: {type: reaction, joint: root}
  hook: {type: reaction, joint: hook, on: beam}
analysis:"""


def test_at_rest(tmp_path):
    """Weights and their moments about the root, with derivatives by length and load."""
    text = REST.replace("sensors: {tip: {type: position, point: load.origin}}\n", "sensors:\n")
    (block,) = equilibrium(assembled(tmp_path, text.replace("analysis:", AT_REST), sensitivity="ddm"))
    per_length, g, m = 7850 * 6e-4, 9.81, 0.5
    root, hook = block.sensors[0, :6], block.sensors[0, 6:]
    weight, moment = (per_length + m) * g, (per_length / 2 + m) * g
    np.testing.assert_allclose(root, [0, weight, 0, 0, 0, moment], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(hook, [0, -m * g, 0, 0, 0, 0], rtol=1e-9, atol=1e-9)
    by_length, by_load = block.d_sensors[0, :6, 1], block.d_sensors[0, :6, 2]
    np.testing.assert_allclose(by_length, [0, per_length * g, 0, 0, 0, (per_length + m) * g], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_load, [0, g, 0, 0, 0, g], rtol=1e-9, atol=1e-9)


IN_FLIGHT = """\
sensors:
  hook: {type: reaction, joint: hook}
  block: {type: reaction, joint: hook, on: block}
  free: {type: reaction, joint: free}
  ball: {type: acceleration, point: ball.origin}
analysis:"""


def test_newton_of_what_tumbles(tmp_path):
    """A ball on a node takes its mass times its acceleration less weight, and the block nothing of the ground.

    Accelerations of steps differ from those by the second order.
    """
    text, off = FLOATING.replace("analysis:", IN_FLIGHT), []
    step = assembled(tmp_path, text, sensitivity="none").options.step
    for part in (1, 2):
        problem = assembled(tmp_path, text, sensitivity="none", step=step / part)
        found = simulate(problem, 2 * part)["sensors"]
        acceleration, force, other = found[:, :3], found[:, 3:6], found[:, 9:12]
        np.testing.assert_allclose(other, -force, rtol=1e-9)
        np.testing.assert_allclose(found[:, 15:21], 0.0, atol=1e-11 * np.abs(force).max())
        off.append(np.abs(force / 0.3 - acceleration + [0.5, -2, -9.81])[[0, -1]].max(axis=1))
    (start, end), (_, fine) = off
    assert start < 1e-9 * np.abs(acceleration).max() and 3.0 * fine < end < 1e-5 * np.abs(acceleration).max()


LOOP = BEAMS.replace(
    "analysis:",
    """\
  at_O: {type: reaction, joint: O, axes: joint}
  at_tip: {type: reaction, joint: tip, on: boom, axes: body}
  at_P: {type: reaction, joint: P}
  at_Q: {type: reaction, joint: Q, on: arm}
analysis:""",
)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    return assembled(tmp_path_factory.mktemp("loop"), LOOP, sensitivity="ddm")


def test_sensitivities(loop):
    """Of a run, against its complex step."""
    assert_sensitivities(loop)


def test_pull_back(loop):
    """The transpose of the variation."""
    tree, dtheta = loop.model.tree, allocate.padded_directions(loop.theta_rho, float)
    for v, first in enumerate(tree.shape):
        dtheta[first : first + np.diff(tree.elastic)[tree.node_body[v]], 0] = 0.1
    assert_pull_back_is_the_transpose(loop, dtheta, spread=0.01, relative=1e-11)
