"""Reactions in natural coordinates: those of the joints of the spanning tree, for the motion of the bodies.

The coordinates of the joints are read off the bodies. With them the equations of the semi-recursive system give
reactions as of its own motion. Derivation: docs/theory/reactions.md, section 7.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.problem import Problem, Reacting
from mbsim_cli.solve import allocate
from mbsim_cli.solve.balance import Balance
from mbsim_cli.solve.blocks import first_rows, other_rows
from mbsim_cli.solve.natural.joint_motion import JointReader
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.solve.reactions import INSTANTS, ReactionReader


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
