"""What docs/plots.md shows works, and its pictures are those that its commands name."""

import re
import shlex
import shutil

import pytest

from mbsim_cli.io.target import is_picture

from .conftest import ROOT

PAGE = (ROOT / "docs/plots.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]
SHOWN = re.findall(r"\]\(pictures/(.*?)\)", PAGE)
LARGEST = {".png": 100_000, ".gif": 500_000}


def test_commands_work_one_after_the_other(mbsim, tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    able = [c for c in COMMANDS if shutil.which("ffmpeg") or not c[-1].endswith(".mp4")]
    assert len(able) >= 7
    assert [(command, mbsim(*command).code) for command in able] == [(command, 0) for command in able]
    assert all(is_picture(tmp_path / name) for name in SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_are_there_and_small(name):
    picture = ROOT / "docs/pictures" / name
    assert is_picture(picture) and picture.stat().st_size < LARGEST[picture.suffix]
    assert any(name in command for command in COMMANDS)
