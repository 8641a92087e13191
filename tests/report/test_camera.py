"""Views: proper rotations, the right axes, and upwards against gravity."""

import numpy as np
import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.report.camera import view_of

Z_UP, Z_DOWN, Y_UP = (2, 1), (2, -1), (1, 1)
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


@pytest.mark.parametrize("text", ["xy", "xz", "yz", "-60,20", "30, -10", "0/90", None])
@pytest.mark.parametrize("up", [Z_UP, Z_DOWN, Y_UP, (0, -1)])
def test_every_view_is_a_rotation(text, up):
    basis = view_of(text, up, CUBE).basis
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) == pytest.approx(1.0)


@pytest.mark.parametrize("plane, right, upward", [("xy", "x", "y"), ("xz", "x", "z"), ("yz", "y", "z")])
def test_planes(plane, right, upward):
    basis = view_of(plane, Z_UP, CUBE).basis
    assert basis[0]["xyz".index(right)] == basis[1]["xyz".index(upward)] == 1.0


@pytest.mark.parametrize("up", [Z_UP, Z_DOWN, Y_UP])
def test_the_vertical_points_up(up):
    axis, sense = up
    _, upward, depth = view_of("-60,20", up, CUBE).project(sense * np.eye(3)[axis])
    assert upward == pytest.approx(np.cos(np.deg2rad(20))) and depth == pytest.approx(np.sin(np.deg2rad(20)))


def test_azimuth_turns_about_the_vertical_from_x():
    view = view_of("0,0", Z_UP, CUBE)
    np.testing.assert_allclose(view.project(np.array([1.0, 2.0, 3.0])), [2.0, 3.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(view_of("90,0", Z_UP, CUBE).project(np.array([1.0, 2.0, 3.0])), [-1, 3, 2], atol=1e-12)


@pytest.mark.parametrize("flat, plane", [(2, "xy"), (1, "xz"), (0, "yz")])
def test_plane_motion_is_seen_in_its_plane(flat, plane):
    points = CUBE.copy()
    points[:, flat] = 0.3
    assert view_of(None, Z_UP, points).plane == plane and view_of(None, Z_UP, CUBE).plane == ""


@pytest.mark.parametrize("text", ["top", "1", "1,2,3", "a,b", "xx", ""])
def test_other_texts_are_refused(text):
    with pytest.raises(UsageError, match="--view must be"):
        view_of(text, Z_UP, CUBE)


def test_solid_bodies_that_move_in_a_plane_are_seen_in_it():
    """A box is as deep as it is; no point of it leaves its plane. Of a motion along a line the larger side is seen."""
    turned = np.array([[[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]] for a in (0.0, 0.4, 1.0)])
    motion = np.einsum("fij,pj->fpi", turned, CUBE)
    assert view_of(None, Z_UP, motion).plane == "xy"
    upwards = CUBE * [0.1, 1.0, 1.0] + np.arange(3.0)[:, None, None] * [0, 0, 1]
    assert view_of(None, Z_UP, upwards).plane == "yz"
    assert view_of(None, Z_UP, CUBE[None] + np.zeros((3, 1, 1))).plane == ""
    assert view_of(None, Z_UP, motion + np.arange(3.0)[:, None, None] * [0, 0, 1e-3]).plane == ""
