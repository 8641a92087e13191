"""A step that does not resolve the motion is told, in every output; one that does is not blamed."""

import re
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.streams import Uncertainty
from tests.cli.conftest import PENDULUM, ROOT

FORWARD = SimpleNamespace(analysis="forward_dynamics")  # options
SPRING = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {k: 1e9, m: 1}
points: {far: {ground: [-1, 0, 0]}}
bodies: {block: {mass: m}}
joints: {slide: {type: prismatic, bodies: [ground, block], point: origin, axis: x, initial: {displacement: 0.01}}}
forces: {spring: {type: spring_damper, points: [ground.far, block.origin], stiffness: k, natural_length: 1}}
sensors: {x: {type: coordinate, coordinate: slide.displacement}}
objectives: {end: {final: x, unit: m}, mean: {integral: x**2, unit: m^2 s}}
analysis: {step: 1e-3, duration: 0.1, sensitivity: {method: ddm}}
"""
BALL = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {w: {value: 1000, unit: rad/s}}
bodies: {ball: {shape: {type: sphere, radius: 0.1, mass: 1}}}
joints: {b: {type: spherical, bodies: [ground, ball], point: origin, initial: {angular_velocity: [0, 0, w]}}}
sensors: {x: {type: direction, vector: ball.x}}
objectives: {end: {final: x.x}}
analysis: {step: 1e-3, duration: 0.1, sensitivity: {method: ddm}}
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "model.yaml"
        path.write_text(text)
        return path

    return write


def test_five_periods_a_step_are_no_motion(mbsim, written):
    done = mbsim("run", written(SPRING), "--json").json
    assert done["discretisation"]["motion"] > 1.0 and done["discretisation"]["worst"] == "slide.displacement"
    assert "steps of 0.001 s do not follow the motion of slide.displacement" in " ".join(done["warnings"])
    assert re.search(r"d (end|mean) / d \w has an estimated discretisation error", " ".join(done["warnings"]))


SLOPE = """\
mbsim: 1
parameters: {L: 1, a: 0.7}
vectors: {axis: {ground: [cos(a), sin(a), 0], rod: [0, 1, 0]}}
bodies: {rod: {mass: 1, center_of_mass: [L, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}}
joints: {hinge: {type: revolute, bodies: [ground, rod], point: origin, axis: axis, initial: {angle: 0.3}}}
sensors: {v: {type: velocity, point: rod.center_of_mass}}
objectives:
  across: {final: "dot(v, [cos(a), sin(a), 0])", unit: m/s}
  far: {integral: "dot(v, [cos(a), sin(a), 0])", unit: m}
  both: {expression: 2*across + far}
  square: {integral: "dot(v, [cos(a), sin(a), 0])**2"}
analysis: {step: 1e-2, duration: 1, sensitivity: {method: ddm, parameters: [L]}}
"""


@pytest.mark.parametrize("sensitivity", ["ddm", "adjoint", "none"])
def test_round_off_of_zero_is_not_blamed_on_the_step(mbsim, written, sensitivity):
    """Nothing moves along the axis of a hinge."""
    done = mbsim("run", written(SLOPE), "--sensitivity", sensitivity, "--json").json
    assert all(abs(one["value"]) < 1e-15 for one in done["objectives"].values())
    assert done["warnings"] == []
    assert mbsim("run", written(SLOPE), "--sensitivity", sensitivity, "--step", "auto", "--json").json["warnings"] == []


def test_round_off_of_zero_passes_its_check(mbsim, written):
    """Of the square differences of whole analyses tell 1e-30, too."""
    assert mbsim("check", written(SLOPE)).code == 0


def test_a_number_that_its_error_hides_may_be_zero():
    found = Uncertainty(np.array([3e-17]), np.zeros(1))
    result = SimpleNamespace(uncertainty=found, value=1e-17, gradient=np.zeros(0))
    told = discretisation.warnings(SimpleNamespace(worst=(0.0, None)), {"far": result}, [], FORWARD)
    assert told == [
        "objective far is 1.0e-17 with an estimated discretisation error of 3.0e-17, so that it may be zero; "
        "try a shorter step, or step: auto if it should not be"
    ]


DAMPED = """
mbsim: 1
name: Two masses on a stiff damper, which a spring drives at the start
gravity: [0, 0, 0]
parameters: {x: {value: 0.1, unit: m}}
bodies: {a: {mass: 1}, b: {mass: 3}}
joints:
  a: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: x}}
  b: {type: prismatic, bodies: [ground, b], point: origin, axis: x}
forces:
  s: {type: spring_damper, points: [a.origin, b.origin], stiffness: 1e6, damping: 1e5, natural_length: 0.3}
  g: {type: spring_damper, coordinate: b.displacement, stiffness: 100, natural_length: 0}
sensors: {b: {type: coordinate, coordinate: b.displacement}}
objectives: {last: {final: b, unit: m}}
analysis: {formulation: recursive, step: 1e-3, duration: 0.5, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("sensitivity", ["ddm", "adjoint"])
def test_derivatives_that_round_off_has_made_are_warned_of(mbsim, written, sensitivity):
    """By a tolerance near round-off steps are longer than derivatives stand: 1e62, while the motion is right."""
    path = written(DAMPED)
    done = mbsim("run", path, "--sensitivity", sensitivity, "--tolerance", "5e-13", "--json").json
    found = done["objectives"]["last"]
    assert found["value"] == pytest.approx(0.020345528, rel=1e-7)
    assert found["gradient"]["x"] == pytest.approx(-0.10172764, rel=1e-6) or "round-off" in done["warnings"][-1]
    assert abs(mbsim("run", path, "--json").json["objectives"]["last"]["gradient"]["x"]) < 1.0


def test_a_derivative_is_useless_where_round_off_of_its_parameter_changes_all():
    quiet, nothing = SimpleNamespace(worst=(0.0, None)), Uncertainty(np.zeros(1), np.array([2.0]))

    def told(value, slope):
        result = SimpleNamespace(uncertainty=nothing, value=value, gradient=np.array([1.0, slope]))
        return discretisation.warnings(
            quiet, {"far": result}, [SimpleNamespace(name=n, value=0.1) for n in "ab"], FORWARD
        )

    assert told(3.0, 1e12) == told(0.0, 1.0) == told(1e3, 1e15) == []
    assert [line.startswith("d far / d b is 1.0e+15, so that round-off") for line in told(3.0, 1e15)] == [True]


def test_a_fast_spin_is_off_by_its_phase(mbsim, written):
    """Trapezoidal phase of w / 2: 2 atan(w h / 4) a step; the estimate is of that size."""
    for step, true in ((1e-3, 0.47), (1e-4, 5.1e-3)):
        done = mbsim("run", written(BALL), "--step", step, "--json").json
        assert true / 3.0 < done["discretisation"]["motion"] < 3.0 * true
        assert bool(done["warnings"]) == (step == 1e-3 or done["objectives"]["end"]["discretisation"]["value"] > 0.01)
    end = done["objectives"]["end"]
    assert abs(end["value"] - np.cos(100.0)) == pytest.approx(end["discretisation"]["value"], rel=0.5)


def test_projections_by_the_identity_hide_what_they_lose(mbsim, written):
    """Velocities lose energy, and positions follow them: one run does not show these errors, two runs do."""
    text = (ROOT / "models/fivebar.yaml").read_text()
    loop = written(text.replace("  step: 1e-3\n", "  step: 1e-3\n  projection: identity\n", 1))
    assert "identity" in loop.read_text()
    done, fine = (mbsim("run", loop, "--duration", "0.5", "--step", h, "--json").json for h in ("1e-3", "1.25e-4"))
    assert done["discretisation"]["motion"] is None and "identity" in done["discretisation"]["reason"]
    for name, objective in done["objectives"].items():
        off = abs(objective["value"] - fine["objectives"][name]["value"])
        assert off / 5.0 < objective["discretisation"]["value"] < 5.0 * off
    assert "leaves errors of first order" in mbsim("run", loop, "--duration", "0.5").out
    tree = mbsim("run", written(SLOPE.replace("step: 1e-2", "step: 1e-2, projection: identity")), "--json").json
    assert tree["discretisation"]["motion"] > 0.0  # nothing is projected


def test_a_long_step_of_a_pendulum_is_warned_of_and_a_short_one_is_not(mbsim, pendulum):
    long = mbsim("run", pendulum, "--step", "0.1", "--duration", "5", "--json").json
    assert "leave the motion of A.angle an estimated error of" in " ".join(long["warnings"])
    done = mbsim("run", pendulum)
    assert "warning" not in done.err and "estimated relative discretisation errors: motion" in done.out


def test_estimates_stand_in_json_file_and_inspection(mbsim, pendulum):
    done = mbsim("run", pendulum, "--json").json
    swing = done["objectives"]["swing"]["discretisation"]
    assert 0.0 < swing["value"] < 1e-2 and list(swing["gradient"]) == ["L", "k"]
    assert swing["relative"]["gradient"]["L"] > 0.0
    with h5py.File("pendulum.h5") as file:
        assert file["objectives/swing/discretisation"][()] == swing["value"]
        assert list(file["objectives/swing/gradient_discretisation"]) == list(swing["gradient"].values())
        assert file["objectives/swing/gradient_discretisation"].attrs["unit"]
        assert file["meta/discretisation/motion"][()] == done["discretisation"]["motion"]
        assert file["meta/discretisation/worst"][()] == b"A.angle"
    found = mbsim("inspect", "pendulum.h5", "--json").json
    assert found["objectives"]["swing"]["discretisation"]["gradient"] == swing["gradient"]
    assert "A.angle" in mbsim("inspect", "pendulum.h5").out


def test_what_is_not_estimated_is_null_with_its_reason(mbsim, variant):
    adaptive = variant("swing: {integral: angle**2, unit: rad^2 s}", "swing: {final: angle, unit: rad}")
    done = mbsim("run", adaptive, "--formulation", "recursive", "--json").json
    assert done["discretisation"]["motion"] is None and "tolerance" in done["discretisation"]["reason"]
    assert done["objectives"]["swing"]["discretisation"]["value"] is None
    short = mbsim("run", adaptive, "--duration", "2e-2", "--json").json
    assert "fewer than 4 steps" in short["discretisation"]["reason"]
    assert short["objectives"]["swing"]["discretisation"]["gradient"] == {"L": None, "k": None}
    with h5py.File("variant.h5") as file:
        assert np.isnan(file["objectives/swing/gradient_discretisation"][()]).all()
        assert b"fewer" in file["meta/discretisation/reason"][()]


def test_an_adaptive_run_claims_no_more_than_the_errors_of_quadrature(mbsim, pendulum, variant):
    told = mbsim("run", pendulum, "--formulation", "recursive").out
    assert "estimated relative errors of quadrature over time points alone: swing" in told
    assert "the error of each step of the motion within the tolerance; errors of gradients are not estimated" in told
    controlled = variant("analysis: {", "analysis: {formulation: recursive, error_control: sensitivities, ")
    assert "the error of each step, derivatives included, within the tolerance" in mbsim("run", controlled).out
    for method in ("none", "fd"):  # which have none that steps could be controlled by
        told = mbsim("run", controlled, "--sensitivity", method).out
        assert "the error of each step of the motion within the tolerance" in told and "included" not in told


STIFF = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {c: {value: 2e4, unit: N s/m}}
laws: {push: {type: harmonic, amplitude: 100, frequency: 1}}
bodies: {cart: {mass: 1}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}
forces:
  oil: {type: viscous_friction, coordinate: rail.displacement, damping: c}
  motor: {type: drive, coordinate: rail.displacement, law: push}
sensors: {x: {type: coordinate, coordinate: rail.displacement}}
objectives: {way: {final: x, unit: m}}
analysis: {formulation: recursive, step: 0.01, duration: 1, sensitivity: {method: ddm, parameters: all}}
"""


def test_gradients_along_steps_that_stability_bounds_raise_a_warning(mbsim, tmp_path):
    (tmp_path / "stiff.yaml").write_text(STIFF)
    told = "stability, and not accuracy, bounds steps of dop853"
    assert told in mbsim("run", "stiff.yaml").err and told in mbsim("run", "stiff.yaml", "--sensitivity", "adjoint").err
    for calm in (("--sensitivity", "none"), ("-s", "analysis.error_control=sensitivities"), ("-p", "c=1")):
        assert told not in mbsim("run", "stiff.yaml", *calm).err


STEADY = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {a: {value: 0, unit: rad}, m: 1, L: 1}
bodies: {rod: {shape: {type: rod, length: L, mass: m}}}
joints: {hinge: {type: revolute, bodies: [ground, rod], point: origin, axis: z, initial: {angle: a - pi/2}}}
sensors: {q: {type: coordinate, coordinate: hinge.angle}}
objectives: {end: {final: q, unit: rad}, way: {integral: q, unit: rad s}}
analysis: {step: 1e-2, duration: 1, sensitivity: {method: ddm}}
"""


def test_gradients_of_a_motion_at_rest_are_off_by_their_own_motion(mbsim, written):
    """A pendulum hangs; by its angle it swings, cos wt and sin wt / w, and by its mass and length it does not move."""
    done = mbsim("run", written(STEADY), "--json").json["objectives"]
    w = np.sqrt(1.5 * 9.81)
    for name, exact in (("end", np.cos(w)), ("way", np.sin(w) / w)):
        true = abs(done[name]["gradient"]["a"] - exact)
        told = done[name]["discretisation"]["gradient"]
        assert true > 1e-5 and true / 3.0 < told["a"] < 3.0 * true
        assert told["m"] is None and told["L"] is None  # round-off


def test_an_energy_of_zero_is_off_by_what_it_wanders(mbsim):
    pendulum = ROOT / "models/benchmarks/a01_pendulum.yaml"
    done = mbsim("run", pendulum, "--step", "1e-2", "--duration", "3", "--json").json["objectives"]["energy"]
    assert abs(done["value"]) < 3.0 * done["discretisation"]["value"] < 1e2 * abs(done["value"])


SHIPPED = {  # step, duration, factor between estimate and truth
    "fivebar": (4e-3, 2.0, 3.0),
    "benchmarks/slider_crank_sundials": (1e-2, 5.0, 3.0),
    "benchmarks/rssr_fourbar": (2e-3, 2.0, 5.0),
    "benchmarks/a01_pendulum": (1e-2, 10.0, 3.0),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_estimates_are_of_the_size_of_errors(mbsim, name):
    """Compared with the run at half the step: 4/3 of the difference is the error of the second-order rules."""
    step, duration, factor = SHIPPED[name]
    runs = []
    for h in (step, step / 2):
        options = ("--step", h, "--duration", duration, "--sensitivity", "none", "-o", f"{h}.h5", "--json")
        done = mbsim("run", ROOT / f"models/{name}.yaml", *options).json
        with h5py.File(f"{h}.h5") as file:
            runs.append((done["discretisation"], file["coordinates/position"][()], file["time"][()]))
    (estimate, coarse, time), (_, fine, fine_time) = runs
    at = np.searchsorted(fine_time, time - 1e-9)
    true = 4 / 3 * np.abs(coarse - fine[at]).max(axis=0) / np.ptp(coarse, axis=0)
    assert true.max() / factor < estimate["motion"] < factor * true.max()


def test_constants_of_a_motion_are_off_by_what_they_wander(mbsim):
    """A shift of time does not change them: momenta of a free body, which the exact motion keeps."""
    options = ("--step", "2e-3", "--duration", "1", "-o", "free.h5", "--json")
    done = mbsim("run", ROOT / "models/benchmarks/free_body.yaml", *options).json["objectives"]
    exact = mbsim("run", ROOT / "models/benchmarks/free_body.yaml", "--step", "1e-4", *options[2:]).json["objectives"]
    for name in ("momentum_x", "momentum_z", "rotation"):
        true = abs(done[name]["value"] - exact[name]["value"])
        assert 0.0 < true < 5.0 * done[name]["discretisation"]["value"] < 1e-2 * abs(exact[name]["value"])


HANGING = """\
mbsim: 1
parameters: {L: 1, m: 3}
points: {O: {ground: [0, 0, 0], rod: [0, 0, 0]}, P: {rod: [L, 0, 0], other: [0, 0, 0]}}
bodies:
  rod: {shape: {type: rod, length: L, mass: m}}
  other: {shape: {type: rod, length: L, mass: m}}
gravity: [0, -9.81, 0]
joints:
  A: {type: revolute, bodies: [ground, rod], point: O, axis: z, initial: {angle: -90 deg}}
  B: {type: revolute, bodies: [rod, other], point: P, axis: z}
sensors:
  rate: {type: coordinate, coordinate: A.angle, derivative: 1}
  v: {type: velocity, point: rod.P}
  T: {type: kinetic_energy}
objectives:
  swing: {integral: rate**2}
  way: {final: v.x}
  energy: {integral: T}
  most: {maximum: abs(rate), sharpness: 100}
  up: {maximum: v.y, sharpness: 100}
analysis: {step: 1e-1, duration: 2, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("sensitivity", ["ddm", "adjoint", "none"])
def test_a_mechanism_at_rest_raises_no_alarm(mbsim, written, sensitivity):
    """It hangs straight down, but for round-off of its angle: values of 1e-15 are uncertain by as much."""
    done = mbsim("run", written(HANGING), "--sensitivity", sensitivity, "--json").json
    assert 0.0 < abs(done["objectives"]["way"]["value"]) < 1e-12 and done["warnings"] == []
    swung = mbsim("run", written(HANGING.replace("-90 deg", "-60 deg")), "--sensitivity", sensitivity, "--json").json
    assert swung["warnings"]  # steps that are far too long


@pytest.mark.parametrize(
    ("bounds", "derivative", "told"),
    [(None, 5e-4, True), ((-1.0, 2.0), 5e-4, False), ((0.4, 0.6), 5e-4, False), ((-1.0, 2.0), 0.5, True)],
)
def test_a_derivative_that_vanishes_at_an_optimum_raises_no_alarm(bounds, derivative, told):
    """Off by 40 %: by its parameter the value changes by a thousandth of it over the whole range, or by far more."""
    found = Uncertainty(np.array([0.0, 0.4 * derivative]), np.zeros(2))
    result = SimpleNamespace(uncertainty=found, value=2.0, gradient=np.array([derivative]))
    parameter = SimpleNamespace(name="k", value=0.5, bounds=bounds)
    warnings = discretisation.warnings(SimpleNamespace(worst=(0.0, None)), {"f": result}, [parameter], FORWARD)
    assert bool(warnings) is told


@pytest.mark.parametrize(
    ("value", "size", "p", "told"),
    [
        (2.0, 0.5, 0.5, False),  # at an optimum: large parts cancel, and what is left hardly changes the value
        (2.0, 6e-4, 0.5, True),  # a parameter of little influence: nothing cancels
        (1e-3, 0.5, 0.5, True),  # large parts cancel, and what is left changes a small value
        (2.0, 0.5, 1e3, True),  # the same of a large parameter
        (2.0, 0.5, 0.0, True),  # nothing shows which changes of the parameter are small
    ],
)
def test_a_derivative_nearly_zero_without_bounds(value, size, p, told):
    """Off by 40 % of 5e-4; ``size`` is the sum of what the derivative consists of."""
    found = Uncertainty(np.array([0.0, 2e-4]), np.array([0.0, size]))
    result = SimpleNamespace(uncertainty=found, value=value, gradient=np.array([5e-4]))
    parameter = SimpleNamespace(name="k", value=p, bounds=None)
    warnings = discretisation.warnings(SimpleNamespace(worst=(0.0, None)), {"f": result}, [parameter], FORWARD)
    assert bool(warnings) is told


@pytest.mark.parametrize(
    ("step", "angles", "way"),
    [
        ("1e-2", ("1.7873", "1.7"), ("--sensitivity", "ddm")),
        ("1e-2", ("1.7873", "1.7"), ("--sensitivity", "adjoint")),
        ("2e-2", ("1.7873",), ("--sensitivity", "adjoint", "--formulation", "recursive", "--integrator", "rk4")),
    ],
)
def test_a_run_beside_an_optimum_raises_no_alarm(mbsim, written, step, angles, way):
    """The natural angle that keeps a pendulum near -1.2 rad; long steps, or another angle, are warned of as ever."""
    near = PENDULUM.replace("integral: angle**2", "integral: (angle + 1.2)**2").replace("duration: 0.5", "duration: 2")
    near = near.replace("  k: {", "  rest: 1.7873\n  k: {").replace("natural_angle: 0", "natural_angle: rest")
    done = mbsim("run", written(near.replace("step: 1e-2", f"step: {step}")), *way, "--json").json
    swing = done["objectives"]["swing"]
    assert 0.01 < swing["discretisation"]["gradient"]["rest"] / swing["gradient"]["rest"] < 0.1
    assert done["warnings"] == []
    coarse = near.replace("step: 1e-2", "step: 5e-2")
    for angle in angles:
        told = mbsim("run", written(coarse.replace("1.7873", angle)), *way, "--json").json["warnings"]
        assert any("estimated discretisation error" in warning for warning in told)


@pytest.mark.parametrize(("error", "text"), [(0.012, "1.2 %"), (0.999, "100 %"), (12.3, "1200 %")])
def test_errors_are_told_in_per_cent_without_powers_of_ten(error, text):
    assert discretisation._percent(error) == text
