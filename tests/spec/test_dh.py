"""Denavit-Hartenberg tables: what they stand for, and errors with their place in the table."""

import pytest

from mbsim_cli import spec
from tests.spec.example import issues_of, write

ARM = """\
mbsim: 1
parameters: {L: 0.5, twist: 90 deg, m: 2}
points: {tip: {hand: [0, 0, 1]}}
bodies: {post: {}}
joints: {mount: {type: fixed, bodies: [ground, post], point: origin}}
dh:
  arm:
    base: post
    rows:
      turn: {d: 0.3, alpha: twist, link: {mass: m, shape: {type: rod, length: L, mass: 1}}}
      slide: {variable: d, sign: -1, theta: 1, a: L, initial: {displacement: 0.1}}
      other: {parent: turn, link: {name: hand, mass: 1}}
      end: {variable: none, a: 2*L}
sensors: {r: {type: position, point: hand.tip}, q: {type: coordinate, coordinate: slide.displacement}}
"""


def test_rows_become_bodies_and_joints(tmp_path):
    model = spec.load(write(tmp_path, ARM))
    assert list(model.bodies) == ["post", "turn", "slide", "hand", "end"]
    kinds = {name: (joint.type, *joint.bodies) for name, joint in model.joints.items()}
    assert kinds == {
        "mount": ("fixed", "ground", "post"),
        "turn": ("revolute", "post", "turn"),
        "slide": ("prismatic", "turn", "slide"),
        "other": ("revolute", "turn", "hand"),
        "end": ("fixed", "hand", "end"),
    }
    assert model.joints["slide"].initial.displacement.literal == 0.1
    assert model.bodies["turn"].mass.text == "m"
    assert [number.literal for number in model.vectors["slide axis"]["turn"]] == [0, 0, -1]
    assert model.expressions.value(model.points["end joint"]["end"][0]) == -1.0


def test_numbers_of_the_table_count_once(tmp_path):
    paths = {".".join(map(str, path)) for path, _ in spec.load(write(tmp_path, ARM)).computed}
    assert {"dh.arm.rows.turn.alpha", "dh.arm.rows.end.a", "dh.arm.rows.turn.link.mass"} <= paths
    assert not any(path.startswith(("bodies.turn", "points.end", "vectors")) for path in paths)


CASES = [
    ("base: post", "base: pots", "8:11: dh.arm.base: unknown row or body 'pots'; did you mean 'post'?"),
    (
        "parent: turn",
        "parent: trun",
        "12:23: dh.arm.rows.other.parent: unknown row or body 'trun'; did you mean 'turn'?",
    ),
    (
        "name: hand",
        "name: slide",
        "12:7: dh.arm.rows.other: 'slide' is also a body; give the row or its link another name",
    ),
    ("end: {", "mount: {", "13:7: dh.arm.rows.mount: 'mount' is also a joint; give the row or its link another name"),
    ("a: 2*L", "a: 2*M", "13:34: dh.arm.rows.end.a: unknown parameter or constant 'M'; did you mean 'm'?"),
    ("{displacement:", "{angle:", "11:54: dh.arm.rows.slide.initial: 'angle' does not fit a row that is prismatic"),
    ("variable: d,", "variable: q,", "11:25: dh.arm.rows.slide.variable: must be 'theta', 'd' or 'none', not 'q'"),
    ("sign: -1", "sign: 2", "11:34: dh.arm.rows.slide.sign: must be 1 or -1, not 2"),
    ("m: 2}", "m: -2}", "10:49: dh.arm.rows.turn.link.mass: must not be negative, is -2"),
    (
        "length: L, mass: 1",
        "length: -L, mass: 1",
        "10:79: dh.arm.rows.turn.link.shape.length: must be greater than zero",
    ),
    ("coordinate: slide.displacement", "coordinate: slide.angle", "14:89: sensors.q.coordinate: joint 'slide' has no"),
    ("alpha: twist", "alpah: twist", "10:22: dh.arm.rows.turn.alpah: unknown key 'alpah'; did you mean 'alpha'?"),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES, ids=[case[1] for case in CASES])
def test_errors_point_into_the_table(tmp_path, old, new, expected):
    assert ARM.count(old) == 1
    issues = issues_of(tmp_path, ARM.replace(old, new))
    assert any(issue.startswith(f"model.yaml:{expected}") for issue in issues), issues


def test_one_fault_is_one_issue(tmp_path):
    for old, new, _ in CASES:
        if new not in ("name: slide", "end: {", "mount: {"):
            assert len(issues_of(tmp_path, ARM.replace(old, new))) == 1, new
