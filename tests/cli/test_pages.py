"""Every Python block of README.md and of the pages runs, in a folder that holds the results of the commands there."""

import re
import shutil

import pytest

from .conftest import ROOT

TUTORIAL = [page.name for page in (ROOT / "docs" / "tutorial").glob("*.md")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)  # and what it prints
BLOCKS = [
    pytest.param(block, shown, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, (block, shown) in enumerate(PYTHON.findall(page.read_text()))
]


def test_there_are_blocks():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize(("block", "shown"), BLOCKS)
def test_block_runs(block, shown, fivebar, tmp_path, monkeypatch, capsys, request):
    shutil.copy(fivebar, tmp_path / "fivebar.h5")
    shutil.copy(ROOT / "models" / "fivebar.yaml", tmp_path)
    if "springs/" in block:
        shutil.copytree(request.getfixturevalue("springs"), tmp_path / "springs")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(block, "block", "exec"), names)
    printed = capsys.readouterr().out
    assert printed == shown if shown else printed.strip() or "print(" not in block


def test_every_command_of_the_pages_is_run_by_a_test():
    """Those of the README and of these pages have tests of their own; no other page shows any."""
    with_tests = ("docs/commands.md", "docs/gallery.md", *(f"docs/tutorial/{n}" for n in TUTORIAL))
    shown = {
        page.relative_to(ROOT).as_posix() for page in PAGES if re.search(r"^\$ mbsim ", page.read_text(), re.MULTILINE)
    }
    assert shown == {
        *with_tests,
        "README.md",
        "docs/plots.md",
        "docs/buggy.md",
        "docs/human.md",
        "docs/studies.md",
        "docs/kernels.md",
        "docs/flexible.md",
        "docs/optimization.md",
        "docs/import.md",
        "docs/fit.md",
        "docs/linear.md",
        "docs/kinematics.md",
        "docs/hpc.md",
        "docs/report.md",
        "docs/export.md",
    }
