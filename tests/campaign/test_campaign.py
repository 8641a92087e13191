"""Gradients of random mechanisms: every one is that of the differences of whole analyses, or NaN with a reason."""

from functools import partial

import numpy as np
import pytest

from mbsim_cli.errors import MbsimError
from mbsim_cli.solve.equilibrium import MAX_HALVINGS, MAX_TRIES, Statics
from tests.campaign.comparison import (
    AGREES,
    ALI3P,
    AT_REST,
    OPEN,
    REFUSED,
    RESTING,
    UNSURE,
    Analyses,
    judged,
    verdicts,
    verdicts_of_adjoint,
)
from tests.campaign.generator import FAMILIES, PARAMETERS
from tests.campaign.richer import FAMILIES as RICH_FAMILIES

EACH = 100  # mechanisms of a family
TOGETHER = 10  # of them in one test
SHARE_UNSURE = 0.02  # derivatives whose differences tell nothing, of all
FEW = [("open tree", 3), ("open tree", 7), ("loop in space", 4), ("loop in a plane", 2)]


@pytest.mark.parametrize(("family", "seed"), FEW)
def test_a_few_mechanisms(family, seed):
    methods = [ALI3P[0], OPEN[1]] if family == "open tree" else ALI3P[:1]
    counts, wrong = judged(partial(FAMILIES[family], parameters=2), [seed], methods, verdicts)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_campaign(family, start):
    """Open trees by every formulation and integrator, loops by both that take them."""
    methods = ALI3P + OPEN if family == "open tree" else ALI3P
    counts, wrong = judged(FAMILIES[family], range(start, start + TOGETHER), methods, verdicts)
    print(dict(counts))  # shown by -s
    assert wrong == []
    assert counts[UNSURE] <= SHARE_UNSURE * sum(counts.values())
    assert counts[REFUSED] <= TOGETHER // 5  # analyses that fail, and say why


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_campaign_of_equilibria(family):
    """Many trees fall for ever, and have none; of others the direct method knows how they move."""
    counts, wrong = judged(FAMILIES[family], range(TOGETHER), RESTING, verdicts, dust=10 * AT_REST)
    assert wrong == []
    assert counts[AGREES] > 0


@pytest.mark.parametrize(
    ("family", "seed", "name", "change"),
    [
        ("open tree", 22, "q3", -1e-6),
        pytest.param("open tree", 76, "q0", -1e-6, marks=pytest.mark.slow),
        pytest.param("loop in space", 84, "q2", -1e-6, marks=pytest.mark.slow),
        pytest.param("loop in space", 89, "q0", 4e-3, marks=pytest.mark.slow),
    ],
)
def test_equilibria_go_on_beside_the_values_of_a_file(family, seed, name, change):
    """What the search passes on its way does not decide which of many equilibria of a neutral body is taken."""
    data = FAMILIES[family](seed, PARAMETERS)
    analyses = Analyses(data, RESTING[0])
    value, results = data["parameters"][name], analyses.gradients().values()
    moved = change * (abs(value) or 1.0)
    gradient = np.array([result.gradient[list(data["parameters"]).index(name)] for result in results])
    expected = np.array([result.value for result in results]) + gradient * moved
    assert np.allclose(analyses.values(name, value + moved), expected, atol=50 * change**2, rtol=50 * change**2)


@pytest.mark.slow
def test_what_falls_for_ever_has_no_equilibrium():
    """Far away its forces were small beside those of its way, and it was put back to where they are not."""
    with pytest.raises(MbsimError, match="no static equilibrium was found"):
        Analyses(FAMILIES["loop in space"](50, PARAMETERS), RESTING[0]).gradients()


@pytest.mark.slow
def test_a_search_of_a_loop_that_falls_for_ever_ends_soon(monkeypatch):
    """Round-off keeps the loop from closing far away, and steps there were shortened 8,000 times."""
    closed, close = [], Statics._close
    monkeypatch.setattr(Statics, "_close", lambda statics: closed.append(close(statics)) or closed[-1])
    with pytest.raises(MbsimError, match="no static equilibrium was found"):
        Analyses(RICH_FAMILIES["rich loop"](39), RESTING[0]).gradients()
    assert len(closed) <= MAX_TRIES + MAX_HALVINGS


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", FAMILIES)
def test_campaign_of_adjoints(family, start):
    """Motions, equilibria, and motions from these; where the direct method says that there is no derivative, too."""
    seeds = range(start, start + TOGETHER)
    methods = ALI3P + RESTING + (OPEN if family == "open tree" else [])
    counts, wrong = judged(FAMILIES[family], seeds, methods, verdicts_of_adjoint)
    print(dict(counts))
    assert wrong == []
    assert counts[AGREES] > 0
