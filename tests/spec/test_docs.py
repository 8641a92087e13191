"""Every YAML block of the pages on the model file is valid: alone, or over the first one; sentences are short."""

import re
from pathlib import Path

import pytest

import mbsim_cli
from mbsim_cli import spec
from mbsim_cli.spec.model_file import SECTIONS, ModelFile
from mbsim_cli.spec.schema import schema
from scripts.reference import library_page
from tests.spec.example import editor, write

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {path.stem: path.read_text() for path in (DOCS / "model-file.md", *sorted((DOCS / "model").glob("*.md")))}
PAGE = "\n".join(PAGES.values())
BLOCKS = {
    f"{name}-{number}": block
    for name, text in PAGES.items()
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL))
}
BASE = BLOCKS["model-file-0"]


@pytest.mark.parametrize("name", BLOCKS)
def test_block(tmp_path, name):
    write(tmp_path, BASE, "base.yaml")
    text = BASE if BLOCKS[name] is BASE else f"mbsim: 1\ninclude: [base.yaml]\n{BLOCKS[name]}"
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


def test_what_comes_from_other_programs_is_called_by_names_that_exist():
    rows = re.findall(r"^\|[^|]*\| (.*) \|$", (DOCS / "coming-from.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} <= set(map(str, _names(schema())))


def test_the_page_of_the_library_has_all_that_it_offers():
    page = library_page()
    assert all(f"\n## {name}\n\n" in page for name in mbsim_cli.__all__)
    assert {"`Model.run(rho=None, **replaced)`", "`Result.time`", "`Study.unit(name)`"} <= set(page.splitlines())
    assert not re.search(r"^`[^`\n]*`\n\n\n", page, re.MULTILINE)  # none without a sentence


def test_every_section_has_its_page():
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", PAGES["model-file"].partition("## Sections")[2], re.MULTILINE)
    listed = {name for row, _ in rows for name in re.findall(r"`([^`]+)`", row)}
    assert set(ModelFile.model_fields) <= listed
    linked = {name for _, pages in rows for name in re.findall(r"model/([\w-]+)\.md", pages)}
    assert linked == PAGES.keys() - {"model-file"}


USERS = [path for folder in (".", "tutorial", "model") for path in (DOCS / folder).glob("*.md")]
USERS = [
    DOCS.parent / "README.md",
    *(path for path in USERS if path.stem not in ("library", "reference")),
]  # which git ignores
BLOCK = re.compile(r"```.*?```|<!--.*?-->|^#.*?$", re.DOTALL | re.MULTILINE)  # what holds no sentences
PIECE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |    ))|\|")  # paragraphs, items of lists, cells of tables


def _sentences(text):
    for piece in PIECE.split(BLOCK.sub("\n\n", text)):
        plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", " ".join(piece.split())))
        yield from re.split(r"(?<=[.!?])[\"*)]*\s+", plain)


@pytest.mark.parametrize("page", USERS, ids=lambda page: page.stem)
def test_sentences_are_short(page):
    long = [text for text in _sentences(page.read_text()) if len(re.findall(r"\w[\w'\-./]*", text)) > 40]
    assert not long, "more than 40 words: divide it"


def test_every_term_of_the_glossary_is_used():
    rows = re.findall(r"^\| (.*?) \| .* \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    text = "\n".join(path.read_text() for path in DOCS.rglob("*.md") if path.stem != "glossary")
    terms = [term.strip("`") for row in rows if row not in ("---", "term") for term in row.split(", ")]
    assert len(terms) > 30 and [term for term in terms if not re.search(rf"\b{term}", text, re.IGNORECASE)] == []


def test_the_page_on_repetition_lists_all_sections_of_items():
    listed = re.search(r"All sections of items may stand in a block: (.*?)\.", PAGES["repeat"], re.DOTALL)
    assert listed is not None and listed[1].split() == ", ".join(SECTIONS).split()
