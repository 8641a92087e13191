"""A wheel that drops, rolls over the edge of a step, lifts off and brakes: convergence, and physical properties."""

import numpy as np
import pytest

from mbsim_cli.model.codes import TYRES, Axes, Force, Joint, Law, Sensor, TyreQuantity
from mbsim_cli.model.layout import BODY_SIZE, GROUND, MASS, TYRE_SIZE
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import assemble
from tests.kernels.differentiate import simulate
from tests.kernels.geometry import rotation
from tests.kernels.models import Builder

ALONG_X, LEVEL, TO_THE_LEFT = rotation(np.eye(3)[1], np.pi / 2), np.eye(3), rotation(np.eye(3)[0], -np.pi / 2)
SLIP = {TYRES[0]: (1.0, 1.0, 8.0, 1.4), TYRES[1]: (40000.0, 30000.0, 0.0, 0.0)}


def wheel(kind, height=0.281, speed=3.0, spin=11.0):
    """A wheel that moves along x and z and turns; it reaches a step down of 1 cm over 2 cm after 5 ms."""
    builder, at = Builder(3, gravity=(0.0, 0.0, -9.81)), np.zeros(3)
    sled = builder.body(Joint.PRISMATIC, GROUND, massless=True, frames=(at, ALONG_X, at, ALONG_X))
    strut = builder.body(Joint.PRISMATIC, sled, frames=(at, LEVEL, at, LEVEL))
    hub = builder.body(Joint.REVOLUTE, strut, frames=(at, TO_THE_LEFT, at, TO_THE_LEFT))
    builder.theta[builder.bodies[strut].theta + MASS] = 100.0
    o = builder.bodies[hub].theta
    builder.theta[o + MASS : o + BODY_SIZE] = [11.0, 0, 0, 0, 0.28, 0.45, 0.28, 0, 0, 0]
    builder.z[:], builder.zd[:] = (5.485, height, 0.3), (speed, -0.4, spin)
    road = builder.law(Law.SMOOTH_STEP)
    builder.theta[builder.laws[road][1] :] = 5.5, 5.52, 0.0, -0.01
    tyre = builder.tyre(kind, hub, road)
    o = builder.forces[tyre][5]
    builder.theta[o : o + TYRE_SIZE] = [0, 0, 0, 0, 1, 0, 0.2825, 120000, 300, 1e-4, 0.9, *SLIP[kind], 0.1]
    for quantity in TyreQuantity:
        builder.sensor(Sensor.TYRE, index=tyre, order=quantity)
    return builder


def test_steps_take_few_iterations():
    """Also where the road bends within a few steps, and the wheel meets it."""
    problem = wheel(TYRES[0]).problem(step=1e-3)
    simulation = Simulation(problem, assemble(problem))
    iterations = simulation.advance(40).iterations
    assert iterations.mean() <= 6
    assert iterations.max() <= 12


@pytest.mark.parametrize("kind", TYRES)
def test_a_locked_wheel_slides_to_a_stop(kind):
    """Friction decelerates by mu g, and standstill has no impact."""
    builder = wheel(kind, height=0.2742, speed=-0.5, spin=0.0)
    builder.zd[1] = 0.0
    problem = builder.problem(step=1e-3)
    found = simulate(problem, 150)
    force = found["sensors"][:, TyreQuantity.LONGITUDINAL_FORCE]
    load = found["sensors"][:, TyreQuantity.NORMAL_LOAD]
    assert np.isfinite(found["acceleration"]).all()
    assert (np.abs(force) <= 0.9 * load * (1 + 1e-9)).all()
    assert np.abs(found["velocity"][-1, 0]) < 0.5


def test_a_body_that_stands_level_is_no_special_case():
    """e_0 of a level body has no inertia, and its norm must be kept all the same under large moments."""
    builder = Builder(5, gravity=(0.0, 0.0, -9.81))
    car = builder.body(Joint.FLOATING, GROUND, frames=(np.zeros(3), LEVEL, np.zeros(3), LEVEL))
    o = builder.bodies[car].theta
    builder.theta[o + MASS : o + BODY_SIZE] = [380.0, 0, 0, 0, 45, 140, 160, 0, 0, 0]
    builder.z[:] = 0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0
    builder.zd[:] = 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    builder.theta[builder.equations[0][1]] = 1.0
    torque = builder.applied(Force.TORQUE, car, Axes.BODY)
    o = builder.forces[torque][5]
    builder.theta[o + 3 : o + 6] = 1.0, 40000.0, -3.0
    problem = builder.problem(step=1e-2)
    simulation = Simulation(problem, assemble(problem))
    block = simulation.advance(2)
    assert block.iterations.max() <= 8
    assert np.abs(block.drift[:, 0]).max() <= 1e-10
