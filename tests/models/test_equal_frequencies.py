"""Gradients of whole runs where frequencies cross: the section of a beam becomes square, and both bending modes one."""

import numpy as np
import pytest

import mbsim_cli as mbsim

MODEL = """
mbsim: 1
gravity: [0, -7, -4]
parameters:
  width: {value: 0.02, unit: m}
  E: {value: 2e9, unit: Pa}
materials: {soft: {youngs_modulus: E, poisson_ratio: 0.3, density: 1000}}
vectors: {slanted: {all: [0, 0.6, 0.8]}}
bodies:
  beam:
    flexible:
      mesh: {type: beam, length: 1, section: {type: rectangle, size: [width, 0.02]}, elements: 4}
      material: soft
      sets: {root: {x: 0}, end: {x: 1}}
      frame: {fixed: root}
      modes: {count: 2}
      nodes: {end: {set: end}}
joints:
  hinge: {type: revolute, bodies: [ground, beam], point: origin, axis: slanted, initial: {angle: 0.1}}
sensors:
  U: {type: strain_energy, body: beam}
  tip: {type: position, point: beam.end}
objectives:
  psi: {integral: U, unit: J s}
  y: {final: tip.y, unit: m}
  z: {final: tip.z, unit: m}
analysis: {step: 5e-4, duration: 0.2, tolerance: 1e-12, sensitivity: {method: METHOD, parameters: [width, E]}}
"""
SQUARE, CHANGE = 0.02, 1e-5  # of the width, which crosses where frequencies are equal
NAMES = ("psi", "y", "z")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_gradients_where_frequencies_cross(tmp_path, method):
    """Against differences of whole runs, whose modes come in another order on either side."""
    (tmp_path / "beam.yaml").write_text(MODEL.replace("METHOD", method))
    model = mbsim.load(tmp_path / "beam.yaml")
    rho = np.array([SQUARE, 2e9])

    def values(shift):
        return np.array([model.value_and_gradient(rho + [shift, 0], name)[0] for name in NAMES])

    found = np.array([model.value_and_gradient(rho, name)[1] for name in NAMES])
    coarse, fine = ((values(h) - values(-h)) / (2 * h) for h in (CHANGE, CHANGE / 2))
    assert found[:, 0] == pytest.approx((4 * fine - coarse) / 3, rel=1e-6)
    assert (np.abs(found) > 0).all()


@pytest.mark.interpreted
@pytest.mark.parametrize(("width", "by", "warned"), [(SQUARE, "width", 1), (SQUARE, "E", 0), (0.021, "width", 0)])
def test_a_single_coordinate_of_an_equal_pair_has_no_derivative(tmp_path, width, by, warned):
    """By what parts the pair, modes jump where they are equal."""
    text = MODEL.replace("METHOD", "ddm").replace("objectives:\n", SINGLE + "objectives:\n")
    (tmp_path / "beam.yaml").write_text(
        text.replace("[width, E]", f"[{by}]").replace("duration: 0.2", "duration: 1e-3")
    )
    told = mbsim.load(tmp_path / "beam.yaml", width=width).run().report["warnings"]
    assert sum("'width' separates modes of equal frequencies: q2, which" in text for text in told) == warned


SINGLE = "  second: {type: elastic_coordinate, body: beam, number: 2}\n"
