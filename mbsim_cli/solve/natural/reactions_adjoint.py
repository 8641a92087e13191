"""Reactions that objectives read in natural coordinates, pulled back to the motion.

They are read by way of the joints of the tree, from each instant's positions and velocities alone: their derivatives by
these are those along unit directions, and by parameters those at a fixed motion. Derivation: docs/theory/reactions.md.
"""

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import first_rows, other_rows, with_reactions
from mbsim_cli.solve.natural.reactions import NaturalReactions
from mbsim_cli.solve.tape import Began

AT_ONCE = 8  # instants whose derivatives along all directions are held


class NaturalReactionPuller:
    """Takes covectors of reactions, p columns; ``gradient`` (q, p) sums derivatives by parameters at a fixed motion."""

    theta = 0.0  # nothing goes to numbers of the model

    def __init__(self, problem: Problem, initial: Began, p: int) -> None:
        assert problem.reacting is not None
        self._model, (_, self._n, self._m) = problem.model, allocate.sizes(problem.model)
        self._parameters, size = problem.theta_rho.shape[1], initial.theta.size
        along = zeros((size, padded(self._parameters + 2 * self._n)), initial.theta.dtype)
        along[:, : self._parameters] = initial.dtheta[:, : self._parameters]
        self._count = along.shape[1]
        self._plain, self._varied = (
            NaturalReactions(problem, problem.reacting, initial.theta, dtheta) for dtheta in (along[:, :0], along)
        )
        self.gradient = np.zeros((self._parameters, p), initial.theta.dtype)

    def show(self, record: Record) -> tuple[Record, np.ndarray]:
        """A record with the reactions behind its other sensors, and which of all are undetermined, (N, width)."""
        derivatives = allocate.sensitivity_record(self._model, len(record.time), 0, self.gradient.dtype.type)
        sensors, _, unknown = with_reactions(record, derivatives, self._plain)
        return record._replace(sensors=sensors), unknown

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionCovectors:
        """Covectors of the motion at the rows of a record from those of its reactions, hat (N, width, p)."""
        n, p, dtype = self._n, hat.shape[2], hat.dtype.type
        out = MotionCovectors(*(zeros((len(hat), k, p), dtype) for k in (n, n, n, self._m)))
        for first in range(0, len(hat), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            if hat[rows].any():
                slopes = self._slopes(first_rows(other_rows(record, first), AT_ONCE))
                found = np.einsum("nwc,nwk->nck", slopes, hat[rows], optimize=True)
                by_parameters, *motion = np.split(found, self._parameters + n * np.arange(2), axis=1)
                self.gradient += by_parameters.sum(axis=0)
                for part, covectors in zip(out, motion, strict=False):
                    part[rows] = covectors[:, :n]
        return out

    def _slopes(self, record: Record) -> np.ndarray:
        """Derivatives (N, width, c) along parameters, and along each coordinate and rate."""
        along = allocate.sensitivity_record(self._model, len(record.time), self._count, self.gradient.dtype.type)
        unit = np.arange(self._n)
        for k, part in enumerate(along[:2]):
            part[:, unit, self._parameters + k * self._n + unit] = 1.0
        _, slopes, unknown = self._varied.read(record, along)
        slopes[unknown] = 0.0  # which no number reads
        return slopes
