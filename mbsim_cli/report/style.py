"""The style of pictures, and files of movies."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib
import matplotlib.style
import numpy as np
from cycler import cycler
from PIL import Image, ImageColor

from mbsim_cli.errors import InputOutputError, UsageError

# The palette of Okabe and Ito, which the colour-blind can distinguish, without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK, GREY, FAINT = "#333333", "#8a8a8a", "#e4e4e4"
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))  # of several results in the same axes
DPI = 130

STYLE = {
    "font.family": "DejaVu Sans",  # part of matplotlib: the same picture on all machines
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
    "svg.hashsalt": "mbsim",  # else identifiers differ between runs
    "pdf.fonttype": 42,  # embeds text as text
}


@contextmanager
def styled() -> Iterator[None]:
    """A context in which matplotlib has this style instead of the user's settings."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def unit_label(name: str, unit: str) -> str:
    """Text of an axis: the name, and its unit in brackets."""
    return f"{name} [{pretty(unit)}]" if unit not in ("", "1") else name


def plain(text: str) -> str:
    """A user's text with $ escaped, which would begin a formula, and invalid UTF-8 replaced."""
    return text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")


def pretty(unit: str) -> str:
    """A unit with raised exponents."""
    return unit.replace("^2", "²").replace("^3", "³").replace("^4", "⁴")


SHADES = 8  # of each colour towards white, for antialiased edges


def write_gif(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    """Write pictures (height, width, 3) as a GIF that repeats; its durations are multiples of 0.01 s."""
    # one palette for all frames: white, and the colours of the style with their shades
    weights = np.linspace(0.0, 1.0, SHADES, endpoint=False)[:, None]
    shades = [np.array(ImageColor.getrgb(c)) * (1 - weights) + 255 * weights for c in (*COLOURS, INK, GREY)]
    colours = np.concatenate([[ImageColor.getrgb("white"), ImageColor.getrgb(FAINT)], *shades])
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours.round().astype(np.uint8).tobytes())
    few = (Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    duration = 10 * round(100 / fps)
    next(few).save(path, format="GIF", save_all=True, append_images=few, duration=duration, loop=0, optimize=True)


def require_ffmpeg() -> str:
    """Return the path of ffmpeg; raise UsageError if it is not installed."""
    if found := shutil.which("ffmpeg"):
        return found
    with suppress(ImportError, RuntimeError):  # RuntimeError: the package has no program for this machine
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    raise UsageError(
        "an .mp4 takes ffmpeg, which is not installed; the extra plot brings it: in a clone of mbsim, "
        "pip install '.[plot]'; or name an output that ends in .gif"
    )


def write_mp4(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    """Write pictures (height, width, 3) of even height and width as H.264."""
    first = next(pictures)
    height, width, _ = first.shape
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-")
    coding = ("-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart")
    reproducible = ("-fflags", "+bitexact", "-flags:v", "+bitexact")
    command = [require_ffmpeg(), "-loglevel", "error", "-y", *source, *coding, *reproducible, "-f", "mp4", str(path)]
    with tempfile.TemporaryFile() as messages:
        # in a session of its own, so that Ctrl-C reaches mbsim only, which then ends it
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=messages, start_new_session=True)
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                pipe.write(first.tobytes())
                for picture in pictures:
                    pipe.write(picture.tobytes())
            process.wait()
        except BrokenPipeError:
            process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode:
            messages.seek(0)
            said = messages.read().decode(errors="replace").strip().splitlines()
            raise InputOutputError(f"ffmpeg cannot write {path.name}: {said[-1] if said else 'no reason given'}")
