"""Accelerations and multipliers of the motion that is shown, in place of those that a step leaves.

A step of ALI3-P has solved its equations before velocities were projected. What reads forces of constraints reads those
that the equations of motion give at the positions and velocities of an instant. Derivation: docs/theory/reactions.md.
"""

from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.balance import Balanced, balance
from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import NONE, LoadedSignals
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import first_rows, other_rows

NOT_DETERMINED = "are not determined by the motion: read none"


def is_balanced(problem: Problem, reacting: bool) -> bool:
    """Whether sensors read forces of constraints behind projections, also reactions where they are ``reacting``."""
    options, model = problem.options, problem.model
    projected = options.analysis == "forward_dynamics" and not options.integrated and model.constraints.measure.size > 0
    reads = allocate.multiplier_sensors(model)[0].size > 0 or isinstance(model.signals, LoadedSignals)
    return bool(projected and (reads or (reacting and not options.natural)))  # natural ones are read of the tree


class Balance:
    """Finds them at a ``theta`` and along ``dtheta`` (len(theta), p), p ``padded``; ``redundant`` as in ``Control``."""

    def __init__(self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, *, redundant: bool) -> None:
        self._model, self._theta, dtype = problem.model, theta, theta.dtype.type
        model = self._model
        self._control = allocate.control(problem.options, redundant=redundant)
        self._directions = allocate.directions(model, dtheta, dtype)
        self._state, self._work = allocate.state(model, dtype), allocate.work(model, theta, least=problem.least)
        self._extra = allocate.sensitivity_work(model, dtheta.shape[1], self._work.tangent)
        self._names, self._left = problem.names, np.zeros(allocate.sizes(model)[2])
        self.lost: dict[float, str] = {}  # why they are not found, by the time

    def of(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord, np.ndarray]:
        """The records with them as accelerations and ``reaction``; those that are there serve as estimates.

        Also where (N,) they are not found: there the estimates stay, and ``lost`` tells why.
        """
        found, d_found = _estimates(record), _estimates(d_record)
        lost, first = np.zeros(record.time.size, bool), 0
        while first < lost.size:
            rest = (other_rows(group, first) for group in (record, d_record, found, d_found))
            status, row = self._find(*rest)
            if status == Status.OK:
                break
            first += row
            lost[first] = True
            self.lost[float(record.time[first].real)] = self._reason(status)
            first += 1
        return _with(record, found), _with(d_record, d_found), lost

    def until_undetermined(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, tuple[int, int]]:
        """The record up to the row of the status, whose motion does not determine them."""
        found, d_found = _estimates(record), _estimates(d_record)
        status = self._find(record, d_record, found, d_found)
        return _with(record, found), status

    def _find(self, record: Record, d_record: SensitivityRecord, found: Balanced, d_found: Balanced) -> tuple[int, int]:
        """Find them up to the row of the status."""
        return balance(
            self._model, self._theta, self._control, self._directions, self._state, self._work, self._extra, record,
            d_record, found, d_found, self._left,
        )  # fmt: skip

    def _reason(self, status: int) -> str:
        if status == Status.NO_CONVERGENCE:
            worst = int(self._left.argmax())
            gap = f"'{self._names.constraints[worst]}' is open by {self._left[worst]:.1%}"
            return f"are not found: {gap}; try a larger penalty or weighting"
        return NOT_DETERMINED


def require_balance(status: tuple[int, int], record: Record) -> None:
    """Raise AnalysisError where covectors of forces that were found cannot be pulled back."""
    found, row = status
    if Status(found) != Status.OK:
        raise AnalysisError(f"the forces of constraints at t = {record.time[row]:g} s {NOT_DETERMINED}")


def _estimates(record: Any) -> Balanced:
    return Balanced(record.acceleration.copy(), record.reaction.copy())


def _with(record: Any, found: Balanced) -> Any:
    return record._replace(acceleration=found.zdd, reaction=found.lam)


# Power of driven constraints where steps are projected by the identity.
#
# That leaves lambda of the equations before the projection alone, of first order in the step: its power would not be
# that of the motion, and the energy balance would speak of an error that is not there.


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
