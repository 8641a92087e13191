"""Pages name files, functions, packages and other pages: those exist, and no package or page is missing."""

import re
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in ("theory", "decisions") for path in (ROOT / "docs" / folder).glob("*.md"))
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES += [ROOT / "docs" / "notation.md", ARCHITECTURE, ROOT / "CONTRIBUTING.md"]
GENERATED = {ROOT / "docs" / name for name in ("library.md", "reference.md")}  # which git ignores
DOCS = sorted({*(ROOT / "docs").rglob("*.md")} - GENERATED)
ALL_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
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


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_of_a_page_exist(page):
    folders = ("mbsim_cli/", "tests/", "benchmarks/", "models/", "docs/", "scripts/", "schemas/")
    paths = {
        name.rstrip(".:") for name in _quoted(page) if name.startswith(folders) and not re.search("[A-Z]{3}", name)
    }
    assert [path for path in paths if not any(ROOT.glob(path))] == []


def test_files_hold_the_names_that_pages_find_in_them():
    """As ``name`` in ``file.py``, ``name`` (``file.py``), or a table of names whose head is a file."""
    found = []
    for page in ALL_PAGES:
        text = page.read_text()
        found += re.findall(r"((?:`[\w.]+`(?:,|;| and)?\s)+)(?:in |of |\()`([\w/]+\.py)`", text)
        for file, rows in re.findall(r"\n\| here \| code in `([\w/]+\.py)`[^\n]*\n((?:\|[^\n]*\n)+)", text):
            found += [(row.split("|")[2], file) for row in rows.splitlines()]
    pairs = {(name, file) for names, file in found for name in re.findall(r"`(?:\w+\.)*(\w+)`", names) if name != "py"}
    assert len(pairs) > 50
    files = {file: [ROOT / path for path in FILES if path.as_posix().endswith(file)] for _, file in pairs}
    words = {
        file: {word for path in paths for word in re.findall(r"\w+", path.read_text())} for file, paths in files.items()
    }
    assert [(name, file) for name, file in pairs if name not in words[file]] == []


def test_every_page_is_in_the_menu_and_linked_by_another_page():
    menu = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in DOCS} - menu == set()
    linked = {
        (page.parent / link).resolve()
        for page in ALL_PAGES
        for link in re.findall(r"\]\(([\w./-]+\.md)", page.read_text())
        if (page.parent / link).resolve() != page
    }
    assert [page.name for page in DOCS if page not in linked and page.name != "index.md"] == []


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
