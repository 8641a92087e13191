"""Every model file meets its own checks, through the public command."""

import re
from pathlib import Path

import pytest

from tests.marks import COMPILED, by_kernels
from tests.models.command import ROOT, mbsim

MODELS = sorted((ROOT / "models").rglob("*.yaml"))


LEFT_OUT = ("ali3p-natural", "complex_step", "conventional", "partial_recursive")  # whose kernels take long to compile


def without(*methods: str) -> list[str]:
    return [word for method in methods for word in ("--without", method)]


def left_out(model: Path) -> set[str]:
    """Methods of a model's checks that only slow tests compile: with tyres the adjoint, too."""
    text = with_included(model)
    return {name for name in (*LEFT_OUT, *(["adjoint"] if "type: tyre" in text else [])) if name in text}


def with_included(model: Path) -> str:
    """Text of a model file and of those that it includes."""
    text = model.read_text()
    found = re.search(r"^include: \[(.*)\]", text, re.MULTILINE)
    return text + "".join(with_included(model.parent / name) for name in found[1].split(", ")) if found else text


@pytest.mark.parametrize("model", by_kernels(MODELS))
def test_checks(model: Path):
    found = mbsim("check", str(model), *without(*left_out(model)))
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
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(path, id=path.stem, marks=COMPILED if path.stem == "double_pendulum" else [])
        for path in MODELS
        if left_out(path)
    ],
)
def test_checks_by_the_methods_left_out(model: Path):
    found = mbsim("check", str(model), *without(*{"adjoint", "ali3p-rtdyn0"} - left_out(model)))
    rows = [row for row in found["checks"] if row["kind"] == "agreement"]
    assert rows and all(row["passed"] for row in rows)
