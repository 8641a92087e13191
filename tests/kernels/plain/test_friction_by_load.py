"""Friction by what joints carry: values by scipy and by hand, derivatives by derivations that share little.

The twin of the pendulum solves Newton's law for its angular acceleration, which the load of the journal depends on.
"""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import mbsim_cli as mbsim
from mbsim_cli.errors import ModelError
from mbsim_cli.kernels.drivers import simulate
from tests.models.command import mbsim as command

PENDULUM = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 1.2, mu: 0.2, radius: 0.05, w0: 0.4, l: 0.4}
bodies: {bar: {mass: m, center_of_mass: [l, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.08}}}
joints:
  A:
    type: revolute
    bodies: [ground, bar]
    point: origin
    axis: z
    initial: {angle: 0.3, angular_velocity: w0}
    friction: {dynamic: mu, static: 0.3, radius: radius, velocity: 0.8}
sensors:
  q: {type: coordinate, coordinate: A.angle}
  T: {type: force, force: A_friction}
  R: {type: reaction, joint: A}
objectives: {q: {final: q}, T: {final: T}, R: {final: norm(R.force)}}
analysis: {step: STEP, duration: 0.2, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [AGREEMENT], relative_tolerance: 1e-9}
"""
# block and journal, a loop all of whose joints rub, and a chain of a universal and a spherical joint
OTHERS = {
    "loop": """
points:
  A: {crank: [0.25, 0, 0], rod: [0, 0, 0]}
  B: {rod: [l, 0, 0], slider: [0, 0, 0]}
  C: {ground: [0, 0.05, 0], slider: [0, 0, 0]}
bodies:
  crank: {mass: 2, center_of_mass: [0.1, 0.02, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.08}}
  rod: {mass: m, center_of_mass: [0.3, 0.01, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
  slider: {mass: 0.8, center_of_mass: [0.02, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
joints:
  O:
    type: revolute
    bodies: [ground, crank]
    point: origin
    axis: z
    initial: {angle: 1.1, angular_velocity: 6, independent: true}
    friction: {dynamic: mu, radius: r, velocity: 0.3}
  A: {type: revolute, bodies: [crank, rod], point: A, axis: z, friction: {dynamic: mu, static: 0.35, radius: r}}
  B: {type: revolute, bodies: [rod, slider], point: B, axis: z, friction: {dynamic: 0.15, radius: r, velocity: 0.3}}
  S:
    type: prismatic
    bodies: [ground, slider]
    point: C
    axis: x
    friction: {dynamic: mu, velocity: 0.3}
sensors:
  q: {type: coordinate, coordinate: O.angle}
  R: {type: reaction, joint: B}
  F: {type: force, force: A_friction}
objectives: {q: {final: q}, R: {integral: R.force.x}, F: {integral: F**2}}
""",
    "ball": """
points: {P: {a: [l, 0, 0], b: [0, 0, 0]}}
bodies:
  a: {mass: 2, center_of_mass: [0.3, 0.02, 0.1], inertia: {xx: 0.1, yy: 0.12, zz: 0.08}}
  b: {mass: m, center_of_mass: [0.3, 0.01, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
joints:
  O:
    type: universal
    bodies: [ground, a]
    point: origin
    axes: [z, x]
    initial: {angles: [0.2, 0.1], angle_rates: [1, 2]}
    friction: {angle_1: {dynamic: mu, radius: r, velocity: 0.3}}
  S:
    type: spherical
    bodies: [a, b]
    point: P
    initial: {angular_velocity: [1, 2, 1.5]}
    friction: {dynamic: mu, static: 0.3, radius: r, velocity: 0.3, viscous: 0.01}
sensors: {q: {type: coordinate, coordinate: O.angle_1}, T: {type: force, force: S_friction}}
objectives: {q: {final: q}, T: {integral: T.x}}
""",
}
HEAD = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {mu: 0.2, r: 0.05, m: 1.5, l: 0.6}
analysis: {step: 0.01, duration: 0.03, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [complex_step, adjoint, ali3p-rtdyn0], relative_tolerance: 1e-9}
"""


def pendulum(m=1.2, mu=0.2, radius=0.05, w0=0.4, l=0.4):
    """Angle, friction torque and load at the end."""
    J = 0.08 + m * l * l

    def load(q, w, a):
        along = np.array([-np.sin(q) * a - np.cos(q) * w * w, np.cos(q) * a - np.sin(q) * w * w])
        return m * np.hypot(l * along[0], l * along[1] + 9.81)

    def torque(q, w, a):
        x = w / 0.8
        return -load(q, w, a) * radius * (mu * np.tanh(4 * x) + (0.3 - mu) * x / ((x / 2) ** 2 + 0.75) ** 2)

    def acceleration(q, w):
        return brentq(lambda a: J * a + m * 9.81 * l * np.cos(q) - torque(q, w, a), -200, 200, xtol=1e-14, rtol=1e-14)

    found = solve_ivp(lambda t, y: [y[1], acceleration(*y)], (0, 0.2), [0.3, w0], "DOP853", rtol=1e-11, atol=1e-13)
    q, w = found.y[:, -1]
    a = acceleration(q, w)
    return np.array([q, torque(q, w, a), load(q, w, a)])


def written(tmp_path, text):
    path = tmp_path / "model.yaml"
    path.write_text(text)
    return path


def test_a_journal_rubs_by_its_load(tmp_path):
    text = PENDULUM.replace("STEP", "1e-2").replace("AGREEMENT", "adjoint")
    result = mbsim.load(written(tmp_path, text)).run()
    values = np.array([one.value for one in result.objectives.values()])
    assert np.abs(values - pendulum()).max() <= 1e-3 * np.abs(values).max()
    for k, (name, value) in enumerate({"m": 1.2, "mu": 0.2, "radius": 0.05, "w0": 0.4, "l": 0.4}.items()):
        expected = (pendulum(**{name: value + 1e-4}) - pendulum(**{name: value - 1e-4})) / 2e-4
        found = np.array([one.gradient[k] for one in result.objectives.values()])
        assert np.abs(found - expected).max() <= 5e-3 * np.abs(expected).max(), name


def test_derivations_agree_of_a_journal(tmp_path):
    text = PENDULUM.replace("STEP", "5e-2").replace("AGREEMENT", "complex_step, adjoint")
    assert command("check", str(written(tmp_path, text)))["passed"]


def test_derivations_agree_of_more_steps_than_are_observed_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(simulate, "ROWS_IN_CACHE", 3)
    text = PENDULUM.replace("STEP", "2e-2").replace("AGREEMENT", "adjoint")
    model = mbsim.load(written(tmp_path, text))
    direct, swept = (model.run(sensitivity=method).objectives for method in ("ddm", "adjoint"))
    for name, one in direct.items():
        np.testing.assert_allclose(one.gradient, swept[name].gradient, rtol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_derivations_agree(tmp_path, name):
    assert command("check", str(written(tmp_path, HEAD + OTHERS[name])))["passed"]


def test_a_loop_in_a_plane_is_held_once_across_it(tmp_path):
    report = command("info", str(written(tmp_path, HEAD + OTHERS["loop"])))
    assert report["mobility"] == 1 and not report["redundant_constraints"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "analysis: {",
            "analysis: {formulation: recursive, ",
            r"friction: it depends on forces .* recursive",
        ),
        ("analysis: {", "analysis: {formulation: ali3p-natural, ", r"friction: it depends on forces of constraints"),
        ("radius: radius, ", "radius: 0, ", r"friction.radius: must be greater than zero"),
        ("radius: radius, ", "", r"friction.dynamic: friction of an angle needs the radius"),
    ],
)
def test_what_is_refused(tmp_path, old, new, sentence):
    text = PENDULUM.replace("STEP", "1e-3").replace("AGREEMENT", "adjoint")
    with pytest.raises(ModelError) as error:
        mbsim.load(written(tmp_path, text.replace(old, new))).run()
    assert re.search(sentence, str(error.value)), str(error.value)


@pytest.mark.parametrize("formulation", ["ali1p-rtdyn1", "ali3p-natural", "recursive"])
def test_an_option_that_chooses_a_formulation_without_it_is_refused(tmp_path, formulation):
    model = mbsim.load(written(tmp_path, PENDULUM.replace("STEP", "1e-3").replace("AGREEMENT", "adjoint")))
    with pytest.raises(ModelError, match=f"friction: it depends on forces of constraints: formulation {formulation}"):
        model.run(formulation=formulation)
