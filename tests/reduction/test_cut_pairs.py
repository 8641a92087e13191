"""Modes of one frequency of which some are kept: derivatives by what parts them are NaN, and the run says why."""

import numpy as np
import pytest

import mbsim_cli as mbsim

BEAM = """\
mbsim: 1
parameters: {L: 0.8, a: 0.02, E: 5e9}
materials: {mat: {youngs_modulus: E, poisson_ratio: 0.3, density: 2000}}
bodies:
  fb:
    flexible:
      mesh: {type: beam, length: L, section: {type: rectangle, size: [WIDTH, a]}, elements: 6}
      material: mat
      sets: {a: {x: 0}, b: {x: L}}
      frame: {fixed: a}
      modes: {count: COUNT}
      nodes: {a: {set: a}, b: {set: b}}
joints: {J0: {type: revolute, bodies: [ground, fb], point: [origin, a], axis: z}}
forces: {f: {type: force, point: fb.b, value: [10, 20, -10], axes: body}}
sensors: {U: {type: strain_energy, body: fb}}
objectives: {energy: {integral: U}}
analysis: {step: 2e-4, duration: 0.004, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("width", ["0.02", "0.02000001"], ids=["equal", "nearly equal"])
@pytest.mark.parametrize(("count", "defined"), [(1, False), (2, True)])
def test_derivatives_by_what_parts_modes(tmp_path, count, defined, width, method):
    path = tmp_path / "beam.yaml"
    path.write_text(BEAM.replace("COUNT", str(count)).replace("WIDTH", width))
    found = mbsim.run(path, sensitivity=method).objectives["energy"]
    assert np.isfinite([found.by("L"), found.by("E")]).all()
    assert np.isfinite(found.by("a")) == defined
    assert list(found.undefined) == ([] if defined else ["a"])
    assert defined or "mode 2 of the same frequency is not" in found.undefined["a"]
