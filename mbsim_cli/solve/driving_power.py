"""Power of driven constraints where steps are projected by the identity.

That leaves lambda of the equations before the projection alone, of first order in the step: its power would not be that
of the motion, and the energy balance would speak of an error that is not there.
"""

import numpy as np

from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.balance import Balance
from mbsim_cli.solve.blocks import first_rows, other_rows


class DrivingPower:
    """Writes energies of stored instants again, with multipliers that the equations of motion give there."""

    def __init__(self, problem: Problem, theta: np.ndarray, *, redundant: bool) -> None:
        self._model, self._theta, dtype = problem.model, theta, theta.dtype.type
        nothing = np.zeros((theta.size, 0))
        self._balance = Balance(problem, theta, nothing, redundant=redundant)
        self._at_center = allocate.control(problem.options, redundant=redundant).at_center
        self._directions = allocate.directions(self._model, nothing, dtype)
        self._kin, self._twists = allocate.grounded(self._model, theta), allocate.twists_of(self._model, 0, dtype)

    def write(self, record: Record) -> None:
        """Write the energies of a record; at instants whose equations do not determine forces, they stay."""
        while record.time.size:
            record = other_rows(record, self._determined(record) + 1)

    def _determined(self, record: Record) -> int:
        """Write the energies of the first rows, up to one that does not determine forces; return how many they are."""
        none = allocate.sensitivity_record(self._model, record.time.size, 0, self._theta.dtype.type)
        balanced, (found, row) = self._balance.until_undetermined(record, none)
        rows = record.time.size if Status(found) == Status.OK else row
        shown = record._replace(reaction=balanced.reaction, sensors=np.empty_like(record.sensors))
        first, nothing = first_rows(shown, rows), first_rows(none, rows)
        observe(self._model, self._theta, self._at_center, self._directions, self._kin, self._twists, first, nothing)
        return rows


def driving_power(problem: Problem, theta: np.ndarray, *, redundant: bool) -> DrivingPower | None:
    """What writes it, where steps are projected so and something is driven; numbers of a complex step need none."""
    driven = (problem.model.constraints.law != NONE).any() and not np.iscomplexobj(theta)
    if not driven or problem.options.projection != "identity":
        return None
    return DrivingPower(problem, theta, redundant=redundant)
