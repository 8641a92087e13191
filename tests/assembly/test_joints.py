"""Joints: a coordinate means what the user declared, whichever body stands nearer the ground."""

import numpy as np
import pytest

from mbsim_cli.assembly.tree.kinematics import poses
from mbsim_cli.errors import ModelError
from mbsim_cli.spec.geometry import euler_parameters, normalised
from tests.assembly.texts import assemble, two_bodies

JOINTS = {
    "revolute": ("axis: u", "{angle: 0.7, angular_velocity: 0.3}"),
    "prismatic": ("axis: u", "{displacement: 0.7, velocity: 0.3}"),
    "universal": ("axes: [u, w]", "{angles: [0.7, -0.4], angle_rates: [0.3, 0.2]}"),
    "universal with references": ("axes: [u, w], reference: [w, u]", "{angles: [0.7, -0.4], angle_rates: [0.3, 0.2]}"),
    "cylindrical": ("axis: u", "{angle: 0.7, displacement: 0.2, velocity: 0.3, angular_velocity: -0.2}"),
    "planar": ("axis: u", "{position: [0.2, 0.5], angle: 0.7, velocity: [0.1, -0.3], angular_velocity: 0.4}"),
    "spherical": ("", "{orientation: {axis: [1, 2, 3], angle: 0.8}, angular_velocity: [0.1, 0.2, 0.3]}"),
    "floating": ("", "{position: [1, 2, 3], orientation: {axis: [1, 2, 3], angle: 0.8}, velocity: [1, 0, 2]}"),
    "fixed": ("axis: u", None),
}


def lines(kind, bodies):
    axis, initial = JOINTS[kind]
    parts = [
        f"type: {kind.split()[0]}",
        f"bodies: {bodies}",
        "point: J",
        axis,
        f"initial: {initial}" if initial else "",
    ]
    return "joint: {" + ", ".join(part for part in parts if part) + "}"


def pose_of(assembled, body, step=0.0):
    """Pose after the coordinates moved a complex step along their initial rates."""
    model, theta = assembled.problem.model, assembled.problem.theta
    first, n = model.tree.initial[0], len(model.tree.column_kind)
    z = theta[first : first + n] + 1j * step * theta[first + n : first + 2 * n]
    at = poses(model.tree, theta.tolist(), z.tolist() if step else z.real.tolist())
    number = assembled.topology.index[body]
    return np.array(at.r[number]), np.array(at.R[number])


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_met_from_its_far_side_gives_the_inverse_motion(tmp_path, kind):
    """a hangs on b, which hangs on the ground: then b of a joint [a, b] stands nearer the ground."""
    forward = assemble(tmp_path, two_bodies(lines(kind, "[a, b]")))
    backward = assemble(
        tmp_path,
        two_bodies(lines(kind, "[a, b]")).replace(
            "base: {type: revolute, bodies: [ground, a], point: O, axis: u}",
            "base: {type: fixed, bodies: [ground, b], point: [O, J]}",
        ),
    )
    assert forward.topology.reversed == (False, False)
    assert backward.topology.reversed == (False, True)
    for step in (0.0, 1e-30):
        (r_a, R_a), (r_b, R_b) = pose_of(forward, "a", step), pose_of(forward, "b", step)
        (q_a, Q_a), (q_b, Q_b) = pose_of(backward, "a", step), pose_of(backward, "b", step)
        scale = step or 1.0
        part = np.imag if step else np.real
        np.testing.assert_allclose(part(R_a.T @ R_b) / scale, part(Q_a.T @ Q_b) / scale, atol=3e-15)
        np.testing.assert_allclose(part(R_a.T @ (r_b - r_a)) / scale, part(Q_a.T @ (q_b - q_a)) / scale, atol=5e-15)


@pytest.mark.parametrize("kind", JOINTS)
def test_cut_equations_hold_where_the_tree_joint_puts_the_body(tmp_path, kind):
    """Coordinates of a body that the joint carries, given to a free body, close the same joint when it is cut."""
    carried = assemble(tmp_path, two_bodies(lines(kind, "[a, b]")))
    r, R = pose_of(carried, "b")
    axes = [[float(x) for x in row] for row in R]
    free = f"""
    {lines(kind, "[a, b]")[:-1]}, cut: true}}
    free:
      type: floating
      bodies: [ground, b]
      point: [origin, origin]
      initial: {{position: {[float(x) for x in r]}, orientation: {{rotation_matrix: {axes}}}}}
    """
    cut = assemble(tmp_path, two_bodies(free))
    assert np.abs(cut.closing.phi).max() < 1e-14
    expected = {
        "revolute": 5,
        "prismatic": 5,
        "universal": 4,
        "universal with references": 4,
        "cylindrical": 4,
        "planar": 3,
        "spherical": 3,
    }
    assert cut.closing.rank == 1 + expected.get(kind, 6 if kind == "fixed" else 0)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal", "cylindrical", "planar"])
def test_coordinates_of_a_cut_joint_are_measured(tmp_path, kind):
    """Declared independent at the cut joint, they are what the assembled position shows."""
    carried = assemble(tmp_path, two_bodies(lines(kind, "[a, b]")))
    (q_a, Q_a), (q_b, Q_b) = pose_of(carried, "a"), pose_of(carried, "b")
    joint = lines(kind, "[a, b]").replace("initial: {", "cut: true, initial: {independent: true, ")
    near = [[round(float(x), 1) for x in row] for row in (q_b, euler_parameters(Q_b))]
    unit = [float(x) for x in normalised(near[1])]
    start = f"{{position: {near[0]}, orientation: {{euler_parameters: {unit}}}}}"
    free = f"free: {{type: floating, bodies: [ground, b], initial: {start}}}"
    cut = assemble(tmp_path, two_bodies(f"{joint}\n{free}"))
    assert len(cut.equations.initial_measures) == len(carried.closing.z) - 1
    assert cut.closing.conflict == 0
    assert np.abs(cut.closing.phi).max() < 1e-9
    # the base may have moved to close the loop: compare the relative pose
    at, index = cut.closing.at, cut.topology.index
    (r_a, R_a), (r_b, R_b) = ((np.array(at.r[index[body]]), np.array(at.R[index[body]])) for body in "ab")
    np.testing.assert_allclose(R_a.T @ R_b, Q_a.T @ Q_b, atol=1e-12)
    np.testing.assert_allclose(R_a.T @ (r_b - r_a), Q_a.T @ (q_b - q_a), atol=1e-12)


def test_design_poses_give_initial_coordinates(tmp_path):
    """Where both bodies are placed by the file, coordinates that are not stated follow from it."""
    placed = """
    points: {P: {design: [1, 1, 0], bodies: [ground, a]}, Q: {design: [1, 3, 0], bodies: [a, b]}}
    vectors: {n: {design: [0, 0, 1], bodies: [ground, a, b]}}
    bodies:
      a: {mass: 1, inertia: {zz: 1}, position: [1, 2, 0], orientation: {axis: [0, 0, 1], angle: 90 deg}}
      b: {mass: 1, inertia: {zz: 1}, position: [2, 3, 0], orientation: {axis: [0, 0, 1], angle: 20 deg}}
    joints:
      p: {type: revolute, bodies: [ground, a], point: P, axis: n}
      q: {type: revolute, bodies: [a, b], point: Q, axis: n}
    """
    found = assemble(tmp_path, placed)
    np.testing.assert_allclose(np.degrees(found.closing.z), [90, -70], atol=1e-12)
    for body, origin in (("a", (1, 2, 0)), ("b", (2, 3, 0))):
        np.testing.assert_allclose(pose_of(found, body)[0], origin, atol=1e-15)


def test_references_of_a_universal_joint_say_where_its_angles_are_zero(tmp_path):
    """The angles of a Hooke joint by definition: about u of a, from its reference to w; about w, from u to its own."""
    joint = """
    joint:
      {type: universal, bodies: [a, b], point: J, axes: [u, w], reference: [c, d], initial: {angles: [0.7, -0.4]}}
    """
    vectors = "vectors:\n  c: {a: [0.1, 1, 0.2]}\n  d: {b: [1, 0.3, -0.5]}"
    assembled = assemble(tmp_path, two_bodies(joint).replace("vectors:", vectors))
    (_, R_a), (_, R_b) = pose_of(assembled, "a"), pose_of(assembled, "b")
    u, c, w, d = R_a @ [1, 0.3, -0.2], R_a @ [0.1, 1, 0.2], R_b @ [-0.4, 0.2, 0.9], R_b @ [1, 0.3, -0.5]

    def angle(start, end, axis):
        """From start to end about the axis, seen along it."""
        axis = axis / np.linalg.norm(axis)
        start, end = (v - axis * (axis @ v) for v in (start, end))
        return np.arctan2(axis @ np.cross(start, end), start @ end)

    assert u @ w == pytest.approx(0.0, abs=1e-15)
    assert [angle(c, w, u), angle(u, d, w)] == pytest.approx([0.7, -0.4])


def test_a_reference_needs_an_axis(tmp_path):
    with pytest.raises(ModelError, match="there is no axis"):
        assemble(tmp_path, two_bodies("joint: {type: fixed, bodies: [a, b], point: J, reference: [u, w]}"))
