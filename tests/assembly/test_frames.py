"""Frames: orthonormal, analytic, and with the meaning that the file format states."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mbsim_cli.spec import geometry as frames

STEP = 1e-30
AXES = [((0.3, -0.2, 0.9), (0.1, 0.9, 0.3)), ((0, 0, 1), (0, 0, 2)), ((1, 0, 0), (0, 0, 1)), ((0, 0, 1), (0, 0.1, -1))]


def numbers(result):
    return np.array([np.asarray(part) for part in result]).ravel()


def check_derivatives(function, x):
    """Compare the complex step with central differences in every argument."""
    for k in range(len(x)):
        direction = np.eye(len(x))[k]
        exact = numbers(function(x + 1j * STEP * direction)).imag / STEP
        h = 1e-6
        central = (numbers(function(x + h * direction)) - numbers(function(x - h * direction))).real / (2 * h)
        np.testing.assert_allclose(exact, central, atol=3e-9)


@pytest.mark.parametrize(("a", "b"), AXES)
@pytest.mark.parametrize("function", [frames.axis_frames, frames.universal_frames])
def test_frames_are_rotations_with_exact_derivatives(function, a, b):
    for R in function(a, b):
        np.testing.assert_allclose(np.array(R) @ np.array(R).T, np.eye(3), atol=3e-15)
        assert np.linalg.det(np.array(R)) == pytest.approx(1.0)
    if function is frames.universal_frames and np.allclose(np.cross(a, b), 0.0):
        return  # parallel in components: the zero of the angles is a choice, and jumps when it no longer has to be made
    check_derivatives(lambda x: function(tuple(x[:3]), tuple(x[3:])), np.array([*a, *b], dtype=float))


@pytest.mark.parametrize(("a", "b"), AXES)
def test_zero_angle_is_the_minimal_rotation_between_the_axes(a, b):
    R_a, R_b = (np.array(R) for R in frames.axis_frames(a, b))
    turned = R_a @ R_b.T
    ua, ub = (np.array(v) / np.linalg.norm(v) for v in (a, b))
    np.testing.assert_allclose(turned @ ub, ua, atol=1e-14)
    assert np.trace(turned) == pytest.approx(1.0 + 2.0 * (ua @ ub))  # 1 + 2 cos of the smallest angle


@pytest.mark.parametrize(("b", "own"), [((0.3, -0.2, 0.9), (1, 0, 0)), ((0.9, 0.3, -0.2), (0, 1, 0))])
def test_x_is_nearest_to_an_axis_of_the_second_body(b, own):
    b, a = np.array(b) / np.linalg.norm(b), np.array([0.6, 0.0, 0.8])
    across = own - b * np.dot(own, b)
    turn = np.cross(b, a)
    least = Rotation.from_rotvec(turn / np.linalg.norm(turn) * np.arccos(a @ b))
    R_a, R_b = (np.array(R) for R in frames.axis_frames(tuple(a), tuple(b)))
    np.testing.assert_allclose(R_b[:, 0], across / np.linalg.norm(across), atol=1e-14)
    np.testing.assert_allclose(R_a, least.as_matrix() @ R_b, atol=1e-14)


def test_opposite_axes_have_a_frame_near_them():
    for tilt in (0.0, 1e-6):
        R_a, R_b = (np.array(R) for R in frames.axis_frames((0, 0, 1), (0, tilt, -1)))
        np.testing.assert_allclose(R_a @ R_b.T @ R_b[:, 2], R_a[:, 2], atol=1e-12)
        np.testing.assert_allclose(R_a[:, 2], (0, 0, 1), atol=1e-9)


def test_references_coincide_at_zero_angle():
    R_a, R_b = (np.array(R) for R in frames.axis_frames((0, 0, 1), (1, 0, 0), ((1, 1, 5), (0, 0, 2))))
    np.testing.assert_allclose(R_a[:, 0], np.array([1, 1, 0]) / np.sqrt(2), atol=1e-15)
    np.testing.assert_allclose(R_b[:, 0], (0, 0, 1), atol=1e-15)


@pytest.mark.parametrize(
    "e", [(1, 0, 0, 0), (0.1, 0.9, -0.3, 0.2), (0, 0, 1, 0), (0.2, 0.1, 0.3, -0.9), (-0.9, 0, 0.1, 0)]
)
def test_euler_parameters_of_a_rotation_matrix(e):
    e = np.array(frames.normalised(e))
    found = np.array(frames.euler_parameters(frames.rotation_matrix(e)))
    np.testing.assert_allclose(found, e if found @ e > 0 else -e, atol=1e-15)
    generator = np.random.default_rng(1)
    omega = generator.normal(size=3)
    rates = np.array(frames.euler_rates(tuple(e), tuple(omega)))
    R = np.array(frames.rotation_matrix(tuple(e + 1j * STEP * rates)))
    spin = (R.imag / STEP) @ R.real.T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], omega, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 0.7, 3.1, -2.5, np.pi])
def test_angles_are_analytic(angle):
    turned = complex(angle, STEP)
    found = frames.angle_between(2.0 * np.cos(turned), 2.0 * np.sin(turned))
    assert np.cos(found.real) == pytest.approx(np.cos(angle))
    assert found.imag / STEP == pytest.approx(1.0)
