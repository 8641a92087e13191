"""States of one's own, numbers that change at a rate beside the motion; controllers, which are short for them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mbsim_cli.spec.base import ByType, Described, complete, field, named, needs, optional, require_one
from mbsim_cli.spec.expressions.number import Expression, NotNegative, Number, Positive, Some
from mbsim_cli.spec.expressions.units import Unit
from mbsim_cli.spec.joints import Prismatic


class State(Described):
    """A number s with s' = rate."""

    initial: Number = field("Value at the start.", 0.5, default=0.0)
    rate: Expression = field(
        "Its time derivative: an expression of sensors, coordinates, states, t, parameters and laws.", "(u - x)/T"
    )
    unit: Unit = field("SI unit, for tables and result files.", "A", default="")


class StateJoint(Prismatic):
    """What a state stands for: a coordinate of unit inertia, which moves no body; the state is its rate."""

    coordinates: ClassVar[tuple[str, ...]] = ("integral",)
    stands_for: ClassVar[str] = "state"
    unit: named.Text = field("Unit of the state.", "A", default="")


# Controllers, motors, delays and transfer functions: short forms of states and forces by expressions.


_COEFFICIENTS = Some[Number]


class Pid(Described):
    """A PID controller on a coordinate: force kp e + I + D, e = target - coordinate."""

    in_example = ("kp", "kd")

    type: Literal["pid"] = field("A PID controller.", "pid")
    coordinate: named.Coordinate = field("The coordinate that it controls and acts on, JOINT.coordinate.", "hip.angle")
    target: Expression = field("Target of the coordinate [rad or m]: a number, expression or law.", "swing", 0.5)
    kp: Number = field("Proportional gain [N m/rad or N/m].", 80, default=0.0)
    ki: Number = field("Integral gain [N m/(rad s) or N/(m s)].", 5, default=0.0)
    kd: Number = field("Derivative gain, on the rate of the coordinate [N m s/rad or N s/m].", 2, default=0.0)
    target_rate: Expression | None = optional(
        "Rate of the target, for the derivative part [rad/s or m/s]; left out: zero.", "0.2*cos(t)"
    )
    filter: Positive | None = optional("Time constant of a filter of the derivative part [s]; left out: none.", 0.01)
    limit: Positive | None = optional("Largest force or torque, both ways [N m or N]; left out: none.", 40)
    anti_windup: NotNegative | None = optional(
        "Gain of back-calculation at the limit: rate at which the integral part gives way [1/s].", 1
    )

    @complete
    def _effective(self) -> None:
        integral, rate = self.ki.literal != 0.0, self.kd.literal != 0.0
        require_one("kp, ki or kd", not integral and not rate and self.kp.literal == 0.0)
        require_one("kd beside filter", self.filter is not None and not rate)
        require_one("kd beside target_rate", self.target_rate is not None and not rate)
        require_one("ki and limit beside anti_windup", self.anti_windup is not None and not (integral and self.limit))


class DcMotor(Described):
    """A direct-current motor on a coordinate: L i' = u - R i - k n w, torque n k i."""

    type: Literal["dc_motor"] = field("A direct-current motor.", "dc_motor")
    coordinate: named.Coordinate = field("The coordinate that it turns, JOINT.coordinate.", "wheel.angle")
    voltage: Expression = field("Voltage at its terminals [V]: a number, expression or law.", "12*ramp(t)", 12)
    resistance: Positive = field("Resistance of the winding [ohm].", 0.5)
    inductance: Positive | None = optional(
        "Inductance of the winding [H]; left out: the current follows at once.", 1e-4
    )
    torque_constant: Number = field("Torque over current, and voltage over speed [N m/A, V s/rad].", 0.05)
    gear: Number = field("Turns of the rotor for one of the coordinate.", 30, default=1.0)
    rotor_inertia: NotNegative | None = optional("Moment of inertia of the rotor [kg m^2].", 1e-5)
    initial: Number = field("Current at the start [A].", 2.0, default=0.0)

    _effective = needs(
        "inductance beside initial: without one the current follows at once",
        lambda item: "initial" in item.model_fields_set and item.inductance is None,
    )


class Delay(Described):
    """A signal as it was some time ago, by a Pade approximation; the result is the state of its name."""

    type: Literal["delay"] = field("A delayed signal.", "delay")
    input: Expression = field("The signal: an expression.", "hip.angle")
    time: Positive = field("How long ago [s].", 0.02)
    order: Annotated[int, Field(ge=1, le=8)] = field("Order of the approximation, states that it has.", 4, default=3)
    initial: Number = field("Value of the signal before the start.", 0.1, default=0.0)
    unit: Unit = field("SI unit, for tables and result files.", "rad", default="")


class TransferFunction(Described):
    """A signal through a transfer function; the result is the state of its name, and all states start at zero."""

    type: Literal["transfer_function"] = field("A filtered signal.", "transfer_function")
    input: Expression = field("The signal: an expression.", "hip.angle")
    numerator: _COEFFICIENTS = field("Coefficients of the numerator, highest power of s first.", [1])
    denominator: _COEFFICIENTS = field("Coefficients of the denominator, highest power first.", ["T", 1])
    unit: Unit = field("SI unit, for tables and result files.", "rad", default="")


Controller = Annotated[Pid | DcMotor | Delay | TransferFunction, ByType()]
