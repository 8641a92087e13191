"""Reactions in natural coordinates: those of the joints of the spanning tree, for the motion of the bodies.

The coordinates of the joints are read off the bodies. With them the equations of the semi-recursive system give the
multipliers that the motion needs, and its kernels the reactions. Derivation: docs/theory/reactions.md, section 7.
"""

from dataclasses import replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.problem import Problem, Reacting
from mbsim_cli.solve.blocks import first_rows, other_rows
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.natural.joint_motion import JointMotion, JointReader
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.solve.pivots import split_of
from mbsim_cli.solve.reactions import INSTANTS, ReactionReader


class NaturalReactions:
    """Reads reactions as ``solve.reactions.ReactionReader``; theta, dtheta are those of the natural model."""

    def __init__(self, problem: Problem, reacting: Reacting, theta: np.ndarray, dtheta: np.ndarray) -> None:
        self._system: NaturalSystem = problem.system
        tree = replace(problem, model=self._system.problem.model, names=self._system.problem.names)
        size = tree.theta.size
        theta, dtheta = theta[:size], np.ascontiguousarray(dtheta[:size])
        self._reader = ReactionReader(tree, reacting, theta, dtheta)
        self._joints = JointReader(self._system, theta, dtheta)
        self._at, self._varied = Instant(tree, theta, dtheta[:, :0]), Instant(tree, theta, dtheta)
        self._dependent = True  # until the first instant shows otherwise

    def read(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reactions (N, width) of the rows of a record, their derivatives (N, width, p), and which are undetermined."""
        parts = []
        for first in range(0, max(len(record.time), 1), INSTANTS):
            some = (first_rows(other_rows(rows, first), INSTANTS) for rows in (record, d_record))
            parts.append(self._reader.read(*self._of_joints(*some)))
        values, slopes, unknown = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, slopes, unknown

    def _of_joints(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord]:
        """Records of the joints' coordinates, and of the multipliers of the tree's equations."""
        expected, near = self._turns(record.expected)
        motion = self._joints.read(list(record[1:4]), list(d_record[:3]), near)
        rows, m, p = len(record.time), self._at.m, d_record.position.shape[2]
        multiplier, slope = np.zeros((rows, m), motion.z.dtype), np.zeros((rows, m, p), motion.z.dtype)
        for row, t in enumerate(record.time):
            multiplier[row], slope[row] = self._multipliers(t, motion, row, expected[row])
        z, zd, zdd, *slopes = motion
        return (
            record._replace(position=z, velocity=zd, acceleration=zdd, reaction=multiplier, expected=expected),
            d_record._replace(position=slopes[0], velocity=slopes[1], acceleration=slopes[2], reaction=slope),
        )

    def _turns(self, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles between bodies as the tree reads them (N, nm or 0), and angles of joints (N, n) that are followed."""
        near = np.zeros((len(expected), self._at.n))
        if expected.shape[1]:
            for k, (c, sign) in self._system.standing_for.items():
                near[:, c] = sign * expected[:, k]
        return np.ascontiguousarray(expected[:, : self._system.problem.model.measures.kind.size]), near

    def _multipliers(self, t: float, motion: JointMotion, row: int, expected: np.ndarray):
        """Multipliers (m,) that hold a motion on the constraints, and their derivatives (m, p)."""
        at, varied, n = self._at, self._varied, self._at.n
        _go_to(at, t, motion, row, expected)
        J = at.work.eq.J.copy()
        rows = self._independent(J)
        system = np.zeros((n + rows.size, n + rows.size), J.dtype)
        system[:n, :n], system[n:, :n], system[:n, n:] = at.out.M, J[rows], J[rows].T
        slope = np.zeros((at.m, varied.p), J.dtype)
        try:
            found = np.linalg.solve(system, -np.concatenate([at.work.eq.G, at.work.eq.phi2[rows]]))
            if varied.p:
                varied.state.zdd[:], varied.state.lam[rows] = found[:n], found[n:]
                _go_to(varied, t, motion, row, expected)
                right = np.concatenate([varied.out.dG, varied.out.dphi[2][rows]])
                slope[rows] = -np.linalg.solve(system, right)[n:]
        except np.linalg.LinAlgError:
            raise AnalysisError(
                f"the motion at t = {t:g} s does not determine reactions: leave their sensors out"
            ) from None
        multiplier = np.zeros(at.m, J.dtype)
        multiplier[rows] = found[n:]
        return multiplier, slope

    def _independent(self, J: np.ndarray) -> np.ndarray:
        """Rows of J that the others follow from; where the first instant has no others, none are looked for later."""
        every = np.arange(len(J))
        rows = split_of(J, np.arange(J.shape[1]), every).rows if self._dependent else every
        self._dependent = rows.size < len(J)
        return rows


def _go_to(at: Instant, t: float, motion: JointMotion, row: int, expected: np.ndarray) -> None:
    """Evaluate a position and velocity, with their derivatives, where accelerations do not vary."""
    at.state.z[:], at.state.zd[:] = motion.z[row], motion.zd[row]
    at.sens.z[:], at.sens.zd[:] = motion.dz[row][:, : at.p], motion.dzd[row][:, : at.p]
    at.work.kin.expected[: expected.size] = expected
    at.evaluate(t)
