"""Numbers of a mesh's cells as colours, one picture a field."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from mbsim_cli.report.sheet import METADATA, WIDTH, settle
from mbsim_cli.report.style import plain, styled

COLOURS = "viridis"
TALLEST = 7.2  # inches
DIVERGING = "RdBu_r"  # of numbers that change sign


def save_cells(
    points: np.ndarray, faces: np.ndarray, owner: np.ndarray, values: np.ndarray, title: str, path: Path, suffix: str
) -> None:
    """Draw faces (f, corners) of cells (``owner``, f) among points (N, 3) in the colours of the cells' values (ne)."""
    flat = not np.ptp(points[:, 2])
    with styled():
        wide, high = (max(float(np.ptp(points[:, axis])), 1e-300) for axis in (0, 1))
        tall = min(max(WIDTH * 0.8 * high / wide, 1.2), TALLEST) if flat else 4.5
        figure = Figure(figsize=(WIDTH, tall + 0.8), layout="constrained")
        axes = figure.add_subplot(**({} if flat else {"projection": "3d"}))
        drawn = _collection(points, faces, flat)
        drawn.set_array(values[owner])
        low, high = float(values.min()), float(values.max())
        if low < 0 < high:
            drawn.set(cmap=DIVERGING, clim=(-max(-low, high), max(-low, high)))
        else:
            drawn.set(cmap=COLOURS, clim=(low, high))
        _frame(axes, drawn, points, flat)
        axes.set_title(plain(title))
        figure.colorbar(drawn, ax=axes, shrink=0.8 if flat else 0.6)
        settle(figure)
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])


def _collection(points: np.ndarray, faces: np.ndarray, flat: bool) -> Any:
    if not flat:
        return Poly3DCollection(points[faces], linewidth=0.0)
    if faces.shape[1] == 2:
        return LineCollection(points[faces][:, :, :2], linewidth=4)
    return PolyCollection(points[faces][:, :, :2], edgecolor="face", linewidth=0.1)


def _frame(axes: Any, drawn: Any, points: np.ndarray, flat: bool) -> None:
    axes.grid(visible=False)
    if flat:
        axes.add_collection(drawn)
        axes.set_aspect("equal")
        axes.autoscale_view()
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        return
    axes.add_collection3d(drawn)
    low, high = points.min(0), points.max(0)
    for axis, (a, b) in zip("xyz", zip(low, high, strict=True), strict=True):
        getattr(axes, f"set_{axis}lim")(a, b if b > a else a + 1.0)
    axes.set_box_aspect(np.maximum(high - low, 1e-3 * (high - low).max()))
    axes.set_axis_off()
