"""What docs/flexible.md shows works: its model file, and its commands one after the other."""

import re
import shlex

from mbsim_cli.io.target import is_picture

from .conftest import ROOT

PAGE = (ROOT / "docs" / "flexible.md").read_text()


def test_commands_work_one_after_the_other(mbsim, tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "crank.yaml").write_text(text)
    commands = re.findall(r"^\$ mbsim (.*)", PAGE, re.MULTILINE)
    done = [mbsim(*shlex.split(command)) for command in commands]
    assert len(commands) == 5 and all(outcome.code == 0 for outcome in done), done
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert all(line in done[0].out for line in shown.splitlines())


def test_its_pictures_are_there_and_small():
    for name in re.findall(r"\]\(pictures/(.*?)\)", PAGE):
        picture = ROOT / "docs/pictures" / name
        assert is_picture(picture) and picture.stat().st_size < 100_000
