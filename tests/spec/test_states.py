"""States, controllers and friction as they are written out, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.spec.expand_states import _pade

PAGE = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text()
MODEL = """
mbsim: 1
parameters: {T: 0.1}
laws: {swing: {type: harmonic, amplitude: 0.4, frequency: 0.8}, step: {type: constant, value: 1}}
bodies: {leg: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  hip: {type: revolute, bodies: [ground, leg], point: origin, axis: z%s}
%s
analysis: {step: 1e-3, duration: 1}
"""


def loaded(tmp_path, sections, joint=""):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL % (joint, sections))
    return spec.load(path)


@pytest.mark.parametrize(
    ("sections", "joint", "sentence"),
    [
        ("states: {x: {rate: -x/T + z}}", "", r"states.x.rate: unknown name 'z'"),
        ("states: {leg: {rate: 1}}", "", r"states.leg: 'leg' is also a body"),
        ("states: {x-1: {rate: 1}}", "", r"'x-1' cannot be used in expressions"),
        ("states: {x: {rate: 1}}\nsensors: {x: {type: kinetic_energy}}", "", r"'x' is also a sensor"),
        ("states: {x: {rate: hip.angle.acceleration}}", "", r"states.x.rate: .* acceleration"),
        ("controllers: {c: {type: pid, coordinate: hip.angel, target: 1, kp: 1}}", "",
         r"controllers.c.coordinate: .*'angel'"),
        ("controllers: {c: {type: transfer_function, input: t, numerator: [1, 2], denominator: [1, 1]}}", "",
         r"controllers.c.numerator: the numerator must have fewer"),
        ("controllers: {c: {type: delay, input: q, time: T}}", "", r"controllers.c.*unknown name 'q'"),
        ("controllers: {c: {type: pid, coordinate: hip.angle, target: 1}}", "", r"give kp, ki or kd"),
        ("controllers: {c: {type: pid, coordinate: hip.angle, target: 1, kp: 1, filter: 1}}", "",
         r"give kd beside filter"),
        ("controllers: {c: {type: pid, coordinate: hip.angle, target: 1, ki: 1, anti_windup: 1}}", "",
         r"give ki and limit beside anti_windup"),
        ("controllers: {c: {type: pid, coordinate: hip.angle, target: 1, ki: 1, limit: 1, anti_windup: -T}}", "",
         r"controllers.c.anti_windup: must not be negative, is -0.1"),
        ("controllers: {c: {type: dc_motor, coordinate: hip.angle, voltage: 1, resistance: 1, torque_constant: 1, "
         "rotor_inertia: -T}}", "", r"^[^;]*controllers.c.rotor_inertia: must not be negative, is -\S+$"),
        ("controllers: {c: {type: dc_motor, coordinate: hip.angle, voltage: 1, resistance: 1, torque_constant: 0}}", "",
         r"controllers.c.torque_constant: must not be zero"),
        ("controllers: {c: {type: dc_motor, coordinate: hip.angle, voltage: 1, resistance: 1, torque_constant: 1, "
         "gear: 0}}", "", r"controllers.c.gear: must not be zero"),
        ("controllers: {c: {type: delay, input: step, time: T}}", "",
         r"controllers.c.input: 'step' cannot be called in expressions; give the law another name"),
        ("sensors: {swing: {type: kinetic_energy}}\ncontrollers: {c: {type: delay, input: swing, time: T}}", "",
         r"controllers.c.input: 'swing' is a law, and also a sensor, a state, a controller or a name of expressions"),
        ("controllers: {a: {type: delay, input: swing, time: T}, swing: {type: delay, input: 1, time: T}}", "",
         r"controllers.a.input: 'swing' is a law, and also"),
        ("controllers: {swing: {type: delay, input: swing, time: T}}", "", r"input: 'swing' is a law, and also"),
        ("controllers: {c: {type: delay, input: t, time: -T}}", "", r"controllers.c.time: must be greater than zero"),
        ("", ", friction: {loss: 1, breakaway: T}", r"friction.breakaway: must not be less than loss"),
        ("", ", friction: {loss: 1, velocity: 0}", r"friction.velocity: must be greater than zero"),
        ("", ", friction: {loss: 1, dynamic: 0.1, radius: 0.01}", r"give loss, or dynamic"),
        ("", ", friction: {loss: 1, radius: 0.01}", r"give dynamic beside radius"),
        ("", ", friction: {dynamic: 0.2, breakaway: 1, radius: 0.01}", r"give static instead of breakaway"),
        ("", ", friction: {dynamic: 0.2, static: 0.1, radius: T}", r"friction.static: must not be less than dynamic"),
        ("", ", friction: {dynamic: 0.2}", r"friction.dynamic: friction of an angle needs the radius"),
        ("", ", friction: {loss: 1, law: bristle}", r"give stiffness, of the bristles"),
        ("", ", friction: {loss: 1, stiffness: 3}", r"give law: bristle"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, sections, joint, sentence):
    with pytest.raises(ModelError) as error:
        loaded(tmp_path, sections, joint)
    assert re.search(sentence, str(error.value)), str(error.value)


def test_a_ball_with_friction_has_a_name_that_expressions_can_read(tmp_path):
    joint = "}\n  A-B: {type: spherical, bodies: [ground, leg], point: origin, friction: {loss: 1}"
    with pytest.raises(ModelError) as error:
        loaded(tmp_path, "", joint)
    (issue,) = error.value.issues
    assert issue.path == "joints.A-B.friction" and issue.message == "'A-B' cannot be used in expressions"


@pytest.mark.parametrize(
    ("controllers", "message"),
    [
        ("servo: {type: pid, coordinate: in.angle, target: 1, kp: 1}", "'in.angle' cannot be used in expressions"),
        ("servo: {type: pid, coordinate: '', target: 1, kp: 1}", "'' cannot be used in expressions"),
        ("0: {type: transfer_function, input: t, numerator: [1], denominator: [1, 2, 1]}", "'0' cannot be used in"),
    ],
)
def test_controllers_have_names_that_expressions_can_read(tmp_path, controllers, message):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.replace("hip:", "in:") % ("", f"controllers: {{{controllers}}}"))
    with pytest.raises(ModelError, match=message):
        spec.load(path)


def test_a_sensor_may_have_the_name_of_a_joint_with_friction(tmp_path):
    angle = "sensors: {hip: {type: coordinate, coordinate: hip.angle}}"
    assert loaded(tmp_path, angle, ", friction: {loss: 0.3}").sensors["hip"].coordinate == "hip.angle"


@pytest.mark.parametrize(
    ("analysis", "cure"),
    [
        ("{type: equilibrium}", "let the states settle"),
        ("{start: equilibrium, step: 1e-3, duration: 1}", "let the states settle"),
        ("{type: modes}", "at: start takes the declared positions"),
    ],
)
def test_no_equilibrium_of_states(tmp_path, analysis, cure):
    text = MODEL.replace("{step: 1e-3, duration: 1}", analysis) % ("", "states: {x: {rate: -x}}")
    path = tmp_path / "model.yaml"
    path.write_text(text)
    with pytest.raises(ModelError, match=f"does not solve for states, and this model has x; .*{cure}"):
        spec.load(path)


@pytest.mark.parametrize(
    ("signal", "column", "message"),
    [
        ("0.1*zz", 70, "unknown name 'zz'"),
        ("2*swong(t)", 68, "unknown function or law 'swong'; did you mean 'swing'?"),
        ("b.x", 66, "unknown joint or sensor 'b'"),
    ],
)
def test_what_a_controller_cannot_read_is_told_once_where_it_stands(tmp_path, signal, column, message):
    """A controller with a filter is three expressions."""
    servo = f'{{type: pid, coordinate: hip.angle, target: "{signal}", kp: 3, ki: 2, kd: 1, filter: T}}'
    with pytest.raises(ModelError) as told:
        loaded(tmp_path, f"controllers: {{servo: {servo}}}")
    (issue,) = told.value.issues
    assert (issue.path, issue.line, issue.column) == ("controllers.servo.target", 8, column)
    assert message in str(issue)


def test_gains_that_only_constants_make_zero_are_refused(tmp_path):
    servo = "{type: pid, coordinate: hip.angle, target: swing, kp: NUMBER}}\nconstants: {none: 0}"
    with pytest.raises(ModelError, match=r"controllers.servo: kp, ki and kd are zero, and so is the force"):
        loaded(tmp_path, f"controllers: {{servo: {servo.replace('NUMBER', '2*none')}")
    assert loaded(tmp_path, f"controllers: {{servo: {servo.replace('NUMBER', 'T - 0.1')}").forces


@pytest.mark.parametrize("key", ["viscous", "damping"])
def test_friction_takes_energy_away(tmp_path, key):
    friction = f", friction: {{loss: 1, law: bristle, stiffness: 100, {key}: -1}}"
    with pytest.raises(ModelError, match=rf"joints.hip.friction.{key}: must not be negative, is -1"):
        loaded(tmp_path, "", friction)


def test_a_transfer_function_is_not_zero(tmp_path):
    with pytest.raises(ModelError, match=r"controllers.f.numerator: all its coefficients are zero"):
        loaded(
            tmp_path, "controllers: {f: {type: transfer_function, input: t, numerator: [0, 0], denominator: [1, 2, 1]}}"
        )


def test_one_name_of_a_parameter_and_a_sensor_is_one_error(tmp_path):
    """And not also that of a force that reads accelerations, as the sensor does."""
    text = """
sensors: {T: {type: coordinate, coordinate: hip.angle, derivative: 2}}
forces: {f: {type: drive, coordinate: hip.angle, value: "sin(t)*T"}}
"""
    with pytest.raises(ModelError, match="'T' is also one of the parameters") as error:
        loaded(tmp_path, text)
    assert len(error.value.issues) == 1


@pytest.mark.parametrize(("value", "is_wrong"), [("clip(t, 1, -1)", True), ("clip(t, -pi/2, pi/2)", False)])
def test_limits_of_clip_are_in_order(tmp_path, value, is_wrong):
    text = f'sensors: {{cut: {{type: expression, value: "{value}"}}}}'
    if not is_wrong:
        assert loaded(tmp_path, text)
        return
    with pytest.raises(ModelError, match=r"sensors.cut.value: clip has 1 as its lowest value, above its highest, -1"):
        loaded(tmp_path, text)


def test_a_controller_is_states_and_a_force(tmp_path):
    gains = "kp: 2, ki: 1, kd: 3, filter: T, limit: 4, anti_windup: 5"
    servo = f"{{type: pid, coordinate: hip.angle, target: swing, {gains}}}"
    model = loaded(tmp_path, f"controllers: {{servo: {servo}}}")
    assert {"servo_integral", "servo_rate"} <= set(model.sensors)
    force = model.forces["servo"]
    assert force.coordinate == "hip.angle"
    assert "swing(t)" in force.value.text and "servo_rate" in force.value.text
    assert "5.0" in model.forces["servo_integral"].value.text


@pytest.mark.parametrize("order", range(1, 6))
def test_delays_are_as_good_as_their_order(order):
    """The error of the approximation of exp(-x) is of degree 2 n."""
    below, above = _pade(order - 1, order)
    x = np.array([0.1, 0.2])
    numerator = sum((-1) ** k * c * x**k for k, c in enumerate(below))
    error = np.abs(numerator / sum(c * x**k for k, c in enumerate(above)) - np.exp(-x))
    if error.min() > 1e-14:
        assert np.log2(error[1] / error[0]) == pytest.approx(2 * order, abs=0.3)
    assert error.max() < 0.2 ** (2 * order)


def test_all_states_of_a_delay_have_the_size_of_its_signal(tmp_path):
    """Tolerances are relative to all coordinates: larger by powers of rates, they left errors in the mechanism's."""
    model = loaded(tmp_path, "controllers: {c: {type: delay, input: t, time: T/1000, order: 6, initial: 2}}")
    names = [*(f"c_{k}" for k in range(1, 6)), "c"]
    starts = [model.expressions.value(model.joints[name].initial.velocity) for name in names]
    assert starts == pytest.approx([2] * 6, rel=0.9)


OTHERS = """
mbsim: 1
bodies: {shank: {mass: 1}, bar: {mass: 1}, slider: {mass: 1}, load: {mass: 1}, rod: {mass: 1}, hull: {mass: 1}}
points:
  A: {ground: [0, 0, 0], bar: [0, 0, 0]}
  B: {bar: [1, 0, 0], load: [0, 0, 0]}
  C: {bar: [0, 1, 0], rod: [0, 0, 0]}
  D: {rod: [0, 1, 0], hull: [0, 0, 0]}
joints:
  knee: {type: revolute, bodies: [ground, shank], point: origin, axis: z}
"""
FREE = "  free_{0}: {{type: floating, bodies: [ground, {0}]}}\n"


@pytest.mark.parametrize("number", range(3))
def test_blocks_of_the_page(tmp_path, number):
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 3
    loose = ("bar", "slider", "load", "rod", "hull") if number < 2 else ()
    (tmp_path / "base.yaml").write_text(blocks[0])
    (tmp_path / "others.yaml").write_text(OTHERS + "".join(FREE.format(body) for body in loose))
    text = blocks[number] if number == 0 else f"mbsim: 1\ninclude: [base.yaml, others.yaml]\n{blocks[number]}"
    (tmp_path / "model.yaml").write_text(text)
    assert spec.load(tmp_path / "model.yaml").states
