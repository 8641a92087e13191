"""Gears, racks and screws: the couplings that they stand for, with derivatives; mistakes."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.errors import ModelError

TEXT = """\
mbsim: 1
parameters: {r: 0.25}
bodies: {a: {mass: 1, inertia: {zz: 1}}, b: {mass: 1, inertia: {zz: 1}}, c: {mass: 1}}
joints:
  A: {type: revolute, bodies: [ground, a], point: origin, axis: z, initial: {angle: 0.3}}
  B: {type: revolute, bodies: [ground, b], point: origin, axis: z}
  C: {type: prismatic, bodies: [ground, c], point: origin, axis: x}
constraints:
  link: LINK
analysis: {step: 0.01, duration: 0.1, sensitivity: {method: ddm, parameters: all}}
"""


def problem(folder, link):
    path = folder / "model.yaml"
    path.write_text(TEXT.replace("LINK", link))
    return assembly.build(spec.load(path)).problem


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("{type: gear, of: B.angle, by: A.angle, ratio: -3*r}", "{B.angle: 1, A.angle: 3*r}"),
        ("{type: gear, of: B.angle, by: A.angle, ratio: 2, offset: r}", "{B.angle: 1, A.angle: -2}, offset: r"),
        ("{type: rack, of: C.displacement, by: A.angle, radius: 1 + r}", "{C.displacement: 1, A.angle: -1 - r}"),
        ("{type: screw, of: C.displacement, by: A.angle, pitch: r}", "{C.displacement: 1, A.angle: -r/(2*pi)}"),
    ],
)
def test_short_forms_are_couplings(tmp_path, short, long):
    found, expected = problem(tmp_path, short), problem(tmp_path, f"{{type: coupling, terms: {long}}}")
    assert found.model.measures.coordinate.tolist() == expected.model.measures.coordinate.tolist()
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(found.theta_rho, expected.theta_rho, rtol=1e-15, atol=1e-16)
    assert np.abs(expected.theta_rho).any()


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("{type: gear, of: B.angle, by: C.displacement, ratio: 2}", "take a rack or a screw"),
        ("{type: rack, of: B.angle, by: A.angle, radius: 2}", "'B.angle' is not a displacement"),
        ("{type: screw, of: C.displacement, by: C.displacement, pitch: 2}", "cannot follow itself"),
        ("{type: gear, of: B.angle, by: A.angle, ratio: 0}", "must not be zero"),
        ("{type: gear, of: B.angle, by: D.angle, ratio: 1}", "unknown joint 'D'"),
        ("{type: gear, of: B.turn, by: A.angle, ratio: 1}", "has no coordinate 'turn'"),
    ],
)
def test_mistakes_are_named(tmp_path, link, message):
    with pytest.raises(ModelError, match=message):
        problem(tmp_path, link)
