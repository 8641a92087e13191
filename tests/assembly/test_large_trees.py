"""Open trees: closed group by group, written by repetition, of any size."""

from functools import partial

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.position import closing
from mbsim_cli.assembly.position.equations import Group
from tests.assembly.texts import MODELS, assemble
from tests.work import calls_of

TREE = """
    laws:
      wave: {type: harmonic, amplitude: 0.3, offset: 0.1, frequency: 1}
    points: {tip: {b_4: [0, 0, 1]}}
    repeat:
      row:
        for: {i: [1, 4]}
        with: {before: "b_{i-1}"}
        first: {with: {before: ground}}
        points: {"P_{i}": {"{before}": [1, 0, 0], "b_{i}": [0, 0, 0]}}
        bodies: {"b_{i}": {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
        joints:
          "s_{i}":
            type: spherical
            bodies: ["{before}", "b_{i}"]
            point: "P_{i}"
            initial: {orientation: {axis: [1, 2, i], angle: 0.3*i}}
      branches:
        for: {i: [1, 4]}
        bodies: {"c_{i}": {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
        joints: {"r_{i}": {type: revolute, bodies: ["b_{i}", "c_{i}"], point: origin, axis: z, initial: {angle: i/10}}}
    constraints:
      crank: {type: motion, coordinate: r_1.angle, law: wave}
      gear: {type: coupling, terms: {r_2.angle: 1, r_3.angle: -2}}
      ratio: {type: coupling, terms: {r_3.angle: 1, r_4.angle: 3}, offset: 0.1}
"""


def test_groups_close_as_the_whole_does(tmp_path, monkeypatch):
    by_groups = assemble(tmp_path, TREE)
    assert sorted(len(part.rows) for part in by_groups.closing.parts) == [1, 1, 1, 1, 1, 2]

    def one_group(equations, scales):
        tree, columns = equations.problem.model.tree, np.arange(len(equations.problem.independent))
        rows, bodies = list(range(equations.m)), list(range(len(tree.parent)))
        return [Group(equations, rows, columns, bodies, [], scales)]

    monkeypatch.setattr(closing, "groups", one_group)
    whole = assemble(tmp_path, TREE)
    assert len(whole.closing.parts) == 1
    for name in ("z", "phi", "J"):
        assert getattr(by_groups.closing, name) == pytest.approx(getattr(whole.closing, name), abs=1e-14)
    for name in ("held", "held_velocity", "noticed", "redundant", "rank", "mobility"):
        assert np.array_equal(getattr(by_groups.closing, name), getattr(whole.closing, name)), name
    assert by_groups.problem.theta == pytest.approx(whole.problem.theta, abs=1e-14)


def test_what_groups_find_wrong(tmp_path):
    again = "      again: {type: coupling, terms: {r_2.angle: 2, r_3.angle: -4}}\n"
    assembled = assemble(tmp_path, TREE + again)
    assert assembled.info["redundant_constraints"] == ["again"]
    assert (assembled.info["constraint_rank"], assembled.info["mobility"]) == (7, 13)
    against = "      against: {type: coupling, terms: {r_3.angle: 1, r_4.angle: 3}, offset: 0.5}\n"
    with pytest.raises(spec.ModelError, match=r"constraints\.\w+: cannot be satisfied at the start"):
        assemble(tmp_path, TREE + against)
    with pytest.raises(spec.ModelError, match="too many: "):
        assemble(tmp_path, TREE.replace("angle: i/10}", "angle: i/10, independent: true}"))


QUADRUPED = """
    constants: {n: 3, width: 0.4}
    parameters: {reach: 0.35}
    bodies: {trunk: {shape: {type: box, size: [0.8, width, 0.2], mass: 20}, position: [0, 0, 0.9]}}
    joints: {free: {type: floating, bodies: [ground, trunk]}}
    repeat:
      legs:
        for: {leg: {fl: {sx: 1, sy: 1}, fr: {sx: 1, sy: -1}, bl: {sx: -1, sy: 1}, br: {sx: -1, sy: -1}}}
        points: {"{leg}_0": {trunk: [sx*reach, sy*width/2, 0], "{leg}_link_1": [0, 0, 0]}}
        repeat:
          segments:
            for: {j: [1, n]}
            with: {above: "{leg}_link_{j-1}", drop: 0.3}
            first: {with: {above: trunk}}
            bodies: {"{leg}_link_{j}": {shape: {type: rod, axis: z, length: drop, mass: 1/j, center: [0, 0, -drop/2]}}}
            points: {"{leg}_{j}": {"{leg}_link_{j}": [0, 0, -drop]}}
            joints:
              "{leg}_{j}":
                type: revolute
                bodies: ["{above}", "{leg}_link_{j}"]
                point: ["{leg}_{j-1}", origin]
                axis: y
                initial: {angle: "-(-1)**j*20 deg"}
            last:
              sensors: {"{leg}_foot": {type: position, point: "{leg}_link_{j}.{leg}_{j}"}}
"""


def test_a_walker_is_mirrored(tmp_path):
    assembled = assemble(tmp_path, QUADRUPED)
    assert assembled.info["mobility"] == 6 + 4 * 3
    assert list(assembled.sensor_rows) == ["fl_foot", "fr_foot", "bl_foot", "br_foot"]
    tree, at = assembled.topology, assembled.closing.at
    feet = {leg: at.point(tree.index[f"{leg}_link_3"], (0.0, 0.0, -0.3)) for leg in ("fl", "fr", "bl")}
    assert feet["fl"] == pytest.approx((feet["fr"][0], -feet["fr"][1], feet["fr"][2]))
    assert feet["fl"][0] - feet["bl"][0] == pytest.approx(2 * 0.35)
    assert feet["fl"][1] == pytest.approx(0.2)


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
def test_work_grows_with_links(tmp_path, joint):
    """Two thousand of them take a second or two."""
    text = (MODELS / "chain.yaml").read_text().replace("type: revolute", f"type: {joint}")
    if joint == "spherical":
        text = text.replace("        axis: axis_{i % 2}\n", "").replace("        initial: {angle: 0.1}\n", "")
        text = text.replace("  tip at the start", "  tip-").replace("mobility: 24", "redundant_constraints: 0")
    path = tmp_path / "chain.yaml"
    path.write_text(text)
    assembled = build(spec.load(path, {"n": "2000"}))
    few, more = (calls_of(partial(build, spec.load(path, {"n": count}))) for count in ("250", "500"))
    assert more < 2.1 * few and more < 2500 * 500
    assert assembled.closing.mobility == {"revolute": 2000, "spherical": 6000}[joint]
    assert assembled.problem.theta_rho.shape == (len(assembled.problem.theta), 4)
