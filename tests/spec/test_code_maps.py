"""Pages of theory and decisions name files and functions; those exist."""

import re
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in ("theory", "decisions") for path in (ROOT / "docs" / folder).glob("*.md"))
PAGES.append(ROOT / "docs" / "notation.md")
FILES = [
    path.relative_to(ROOT) for folder in ("mbsim_cli", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
]
TEXTS = [*(ROOT / path for path in FILES), *(ROOT / "models").glob("*.yaml")]
WORDS = {word for path in TEXTS for word in re.findall(r"\w+", path.read_text())}
PATTERNS = {"phi_z", "_out"}  # of names, not names


def _quoted(page):
    for text in re.findall(r"`([^`\n]+)`", page.read_text()):
        for name in re.split(r"[\s;]+|,(?![^{]*\})", text):
            before, some, after = re.fullmatch(r"([^{]*)\{?([^}]*)\}?(.*)", name).groups()
            yield from (before + one + after for one in some.split(","))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page):
    quoted = list(_quoted(page))
    files = [name for name in quoted if name.endswith(".py")]
    assert [name for name in files if not any(PurePath(file).match(name) for file in FILES)] == []
    names = {name for name in quoted if "_" in name and re.fullmatch(r"[\w.]+", name)} - {*files, *PATTERNS}
    assert [name for name in names if not set(filter(None, name.split("."))) <= WORDS] == []
