"""How all pictures look."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
import matplotlib.style
from cycler import cycler

# Okabe and Ito's colours, which the colour-blind tell apart; yellow is left out, it is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK, GREY, FAINT = "#333333", "#8a8a8a", "#e4e4e4"
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))  # of results laid over each other
DPI = 130

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.use_mathtext": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.direction": "out",
    "figure.facecolor": "white",
    "savefig.dpi": DPI,
    "svg.hashsalt": "mbsim",  # else identifiers differ from run to run
    "pdf.fonttype": 42,  # text stays text
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style, whatever the user's own settings are; they come back afterwards."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def unit_label(name: str, unit: str) -> str:
    """Text of an axis: the name, and its unit in brackets."""
    return f"{name} [{pretty(unit)}]" if unit not in ("", "1") else name


def plain(text: str) -> str:
    """A user's text as it stands: no sign in it begins a formula, and names of files need not be UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")


def pretty(unit: str) -> str:
    """A unit with raised exponents."""
    return unit.replace("^2", "²").replace("^3", "³").replace("^4", "⁴")
