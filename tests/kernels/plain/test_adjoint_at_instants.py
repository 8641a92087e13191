"""Adjoint gradients where time couples nothing, equilibria and inverse dynamics, and of multipliers that J turns.

The direct method says the same, most of all of gradients by every number of a file. Their kernels take long to compile.
"""

from pathlib import Path

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import UsageError
from tests.cli.test_adjoint import AT_REST
from tests.cli.test_reactions import FOUR_BAR
from tests.cli.test_undefined import CRANKS

MODELS = Path(__file__).parents[3] / "models"
AT_ONCE = "{type: equilibrium, hold: [A2.angle],"
# redundant equations, a held crank, an automatic length, and multipliers
RESTING = (
    AT_REST.replace("{type: forward_dynamics, start: equilibrium, step: 1e-2, duration: 0.1,", AT_ONCE)
    .replace("stiffness: 50}", "stiffness: 50, natural_length: auto}")
    .replace("objectives:", "objectives:\n  span: {final: norm(r) * f, unit: N m}")
)
PINNED = (
    FOUR_BAR.replace("{step: 1e-3, duration: 3e-3,", "{type: equilibrium,")
    .replace("sensors:", "sensors:\n  f: {type: multiplier, constraint: C.x}")
    .replace("integral: b", "final: f * b")
    .replace("maximum: norm(d.force), sharpness: 1", "final: norm(d.force)")
)
ARM = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {L: 0.4, w: 1.3, end: {value: 0.06, unit: s}}
points: {P: {a: [L, 0, 0], b: [0, 0, 0]}, Q: {ground: [0.3, 0, 0.4]}, R: {b: [0.2, 0.1, 0]}}
bodies:
  a: {mass: 1, center_of_mass: [0.2, 0, 0.1], inertia: {xx: 1, yy: 1, zz: 1, xy: 0.2}}
  b: {mass: 2, center_of_mass: [0.2, 0.1, 0], inertia: {xx: 1, yy: 2, zz: 1}}
joints:
  A: {type: cylindrical, bodies: [ground, a], point: origin, axis: y, initial: {angle: 0.2}}
  B: {type: universal, bodies: [a, b], point: P, axes: [x, z]}
forces:
  s: {type: spring_damper, points: [ground.Q, b.R], stiffness: 30, damping: 2, natural_length: auto}
  f: {type: force, point: b.R, value: [1, 2, 3], law: push}
laws:
  swing: {type: harmonic, offset: 0.2, amplitude: 1, frequency: w}
  push: {type: harmonic, amplitude: 2, frequency: 3}
sensors:
  tau: {type: torque, coordinate: A.angle}
  all: {type: torques}
  r: {type: position, point: b.R}
  v: {type: velocity, point: b.center_of_mass}
  p: {type: reaction, joint: B}
objectives:
  effort: {integral: "tau**2 + dot(v, v) * r.x"}
  work: {integral: "dot(all, all)", unit: N^2 m^2 s}
  most: {maximum: "tau * w", sharpness: 3}
  pin: {final: "dot(p.force, p.moment)"}
analysis:
  type: inverse_dynamics
  sampling: 0.01
  duration: end
  motion: {all: swing, table: {file: t.csv, columns: {time: s, A.displacement: d}, scale: {A.displacement: 0.9}}}
  sensitivity: {method: ddm, parameters: all}
"""


def assert_as_direct(path, relative=1e-9, all_numbers=True):
    model = mbsim.load(path, all_numbers=all_numbers)
    found, expected = (model.run(sensitivity=method).report["objectives"] for method in ("adjoint", "ddm"))
    for name, entry in expected.items():
        shown, wanted = (np.array(list(e["gradient"].values()), float) for e in (found[name], entry))
        assert found[name]["undefined"] == entry["undefined"] and found[name]["flags"] == entry["flags"]
        assert name in ("lost", "none", "way") or np.nanmax(np.abs(wanted)) > 0.0, name
        np.testing.assert_allclose(shown, wanted, rtol=relative, atol=relative * np.nanmax(np.abs(wanted), initial=0))


@pytest.mark.parametrize("text", [pytest.param(RESTING, marks=pytest.mark.slow), PINNED], ids=["held", "pinned"])
def test_equilibria_of_redundant_mechanisms(tmp_path, text):
    (tmp_path / "rest.yaml").write_text(text)
    assert_as_direct(tmp_path / "rest.yaml")


def test_inverse_dynamics_with_laws_tables_springs_and_reactions(tmp_path):
    (tmp_path / "t.csv").write_text("s,d\n0,0.1\n0.02,0.12\n0.05,0.2\n0.1,0.25\n")
    (tmp_path / "arm.yaml").write_text(ARM)
    assert_as_direct(tmp_path / "arm.yaml")


@pytest.mark.parametrize(("projection", "duration"), [("mass", 0.02), ("identity", 0.01)])
def test_multipliers_of_equations_that_depend_on_each_other(tmp_path, projection, duration):
    text = CRANKS.replace("step: 1e-2, duration: 0.1", f"projection: {projection}, step: 1e-2, duration: {duration}")
    (tmp_path / "cranks.yaml").write_text(text.replace("{final: f,", "{integral: f**2 + r.x,"))
    assert_as_direct(tmp_path / "cranks.yaml", 1e-8, all_numbers=False)


def test_multipliers_beside_reactions(tmp_path):
    text = FOUR_BAR.replace("sensors:", "sensors:\n  f: {type: multiplier, constraint: C.x}")
    (tmp_path / "bars.yaml").write_text(text.replace("  lost:", "  both: {final: f * a.force.x, unit: N^2}\n  lost:"))
    assert_as_direct(tmp_path / "bars.yaml", 1e-8, all_numbers=False)


def test_memory_means_nothing_where_nothing_is_kept():
    for model in ("benchmarks/trailer_at_rest.yaml", "robots/ur5.yaml"):
        with pytest.raises(UsageError, match="memory means nothing to an analysis of type"):
            mbsim.load(MODELS / model).run(sensitivity="adjoint", memory=1e6)
