"""A design position that a joint does not allow is refused where the start follows from it."""

import pytest

from mbsim_cli.errors import ModelError
from tests.assembly.texts import assemble

TEXT = """
bodies: {{b: {{mass: 1, inertia: {{xx: 1, yy: 1, zz: 1}}, {pose}}}}}
joints: {{j: {{bodies: [ground, b], point: origin, {joint}}}}}
"""
TILTED = "orientation: {axis: [1, 0, 0], angle: 0.2}"
TURNED = "orientation: {axis: [0, 0, 1], angle: 0.2}"


@pytest.mark.parametrize(
    ("pose", "joint", "expected"),
    [
        ("position: [0, 0, 5]", "type: revolute, axis: z", "their points 5 m apart"),
        (TILTED, "type: revolute, axis: z", "its axes 0.2 rad apart"),
        ("position: [3, 1, 0]", "type: prismatic, axis: x", "their points 1 m apart"),
        ("position: [0, 3, 4]", "type: spherical", "their points 5 m apart"),
        (TILTED, "type: planar, axis: z", "its axes 0.2 rad apart"),
        ("position: [0, 0, 5]", "type: fixed", "their points 5 m apart"),
        (TILTED, "type: fixed, axis: z", "its axes 0.2 rad apart"),
        ("position: [2, 0, 0]", "type: universal, axes: [x, y]", "their points 2 m apart"),
    ],
)
def test_a_design_that_a_joint_does_not_allow(tmp_path, pose, joint, expected):
    with pytest.raises(ModelError, match=expected) as caught:
        assemble(tmp_path, TEXT.format(pose=pose, joint=joint))
    assert caught.value.issues[0].path.startswith("joints.j")


@pytest.mark.parametrize(
    ("pose", "joint"),
    [
        ("position: [0, 0, 5]", "type: prismatic, axis: z"),
        ("position: [0, 0.0005, 5]", "type: prismatic, axis: z"),  # drawn with few digits
        (TURNED, "type: revolute, axis: z"),
        ("position: [3, 4, 0]", "type: planar, axis: z"),
        (TILTED, "type: fixed"),
        (f"position: [3, 4, 5], {TILTED}", "type: floating"),
        ("position: [0, 0, 5]", "type: revolute, axis: z, initial: {angle: 1}"),  # the start is stated
    ],
)
def test_a_design_that_it_allows(tmp_path, pose, joint):
    assemble(tmp_path, TEXT.format(pose=pose, joint=joint))
