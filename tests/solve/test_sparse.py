"""Derivatives by many parameters, kept by their entries: the same as the array that they stand for."""

import pickle
from copy import copy

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.assembly.parameters import numbers
from mbsim_cli.solve.sparse import Sparse, pulled

N, P = 12, 7


@pytest.fixture
def pair():
    random = np.random.default_rng(3)
    dense = np.where(random.random((N, P)) < 0.2, random.normal(size=(N, P)), 0.0)
    dense[4], dense[:, 2] = 0.0, 0.0
    row, column = np.nonzero(dense)
    shuffled = random.permutation(row.size)
    return Sparse((N, P), row[shuffled], column[shuffled], dense[row, column][shuffled]), dense


def test_it_is_its_array(pair):
    sparse, dense = pair
    for axis in (None, 0, 1):
        assert np.array_equal(np.any(sparse, axis=axis), dense.any(axis=axis))
    for key in (3, -1, slice(2, 6), [1, 4, 4], np.array([0, 11]), np.arange(N) % 3 == 0, [], slice(None)):
        assert np.array_equal(sparse[key], dense[key])
    x = np.random.default_rng(4).normal(size=(N, 3))
    assert np.allclose(pulled(sparse, x), dense.T @ x, rtol=1e-14)
    assert np.allclose(sparse @ x[:P, 0], dense @ x[:P, 0], rtol=1e-14)
    assert sparse._dense is None and sparse[:, :P] is sparse and sparse[:, :0].shape == (N, 0)
    assert sparse._dense is None  # until more is asked of it
    for key in ((slice(None), 3), (slice(None), slice(1, 4)), (2, 3), (slice(None), slice(None, None, -1))):
        assert np.array_equal(sparse[key], dense[key])
    assert np.array_equal(np.hstack([sparse, x]), np.hstack([dense, x]))
    assert np.array_equal(2.0 * sparse + 1j, 2.0 * dense + 1j) and np.array_equal(sparse @ x[:P], dense @ x[:P])
    assert np.array_equal(sparse.T, dense.T) and sparse.size == dense.size and len(sparse) == N
    for other in (copy(sparse), pickle.loads(pickle.dumps(sparse))):
        assert np.array_equal(np.asarray(other), dense)


MODEL = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {m: 2, L: 0.7, k: 5}
bodies: {rod: {mass: m, center_of_mass: [0, 0, "-L"], inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}}
joints: {pin: {type: revolute, bodies: [ground, rod], point: origin, axis: y, initial: {angle: 0.3}}}
forces: {s: {type: rotational_spring_damper, coordinate: pin.angle, stiffness: k, natural_angle: 0}}
sensors: {a: {type: coordinate, coordinate: pin.angle}}
objectives: {psi: {integral: "a**2"}}
analysis: {step: 0.02, duration: 0.2, sensitivity: {method: adjoint, parameters: all}}
"""


@pytest.mark.parametrize(
    "formulation",
    ["ali3p-rtdyn1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("recursive", "ali3p-natural"))],
)
def test_gradients_by_the_adjoint_are_the_same(monkeypatch, formulation):
    value, gradient = mbsim.loads(MODEL).value_and_gradient(sensitivity="adjoint", formulation=formulation)
    monkeypatch.setattr(numbers, "MANY", 0)
    model = mbsim.loads(MODEL)
    assert isinstance(model._plan(None, {"sensitivity": "adjoint"})[0].assembled.problem.theta_rho, Sparse)
    again, by_entries = model.value_and_gradient(sensitivity="adjoint", formulation=formulation)
    assert again == value and by_entries == pytest.approx(gradient, rel=1e-13)
