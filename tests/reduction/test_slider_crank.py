"""The flexible slider-crank of Held (2021) by the terms of a reduced crank, against a simulation of other origin.

The references come from a program that shares nothing with this one, converged in time to 1e-13: psi is the integral of
q . Ke q, differentiated by densities of elements.
"""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.reduction.fields import Simp
from mbsim_cli.reduction.reduce import derivative, reduced

from .bodies import crank
from .slider_crank import SliderCrank

STEP = 1e-30
PSI, ALONG_ALL, NORM = 6.230522684450e-2, -1.8616745827e-1, 3.3151577635e-2
ELEMENTS = {0: -1.076158349698e-2, 1: -1.541357009504e-3, 40: -2.683743415583e-3, 79: 8.58363676e-5}


def with_density(p):
    body = crank()
    structure = body.structure.with_density(Simp().stiffness(p), Simp().mass(p))
    return replace(body, structure=structure)


def moved(sid, change):
    """Terms with a complex step along their derivatives."""

    def step(_, term, derivatives):
        pairs = zip(term, derivatives, strict=True)
        return type(term)(*(None if x is None else x if y is None else x + 1j * STEP * y for x, y in pairs))

    return sid.map(step, change)


def bodies():
    found = reduced(with_density(np.ones(80)))
    directions = [np.ones(80), *(np.eye(80)[e] for e in ELEMENTS)]
    return [moved(found.sid, derivative(found, with_density(1 + 1j * STEP * d), STEP)) for d in directions]


def test_the_start_of_the_motion():
    """While the acceleration 45 pi t^2 grows slowly, the deflection is the static one of the inertia that it meets."""
    sid = reduced(with_density(np.ones(80))).sid
    load = sid.Cr.M0[:, 2] + sid.nodes[0].phi.M0[:, 1] * 0.4 * (1 / 4 + 1 / 12)
    compliance = load @ np.linalg.solve(sid.Ke.M0, load)
    psi = SliderCrank([sid]).psi(0.02, 200)
    assert psi == pytest.approx(compliance * (45 * np.pi) ** 2 * 0.02**5 / 5, rel=0.05)


@pytest.mark.slow
def test_psi_and_its_gradient():
    psi = SliderCrank(bodies()).psi(2.0, 40_000)
    gradient = psi.imag / STEP
    assert psi.real == pytest.approx(PSI, rel=1e-8)
    assert gradient[0] == pytest.approx(ALONG_ALL, rel=1e-7)
    assert gradient[1:] == pytest.approx(list(ELEMENTS.values()), abs=1e-6 * NORM)
