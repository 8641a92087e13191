"""Values of random mechanisms by formulas of the documentation: forces, sensors, and the balances of all bodies."""

import pytest

from mbsim_cli.errors import AnalysisError, ModelError
from tests.campaign.richer import grown
from tests.campaign.textbook import wrong_values

# the textbook knows neither states, formulas, bushings, contacts and cables, nor friction by load
FAMILIES = ("rich tree", "rich constraints", "rich slides", "rich loop", "rich machine")
EACH, TOGETHER = 60, 20
START = {"step": 5e-3, "duration": 5e-3}
LATER = {"step": 5e-3, "duration": 0.15}  # over the edges of all windows
OF_LOOPS = [START | {"formulation": "ali3p-rtdyn1"}, START | {"formulation": "ali3p-natural"}]
OF_TREES = [
    LATER | {"formulation": "recursive"},
    LATER | {"formulation": "conventional", "integrator": "rk4"},
    LATER | {"formulation": "partial_recursive", "integrator": "esdirk"},
]
AT_REST = [{"type": "equilibrium"}, START | {"formulation": "ali3p-rtdyn1", "start": "equilibrium"}]

SWING = {"type": "harmonic", "amplitude": 0.5, "frequency": 1.3, "phase": 0.2}
GIVEN = {"type": "inverse_dynamics", "sampling": 5e-3, "duration": 0.15, "motion": {"all": SWING}}


def check(family, seed, analysis):
    m = grown(family, seed)
    count, wrong = wrong_values(m.data, m.inertias, analysis, every=7)
    assert wrong == [], (family, seed, analysis)
    return count


@pytest.mark.parametrize(
    ("family", "seed"), [("rich tree", 9), ("rich constraints", 4), ("rich slides", 0), ("rich loop", 2)]
)
def test_a_few_mechanisms(family, seed):
    assert check(family, seed, OF_LOOPS[0]) > 15


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_values(family, start):
    """At the start of motions by every formulation that moves closed loops; trees by all others, later too."""
    for seed in range(start, start + TOGETHER):
        for analysis in OF_LOOPS + (OF_TREES if family == "rich tree" else []):
            assert check(family, seed, analysis) > 15


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_values_at_rest(family):
    """Many trees fall for ever; of others forces, and the weights of bodies, sum to nothing."""
    found = 0
    for seed in range(TOGETHER):
        for analysis in AT_REST:
            try:
                found += check(family, seed, analysis)
            except AnalysisError as error:
                assert "equilibrium was found" in str(error)
    assert found


def test_equilibria_close_loops_as_they_stood():
    """On the edge of what an angle can be, closing a step went through to where a planar joint's axes are opposed."""
    with pytest.raises(AnalysisError, match="no static equilibrium was found"):
        check("rich machine", 1, AT_REST[0])


@pytest.mark.slow
def test_values_of_given_motions():
    """Reactions hold the torques that a motion takes; Euler parameters and motions have none here."""
    found = 0
    for seed in range(EACH):
        try:
            found += check("rich tree", seed, GIVEN)
        except ModelError as error:
            assert "Euler parameter" in str(error) or "loops and constraints leave" in str(error)
    assert found > 1000
