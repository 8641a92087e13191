"""What pages show works, and their pictures are those that their commands name: of plots, the buggy, the human body."""

import re
import shlex
import shutil
from importlib.util import find_spec

import pytest

from mbsim_cli.io.target import is_picture

from .conftest import ROOT

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("plots", "buggy", "human")}
COMMANDS = {
    name: [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", text, re.MULTILINE)]
    for name, text in PAGES.items()
}
SHOWN = {name: re.findall(r"\]\(pictures/(.*?)\)", text) for name, text in PAGES.items()}
FEW_FRAMES = "2"  # a second, in place of what the page says
LARGEST = {".png": 110_000, ".gif": 600_000}


def with_few_frames(command):
    """The command with few pictures a second."""
    at = command.index("--fps") if "--fps" in command else len(command)
    return [*command[:at], "--fps", FEW_FRAMES, *command[at + 2 :]]


@pytest.mark.parametrize("page", PAGES)
def test_commands_work_one_after_the_other(mbsim, tmp_path, page):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    has_ffmpeg = shutil.which("ffmpeg") or find_spec("imageio_ffmpeg")
    able = [c for c in COMMANDS[page] if has_ffmpeg or not c[-1].endswith(".mp4")]
    assert len(able) >= 7
    able = [with_few_frames(command) if command[0] == "animate" else command for command in able]
    assert [(command, mbsim(*command).code) for command in able] == [(command, 0) for command in able]
    assert all(is_picture(tmp_path / name) for name in SHOWN[page])


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, names in SHOWN.items() for name in names])
def test_pictures_are_there_and_small(page, name):
    picture = ROOT / "docs/pictures" / name
    assert is_picture(picture) and picture.stat().st_size < LARGEST[picture.suffix]
    assert any(name in command for command in COMMANDS[page])
