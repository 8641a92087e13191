"""Reactions in natural coordinates: those of the joints of the spanning tree, for the motion of the bodies.

The coordinates of the joints are read off the bodies. With them the equations of the semi-recursive system give
reactions as of its own motion. Derivation: docs/theory/reactions.md, section 7.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.problem import Problem, Reacting
from mbsim_cli.solve import allocate
from mbsim_cli.solve.balance import Balance
from mbsim_cli.solve.blocks import first_rows, other_rows, with_reactions
from mbsim_cli.solve.natural.joint_motion import JointReader
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.solve.reactions import INSTANTS, ReactionReader
from mbsim_cli.solve.tape import Began


class NaturalReactions:
    """Reads reactions as ``solve.reactions.ReactionReader``; theta, dtheta are those of the natural model."""

    def __init__(self, problem: Problem, reacting: Reacting, theta: np.ndarray, dtheta: np.ndarray) -> None:
        self._system: NaturalSystem = problem.system
        of_tree = self._system.problem
        tree = replace(problem, model=of_tree.model, names=of_tree.names, least=of_tree.least)
        size = tree.theta.size
        theta, dtheta = theta[:size], np.ascontiguousarray(dtheta[:size])
        balance = Balance(tree, theta, dtheta, redundant=False)  # what is determined is the same
        self._reader = ReactionReader(tree, reacting, theta, dtheta, balance)
        self._joints = JointReader(self._system, theta, dtheta)
        _, self._n, self._m = allocate.sizes(tree.model)

    @property
    def lost(self) -> Mapping[float, str]:
        """Why forces are not found, by the time."""
        return self._reader.lost

    def read(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reactions (N, width) of the rows of a record, their derivatives (N, width, p), and which are undetermined."""
        parts = []
        for first in range(0, max(len(record.time), 1), INSTANTS):
            some = (first_rows(other_rows(rows, first), INSTANTS) for rows in (record, d_record))
            parts.append(self._reader.read(*self._of_joints(*some)))
        values, slopes, unknown = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, slopes, unknown

    def _of_joints(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord]:
        """Records of the joints' coordinates, without multipliers."""
        expected, near = self._turns(record.expected)
        motion = self._joints.read(list(record[1:4]), list(d_record[:3]), near)
        rows, m, p = len(record.time), self._m, d_record.position.shape[2]
        multiplier, slope = np.zeros((rows, m), motion.z.dtype), np.zeros((rows, m, p), motion.z.dtype)
        z, zd, zdd, *slopes = motion
        return (
            record._replace(position=z, velocity=zd, acceleration=zdd, reaction=multiplier, expected=expected),
            d_record._replace(position=slopes[0], velocity=slopes[1], acceleration=slopes[2], reaction=slope),
        )

    def _turns(self, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles between bodies as the tree reads them (N, nm or 0), and angles of joints (N, n) that are followed."""
        near = np.zeros((len(expected), self._n))
        if expected.shape[1]:
            for k, (c, sign) in self._system.standing_for.items():
                near[:, c] = sign * expected[:, k]
        return np.ascontiguousarray(expected[:, : self._system.problem.model.measures.kind.size]), near


# Reactions that objectives read in natural coordinates, pulled back to the motion.
#
# They are read by way of the joints of the tree, from each instant's positions and velocities alone: their derivatives
# by these are those along unit directions, and by parameters those at a fixed motion. Derivation:
# docs/theory/reactions.md.

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
