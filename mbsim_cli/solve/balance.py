"""Accelerations and multipliers of the motion that is shown, in place of those that a step leaves.

A step of ALI3-P has solved its equations before velocities were projected. What reads forces of constraints reads those
that the equations of motion give at the positions and velocities of an instant. Derivation: docs/theory/reactions.md.
"""

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.balance import Balanced, balance
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate


def is_balanced(problem: Problem, reacting: bool) -> bool:
    """Whether sensors read forces of constraints behind projections, also reactions where they are ``reacting``."""
    options, model = problem.options, problem.model
    projected = options.analysis == "forward_dynamics" and not options.open_tree and model.constraints.measure.size > 0
    reads = allocate.multiplier_sensors(model)[0].size > 0
    return bool(projected and (reads or (reacting and not options.natural)))  # natural ones are read of the tree


class Balance:
    """Finds them at a ``theta`` and along ``dtheta`` (len(theta), p), p ``padded``; ``redundant`` as in ``Control``."""

    def __init__(self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, *, redundant: bool) -> None:
        self._model, self._theta, dtype = problem.model, theta, theta.dtype.type
        model = self._model
        self._control = allocate.control(problem.options, redundant=redundant)
        self._directions = allocate.directions(model, dtheta, dtype)
        self._state, self._work = allocate.state(model, dtype), allocate.work(model, theta, least=problem.least)
        self._extra = allocate.sensitivity_work(model, dtheta.shape[1], dtype)
        self._names, self._left = problem.names, np.zeros(allocate.sizes(model)[2])

    def of(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord]:
        """The records with them as accelerations and ``reaction``; those that are there serve as estimates."""
        *found, status = self.until_undetermined(record, d_record)
        if status[0] == Status.NO_CONVERGENCE:
            worst = int(self._left.argmax())
            raise AnalysisError(
                f"the forces of constraints at t = {record.time[status[1]]:g} s are not found: "
                f"'{self._names.constraints[worst]}' is open by {self._left[worst]:.1%}; "
                "try a larger penalty or weighting"
            )
        require_balance(status, record)
        return found[0], found[1]

    def until_undetermined(
        self, record: Record, d_record: SensitivityRecord
    ) -> tuple[Record, SensitivityRecord, tuple[int, int]]:
        """The same up to the row of the status, whose motion does not determine them."""
        found = Balanced(record.acceleration.copy(), record.reaction.copy())
        d_found = Balanced(d_record.acceleration.copy(), d_record.reaction.copy())
        status = balance(
            self._model, self._theta, self._control, self._directions, self._state, self._work, self._extra, record,
            d_record, found, d_found, self._left,
        )  # fmt: skip
        return (
            record._replace(acceleration=found.zdd, reaction=found.lam),
            d_record._replace(acceleration=d_found.zdd, reaction=d_found.lam),
            status,
        )


def require_balance(status: tuple[int, int], record: Record) -> None:
    found, row = status
    if Status(found) != Status.OK:
        raise AnalysisError(
            f"the motion at t = {record.time[row]:g} s does not determine forces of constraints: read none"
        )
