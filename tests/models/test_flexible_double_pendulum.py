"""A double pendulum of two slender beams that fall, against beams in absolute nodal coordinates, which know no frame.

The oracle has places and slopes of nodes as coordinates (Gerstmayr and Shabana, Analysis of thin beams and cables using
the absolute nodal coordinate formulation, Nonlinear Dynamics 45, 2006), and bends and stretches by any amount.
"""

import json

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import AnalysisError

BENDING, HEIGHT, WEIGHT, ELEMENTS, DURATION = 50.0, 0.02, 9.81, 4, 0.5  # of beams of 1 m and 1 kg
STRETCHING, LENGTH = 12 * BENDING / HEIGHT**2, 1 / ELEMENTS
_AT, _WEIGHTS = np.polynomial.legendre.leggauss(5)
AT, WEIGHTS = (_AT + 1) / 2, _WEIGHTS / 2 * LENGTH
VALUE = np.array([1 - 3 * AT**2 + 2 * AT**3, AT - 2 * AT**2 + AT**3, 3 * AT**2 - 2 * AT**3, AT**3 - AT**2])
FIRST = np.array([6 * AT**2 - 6 * AT, 1 - 4 * AT + 3 * AT**2, 6 * AT - 6 * AT**2, 3 * AT**2 - 2 * AT]) / LENGTH
SECOND = np.array([12 * AT - 6, 6 * AT - 4, 6 - 12 * AT, 6 * AT - 2]) / LENGTH**2
for shapes in (VALUE, FIRST, SECOND):
    shapes[1::2] *= LENGTH  # slopes are by length
CHORD = {"chord": ["root", "end"]}
HINGE = {"type": "revolute", "axis": "z", "initial": {"angle": 0}}


class Beams:
    """Two beams, hinged on the ground and to each other: places and slopes (n,) of their nodes."""

    def __init__(self):
        places = np.arange(2 * ELEMENTS + 1)
        slopes = np.arange(places.size, places.size + 2 * ELEMENTS + 2)
        nodes = [
            (places[e], slopes[e + beam], places[e + 1], slopes[e + beam + 1])
            for beam in (0, 1)
            for e in range(beam * ELEMENTS, (beam + 1) * ELEMENTS)
        ]
        self.entries = 2 * np.array(nodes)[..., None] + np.arange(2)  # (elements, 4, 2)
        self.n, self.elbow, self.tip = 2 * (places.size + slopes.size), 2 * ELEMENTS, 4 * ELEMENTS
        self.start = np.zeros((self.n // 2, 2))
        self.start[: places.size, 0], self.start[places.size :, 0] = places * LENGTH, 1.0
        mass = sum(
            share * np.einsum("ig,g,jg->ij", shapes, WEIGHTS, shapes)
            for share, shapes in ((1.0, VALUE), (HEIGHT**2 / 12, FIRST))  # the section turns as the slope does
        )
        self.M = self.matrix(np.einsum("ij,cd->icjd", mass, np.eye(2))[None])
        self.weight = np.zeros(self.n)
        down = np.einsum("ig,g,c->ic", VALUE, WEIGHTS, [0, -WEIGHT])
        np.add.at(self.weight, self.entries, down)

    def matrix(self, of_elements):
        """Sum (n - 2, n - 2) of matrices (elements or 1, 4, 2, 4, 2), the hinge on the ground left out."""
        found, rows = np.zeros((self.n, self.n)), self.entries.reshape(-1, 8)
        values = np.broadcast_to(of_elements.reshape(-1, 8, 8), (len(rows), 8, 8))
        np.add.at(found, (rows[:, :, None], rows[:, None]), values)
        return found[2:, 2:]

    def residual(self, q, acceleration):
        """What is left of the equations of motion (n - 2,)."""
        elastic = np.zeros(self.n)
        np.add.at(elastic, self.entries, elastic_forces(q[self.entries]))
        return self.M @ acceleration[2:] + (elastic - self.weight)[2:]

    def stiffness(self, q):
        steps = 1e-30j * np.eye(8).reshape(8, 1, 4, 2)
        by_column = elastic_forces(q[self.entries] + steps).imag / 1e-30  # (8, elements, 4, 2)
        return self.matrix(np.moveaxis(by_column, 0, -1))

    def fall(self, steps):
        """Places of the elbow and of the tip (4,) at last, by the trapezoidal rule."""
        h, q = DURATION / steps, self.start.ravel()
        v, a = np.zeros(self.n), np.zeros(self.n)
        a[2:] = -np.linalg.solve(self.M, self.residual(q, a))
        for _ in range(steps):
            ahead, fresh = q + h * v + h**2 / 4 * a, a.copy()
            tangent = np.linalg.inv(self.M + h**2 / 4 * self.stiffness(ahead + h**2 / 4 * fresh))
            for _ in range(20):
                change = tangent @ self.residual(ahead + h**2 / 4 * fresh, fresh)
                fresh[2:] -= change
                if np.abs(change).max() * h**2 < 1e-11:
                    break
            else:
                raise AssertionError("no convergence")
            q, v, a = ahead + h**2 / 4 * fresh, v + h / 2 * (a + fresh), fresh
        return np.array([*q[self.elbow :][:2], *q[self.tip :][:2]])


def elastic_forces(e):
    """Of elements with coordinates (..., 4, 2): derivatives of energy by strain |r'| - 1 and curvature."""
    first, second = (np.einsum("ig,...ic->...gc", shapes, e) for shapes in (FIRST, SECOND))
    square = (first**2).sum(-1)
    curvature = (first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]) / square
    force, moment = STRETCHING * (1 - square**-0.5), BENDING * curvature / square
    by_first = (force - 2 * moment * curvature)[..., None] * first
    by_first = by_first + moment[..., None] * np.stack([second[..., 1], -second[..., 0]], -1)
    by_second = moment[..., None] * np.stack([-first[..., 1], first[..., 0]], -1)
    return np.einsum("ig,g,...gc->...ic", FIRST, WEIGHTS, by_first) + np.einsum(
        "ig,g,...gc->...ic", SECOND, WEIGHTS, by_second
    )


def beam(stiffening, frame):
    section = {
        "type": "properties",
        "area": 1,
        **dict.fromkeys(("second_moment_y", "second_moment_z", "torsion"), HEIGHT**2 / 12),
    }
    return {
        "flexible": {
            "mesh": {"type": "beam", "length": 1, "planar": True, "elements": ELEMENTS, "section": section},
            "material": "soft", "sets": {"root": {"x": 0}, "end": {"x": 1}}, "frame": frame,
            "modes": {"count": 6}, "nodes": {"root": {"set": "root"}, "end": {"set": "end"}}, "stiffening": stiffening,
        }
    }  # fmt: skip


def ours(folder, stiffening, step, frame=CHORD, bending=BENDING):
    """Places (4,) at last, and the share of energy that is gained or lost."""
    model = {
        "mbsim": 1, "gravity": [0, -WEIGHT, 0], "vectors": {"z": {"all": [0, 0, 1]}},
        "materials": {"soft": {"youngs_modulus": bending / BENDING * STRETCHING, "poisson_ratio": 0.3, "density": 1}},
        "bodies": {"inner": beam(stiffening, frame), "outer": beam(stiffening[:2], frame)},
        "joints": {
            "hinge": {**HINGE, "bodies": ["ground", "inner"], "point": "origin"},
            "elbow": {**HINGE, "bodies": ["inner", "outer"], "point": ["end", "origin"]},
        },
        "sensors": {
            "elbow": {"type": "position", "point": "inner.end"},
            "tip": {"type": "position", "point": "outer.end"},
        },
        "analysis": {"step": step, "duration": DURATION, "sensitivity": {"method": "none"}},
    }  # fmt: skip
    (folder / "model.yaml").write_text(json.dumps(model))
    result = mbsim.run(folder / "model.yaml")
    places = np.array([*result["elbow"][-1][:2], *result["tip"][-1][:2]])
    return places, result.report["diagnostics"]["energy_imbalance"]


def limit(coarse, fine):
    """Of second order in the step, two of them give the fourth."""
    return fine + (fine - coarse) / 3


@pytest.mark.slow
def test_fall(tmp_path):
    """The beams bend by a hundredth; without what stiffens them their ends are 0.1 mm off."""
    beams = Beams()
    exact = limit(*(beams.fall(steps) for steps in (1000, 2000)))
    runs = [ours(tmp_path, ["rotation", "acceleration", "end"], step) for step in (2.5e-4, 1.25e-4)]
    soft = ours(tmp_path, [], 1.25e-4)[0]
    assert np.abs(limit(*(places for places, _ in runs)) - exact).max() < 1e-5
    assert np.abs(soft - exact).max() > 5e-5
    assert runs[1][1] < 1e-7


@pytest.mark.slow
def test_shapes_that_have_no_mass_left_are_named(tmp_path):
    """Six modes of a softer beam that is clamped in its frame, and stiffened by acceleration, fail at any step."""
    loads = ["rotation", "acceleration", "end"]
    with pytest.raises(
        AnalysisError, match=r"the inertia of 'outer' is negative .* fewer modes or a frame on a chord do"
    ):
        ours(tmp_path, loads, 2.5e-4, {"fixed": "root"}, BENDING / 2)
