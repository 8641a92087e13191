"""Gradients of mechanisms of all kinds of elements: by the adjoint, directly, and as differences of whole analyses."""

import pytest

from tests.campaign.comparison import AGREES, ALI3P, OPEN, RESTING, TIMES, judged, verdicts, verdicts_of_adjoint
from tests.campaign.richer import FAMILIES as RICH_FAMILIES
from tests.campaign.wider import FAMILIES as WIDE_FAMILIES

NATURAL = {"formulation": "ali3p-natural", "tolerance": 1e-13}
DUST = 3e-9  # of sensors that stay zero: what is left of rates and accelerations at rest
ADAPTIVE = [method | {"error_control": "sensitivities"} for method in OPEN[1:3]]
# Profiles and jumps by adaptive methods alone: with `rk4`, differences contain the change of steps that end at kinks.
# Steps that control the errors of the motion alone leave larger errors in derivatives.
TREES = {"rich tree": [OPEN[0], *ADAPTIVE], "rich profiles": ADAPTIVE, "wide jumps": ADAPTIVE}
# natural coordinates know no armatures, nor friction by load
ALONE = ("rich states", "rich friction", "wide states", "wide joints")
FAMILIES = RICH_FAMILIES | WIDE_FAMILIES
EACH, TOGETHER = 30, 5


def natural(family):
    return [] if family in ALONE else [NATURAL]


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param("rich tree", 5, marks=pytest.mark.slow),
        ("rich constraints", 4),
        ("rich slides", 0),
        ("rich profiles", 1),
    ],
)
def test_a_few_adjoints(family, seed):
    counts, wrong = judged(FAMILIES[family], [seed], ALI3P[:1], verdicts_of_adjoint, dust=DUST)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_adjoints(family, start):
    resting = [] if family in ALONE else RESTING  # equilibria know neither states nor friction by load
    methods = [*ALI3P, *resting, *natural(family), *(OPEN if family in TREES else [])]
    counts, wrong = judged(FAMILIES[family], range(start, start + TOGETHER), methods, verdicts_of_adjoint, dust=DUST)
    print(dict(counts))  # shown by -s
    assert wrong == []
    assert counts[AGREES] > 0


def on_output_times(seed):
    """A mechanism whose laws change at output times only."""
    data, step = FAMILIES["wide jumps"](seed), TIMES["step"]
    for name in (name for name in data["parameters"] if name.startswith("t")):
        data["parameters"][name] = step * round(data["parameters"][name] / step)
    return data


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 15, TOGETHER))
def test_adjoints_of_jumps_at_output_times(start):
    seeds = range(start, start + TOGETHER)
    counts, wrong = judged(on_output_times, seeds, OPEN[1:3], verdicts_of_adjoint, dust=DUST)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
def test_differences_of_a_cable_that_crosses_its_pulley_far_out_of_plane():
    """The angle where it meets the pulley moves much faster than the bodies that determine it."""
    counts, wrong = judged(FAMILIES["rich cables"], [34], ALI3P[:1], verdicts, dust=DUST)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_differences(family, start):
    methods = [ALI3P[0], *natural(family), *TREES.get(family, [])]
    counts, wrong = judged(FAMILIES[family], range(start, start + TOGETHER), methods, verdicts, dust=DUST)
    print(dict(counts))
    assert wrong == []
    assert counts[AGREES] > 0
