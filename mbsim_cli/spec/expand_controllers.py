"""From controllers to what they are short for: states, forces by expressions, armatures.

Sources: Astrom, Haegglund, "PID Controllers" (1995), sections 3.4 and 3.5; Golub, Van Loan, "Matrix Computations",
section 11.3.1 (Pade approximations of the exponential).
"""

from collections.abc import Sequence
from math import factorial
from typing import Any

from mbsim_cli.spec.controllers import DcMotor, Delay, Pid, TransferFunction
from mbsim_cli.spec.expand_states import Maker
from mbsim_cli.spec.expressions.moving import Expression
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.states import State


def expand_controllers(review: Review) -> None:
    """Add to a model what its controllers stand for."""
    for name, spec in review.model.controllers.items():
        maker = Maker(review, ("controllers", name))
        match spec:
            case Pid():
                if maker.is_readable(spec.coordinate):
                    _pid(maker, name, spec)
            case DcMotor():
                if maker.is_readable(spec.coordinate):
                    _dc_motor(maker, name, spec)
            case Delay():
                _delay(maker, name, spec)
            case TransferFunction():
                _transfer_function(maker, name, spec)


def text_of(number: Number) -> str:
    """A number as it may stand within an expression."""
    return f"({number.literal!r})" if number.literal is not None else f"({number.text.strip()})"


def signal_of(review: Review, number: Number) -> str:
    """The same of a signal, which may be the name of a law of time."""
    text = number.text.strip() if number.literal is None else ""
    known = {*review.model.parameters, *review.model.constants}
    return f"{text}(t)" if text in review.model.laws and text not in known else text_of(number)


def _pid(maker: Maker, name: str, spec: Pid) -> None:
    if not maker.positive(filter=spec.filter, limit=spec.limit):
        return
    review, rate = maker.review, f"{spec.coordinate}.velocity"
    error = f"({signal_of(review, spec.target)} - {spec.coordinate})"
    integral, parts = f"{name}_integral", [f"{text_of(spec.kp)}*{error}"]
    with_integral = spec.ki.literal != 0.0
    if with_integral:
        parts.append(integral)
    if spec.kd.literal != 0.0:
        change = rate if spec.target_rate is None else f"({rate} - {signal_of(review, spec.target_rate)})"
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
    if not maker.positive(resistance=spec.resistance, inductance=spec.inductance):
        return
    k, n = text_of(spec.torque_constant), text_of(spec.gear)
    left = f"({signal_of(maker.review, spec.voltage)} - {k}*{n}*{spec.coordinate}.velocity"
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
    number = Number.read(own + inertia)
    joints[name] = joint.model_copy(update={"armature": number})


def _delay(maker: Maker, name: str, spec: Delay) -> None:
    """exp(-s T) by numerator and denominator of degrees n - 1 and n: the result does not jump with the signal."""
    if not maker.positive(time=spec.time):
        return
    n, time = spec.order, text_of(spec.time)
    below, above = _pade(n - 1, n)
    scaled = [f"({c!r}*{time}**{k})" for k, c in enumerate(above)]
    signs = [f"({(-1) ** k * c!r}*{time}**{k})" for k, c in enumerate(below)]
    _realise(maker, name, spec, signs, scaled, text_of(spec.initial))


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
    above = [text_of(number) for number in reversed(spec.denominator)]
    below = [text_of(number) for number in reversed(spec.numerator)]
    _realise(maker, name, spec, below, above, "0.0")


def _realise(
    maker: Maker, name: str, spec: Delay | TransferFunction, below: Sequence[str], above: Sequence[str], start: str
) -> None:
    """States in observer form: the last one is the result. Coefficients stand with the lowest power first.

    x_k' = x_(k-1) + (b_k u - a_k y) / a_n; at rest with y = u = ``start`` where a_0 = b_0.
    """
    n, signal, lead = len(above) - 1, signal_of(maker.review, spec.input), above[-1]
    names = [f"{name}_{k + 1}" for k in range(n - 1)] + [name]
    for k, own in enumerate(names):
        terms = [] if k == 0 else [names[k - 1]]
        terms += [f"{below[k]}*{signal}/{lead}"] if k < len(below) else []
        terms.append(f"-{above[k]}*{name}/{lead}")
        rest = start
        if k + 1 < n:
            less = f" - {below[k + 1]}" if k + 1 < len(below) else ""
            rest = f"({above[k + 1]}{less})*{start}/{lead}"
        unit = spec.unit if own == name else ""
        maker.state(own, State(initial=Number.read(rest), rate=Expression(" + ".join(terms)), unit=unit))
