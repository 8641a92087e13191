"""Frequency responses against scipy.signal and matrices by hand; their gradients against complex steps of those and
differences of whole analyses.
"""

from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from scipy import signal

import mbsim_cli as mbsim
from mbsim_cli.solve.linear.state_space import with_expressed

QUARTER = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {k_s: 18e3, c_s: 900, m_u: 35, f: 3}
bodies: {wheel: {mass: m_u}, body: {mass: 250}}
joints:
  axle: {type: prismatic, bodies: [ground, wheel], point: origin, axis: z}
  strut: {type: prismatic, bodies: [wheel, body], point: origin, axis: z}
forces:
  tyre: {type: spring_damper, coordinate: axle.displacement, stiffness: 180e3, natural_length: 0}
  suspension: {type: spring_damper, coordinate: strut.displacement, stiffness: k_s, damping: c_s, natural_length: 0}
sensors:
  travel: {type: coordinate, coordinate: strut.displacement}
  comfort: {type: acceleration, point: body.origin}
  mixed: {type: expression, value: "k_s*travel + c_s*comfort.z + travel*m_u*comfort.z"}
objectives:
  seat: {gain: {input: tyre, output: comfort.z, frequency: f}}
  lag: {phase: {input: suspension, output: travel, frequency: f}}
  load: {gain: {input: tyre, output: mixed, frequency: 11}}
  worst: {gain: {input: suspension, output: comfort.z}}
analysis:
  type: frequency_response
  inputs: [tyre, suspension]
  outputs: [travel, comfort.z, mixed]
  frequencies: {from: 0.1, to: 100, count: 31}
  sensitivity: {method: ddm, parameters: all}
"""


def matrices(k, c, m_u, k_t=180e3, m_b=250.0):
    """A, B, C, D of the quarter car in relative coordinates: inputs tyre, suspension; outputs travel, comfort."""
    wheel, body = np.array([-k_t, k, 0.0, c]) / m_u, np.array([0.0, -k, 0.0, -c]) / m_b
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], wheel, body - wheel])
    of_wheel, of_body = np.array([1, -1]) / m_u, np.array([0, 1]) / m_b
    B = np.array([[0, 0], [0, 0], of_wheel, of_body - of_wheel])
    return A, B, np.array([[0, 1, 0, 0], body]), np.array([[0, 0], of_body])


def at(values, frequency=None):
    """G (2, 2) by hand, of parameters that may be complex, as real and imaginary part: both are analytic in them."""
    k, c, m_u, f = values
    A, B, C, D = matrices(k, c, m_u)
    w = 2 * np.pi * (f if frequency is None else frequency)
    real = -A @ np.linalg.solve(w * w * np.eye(4) + A @ A, B)
    imaginary = -w * np.linalg.solve(w * w * np.eye(4) + A @ A, B)
    return C @ real + D, C @ imaginary


def gain(values, output, given, frequency=None):
    real, imaginary = at(values, frequency)
    return np.sqrt(real[output, given] ** 2 + imaginary[output, given] ** 2)


def lag(values):
    real, imaginary = at(values)
    return np.arctan(imaginary[0, 1] / real[0, 1])  # analytic; pi is added where the real part is negative


def by_steps(function, values):
    return np.array([function(values + 1e-30j * unit).imag / 1e-30 for unit in np.eye(4)])


@pytest.fixture(scope="module")
def model():
    return mbsim.loads(QUARTER)


@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
def test_values_are_those_of_scipy(model):
    found = model.run(sensitivity="none").report["frequency_response"]
    f = np.array(found["frequencies"])
    assert np.allclose(f, np.geomspace(0.1, 100, 31), rtol=1e-14)
    for k, given in enumerate(("tyre", "suspension")):
        A, B, C, D = matrices(18e3, 900.0, 35.0)
        for o, output in enumerate(("travel", "comfort.z")):
            _, exact = signal.freqresp(signal.StateSpace(A, B[:, [k]], C[[o]], D[[o]][:, [k]]), 2 * np.pi * f)
            assert np.allclose(found["gain"][output][given], abs(exact), rtol=1e-9)
            assert np.allclose(np.exp(1j * np.array(found["phase"][output][given])), exact / abs(exact), atol=1e-9)


@pytest.mark.slow
def test_gradients_are_those_of_complex_steps(model):
    result = model.run()
    values = np.array([18e3, 900.0, 35.0, 3.0])
    found = {name: (one.value, list(one.gradient)) for name, one in result.objectives.items()}
    for name, exact in (("seat", lambda x: gain(x, 1, 0)), ("lag", lag)):
        assert found[name][0] % np.pi == pytest.approx(exact(values) % np.pi, rel=1e-9)
        assert found[name][1] == pytest.approx(by_steps(exact, values), rel=1e-9, abs=1e-20)

    def mixed(x):  # about the equilibrium nothing accelerates, and the strut has sunk by 250 g / k_s
        real, imaginary = at(x, 11.0)
        weight = x[1] + x[2] * (-250.0 * 9.81 / x[0])
        parts = (x[0] * part[0, 0] + weight * part[1, 0] for part in (real, imaginary))
        return np.sqrt(sum(part**2 for part in parts))

    assert found["load"][0] == pytest.approx(mixed(values), rel=1e-9)
    assert found["load"][1] == pytest.approx(by_steps(mixed, values), rel=1e-9, abs=1e-20)
    listed = result.report["frequency_response"]
    gains = listed["gain"]["comfort.z"]["suspension"]
    top = listed["frequencies"][int(np.argmax(gains))]
    assert found["worst"][0] == max(gains)
    assert found["worst"][1] == pytest.approx(by_steps(lambda x: gain(x, 1, 1, top), values), rel=1e-9, abs=1e-20)


@pytest.mark.slow
def test_a_resonance_that_nothing_damps():
    text = QUARTER.replace("c_s: 900", "c_s: 0").replace("{from: 0.1, to: 100, count: 31}", "[1, f_1]")
    k, m_u, m_b, k_t = 18e3, 35.0, 250.0, 180e3
    squares = np.roots([m_u * m_b, -(k * (m_u + m_b) + k_t * m_b), k * k_t])
    text = text.replace(
        "parameters: {", f"constants: {{f_1: {float(np.sqrt(squares.min()) / (2 * np.pi))!r}}}\nparameters: {{"
    )
    result = mbsim.loads(text).run()
    assert np.isnan(result.report["frequency_response"]["gain"]["travel"]["tyre"][1])
    assert any("nothing damps a resonance" in one for one in result.report["warnings"])
    assert np.isfinite(result.objectives["worst"].value)


FOUR_BAR = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L: 1.2, k: 300, m: 2, c: 3}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [0.4, 0, 0], rod: [0, 0, 0]}
  C: {rod: [L, 0, 0], rocker: [0, 0, 0]}
  D: {rocker: [0.9, 0, 0], ground: [1.1, 0, 0]}
vectors: {out: {all: [0, 0, 1]}}
bodies:
  crank: {mass: 1, center_of_mass: [0.2, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
  rod: {mass: m, center_of_mass: [L/2, 0, 0], inertia: {xx: 0.2, yy: 0.2, zz: 0.2}}
  rocker: {mass: 1, center_of_mass: [0.4, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: out, initial: {angle: 1.2}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: out}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: out}
  D: {type: revolute, bodies: [rocker, ground], point: D, axis: out}
forces:
  motor: {type: rotational_spring_damper, coordinate: A.angle, stiffness: k, damping: c, natural_angle: 1.2}
  wind: {type: force, point: rocker.origin, value: [1, 2, 0]}
sensors:
  tip: {type: position, point: rod.C}
  bearing: {type: reaction, joint: A}
  push: {type: force, force: motor}
objectives:
  tip: {gain: {input: motor, output: tip.x, frequency: 2}}
  load: {gain: {input: wind.x, output: bearing.force.y, frequency: 5}}
  torque: {phase: {input: wind.y, output: push, frequency: 1}}
analysis: {type: frequency_response, inputs: [motor, wind], frequencies: [1, 2, 5], sensitivity: {method: ddm}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("about", ["equilibrium", "start"])
def test_gradients_of_a_loop_are_slopes_of_whole_analyses(about):
    """With reactions and forces among the outputs, where it stands as it is released or hangs at rest."""
    model = mbsim.loads(FOUR_BAR.replace("inputs: [motor", f"at: {about}, inputs: [motor"))
    found = model.run()
    for number, (name, value) in enumerate(model.parameters.items()):
        h = 1e-3 * value

        def values(k, name=name, value=value, h=h):
            moved = model.run({name: value + k * h}, sensitivity="none")
            return np.array([one.value for one in moved.objectives.values()])

        slopes = (45 * (values(1) - values(-1)) - 9 * (values(2) - values(-2)) + values(3) - values(-3)) / (60 * h)
        exact = [one.gradient[number] for one in found.objectives.values()]
        assert exact == pytest.approx(slopes, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("outputs", "inputs"), [(0, 2), (0, 0), (3, 0), (3, 2)])
def test_matrices_keep_their_shapes_without_outputs_or_inputs(outputs, inputs):
    found = SimpleNamespace(outputs=np.zeros(outputs), C=np.zeros((outputs, 4)), D=np.zeros((outputs, inputs)))
    shown, C, D = with_expressed((), found, 0.0)
    assert (shown.shape, C.shape, D.shape) == ((outputs,), (outputs, 4), (outputs, inputs))


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["none", "ddm"])
def test_no_response_has_no_phase(tmp_path, method):
    text = f"""
mbsim: 1
gravity: [0, 0, 0]
parameters: {{k: 300}}
bodies: {{cart: {{mass: 2}}}}
joints: {{rail: {{type: prismatic, bodies: [ground, cart], point: origin, axis: x}}}}
forces:
  spring: {{type: spring_damper, coordinate: rail.displacement, stiffness: k, natural_length: 0}}
  push: {{type: force, point: cart.origin, value: [2, 0, 0]}}
sensors: {{x: {{type: coordinate, coordinate: rail.displacement}}}}
objectives: {{lag: {{phase: {{input: push.y, output: x, frequency: 1}}}}}}
analysis:
  {{type: frequency_response, inputs: [push], frequencies: [1], sensitivity: {{method: {method}, parameters: all}}}}
"""
    with pytest.raises(mbsim.AnalysisError, match=r"lag is not a finite number: x does not answer to push.y at 1 Hz"):
        mbsim.loads(text).run()
    result = mbsim.loads(text[: text.index("objectives")] + text[text.index("analysis") :]).run()
    found = result.report["frequency_response"]
    assert found["gain"]["x"]["push.y"] == [0.0] and np.isnan(found["phase"]["x"]["push.y"]).all()
    assert np.isfinite(found["phase"]["x"]["push.x"]).all()
    with h5py.File(result.save(tmp_path / "r.h5")) as file:
        stored = np.isnan(file["frequency_response/phase"][0, 0])  # by input
    np.testing.assert_array_equal(stored, [False, True, True])


@pytest.mark.interpreted
@pytest.mark.parametrize("frequency", ["", ", frequency: 1"])
def test_an_objective_at_a_resonance_without_damping_is_refused(frequency):
    text = f"""
mbsim: 1
gravity: [0, 0, 0]
bodies: {{cart: {{mass: 2}}}}
joints: {{rail: {{type: prismatic, bodies: [ground, cart], point: origin, axis: x}}}}
forces:
  spring: {{type: spring_damper, coordinate: rail.displacement, stiffness: 8*pi**2, natural_length: 0}}
sensors: {{x: {{type: coordinate, coordinate: rail.displacement}}}}
objectives: {{size: {{gain: {{input: spring, output: x{frequency}}}}}}}
analysis: {{type: frequency_response, inputs: [spring], frequencies: [1]}}
"""
    with pytest.raises(mbsim.AnalysisError, match="size is not a finite number: at 1 Hz nothing damps a resonance"):
        mbsim.loads(text).run()


@pytest.mark.interpreted
def test_every_number_moves_what_expressions_read():
    """Numbers that an expression does not read move its sensors: derivatives are slopes of whole analyses."""
    text = QUARTER.replace("m_u*comfort", "35*comfort").replace("mass: m_u", "mass: 35")
    found = mbsim.loads(text, all_numbers=True).run().objectives["load"]
    names = ("forces.tyre.stiffness", "bodies.wheel.mass")
    for name, old in zip(names, ("stiffness: 180e3", "mass: 35"), strict=True):
        low, high = (
            mbsim.loads(text.replace(old, f"{old}*(1 + {sign}1e-5)")).run(sensitivity="none").objectives["load"].value
            for sign in "-+"
        )
        size = float(old.split()[1])
        assert found.by(name) == pytest.approx((high - low) / (2e-5 * size), rel=1e-7)


@pytest.mark.interpreted
def test_a_force_that_a_law_multiplies_is_an_input_in_newtons():
    """A mass on a spring, pushed by 2 N times a law: the input is added to the product of both."""
    k, w, phase = 300.0, 2 * np.pi * 1.5, 0.4
    text = f"""
mbsim: 1
gravity: [0, 0, 0]
parameters: {{k: {k}, phase: {phase}}}
bodies: {{cart: {{mass: 2}}}}
joints: {{rail: {{type: prismatic, bodies: [ground, cart], point: origin, axis: x}}}}
laws: {{wave: {{type: harmonic, amplitude: 3, frequency: 1, phase: phase}}}}
forces:
  spring: {{type: spring_damper, coordinate: rail.displacement, stiffness: k, damping: 5, natural_length: 0}}
  push: {{type: force, point: cart.origin, value: [2, 0, 0], law: wave}}
sensors: {{x: {{type: coordinate, coordinate: rail.displacement}}}}
objectives: {{answer: {{gain: {{input: push.x, output: x, frequency: 1.5}}}}}}
analysis:
  type: frequency_response
  inputs: [push]
  frequencies: [1, 2]
  sensitivity: {{method: ddm, parameters: all}}
"""
    found = mbsim.loads(text).run().objectives["answer"]
    right = 1.0 / abs(k - 2 * w * w + 5j * w)
    assert found.value == pytest.approx(right, rel=1e-12)
    assert found.by("k") == pytest.approx(-(k - 2 * w * w) * right**3, rel=1e-10)
    assert found.by("phase") == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(mbsim.ModelError, match="multiplies force 'push' and is zero at 0 s; name the law"):
        mbsim.loads(text, phase=0.0).run()
    alone = mbsim.loads(text.replace("inputs: [push]", "inputs: [push.x]"))
    assert alone.run().objectives["answer"].value == found.value
    assert alone.linearize("start", inputs=["push.x", "spring"]).inputs == ("push.x", "spring")
    for inputs, wrong in (
        ("push, push.x", "'push.x' stands twice"),
        ("push.w", "law 'push.w'"),
        ("spring.x", "'spring.x'"),
    ):
        with pytest.raises(mbsim.ModelError, match=wrong):
            mbsim.loads(text.replace("inputs: [push]", f"inputs: [{inputs}]")).run()
