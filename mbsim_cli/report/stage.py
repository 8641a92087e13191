"""Pictures of a mechanism in a view."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.path import Path

from mbsim_cli.model.pictures import Line, Scene
from mbsim_cli.report.camera import View
from mbsim_cli.report.style import COLOURS, FAINT, GREY, INK, plain, styled

DPI = 100
MARGIN = 0.08  # around the drawing, relative to its extent
WIDTHS = {"body": 2.2, "shape": 1.2, "mesh": 0.8, "spring": 1.0, "spiral": 1.0, "rod": 1.4, "slide": 1.4}  # points
COILS, SWING = 9, 0.018  # of a spring; half its width relative to the height of the picture
TURNS = 2.25  # of a spiral spring
# a support: a triangle below its point, a ground line and hatching
SUPPORT = Path(
    [(0, 0), (-0.7, -1), (0.7, -1), (0, 0), (-1.1, -1), (1.1, -1)]
    + [place for k in range(5) for place in ((-0.9 + 0.45 * k, -1), (-1.2 + 0.45 * k, -1.4))],
    [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, *[Path.MOVETO, Path.LINETO] * 6],
)
_AROUND_PLANE, _AROUND = (62, 46, 12, 34), (12, 10, 12, 34)  # pixels left, below, right and above the axes
GRID_MOST = 60  # lines of the floor in each direction


class Film(NamedTuple):
    """F time points of a scene of P points, and the view of them."""

    scene: Scene
    time: np.ndarray  # (F,) s
    positions: np.ndarray  # (F, P, 3) m
    view: View
    traces: Sequence[int] = ()  # points that leave a trace
    traced: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros((0, 0, 3)))  # their times (T,), places (T, k, 3)
    roads: Sequence[np.ndarray] = ()  # lines (k, 3)
    follow: int | None = None  # point that the camera follows
    size: tuple[int, int] = (640, 480)  # pixels
    title: str = ""


def frames(film: Film) -> Iterator[np.ndarray]:
    """Draw every time point: pictures (height, width, 3) of bytes."""
    with styled():
        stage = _Stage(film)
    for number in range(len(film.time)):
        with styled():
            picture = stage.frame(number)
        yield picture


class _Stage:
    def __init__(self, film: Film):
        self._film = film
        self._seen = film.view.project(film.positions)  # (F, P, 3)
        self._box = _box(film, self._seen)
        width, height = film.size
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        self._canvas = FigureCanvasAgg(figure)
        left, bottom, right, top = _AROUND_PLANE if film.view.plane else _AROUND
        wide, high = max(width - left - right, width / 4), max(height - bottom - top, height / 4)
        self._axes = axes = figure.add_axes((left / width, bottom / height, wide / width, high / height))
        self._shape = wide / high
        figure.text(12 / width, 1 - 22 / height, plain(film.title), color=INK, fontsize=9)
        self._clock = figure.text(1 - 12 / width, 1 - 22 / height, "", color=INK, fontsize=9, ha="right")
        if film.view.plane:
            axes.set(xlabel=f"{film.view.plane[0]} [m]", ylabel=f"{film.view.plane[1]} [m]")
        else:
            axes.set_axis_off()
            _directions(figure, film)
        self._floor = LineCollection([], colors=FAINT, linewidths=0.7)
        axes.add_collection(self._floor)
        roads = [film.view.project(line)[:, :2] for line in film.roads]
        axes.add_collection(LineCollection(roads, colors=GREY, linewidths=0.5))
        self._trails = film.view.project(film.traced[1])  # (T, k, 3)
        bodies = film.scene.body[list(film.traces)]
        colours = [COLOURS[body % len(COLOURS)] if body >= 0 else GREY for body in bodies.tolist()]
        self._traces = [axes.plot([], [], color=colour, linewidth=0.9)[0] for colour in colours]
        self._lines = LineCollection([], capstyle="round", joinstyle="round")
        axes.add_collection(self._lines)
        mark: dict[str, Any] = {"linestyle": "", "zorder": 3}
        support: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": GREY, "markersize": 18}
        self._ground = axes.plot([], [], marker=SUPPORT, **support, **mark)[0]
        self._joints = axes.plot([], [], marker="o", color="white", markeredgecolor=INK, markersize=4, **mark)[0]
        self._moving = [self._lines, *self._traces, self._ground, self._joints]  # in the order of drawing
        self._still: Any = None  # pixels of what does not move, if the camera stands

    def frame(self, number: int) -> np.ndarray:
        film, seen = self._film, self._seen[number]
        self._look_at(number)
        self._clock.set_text(f"t = {film.time[number]:.2f} s")
        until = np.searchsorted(film.traced[0], film.time[number], "right")
        for line, trail in zip(self._traces, np.moveaxis(self._trails, 1, 0), strict=True):
            line.set_data(trail[:until, 0], trail[:until, 1])
        # nearer lines are drawn last
        drawn = sorted(film.scene.lines, key=lambda line: seen[list(line.points), 2].mean())
        self._lines.set_segments([self._segment(line, seen) for line in drawn])
        self._lines.set_linewidth([WIDTHS[line.kind] for line in drawn])
        self._lines.set_color([COLOURS[line.body % len(COLOURS)] if line.body >= 0 else GREY for line in drawn])
        ground, joints = list(film.scene.ground), list(film.scene.joints)
        self._ground.set_data(seen[ground, 0], seen[ground, 1])
        self._joints.set_data(seen[joints, 0], seen[joints, 1])
        if film.follow is not None:
            self._canvas.draw()
        else:
            self._draw_moving()
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()

    def _draw_moving(self) -> None:
        """Draw what moves over the axes, which are drawn once: their labels take most of the time."""
        figure = self._canvas.figure
        if self._still is None:
            for artist in (*self._moving, self._clock):
                artist.set_animated(True)
            self._canvas.draw()
            self._still = self._canvas.copy_from_bbox(figure.bbox)
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            self._axes.draw_artist(artist)
        figure.draw_artist(self._clock)

    def _look_at(self, number: int) -> None:
        """Set the limits of the axes, which move with the followed point over a fixed floor."""
        film, (low, high) = self._film, self._box
        if film.follow is not None:
            centre = self._seen[number, film.follow, :2]
            low, high = centre + low, centre + high
            if not (film.view.plane or film.roads):
                self._floor.set_segments(_floor(film, film.positions[number, film.follow], float(np.max(high - low))))
        middle, (width, height) = 0.5 * (low + high), high - low
        self._height = max(height, width / self._shape)
        self._axes.set_xlim(middle[0] + np.array([-0.5, 0.5]) * self._height * self._shape)
        self._axes.set_ylim(middle[1] + np.array([-0.5, 0.5]) * self._height)

    def _segment(self, line: Line, seen: np.ndarray) -> np.ndarray:
        points = seen[list(line.points), :2]
        if line.kind == "spiral":
            part = np.linspace(0.0, 1.0, 60)[:, None]
            angle = 2.0 * np.pi * TURNS * part
            return points[0] + SWING * self._height * part * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
        return _coil(points[0], points[1], SWING * self._height) if line.kind == "spring" else points


def _box(film: Film, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of the visible region with a margin, relative to the followed point if there is one."""
    used = {k for line in film.scene.lines for k in line.points} | set(film.scene.joints) | set(film.traces)
    if film.follow is None:
        used |= set(film.scene.ground)
    else:
        used -= set(np.flatnonzero(film.scene.body < 0).tolist())
    plane = seen[:, sorted(used) or slice(None), :2]
    if film.follow is not None:
        plane = plane - seen[:, [film.follow], :2]
    low, high = np.nanmin(plane, axis=(0, 1)), np.nanmax(plane, axis=(0, 1))
    if film.follow is None and film.roads:
        ends = film.view.project(np.concatenate(film.roads))[:, :2]
        low, high = np.minimum(low, ends.min(axis=0)), np.maximum(high, ends.max(axis=0))
    margin = MARGIN * max(float((high - low).max()), 1e-3)
    return low - margin, high + margin


def _coil(a: np.ndarray, b: np.ndarray, swing: float) -> np.ndarray:
    """A zigzag line between two points; a straight line if they are closer than its width."""
    along = b - a
    length = float(np.hypot(*along))
    if length < 4 * swing:
        return np.array([a, b])
    across = np.array([-along[1], along[0]]) / length * swing
    places = np.concatenate([[0.0], np.linspace(0.15, 0.85, 2 * COILS), [1.0]])
    sides = np.concatenate([[0.0], np.resize([1.0, -1.0], 2 * COILS), [0.0]])
    return a + places[:, None] * along + sides[:, None] * across


def nice(length: float) -> float:
    """The largest number of the form 1, 2 or 5 times a power of ten that does not exceed a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(step * power for step in (1, 2, 5) if step * power <= length * (1 + 1e-9)))


def _floor(film: Film, centre: np.ndarray, extent: float) -> list[np.ndarray]:
    """Lines of a horizontal grid, fixed in space, around a moving point."""
    axis, sense = film.scene.up
    across = [k for k in range(3) if k != axis]
    step = nice(extent / 4)
    level = sense * float((sense * film.positions[0, :, axis]).min())
    lines = []
    for along, other in (across, across[::-1]):
        middle = round(centre[other] / step)
        for k in range(middle - GRID_MOST // 2, middle + GRID_MOST // 2 + 1):
            ends = np.full((2, 3), level)
            ends[:, other] = k * step
            ends[:, along] = centre[along] + np.array([-0.5, 0.5]) * GRID_MOST * step
            lines.append(film.view.project(ends)[:, :2])
    return lines


def _directions(figure: Figure, film: Film) -> None:
    """Draw the directions of the global axes in the corner."""
    corner = figure.add_axes((0.01, 0.01, 0.16, 0.16 * film.size[0] / film.size[1]))
    corner.set_axis_off()
    corner.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
    for name, (right, upward, _) in zip("xyz", film.view.basis.T, strict=True):
        corner.plot([0, right], [0, upward], color=GREY, linewidth=1.0)
        if np.hypot(right, upward) > 0.15:
            corner.text(1.25 * right, 1.25 * upward, name, color=GREY, fontsize=8, ha="center", va="center")
