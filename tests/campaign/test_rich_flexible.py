"""Gradients of whole analyses of bodies that deform: at rest and from there, given motions, every formulation."""

import pytest

from tests.campaign.comparison import (
    AGREES,
    ALI3P,
    OPEN,
    RESTING,
    judged,
    verdicts,
    verdicts_of_adjoint,
)
from tests.campaign.rich_flexible import RICH_FAMILIES, held
from tests.campaign.test_richer import DUST, NATURAL

TIMES = {"step": 1e-3, "duration": 1e-2}
SWING = {"type": "harmonic", "amplitude": 0.02, "frequency": 1.3, "phase": 0.2}
GIVEN = {"type": "inverse_dynamics", "sampling": 5e-3, "duration": 0.05, "motion": {"all": SWING}}
MOVING = [method | TIMES for method in (ALI3P[0], NATURAL)]
FREE = [method | TIMES for method in (OPEN[0], OPEN[1], OPEN[2], OPEN[6])]
PARAMETERS, EACH = 4, 4


def check(family, seed, file, judge, others):
    """At rest, from rest, and other analyses."""

    def grown(_):
        return RICH_FAMILIES[family](seed, file, PARAMETERS)

    hold = {"hold": held(grown(seed))} if "tree" in family else {}
    counts, wrong = judged(grown, [seed], [*(method | hold for method in RESTING), *others], judge, dust=DUST)
    print(dict(counts))  # shown by -s
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(EACH))
@pytest.mark.parametrize("family", RICH_FAMILIES)
def test_adjoints(file, family, seed):
    check(family, seed, file, verdicts_of_adjoint, MOVING + ([GIVEN, *FREE] if "tree" in family else []))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "seed"), [("rich tree", 1), ("rich tree", 2), ("rich tree", 7), ("rich loop", 0), ("rich loop", 2)]
)
def test_differences(file, family, seed):
    """Of the seventh tree the thickness of a plate, whose coordinates a motion gives, makes its shapes smaller."""
    check(family, seed, file, verdicts, [GIVEN] if "tree" in family else [])
