"""Gradients by fields: what asks for them, and the references that they are compared with."""

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError

MODEL = """
mbsim: 1
parameters: {E: 2e11}
materials: {steel: {youngs_modulus: E, poisson_ratio: 0.3, density: 7850}}
fields: {p: {value: 0.5}, unused: {value: 1}}
bodies:
  plate:
    flexible:
      mesh: {type: rectangle, size: [1, 1], thickness: 0.1, elements: [2, 2]}
      material: steel
      density: {field: p}
      sets: {edge: {x: 0}}
      frame: {fixed: edge}
      modes: {count: 1}
joints: {O: {type: revolute, bodies: [ground, plate], point: origin, axis: z}}
sensors: {U: {type: strain_energy, body: plate}}
objectives: {U: {final: U}}
analysis: {sensitivity: {method: adjoint, fields: [p]}}
checks: {table: {objective: U, field_gradient: {p: {0: 1, 3: 2}}}}
"""


@pytest.fixture
def load(tmp_path):
    def load(*changes):
        text = MODEL
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / "plate.yaml"
        path.write_text(text)
        return spec.load(path)

    return load


def test_a_reference_is_by_elements(load):
    assert list(load().checks["table"].field_gradient["p"]) == ["0", "3"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("method: adjoint", "method: ddm", "the adjoint alone gives gradients by fields, not ddm"),
        ("fields: [p]", "fields: [q]", r"sensitivity\.fields\[0\]: unknown field 'q'"),
        ("fields: [p]", "fields: [p, p]", r"sensitivity\.fields\[1\]: 'p' stands twice"),
        ("fields: [p]", "fields: [p, unused]", "no body has its densities from field 'unused'"),
        ("fields: [p]}}", "fields: []}}", "no gradient is taken by 'p'; name it in analysis.sensitivity.fields"),
        ("{0: 1, 3: 2}", "{0: 1, -3: 2}", "'-3' is no element: they are counted from 0"),
    ],
)
def test_what_there_is_no_gradient_by(load, before, after, message):
    with pytest.raises(ModelError, match=message):
        load((before, after))
