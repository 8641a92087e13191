"""Accelerations of open trees and some of their variations in plain Python."""

import pytest

from tests.kernels.test_open_trees import (
    CASES,
    FORMULATIONS,
    assert_exact,
    test_a_body_without_inertia_at_a_tip_is_singular,  # noqa: F401
    test_formulations_agree,  # noqa: F401
    test_residual_vanishes,  # noqa: F401
    test_textbook,  # noqa: F401
)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("case", CASES)
def test_some_variations(case, formulation):
    builder = CASES[case]()
    builder.problem()  # adds the initial values to the numbers
    directions = builder.directions()
    assert_exact(formulation, builder, {name: directions[name] for name in list(directions)[::12]})
