"""A sheet of pictures: histories above, gradients below; and how it becomes a file."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from mbsim_cli.report.bars import bars_height, draw_bars
from mbsim_cli.report.histories import clouds_height, draw_clouds, draw_histories, histories_height
from mbsim_cli.report.panels import Bars, Panel
from mbsim_cli.report.style import plain, styled

WIDTH = 7.2  # inches: what a page of text takes
DIGITS = 4  # of positions, as parts of the sheet
# dates would make two runs differ
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def save_sheet(
    panels: Sequence[Panel], bars: Sequence[Bars], labels: Sequence[str], path: Path, suffix: str, title: str = ""
) -> None:
    """Draw histories and gradients of the results ``labels`` into a file of the kind ``suffix``: png, svg or pdf."""
    labels = list(map(plain, labels))
    with styled():
        heights = [histories_height(panels)] * bool(panels) + [bars_height(bars)] * bool(bars)
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        if title:
            figure.suptitle(plain(title))
        parts = iter(figure.add_gridspec(len(heights), 1, height_ratios=heights))
        if panels:
            draw_histories(next(parts), panels, labels)
        if bars:
            draw_bars(next(parts), bars, labels)
        settle(figure)
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])


def save_study(rows: Sequence[Sequence[Panel]], path: Path, suffix: str, title: str, joined: bool) -> None:
    """Draw objectives (rows) over the parameters of a study (columns) into a file; cases are ``joined`` by lines."""
    with styled():
        figure = Figure(figsize=(WIDTH, clouds_height(rows)), layout="constrained")
        figure.suptitle(plain(title))
        draw_clouds(figure.add_gridspec()[0], rows, joined)
        settle(figure)
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])


def settle(figure: Figure) -> None:
    """Lay the sheet out, once, and round: the solver's last digit differs from run to run."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(Bbox(axes.get_position().get_points().round(DIGITS)))
