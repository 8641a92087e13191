"""Moving pictures: every frame is there, for as long as it should be."""

import os
import shutil
import stat
import sys
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageColor

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.report.style import COLOURS, require_ffmpeg, write_gif, write_mp4


def pictures(count=5, height=40, width=64):
    for number in range(count):
        picture = np.full((height, width, 3), 255, dtype=np.uint8)
        picture[10:20, 5 * number : 5 * number + 8] = ImageColor.getrgb(COLOURS[number % len(COLOURS)])
        yield picture


def test_gif(tmp_path):
    write_gif(tmp_path / "a.gif", pictures(), 25)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 5 and image.info["duration"] == 40 and image.info["loop"] == 0
        for number, picture in enumerate(pictures()):
            image.seek(number)
            np.testing.assert_allclose(np.asarray(image.convert("RGB")).astype(int), picture, atol=4)


def test_gif_is_the_same_every_time(tmp_path):
    for name in "ab":
        write_gif(tmp_path / name, pictures(), 20)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.skipif(
    not (shutil.which("ffmpeg") or find_spec("imageio_ffmpeg")), reason="needs ffmpeg or imageio-ffmpeg"
)
def test_mp4(tmp_path):
    write_mp4(tmp_path / "a.mp4", pictures(), 25)
    assert (tmp_path / "a.mp4").read_bytes()[4:8] == b"ftyp"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program in the place of ffmpeg: a shell script."""

    def install(script):
        program = tmp_path / "bin" / "ffmpeg"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    return install


def test_the_program_of_a_package_serves_where_the_system_has_none(monkeypatch):
    package = SimpleNamespace(get_ffmpeg_exe=lambda: "/package/ffmpeg")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)
    assert require_ffmpeg() == "/package/ffmpeg"
    monkeypatch.setattr(shutil, "which", lambda name: "/system/ffmpeg")
    assert require_ffmpeg() == "/system/ffmpeg"


def test_ffmpeg_gets_every_frame_and_its_size(tmp_path, stand_in):
    stand_in('for last; do :; done; cat > "$last"; echo "$*" > "$last.log"')
    write_mp4(tmp_path / "a.mp4", pictures(), 12.5)
    sent = np.frombuffer((tmp_path / "a.mp4").read_bytes(), dtype=np.uint8).reshape(5, 40, 64, 3)
    np.testing.assert_array_equal(sent, np.array(list(pictures())))
    log = (tmp_path / "a.mp4.log").read_text()
    assert "-s 64x40" in log and "-r 12.5" in log


@pytest.mark.parametrize("script", ["cat > /dev/null; echo no codec >&2; exit 1", "echo no codec >&2; exit 1"])
def test_what_ffmpeg_says_is_told(tmp_path, stand_in, script):
    stand_in(script)
    with pytest.raises(InputOutputError, match=r"a\.mp4: no codec"):
        write_mp4(tmp_path / "a.mp4", pictures(), 25)


def test_ffmpeg_is_ended_when_drawing_is(tmp_path, stand_in):
    pid = tmp_path / "pid"
    stand_in(f'echo $$ > "{pid}.new"; mv "{pid}.new" "{pid}"; exec cat > /dev/null')

    def interrupted():
        yield from pictures(2)
        while not pid.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_mp4(tmp_path / "a.mp4", interrupted(), 25)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_without_ffmpeg_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)  # as if it were not installed
    with pytest.raises(UsageError, match="takes ffmpeg, which is not installed"):
        write_mp4(tmp_path / "a.mp4", pictures(), 25)
