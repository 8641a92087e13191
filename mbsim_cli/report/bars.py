"""Gradients of objectives as bars: derivatives on the left, relative sensitivities on the right."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.gridspec import SubplotSpec

from mbsim_cli.model.units import quotient
from mbsim_cli.report.panels import Bars
from mbsim_cli.report.style import COLOURS, GREY, INK, pretty

_EDGE, _TITLE, _BAR = 0.35, 0.55, 0.22  # inches


def _height(bars: Bars) -> float:
    return _TITLE + _BAR * len(bars.parameters) * max(1.0, 0.6 * len(bars.gradients))


def bars_height(all_bars: Sequence[Bars]) -> float:
    """Inches."""
    return _EDGE + sum(map(_height, all_bars))


def draw_bars(place: SubplotSpec, all_bars: Sequence[Bars], labels: Sequence[str]) -> None:
    """Draw one row an objective at a place of the sheet."""
    ratios = [_height(bars) for bars in all_bars]
    grid = place.subgridspec(len(all_bars), 2, height_ratios=ratios).subplots(squeeze=False)
    for (left, right), bars in zip(grid, all_bars, strict=True):
        units = {name: quotient(bars.unit, unit) for name, unit in bars.parameters.items()}
        _draw(left, bars, relative=False)
        _draw(right, bars, relative=True)
        rows = [f"{name}  [{pretty(unit)}]" if unit else name for name, unit in units.items()]
        left.set_yticks(range(len(units)), rows)
        right.set_yticks(range(len(units)), list(units))
        value = (
            f"     ({bars.objective} = {bars.value:.5g} {pretty(bars.unit)}".rstrip() + ")"
            if bars.value is not None
            else ""
        )
        left.set_title(f"d {bars.objective} / dρ{value}")
        right.set_title(f"ρ / {bars.objective} · d {bars.objective} / dρ")
    if len(labels) > 1:
        handles = grid[0, 1].containers
        grid[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Ends of the axis that leave the numbers beside the bars their room."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    sides = (low < 0.0) + (high > 0.0)
    room = (0.0, 0.45, 0.65)[sides] * (high - low)
    bare = 0.05 * (high - low) or 1.0
    return low - (room if low < 0.0 else bare), high + (room if high > 0.0 else bare)


def _draw(axes: Any, bars: Bars, relative: bool) -> None:
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
    axes.set_xlim(_limits(np.nan_to_num(values)))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
