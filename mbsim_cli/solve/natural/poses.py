"""Motion of all bodies at the start, as closing the mechanism has found it."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.model.layout import GRAVITY
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.natural.fields import STEP


@dataclass(frozen=True)
class Poses:
    """Poses, velocities and accelerations of all bodies, and of the ground, at a stack of theta."""

    r: np.ndarray  # (T, nb + 1, 3)
    R: np.ndarray  # (T, nb + 1, 3, 3)
    V: np.ndarray  # (T, nb + 1, 2, 3)
    A: np.ndarray  # (T, nb + 1, 2, 3) with gravity

    def vector(self, body: int, local: np.ndarray) -> np.ndarray:
        """A vector (T, 3) of a body."""
        return np.einsum("tij,tj->ti", self.R[:, body], local)

    def motion(self, body: int, local: np.ndarray, *, point: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A point or vector with its first two derivatives."""
        x, carried = self.vector(body, local), 1.0 if point else 0.0
        x = x + carried * self.r[:, body]
        (w, v), (a, b) = (np.moveaxis(motion[:, body], 1, 0) for motion in (self.V, self.A))
        rate = carried * v + np.cross(w, x)
        return x, rate, carried * b + np.cross(a, x) + np.cross(w, rate)


def poses_of(problem: Problem, initial: Initial, p: int) -> Poses:
    """Motion of the bodies at the start, with the derivatives along p directions."""
    at = Instant(problem, initial.theta, initial.dtheta)
    for mine, theirs in zip(at.state, initial.state, strict=True):
        mine[:] = theirs
    for mine, theirs in zip(at.sens, initial.sensitivity, strict=True):
        mine[:] = theirs
    at.evaluate()
    kin, tw = at.work.kin, at.twists
    count = len(kin.r)
    r, R = kin.r.copy(), kin.R.reshape(count, 3, 3).copy()
    V, A = kin.V.reshape(count, 2, 3).copy(), kin.A.reshape(count, 2, 3).copy()
    stacks = [[x + 0j for x in (r, R, V, A)]]
    for k in range(0 if np.iscomplexobj(initial.theta) else p):
        N, N1, N2 = (x[:, :, k].reshape(count, 2, 3) for x in (tw.N, tw.N1, tw.N2))
        turn = N[:, 0]
        dr, dR = N[:, 1] + np.cross(turn, r), np.cross(turn[:, :, None], R, axis=1)
        dV = N1 + _cross(N, V)
        dA = N2 + _cross(N1, V) + _cross(N, A)
        dA[:, 1] += initial.dtheta[GRAVITY : GRAVITY + 3, k]
        stacks.append([x + 1j * STEP * dx for x, dx in zip((r, R, V, A), (dr, dR, dV, dA), strict=True)])
    found = [np.stack(parts) for parts in zip(*stacks, strict=True)]
    found[3][:, :, 1] += initial.theta[GRAVITY : GRAVITY + 3]
    return Poses(*found)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Motion cross products of rows (nb, 2, 3)."""
    return np.stack([np.cross(a[:, 0], b[:, 0]), np.cross(a[:, 0], b[:, 1]) + np.cross(a[:, 1], b[:, 0])], axis=1)
