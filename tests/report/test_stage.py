"""Frames: as large as asked, to scale, and with what moves where it is."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from mbsim_cli.model.pictures import Line, Scene
from mbsim_cli.report.camera import view_of
from mbsim_cli.report.stage import Film, _coil, frames, nice
from mbsim_cli.report.style import COLOURS, GREY

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)


def film(positions=None, kind="body", **changes):
    """A square body that slides along x, one metre a frame."""
    if positions is None:
        positions = SQUARE + np.arange(3.0)[:, None, None] * [1, 0, 0]
    count = positions.shape[1]
    scene = Scene(
        bodies=("b",),
        local=positions[0],
        body=np.zeros(count, dtype=int),
        names={},
        lines=(Line(kind, 0, (*range(count), 0)),),
        joints=(),
        ground=(),
        up=(1, 1),
    )
    changes = {"view": view_of("xy", scene.up, positions), "size": (400, 200)} | changes
    return Film(scene, np.arange(float(len(positions))), positions, **changes)


def extent(picture, colour=COLOURS[0]):
    """Columns and rows (first, last) that a colour reaches."""
    rows, columns = np.nonzero((np.abs(picture / 255 - to_rgb(colour)) < 0.02).all(axis=2))
    return (columns.min(), columns.max()), (rows.min(), rows.max())


def test_frames_are_to_scale_and_move():
    pictures = list(frames(film()))
    assert len(pictures) == 3 and all(p.shape == (200, 400, 3) and p.dtype == np.uint8 for p in pictures)
    boxes = [extent(picture) for picture in pictures]
    for columns, rows in boxes:
        assert np.ptp(columns) == pytest.approx(np.ptp(rows), abs=2)
    steps = np.diff([columns[0] for columns, _ in boxes])
    assert steps == pytest.approx([np.ptp(boxes[0][0])] * 2, abs=4)


@pytest.mark.parametrize("view", ["xy", "-60,20"])
def test_what_is_followed_stays(view):
    moving = film(follow=0)
    boxes = [extent(p) for p in frames(moving._replace(view=view_of(view, (1, 1), moving.positions)))]
    assert boxes[0] == boxes[1] == boxes[2]


def test_the_floor_stays_while_the_camera_follows():
    moving = film(SQUARE + np.arange(3.0)[:, None, None] * [0.3, 0, 0], follow=0)  # less than the grid's spacing
    first, second, _ = frames(moving._replace(view=view_of("-60,20", (1, 1), moving.positions)))
    assert (first != second)[40:].any()


@pytest.mark.parametrize("view", ["xy", "-60,20"])
def test_axes_are_drawn_once_and_nothing_stays_of_earlier_frames(view, monkeypatch):
    draws, draw = [], FigureCanvasAgg.draw
    monkeypatch.setattr(FigureCanvasAgg, "draw", lambda canvas: (draws.append(1), draw(canvas)))
    forward = film(kind="spring")
    forward = forward._replace(view=view_of(view, (1, 1), forward.positions))
    backward = forward._replace(time=forward.time[::-1], positions=forward.positions[::-1])
    pictures = list(frames(forward)), list(frames(backward))[::-1]
    np.testing.assert_array_equal(*pictures)
    assert len(draws) == 2 and (pictures[0][0] != pictures[0][1]).any()


def test_a_trace_grows():
    steps = np.linspace(0.0, 2.0, 21)  # finer than frames
    first, _, last = frames(film(traces=[2], traced=(steps, SQUARE[2] + steps[:, None, None] * [1, 0, 0])))
    (_, corner), _ = extent(first)
    (start, end), _ = extent(last)
    assert start == pytest.approx(corner, abs=3) and end - start == pytest.approx(2 * np.ptp(extent(first)[0]), abs=4)


def test_frames_are_the_same_every_time():
    for one, other in zip(frames(film()), frames(film()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_point_at_rest_can_be_drawn():
    assert len(list(frames(film(np.zeros((1, 1, 3)))))) == 1


def test_springs_are_coils_that_end_at_their_points():
    coil = _coil(np.array([0.0, 0.0]), np.array([3.0, 4.0]), 0.1)
    np.testing.assert_array_equal(coil[[0, -1]], [[0, 0], [3, 4]])
    across = coil @ np.array([-0.8, 0.6])
    assert across.max() == pytest.approx(0.1) and across.min() == pytest.approx(-0.1)
    assert len(_coil(np.zeros(2), np.array([0.1, 0.0]), 0.1)) == 2


@pytest.mark.parametrize("length, expected", [(1.0, 1.0), (0.7, 0.5), (49.0, 20.0), (0.0199, 0.01)])
def test_nice(length, expected):
    assert nice(length) == pytest.approx(expected)


def test_settings_do_not_leak_while_frames_are_drawn():
    before = dict(matplotlib.rcParams)
    drawing = frames(film())
    next(drawing)
    assert dict(matplotlib.rcParams) == before


def test_a_trace_is_as_smooth_as_its_own_times():
    """A semicircle between two frames; through frames alone it would be a straight line."""
    steps = np.linspace(0.0, 2.0, 41)
    arc = np.stack([2.0 - np.cos(0.5 * np.pi * steps), np.sin(0.5 * np.pi * steps), 0.0 * steps], axis=1)
    moving = film(traces=[2], traced=(steps, arc[:, None]))
    *_, straight = frames(moving._replace(traced=(steps[::40], arc[::40, None])))
    *_, curved = frames(moving)
    assert (straight != curved).any()


def test_roads_are_drawn_where_they_are():
    road = np.array([[-1.0, -0.5, 0.0], [4.0, -0.5, 0.0]])
    without, *_ = frames(film())
    with_road, *_ = frames(film(roads=[road]))
    columns, rows = extent(with_road, GREY)
    assert np.ptp(columns) > 4 * np.ptp(extent(with_road)[0]) and np.ptp(rows) > np.ptp(columns) / 10
    assert (without != with_road).any()


@pytest.mark.parametrize("kind", ["spiral", "slide"])
def test_lines_at_joints(kind):
    """A spiral about the joint, however far its points are apart; a guide from one to the other."""
    positions = np.array([[[0, 0, 0], [3, 0, 0], [3, 2, 0], [0, 2, 0]]], dtype=float)
    pictures = {drawn: next(frames(film(positions, drawn))) for drawn in ("body", kind)}
    (wide, _), (narrow, _) = (np.ptp(extent(picture), axis=1) for picture in pictures.values())
    assert narrow < wide / 5 if kind == "spiral" else narrow == pytest.approx(wide, abs=3)
