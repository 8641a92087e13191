"""Every YAML block of the page on the model file is valid, alone or laid over the page's model."""

import re
from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.schema import schema
from tests.spec.example import editor, write

PAGE = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(tmp_path, number):
    write(tmp_path, BLOCKS[0], "base.yaml")
    text = BLOCKS[0] if number == 0 else f"mbsim: 1\ninclude: [base.yaml]\n{BLOCKS[number]}"
    model = spec.load(write(tmp_path, text))
    editor().validate(model.source.data())


def _names(part):
    if isinstance(part, dict):
        yield from part.get("properties", {})
        yield from [part["const"]] if isinstance(part.get("const"), str) else part.get("enum", [])
        for entry in part.values():
            yield from _names(entry)
    elif isinstance(part, list):
        for entry in part:
            yield from _names(entry)


def test_every_key_and_type_is_described():
    missing = {name for name in _names(schema()) if not re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", PAGE)}
    assert missing == set()


def test_every_section_is_described():
    assert all(name in PAGE for name in ModelFile.model_fields)
