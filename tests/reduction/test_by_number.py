"""Bodies by numbers: the rod of Simeon's slider-crank, and the terms that follow from others."""

import re

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.reduction.data import tilde
from mbsim_cli.reduction.reduce import Damping, Integrals, body_of, reduced
from mbsim_cli.reduction.sid_reader import warnings_of
from tests.reduction.reduced import reduce_body
from tests.spec.example import write

from .bodies import brick

E, RHO, SIDE, LENGTH = 0.20e12, 7870.0, 0.008, 0.30
PI = np.pi


def test_what_follows_from_integrals():
    """Of a meshed body in space, the independent integrals give back all terms."""
    sid = reduced(brick(elements=(3, 2, 1), k=4)).sid
    given = Integrals(
        sid.mass.M0, sid.mdCM.M0, sid.J.M0, sid.J.M1, sid.J.M2, sid.Ct.M0, sid.Cr.M0, sid.Cr.M1, sid.Me.M0, sid.Ke.M0
    )
    again = body_of(given, sid.nodes, Damping())
    for (path, a), (_, b) in zip(sid.items(), again.items(), strict=True):
        for x, y in zip(a, b, strict=True):
            if x is not None:
                assert x == pytest.approx(y, abs=1e-10 * max(np.abs(x).max(), 1e-3)), path
    assert list(warnings_of(again)) == []


def test_products_of_shapes_by_their_definition():
    """-int rho Phi_q~ Phi_l~ of point masses is not symmetric; its other part is Cr1, which Gr counts once."""
    Phi = np.random.default_rng(1).normal(size=(5, 4, 3))  # point, shape
    J2 = -np.einsum("pqij,pljk->qlik", tilde(Phi), tilde(Phi))
    Cr1 = np.cross(Phi[:, :, None], Phi[:, None]).sum(0)
    rows, zero = np.zeros((4, 3)), np.zeros((4, 3, 3))
    given = Integrals(np.array(5.0), np.zeros(3), np.eye(3), zero, J2, rows, rows, Cr1, np.eye(4), np.eye(4))
    assert pytest.approx(2 * J2, abs=1e-14) == body_of(given, (), Damping()).Gr.M1


ROD = """\
mbsim: 1
parameters: {{E: 0.2e12}}
bodies:
  rod:
    flexible:
      terms:
        mass: 0.151104
        mdCM: [0.0226656, 0, 0]
        J: [[0, 0, 0], [0, 0.00453312, 0], [0, 0, 0.00453312]]
        Ct: [[0, {c2}, 0], [0, 0, 0]]
        Cr: [[0, 0, {c21}], [0, 0, {c22}]]
        Me: [[{m}, 0], [0, {m}]]
        Ke: [[{k1}*E, 0], [0, {k2}*E]]
"""


def rod_text():
    """Two sine modes across (Simeon, IVP test set), in SI units."""
    mass, stiff = RHO * SIDE**2 * LENGTH, SIDE**2 / LENGTH
    return ROD.format(
        c2=mass * 2 / PI, c21=mass * LENGTH / PI, c22=-mass * LENGTH / (2 * PI), m=mass / 2,
        k1=stiff * PI**4 / 24 * (SIDE / LENGTH) ** 2, k2=stiff * 2 * PI**4 / 3 * (SIDE / LENGTH) ** 2,
    )  # fmt: skip


def test_the_rod_of_simeon(tmp_path):
    """A supported beam: frequencies k^2 pi^2 sqrt(EI / rho A L^4)."""
    sid = reduce_body(spec.load(write(tmp_path, rod_text())), "rod")
    unit = np.sqrt(E * SIDE**2 / 12 / (RHO * LENGTH**4))
    assert 2 * PI * sid.frequencies() == pytest.approx([PI**2 * unit, 4 * PI**2 * unit], rel=1e-12)
    assert pytest.approx(RHO * SIDE**2 * LENGTH, rel=1e-12) == sid.mass.M0
    assert pytest.approx(sid.Ke.M0 / E) == sid.design["E"].Ke.M0
    # no M2: the rod's inertia does not know its deflection, though Me does
    assert any("differs from -2 Me" in warning for warning in sid.warnings)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("mass: 0.151104", "mass: 0", "terms.mass: must be greater than zero, is 0"),
        ("mass: 0.151104", "mass: 1e-300", "numbers are too large, too small or too far apart to compute with"),
        ("Ct: [[0,", "Ct: [[0, 0, 0], [0,", r"terms.Ct: has 3 entries, not 2 as Me has rows"),
        ("Me: [[", "Me: [[1, ", r"terms.Me\[0\]: has 3 entries, not 2"),
        ("J: [[0, 0", "J: [[0, 1", "terms.J: J is not symmetric, by 1 of the largest entry"),
        ("Me: [[", "Me: [[-", "terms.Me: Me is not positive definite"),
        ("Ke: [[", "Ke: [[-", "terms.Ke: Ke is not positive semi-definite"),
    ],
)
@pytest.mark.parametrize("damping", ["", "{ratio: 0.01}"])
def test_what_is_refused(tmp_path, old, new, sentence, damping):
    """Also where damping is computed from it."""
    text = rod_text()
    assert old in text
    text = text.replace(old, new).replace("terms:", f"damping: {damping}\n      terms:" if damping else "terms:")
    with pytest.raises(ModelError, match=sentence):
        reduce_body(spec.load(write(tmp_path, text)), "rod")


def test_of_two_equal_entries_each_counts_half(tmp_path):
    text = rod_text().replace("E: 0.2e12", "E: 0.2e12, x: 0, y: 0, z: 0")
    text = re.sub("Me: .*", "Me: [[0.07, x], [y, 0.07]]", text)
    text = re.sub(" Cr: (.*)", r" Cr: {M0: \1, M1: [[[0, 0, 0], [0, 0, z]], [[0, 0, 0], [0, 0, 0]]]}", text)
    body = reduce_body(spec.load(write(tmp_path, text)), "rod")
    for name in "xy":
        np.testing.assert_array_equal(body.design[name].Me.M0, [[0, 0.5], [0.5, 0]])
    np.testing.assert_array_equal(body.design["z"].Cr.M1[..., 2], [[0, 0.5], [-0.5, 0]])


def test_no_damping_is_negative(tmp_path):
    text = rod_text().replace("terms:", "damping: {ratio: -0.01}\n      terms:")
    with pytest.raises(ModelError, match=r"damping\.ratio: must not be negative, is -0\.01"):
        spec.load(write(tmp_path, text))


ZERO, SKEW, EVEN = (
    "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]",
    "[[0, 1, 0], [0, 0, 0], [0, 0, 0]]",
    "[[0, 0, 0], [0, 0, 0], [0, 0, 1]]",
)


@pytest.mark.parametrize(
    ("term", "entries", "sentence"),
    [
        ("J", f"M1: [{ZERO}, {SKEW}]", "J.M1: J.M1 is not symmetric, by 0.5 of the largest entry"),
        ("J", f"M2: [[{ZERO}, {EVEN}], [{ZERO}, {ZERO}]]", "J.M2: J.M2 is another one with the two shapes exchanged"),
        ("Cr", "M1: [[[0, 0, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]", "Cr.M1: Cr.M1 is not the opposite"),
    ],
)
def test_terms_that_no_shapes_have(tmp_path, term, entries, sentence):
    text = re.sub(rf" {term}: (.*)", rf" {term}: {{M0: \1, {entries}}}", rod_text())
    with pytest.raises(ModelError, match=re.escape(sentence)):
        reduce_body(spec.load(write(tmp_path, text)), "rod")
