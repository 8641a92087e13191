"""Motion of all bodies at the start, as closing the mechanism has found it."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.instant import Geometry
from mbsim_cli.solve.natural.fields import STEP


@dataclass(frozen=True)
class Poses:
    """Poses and velocities of all bodies, and of the ground, at a stack of theta."""

    r: np.ndarray  # (T, nb + 1, 3)
    R: np.ndarray  # (T, nb + 1, 3, 3)
    V: np.ndarray  # (T, nb + 1, 2, 3)

    def vector(self, body: int, local: np.ndarray) -> np.ndarray:
        """A vector (T, 3) of a body."""
        return np.einsum("tij,tj->ti", self.R[:, body], local)

    def motion(self, body: int, local: np.ndarray, *, point: bool) -> tuple[np.ndarray, np.ndarray]:
        """A point or vector and its rate."""
        x, carried = self.vector(body, local), 1.0 if point else 0.0
        x = x + carried * self.r[:, body]
        w, v = np.moveaxis(self.V[:, body], 1, 0)
        return x, carried * v + np.cross(w, x)


def poses_of(problem: Problem, initial: Initial, p: int) -> Poses:
    """Motion of the bodies at the start, with the derivatives along p directions."""
    at = Geometry(problem, initial.theta, initial.dtheta)
    for mine, theirs in zip(at.state, initial.state, strict=True):
        mine[:] = theirs
    for mine, theirs in zip(at.sens, initial.sensitivity, strict=True):
        mine[:] = theirs
    at.evaluate()
    kin, tw = at.work.kin, at.twists
    count = len(kin.r)
    r, R = kin.r.copy(), kin.R.reshape(count, 3, 3).copy()
    V = kin.V.reshape(count, 2, 3).copy()
    stacks = [[x + 0j for x in (r, R, V)]]
    for k in range(0 if np.iscomplexobj(initial.theta) else p):
        N, N1 = (x[:, :, k].reshape(count, 2, 3) for x in (tw.N, tw.N1))
        turn = N[:, 0]
        dr, dR = N[:, 1] + np.cross(turn, r), np.cross(turn[:, :, None], R, axis=1)
        dV = N1 + _cross(N, V)
        stacks.append([x + 1j * STEP * dx for x, dx in zip((r, R, V), (dr, dR, dV), strict=True)])
    return Poses(*(np.stack(parts) for parts in zip(*stacks, strict=True)))


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Motion cross products of rows (nb, 2, 3)."""
    return np.stack([np.cross(a[:, 0], b[:, 0]), np.cross(a[:, 0], b[:, 1]) + np.cross(a[:, 1], b[:, 0])], axis=1)
