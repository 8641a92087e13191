"""Every Python block of README.md and of the pages runs, in a folder that holds the results of the commands there."""

import re
import shutil

import pytest

from .conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


def test_there_are_blocks():
    assert len(BLOCKS) >= 2


@pytest.mark.filterwarnings("ignore:The 'phony_dims'")
@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block, fivebar, tmp_path, monkeypatch, capsys):
    shutil.copy(fivebar, tmp_path / "fivebar.h5")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(block, "block", "exec"), names)
    if "print(" in block:
        assert capsys.readouterr().out.strip()


def test_every_command_of_the_pages_is_run_by_a_test():
    """The README's and those of docs/plots.md and docs/buggy.md have tests of their own; no other page shows any."""
    shown = {
        page.relative_to(ROOT).as_posix() for page in PAGES if re.search(r"^\$ mbsim ", page.read_text(), re.MULTILINE)
    }
    assert shown == {"README.md", "docs/plots.md", "docs/buggy.md"}
