"""Second derivatives of objectives: differences of gradients and symmetry say the same.

In plain Python: adjoints in complex numbers take minutes to compile.
"""

import warnings

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import UsageError
from mbsim_cli.study.verification import derivative
from tests.cli.test_adjoint import DURATION
from tests.cli.test_undefined import CRANKS
from tests.kernels.plain.test_adjoint_at_instants import ARM

SHORT = DURATION.replace("step: 1e-2, duration: L/2", "step: 2e-2, duration: L*0.057")
# a length that follows from another, a loop with redundant equations, its multiplier and a spring
LOOP = (
    CRANKS.replace("L1: 1, both: {value: 0, unit: m}", "a: 0.25, both: {value: 4*a - 1, unit: m}")
    .replace("L1 + both", "1 + both")
    .replace("step: 1e-2, duration: 0.1", "step: 1e-2, duration: 0.02")
    .replace("load: {final: f", "load: {final: f + a * r.x")
    .replace(
        "objectives:", "forces: {s: {type: spring_damper, points: [ground.A2, bar.B1], stiffness: 50}}\nobjectives:"
    )
)
RESTING = LOOP.replace("forward_dynamics, step: 1e-2, duration: 0.02", "equilibrium")


def assert_second_derivatives(path, objectives, relative, **options):
    model = mbsim.load(path)
    rho = np.array([model.parameters[name] for name in model.differentiated])
    for name in objectives:
        hessian = model.hessian(rho, name)

        def gradient(change, along, name=name):
            return model.value_and_gradient(rho + change * along, name, sensitivity="adjoint", **options)[1]

        along = np.linspace(0.5, 1.0, len(rho)) * np.abs(rho)
        expected = derivative(lambda change: gradient(change, along), 1.0, 1e-5).derivative  # noqa: B023
        size = np.abs(hessian * along).sum(axis=1)
        assert (size > 0.0).any()
        assert np.abs(hessian - hessian.T).max() <= 1e-9 * np.abs(hessian).max(), name
        assert (np.abs(hessian @ along - expected) <= relative * size.max()).all(), name
        np.testing.assert_allclose(
            model.hessian_vector(rho, along, name), hessian @ along, rtol=0, atol=1e-12 * size.max()
        )


def test_a_motion_its_duration_and_expressions_of_objectives(tmp_path):
    (tmp_path / "p.yaml").write_text(SHORT)
    assert_second_derivatives(tmp_path / "p.yaml", ("swing", "low", "all"), 1e-8, tolerance=1e-13)


@pytest.mark.parametrize("integrator", ["rk4", pytest.param("dop853", marks=pytest.mark.slow)])
def test_an_open_tree(tmp_path, integrator):
    text = SHORT.replace("step: 2e-2", f"formulation: recursive, integrator: {integrator}, step: 2e-2")
    (tmp_path / "p.yaml").write_text(text)
    assert_second_derivatives(tmp_path / "p.yaml", ("swing",), 1e-6)


@pytest.mark.parametrize(
    ("text", "options"),
    [pytest.param(LOOP, {"tolerance": 1e-13}, marks=pytest.mark.slow), (RESTING, {})],
    ids=["motion", "rest"],
)
def test_a_loop_with_redundant_equations(tmp_path, text, options):
    (tmp_path / "p.yaml").write_text(text)
    assert_second_derivatives(tmp_path / "p.yaml", ("load",), 1e-6, **options)


def test_inverse_dynamics(tmp_path):
    (tmp_path / "t.csv").write_text("s,d\n0,0.1\n0.02,0.12\n0.05,0.2\n0.1,0.25\n")
    (tmp_path / "p.yaml").write_text(ARM.replace("value: 0.06", "value: 0.02"))
    assert_second_derivatives(tmp_path / "p.yaml", ("effort", "pin"), 1e-7)


def test_parameters_without_derivatives_and_what_is_refused(tmp_path):
    (tmp_path / "p.yaml").write_text(CRANKS.replace("duration: 0.1", "duration: 0.01"))
    model = mbsim.load(tmp_path / "p.yaml")
    hessian = model.hessian(objective="x")
    assert (np.isnan(hessian) == [[True] * 3, [True, False, False], [True, False, False]]).all()
    for arguments, sentence in (
        (((None, [1.0]), {"objective": "x"}), "a direction is 3 finite numbers: L1, both, m"),
        (((None, [1.0, 0.0, np.nan]), {"objective": "x"}), "a direction is 3 finite numbers"),
        (((None, np.ones(3)), {"objective": "x", "sensitivity": "ddm"}), "those of the adjoint; leave sensitivity out"),
        (
            ((None, np.ones(3)), {"objective": "x", "formulation": "ali3p-natural"}),
            "natural coordinates have no second",
        ),
    ):
        with pytest.raises(UsageError, match=sentence):
            model.hessian_vector(*arguments[0], **arguments[1])


STOPPED = """mbsim: 1
gravity: [0, 0, 0]
parameters: {x0: -0.001}
bodies: {ball: {mass: 1}}
joints:
  slide:
    {type: prismatic, bodies: [ground, ball], point: [origin, center_of_mass], axis: x,
    initial: {displacement: x0, velocity: 1}}
sensors: {x: {type: coordinate, coordinate: slide.displacement}}
forces: {wall: {type: drive, coordinate: slide.displacement, value: "CORNER"}}
analysis: {step: 1e-3, duration: 2e-3}
objectives: {end: {final: x}}
"""


def test_corners_of_forces_are_warned_of():
    """A mass that meets a spring at t = -x0: the second derivative by x0 is all of the corner."""
    with pytest.warns(UserWarning, match="where the motion passes a corner of a force, as of max"):
        mbsim.loads(STOPPED.replace("CORNER", "-900*max(x, 0)")).hessian()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbsim.loads(STOPPED.replace("CORNER", "-450*(x + sqrt(x**2 + 1e-6))")).hessian()
