"""Histories: one axes a quantity, stacked over one time axis, or over one other quantity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.gridspec import SubplotSpec

from mbsim_cli.report.panels import Panel
from mbsim_cli.report.style import COLOURS, DASHES, GREY, unit_label

ROUND_OFF = 1e-9  # of a value: less is no change
LEGEND_MOST = 10  # entries; more components are a bundle of lines, named by nobody
_EDGE, _AXES, _FEW, _PATH = 0.55, 1.45, 2.4, 3.6  # inches: around all axes, each of several, a lone one, a path
_CLOUD = 1.7  # inches, of each of several objectives of a study
FEW_DOTS = 200
_LETTERS = 16.0  # of a label in an inch


def histories_height(panels: Sequence[Panel]) -> float:
    """Inches."""
    if any(panel.is_path for panel in panels):
        return _EDGE + _PATH * len(panels)
    return _EDGE + (_FEW if len(panels) == 1 else _AXES * len(panels))


def draw_histories(place: SubplotSpec, panels: Sequence[Panel], labels: Sequence[str]) -> None:
    """Draw panels below each other; results differ by dash where components have the colours."""
    shown = [_components(panel) for panel in panels]
    by_colour = all(len(components) == 1 for components in shown)
    # one legend tells results by colour, where every axes has them all
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


def clouds_height(rows: Sequence[Sequence[Panel]]) -> float:
    """Inches."""
    return _EDGE + (_FEW if len(rows) == 1 else _CLOUD * len(rows))


def draw_clouds(place: SubplotSpec, rows: Sequence[Sequence[Panel]], joined: bool) -> None:
    """Draw each panel as a dot for each case, ``joined`` by a line or not."""
    grid = place.subgridspec(len(rows), len(rows[0])).subplots(sharex="col", sharey="row", squeeze=False)
    for axes_row, panels in zip(grid, rows, strict=True):
        for axes, panel in zip(axes_row, panels, strict=True):
            across, (series,) = panel.across(0), panel.series
            assert series is not None and across is not None
            order = np.argsort(across, kind="stable")
            style: dict[str, Any] = {"marker": "o", "color": COLOURS[0], "linestyle": "-" if joined else ""}
            size = 3.5 if len(across) <= FEW_DOTS else 1.5
            axes.plot(across[order], series.values[order, 0], markersize=size, linewidth=0.8, **style)
            _keep_constants_flat(axes)
        _name(axes_row[0], unit_label(panels[0].title, panels[0].series[0].unit), _FEW if len(rows) == 1 else _CLOUD)
    for axes, panel in zip(grid[-1], rows[-1], strict=True):
        axes.set_xlabel(unit_label(*panel.across_label))
    grid[0, 0].figure.align_ylabels(grid[:, 0])


def _components(panel: Panel) -> list[str]:
    """Components that are anything but zero all along, in any result; all of them where none is."""
    known: dict[str, bool] = {}
    for series in panel.series:
        for column, name in enumerate(series.components if series is not None else ()):
            known[name] = known.get(name, False) or bool(series is not None and series.values[:, column].any())
    return [name for name, moves in known.items() if moves] or list(known)


def _draw(axes: Any, panel: Panel, components: list[str], labels: Sequence[str], by_colour: bool) -> str:
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
            if panel.over:  # where it begins
                axes.plot(across[:1], values[:1], marker="o", markersize=3.5, color=colour)
    if panel.is_path:
        axes.set_aspect("equal", adjustable="datalim")
    else:
        _keep_constants_flat(axes)
    return unit


def _name(axes: Any, text: str, height: float) -> None:
    """Say what axes show: beside them, or above where their ``height``, in inches, has no room for it."""
    if len(text) > _LETTERS * height:
        axes.set_title(text)
    else:
        axes.set_ylabel(text)


def _keep_constants_flat(axes: Any) -> None:
    """Do not blow round-off up to the height of the axes."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < ROUND_OFF * size:
        axes.set_ylim(low - 0.1 * size, high + 0.1 * size)
