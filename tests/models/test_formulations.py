"""Formulations with nothing in common but the model converge to the same motion and gradients."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.objectives import accumulator
from tests.models.command import ROOT

MODEL = """
include: [{folder}/double_pendulum.yaml]
constants: {{T: 2}}
parameters: {{k: 20, angle: 0.3}}
points: {{R: {{rod2: [0.8, 0, 0], ball: [0, 0, 0.1]}}}}
bodies:
  ball: {{shape: {{type: cylinder, axis: z, length: 0.2, radius: 0.1, mass: M_Q, center: [0, 0, 0]}}}}
joints:
  P: {{type: revolute, bodies: [rod1, rod2], point: P, axis: z, initial: {{angle: angle, angular_velocity: 0.2}}}}
  R: {{type: spherical, bodies: [rod2, ball], point: R, initial: {{angular_velocity: [1, 2, angle]}}}}
forces:
  elbow: {{type: rotational_spring_damper, coordinate: P.angle, stiffness: k, damping: 0.4, natural_angle: 0.1}}
  rope: {{type: spring_damper, points: [ground.origin, ball.origin], stiffness: k, natural_length: auto}}
sensors:
  v: {{type: velocity, point: ball.origin}}
  a: {{type: acceleration, point: ball.origin}}
objectives:
  final_speed: {{final: "dot(v, v)"}}
  push: {{integral: "dot(a, a)"}}
analysis:
  sensitivity: {{method: ddm, parameters: [L1, M_Q, k, angle]}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tree with a spherical joint, springs and an automatic length; its gradients vary with all of them."""
    path = tmp_path_factory.mktemp("tree") / "tree.yaml"
    path.write_text("mbsim: 1\n" + MODEL.format(folder=ROOT / "models"))
    return spec.load(path)


def results(model, **options):
    """Values and gradients of all objectives, one vector; integrals are sums over output times, of any integrator."""
    built = assembly.build(model, duration=0.5, **options)
    p = built.problem.theta_rho.shape[1]
    sums = [accumulator(objective, p) for objective in built.objectives]
    for block in forward(replace(built.problem, summed=False)):
        for total in sums:
            total.add(block)
    return np.concatenate([np.append(total.gradient, total.value) for total in sums])


@pytest.fixture(scope="module")
def reference(model):
    """The recursive formulation, far more accurate than what it is compared with."""
    return results(model, formulation="recursive", integrator="dop853", tolerance=1e-12, step=5e-5)


def test_augmented_lagrangian_converges_to_the_recursive_formulation(model, reference):
    coarse, fine = (results(model, formulation="ali3p-rtdyn1", step=h) for h in (1e-3, 5e-4))
    scale = np.abs(reference) + 1e-3 * np.abs(reference).max()
    assert np.abs((fine - reference) / scale).max() < 1e-3
    assert np.abs((fine + (fine - coarse) / 3 - reference) / scale).max() < 2e-5
    ratio = np.linalg.norm((coarse - reference) / scale) / np.linalg.norm((fine - reference) / scale)
    assert 3.8 < ratio < 4.3


def test_integrators_agree(model):
    rows = {"formulation": "recursive", "step": 2.5e-4}  # the same instants in the integrals
    fixed = results(model, integrator="rk4", **rows)
    controlled = results(model, integrator="dop853", tolerance=1e-12, **rows)
    assert np.abs(fixed - controlled).max() < 1e-9 * np.abs(controlled).max()
