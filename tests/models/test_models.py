"""Every model file meets its own checks, through the public command."""

from pathlib import Path

import pytest

from tests.models.command import ROOT, mbsim

MODELS = sorted((ROOT / "models").rglob("*.yaml"))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_checks(model: Path):
    found = mbsim("check", str(model))
    assert found["passed"]
    assert all(check["passed"] for check in found["checks"])
    assert any(check["kind"] == "benchmark" for check in found["checks"])


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_editors_find_the_schema(model: Path):
    header = model.read_text().splitlines()[0]
    assert header.startswith("# yaml-language-server: $schema=")
    assert (model.parent / header.partition("=")[2]).resolve() == ROOT / "schemas" / "model.schema.json"
