"""A body in a file, with its design derivatives, for random mechanisms."""

import pytest

from mbsim_cli import spec
from mbsim_cli.reduction.sid_text import sid_text
from tests.reduction.reduced import reduce_body
from tests.spec.example import write

BEAM = """\
mbsim: 1
parameters: {L: 0.7, E: 1e7, b: 0.03}
materials: {soft: {youngs_modulus: E, poisson_ratio: 0.3, density: 900}}
bodies:
  beam:
    flexible:
      mesh: {type: beam, length: L, section: {type: rectangle, size: [b, 0.02]}, elements: 2}
      material: soft
      sets: {a: {x: 0}, b: {x: L}}
      frame: {fixed: a}
      modes: {count: 2}
      nodes: {b: {set: b}}
      stiffening: [b]
      damping: {beta: 1e-4}
"""


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """Path, design variables and nodes."""
    folder = tmp_path_factory.mktemp("bodies")
    path = folder / "beam.SID_FEM"
    path.write_text(sid_text(reduce_body(spec.load(write(folder, BEAM)), "beam")))
    return path, ["L", "E", "b"], ["b"]
