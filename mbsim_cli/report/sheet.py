"""A sheet of pictures: histories above, gradients below; and how it becomes a file."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from mbsim_cli.report.bars import bars_height, draw_bars
from mbsim_cli.report.histories import draw_histories, histories_height
from mbsim_cli.report.panels import Bars, Panel
from mbsim_cli.report.style import styled

WIDTH = 7.2  # inches: what a page of text takes
# dates would make two runs differ
_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def save_sheet(panels: Sequence[Panel], bars: Sequence[Bars], labels: Sequence[str], path: Path, suffix: str) -> None:
    """Draw histories and gradients of the results ``labels`` into a file of the kind ``suffix``: png, svg or pdf."""
    with styled():
        heights = [histories_height(panels)] * bool(panels) + [bars_height(bars)] * bool(bars)
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        if panels:
            draw_histories(next(parts), panels, labels)
        if bars:
            draw_bars(next(parts), bars, labels)
        figure.savefig(path, format=suffix, metadata=_METADATA[suffix])
