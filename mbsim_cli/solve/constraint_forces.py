"""Forces of constraints at stored time points, from the equations of motion, and reactions of joints."""

from collections.abc import Mapping

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.balance import Balanced, balance, constraint_jacobians, observe_reactions, reactions_to
from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Work
from mbsim_cli.model.codes import Measure, Status
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem, Reacting
from mbsim_cli.model.scales import scales_of, units_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import other_rows
from mbsim_cli.solve.redundancy import free_multipliers

NOT_DETERMINED = "are not determined by the motion: read none"


class Balance:
    """Finds accelerations and multipliers that satisfy the equations of motion.

    At a ``theta`` and along ``dtheta`` (len(theta), p), p ``padded``; ``redundant`` as in ``Control``.
    """

    def __init__(self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, *, redundant: bool) -> None:
        self._model, self._theta, dtype = problem.model, theta, theta.dtype.type
        model = self._model
        self._control = allocate.control(problem, redundant=redundant)
        self._directions = allocate.directions(model, dtheta, dtype)
        self._state, self._work = allocate.state(model, dtype), allocate.work(model, theta, least=problem.least)
        self._extra = allocate.sensitivity_work(model, dtheta.shape[1], self._work.tangent)
        self._names, self._left = problem.names, np.zeros(allocate.sizes(model)[2])
        self.lost: dict[float, str] = {}  # reasons why they are not found, by time

    def of(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord, np.ndarray]:
        """The records with their ``acceleration`` and ``reaction`` replaced; the present values serve as estimates.

        Also a mask (N,) of rows at which they are not found: these keep the estimates, and ``lost`` holds the reasons.
        """
        found, d_found = (Balanced(part.acceleration.copy(), part.reaction.copy()) for part in (record, d_record))
        lost, first = np.zeros(record.time.size, bool), 0
        while first < lost.size:
            rows, d_rows, wanted, d_wanted = (other_rows(part, first) for part in (record, d_record, found, d_found))
            status, row = balance(
                self._model, self._theta, self._control, self._directions, self._state, self._work, self._extra, rows,
                d_rows, wanted, d_wanted, self._left,
            )  # fmt: skip
            if status == Status.OK:
                break
            first += row
            lost[first] = True
            reason = NOT_DETERMINED
            if status == Status.NO_CONVERGENCE:
                worst = int(self._left.argmax())
                gap = f"'{self._names.constraints[worst]}' is open by {self._left[worst]:.1%}"
                reason = f"are not found: {gap}; try a larger penalty or weighting"
            self.lost[float(record.time[first].real)] = reason
            first += 1
        record = record._replace(acceleration=found.zdd, reaction=found.lam)
        return record, d_record._replace(acceleration=d_found.zdd, reaction=d_found.lam), lost


def require_balance(status: tuple[int, int], record: Record) -> None:
    """Raise AnalysisError where adjoints of forces that were found cannot be pulled back."""
    found, row = status
    if Status(found) != Status.OK:
        raise AnalysisError(f"the forces of constraints at t = {record.time[row]:g} s {NOT_DETERMINED}")


# Power of driven constraints where steps are projected by the identity.
#
# Then lambda is that of the equations before the projection, accurate to first order in the step: its power would not
# be that of the motion, and the energy balance would report an error that does not exist.


class DrivingPower:
    """Writes energies of stored time points again, with multipliers that the equations of motion give there."""

    def __init__(self, problem: Problem, theta: np.ndarray, *, redundant: bool) -> None:
        self._model, self._theta, dtype = problem.model, theta, theta.dtype.type
        nothing = np.zeros((theta.size, 0))
        self._balance = Balance(problem, theta, nothing, redundant=redundant)
        self._at_center = allocate.control(problem, redundant=redundant).at_center
        self._directions = allocate.directions(self._model, nothing, dtype)
        self._kin, self._twists = allocate.grounded(self._model, theta), allocate.twists_of(self._model, 0, dtype)

    def write(self, record: Record) -> None:
        """Write the energies of a record; at time points whose equations do not determine forces, they stay."""
        none = allocate.sensitivity_record(self._model, record.time.size, 0, self._theta.dtype.type)
        balanced, _, lost = self._balance.of(record, none)
        before = record.energy[lost].copy()
        shown = record._replace(reaction=balanced.reaction, sensors=np.empty_like(record.sensors))
        observe(self._model, self._theta, self._at_center, self._directions, self._kin, self._twists, shown, none)
        record.energy[lost] = before


# Forces that redundant constraints leave undetermined: those that free multipliers change while the motion stays.

UNFELT = 1e-9  # length of a row of a Jacobian, in the mechanism's units, that no coordinate feels
CHANGE = 1e-7  # change of a force or moment, over the largest multiplier, that counts: all in its units of work


def null_vectors(J: np.ndarray) -> np.ndarray:
    """Null vectors (N, k, m) of the transposed Jacobians (N, m, n) in units; zeros where there are fewer than k."""
    found = []
    for rows in J:
        felt = np.linalg.norm(rows, axis=1) > UNFELT  # others are free, each with a vector of its own
        among = free_multipliers(rows[felt]).T if felt.any() else np.zeros((0, 0))
        vectors = np.zeros((len(among), len(rows)))
        vectors[:, felt] = among
        found.append(np.concatenate([vectors, np.eye(len(rows))[~felt]]))
    padded = np.zeros((len(J), max(map(len, found), default=0), J.shape[1]))
    for into, vectors in zip(padded, found, strict=True):
        into[: len(vectors)] = vectors
    return padded


INSTANTS = 64  # time points whose Jacobians are kept at the same time


class ReactionReader:
    """Reads the reactions of a problem, with the ``theta`` and ``dtheta`` (len(theta), p), p ``padded``, of the run.

    Where there is a ``balance`` they are those of what it finds.
    """

    def __init__(
        self, problem: Problem, reacting: Reacting, theta: np.ndarray, dtheta: np.ndarray,
        balance: Balance | None = None,
    ) -> None:  # fmt: skip
        self.model, self.reactions, self.reacting = reacting.model, reacting.reactions, reacting
        self.theta, self.balance = theta, balance
        self.at_center = allocate.control(problem, redundant=False).at_center
        dtype = theta.dtype.type
        (_, n, _), p = allocate.sizes(self.model), dtheta.shape[1]
        self.directions = allocate.directions(self.model, dtheta, dtype)
        self.work = allocate.work(self.model, theta)
        self.twists = allocate.twists_of(self.model, p, dtype)
        self.dQ = zeros((n, p), dtype)
        constraints, measures = self.model.constraints.measure, self.model.measures
        # whether constraints may be redundant: the norms of Euler parameters never are
        self._possible = bool((measures.kind[constraints] != Measure.EULER_NORM).any())
        self._real = np.ascontiguousarray(theta.real)
        if self._possible:
            self._work_of_responses = allocate.work(self.model, self._real)
            self._columns, self._rows = units_of(self.model, self._real)
            length = scales_of(self.model, self._real).length
            self._units = np.tile(np.repeat([length, 1.0], 3), self.reactions.joint.size)  # work over force or moment

    @property
    def lost(self) -> Mapping[float, str]:
        """Reasons why forces are not found, by time."""
        return self.balance.lost if self.balance else {}

    def read(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reactions (N, width) of the rows of a record, their derivatives (N, width, p), and which are undetermined."""
        lost = np.zeros(len(record.time), bool)
        if self.balance:
            record, d_record, lost = self.balance.of(record, d_record)
        rows, p = len(record.time), self.dQ.shape[1]
        shape, dtype = (rows, self.reacting.width), self.theta.dtype
        out, d_out = np.empty(shape, dtype), zeros((*shape, p), dtype)
        count = self.reacting.identities
        multiplier, d_multiplier = with_identities(record.reaction, count), with_identities(d_record.reaction, count)
        observe_reactions(
            self.model, self.theta, self.reactions, self.at_center, self.directions, self.work, self.twists, self.dQ,
            record, d_record, multiplier, d_multiplier, out, d_out,
        )  # fmt: skip
        unknown = self._undetermined(record.time, record.position.real) | lost[:, None]
        nothing = np.array(complex(np.nan, np.nan)).astype(dtype) if np.iscomplexobj(out) else np.nan
        out[unknown], d_out[unknown] = nothing, nothing
        return out, d_out, unknown

    def _undetermined(self, time: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Mask (N, width) of components that redundant constraints leave undetermined at times and positions (N, n).

        Once a block has no redundant constraints, later blocks are not examined.
        """
        mask = np.zeros((len(time), self.reacting.width), bool)
        for first in range(0, len(time), INSTANTS) if self._possible else ():
            part = slice(first, first + INSTANTS)
            at = self.at_center, self._work_of_responses, time[part], np.ascontiguousarray(position[part])
            J = jacobians(self.model, self._real, *at)
            vectors = null_vectors(J * self._columns / self._rows[:, None])
            self._possible = vectors.shape[1] > 0
            if self._possible:
                response = np.empty((*vectors.shape[:2], self.reacting.width))
                multipliers = np.ascontiguousarray(vectors / self._rows)
                reactions_to(self.model, self._real, self.reactions, *at, multipliers, response)
                size = np.abs(vectors).max(axis=2)[:, :, None]
                mask[part] = ((size > 0.0) & (np.abs(response * self._units) > CHANGE * size)).any(axis=1)
        return mask


def jacobians(
    model: Model, theta: np.ndarray, at_center: bool, work: Work, time: np.ndarray, position: np.ndarray
) -> np.ndarray:
    """Jacobians (N, m, n) of the constraints at times (N,) and positions (N, n)."""
    J = np.empty((len(time), model.constraints.measure.size, position.shape[1]), theta.dtype)
    constraint_jacobians(model, theta, at_center, work, time, position, J)
    return J


def with_identities(multiplier: np.ndarray, count: int) -> np.ndarray:
    """Multipliers (N, m, ...) followed by zeros for ``count`` identities."""
    missing = np.zeros((len(multiplier), count, *multiplier.shape[2:]), multiplier.dtype)
    return np.ascontiguousarray(np.concatenate([multiplier, missing], axis=1))
