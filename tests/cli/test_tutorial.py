"""A newcomer's path: every file and command of the tutorial, one chapter after the other, and the gallery."""

import re
import shlex
from pathlib import Path

import pytest

from scripts import gallery
from tests.marks import by_kernels

from .conftest import ROOT
from .test_readme import NUMBER, numbers_of

CHAPTERS = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>\w+): (?P<value>\S+) -->\n)?```(?P<kind>yaml|console|text)\n(?P<text>.*?)```", re.DOTALL
)


def steps(page: Path):
    """Files that a page writes, then commands with what the page shows of their output, in order."""
    blocks = list(BLOCK.finditer(page.read_text()))
    for number, block in enumerate(blocks):
        if block["mark"] == "file":
            yield "file", block["value"], block["text"]
        if block["kind"] == "console":
            follows = blocks[number + 1] if number + 1 < len(blocks) else None
            shown = follows["text"] if follows is not None and follows["kind"] == "text" else ""
            code = int(block["value"]) if block["mark"] == "fails" else 0
            yield "commands", code, (block["text"], shown)


def words_of(line: str) -> str:
    """A line without its numbers, and without widths of columns, which follow from digits of round-off."""
    return re.sub(r"([━─ ])\1+", r"\1", NUMBER.sub("#", line))


def compare(shown: str, said: str):
    """Every line that the page shows was printed: the same words, numbers to the digits that matter."""
    lines = said.splitlines()
    for wanted in filter(str.strip, shown.splitlines()):
        pieces = [piece for piece in re.split(r"; (?=\[)", wanted)]
        pattern = words_of(pieces[0])
        found = [line for line in lines if pattern in words_of(line) and (pieces[-1] in line or not pieces[1:])]
        assert any(
            numbers_of(line)[: len(numbers_of(pieces[0]))] == pytest.approx(numbers_of(pieces[0]), rel=1e-5)
            or pieces[0] in line
            for line in found
        ), f"not printed: {wanted}\n\n{said}"


def test_the_tutorial(mbsim, tmp_path):
    assert len(CHAPTERS) == 6
    commands = 0
    for page in CHAPTERS:
        for kind, value, content in steps(page):
            if kind == "file":
                (tmp_path / value).write_text(content)
                continue
            text, shown = content
            said = ""
            for line in text.splitlines():
                done = mbsim(*shlex.split(line)[2:])
                assert done.code == value, f"{page.name}: {line}\n{done.err}"
                said += done.out + done.err
                commands += 1
            compare(shown, said)
    assert commands >= 17


def test_no_model_is_missing_in_the_gallery():
    missing = [str(model) for model in gallery.models() if model.as_posix() not in gallery.outputs()]
    assert not missing, f"python scripts/gallery.py {' '.join(missing)} draws them"
    for model in gallery.models():
        assert 200 < gallery.picture_of(model).stat().st_size < 60_000, model


def test_the_script_draws_a_model(monkeypatch, tmp_path):
    monkeypatch.setattr(gallery, "PICTURES", tmp_path)
    gallery.draw(Path("models/fivebar.yaml"))
    assert (tmp_path / "fivebar.png").stat().st_size > 2000


@pytest.mark.parametrize("model", by_kernels(gallery.models(), long=("a01_pendulum", "a02_four_bars_40")))
def test_a_command_of_the_gallery(mbsim, model):
    done = mbsim("run", ROOT / model)
    assert done.code == 0, done.err
    compare(gallery.outputs()[model.as_posix()], done.out)
