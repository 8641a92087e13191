"""Reactions that objectives read, pulled back to the motion and to numbers."""

import numpy as np

from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors, ReactionWork, pull_back_reactions
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import with_reactions
from mbsim_cli.solve.reactions import ReactionReader, with_identities


class ReactionPuller:
    """Pulls p columns of covectors of reactions back; ``theta`` (len(theta), p) are the sums of those of numbers."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int) -> None:
        assert problem.reacting is not None
        self._reacting, self._numbers, model = problem.reacting, theta, problem.reacting.model
        dtype = theta.dtype.type
        self._reader = ReactionReader(problem, problem.reacting, theta, zeros((theta.size, 0), dtype))
        _, _, m = allocate.sizes(model)
        virtuals = (allocate.virtual_of(model, p, dtype) for _ in range(2))
        cov = allocate.covectors_of(model, theta.size, p, dtype)
        self._pulling = ReactionWork(cov, *virtuals, zeros((m, p), dtype), np.zeros(m, dtype))
        self._work, self.theta = allocate.work(model, theta), cov.theta

    def show(self, record: Record) -> tuple[Record, np.ndarray]:
        """A record with the reactions behind its other sensors, and which of all are undetermined, (N, width)."""
        rows, dtype = len(record.time), self._numbers.dtype.type
        derivatives = allocate.sensitivity_record(self._reacting.model, rows, 0, dtype)
        sensors, _, unknown = with_reactions(record, derivatives, self._reader)
        return record._replace(sensors=sensors), unknown

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionCovectors:
        """Covectors of the motion at the rows of a record from those of its reactions, hat (N, width, p)."""
        reacting, (_, n, m) = self._reacting, allocate.sizes(self._reacting.model)
        rows, p, dtype = len(hat), hat.shape[2], self._numbers.dtype.type
        out = MotionCovectors(*(zeros((rows, k, p), dtype) for k in (n, n, n, m)))
        multiplier = with_identities(record.reaction, reacting.identities)
        pull_back_reactions(
            reacting.model, self._numbers, reacting.reactions, self._work, self._pulling, record, multiplier, hat, out
        )
        return out._replace(lam=np.ascontiguousarray(out.lam[:, : m - reacting.identities]))


def nothing_given(model: Model, p: int, dtype: type) -> MotionCovectors:
    """What is given where nothing reads reactions: no rows."""
    _, n, m = allocate.sizes(model)
    return MotionCovectors(*(zeros((0, k, p), dtype) for k in (n, n, n, m)))
