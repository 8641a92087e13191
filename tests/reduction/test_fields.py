"""Gradients by the density of every element: the transpose of derivatives along single densities."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.reduction.data import StandardInput
from mbsim_cli.reduction.fields import Simp, element_gradients, filter_of
from mbsim_cli.reduction.mesh import grid
from mbsim_cli.reduction.reduce import Damping, derivative, reduced
from tests.reduction.bodies import dot

from .bodies import FULL, brick, cantilever, crank, free, on_chord, waves, with_rigid_pin

STEP = 1e-30
SIMP = Simp()


def dense(body, p):
    """A body with densities."""
    return replace(body, structure=body.structure.with_density(SIMP.stiffness(p), SIMP.mass(p)))


DAMPED = {"damping": Damping(1.0, 1e-5, 0.01)}
CASES = {
    "crank": lambda: crank(6, 2, 4, **DAMPED),
    "static shapes": lambda: crank(6, 2, 3, static=(0,), **DAMPED),
    "free": lambda: free(crank(6, 2, 3)),
    "free with static shapes": lambda: free(crank(6, 2, 3, static=(0,))),
    "on the chord": lambda: on_chord(crank(6, 2, 3)),
    "rigid pin": lambda: with_rigid_pin(crank(6, 2, 3, static=(0,)), 0.4),
    "beam": lambda: cantilever(elements=5, **DAMPED),
    "solid": lambda: brick(elements=(3, 2, 1), k=4),
    "stiffened": lambda: crank(5, 2, 3, **FULL),
    "stiffened, free": lambda: free(crank(5, 2, 3, static=(0,), **FULL)),
    "stiffened, on the chord": lambda: with_rigid_pin(on_chord(crank(5, 2, 3, **FULL)), 0.4),
    "stiffened beam": lambda: cantilever(elements=4, **FULL),
    "stiffened planar beam": lambda: cantilever(elements=4, k=3, planar=True, **FULL),
    "stiffened solid": lambda: brick(elements=(3, 2, 1), k=4, **FULL),
}


def random_adjoint(sid: StandardInput) -> StandardInput:
    """A number for each entry, of a size that makes all terms count."""
    random = np.random.default_rng(0)

    def entries(term):
        return random.normal(size=term.shape) / max(np.abs(term).max(initial=0.0), 1e-3)

    return sid.map(lambda _, term: term.map(entries))


@pytest.mark.parametrize("case", CASES)
def test_transpose_of_derivatives_along_densities(case):
    body = CASES[case]()
    p = 0.5 + 0.4 * np.random.default_rng(1).random(len(body.structure.dofs))
    p[1] = 0.05  # of the other law of mass
    found = reduced(dense(body, p))
    adjoint = random_adjoint(found.sid)
    gradient = SIMP.pull_back(p, *element_gradients(found, adjoint))
    pushed = [dot(derivative(found, dense(body, p + 1j * STEP * unit), STEP), adjoint) for unit in np.eye(len(p))]
    assert gradient == pytest.approx(pushed, rel=1e-9, abs=1e-9 * np.abs(pushed).max())


def test_what_does_not_depend_on_the_basis_has_a_gradient():
    """The sag by the weight under a bending force, whose differences know nothing of shapes."""
    p = waves(6, 2)

    def shifted(p):
        sid = reduced(dense(crank(6, 2, 3, static=(0,)), p)).sid
        phi = sid.nodes[0].phi.M0[:, 1]
        return phi @ np.linalg.solve(sid.Ke.M0, sid.Ct.M0[:, 1]), sid

    value, sid = shifted(p)
    phi = sid.nodes[0].phi.M0[:, 1]
    left, right = np.linalg.solve(sid.Ke.M0, phi), np.linalg.solve(sid.Ke.M0, sid.Ct.M0[:, 1])
    adjoint = sid.map(lambda _, term: term.map(np.zeros_like))
    adjoint.Ke.M0[:] = -np.outer(left, right)
    adjoint.Ct.M0[:, 1] = left
    adjoint.nodes[0].phi.M0[:, 1] = right
    gradient = SIMP.pull_back(p, *element_gradients(reduced(dense(crank(6, 2, 3, static=(0,)), p)), adjoint))
    direction = np.cos(np.arange(len(p)))
    h = 1e-5
    difference = (shifted(p + h * direction)[0] - shifted(p - h * direction)[0]) / (2 * h)
    assert value > 0 and gradient @ direction == pytest.approx(difference, rel=1e-7)


def test_the_law_of_mass_jumps_in_its_slope_only():
    below, above = SIMP.mass(np.array([0.1 - 1e-12, 0.1]))
    assert below == pytest.approx(above)
    p = np.array([0.03, 0.3, 1.0])
    slope = SIMP.pull_back(p, np.zeros(3), np.ones(3))
    assert slope == pytest.approx(SIMP.mass(p + 1e-30j).imag / 1e-30)
    assert SIMP.pull_back(p, np.ones(3), np.zeros(3)) == pytest.approx(SIMP.stiffness(p + 1e-30j).imag / 1e-30)


def test_filter():
    """Keeps what is even, spreads a single element over its neighbours, and nothing over none."""
    mesh = grid([0, 0], [4, 3], [4, 3])
    H = filter_of(mesh, 1.5).toarray()
    assert H.sum(1) == pytest.approx(np.ones(12))
    near = [1.5, 0.5, 0.5, 0.5, 0.5] + [1.5 - 2**0.5] * 4
    assert H[4, 4] == pytest.approx(1.5 / sum(near)) and (H[4] > 0).sum() == 9
    assert filter_of(mesh, 0.5).toarray() == pytest.approx(np.eye(12))
