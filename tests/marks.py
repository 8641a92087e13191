"""Parameters of tests whose kernels take a minute or more to compile."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OWN = re.compile(r"law: bristle|type: contact|friction: \{dynamic|value: .*(step5|tanh)\(")
NATURAL = pytest.param("ali3p-natural", marks=pytest.mark.slow)
COMPILED = [pytest.mark.slow, pytest.mark.compiled]  # one or more for each family that quick tests interpret


def by_kernels(models: Iterable[Path], long: tuple[str, ...] = ()) -> list:
    """Models as parameters; slow are those of kernels of their own, and those with a ``long`` run."""
    return [
        pytest.param(model, id=model.stem, marks=[pytest.mark.slow] * (model.stem in long or _has_own(model)))
        for model in models
    ]


def _has_own(model: Path) -> bool:
    """Whether it has bodies that deform, states, contacts, friction by bristles or by load, or forces by formulas."""
    text = (ROOT / model).read_text()
    states = {"states", "controllers", "controls"} & set(re.findall(r"^(\w+):", text, re.MULTILINE))
    return model.parent.name == "flexible" or bool(states) or bool(_OWN.search(text))
