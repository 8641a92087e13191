"""Armatures: the inertia of a rotor behind a gear acts on the coordinate of a joint alone."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import ModelError
from tests.models.command import mbsim as command

PENDULUM = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {J: 0.4, m: 1.2, a: 0.35}
vectors: {axis: {all: [0, 0, 1]}}
points: {P: {first: [0.8, 0, 0], second: [0, 0, 0]}}
bodies:
  first: {mass: m, center_of_mass: [0.5, 0.1, 0], inertia: {xx: 0.5, yy: 0.5, zz: INERTIA}}
  second: {mass: 0.7, center_of_mass: [0.3, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.05}}
joints:
  A: {type: revolute, bodies: [ground, first], point: origin, axis: axis, ARMATURE initial: {angle: 0.3}}
  B: {type: revolute, bodies: [first, second], point: P, axis: axis, SECOND initial: {angle: 0.4, angular_velocity: 1}}
forces: {c: {type: viscous_friction, coordinate: B.angle, damping: 0.2}}
sensors:
  q: {type: coordinate, coordinate: A.angle}
  u: {type: coordinate, coordinate: B.angle, derivative: 1}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
objectives: {q: {final: q}, u: {final: u}, T: {final: T}, V: {final: V}, mean: {integral: "T*q"}}
analysis: {step: 2e-3, duration: 0.4, formulation: FORMULATION, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [AGREEMENT], relative_tolerance: 1e-9}
"""


def written(path, inertia="0.2", armature="", second="", formulation="ali3p-rtdyn1", agreement="complex_step"):
    text = PENDULUM.replace("INERTIA", inertia).replace("ARMATURE", armature).replace("SECOND", second)
    path.write_text(text.replace("FORMULATION", formulation).replace("AGREEMENT", agreement))
    return path


def found(path):
    result = mbsim.load(path).run()
    return tuple(np.array([getattr(one, what) for one in result.objectives.values()]) for what in ("value", "gradient"))


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
def test_on_the_ground_it_is_an_inertia_of_the_body(tmp_path, formulation):
    given = written(tmp_path / "a.yaml", armature="armature: J,", formulation=formulation)
    same = written(tmp_path / "b.yaml", inertia="0.2 + J", formulation=formulation)
    (values, gradient), (others, other) = found(given), found(same)
    assert np.abs(values - others).max() <= 1e-11 * np.abs(others).max()
    assert np.abs(gradient - other).max() <= 1e-9 * np.abs(other).max()


def test_between_bodies_energy_is_kept(tmp_path):
    path = written(tmp_path / "a.yaml", second="armature: a,", formulation="recursive")
    path.write_text(path.read_text().replace("damping: 0.2", "damping: 0*a + 1e-12"))
    result = mbsim.load(path).run()
    energy = result["T"] + result["V"]
    assert np.ptp(energy) <= 1e-7 * np.ptp(result["T"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1", "recursive", "partial_recursive", "conventional"]
)
def test_derivations_agree(tmp_path, formulation):
    path = written(
        tmp_path / "a.yaml", armature="armature: J,", second="armature: a,", formulation=formulation,
        agreement="complex_step, adjoint" + ", recursive" * (formulation in ("partial_recursive", "conventional")),
    )  # fmt: skip
    assert command("check", str(path))["passed"]


def test_what_cannot_have_one(tmp_path):
    path = written(tmp_path / "a.yaml", armature="armature: -1,", formulation="ali3p-natural")
    with pytest.raises(ModelError, match="armature: must not be negative"):
        mbsim.load(path).run()
    path = written(tmp_path / "a.yaml", armature="armature: J,", formulation="ali3p-natural")
    with pytest.raises(ModelError, match="natural coordinates have no armatures"):
        mbsim.load(path).run()
