"""Parameters of tests whose kernels take a minute or more to compile."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OWN = re.compile(r"law: bristle|friction: \{dynamic|value: .*step5\(")
NATURAL = pytest.param("ali3p-natural", marks=pytest.mark.slow)


def by_kernels(models: Iterable[Path]) -> list:
    """Models as parameters; slow are those of kernels of their own."""
    return [pytest.param(model, id=model.stem, marks=[pytest.mark.slow] * _has_own(model)) for model in models]


def _has_own(model: Path) -> bool:
    """Whether it has bodies that deform, states, friction by bristles or by load, or forces by functions of t."""
    text = (ROOT / model).read_text()
    states = {"states", "controllers", "controls"} & set(re.findall(r"^(\w+):", text, re.MULTILINE))
    return model.parent.name == "flexible" or bool(states) or bool(_OWN.search(text))
