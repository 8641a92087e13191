"""The same of random models: files that lost some of their keys, with other numbers, and one more change."""

import copy
from typing import Any

import numpy as np
import pytest

from mbsim_cli.errors import MbsimError
from tests.properties.changes import BASES, Base
from tests.properties.effects import Effects
from tests.properties.test_keys import DEMANDS, IGNORED, judge, judged, path

FEWER, MORE = 12, 400
LOST = 6  # keys at most
JITTER = 1e-3  # of a number


def random_model(random: np.random.Generator) -> tuple[Base, Effects]:
    """A model with fewer keys and other numbers than one of the files; what makes it invalid is left as it was."""
    base = copy.copy(BASES[str(random.choice(list(BASES)))])
    for leaf in random.permutation(np.array(base.leaves, dtype=object))[:LOST]:
        _keep(base, base.without(leaf.path) if isinstance(leaf.path[-1], str) else base.data)
        if type(leaf.value) is float and leaf in base.leaves:
            _keep(base, base.changed(leaf, leaf.value * (1 + JITTER * random.uniform(-1, 1))))
    return base, Effects(base.load())


def _keep(base: Base, data: Any) -> None:
    try:
        Effects(base.load(data))
    except MbsimError:
        return
    base.data = data
    for known in ("leaves", "_classes", "keys", "_coordinates"):
        base.__dict__.pop(known, None)


def check(seed: int) -> None:
    """Change one value of a random model."""
    random = np.random.default_rng(seed)
    base, before = random_model(random)
    leaves = [leaf for leaf in base.leaves if judged(leaf) and leaf.key not in DEMANDS and base.uses(leaf)]
    leaf = leaves[random.integers(len(leaves))]
    assert IGNORED not in judge(base, before, leaf), (base.path.stem, path(leaf), leaf.value, base.data)


@pytest.mark.parametrize("seed", range(FEWER))
def test_a_random_model_has_nothing_without_effect(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEWER, FEWER + MORE))
def test_many_random_models(seed):
    check(seed)
