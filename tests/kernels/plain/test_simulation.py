"""A few steps of whole simulations in plain Python: the same loops as the compiled tests, a small part of them."""

import pytest

from mbsim_cli.model.codes import Joint
from tests.kernels.differentiate import assert_agree
from tests.kernels.mechanisms import everything, four_bar, loop
from tests.kernels.test_sensitivities import by_block, configuration


@pytest.mark.parametrize("k", range(2))
def test_model_of_everything(k):
    builder = everything()
    problem = builder.problem(**configuration(k))
    blocks = by_block(builder)
    assert_agree(problem, {name: blocks[name] for name in list(blocks)[k::12]}, steps=1)


def test_loop():
    builder = loop(Joint.FLOATING, Joint.UNIVERSAL)
    problem = builder.problem(**configuration(3))
    blocks = by_block(builder)
    assert_agree(problem, {name: blocks[name] for name in list(blocks)[::9]}, steps=1)


def test_redundant_constraints():
    builder = four_bar()
    problem = builder.problem(**configuration(1))
    assert_agree(problem, {"gravity": builder.direction(0)}, steps=1, outputs=("position", "velocity", "acceleration"))
