"""Pages for maintainers name files, functions and rooms; those exist, and no room is missing."""

import re
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in ("theory", "decisions") for path in (ROOT / "docs" / folder).glob("*.md"))
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES += [ROOT / "docs" / "notation.md", ARCHITECTURE, ROOT / "CONTRIBUTING.md"]
FILES = [
    path.relative_to(ROOT)
    for folder in ("mbsim_cli", "tests", "benchmarks", "models", "scripts")
    for path in (ROOT / folder).rglob("*.py")
]
TEXTS = [*(ROOT / path for path in FILES), *(ROOT / "models").glob("*.yaml")]
ENDS = {"/".join(path.parts[k:]) for path in FILES for k in range(len(path.parts))}
WORDS = {word for path in TEXTS for word in re.findall(r"\w+", path.read_text())}
PATTERNS = {"phi_z", "_out"}  # of names, not names


def _quoted(page):
    for text in re.findall(r"`([^`\n]+)`", page.read_text()):
        for name in re.split(r"[\s;]+|,(?![^{]*\})", text):
            before, some, after = re.fullmatch(r"([^{]*)\{?([^}]*)\}?(.*)", name).groups()
            yield from (before + one + after for one in some.split(","))


def _is_there(name):
    return name in ENDS or ("*" in name and any(PurePath(file).match(name) for file in FILES))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page):
    quoted = list(_quoted(page))
    files = [name for name in quoted if name.endswith(".py")]
    assert [name for name in files if not _is_there(name)] == []
    names = {name for name in quoted if "_" in name and re.fullmatch(r"[\w.]+", name)} - {*files, *PATTERNS}
    assert [name for name in names if not set(filter(None, name.split("."))) <= WORDS] == []


def test_every_path_of_the_architecture_exists():
    paths = {name for name in _quoted(ARCHITECTURE) if re.fullmatch(r"[\w.]+(/[\w.]+)+", name)}
    assert len(paths) > 50
    assert [path for path in paths if not any((root / path).exists() for root in (ROOT, ROOT / "mbsim_cli"))] == []


def test_every_room_is_described():
    package = ROOT / "mbsim_cli"
    rooms = {path.parent.relative_to(package).as_posix() for path in package.rglob("__init__.py")} - {"."}
    described = re.findall(r"^\| `([\w/]+)` \|", ARCHITECTURE.read_text(), re.MULTILINE)
    assert sorted(described) == sorted(rooms)


def test_the_arrow_is_the_contract():
    contract = re.search(
        r'name = "One arrow"\n.*?layers = \[(.*?)\n\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    layers = [re.findall(r"mbsim_cli\.(\w+)", line) for line in contract.group(1).split("\n") if line.strip()]
    drawn = re.search(r"^    (cli -> .*)$", ARCHITECTURE.read_text(), re.MULTILINE).group(1)
    assert [re.findall(r"\w+", layer) for layer in drawn.split("->")] == layers
