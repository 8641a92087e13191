"""Denavit-Hartenberg rows as assembled: poses of the frames are products of the textbook's matrices."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.tree.kinematics import poses
from tests.spec.example import write


def _turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(4)
    i, j = ((1, 2), (2, 0), (0, 1))[axis]
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix


def _shift(axis, length):
    matrix = np.eye(4)
    matrix[axis, 3] = length
    return matrix


def _textbook(rows, q, convention):
    """Poses of all rows from the base; the factors are those of Craig (2005), section 3.4, in either order."""
    frames = {}
    before = np.eye(4)
    for (name, row), value in zip(rows.items(), q, strict=True):
        start = frames[row["parent"]] if "parent" in row else before
        moved = row.get("sign", 1) * value
        revolute = row["variable"] == "theta"
        about_z = _turn(2, row["theta"] + revolute * moved) @ _shift(2, row["d"] + (not revolute) * moved)
        about_x = _shift(0, row["a"]) @ _turn(0, row["alpha"])
        frames[name] = before = start @ (about_z @ about_x if convention == "distal" else about_x @ about_z)
    return frames


@pytest.mark.parametrize("convention", ["distal", "proximal"])
@pytest.mark.parametrize("seed", range(6))
def test_frames(tmp_path, convention, seed):
    random = np.random.default_rng(seed)
    rows = {}
    for i in range(7):
        row = dict(zip(("theta", "d", "a", "alpha"), random.uniform(-2, 2, 4).round(3).tolist(), strict=True))
        row |= {"variable": str(random.choice(["theta", "d"])), "sign": int(random.choice([1, -1]))}
        if i in (3, 5):
            row["parent"] = f"q{random.integers(0, i)}"
        rows[f"q{i}"] = row
    mass = "link: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}"
    text = "\n".join(
        f"      {name}: {{{', '.join(f'{k}: {v}' for k, v in row.items())}, {mass}}}" for name, row in rows.items()
    )
    head = f"mbsim: 1\ndh:\n  t:\n    convention: {convention}\n    rows:\n"
    assembled = build(spec.load(write(tmp_path, head + text)))
    q = random.uniform(-1, 1, 7)
    found = poses(assembled.problem.model.tree, assembled.problem.theta.tolist(), _ordered(assembled, q))
    for name, frame in _textbook(rows, q, convention).items():
        body = assembled.topology.bodies.index(name)
        assert np.allclose(found.R[body], frame[:3, :3], atol=1e-13)
        assert np.allclose(found.r[body], frame[:3, 3], atol=1e-13)


def _ordered(assembled, q):
    """Coordinates in the order of the tree, which need not be that of the rows."""
    return [q[int(name.split(".")[0][1:])] for name in assembled.problem.names.coordinates]


def test_a_table_equals_the_joints_that_it_stands_for(tmp_path):
    """Planar double pendulum, as a table and by hand: the same numbers, gradients by the length included."""
    table = """\
mbsim: 1
parameters: {L: 0.7}
dh: {t: {rows: {a: {a: L, link: {mass: 1, center_of_mass: [-L/2, 0, 0]}}, b: {a: 0.3, link: {mass: 2}}}}}
"""
    joints = """\
mbsim: 1
parameters: {L: 0.7}
bodies: {a: {mass: 1, center_of_mass: [-L/2, 0, 0]}, b: {mass: 2}}
points: {A: {ground: [0, 0, 0], a: [-L, 0, 0]}, B: {a: [0, 0, 0], b: [-0.3, 0, 0]}}
joints:
  a: {type: revolute, bodies: [ground, a], point: A, axis: z}
  b: {type: revolute, bodies: [a, b], point: B, axis: z}
"""
    left, right = (build(spec.load(write(tmp_path, text)), sensitivity="ddm").problem for text in (table, joints))
    assert np.allclose(left.theta, right.theta, atol=1e-15)
    assert np.allclose(left.theta_rho, right.theta_rho, atol=1e-15)
    assert left.names == right.names


def test_both_conventions_describe_one_arm(tmp_path):
    """Proximal a and alpha are those of the distal row before: the joint axes coincide."""
    d, pairs = (0.1, 0.2435, -0.0934, 0.4331), [(0.0, 0.0), (0.0, -np.pi / 2), (0.4318, 0.0), (-0.0203, np.pi / 2)]

    def axes(convention, pairs):
        link = "link: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}"
        rows = ", ".join(f"q{i}: {{d: {d[i]}, a: {x}, alpha: {t!r}, {link}}}" for i, (x, t) in enumerate(pairs))
        model = spec.load(write(tmp_path, f"mbsim: 1\ndh: {{t: {{convention: {convention}, rows: {{{rows}}}}}}}\n"))
        problem = build(model).problem
        found = poses(problem.model.tree, problem.theta.tolist(), [0.3, -0.4, 0.5, 0.6])
        return np.hstack([found.w, found.v])

    assert np.allclose(axes("distal", [*pairs[1:], (0.0, 0.0)]), axes("proximal", pairs), atol=1e-13)
