"""The same mechanism in all sizes: motions over lengths do not depend on whether it is a micrometre or a kilometre."""

import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.study.evaluation import evaluate

MECHANISM = """
mbsim: 1
parameters: {{L: {size}}}
gravity: [0, -9.81*L, 0]
points:
  A: {{ground: [0, 0, 0], a: [0, 0, 0]}}
  B: {{a: [0.3*L, 0, 0], b: [0, 0, 0]}}
  C: {{b: [0.8*L, 0, 0], c: [{tip}*L, 0, 0]}}
  D: {{ground: [0.7*L, 0.1*L, 0], c: [0, 0, 0]}}
bodies:
  a: {{mass: 1, center_of_mass: [0.15*L, 0, 0], inertia: {{zz: 0.01*L**2}}}}
  b: {{mass: 2, center_of_mass: [0.4*L, 0, 0], inertia: {{zz: 0.1*L**2}}}}
  c: {{mass: 1, center_of_mass: [{tip}*L/2, 0, 0], inertia: {{zz: 0.03*L**2}}}}
joints:
  A: {{type: revolute, bodies: [ground, a], point: A, axis: z, initial: {{angle: 1, independent: true}}}}
  B: {{type: revolute, bodies: [a, b], point: B, axis: z, initial: {{angle: {b}}}}}
  C: {{type: revolute, bodies: [b, c], point: C, axis: z, cut: true}}
  D: {{type: {last}}}
sensors: {{r: {{type: position, point: b.C}}}}
objectives:
  end: {{final: r.x/L}}
  way: {{integral: "dot(r, r)/L**2"}}
analysis: {{step: 1e-3, duration: 0.5}}
"""
FOUR_BAR = "revolute, bodies: [ground, c], point: D, axis: z, initial: {angle: 1.2}", 0.5, -0.6
SLIDER_CRANK = "prismatic, bodies: [ground, c], point: D, axis: x, initial: {displacement: 0.2*L}", 0, -1.2


def values(tmp_path, kind, size, formulation):
    """Objectives of a mechanism of some size, m."""
    last, tip, angle = kind
    path = tmp_path / f"{size}.yaml"
    path.write_text(MECHANISM.format(size=size, last=last, tip=tip, b=angle))
    built = assembly.build(spec.load(path), formulation=formulation, sensitivity="none")
    return [found.value for found in evaluate(built.problem, built.objectives).values()]


@pytest.mark.parametrize("size", ["1e-8", "2e-2", "1e5"])
@pytest.mark.parametrize("kind", [FOUR_BAR, SLIDER_CRANK], ids=["four_bar", "slider_crank"])
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
def test_motions_do_not_depend_on_the_size(tmp_path, kind, size, formulation):
    """Natural coordinates failed at 1e-5 m and 1e5 m, and were off by 4e-6 at 1e-4 m; joint ones were off by 5e-9.

    A unit vector counted for 1 m, inertias of angles were compared with masses, and constraints in m with those without
    a unit.
    """
    expected = values(tmp_path, kind, "1", formulation)
    assert values(tmp_path, kind, size, formulation) == pytest.approx(expected, rel=1e-10)
