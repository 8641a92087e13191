"""A spring and damper on the translation of a joint: a damped oscillator, by every formulation, in the tree or cut."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from tests.marks import NATURAL

PARAMETERS = {"m": 1.3, "k": 50.0, "c": 2.1, "natural": -0.2, "F": 4.0, "slope": 0.3}
CART = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {m: 1.3, k: 50, c: 2.1, natural: -0.2, F: 4, slope: 0.3}
vectors: {along: {all: [cos(slope), 0, sin(slope)]}}
bodies: {cart: {mass: m, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  JOINTS
forces:
  spring:
    {type: spring_damper, coordinate: guide.displacement, stiffness: k, damping: c, natural_length: natural,
    force: F}
sensors:
  x: {type: coordinate, coordinate: guide.displacement}
  v: {type: coordinate, coordinate: guide.displacement, derivative: 1}
  f: {type: force, force: spring}
  V: {type: potential_energy}
objectives: {way: {final: x}, speed: {final: v}, pull: {final: f}, energy: {final: V}}
analysis: {step: 5e-4, duration: 0.6, sensitivity: {method: ddm, parameters: all}}
"""
TREE = """
  guide: {type: TYPE, bodies: [ground, cart], point: origin, axis: along, initial: {displacement: 0.4, velocity: -0.5}}
"""
CUT = """
  free: {type: floating, bodies: [ground, cart], initial: {position: [0.4*cos(slope), 0, 0.4*sin(slope)]}}
  guide:
    {type: TYPE, bodies: [ground, cart], point: origin, axis: along, cut: true,
    initial: {displacement: 0.4, velocity: -0.5}}
"""
OPEN = [
    "recursive",  # the others are compiled for slow tests alone
    *(pytest.param(name, marks=pytest.mark.interpreted) for name in ("conventional", "partial_recursive")),
]
ALI3P = ["ali3p-rtdyn0", "ali3p-rtdyn1", NATURAL]


def oscillator(m, k, c, natural, F, slope, t=0.6):
    """Place, speed, force of the spring and potential energy of m x'' = F - k (x - natural) - c x' - m g sin(slope)."""
    rest = natural + (F - m * 9.81 * np.sin(slope)) / k
    decay = c / (2 * m)
    w = np.sqrt(k / m - decay**2)
    a, b = 0.4 - rest, (-0.5 + decay * (0.4 - rest)) / w
    e, cosine, sine = np.exp(-decay * t), np.cos(w * t), np.sin(w * t)
    x = rest + e * (a * cosine + b * sine)
    v = e * ((b * w - decay * a) * cosine - (a * w + decay * b) * sine)
    energy = m * 9.81 * x * np.sin(slope) + k * (x - natural) ** 2 / 2 - F * x
    return np.array([x, v, F - k * (x - natural) - c * v, energy])


def derivatives(values):
    """Of all four by each parameter, by the complex step."""
    return np.stack(
        [oscillator(**(values | {name: value + 1e-30j})).imag / 1e-30 for name, value in values.items()], axis=1
    )


def found(tmp_path, joints, **options):
    path = tmp_path / "cart.yaml"
    path.write_text(CART.replace("JOINTS", joints))
    result = mbsim.load(str(path)).run(**options)
    names = ("way", "speed", "pull", "energy")
    values = [result.objectives[name].value for name in names]
    return np.array(values), np.array([result.objectives[name].gradient for name in names])


def agrees(shown, tolerance):
    values, gradients = shown
    expected, slopes = oscillator(**PARAMETERS), derivatives(PARAMETERS)
    np.testing.assert_allclose(values, expected, rtol=tolerance)
    np.testing.assert_allclose(gradients, slopes, rtol=tolerance, atol=tolerance * np.abs(slopes).max())


@pytest.mark.parametrize("sensitivity", ["ddm", "adjoint"])
@pytest.mark.parametrize("formulation", OPEN)
def test_open_trees(tmp_path, formulation, sensitivity):
    chosen = {"formulation": formulation, "sensitivity": sensitivity, "step": 0.1}
    agrees(found(tmp_path, TREE.replace("TYPE", "prismatic"), **chosen), 1e-8)


@pytest.mark.parametrize("formulation", ALI3P)
@pytest.mark.parametrize("joints", [TREE, CUT], ids=["tree", "cut"])
@pytest.mark.parametrize("kind", ["prismatic", "cylindrical"])
def test_mechanisms(tmp_path, kind, joints, formulation):
    """By the trapezoidal rule; nothing turns the cart about the axis of a cylindrical joint."""
    agrees(found(tmp_path, joints.replace("TYPE", kind), formulation=formulation), 2e-5)


@pytest.mark.parametrize("joints", [TREE, CUT], ids=["tree", "cut"])
def test_adjoint(tmp_path, joints):
    text = joints.replace("TYPE", "cylindrical")
    agrees(found(tmp_path, text, formulation="ali3p-rtdyn1", sensitivity="adjoint"), 2e-5)
