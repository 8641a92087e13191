"""Reactions of stored instants, with their sensitivities; those that constraints leave undetermined are not numbers."""

from collections.abc import Mapping

import numpy as np

from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.observe import constraint_jacobians, observe_reactions, reactions_to
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.problem import Problem, Reacting
from mbsim_cli.solve import allocate
from mbsim_cli.solve.balance import Balance
from mbsim_cli.solve.redundancy import free_multipliers

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
