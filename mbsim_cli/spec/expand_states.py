"""From controllers to states, and from these to coordinates of unit inertia.

A state s is the rate of ``s.integral``, and its rate is a force there. The coordinate slides a body without mass along
an axis of the ground. So integrators, derivatives and results know nothing of states. Whoever reads a state reads the
sensor of its name.
"""

from collections.abc import Sequence
from math import factorial
from typing import Any

from mbsim_cli.spec.base import Spec, signed
from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.expressions.number import TIME, Expression, Number, read_by
from mbsim_cli.spec.expressions.syntax import CONSTANTS, ExpressionError
from mbsim_cli.spec.forces import AppliedTorque, Drive
from mbsim_cli.spec.joints import DisplacementInitial, Friction, Prismatic
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import GROUND, Review
from mbsim_cli.spec.sensors import AngularVelocity, CoordinateSensor, Multiplier, Sensor
from mbsim_cli.spec.states import DcMotor, Delay, Pid, State, StateJoint, TransferFunction

_MADE = {
    "bodies": "a body", "joints": "a joint", "constraints": "a constraint", "forces": "a force", "sensors": "a sensor",
}  # fmt: skip


def expand_states(review: Review) -> None:
    """Add to a model what its states and controllers stand for."""
    for name, state in review.model.states.items():
        maker = Maker(review, ("states", name))
        maker.state(name, state)
        review.source.stands_at[("forces", name, "value")] = ("states", name, "rate")
    for name, spec in review.model.controllers.items():
        maker, before = Maker(review, ("controllers", name)), len(review.issues)
        if not _is_name(name):  # which is reported elsewhere
            review.unmade.add(name)
            continue
        match spec:
            case Pid() if maker.is_readable(spec.coordinate):
                _pid(maker, name, spec)
            case DcMotor() if maker.is_readable(spec.coordinate):
                _dc_motor(maker, name, spec)
            case Delay():
                _delay(maker, name, spec)
            case TransferFunction():
                _transfer_function(maker, name, spec)
        joint, _, own = getattr(spec, "coordinate", "").partition(".")
        acts = not joint or own in getattr(review.model.joints.get(joint), "coordinates", ())  # else it is reported
        if len(review.issues) > before or not acts:
            review.unmade.add(name)


class Maker:
    """Adds to a model what something at a path of the file is short for."""

    def __init__(self, review: Review, path: Path):
        self.review, self._path, self.name = review, tuple(path), str(path[1])

    def report(self, key: str, message: str, hint: str | None = None) -> None:
        """Add an issue at a key of what stands in the file."""
        self.review.report((*self._path, key), message, hint)

    def fits(self, spec: Spec) -> bool:
        """Whether numbers of this part of the file have the signs that their fields require; reports those without."""
        return all([self.review.has_sign(*each) for each in signed(spec, self._path)])

    def state(self, name: str, state: State) -> None:
        """Add a state."""
        model = self.review.model
        if not self.takes(name, ("bodies", "joints", "forces", "sensors")):
            return
        start = DisplacementInitial(displacement=Number(0.0), velocity=state.initial)
        coordinate = self.slider(name, StateJoint, start, unit=state.unit, armature=Number(1.0))
        self.review.source.stands_at[("forces", name, "value")] = self._path
        model.forces[name] = Drive.model_validate({"type": "drive", "coordinate": coordinate, "value": state.rate})
        model.sensors[name] = CoordinateSensor.model_validate(
            {"type": "coordinate", "coordinate": coordinate, "derivative": 1}
        )

    def slider(self, name: str, kind: type[Prismatic], initial: DisplacementInitial, **given: Any) -> str:
        """Add a coordinate that moves no body: one without mass slides along an axis of the ground."""
        model, axis = self.review.model, f"{name} axis"
        along = Number(0.0), Number(0.0), Number(1.0)
        model.derived.made.add(("vectors", axis))
        model.vectors[axis] = {GROUND: along, name: along}
        model.bodies[name] = Body.model_construct()
        where = {"type": "prismatic", "bodies": [GROUND, name], "point": "origin", "axis": axis, "initial": initial}
        model.joints[name] = kind.model_validate({**where, **given})
        return f"{name}.{kind.coordinates[0]}"

    def drive(self, name: str, coordinate: str, value: str) -> None:
        """Add a force or torque on a coordinate by an expression."""
        if self.takes(name, ("forces",)):
            self.review.source.stands_at[("forces", name, "value")] = self._path
            self.review.model.forces[name] = Drive.model_validate(
                {"type": "drive", "coordinate": coordinate, "value": Expression(value)}
            )

    def add_reading(self, name: str, kind: type[Sensor], **given: Any) -> bool:
        """Add a sensor that no result shows, where its name is free."""
        model, free = self.review.model, self.takes(name, ("sensors",))
        if free:
            model.sensors[name] = kind.model_validate(given)
            model.derived.hidden.add(name)
        return free

    def is_readable(self, name: str, before: str = "") -> bool:
        """Whether expressions can read a name with ``before`` in front; reports it where they cannot."""
        readable = _is_name(before + name)
        if not readable:
            self.review.report(self._path, f"{name!r} cannot be used in expressions", "letters, digits and _")
        return readable

    def takes(self, name: str, sections: tuple[str, ...]) -> bool:
        """Whether a name is free, and where it stands is noted; else it is reported."""
        model = self.review.model
        taken = [section for section in sections if name in getattr(model, section)]
        for section in taken:
            message = f"{name!r} is also {_MADE[section]}"
            self.review.report(self._path, message, "give one of them another name", key=True)
        for section in () if taken else sections:
            model.note_made(section, name, self._path)
        return not taken


# From controllers to what they are short for: states, forces by expressions, armatures.
#
# Sources: Astrom, Haegglund, "PID Controllers" (1995), sections 3.4 and 3.5; Golub, Van Loan, "Matrix Computations",
# section 11.3.1 (Pade approximations of the exponential).


def _is_name(text: str) -> bool:
    """Whether expressions read a text as one name; not that of a joint ``in``, for instance."""
    try:
        return [*read_by(text).names] == [text]
    except ExpressionError:
        return False


def text_of(number: Number) -> str:
    """A number as it may stand within an expression."""
    return f"({number.literal!r})" if number.literal is not None else f"({number.text.strip()})"


def signal_of(maker: Maker, key: str, number: Number) -> str:
    """The same of a signal, which may be the name of a law of time; reports a name that means two things."""
    text, model = number.text.strip() if number.literal is None else "", maker.review.model
    if text not in model.laws or text in {*model.parameters, *model.constants}:
        return text_of(number)
    made = {name for name, spec in model.controllers.items() if isinstance(spec, Delay | TransferFunction)}
    if text in {*model.sensors, *made, TIME, *CONSTANTS}:  # states have sensors by now
        message = f"{text!r} is a law, and also a sensor, a state, a controller or a name of expressions"
        maker.report(key, message, "give the law another name")
    try:
        called = [*read_by(f"{text}(t)").laws] == [text]
    except ExpressionError:
        called = False
    if not called:
        maker.report(key, f"{text!r} cannot be called in expressions", "give the law another name")
    return f"{text}(t)" if called else "0.0"


def _pid(maker: Maker, name: str, spec: Pid) -> None:
    gains, by_parameters = (spec.kp, spec.ki, spec.kd), maker.review.model.expressions.gradient
    if all(maker.review.value(gain) == 0.0 and not by_parameters(gain) for gain in gains):
        maker.review.report(("controllers", name), "kp, ki and kd are zero, and so is the force", key=True)
        return
    if not maker.fits(spec):
        return
    rate, target = f"{spec.coordinate}.velocity", signal_of(maker, "target", spec.target)
    error = f"({target} - {spec.coordinate})"
    integral, parts = f"{name}_integral", [f"{text_of(spec.kp)}*{error}"]
    with_integral = spec.ki.literal != 0.0
    if with_integral:
        parts.append(integral)
    if spec.kd.literal != 0.0:
        change = rate
        if spec.target_rate is not None:
            change = f"({rate} - {signal_of(maker, 'target_rate', spec.target_rate)})"
        if spec.filter is not None:
            filtered = f"{name}_rate"
            maker.state(filtered, State(rate=Expression(f"({change} - {filtered})/{text_of(spec.filter)}")))
            change = filtered
        parts.append(f"-{text_of(spec.kd)}*{change}")
    wanted = " + ".join(parts)
    given = wanted
    if spec.limit is not None:
        limit = text_of(spec.limit)
        given = f"max(-{limit}, min({limit}, {wanted}))"
    if with_integral:
        growth = f"{text_of(spec.ki)}*{error}"
        if spec.anti_windup is not None:
            growth += f" + {text_of(spec.anti_windup)}*({given} - ({wanted}))"
        maker.state(integral, State(rate=Expression(growth)))
    maker.drive(name, spec.coordinate, given)


def _dc_motor(maker: Maker, name: str, spec: DcMotor) -> None:
    if not maker.fits(spec):
        return
    zeros = [key for key in ("torque_constant", "gear") if getattr(spec, key).literal == 0.0]
    for key in zeros:
        maker.report(key, "must not be zero", "the motor would exert nothing")
    if zeros:
        return
    k, n = text_of(spec.torque_constant), text_of(spec.gear)
    left = f"({signal_of(maker, 'voltage', spec.voltage)} - {k}*{n}*{spec.coordinate}.velocity"
    current = f"{name}_current"
    if spec.inductance is None:
        current = f"{left})/{text_of(spec.resistance)}"
    else:
        rate = f"{left} - {text_of(spec.resistance)}*{current})/{text_of(spec.inductance)}"
        maker.state(current, State(initial=spec.initial, rate=Expression(rate), unit="A"))
    maker.drive(name, spec.coordinate, f"{n}*{k}*{current}")
    if spec.rotor_inertia is not None:
        _add_armature(maker, spec.coordinate, f"{text_of(spec.rotor_inertia)}*{n}**2")


def _add_armature(maker: Maker, coordinate: str, inertia: str) -> None:
    joints, name = maker.review.model.joints, coordinate.partition(".")[0]
    joint: Any = joints.get(name)
    if joint is None:
        return  # reported with the coordinate
    if not hasattr(joint, "armature"):
        message = f"a {joint.type} joint takes no rotor"
        maker.report("rotor_inertia", message, "revolute and prismatic joints do; add its inertia to a body")
        return
    own = "" if joint.armature is None else f"{text_of(joint.armature)} + "
    joints[name] = joint.model_copy(update={"armature": Number.read(own + inertia)})


def _delay(maker: Maker, name: str, spec: Delay) -> None:
    """exp(-s T) by numerator and denominator of degrees n - 1 and n: the result does not jump with the signal."""
    if not maker.fits(spec):
        return
    n, time = spec.order, text_of(spec.time)
    below, above = _pade(n - 1, n)
    scaled = [f"({c!r}*{time}**{k})" for k, c in enumerate(above)]
    signs = [f"({(-1) ** k * c!r}*{time}**{k})" for k, c in enumerate(below)]
    _realise(maker, name, spec, signs, scaled, scaled[1:], text_of(spec.initial))


def _pade(m: int, n: int) -> tuple[list[float], list[float]]:
    """Coefficients, lowest power first, of numerator (m) and denominator (n) of exp(-x), the former without signs."""

    def of(degree: int) -> list[float]:
        return [
            factorial(m + n - k) * factorial(degree) / (factorial(m + n) * factorial(k) * factorial(degree - k))
            for k in range(degree + 1)
        ]

    return of(m), of(n)


def _transfer_function(maker: Maker, name: str, spec: TransferFunction) -> None:
    if len(spec.numerator) >= len(spec.denominator):
        message = "the numerator must have fewer coefficients than the denominator"
        hint = "a part that follows the signal at once can be added where the result is used"
        maker.report("numerator", message, hint)
        return
    if maker.review.value(spec.denominator[0]) == 0.0:
        maker.report("denominator", "its first coefficient is zero", "leave it out")
        return
    if all(number.literal == 0.0 for number in spec.numerator):
        maker.report("numerator", "all its coefficients are zero, and so is the result whatever the input")
        return
    above = [text_of(number) for number in reversed(spec.denominator)]
    below = [text_of(number) for number in reversed(spec.numerator)]
    vanishes = any(maker.review.value(number) == 0.0 for number in spec.denominator[:-1])
    _realise(maker, name, spec, below, above, above[-1:] * (len(above) - 1) if vanishes else above[1:], "0.0")


Texts = Sequence[str]  # of coefficients


def _realise(
    maker: Maker, name: str, spec: Delay | TransferFunction, below: Texts, above: Texts, weights: Texts, start: str
) -> None:
    """States in observer form: the last one is the result. Coefficients stand with the lowest power first.

    x_k' = (w_(k-1) x_(k-1) + b_k u - a_k y) / w_k, the last w_k is a_n; at rest with y = u = ``start`` where a_0 = b_0.
    With w_k = a_(k+1) all states have the size of the signal. By a_n they would be larger by powers of the rates, and
    tolerances relative to all coordinates would leave errors in those of the mechanism.
    """
    n, signal = len(above) - 1, signal_of(maker, "input", spec.input)
    names = [f"{name}_{k + 1}" for k in range(n - 1)] + [name]
    for k, own in enumerate(names):
        terms = [] if k == 0 else [f"{weights[k - 1]}*{names[k - 1]}/{weights[k]}"]
        terms += [f"{below[k]}*{signal}/{weights[k]}"] if k < len(below) else []
        terms.append(f"-{above[k]}*{name}/{weights[k]}")
        rest = start
        if k + 1 < n:
            less = f" - {below[k + 1]}" if k + 1 < len(below) else ""
            rest = f"({above[k + 1]}{less})*{start}/{weights[k]}"
        unit = spec.unit if own == name else ""
        maker.state(own, State(initial=Number.read(rest), rate=Expression(" + ".join(terms)), unit=unit))


# From friction in joints to forces by expressions, and to states of bristles.
#
# Sources: Brown, McPhee, "A continuous velocity-based friction model for dynamics and control with physically
# meaningful parameters", J. Comput. Nonlinear Dyn. 11 (2016), equation (16); Dupont, Hayward, Armstrong, Altpeter,
# "Single state elastoplastic friction models", IEEE Trans. Autom. Control 47 (2002), (7)-(11); Olsson et al., "Friction
# models and friction compensation", Eur. J. Control 4 (1998), of damping that fades with the rate.

ELASTIC = 0.7  # of the deflection at loss: below it bristles are springs, so that nothing creeps


def expand_friction(review: Review) -> None:
    """Add to a model what friction in its joints stands for."""
    for joint, spec in list(review.model.joints.items()):
        friction = getattr(spec, "friction", None)
        if isinstance(friction, Friction) and spec.type == "spherical":
            _add_to_ball(Maker(review, ("joints", joint, "friction")), joint, friction)
        elif isinstance(friction, Friction):
            coordinate = f"{joint}.{spec.coordinates[0]}"
            _add(Maker(review, ("joints", joint, "friction")), f"{joint}_friction", coordinate, friction)
        for coordinate, one in (friction or {}).items() if isinstance(friction, dict) else ():
            path = ("joints", joint, "friction", coordinate)
            if coordinate not in spec.coordinates:
                hint = "its coordinates are " + " and ".join(spec.coordinates)
                review.report(path, f"joint {joint!r} has no coordinate {coordinate!r}", hint, key=True)
                continue
            _add(Maker(review, path), f"{joint}_{coordinate}_friction", f"{joint}.{coordinate}", one)


def _add(maker: Maker, name: str, coordinate: str, spec: Friction) -> None:
    if not maker.is_readable(coordinate):
        return
    sizes = _sizes(maker, spec, coordinate)
    if sizes is None:
        return
    v, turn, (loss, most) = f"{coordinate}.velocity", text_of(spec.velocity), sizes
    viscous = "" if spec.viscous.literal == 0.0 else f" + {text_of(spec.viscous)}*{v}"
    if spec.law == "brown_mcphee":
        maker.drive(name, coordinate, f"-({_brown_mcphee(loss, most, v, turn)}{viscous})")
        return
    assert spec.stiffness is not None
    z, stiffness = f"{name}_bristle", text_of(spec.stiffness)
    steady = loss if most == loss else f"({loss} + ({most} - {loss})*exp(-({v}/{turn})**2))"
    begin = f"({ELASTIC}*{loss}/{stiffness})"
    share = f"max(0, min(1, (abs({z}) - {begin})/({steady}/{stiffness} - {begin})))"
    slip = f"(0.5 - 0.5*cos(pi*{share}))*{stiffness}/{steady}*max({v}*{z}, 0)*{z}/max(abs({z}), {begin})"
    rate = f"{v} - {slip}"
    maker.state(z, State(rate=Expression(rate)))
    damping = "" if spec.damping is None else f" + {text_of(spec.damping)}*exp(-({v}/{turn})**2)*({rate})"
    maker.drive(name, coordinate, f"-({stiffness}*{z}{damping}{viscous})")


def _brown_mcphee(loss: str, most: str, v: str, turn: str) -> str:
    drop = "" if most == loss else f" + ({most} - {loss})*({v}/{turn})/(({v}/(2*{turn}))**2 + 0.75)**2"
    return f"{loss}*tanh(4*{v}/{turn}){drop}"


def _sizes(maker: Maker, spec: Friction, coordinate: str) -> tuple[str, str] | None:
    """Friction while it slides and the most that holds, as texts; None where what is wrong is reported."""
    if not maker.fits(spec):
        return None
    key, smallest = ("breakaway", "loss") if spec.dynamic is None else ("static", "dynamic")
    sliding, holding = getattr(spec, smallest), getattr(spec, key)
    lost, most = (maker.review.value(number) for number in (sliding, holding))
    if lost is not None and most is not None and most < lost:
        maker.report(key, f"must not be less than {smallest}, which is {lost:g}")
        return None
    load = "" if spec.dynamic is None else _load(maker, coordinate, spec)
    if load is None:
        return None
    loss = text_of(sliding) + load
    return loss, loss if holding is None else text_of(holding) + load


def _add_to_ball(maker: Maker, joint: str, spec: Friction) -> None:
    """Friction of a spherical joint: a torque against the relative angular velocity, on both bodies."""
    if spec.law == "bristle":
        maker.report("law", "bristles are of single coordinates, and a spherical joint has none", "law: brown_mcphee")
        return
    if not maker.is_readable(joint, "_turn_"):
        return
    sizes = _sizes(maker, spec, f"{joint}.angle")
    if sizes is None:
        return
    model, turn = maker.review.model, text_of(spec.velocity)
    bodies, turning = model.joints[joint].bodies, []
    for k, body in enumerate(bodies):
        read = f"_turn_{joint}_{k + 1}"
        if body != GROUND and maker.add_reading(read, AngularVelocity, type="angular_velocity", body=body):
            turning.append(f"{'-' if k == 0 else ''}{read}")
    name, rate, speed = f"{joint}_friction", f"_rate_{joint}", f"_speed_{joint}"
    model.derived.parts[rate] = " + ".join(turning)
    model.derived.parts[speed] = f"sqrt(dot({rate}, {rate}) + ({SLOW!r}*{turn})**2)"
    model.derived.parts[torque := f"_rub_{joint}"] = (
        f"-(({_brown_mcphee(*sizes, speed, turn)})/{speed} + {text_of(spec.viscous)})*{rate}"
    )
    for body, force, sign in ((bodies[1], name, ""), (bodies[0], f"{name}_back", "-")):
        if body != GROUND and maker.takes(force, ("forces",)):
            value = [Expression(f"{sign}{torque}.{axis}") for axis in "xyz"]
            model.forces[force] = AppliedTorque.model_validate({"type": "torque", "body": body, "value": value})


SLOW = 1e-9  # of ``velocity``: below it the direction of the angular velocity counts less
UNLOADED = 1e-24  # N: load of a joint that carries nothing, whose friction has a derivative even so


def _load(maker: Maker, coordinate: str, spec: Friction) -> str | None:
    """Factor of coefficients of friction: the force across the joint, and the radius; None where it is reported.

    Multipliers of the constraints that hold the joint's point are the components of that force, in its axes.
    """
    model, owner = maker.review.model, coordinate.partition(".")[0]
    joint: Any = model.joints[owner]
    turns = coordinate.partition(".")[2].startswith("angle")
    if turns != (spec.radius is not None):
        if turns:
            maker.report("dynamic", "friction of an angle needs the radius that it acts at", "add radius")
        else:
            maker.report("radius", "friction of a displacement acts along it, at no radius", "leave it out")
        return None
    model.joints[owner] = joint.holding(joint.across)
    squares = []
    for axis in joint.across:
        read, held = f"_load_{owner}_{axis}", {"type": "multiplier", "constraint": f"{owner}.{axis}"}
        if read not in model.sensors and not maker.add_reading(read, Multiplier, **held):
            return None
        squares.append(f"{read}**2")
    part = f"_load_{owner}"
    model.derived.parts[part] = f"sqrt({' + '.join(squares)} + {UNLOADED!r}**2)"
    radius = "" if spec.radius is None else f"*{text_of(spec.radius)}"
    return f"*{part}{radius}"
