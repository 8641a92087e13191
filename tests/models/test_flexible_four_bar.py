"""A four-bar whose coupler bends, against points of mass on a floating frame, with Lagrange's multipliers for its loop.

The oracle knows no terms of standard input data: it finds the coupler's modes by dense matrices, and sums forces of
inertia over points along it and in its section. Its derivatives are differences.
"""

import json
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import fsolve

import mbsim_cli as mbsim

CRANK, ROCKER, GROUND, ELEMENTS, MODES, DURATION = 0.2, 0.6, 0.7, 6, 5, 0.1
RHO, AREA, SPEED, WEIGHT = 1000.0, 1e-3, 15.0, 9.81
NUMBERS = {"E": 2e8, "height": 0.02, "L": 0.5}
ANGLE = 0.7  # of the crank at the start
NAMES = ("rocker", "sag", "energy")
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def hermite(s, l):
    """Values, slopes and curvatures (4,) of the shapes of a beam element at s of its length l."""
    return (
        np.array([1 - 3 * s**2 + 2 * s**3, l * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, l * (s**3 - s**2)]),
        np.array([6 * s**2 - 6 * s, l * (1 - 4 * s + 3 * s**2), 6 * s - 6 * s**2, l * (3 * s**2 - 2 * s)]) / l,
        np.array([12 * s - 6, l * (6 * s - 4), 6 - 12 * s, l * (6 * s - 2)]) / l**2,
    )


class Coupler:
    """Points (k, 2) with masses, their displacements (k, 2, MODES) by modes that are clamped at x = 0; stiffness."""

    def __init__(self, E, height, L):
        l, size = L / ELEMENTS, 3 * ELEMENTS + 3
        radius = height / np.sqrt(12)  # of gyration of the section: there two points have its second moment
        at, weights = np.polynomial.legendre.leggauss(4)
        K, places, masses, shapes = np.zeros((size, size)), [], [], []
        for e in range(ELEMENTS):
            bending = 3 * e + np.array([1, 2, 4, 5])
            for s, w in zip((at + 1) / 2, weights / 2 * l, strict=True):
                value, slope, curvature = (np.zeros(size) for _ in range(3))
                value[bending], slope[bending], curvature[bending] = hermite(s, l)
                along, stretch = np.zeros(size), np.zeros(size)
                along[[3 * e, 3 * e + 3]], stretch[[3 * e, 3 * e + 3]] = (1 - s, s), (-1 / l, 1 / l)
                K += w * E * AREA * (np.outer(stretch, stretch) + radius**2 * np.outer(curvature, curvature))
                for y in (-radius, radius):
                    places.append([l * (e + s), y])
                    masses.append(w * RHO * AREA / 2)
                    shapes.append([along - y * slope, value])
        self.places, self.masses, shapes = np.array(places), np.array(masses), np.array(shapes)
        M = np.einsum("kia,k,kib->ab", shapes, self.masses, shapes)
        squares, modes = eigh(K[3:, 3:], M[3:, 3:], subset_by_index=[0, MODES - 1])
        self.shapes, self.stiffness = shapes[:, :, 3:] @ modes, squares
        self.end, self.at_end = np.array([L, 0.0]), modes[-3:-1]


class FourBar:
    """Coordinates: angles of crank and rocker, place and angle of the coupler's frame, its elastic coordinates."""

    def __init__(self, **numbers):
        self.coupler = Coupler(**numbers)
        self.n = 5 + MODES

    def closed(self):
        """Position and velocity at the start, the coupler straight and not bending."""

        def straight(angles):
            return np.array([ANGLE, angles[0], *CRANK * direction(ANGLE), angles[1], *np.zeros(MODES)])

        y = straight(fsolve(lambda angles: self.gap(straight(angles)), [2, 1], xtol=1e-12))
        J = self.slopes(y)[:, :5]
        v = np.linalg.solve(J[:, 1:], -J[:, 0] * SPEED)
        return y, np.array([SPEED, *v, *np.zeros(MODES)])

    def gap(self, y):
        """What the pin of coupler and rocker leaves open (2,)."""
        end = y[2:4] + rotation(y[4]) @ (self.coupler.end + self.coupler.at_end @ y[5:])
        return end - ROCKER * direction(y[1]) - [GROUND, 0]

    def slopes(self, y):
        """Of both pins: derivatives (4, n) of places on the coupler less those on the bars."""
        body, R = self.coupler, rotation(y[4])
        J = np.zeros((4, self.n))
        J[:2, 0], J[:2, 2:4] = -CRANK * TURN @ direction(y[0]), np.eye(2)
        J[2:, 1], J[2:, 2:4], J[2:, 5:] = -ROCKER * TURN @ direction(y[1]), np.eye(2), R @ body.at_end
        J[2:, 4] = R @ TURN @ (body.end + body.at_end @ y[5:])
        return J

    def rates_of_slopes(self, y, v):
        """J' v."""
        body, R = self.coupler, rotation(y[4])
        s, moving = body.end + body.at_end @ y[5:], body.at_end @ v[5:]
        end = R @ (2 * v[4] * TURN @ moving - v[4] ** 2 * s) + ROCKER * v[1] ** 2 * direction(y[1])
        return np.array([*(CRANK * v[0] ** 2 * direction(y[0])), *end])

    def accelerate(self, t, x):
        """Rates of position and velocity."""
        y, v = x[: self.n], x[self.n :]
        body, R = self.coupler, rotation(y[4])
        s, moving = body.places + body.shapes @ y[5:], body.shapes @ v[5:]
        J = np.zeros((len(s), 2, self.n))
        J[:, :, 2:4], J[:, :, 4], J[:, :, 5:] = np.eye(2), s @ (R @ TURN).T, R @ body.shapes
        bias = (2 * v[4] * moving @ TURN.T - v[4] ** 2 * s) @ R.T
        J, m = J.reshape(-1, self.n), np.repeat(body.masses, 2)
        M, f = J.T @ (m[:, None] * J), J.T @ (m * (np.tile([0, -WEIGHT], len(s)) - bias.ravel()))
        M[0, 0] += 0.3 * CRANK**2  # rigid bars of 0.9 kg, centres in the middle
        M[1, 1] += 0.3 * ROCKER**2
        f[0] -= 0.9 * WEIGHT * CRANK / 2 * np.cos(y[0])
        f[1] -= 0.9 * WEIGHT * ROCKER / 2 * np.cos(y[1])
        f[5:] -= body.stiffness * y[5:]
        C = self.slopes(y)
        rows = np.block([[M, C.T], [C, np.zeros((4, 4))]])
        return np.concatenate([v, np.linalg.solve(rows, [*f, *-self.rates_of_slopes(y, v)])[: self.n]])

    def values(self):
        """Angle of the rocker and deformation across of the coupler's end at last, integral of the strain energy."""

        def rates(t, x):
            q = x[5 : self.n]
            return np.append(self.accelerate(t, x[:-1]), q @ (self.coupler.stiffness * q) / 2)

        start = np.concatenate([*self.closed(), [0.0]])
        x = solve_ivp(rates, (0, DURATION), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        return np.array([x[1], self.coupler.at_end[1] @ x[5 : self.n], x[-1]])


def direction(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def rotation(angle):
    return np.array([direction(angle), TURN @ direction(angle)]).T


@cache
def exact():
    """Values (3,) and derivatives (3, 3) by ``NUMBERS``, of fourth order."""

    def moved(name, share):
        return FourBar(**NUMBERS | {name: NUMBERS[name] * (1 + share)}).values()

    def derivative(name, h=5e-4):
        near, far = (moved(name, k * h) - moved(name, -k * h) for k in (1, 2))
        return (8 * near - far) / (12 * h * NUMBERS[name])

    return FourBar(**NUMBERS).values(), np.array([derivative(name) for name in NUMBERS]).T


def ours(folder, step, formulation="ali3p-rtdyn1", method="ddm"):
    """The same values and derivatives."""
    section = {"type": "properties", "area": AREA, "torsion": 1e-8}
    section |= dict.fromkeys(("second_moment_y", "second_moment_z"), f"{AREA}*height**2/12")
    coupler = {
        "mesh": {"type": "beam", "length": "L", "planar": True, "elements": ELEMENTS, "section": section},
        "material": "soft", "sets": {"root": {"x": 0}, "end": {"x": "L"}}, "frame": {"fixed": "root"},
        "modes": {"count": MODES}, "nodes": {"end": {"set": "end"}},
    }  # fmt: skip

    def bar(length):
        return {"mass": 0.9, "center_of_mass": [length / 2, 0, 0], "inertia": {"zz": 0.9 * length**2 / 12}}

    def pin(a, b, point, **initial):
        return {"type": "revolute", "bodies": [a, b], "point": point, "axis": "z", **initial}

    turning = {"angle": ANGLE, "angular_velocity": SPEED, "independent": True}
    model = {
        "mbsim": 1, "gravity": [0, -WEIGHT, 0], "vectors": {"z": {"all": [0, 0, 1]}}, "parameters": NUMBERS,
        "points": {
            "A": {"crank": [CRANK, 0, 0]}, "B": {"rocker": [ROCKER, 0, 0]},
            "D": {"ground": [GROUND, 0, 0], "rocker": [0, 0, 0]},
        },
        "materials": {"soft": {"youngs_modulus": "E", "poisson_ratio": 0.3, "density": RHO}},
        "bodies": {"crank": bar(CRANK), "rocker": bar(ROCKER), "coupler": {"flexible": coupler}},
        "joints": {
            "O": pin("ground", "crank", "origin", initial=turning),
            "A": pin("crank", "coupler", ["A", "origin"], initial={"angle": 0.26}),
            "B": pin("rocker", "coupler", ["B", "end"]),
            "D": pin("ground", "rocker", "D", initial={"angle": 2.02}),
        },
        "sensors": {
            "rocker": {"type": "coordinate", "coordinate": "D.angle"},
            "sag": {"type": "deformation", "point": "coupler.end"},
            "U": {"type": "strain_energy", "body": "coupler"},
        },
        "objectives": {"rocker": {"final": "rocker"}, "sag": {"final": "sag.y"}, "energy": {"integral": "U"}},
        "analysis": {"step": step, "duration": DURATION, "sensitivity": {"method": method}},
    }  # fmt: skip
    (folder / "model.yaml").write_text(json.dumps(model))
    found = mbsim.run(folder / "model.yaml", formulation=formulation).objectives
    return np.array([[found[name].value, *found[name].gradient] for name in NAMES])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "method"), [("ali3p-rtdyn1", "ddm"), ("ali3p-rtdyn1", "adjoint"), ("ali3p-natural", "ddm")]
)
def test_values_and_gradients(tmp_path, formulation, method):
    coarse, fine = (ours(tmp_path, step, formulation, method) for step in (1e-5, 5e-6))
    found, (values, gradients) = fine + (fine - coarse) / 3, exact()
    assert found[:, 0] == pytest.approx(values, rel=1e-7)
    assert found[:, 1:] == pytest.approx(gradients, rel=5e-6)
