"""Sheets of pictures: histories, bars of gradients, fields on cells, and fits."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from mbsim_cli.model.units import quotient
from mbsim_cli.report.panels import Bars, Cells, Curve, Panel
from mbsim_cli.report.style import COLOURS, DASHES, GREY, INK, plain, pretty, styled, unit_label

_EDGE_OF_BARS, _TITLE_OF_BARS, _BAR = 0.35, 0.55, 0.22  # inches


def _height(bars: Bars) -> float:
    return _TITLE_OF_BARS + _BAR * len(bars.parameters) * max(1.0, 0.6 * len(bars.gradients))


def draw_bars(place: SubplotSpec, all_bars: Sequence[Bars], labels: Sequence[str]) -> None:
    """Draw one row per objective at a place of the sheet: derivatives on the left, relative ones on the right."""
    ratios = [_height(bars) for bars in all_bars]
    grid = place.subgridspec(len(all_bars), 2, height_ratios=ratios).subplots(squeeze=False)
    for (left, right), bars in zip(grid, all_bars, strict=True):
        units = {name: quotient(bars.unit, unit) for name, unit in bars.parameters.items()}
        _draw_bars(left, bars, relative=False)
        _draw_bars(right, bars, relative=True)
        rows = [f"{name}  [{pretty(unit)}]" if unit else name for name, unit in units.items()]
        left.set_yticks(range(len(units)), rows)
        right.set_yticks(range(len(units)), list(units))
        known = "" if bars.value is None else f"{bars.objective} = {bars.value:.5g} {pretty(bars.unit)}".rstrip()
        left.set_title(f"d {bars.objective} / dρ" + (f"     ({known})" if known else ""))
        right.set_title(f"ρ / {bars.objective} · d {bars.objective} / dρ")
    if len(labels) > 1:
        handles = grid[0, 1].containers
        grid[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))


def _draw_bars(axes: Axes, bars: Bars, relative: bool) -> None:
    names, count = list(bars.parameters), len(bars.gradients)
    values = np.array([bars.of(name, relative) for name in names])  # (parameters, results)
    thickness = 0.72 / count
    for result in range(count):
        places = np.arange(len(names)) + (result - 0.5 * (count - 1)) * thickness
        lengths, colour = np.nan_to_num(values[:, result]), COLOURS[result % len(COLOURS)]
        drawn = axes.barh(places, lengths, height=0.9 * thickness, color=colour)
        if count <= 2:
            texts = [f"{value:.4g}".replace("-", "−") if np.isfinite(value) else "–" for value in values[:, result]]
            axes.bar_label(drawn, texts, padding=3, fontsize=7, color=INK)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_ylim(len(names) - 0.45, -0.55)
    lengths = np.nan_to_num(values)
    low, high = min(float(lengths.min()), 0.0), max(float(lengths.max()), 0.0)
    room = (0.0, 0.45, 0.65)[(low < 0.0) + (high > 0.0)] * (high - low)  # for the numbers next to the bars
    bare = 0.05 * (high - low) or 1.0
    axes.set_xlim(low - (room if low < 0.0 else bare), high + (room if high > 0.0 else bare))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)


ROUND_OFF = 1e-9  # relative to a value: smaller changes are round-off
LEGEND_MOST = 10  # entries: more components are drawn without legend
_EDGE, _AXES, _FEW, _PATH = 0.55, 1.45, 2.4, 3.6  # inches: around axes; one of several, single, path
_CLOUD = 1.7  # inches, height of each of several objectives of a study
FEW_DOTS = 200  # more are drawn smaller
_LETTERS = 16.0  # of a label per inch


def draw_histories(place: SubplotSpec, panels: Sequence[Panel], labels: Sequence[str]) -> None:
    """Draw panels below each other; colours are components and dashes results, or colours are results."""
    shown = [_components(panel) for panel in panels]
    by_colour = all(len(components) == 1 for components in shown)
    # one legend of colours suffices if all axes show all results
    everywhere = by_colour and not any(None in panel.series for panel in panels)
    stack = place.subgridspec(len(panels), 1).subplots(sharex=True, squeeze=False)[:, 0]
    for row, (axes, panel, components) in enumerate(zip(stack, panels, shown, strict=True)):
        unit = _draw(axes, panel, components, labels, by_colour)
        _name(axes, unit_label(panel.title, unit), _FEW if len(panels) == 1 else _AXES)
        several = len(labels) > 1 and (row == 0 or not everywhere)
        if len(components) > LEGEND_MOST:
            axes.set_title(f"{len(components)} components", loc="right", color=GREY, fontsize=8)
        elif several or len(components) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.04), borderaxespad=0.2)
    stack[-1].set_xlabel(unit_label(*panels[-1].across_label))
    if not panels[-1].over:
        stack[0].margins(x=0)
    stack[0].figure.align_ylabels(stack)


def _components(panel: Panel) -> list[str]:
    """Components that are not identically zero in all results; all components if there are none."""
    known: dict[str, bool] = {}
    for series in panel.series:
        for column, name in enumerate(series.components if series is not None else ()):
            known[name] = known.get(name, False) or bool(series is not None and series.values[:, column].any())
    return [name for name, moves in known.items() if moves] or list(known)


def _draw(axes: Axes, panel: Panel, components: list[str], labels: Sequence[str], by_colour: bool) -> str:
    """Draw lines; return their unit."""
    unit = next(series.unit for series in panel.series if series is not None)
    bundle = len(components) > LEGEND_MOST
    for number, series in enumerate(panel.series):
        across = panel.across(number)
        if series is None or across is None:
            continue
        for place, name in enumerate(components):
            if name not in series.components:
                continue
            colour = COLOURS[(number if by_colour else place) % len(COLOURS)]
            dash = DASHES[(number // len(COLOURS) if by_colour else number) % len(DASHES)]
            column = series.components.index(name)
            called = name if len(set(series.units)) == 1 else unit_label(name, series.units[column])
            words = [called] * (len(components) > 1) + [labels[number]] * (len(labels) > 1)
            values = series.values[:, column]
            style: dict[str, Any] = {"color": colour, "linestyle": dash, "label": ", ".join(words) or None}
            axes.plot(across, values, linewidth=0.7 if bundle else None, **style)
            if panel.over:  # the starting point
                axes.plot(across[:1], values[:1], marker="o", markersize=3.5, color=colour)
    if panel.is_path:
        axes.set_aspect("equal", adjustable="datalim")
    else:
        _keep_constants_flat(axes)
    return unit


def _name(axes: Axes, text: str, height: float) -> None:
    """Label axes on the left, or above if the text is too long for their ``height`` in inches."""
    if len(text) > _LETTERS * height:
        axes.set_title(text)
    else:
        axes.set_ylabel(text)


def _keep_constants_flat(axes: Axes) -> None:
    """Widen the limits of axes where the values change by round-off only."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < ROUND_OFF * size:
        axes.set_ylim(low - 0.1 * size, high + 0.1 * size)


WIDTH = 7.2  # inches: the width of a page of text
DIGITS = 4  # of positions relative to the sheet: the last digits of the layout differ between runs
# no dates, so that files of two runs are equal
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


@contextmanager
def _sheet(height: float, path: Path, suffix: str, title: str) -> Iterator[Figure]:
    """A figure of a height [inches], which is written to a file of the kind ``suffix``, png, svg or pdf, at the end."""
    with styled():
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=(WIDTH, height), layout=layout)
        if title:
            figure.suptitle(plain(title))
        yield figure
        layout.execute(figure)
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position(Bbox(axes.get_position().get_points().round(DIGITS)))
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])


def save_sheet(
    panels: Sequence[Panel], bars: Sequence[Bars], labels: Sequence[str], path: Path, suffix: str, title: str = ""
) -> None:
    """Draw histories and, below, gradients of the results ``labels`` into a file."""
    labels = list(map(plain, labels))
    heights = []
    if panels:
        shown = _FEW if len(panels) == 1 else _AXES * len(panels)
        heights.append(_EDGE + (_PATH * len(panels) if any(panel.is_path for panel in panels) else shown))
    if bars:
        heights.append(_EDGE_OF_BARS + sum(map(_height, bars)))
    with _sheet(sum(heights), path, suffix, title) as figure:
        parts = iter(figure.add_gridspec(len(heights), 1, height_ratios=heights))
        if panels:
            draw_histories(next(parts), panels, labels)
        if bars:
            draw_bars(next(parts), bars, labels)


def save_study(rows: Sequence[Sequence[Panel]], path: Path, suffix: str, title: str, joined: bool) -> None:
    """Draw objectives (rows) over parameters of a study (columns) into a file, a dot a case, ``joined`` by lines."""
    height = _FEW if len(rows) == 1 else _CLOUD
    with _sheet(_EDGE + height * len(rows), path, suffix, title) as figure:
        grid = figure.add_gridspec(len(rows), len(rows[0])).subplots(sharex="col", sharey="row", squeeze=False)
        for axes_row, panels in zip(grid, rows, strict=True):
            for axes, panel in zip(axes_row, panels, strict=True):
                for number, series in enumerate(panel.series):
                    across = panel.across(number)
                    assert series is not None and across is not None
                    style: dict[str, Any] = {"marker": "o", "linewidth": 0.8, "linestyle": "-" if joined else ""}
                    style |= {"color": COLOURS[number % len(COLOURS)], "label": plain(series.name)}
                    axes.plot(across, series.values[:, 0], markersize=3.5 if len(across) <= FEW_DOTS else 1.5, **style)
                if len(panel.series) > 1:
                    axes.legend()
                _keep_constants_flat(axes)
            first = panels[0].series[0]
            assert first is not None
            _name(axes_row[0], unit_label(panels[0].title, first.unit), height)
        for axes, panel in zip(grid[-1], rows[-1], strict=True):
            axes.set_xlabel(unit_label(*panel.across_label))
        figure.align_ylabels(grid[:, 0])


def save_bode(curves: Sequence[Curve], path: Path, suffix: str, title: str) -> None:
    """Draw gains above and phases below over the frequency into a file, both over logarithmic axes."""
    with _sheet(_EDGE + 2 * _FEW + 0.12 * len(curves), path, suffix, title) as figure:
        grid = figure.add_gridspec(2, 1)
        above = figure.add_subplot(grid[0])
        below = figure.add_subplot(grid[1], sharex=above)
        above.tick_params(labelbottom=False)
        units = {curve.unit for curve in curves}
        for number, curve in enumerate(curves):
            label = plain(curve.label) if len(units) == 1 else unit_label(plain(curve.label), curve.unit)
            dash = DASHES[number // len(COLOURS) % len(DASHES)]
            style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "linestyle": dash, "label": label}
            known = np.isfinite(curve.phase)
            above.loglog(curve.frequencies, curve.gain, **style)
            below.semilogx(curve.frequencies[known], np.degrees(np.unwrap(curve.phase[known])), **style)
        above.set_ylabel(unit_label("gain", units.pop() if len(units) == 1 else ""))
        below.set(xlabel=unit_label("frequency", "Hz"), ylabel=unit_label("phase", "deg"))
        figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        above.margins(x=0)
        figure.align_ylabels([above, below])


COLOURS_OF_CELLS = "viridis"
TALLEST = 7.2  # inches
DIVERGING = "RdBu_r"  # colour map for values of both signs


def save_cells(field: Cells, title: str, path: Path, suffix: str) -> None:
    """Draw the faces of a mesh, coloured by the values of its cells, into a file."""
    points, faces, values = field.points, field.faces, field.values
    flat = not np.ptp(points[:, 2])
    wide, high = (max(float(np.ptp(points[:, axis])), 1e-300) for axis in (0, 1))
    tall = min(max(WIDTH * 0.8 * high / wide, 1.2), TALLEST) if flat else 4.5
    with _sheet(tall + 0.8, path, suffix, "") as figure:
        axes = figure.add_subplot(**({} if flat else {"projection": "3d"}))
        drawn: Any
        if not flat:
            drawn = Poly3DCollection(points[faces], linewidth=0.0)
        elif faces.shape[1] == 2:
            drawn = LineCollection(points[faces][:, :, :2], linewidth=4)
        else:
            drawn = PolyCollection(points[faces][:, :, :2], edgecolor="face", linewidth=0.1)
        drawn.set_array(values[field.owner])
        low, high = float(values.min()), float(values.max())
        if low < 0 < high:
            drawn.set(cmap=DIVERGING, clim=(-max(-low, high), max(-low, high)))
        else:
            drawn.set(cmap=COLOURS_OF_CELLS, clim=(low, high))
        _frame(axes, drawn, points, flat)
        axes.set_title(plain(title))
        figure.colorbar(drawn, ax=axes, shrink=0.8 if flat else 0.6)


def _frame(axes: Any, drawn: Any, points: np.ndarray, flat: bool) -> None:
    axes.grid(visible=False)
    if flat:
        axes.add_collection(drawn)
        axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
        axes.autoscale_view()
        return
    axes.add_collection3d(drawn)
    low, high = points.min(0), points.max(0)
    for axis, (a, b) in zip("xyz", zip(low, high, strict=True), strict=True):
        getattr(axes, f"set_{axis}lim")(a, b if b > a else a + 1.0)
    axes.set_box_aspect(np.maximum(high - low, 1e-3 * (high - low).max()))
    axes.set_axis_off()


_EDGE_OF_FITS, _ROW = 0.6, 1.7  # inches


def save_fit(columns: Sequence[tuple[str, Any, bool]], path: Path, suffix: str, title: str) -> None:
    """Draw columns below each other into a file: names, ``Samples`` of a fit beside residuals, whether held out."""
    with _sheet(_EDGE_OF_FITS + _ROW * len(columns), path, suffix, title) as figure:
        grid = figure.add_gridspec(len(columns), 2, width_ratios=(2, 1)).subplots(squeeze=False)
        for (left, right), (name, samples, held_out) in zip(grid, columns, strict=True):
            order = np.argsort(samples.time, kind="stable")
            time = samples.time[order]
            dots = {"marker": ".", "linestyle": "", "markersize": 4.0 if len(time) <= FEW_DOTS else 1.5}
            left.plot(time, samples.measured[order], color=COLOURS[0], label="measured", **dots)
            left.plot(time, samples.computed[order], color=COLOURS[1], label="fitted", linewidth=1.0)
            left.set_ylabel(unit_label(plain(name), samples.unit))
            right.plot(time, samples.residuals[order], color=COLOURS[0], **dots)
            right.axhline(0.0, color=GREY, linewidth=0.8)
            if held_out:
                left.set_title("held out", loc="left")
        grid[0, 0].legend(loc="best")
        grid[0, 1].set_title("residuals over sigma")
        for axes in grid[-1]:
            axes.set_xlabel(unit_label("time", "s"))
