"""Motions and drives of the parallel robots against kinematics by hand and d'Alembert's principle, while they move."""

from functools import cache

import numpy as np
import pytest

import mbsim_cli as mbsim
from tests.models.command import ROOT

UP = np.array([0.0, 0.0, 9.81])  # weight is the inertia of this acceleration
IN_MOTION = (60, 180, 250, 333)  # instants


@cache
def motion(name: str) -> mbsim.Result:
    return mbsim.run(ROOT / "models" / "robots" / f"{name}.yaml", sensitivity="none")


def slender(mass: float, one, other) -> tuple[np.ndarray, np.ndarray]:
    """Forces (3,) at the ends of a slender rod that accelerate them so, against its weight too."""
    one, other = one + UP, other + UP
    return mass / 6.0 * (2.0 * one + other), mass / 6.0 * (one + 2.0 * other)


def cubed_sine(t: float) -> np.ndarray:
    """sin(2 pi t)^3 and two derivatives."""
    w = 2.0 * np.pi
    s, c = np.sin(w * t), np.cos(w * t)
    return np.array([s**3, 3.0 * w * s**2 * c, w**2 * (6.0 * s * c**2 - 3.0 * s**3)])


@pytest.mark.parametrize("instant", IN_MOTION)
def test_stewart(instant):
    result = motion("stewart")
    k = np.arange(6)
    below = np.radians(120 * (k // 2) + (2 * (k % 2) - 1) * 10)
    above = np.radians(120 * (k // 2) + (2 * (k % 2) - 1) * 50)
    base, plate = (
        r * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) for r, angle in ((1.0, below), (0.6, above))
    )
    x, y = result["x"][instant], result["y"][instant]
    axes = np.stack([x, y, np.cross(x, y)], axis=1)
    arm = plate @ axes.T  # from the platform's origin to its joints
    legs = result["place"][instant] + arm - base
    L, L_t, L_tt = 0.1 * np.outer(cubed_sine(result["time"][instant]), 1 + k / 6)
    L += np.hypot(1.0, np.sqrt(1.36 - 1.2 * np.cos(np.radians(40))))
    assert np.allclose(np.linalg.norm(legs, axis=1), L, rtol=0, atol=1e-11)

    u = legs / L[:, None]
    J = np.hstack([u, np.cross(arm, u)])  # rates of lengths by those of the platform
    v, w = np.split(np.linalg.solve(J, L_t), 2)
    ends = v + np.cross(w, arm)
    inward = np.cross(w, np.cross(w, arm))
    a, w_t = np.split(np.linalg.solve(J, L_tt + (L_t**2 - (ends**2).sum(1)) / L - (u * inward).sum(1)), 2)
    accelerations = a + np.cross(w_t, arm) + inward

    centre, inertia = axes @ [0, 0, 0.1], axes @ np.diag([5.0, 5.0, 9.0]) @ axes.T
    push = 50.0 * (a + np.cross(w_t, centre) + np.cross(w, np.cross(w, centre)) + UP)
    forces = np.append(push, np.cross(centre, push) + inertia @ w_t + np.cross(w, inertia @ w))
    for i in range(6):
        turn = (ends[i] - L_t[i] * u[i]) / L[i]  # of the direction
        turn_t = (accelerations[i] - L_tt[i] * u[i] - 2 * L_t[i] * turn) / L[i]
        across = (np.eye(3) - np.outer(u[i], u[i])) / L[i]
        _, at_half = slender(2.0, np.zeros(3), 0.5 * turn_t)
        at_end, at_lower = slender(1.0, accelerations[i], accelerations[i] - 0.5 * turn_t)
        at_joint = 0.5 * across @ at_half + at_end + (np.eye(3) - 0.5 * across) @ at_lower
        forces += np.append(at_joint, np.cross(arm[i], at_joint))
    found = [result[f"F{i}"][instant] for i in range(1, 7)]
    assert np.allclose(np.ravel(found), -np.linalg.solve(J.T, forces), rtol=1e-9)


@pytest.mark.parametrize("instant", IN_MOTION)
def test_delta(instant):
    result = motion("delta")
    phi = np.radians(120.0 * np.arange(3))
    out = np.stack([np.cos(phi), np.sin(phi), 0 * phi], axis=1)
    s = min(result["time"][instant] / 0.4, 1.0)
    turn = np.radians(25.0) * np.array([-1.0, 0.0, 1.0])
    way = s**3 * (10 - 15 * s + 6 * s**2), 30 * (s - s**2) ** 2 / 0.4, 60 * s * (1 - s) * (1 - 2 * s) / 0.16
    q, q_t, q_tt = np.outer(way, turn)
    q = q + np.radians(10.0)
    level, drop = out * np.cos(q)[:, None], np.outer(np.sin(q), [0.0, 0.0, 1.0])
    arm = 0.3 * (level - drop)
    normal = -0.3 * (out * np.sin(q)[:, None] + np.outer(np.cos(q), [0.0, 0.0, 1.0]))  # of it by its angle
    rod = result["place"][instant] + 0.06 * out - 0.2 * out - arm
    assert np.allclose(np.linalg.norm(rod, axis=1), 0.8, rtol=0, atol=1e-11)

    elbow_t, elbow_tt = q_t[:, None] * normal, q_tt[:, None] * normal - (q_t**2)[:, None] * arm
    J = np.linalg.solve(rod, np.diag((rod * normal).sum(1)))  # the platform's velocity by those of the arms
    v = J @ q_t
    a = np.linalg.solve(rod, (rod * elbow_tt).sum(1) - ((v - elbow_t) ** 2).sum(1))
    torque = J.T @ (1.2 * (a + UP))
    for i in range(3):
        at_elbow, at_wrist = slender(0.32, elbow_tt[i], a)
        _, at_end = slender(0.45, np.zeros(3), elbow_tt[i])
        torque += J.T @ at_wrist
        torque[i] += normal[i] @ (at_elbow + at_end)
    found = [result[f"tau{i}.moment"][instant, 2] for i in range(1, 4)]
    assert np.allclose(found, torque, rtol=1e-9)
