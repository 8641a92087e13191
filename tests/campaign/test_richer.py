"""Gradients of mechanisms of all kinds of elements: by the adjoint, directly, and as differences of whole analyses."""

import pytest

from tests.campaign.comparison import AGREES, ALI3P, OPEN, RESTING, judged, verdicts, verdicts_of_adjoint
from tests.campaign.richer import FAMILIES

NATURAL = {"formulation": "ali3p-natural", "tolerance": 1e-13}
DUST = 3e-9  # of sensors that stay zero: what is left of rates and accelerations at rest
TREES = {"rich tree": OPEN[:3], "rich profiles": OPEN[1:3]}  # differences see how steps of `rk4` move with kinks
EACH, TOGETHER = 30, 5


@pytest.mark.parametrize(
    ("family", "seed"), [("rich tree", 5), ("rich constraints", 4), ("rich slides", 0), ("rich profiles", 1)]
)
def test_a_few_adjoints(family, seed):
    counts, wrong = judged(FAMILIES[family], [seed], ALI3P[:1], verdicts_of_adjoint, dust=DUST)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_adjoints(family, start):
    resting = [] if family == "rich states" else RESTING  # equilibria know no states
    natural = [] if family == "rich states" else [NATURAL]  # nor natural coordinates armatures
    methods = [*ALI3P, *resting, *natural, *(OPEN if family in TREES else [])]
    counts, wrong = judged(FAMILIES[family], range(start, start + TOGETHER), methods, verdicts_of_adjoint, dust=DUST)
    print(dict(counts))  # shown by -s
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_differences(family, start):
    natural = [] if family == "rich states" else [NATURAL]
    methods = [ALI3P[0], *natural, *TREES.get(family, [])]
    counts, wrong = judged(FAMILIES[family], range(start, start + TOGETHER), methods, verdicts, dust=DUST)
    print(dict(counts))
    assert wrong == []
    assert counts[AGREES] > 0
