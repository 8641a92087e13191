"""Every number that a flexible body is made from as a parameter: derivatives of its data against other reductions.

Compared is what does not depend on how shapes are mixed, so that bodies with equal frequencies take part.
"""

import numpy as np
import pytest

from mbsim_cli.reduction.data import Taylor
from tests.properties.changes import BASES
from tests.properties.test_keys import CHOICES_OF_NODES
from tests.properties.test_parameters import NAME, numbers

from .reduced import reduce_body

BASE = BASES["flexible"]
STEP, CHANGE = 1e-30, 2e-7  # such a small change of a length takes no node out of its set
OF_FILE = "plate"  # a body that materials and fields are of
LEAVES = [leaf for leaf in numbers("flexible") if leaf.value]
LEAVES = [leaf for leaf in LEAVES if leaf.known_as[0] not in CHOICES_OF_NODES]


def invariants(sid) -> np.ndarray:
    """Sums over the shapes of all terms, in the metrics of mass and stiffness."""
    by_mass, by_stiffness = np.linalg.inv(sid.Me.M0), np.linalg.inv(sid.Ke.M0)
    Ct, Cr, found = sid.Ct.M0, sid.Cr.M0, [sid.mass.M0, sid.mdCM.M0, sid.J.M0]
    found += [np.trace(by_stiffness @ sid.Me.M0), np.trace(by_mass @ sid.De.M0), np.trace(by_stiffness @ sid.De.M0)]
    found += [Ct.T @ by_mass @ Ct, Cr.T @ by_stiffness @ Cr, Ct.T @ by_stiffness @ Cr]
    found += [np.einsum("l,lab->ab", by_stiffness @ sid.ksigma.M0, sid.Oe.M0)]
    for rows in (sid.J.M1, sid.Gr.M0, sid.Oe.M0):
        found += [] if rows is None else [np.einsum("lk,lab,kc->abc", by_stiffness, rows, Ct)]
    for pairs in (sid.J.M2, sid.Gr.M1, sid.Oe.M1, sid.Ct.M1, sid.Cr.M1):
        found += [] if pairs is None else [np.einsum("qk,kl,ql...->...", by_mass, sid.Ke.M0 @ by_mass, pairs)]
    for node in sid.nodes:
        phi, psi = node.phi.M0, node.psi.M0
        found += [node.origin.M0, phi.T @ by_stiffness @ phi, psi.T @ by_stiffness @ psi, phi.T @ by_mass @ Ct]
        found += [np.einsum("ql,qla->a", by_stiffness, t.M1) for t in (node.phi, node.psi) if t.M1 is not None]
    return np.concatenate([np.ravel(entries) for entries in found])


def stepped(term, rate) -> Taylor:
    return Taylor(*(a if b is None else a + 1j * STEP * b for a, b in zip(term, rate, strict=True)))


def body_with(leaf, value):
    """The body that a number is of, the number being a parameter."""
    data = dict(BASE.changed(leaf, NAME))
    data["parameters"] = {NAME: value}
    return reduce_body(BASE.load(data), leaf.path[1] if leaf.path[0] == "bodies" else OF_FILE)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: ".".join(map(str, leaf.path)))
def test_derivatives(leaf):
    body = body_with(leaf, leaf.value)
    if NAME not in body.design:  # what a threshold parts are single elements
        assert leaf.key == "threshold"
        return
    found = invariants(body.map(lambda _, term, rate: stepped(term, rate), body.design[NAME])).imag / STEP
    h = CHANGE * abs(leaf.value)
    above, below = (invariants(body_with(leaf, leaf.value + change)) for change in (h, -h))
    expected = (above - below) / (2 * h)
    size = np.maximum(np.abs(found), np.abs(invariants(body)) / abs(leaf.value))
    assert (np.abs(expected - found) <= 1e-5 * size + 1e-8 * size.max()).all()
