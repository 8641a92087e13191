"""Closed loops by Runge-Kutta methods: order, constraints to round-off, exact gradients of the steps taken."""

import numpy as np
import pytest

from mbsim_cli.model.codes import Joint
from mbsim_cli.study.evaluation import evaluate
from tests.assembly.texts import assemble
from tests.cli.test_reactions import FOUR_BAR
from tests.kernels.mechanisms import four_bar, loop, three_cranks
from tests.kernels.open_tree_adjoint import assert_adjoint
from tests.kernels.test_integrators import EPS, run, some

ALI1P = {"formulation": "ali1p-rtdyn1"}
TIGHT = {"tolerance": 1e-10, "absolute_tolerance": 1e-10}  # of references; errors beside them are 1e-7 and more
OUTPUTS = ("position", "velocity", "acceleration", "lambda_", "sensors")
JOINTS = [joint for joint in Joint if joint != Joint.FIXED]


def largest(found, expected, floor=1e-12):
    """Largest difference relative to the largest number, or to a floor."""
    return np.abs(found - expected).max(initial=0.0) / max(floor, np.abs(expected).max(initial=0.0))


def assert_exact(problem, directions, integrator, steps, step, **options):
    """Direct sensitivities are those of the complex step of whole runs."""
    found = run(problem, integrator, steps, step, directions=directions, **ALI1P, **options)
    for k, direction in enumerate(directions):
        moved = run(problem, integrator, steps, step, theta=problem.theta + 1j * EPS * direction, **ALI1P, **options)
        for name in OUTPUTS:
            derivative = found[f"d_{name.removesuffix('_')}"][..., k]
            floor = 1e-3 * np.abs(moved[name].real).max(initial=1.0)  # multipliers of norms are zero
            assert largest(derivative, moved[name].imag / EPS, floor) < 1e-9, (name, k)
    assert (found["drift"][:, :2] < 1e-12).all()
    return found


def test_order():
    """Values and gradients of rk4 fall with the fourth power of the step."""
    builder = loop(Joint.UNIVERSAL, Joint.SPHERICAL)
    problem, directions = builder.problem(), some(builder, 1)
    reference = run(problem, "dop853", 1, 0.1, directions=directions, error_control="sensitivities", **ALI1P, **TIGHT)
    errors = []
    for steps in (4, 8):
        found = run(problem, "rk4", steps, 0.1 / steps, directions=directions, **ALI1P)
        names = ("position", "velocity", "d_position", "d_velocity")
        errors.append([largest(found[name][-1], reference[name][-1]) for name in names])
        assert (found["drift"][:, :2] < 1e-12).all()
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert (slopes > 3.6).all(), slopes


@pytest.mark.slow
def test_order_of_implicit_steps():
    """The same of esdirk, at steps of fixed length."""
    builder = loop(Joint.UNIVERSAL, Joint.SPHERICAL)
    problem, directions = builder.problem(), some(builder, 1)[:1]
    reference = run(problem, "dop853", 1, 0.1, directions=directions, error_control="sensitivities", **ALI1P, **TIGHT)
    names, errors = ("position", "velocity", "d_position", "d_velocity"), []
    for steps in (4, 8):
        found = run(problem, "esdirk", steps, 0.1 / steps, fixed=True, directions=directions, **ALI1P)
        each = [largest(found[name][-1], reference[name][-1]) for name in names]
        errors.append([max(each[:2]), max(each[2:])])
        assert (found["drift"][:, :2] < 1e-12).all()
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert (slopes > 3.5).all(), (slopes, errors)


LONG = [joint for joint in JOINTS if joint != Joint.FLOATING]  # revolute ones by the tests below
MARKED = [pytest.param(k, marks=[pytest.mark.slow] * (k in LONG), id=k.name.lower()) for k in JOINTS]


@pytest.mark.parametrize("joint", MARKED)
def test_gradients_of_what_was_computed(joint):
    """Loops with each joint inside and cut, Euler parameters among them, by steps of both kinds."""
    builder = loop(joint, joint)
    problem, directions = builder.problem(), some(builder, 2)
    assert_exact(problem, directions, "rk4", 2, 0.02)
    for integrator in ("dop853", "esdirk"):
        assert_exact(problem, directions[:1], integrator, 1, 0.1, tolerance=1e-4, absolute_tolerance=1e-4)


@pytest.mark.parametrize("mechanism", [four_bar, three_cranks])
def test_redundant_constraints(mechanism):
    builder = mechanism()
    problem, directions = builder.problem(), some(builder, 1)
    assert_exact(problem, directions, "rk4", 2, 0.01)


@pytest.mark.parametrize(
    ("integrator", "every", "joint"),
    [("rk4", 45, Joint.REVOLUTE), ("dop853", 45, Joint.SPHERICAL), ("esdirk", 120, Joint.REVOLUTE)],
)
def test_adjoint(integrator, every, joint):
    builder = loop(joint, joint)
    builder.every_sensor()
    chosen = {"integrator": integrator, "step": 0.01, "gradient_tolerance": 1e-12, **ALI1P}
    assert_adjoint(builder, 2, every=every, relative=1e-10, **chosen, tolerance=1e-3, absolute_tolerance=1e-3)


@pytest.mark.parametrize("joint", ["B", "C"])
def test_the_residual_of_adjoints_of_reactions(tmp_path, joint):
    """At the cut joint they are adjoints of multipliers alone, beside which those of accelerations are round-off."""
    bars = FOUR_BAR.split("objectives:")[0].replace("mbsim: 1\n", "").replace("point: C,", "point: C, cut: true,")
    text = f"{bars}objectives: {{load: {{integral: {joint.lower()}.force.x**2}}}}\nanalysis: {{duration: 0.02}}\n"
    options = {"integrator": "rk4", "step": 0.01, "sensitivity": "adjoint", **ALI1P}
    built = assemble(tmp_path, text, **options)
    assert evaluate(built.problem, built.objectives)["load"].error < 1e-12
