"""Moving pictures as files: GIF by Pillow, MP4 by ffmpeg, of the system or of the package imageio-ffmpeg."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image, ImageColor

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.report.style import COLOURS, FAINT, GREY, INK

SHADES = 8  # of each colour towards white: what smooth edges of lines are made of


def write_gif(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    """Write pictures (height, width, 3) as a GIF that repeats; its clock counts hundredths of a second."""
    palette = _palette()
    few = (Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    duration = 10 * round(100 / fps)
    next(few).save(path, format="GIF", save_all=True, append_images=few, duration=duration, loop=0, optimize=True)


def _palette() -> Image.Image:
    """White, and the colours that pictures are drawn in with their shades: one palette for all frames."""
    weights = np.linspace(0.0, 1.0, SHADES, endpoint=False)[:, None]
    shades = [np.array(ImageColor.getrgb(c)) * (1 - weights) + 255 * weights for c in (*COLOURS, INK, GREY)]
    image = Image.new("P", (1, 1))
    colours = np.concatenate([[ImageColor.getrgb("white"), ImageColor.getrgb(FAINT)], *shades])
    image.putpalette(colours.round().astype(np.uint8).tobytes())
    return image


def require_ffmpeg() -> str:
    """Return the path of ffmpeg; raise UsageError where there is none."""
    if found := shutil.which("ffmpeg"):
        return found
    with suppress(ImportError, RuntimeError):  # RuntimeError: of a machine that the package has no program for
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
        # a session of its own: Ctrl-C is for us, who then end it
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
