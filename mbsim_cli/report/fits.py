"""The picture of a fit: of each column readings and the model on the left, residuals over the noise on the right."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mbsim_cli.report.sheet import METADATA, WIDTH, settle
from mbsim_cli.report.style import COLOURS, GREY, plain, styled, unit_label

_EDGE, _ROW = 0.6, 1.7  # inches
_FEW = 200  # readings, whose dots are larger


class Drawn(NamedTuple):
    """A column: readings and what the model reads at times (n,), residuals over the noise (n,)."""

    title: str
    unit: str
    time: np.ndarray
    measured: np.ndarray
    computed: np.ndarray
    residuals: np.ndarray
    held_out: bool


def save_fit(columns: Sequence[Drawn], path: Path, suffix: str, title: str) -> None:
    """Draw columns below each other into a file of the kind ``suffix``: png, svg or pdf."""
    with styled():
        figure = Figure(figsize=(WIDTH, _EDGE + _ROW * len(columns)), layout="constrained")
        figure.suptitle(plain(title))
        grid = figure.add_gridspec(len(columns), 2, width_ratios=(2, 1)).subplots(squeeze=False)
        for (left, right), drawn in zip(grid, columns, strict=True):
            order = np.argsort(drawn.time, kind="stable")
            time = drawn.time[order]
            dots = {"marker": ".", "linestyle": "", "markersize": 4.0 if len(time) <= _FEW else 1.5}
            left.plot(time, drawn.measured[order], color=COLOURS[0], label="measured", **dots)
            left.plot(time, drawn.computed[order], color=COLOURS[1], label="fitted", linewidth=1.0)
            left.set_ylabel(unit_label(plain(drawn.title), drawn.unit))
            right.plot(time, drawn.residuals[order], color=COLOURS[0], **dots)
            right.axhline(0.0, color=GREY, linewidth=0.8)
            if drawn.held_out:
                left.set_title("held out", loc="left")
        grid[0, 0].legend(loc="best")
        grid[0, 1].set_title("residuals over sigma")
        for axes in grid[-1]:
            axes.set_xlabel(unit_label("time", "s"))
        settle(figure)
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])
