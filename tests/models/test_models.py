"""Every model file meets its own checks, through the public command."""

import re
from pathlib import Path

import pytest

from tests.marks import by_kernels
from tests.models.command import ROOT, mbsim

MODELS = sorted((ROOT / "models").rglob("*.yaml"))


def names_natural(model: Path) -> bool:
    return "ali3p-natural" in model.read_text()


@pytest.mark.parametrize("model", by_kernels(MODELS))
def test_checks(model: Path):
    """But for natural coordinates, whose kernels take a minute to compile."""
    without = ["--without", "ali3p-natural"] if names_natural(model) else []
    found = mbsim("check", str(model), *without)
    assert found["passed"]
    assert all(check["passed"] for check in found["checks"])
    assert any(check["kind"] == "benchmark" for check in found["checks"])


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_editors_find_the_schema(model: Path):
    header = model.read_text().splitlines()[0]
    assert header.startswith("# yaml-language-server: $schema=")
    assert (model.parent / header.partition("=")[2]).resolve() == ROOT / "schemas" / "model.schema.json"


def test_each_model_stands_in_the_table_once():
    named = re.findall(r"`([\w/]+\.yaml)`", (ROOT / "models" / "README.md").read_text())
    assert sorted(named) == sorted(path.relative_to(ROOT / "models").as_posix() for path in MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("model", list(filter(names_natural, MODELS)), ids=lambda path: path.stem)
def test_checks_in_natural_coordinates(model: Path):
    others = ("--without", "complex_step", "--without", "adjoint", "--without", "ali3p-rtdyn0")
    rows = [row for row in mbsim("check", str(model), *others)["checks"] if row["kind"] == "agreement"]
    assert rows and all(row["passed"] for row in rows)
