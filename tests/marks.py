"""Parameters of tests whose kernels take a minute or more to compile."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_OWN = re.compile(r"law: bristle|friction: \{dynamic|value: .*(step5|tanh)\(")
NATURAL = pytest.param("ali3p-natural", marks=pytest.mark.slow)


def by_kernels(models: Iterable[Path], long: tuple[str, ...] = ()) -> list:
    """Models as parameters; slow are those of kernels of their own, and those with a ``long`` run."""
    return [
        pytest.param(model, id=model.stem, marks=[pytest.mark.slow] * (model.stem in long or _has_own(model)))
        for model in models
    ]


def _has_own(model: Path) -> bool:
    """Whether it has bodies that deform, states, friction by bristles or by load, forces by formulas, or contacts.

    Contacts of open trees are compiled for quick tests (study/test_contact.py).
    """
    text = (ROOT / model).read_text()
    states = {"states", "controllers", "controls"} & set(re.findall(r"^(\w+):", text, re.MULTILINE))
    touches = "type: contact" in text and "formulation: recursive" not in text
    return model.parent.name == "flexible" or bool(states) or touches or bool(_OWN.search(text))
