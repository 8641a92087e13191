"""Torques of motors that lead the tool of a parallel robot along a path: Lagrange's equations in the tool's place."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from tests.models.command import ROOT

FILE = ROOT / "models/robots/parallel.yaml"
UPPER, LOWER, G = 0.8, 0.5, 9.81  # kg, kg, m/s^2
W, STEP = 2 * np.pi, 1e-30
VALUES = {"upper": 0.3, "lower": 0.45, "gap": 0.1, "load": 2.0, "reach": 0.1}


def path(t, reach):
    """Place, velocity and acceleration of the tool."""
    x = np.array([np.sin(W * t), W * np.cos(W * t), -(W**2) * np.sin(W * t)])
    y = np.array([np.cos(2 * W * t) - 1, -2 * W * np.sin(2 * W * t), -4 * W**2 * np.cos(2 * W * t)]) / 2
    return (reach * np.stack([x, y], axis=1)) + [[0, -0.4], [0, 0], [0, 0]]


def motors(z, upper, lower, gap, load, reach):
    """Of the tool's place z: mass matrix, potential energy, and rates of the motors' angles by the tool's velocity."""
    mass, energy, rates = load * np.eye(2), load * G * z[1], []
    for side in (-1, 1):
        d = z - np.array([side * gap, 0])
        r = np.sqrt(d[0] * d[0] + d[1] * d[1])
        angle = -np.arccos(d[0] / r) + side * np.arccos((upper**2 + r**2 - lower**2) / (2 * upper * r))
        elbow = upper * np.array([np.cos(angle), np.sin(angle)])
        turned = np.array([-elbow[1], elbow[0]])
        rate = (d - elbow) / ((d - elbow) @ turned)
        moved = np.outer(turned, rate)  # velocity of the elbow by that of the tool
        rod = moved.T @ moved + (moved + moved.T) / 2 + np.eye(2)
        mass = mass + UPPER * upper**2 / 3 * np.outer(rate, rate) + LOWER / 3 * rod
        energy = energy + G * (UPPER * elbow[1] + LOWER * (elbow[1] + z[1])) / 2
        rates.append(rate)
    return mass, energy, np.stack(rates)


def torques(t, **values):
    """d/dt (M v) - grad(v . M v / 2 - V) = J^T tau, gradients by the complex step."""
    z, v, a = path(t, values["reach"])
    mass, _, rates = motors(z, **values)
    shifted = [motors(z + 1j * STEP * direction, **values) for direction in np.eye(2)]
    slopes = np.array([one[0].imag / STEP for one in shifted])
    force = mass @ a + np.einsum("kij,k,j->i", slopes, v, v) - np.einsum("kij,i,j->k", slopes, v, v) / 2
    force += [one[1].imag / STEP for one in shifted]
    return np.linalg.solve(rates.T, force)


@pytest.fixture(scope="module")
def result():
    return mbsim.load(str(FILE)).run()


def test_torques_at_all_instants(result):
    shown = np.stack([result[motor] for motor in "AB"], axis=1)
    expected = np.array([torques(t, **VALUES) for t in result.time])
    np.testing.assert_allclose(shown, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_derivatives(result):
    """Those of a length change path and motion of the motors, too."""

    def end(name, shift):
        return torques(0.8, **(VALUES | {name: VALUES[name] + shift}))[0]

    h = 1e-4
    slopes = [(8 * (end(n, h) - end(n, -h)) - end(n, 2 * h) + end(n, -2 * h)) / (12 * h) for n in VALUES]
    np.testing.assert_allclose(result.objectives["end"].gradient, slopes, rtol=1e-9)
