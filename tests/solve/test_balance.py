"""Forces of constraints of the motion that is shown: updates of their multipliers that do not converge are told."""

import pytest

from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.forward import start
from tests.assembly.texts import assemble
from tests.marks import NATURAL
from tests.solve.test_light_bodies import LIFT


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_forces_that_are_not_found(tmp_path, formulation):
    """A weight of next to nothing makes penalties of projections as soft."""
    problem = assemble(tmp_path, LIFT.replace("LIGHT", "1"), formulation=formulation, weighting=1e-12).problem
    with pytest.raises(
        AnalysisError, match=r"forces of constraints at t = .* s are not found: '.*' is open by [0-9.]+%"
    ):
        start(problem).first_block(20)
