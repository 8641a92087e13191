"""Elastic coordinates of modes: derivatives are those of what a reduction gives at other values, turns included."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.reduction.integrals import in_modes, of_span
from mbsim_cli.reduction.reduce import derivative, reduced
from mbsim_cli.study.reduced_bodies import standard_input
from tests.reduction.bodies import dot
from tests.spec.example import write

from .bodies import FULL, brick, cantilever, crank, free, on_chord, with_rigid_pin

STEP = 1e-30
CASES = {
    "held": lambda L: crank(10, 2, L=L, **FULL),
    "free": lambda L: free(crank(10, 2, L=L, **FULL)),
    "on the chord": lambda L: on_chord(crank(10, 2, L=L, **FULL)),
    "static shapes": lambda L: with_rigid_pin(crank(10, 2, L=L, static=(0,), **FULL), L),
    "double modes that stay": lambda L: brick(L, (3, 2, 2), **FULL),
}


def modal(make, value):
    before = reduced(make(value))
    return before.sid, in_modes(before.sid, derivative(before, make(value + 1j * STEP), STEP))


def entries(sid):
    return {(path, order): found for path, term in sid.items() for order, found in enumerate(term) if found is not None}


@pytest.mark.parametrize("case", CASES)
def test_against_reductions_at_other_values(case):
    make, value, h = CASES[case], 0.4, 1e-4
    sid, found = modal(make, value)
    above, below = (entries(reduced(make(value + change)).sid) for change in (h, -h))
    of_it = entries(sid)
    for key, rate in entries(found).items():
        size = max(np.abs(rate).max(), np.abs(of_it[key]).max() / value, 0.1 / value)
        assert np.abs((above[key] - below[key]) / (2 * h) - rate).max() <= 1e-4 * size, key


def test_modes_keep_their_mass_and_stay_apart():
    _, found = modal(CASES["held"], 0.4)
    size = np.abs(found.Ke.M0).max()
    assert np.abs(found.Me.M0).max() < 1e-9
    assert np.abs(found.Ke.M0 - np.diag(np.diag(found.Ke.M0))).max() < 1e-9 * size


def test_pairs_of_equal_frequencies_stay_where_they_are():
    """A square cantilever bends alike both ways: its pairs turn for no reason, and derivatives are finite."""
    sid, found = modal(lambda L: cantilever(L, 4, section=(0.02 * L, 0.02 * L), **FULL), 1.0)
    squares = np.diag(sid.Ke.M0)
    assert np.abs(np.diff(squares)).min() < 1e-6 * squares.min()
    assert np.abs(found.Me.M0).max() < 1e-9
    assert np.abs(found.Ct.M0).max() < 10 * np.abs(sid.Ct.M0).max()


def test_adjoints_are_transposed():
    before = reduced(crank(10, 2, L=0.4, **FULL))
    along = derivative(before, crank(10, 2, L=0.4 + 1j * STEP, **FULL), STEP)
    random = np.random.default_rng(1)
    adjoint = before.sid.map(lambda _, term: term.map(lambda found: random.normal(size=np.shape(found))))
    expected = dot(adjoint, in_modes(before.sid, along))
    assert dot(of_span(before.sid, adjoint), along) == pytest.approx(expected, rel=1e-10)
    assert abs(dot(adjoint, along) - expected) > 1e-3 * abs(expected)


MODEL = """\
mbsim: 1
parameters: {b: 0.03, h: 0.02}
materials: {soft: {youngs_modulus: 1e7, poisson_ratio: 0.3, density: 900}}
bodies:
  beam:
    flexible:
      mesh: {type: beam, length: 0.7, section: {type: rectangle, size: [b, h]}, elements: 2}
      material: soft
      sets: {a: {x: 0}, b: {x: 0.7}}
      frame: {fixed: a}
      modes: {count: 2}
      nodes: {b: {set: b}}
      initial: {position: [0.01, 0.02], velocity: [0.1, 0]}
joints:
  O: {type: revolute, bodies: [ground, beam], point: origin, axis: y}
"""


@pytest.mark.parametrize("name", ["b", "h"])
def test_a_model_that_states_where_its_coordinates_start(tmp_path, name):
    """All numbers of the solver."""

    def problem(change=0.0):
        values = {"b": 0.03, "h": 0.02}
        model = spec.load(write(tmp_path, MODEL), {name: repr(values[name] + change)})
        return build(model, standard_input=standard_input, sensitivity="ddm", sensitivity_parameters=[name]).problem

    step = 1e-7
    expected = (problem(step).theta - problem(-step).theta) / (2 * step)
    found = problem().theta_rho[:, 0]
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
    start = slice(problem().model.tree.initial[0], None)
    assert np.abs((found - expected)[start]).max() <= 1e-5 * np.abs(expected[start]).max()
