"""Where the equations of motion are undefined the sentence names the element, at the start and on the way."""

import numpy as np
import pytest

from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.faults import undefined_at
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.analyses import ANALYSES
from tests.assembly.texts import assemble
from tests.cli.conftest import mbsim  # noqa: F401, a fixture

SLIDE = """
points: {O: {ground: [0, 0, 0], a: [0, 0, 0]}, P: {ground: [PLACE, 0, 0], a: [1, 0, 0]}}
vectors: {x: {all: [1, 0, 0]}}
bodies: {a: {mass: 3}}
joints: {s: {type: prismatic, bodies: [ground, a], point: O, axis: x}}
forces:
  first: {type: drive, coordinate: s.displacement, law: {type: polynomial, coefficients: [1]}}
  second: FORCE
sensors: {x: {type: coordinate, coordinate: s.displacement}}
"""
BETWEEN = "{type: spring_damper, points: [ground.P, a.P], stiffness: K, damping: C, natural_length: 0.5}"
FORCES = {
    "spring": BETWEEN.replace("K", "10").replace("C", "0"),
    "damper": BETWEEN.replace("K", "0").replace("C", "2"),
    "both": BETWEEN.replace("K", "10").replace("C", "2"),
}
NO_DIRECTION = "has no direction, for the points that it lies between coincide"
STEPS = {"step": 1e-2, "duration": 0.02}


def text(force, place=1):
    return SLIDE.replace("FORCE", force).replace("PLACE", str(place))


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
@pytest.mark.parametrize("force", FORCES)
def test_forces_between_points_that_coincide_at_the_start(tmp_path, formulation, force):
    problem = assemble(tmp_path, text(FORCES[force]), formulation=formulation, **STEPS).problem
    with pytest.raises(AnalysisError, match=f"undefined at t = 0 s: the force of 'second' {NO_DIRECTION}$"):
        list(forward(problem))


@pytest.mark.parametrize("place", [1, 1 + 3e-16])
def test_a_constraint_between_points_that_coincide(tmp_path, place):
    bar = "constraints: {bar: {type: distance, points: [ground.P, a.P], law: {type: polynomial, coefficients: [0, 1]}}}"
    model = SLIDE.replace("  second: FORCE", "").replace("PLACE", str(place)) + bar
    with pytest.raises(AnalysisError, match=f"undefined at t = 0 s: the constraint 'bar' {NO_DIRECTION}"):
        list(forward(assemble(tmp_path, model, **STEPS).problem))


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", pytest.param("ali3p-natural", marks=pytest.mark.interpreted)])
def test_points_that_coincide_but_for_round_off(tmp_path, formulation):
    """The direction would be one of round-off, and so would be all results."""
    problem = assemble(tmp_path, text(FORCES["both"], 1 + 3e-16), formulation=formulation, **STEPS).problem
    with pytest.raises(AnalysisError, match=f"undefined at t = 0 s: the force of 'second' {NO_DIRECTION}$"):
        list(forward(problem))
    near = assemble(tmp_path, text(FORCES["both"], 1 + 1e-9), formulation=formulation, **STEPS).problem
    assert list(forward(near))


def test_an_equilibrium_too(tmp_path):
    problem = assemble(tmp_path, text(FORCES["spring"]), start="equilibrium", **STEPS).problem
    with pytest.raises(AnalysisError, match=f"the force of 'second' {NO_DIRECTION}"):
        list(forward(problem))


def test_any_other_place_and_time(tmp_path):
    """The points meet at x = 1; a law overflows late."""
    law = "{type: drive, coordinate: s.displacement, law: {type: polynomial, coefficients: [0, 0, 0, 1e300]}}"
    zero = np.zeros(1)
    for force, fine, wrong, sentence in (
        (FORCES["both"], (0.0, 0.5), (0.3, 1.0), NO_DIRECTION),
        (law, (1.0, 0.0), (1e4, 0.0), "is no finite number; it may divide by zero or overflow"),
    ):
        problem = assemble(tmp_path, text(force, 2), **STEPS).problem
        assert undefined_at(problem, problem.theta, fine[0], zero + fine[1], zero) is None
        found = undefined_at(problem, problem.theta, wrong[0], zero + wrong[1], zero)
        assert found == f"the equations of motion are undefined at t = {wrong[0]:g} s: the force of 'second' {sentence}"
        assert undefined_at(problem, problem.theta, 0.0, zero + np.nan, zero) is None  # nothing to evaluate there


@pytest.mark.interpreted
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_steps_into_what_is_undefined_name_the_force(tmp_path, integrator):
    """The force has no value behind x = 0.01: rk4 was reported as singular, dop853 to need shorter steps than any."""
    force = "{type: drive, coordinate: s.displacement, value: -sqrt(0.01 - s.displacement)}"
    options = {"formulation": "recursive", "integrator": integrator, "step": 1e-2, "duration": 1.0}
    problem = assemble(tmp_path, text(force, 2), **options).problem
    told = "the force of 'second' is no finite number: forces"
    with np.errstate(invalid="ignore"), pytest.raises(AnalysisError, match=told):
        list(ANALYSES["forward_dynamics"].solve(problem))


def test_the_tool_says_so(tmp_path, mbsim):  # noqa: F811
    (tmp_path / "m.yaml").write_text("mbsim: 1" + text(FORCES["spring"]))
    done = mbsim("run", "m.yaml", "--json")
    assert done.code == 4 and f"the force of 'second' {NO_DIRECTION}" in done.json["message"]
