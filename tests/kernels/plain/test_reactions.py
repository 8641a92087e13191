"""Reactions of random mechanisms: textbook multipliers, balance of every body, no work of ideal joints, gradients."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from mbsim_cli.solve import allocate
from mbsim_cli.solve.equilibrium import equilibrium
from mbsim_cli.solve.forward import forward, start
from mbsim_cli.solve.inverse.analysis import InverseAnalysis
from tests.assembly.texts import assemble
from tests.cli.test_reactions import FOUR_BAR
from tests.kernels.differentiate import EPS, complex_step, direct
from tests.kernels.reaction_adjoints import assert_pull_back_is_the_transpose
from tests.naive.random_mechanisms import parametrised, random_mechanism
from tests.naive.reactions import Shown, assembled

OPEN_TREES = ("recursive", "conventional", "partial_recursive")
ARM = """
    gravity: [0, -10, 0]
    parameters: {m: 2, l: 0.5, k: 40, a: 0.3}
    points:
      A: {ground: [0.1, 0.2, 0.3], arm: [0, 0, 0]}
      B: {arm: ["2*l", 0, 0], tip: [0, 0, 0]}
    bodies:
      arm: {mass: m, center_of_mass: [l, 0, 0.1], inertia: {xx: 0.01, yy: 0.3, zz: 0.3}}
      tip: {mass: 1, center_of_mass: [0.2, 0.1, 0], inertia: {xx: 0.02, yy: 0.01, zz: 0.02}}
    joints:
      A: {type: revolute, bodies: [ground, arm], point: A, axis: z, initial: {angle: a}}
      B: {type: prismatic, bodies: [tip, arm], point: B, axis: x, initial: {displacement: 0.1}}
    sensors:
      A: {type: reaction, joint: A}
      B: {type: reaction, joint: B, on: tip, axes: joint}
"""


def arm(more):
    """The arm with more sensors, and then more sections."""
    return dedent(ARM) + dedent(more)


@pytest.mark.parametrize("seed", range(10))
def test_random_mechanisms(tmp_path, seed):
    """At the start, and behind the projections of both kinds of two steps: reactions of the motion that is shown."""
    twin = random_mechanism(seed, bodies=4, loops=seed % 3)
    projection = ("mass", "identity")[seed % 2]
    found = assembled(tmp_path, twin, sensitivity="none", step=4e-3, duration=8e-3, projection=projection)
    for steps in (0, 2):
        shown = Shown(twin, found.problem, found.sensor_rows, steps)
        determined, _ = shown.assert_reactions()
        assert determined
        shown.assert_balance()
        shown.assert_no_work()


@pytest.mark.parametrize("seed", (2, 5, 7))
def test_random_mechanisms_in_natural_coordinates(tmp_path, seed):
    """With redundant constraints, and joints that have Euler parameters in the tree alone."""
    twin = random_mechanism(seed, bodies=4, loops=seed % 3)
    twin.model["analysis"]["formulation"] = "ali3p-natural"
    found = assembled(tmp_path, twin, sensitivity="none", step=4e-3, duration=8e-3)
    for steps in (0, 2):
        shown = Shown(twin, found.problem, found.sensor_rows, steps)
        assert shown.assert_reactions()[0]
        shown.assert_balance()
        shown.assert_no_work()


@pytest.mark.parametrize("formulation", OPEN_TREES)
def test_random_trees_in_formulations_of_open_trees(tmp_path, formulation):
    twin = random_mechanism(20 + OPEN_TREES.index(formulation), extras="tree")
    twin.model["analysis"]["formulation"] = formulation
    found = assembled(tmp_path, twin, sensitivity="none")
    shown = Shown(twin, found.problem, found.sensor_rows)
    assert shown.assert_reactions()[1] == 0
    shown.assert_balance()
    shown.assert_no_work()


def test_whichever_joint_is_cut(tmp_path):
    twin = random_mechanism(1, loops=1)
    shown = []
    for name in assembled(tmp_path, twin, sensitivity="none").topology.loops[0]:
        for spec in twin.model["joints"].values():
            spec["cut"] = spec is twin.model["joints"][name]
        found = assembled(tmp_path, twin, sensitivity="none")
        assert found.topology.cut == (name,)
        sensors = start(found.problem).first_block().sensors[0]
        shown.append(np.concatenate([sensors[rows] for key, rows in found.sensor_rows.items() if "." in key]))
    assert len(shown) == 3
    np.testing.assert_allclose(shown[1:], shown[:-1], rtol=0, atol=1e-9 * np.abs(shown).max())


def test_constraints_that_a_joint_makes_superfluous(tmp_path):
    """A rope along the crank takes any share of the pin's force; a plane that nothing can leave may push at will."""
    more = """
          rope: {type: reaction, constraint: rope}
          plane: {type: reaction, constraint: plane}
        constraints:
          rope: {type: distance, points: [ground.A, crank.B], distance: L}
          plane: {type: point_on_plane, point: rocker.C, plane: {point: ground.origin, normal: ground.z}}
    """
    page = FOUR_BAR.partition("\n")[2]
    before, after = page.split("objectives:")
    plain = at_start(assemble(tmp_path, page, sensitivity="none"))
    shown = at_start(assemble(tmp_path, before + dedent(more) + "objectives:" + after, sensitivity="none"))
    for name in ("a.force", "rope.force"):
        assert np.isnan(shown[name][:2]).all()
    np.testing.assert_array_equal(shown["plane.force"], [0, 0, np.nan])
    np.testing.assert_allclose(shown["c.force"], plain["c.force"], rtol=1e-9)
    np.testing.assert_allclose(shown["a.moment"], plain["a.moment"], atol=1e-9)


def at_start(found):
    """What each sensor shows at the start."""
    block = start(found.problem).first_block()
    return {name: block.sensors[0, rows] for name, rows in found.sensor_rows.items()}


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "recursive"])
def test_a_motion_drives_through_its_joint(tmp_path, formulation):
    more = """
          drive: {type: reaction, constraint: crank}
          push: {type: reaction, constraint: slide, axes: joint, on: arm}
          crank: {type: multiplier, constraint: crank}
          slide: {type: multiplier, constraint: slide}
          x: {type: direction, vector: tip.x}
          r: {type: position, point: tip.center_of_mass}
          acceleration: {type: acceleration, point: tip.center_of_mass}
          arm: {type: acceleration, point: arm.center_of_mass}
          arm_r: {type: position, point: arm.center_of_mass}
        constraints:
          crank: {type: motion, coordinate: A.angle, law: {type: polynomial, coefficients: [a, 0.5, 0.7]}}
          slide: {type: motion, coordinate: B.displacement, law: {type: polynomial, coefficients: [0.1, 0, 3]}}
    """
    shown = at_start(assemble(tmp_path, arm(more), sensitivity="none", formulation=formulation))
    weight = np.array([0, 10, 0])
    thrust, other = shown["acceleration"] + weight, 2 * (shown["arm"] + weight)
    pivot = np.array([0.1, 0.2, 0.3])
    moment = np.cross(shown["r"] - pivot, thrust) + np.cross(shown["arm_r"] - pivot, other)
    torque = moment[2] + (0.3 + 0.02) * 1.4  # of the turning, twice the last coefficient
    np.testing.assert_allclose(shown["drive.moment"], [0, 0, torque], atol=1e-12)
    np.testing.assert_allclose(shown["drive.force"], 0, atol=0)
    np.testing.assert_allclose(shown["A.moment"][2], torque, rtol=1e-12)
    np.testing.assert_allclose(shown["A.force"], thrust + other, atol=1e-12)
    np.testing.assert_allclose(shown["crank"], -torque, rtol=1e-12)
    along = shown["x"] @ thrust  # what pushes the tip; the arm gets the opposite
    np.testing.assert_allclose(shown["push.force"], [0, 0, -along], atol=1e-12)
    np.testing.assert_allclose(shown["B.force"][2], along, rtol=1e-12)
    np.testing.assert_allclose(shown["slide"], along, rtol=1e-12)  # the coordinate is the arm's way from the tip


HELD = """
    gravity: [0, 0, -10]
    points: {top: {ground: [0, 0, 1]}}
    bodies:
      hung: {mass: 2}
      laid: {mass: 3}
      wound: {inertia: {yy: 1}}
      first: {inertia: {xx: 1}}
      second: {inertia: {xx: 1}}
    joints:
      hung: {type: prismatic, bodies: [ground, hung], point: origin, axis: z}
      laid: {type: prismatic, bodies: [ground, laid], point: origin, axis: z}
      wound: {type: revolute, bodies: [ground, wound], point: origin, axis: y}
      first: {type: revolute, bodies: [ground, first], point: origin, axis: x}
      second: {type: revolute, bodies: [ground, second], point: origin, axis: x}
    constraints:
      rope: {type: distance, points: [ground.top, hung.origin]}
      floor: {type: point_on_plane, point: laid.origin, plane: {point: ground.origin, normal: ground.z}}
      stop: {type: angle, vectors: [ground.x, wound.x], axis: ground.y}
      gear: {type: coupling, terms: {first.angle: 2, second.angle: -1}}
      brake: {type: motion, coordinate: second.angle, law: {type: constant, value: 0}}
    forces:
      twist: {type: torque, body: wound, value: [0, 4, 0]}
      drive: {type: drive, coordinate: first.angle, value: 6}
    sensors:
      rope: {type: multiplier, constraint: rope}
      floor: {type: multiplier, constraint: floor}
      stop: {type: multiplier, constraint: stop}
      gear: {type: multiplier, constraint: gear}
      brake: {type: multiplier, constraint: brake}
    analysis: {step: 1e-2, duration: 1e-2}
"""


def test_multipliers_diminish_what_equations_measure(tmp_path):
    """The rope and the stop hold back, the floor pushes; the gear gets half of the torque, and passes it on."""
    shown = at_start(assemble(tmp_path, dedent(HELD), sensitivity="none"))
    held = {"rope": 20.0, "floor": -30.0, "stop": 4.0, "gear": 3.0, "brake": 3.0}
    assert {name: value[0] for name, value in shown.items()} == pytest.approx(held, rel=1e-12)


SLIDER = """
    parameters: {a: 0.3, l: 1, c: 1}
    points:
      A: {design: [0, 0, 0.2], bodies: [ground, crank]}
      B: {design: [0.3, 0.1, 0.5], bodies: [crank, rod]}
      C: {design: [l, 0.2, 0.1], bodies: [rod, slider]}
    vectors:
      n: {design: [0, 0.1, 1], bodies: [ground, crank]}
      r: {design: [1, 0, 0], bodies: [ground, crank]}
      u: {design: [0, 1, 0], bodies: [rod]}
      w: {design: [0, 0, 1], bodies: [slider]}
    bodies:
      crank: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}, position: [0.2, 0, 0.3]}
      rod: {mass: 2, inertia: {xx: 0.02, yy: 0.1, zz: 0.1}, position: [0.6, 0.1, 0.2]}
      slider: {mass: 1.5, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}, position: [1, 0, 0]}
    joints:
      A: {type: revolute, bodies: [ground, crank], point: A, axis: n, reference: r, cut: %s}
      B: {type: spherical, bodies: [rod, crank], point: B}
      C: {type: universal, bodies: [rod, slider], point: C, axes: [u, w]}
      D: {type: prismatic, bodies: [slider, ground], point: [origin, origin], axis: x}
    constraints:
      drive: {type: motion, coordinate: A.angle, law: {type: polynomial, coefficients: [0, 2*c, 3]}}
    sensors:
      A: {type: reaction, joint: A, on: ground, axes: joint}
      B: {type: reaction, joint: B}
      C: {type: reaction, joint: C, axes: body}
      D: {type: reaction, joint: D}
      drive: {type: reaction, constraint: drive, on: ground, axes: joint}
    analysis: {step: 1e-2, duration: 1e-2, sensitivity: {method: ddm, parameters: [l, c]}}
"""


def test_a_motion_drives_through_a_joint_that_is_cut(tmp_path):
    """The force is the same, and so is its gradient."""
    problems = [assemble(tmp_path, SLIDER % cut).problem for cut in ("false", "true")]
    whole, split = (start(problem).first_block() for problem in problems)
    drive = whole.sensors[0, -6:]
    assert abs(drive[5]) > 0.5 and np.abs(drive[:5]).max() < 1e-15
    assert whole.sensors[0, 5] == pytest.approx(drive[5], rel=1e-12)
    np.testing.assert_allclose(split.sensors, whole.sensors, atol=1e-11)
    np.testing.assert_allclose(split.d_sensors, whole.d_sensors, atol=1e-9)
    assert_run_gradients(problems[1])


def test_a_coupling_acts_through_each_of_its_joints(tmp_path):
    gears = """
        bodies:
          a: {mass: 1, inertia: {zz: 0.3}}
          b: {mass: 1, inertia: {zz: 0.5}}
        joints:
          A: {type: revolute, bodies: [ground, a], axis: z, point: origin}
          B: {type: revolute, bodies: [b, ground], axis: z, point: origin}
        constraints: {gear: {type: coupling, terms: {A.angle: 1, B.angle: 2}}}
        forces: {turn: {type: torque, body: a, value: [0, 0, 4]}}
        sensors:
          A: {type: reaction, joint: A}
          through_A: {type: reaction, constraint: gear, joint: A}
          through_B: {type: reaction, constraint: gear, joint: B, on: b}
          a: {type: angular_acceleration, body: a}
          b: {type: angular_acceleration, body: b}
    """
    shown = at_start(assemble(tmp_path, gears, sensitivity="none"))
    assert abs(shown["a"][2]) > 1
    assert shown["a"][2] == pytest.approx(2 * shown["b"][2], rel=1e-12)  # the second angle is that of the ground
    assert shown["through_A.moment"] == pytest.approx([0, 0, 0.3 * shown["a"][2] - 4], rel=1e-12)
    assert shown["through_B.moment"] == pytest.approx([0, 0, 0.5 * shown["b"][2]], rel=1e-12)
    assert shown["A.moment"] == pytest.approx([0, 0, 0], abs=1e-12)  # beside the joint


def test_the_coefficient_of_a_coupling_of_one_coordinate(tmp_path):
    """The joint carries all that such a coupling does to it, whatever the coefficient."""
    coupling = """
        constraints: {hold: {type: coupling, terms: {A.angle: "2*a"}, offset: 0.2}}
        analysis: {step: 1e-2, duration: 1e-2, sensitivity: {method: ddm, parameters: [l, a]}}
    """
    assert_run_gradients(assemble(tmp_path, arm(coupling)).problem)


def test_springs_and_drives_act_beside_the_joint(tmp_path):
    forces = """
        forces:
          spring: {type: rotational_spring_damper, coordinate: A.angle, stiffness: k, natural_angle: -1}
          motor: {type: drive, coordinate: B.displacement, value: 7}
    """
    shown = at_start(assemble(tmp_path, arm(forces), sensitivity="none"))
    assert abs(shown["A.moment"][2]) < 1e-12
    assert abs(shown["B.force"][2]) < 1e-12
    assert np.abs(shown["A.moment"][:2]).min() > 0.1


def test_what_hold_carries(tmp_path):
    rest = """
        analysis: {type: equilibrium, hold: [A.angle, B.displacement]}
    """
    found = assemble(tmp_path, arm(rest), sensitivity="none")
    sensors = next(equilibrium(found.problem)).sensors[0]
    shown = {name: sensors[rows] for name, rows in found.sensor_rows.items()}
    c, s = np.cos(0.3), np.sin(0.3)
    tip = 1.0 - 0.1 + 0.2  # from the pivot, along the arm; the coordinate is the arm's way from the tip
    assert shown["A.force"] == pytest.approx([0, 30, 0], abs=1e-12)
    assert shown["A.moment"][2] == pytest.approx(20 * 0.5 * c + 10 * (tip * c - 0.1 * s), rel=1e-12)
    assert shown["B.force"][2] == pytest.approx(10 * s, rel=1e-12)


@pytest.mark.parametrize(
    ("seed", "loops", "options"),
    [
        (19, 1, {"formulation": "ali3p-rtdyn1"}),
        (6, 1, {"formulation": "ali3p-rtdyn0", "projection": "identity"}),
        (4, 0, {"formulation": "ali3p-rtdyn1"}),
    ],
)
def test_gradients_of_constrained_mechanisms(tmp_path, seed, loops, options):
    twin = parametrised(random_mechanism(seed, bodies=3, loops=loops))
    found = assembled(tmp_path, twin, sensitivity="ddm", step=1e-2, **options)
    assert not found.overdetermined
    assert_run_gradients(found.problem)


@pytest.mark.parametrize("text", ["random", SLIDER % "true", FOUR_BAR.partition("\n")[2]])
def test_adjoints_of_reactions_give_their_sensitivities(tmp_path, text):
    """At instants of no motion: random states, multipliers and variations of them."""
    if text == "random":
        problem = assembled(tmp_path, parametrised(random_mechanism(11, bodies=4, loops=2)), sensitivity="ddm").problem
    else:
        problem = assemble(tmp_path, text).problem
    dtheta = allocate.padded_directions(problem.theta_rho, float)
    assert_pull_back_is_the_transpose(problem, dtheta, spread=1.0, relative=1e-12)


def test_gradients_of_what_redundant_constraints_determine(tmp_path):
    found = assemble(tmp_path, FOUR_BAR.partition("\n")[2], step=1e-2)
    assert found.overdetermined
    assert_run_gradients(found.problem)


def assert_run_gradients(problem):
    """Sensitivities of all sensors after a step against the complex step of the run, but for what is undetermined."""
    problem = replace(problem, options=replace(problem.options, tolerance=1e-13))
    found = direct(problem, problem.theta_rho.T, steps=1)["d_sensors"]
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0])
    for k, direction in enumerate(problem.theta_rho.T):
        exact = complex_step(plain, direction, steps=1)["sensors"]
        size = np.abs(exact[np.isfinite(exact)]).max()
        assert size > 0
        np.testing.assert_allclose(found[..., k], exact, rtol=0, atol=1e-9 * size + 2e-8 * np.abs(direction).max())


@pytest.mark.parametrize("formulation", OPEN_TREES)
def test_gradients_of_open_trees(tmp_path, formulation):
    twin = parametrised(random_mechanism(OPEN_TREES.index(formulation), bodies=3, extras="tree"))
    twin.model["analysis"] |= {"formulation": formulation, "integrator": "rk4"}
    problem = assembled(tmp_path, twin, sensitivity="ddm").problem
    assert_gradients(problem, lambda problem, theta: list(forward(problem, theta=theta))[-1])


@pytest.mark.parametrize("formulation", OPEN_TREES)
def test_gradients_of_driven_trees(tmp_path, formulation):
    driven = f"""
          drive: {{type: reaction, constraint: crank, axes: joint}}
        constraints:
          crank: {{type: motion, coordinate: A.angle, law: {{type: polynomial, coefficients: [a, 0.01*k, m]}}}}
        analysis:
          formulation: {formulation}
          integrator: rk4
          step: 1e-2
          duration: 1e-2
          sensitivity: {{method: ddm, parameters: all}}
    """
    problem = assemble(tmp_path, arm(driven)).problem
    assert_gradients(problem, lambda problem, theta: list(forward(problem, theta=theta))[-1])


@pytest.mark.parametrize("hold", ["", "A.angle, B.displacement"])
def test_gradients_of_an_equilibrium(tmp_path, hold):
    rest = f"""
        forces:
          spring: {{type: spring_damper, points: [ground.origin, tip.origin], stiffness: 9*k, natural_length: 1}}
          slide: {{type: spring_damper, points: [arm.A, tip.center_of_mass], stiffness: 8*k, natural_length: l}}
        analysis: {{type: equilibrium, hold: [{hold}], sensitivity: {{method: ddm, parameters: all}}}}
    """
    problem = assemble(tmp_path, arm(rest)).problem
    assert_gradients(problem, lambda problem, theta: next(equilibrium(problem, theta=theta)))


def test_inverse_dynamics(tmp_path):
    motion = """
          tau: {type: torques}
        forces:
          spring: {type: rotational_spring_damper, coordinate: A.angle, stiffness: k, natural_angle: 0.1}
        analysis:
          type: inverse_dynamics
          sampling: 0.1
          duration: 0.1
          motion: {all: {type: harmonic, amplitude: a, frequency: 1}}
          sensitivity: {method: ddm, parameters: all}
    """
    found = assemble(tmp_path, arm(motion))
    problem, time = found.problem, np.array([0.0, 0.07])
    block = InverseAnalysis(problem).at(time)
    shown = {name: block.sensors[:, rows] for name, rows in found.sensor_rows.items()}
    np.testing.assert_allclose(shown["A.moment"][:, 2], shown["tau"][:, 0], rtol=1e-12)  # the drive's alone
    np.testing.assert_allclose(shown["B.force"][:, 2], -shown["tau"][:, 1], rtol=1e-12)
    h = 1e-3
    for k, direction in enumerate(problem.theta_rho.T):
        at = [InverseAnalysis(replace(problem, theta=problem.theta + s * h * direction)) for s in (-2, -1, 1, 2)]
        values = [analysis.at(time).sensors for analysis in at]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        np.testing.assert_allclose(block.d_sensors[..., k], slope, atol=1e-8 * np.abs(slope).max())


def assert_gradients(problem, last):
    """Sensitivities of all sensors at an instant against the complex step of the whole analysis."""
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=replace(problem.options, sensitivity="none"))
    found = last(problem, None).d_sensors
    assert np.abs(found).max() > 0.0
    for k, direction in enumerate(problem.theta_rho.T):
        exact = last(plain, problem.theta + 1j * EPS * direction).sensors.imag / EPS
        np.testing.assert_allclose(found[..., k], exact, rtol=0.0, atol=1e-9 * max(1.0, np.abs(exact).max()))
