"""How many steps are made at once."""

import pytest

from mbsim_cli.model.problem import Options
from mbsim_cli.solve.blocks import steps_at_once


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_a_run_goes_on_however_much_a_step_takes(formulation, integrator):
    """Without a step a run would wait for itself."""
    options = Options(formulation=formulation, integrator=integrator)
    assert steps_at_once(options, 1000, 10_000) == 1
    assert steps_at_once(options, 2, 0) > 100
