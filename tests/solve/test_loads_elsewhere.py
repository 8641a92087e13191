"""Analyses that do not solve for multipliers beside forces that read them say so: their numbers would be wrong."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import AnalysisError, ModelError

pytestmark = pytest.mark.interpreted

ROPE = """\
mbsim: 1
gravity: [0, 0, -9.81]
bodies: {a: {mass: 1}, b: {mass: 2}}
joints:
  A: {type: prismatic, bodies: [ground, a], point: origin, axis: x}
  B: {type: prismatic, bodies: [ground, b], point: origin, axis: z}
constraints: {rope: {type: coupling, terms: {A.displacement: 1, B.displacement: 1}, offset: 0}}
sensors: {T: {type: multiplier, constraint: rope}}
forces: {F: {type: drive, coordinate: A.displacement, value: -50*A.displacement - 0.3*T*(1 + A.displacement)}}
objectives: {e: {final: T}}
analysis: {formulation: ali3p-rtdyn1, step: 1e-3, duration: 1e-2}
"""
RUBBING = """\
mbsim: 1
gravity: [0, 0, -9.81]
bodies: {a: {mass: 2}}
joints:
  A:
    type: prismatic
    bodies: [ground, a]
    point: origin
    axis: x
    initial: {displacement: 0.1, velocity: 0.5}
    friction: {dynamic: 0.3, velocity: 0.1}
forces: {S: {type: spring_damper, coordinate: A.displacement, stiffness: 100, natural_length: 0}}
sensors: {x: {type: coordinate, coordinate: A.displacement}}
objectives: {e: {final: x}}
analysis: {formulation: ali3p-rtdyn1, step: 1e-3, duration: 1e-2}
"""


@pytest.fixture
def model(tmp_path):
    def written(text, **replaced):
        path = tmp_path / "model.yaml"
        for old, new in replaced.items():
            text = text.replace(old, new)
        path.write_text(text)
        return mbsim.load(path)

    return written


@pytest.mark.parametrize("at", ["start", "equilibrium", 5e-3])
def test_small_motions_beside_forces_that_read_multipliers_are_refused(model, at):
    with pytest.raises(AnalysisError, match="does not solve for forces that depend on multipliers"):
        model(ROPE).linearize(at)


def test_an_equilibrium_of_forces_that_read_multipliers_is_refused(model):
    with pytest.raises(AnalysisError, match="the search for an equilibrium does not solve for forces that depend"):
        model(ROPE, duration="start: equilibrium, duration").run()


def test_friction_at_rest_damps_small_motions_by_its_load(model):
    """At rest friction is zero whatever the load, and its damping is the slope of the load's share."""
    system = model(RUBBING).linearize("equilibrium")
    slope = 0.3 * 2 * 9.81 * 4 / 0.1  # of tanh(4 v / v_t) at rest
    assert system.A[1] == pytest.approx([-50.0, -slope / 2], rel=1e-9)
    with pytest.raises(AnalysisError, match="friction on loads"):
        model(RUBBING).linearize("start")


def test_accelerations_at_one_state_solve_for_multipliers_that_forces_read(model):
    """x'' = -50 x - (1 + k (1 + x)) T and -2 x'' = -2 g - T, so that x'' (3 + 2 k (1 + x)) is known."""
    mechanics = model(ROPE.replace("gravity", "parameters: {k: 0.3}\ngravity").replace("0.3*T", "k*T")).mechanics()
    x, rate, k, push = 0.2, 0.7, 0.3, 1.5

    def exact(x, k=k, push=0.0):
        share = 1.0 + k * (1.0 + x)
        return (push - 50.0 * x + 2.0 * 9.81 * share) / (1.0 + 2.0 * share)

    q, v = np.array([x, -x]), np.array([rate, -rate])
    found = mechanics.accelerations(q, v, derivatives=True)
    assert found.value == pytest.approx([exact(x), -exact(x)], rel=1e-12)
    along = found.by_position @ [1.0, -1.0]  # the motion that the rope allows
    assert along[0] == pytest.approx(exact(x + 1e-30j).imag / 1e-30, rel=1e-11)
    assert found.by_parameter[0, 0] == pytest.approx(exact(x, k + 1e-30j).imag / 1e-30, rel=1e-11)
    assert mechanics.accelerations(q, v, forces=[push, 0.0])[0] == pytest.approx(exact(x, push=push), rel=1e-12)
    late = mechanics.step(q, v, 1e-3)
    assert late.velocity[0] == pytest.approx(rate + 1e-3 * exact(x + 0.5e-3 * rate), rel=1e-6)


def test_friction_by_loads_acts_in_accelerations_at_one_state(model):
    """A load of m g, and tanh(4 v/v_t) of the friction."""
    mechanics = model(RUBBING).mechanics()
    friction = 0.3 * 2 * 9.81 * np.tanh(4 * 0.5 / 0.1)
    found = mechanics.accelerations(*mechanics.state())[mechanics.coordinates.index("A.displacement")]
    assert found == pytest.approx((-100 * 0.1 - friction) / 2, rel=1e-9)


def test_accelerations_that_no_multipliers_balance_are_refused(model):
    """A force of -T^2 asks for T^2 + 1.5 T + g = 0, which no T solves."""
    unbalanced = model(ROPE.replace("-50*A.displacement - 0.3*T*(1 + A.displacement)", "-T**2"))
    mechanics = unbalanced.mechanics()
    for call in (unbalanced.run, lambda: mechanics.accelerations(*mechanics.state())):
        with pytest.raises(AnalysisError, match="multipliers that forces read do not converge in 30 iterations"):
            call()


@pytest.mark.parametrize("push", [22.0, 29.1, 38.6, 50.3])
def test_multipliers_that_are_round_off_count_as_found(model, push):
    """Forces that move both masses as the rope does leave no tension but round-off."""
    balanced = ROPE.replace("-50*A.displacement - 0.3*T*(1 + A.displacement)", f"{push} - 0.3*T").replace("9.81", "0")
    balanced = balanced.replace("displacement: 1, B.displacement: 1", "displacement: 0.3, B.displacement: 0.7")
    balanced = balanced.replace(
        "forces: {", f"forces: {{G: {{type: drive, coordinate: B.displacement, value: -{push}*6/7}}, "
    )
    found = model(balanced)
    mechanics = found.mechanics()
    assert mechanics.accelerations(*mechanics.state()) == pytest.approx([push, -push * 3 / 7], rel=1e-12)
    assert abs(found.run().objectives["e"].value) < 1e-12


def test_forces_that_read_undetermined_multipliers_are_refused(model):
    """Two equal ropes share the load in many ways."""
    twice = ROPE.replace(
        "constraints: {rope:",
        "constraints: {twin: {type: coupling, terms: {A.displacement: 2, B.displacement: 2}, offset: 0}, rope:",
    )
    place = r"model.yaml:9:\d+: forces.F.value: constraints that depend on each other leave a multiplier undetermined"
    for unknown in ("T", "(T + S)", "(abs(T) + 2*abs(S))", "(T + 2*S + 1e-3*T*S)"):
        with pytest.raises(ModelError, match=place):
            model(twice.replace("0.3*T", f"0.3*{unknown}").replace("sensors: {", SECOND)).run()
    assert model(twice.replace("0.3*T", "0.3")).run().objectives["e"].flags


SECOND = "sensors: {S: {type: multiplier, constraint: twin}, "


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-rtdyn0"])
def test_forces_may_read_what_redundant_constraints_share(model, formulation):
    """The motion determines what two ropes transmit together, T + 2 S here, and with it any function of that."""
    single = ROPE.replace("ali3p-rtdyn1", formulation).replace("{final: T}", "{final: x.x}")
    single = single.replace("sensors: {", "sensors: {x: {type: position, point: a.origin}, ")
    twice = (
        single.replace(
            "constraints: {rope:",
            "constraints: {twin: {type: coupling, terms: {A.displacement: 2, B.displacement: 2}, offset: 0}, rope:",
        )
        .replace("0.3*T", "0.3*(T + 2*S)")
        .replace("sensors: {", SECOND)
    )
    expected, found = (model(text).run(sensitivity="none").objectives["e"].value for text in (single, twice))
    assert found == pytest.approx(expected, rel=1e-10)
    one, two = model(single).mechanics(), model(twice).mechanics()
    assert two.accelerations(*two.state()) == pytest.approx(one.accelerations(*one.state()), rel=1e-10)


def test_forces_at_one_state_that_read_multipliers_are_refused(model):
    mechanics = model(ROPE).mechanics()
    q, v = mechanics.state()
    assert mechanics.mass_matrix(q) == pytest.approx(np.diag([1.0, 2.0]))
    with pytest.raises(AnalysisError, match="forces depend on multipliers"):
        mechanics.forces(q, v)
    with pytest.raises(AnalysisError, match="forces depend on multipliers"):
        mechanics.inverse_dynamics(q, v, v)
