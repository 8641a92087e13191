"""Stored time points: blocks from the rows that kernels fill, accelerations in balance, and reactions."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.balance import Balanced, balance
from mbsim_cli.kernels.drivers.observe import constraint_jacobians, observe, observe_reactions, reactions_to
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.codes import Measure, Status
from mbsim_cli.model.layout import NONE, LoadedSignals
from mbsim_cli.model.problem import Block, Options, Problem, Reacting
from mbsim_cli.solve import allocate
from mbsim_cli.solve.redundancy import free_multipliers


class Reader(Protocol):
    """What reads reactions of stored instants."""

    @property
    def lost(self) -> Mapping[float, str]:
        """Why forces are not found, by the time."""

    def read(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reactions (N, width) of the rows of a record, their derivatives (N, width, p), and which are undetermined."""


def block_of(
    record: Record,
    d_record: SensitivityRecord,
    p: int,
    iterations: np.ndarray,
    work: np.ndarray,
    reader: Reader | None,
    broken: np.ndarray | None = None,
    free: np.ndarray | None = None,
    singular: np.ndarray | None = None,
    lost: Mapping[float, str] | None = None,
) -> Block:
    """A block; directions beyond the p parameters are left out, and derivatives in ``broken`` directions are NaN.

    Reactions stand behind the other sensors. ``lost`` says why forces of constraints are not found, by the time.
    """
    sensors, d_sensors, undetermined = with_reactions(record, d_record, reader)
    varied = [array[..., :p] for array in (*d_record[:4], d_sensors)]
    diagnostics = iterations, record.drift, record.energy, d_record.error, work
    rows = record.time.size
    broken = np.zeros((rows, p), np.int64) if broken is None else broken
    free, singular = (np.zeros(record.lam.shape, dtype=bool) if mask is None else mask for mask in (free, singular))
    if broken.any():
        for array in varied:
            if array.shape[2]:  # else an adjoint run, whose derivatives come in the end
                np.copyto(array, np.nan, where=broken[:, None, :] != 0)
    at_rest, reasons, linear = np.full((3, rows), None)
    if lost or (reader and reader.lost):
        known = {**(lost or {}), **(reader.lost if reader else {})}
        reasons[:] = [known.get(t) for t in record.time.real.tolist()]
        undetermined |= np.isnan(sensors) & (reasons != None)[:, None]  # noqa: E711, instant by instant
    return Block(
        *record[:7], sensors, *varied, *diagnostics, broken, free, singular, undetermined, at_rest, reasons, linear
    )


def with_reactions(
    record: Record, d_record: SensitivityRecord, reader: Reader | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sensors (N, width), their derivatives (N, width, p), and which are undetermined; those of reactions last."""
    determined = np.zeros(record.sensors.shape, bool)
    if reader is None:
        return record.sensors, d_record.sensors, determined
    values, derivatives, undetermined = reader.read(record, d_record)
    return (
        np.concatenate([record.sensors, values], axis=1),
        np.concatenate([d_record.sensors, derivatives], axis=1),
        np.concatenate([determined, undetermined], axis=1),
    )


class BrokenOff(AnalysisError):
    """A run that failed after the instants of ``block``."""

    def __init__(self, sentence: str, block: Block) -> None:
        super().__init__(sentence)
        self.block = block


def first_rows(group: Any, count: int) -> Any:
    """The first rows of every array in a named tuple."""
    return type(group)(*(array[:count] for array in group))


def other_rows(group: Any, first: int) -> Any:
    """The rows from ``first`` on."""
    return type(group)(*(array[first:] for array in group))


# How many steps are made at once: interruption and progress wait for a tenth of a second at most, roughly.
#
# Nothing measured enters: sums over blocks, and so results, must not depend on how fast a machine is.

PATIENCE = 0.1  # seconds


def steps_at_once(options: Options, n: int, p: int) -> int:
    """Steps of n coordinates with p directions between two looks at anything else, one at least."""
    return max(1, int(PATIENCE / (1e-5 + _seconds_a_step(options, n, p))))


def _seconds_a_step(options: Options, n: int, p: int) -> float:
    """Roughly."""
    if options.implicit:
        return 1e-5 * n * n * (1 + n / 50 + p / 5)
    if options.formulation == "recursive":
        return 1e-6 * n * (1 + p / 4)
    return 2e-7 * n * n * (1 + p / 5)


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


# Forces that redundant constraints leave undetermined: those that free multipliers change while the motion stays.

NOTHING = 1e-9  # length of a row of a Jacobian, m or 1, that no coordinate feels
CHANGE = 1e-7  # of the largest of some multipliers: a force or moment that counts as changed by them


def null_vectors(J: np.ndarray) -> np.ndarray:
    """Multipliers (N, k, m) that no coordinate feels, by Jacobians (N, m, n); k the most of any instant.

    Instants with fewer have zeros.
    """
    found = [_of_instant(rows) for rows in J]
    padded = np.zeros((len(J), max(map(len, found), default=0), J.shape[1]))
    for into, vectors in zip(padded, found, strict=True):
        into[: len(vectors)] = vectors
    return padded


def _of_instant(J: np.ndarray) -> np.ndarray:
    """Null vectors (k, m); rows that nothing feels are free by themselves, their round-off has no say in others."""
    felt = np.linalg.norm(J, axis=1) > NOTHING
    among = free_multipliers(J[felt]).T if felt.any() else np.zeros((0, 0))
    vectors = np.zeros((len(among), len(J)))
    vectors[:, felt] = among
    return np.concatenate([vectors, np.eye(len(J))[~felt]])


def changed(vectors: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Which of w numbers the null vectors (N, k, m) change, by the response (N, k, w) to each: (N, w)."""
    size = np.abs(vectors).max(axis=2, initial=0.0)[:, :, None]
    return ((size > 0.0) & (np.abs(response) > CHANGE * size)).any(axis=1)


INSTANTS = 64  # that Jacobians are kept of at once


class ReactionReader:
    """Reads the reactions of a problem, with the ``theta`` and ``dtheta`` (len(theta), p), p ``padded``, of the run.

    Where there is a ``balance`` they are those of what it finds.
    """

    def __init__(
        self,
        problem: Problem,
        reacting: Reacting,
        theta: np.ndarray,
        dtheta: np.ndarray,
        balance: Balance | None = None,
    ) -> None:
        self.balance = balance
        self.model, self.reactions, self.reacting = reacting.model, reacting.reactions, reacting
        self.theta = theta
        self.at_center = allocate.control(problem.options, redundant=False).at_center
        dtype = theta.dtype.type
        (_, n, _), p = allocate.sizes(self.model), dtheta.shape[1]
        self.directions = allocate.directions(self.model, dtheta, dtype)
        self.work = allocate.work(self.model, theta)
        self.twists = allocate.twists_of(self.model, p, dtype)
        self.dQ = zeros((n, p), dtype)
        self.undetermined = Undetermined(self)

    @property
    def lost(self) -> Mapping[float, str]:
        """Why forces are not found, by the time."""
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
        unknown = self.undetermined.at(record.time, record.position.real) | lost[:, None]
        nothing = np.array(complex(np.nan, np.nan)).astype(dtype) if np.iscomplexobj(out) else np.nan
        out[unknown], d_out[unknown] = nothing, nothing
        return out, d_out, unknown


def with_identities(multiplier: np.ndarray, count: int) -> np.ndarray:
    """Multipliers (N, m, ...) with zeros for so many identities."""
    missing = np.zeros((len(multiplier), count, *multiplier.shape[2:]), multiplier.dtype)
    return np.ascontiguousarray(np.concatenate([multiplier, missing], axis=1))


def reader_of(
    problem: Problem, theta: np.ndarray, dtheta: np.ndarray, balance: Balance | None = None
) -> ReactionReader | None:
    """What reads the reactions of a problem, if any sensor does."""
    return None if problem.reacting is None else ReactionReader(problem, problem.reacting, theta, dtheta, balance)


class Undetermined:
    """Finds, instant by instant, the components that redundant constraints leave undetermined."""

    def __init__(self, reader: ReactionReader) -> None:
        self.model, self.reactions, self.at_center = reader.model, reader.reactions, reader.at_center
        self.width, self.theta = reader.reacting.width, np.ascontiguousarray(reader.theta.real)
        constraints, measures = self.model.constraints.measure, self.model.measures
        # the norms of Euler parameters are never redundant
        self._possible = bool((measures.kind[constraints] != Measure.EULER_NORM).any())
        self._work = allocate.work(self.model, self.theta) if self._possible else None

    def at(self, time: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Mask (N, width); where the first instant ever has no redundant constraints, none is looked for later."""
        mask = np.zeros((len(time), self.width), bool)
        for first in range(0, len(time) if self._possible else 0, INSTANTS):
            part = slice(first, first + INSTANTS)
            mask[part] = self._part(time[part], np.ascontiguousarray(position[part]))
        return mask

    def _part(self, time: np.ndarray, position: np.ndarray) -> np.ndarray:
        rows, m, n = len(time), self.model.constraints.measure.size, position.shape[1]
        J = np.empty((rows, m, n))
        constraint_jacobians(self.model, self.theta, self.at_center, self._work, time, position, J)
        vectors = np.ascontiguousarray(null_vectors(J))
        self._possible = vectors.shape[1] > 0
        response = np.empty((rows, vectors.shape[1], self.width))
        if self._possible:
            reactions_to(
                self.model, self.theta, self.reactions, self.at_center, self._work, time, position, vectors, response
            )
        return changed(vectors, response)
