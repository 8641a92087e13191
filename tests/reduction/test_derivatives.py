"""Design derivatives of all terms, against the complex step through mesh, modes and terms."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.reduction.data import tangent
from mbsim_cli.reduction.reduce import _along, derivative, reduced
from mbsim_cli.reduction.restriction import system_of

from .bodies import FULL, brick, cantilever, crank, free, on_chord, with_rigid_pin
from .newton import Newton

STEP = 1e-30
CASES = {
    "Young's modulus": (2.1e11, lambda E: crank(10, 2, E=E, **FULL)),
    "length": (0.4, lambda L: crank(10, 2, L=L, **FULL)),
    "static shapes": (0.4, lambda L: crank(10, 2, L=L, static=(0,), **FULL)),
    "free": (0.4, lambda L: free(crank(10, 2, L=L, **FULL))),
    "free with static shapes": (0.4, lambda L: free(crank(10, 2, L=L, static=(0,), **FULL))),
    "on the chord": (0.4, lambda L: on_chord(crank(10, 2, L=L, **FULL))),
    "rigid pin": (0.4, lambda L: with_rigid_pin(crank(10, 2, L=L, static=(0,), **FULL), L)),
    "some modes": (0.4, lambda L: replace(crank(10, 2, L=L, **FULL), modes=(0, 2, 3))),
    "double modes of a beam": (1.0, lambda L: cantilever(L, 4, section=(0.02 * L, 0.02), **FULL)),
    "planar beam": (1.0, lambda L: cantilever(L, 4, 4, planar=True, **FULL)),
    "double modes of a solid": (1.0, lambda L: brick(L, (3, 2, 2), **FULL)),
    "free solid": (1.0, lambda L: free(brick(L, (3, 1, 1), **FULL))),
}


@pytest.mark.parametrize("case", CASES)
def test_against_the_complex_step(case):
    value, make = CASES[case]
    before = reduced(make(value))
    changed = make(value + 1j * STEP * value)
    system = system_of(changed.structure, changed.held, changed.frame.free)
    direct = derivative(before, changed, STEP * value)
    newton = tangent(_along(before, changed, Newton(before.solver, system)), STEP * value)
    for (path, found), (_, wanted), (_, term) in zip(direct.items(), newton.items(), before.sid.items(), strict=True):
        for a, b, entries in zip(found, wanted, term, strict=True):
            if a is not None:
                # entries that cancel are as exact as the columns of the Gram matrix that they come from
                floor = 1e-9 * max(np.abs(entries).max() / value, np.abs(b).max(), 0.1 / value)
                assert np.abs(a - b).max() <= floor, (path, np.abs(a - b).max(), floor)


def test_against_differences():
    """Nothing of the complex step: spans of modes of two bodies, turned to face each other."""
    h = 1e-5
    before = reduced(crank(10, 2, L=0.4))
    along = derivative(before, crank(10, 2, L=0.4 + 1j * STEP), STEP)
    beside = [reduced(crank(10, 2, L=0.4 + s * h)).shapes for s in (1, -1)]
    M = before.body.structure.M
    faced = [U @ np.linalg.inv(before.shapes.T @ (M @ U)) for U in beside]
    phi = [(before.body.nodes[0].phi @ U).T for U in faced]
    # the node's weights do not depend on the length
    assert pytest.approx((phi[0] - phi[1]) / (2 * h), rel=1e-6, abs=1e-6) == along.nodes[0].phi.M0


@pytest.mark.parametrize("frame", [lambda body: body, free])
def test_shapes_do_not_turn_within_their_span(frame):
    """The modulus scales static shapes, and leaves the span of all: the mass stays, the stiffness scales."""
    E = 2.1e11
    before = reduced(frame(crank(10, 2, E=E, static=(0,))))
    along = derivative(before, frame(crank(10, 2, E=E + 1j * STEP * E, static=(0,))), STEP * E)
    assert np.abs(along.Me.M0).max() * E < 1e-7  # the shapes are orthonormal to 1e-8
    assert np.abs(E * along.Ke.M0 - before.sid.Ke.M0).max() < 1e-7 * before.sid.Ke.M0.max()


def test_frozen_modes_are_wrong():
    """What is proved above is not that nothing moves."""
    before = reduced(crank(10, 2, L=0.4))
    along = derivative(before, crank(10, 2, L=0.4 + 1j * STEP), STEP)
    assert np.abs(along.nodes[0].phi.M0).max() > 0.1
