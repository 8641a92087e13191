"""Any number of a file may be a parameter: what the solver gets as its derivative is that of what it gets."""

import numpy as np
import pytest

from mbsim_cli.errors import ModelError
from mbsim_cli.study.reduced_bodies import flexible_bodies
from tests.assembly.texts import repacked
from tests.properties.changes import BASES, Leaf, is_number
from tests.properties.effects import Effects
from tests.properties.schema_keys import field_of

NAME = "probe"
SETTINGS = {"step", "sampling", "output_interval", "tolerance", "absolute_tolerance", "gradient_tolerance"}
SETTINGS |= {"penalty", "weighting"}
STEP = 1e-6
AGREE = 1e-6  # of the largest derivative
RUN = [name for name, base in BASES.items() if not flexible_bodies(base.load())]  # others are reduced: tests/reduction


def numbers(name: str) -> list[Leaf]:
    """Literal numbers of a file that could be formulas, but for references of checks, limits, searches and fits."""
    return [
        leaf
        for leaf in BASES[name].leaves
        if isinstance(leaf.value, int | float)
        and is_number(field_of(leaf.owner, leaf.key))
        and leaf.path[0] not in ("checks", "parameters", "optimization", "fit")
        and leaf.key != "duration"
    ]


def with_parameter(name: str, leaf: Leaf) -> Effects:
    """What becomes of a file where a parameter stands in the place of a number."""
    base = BASES[name]
    data = dict(base.changed(leaf, NAME))
    data["parameters"] = data.get("parameters", {}) | {NAME: leaf.value}
    data["analysis"] = data.get("analysis", {}) | {"sensitivity": {"method": "ddm", "parameters": [NAME]}}
    return Effects(base.load(data))


def difference(name: str, leaf: Leaf) -> float:
    """How far the derivative of theta is from central differences, in units of the largest."""
    assembled = with_parameter(name, leaf).assembled
    h = STEP * (abs(leaf.value) or 1.0)
    above, below = (repacked(assembled, {NAME: leaf.value + change}) for change in (h, -h))
    found, expected = assembled.problem.theta_rho[:, 0], (above - below) / (2 * h)
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def wrong(name: str, leaves: list[Leaf]) -> list[str]:
    """Numbers whose derivative is not that of theta."""
    free = [leaf for leaf in leaves if leaf.key not in SETTINGS]
    return [f"{leaf.path}: {error:.1e}" for leaf in free if not (error := difference(name, leaf)) <= AGREE]


@pytest.mark.parametrize("name", RUN)
def test_theta_is_differentiated_by_every_kind_of_number(name):
    kinds = {(leaf.place, leaf.key): leaf for leaf in numbers(name)}
    assert wrong(name, list(kinds.values())) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_theta_is_differentiated_by_every_number(name):
    assert wrong(name, numbers(name)) == []


def test_settings_have_no_gradients():
    stated = [(name, leaf) for name in RUN for leaf in numbers(name) if leaf.key in SETTINGS]
    assert {leaf.key for _, leaf in stated} == SETTINGS
    for name, leaf in stated:
        with pytest.raises(ModelError, match="no gradient by"):
            with_parameter(name, leaf)


def test_both_entries_of_a_symmetric_inertia_count():
    found = []
    for i, j in ((0, 1), (1, 0)):
        leaf = next(leaf for leaf in BASES["arms"].leaves if leaf.path == ("bodies", "cross", "inertia", i, j))
        found.append(with_parameter("arms", leaf).assembled.problem.theta_rho.sum())
    assert found == [0.5, 0.5]
