"""Integer codes of everything a model can hold; kernels dispatch on them.

A joint is nothing but a sequence of columns (one coordinate each), so a new joint type is a new
row of ``JOINT_COLUMNS``; kernels see columns only.
"""

from enum import IntEnum
from typing import NamedTuple


class Column(IntEnum):
    """Motion that one joint coordinate gives, in the joint frame as the columns before it left it."""

    TRANSLATION_X = 0
    TRANSLATION_Y = 1
    TRANSLATION_Z = 2
    ROTATION_X = 3
    ROTATION_Y = 4
    ROTATION_Z = 5
    EULER_0 = 6  # four Euler parameters stand together, always in this order
    EULER_1 = 7
    EULER_2 = 8
    EULER_3 = 9
    ELASTIC = 10  # of a body that deforms: moves no frame, see ``layout.FlexibleTree``


class Joint(IntEnum):
    """Joint types of the model file."""

    FIXED = 0
    REVOLUTE = 1
    PRISMATIC = 2
    UNIVERSAL = 3
    CYLINDRICAL = 4
    SPHERICAL = 5
    FLOATING = 6
    PLANAR = 7


TRANSLATIONS = (Column.TRANSLATION_X, Column.TRANSLATION_Y, Column.TRANSLATION_Z)
ROTATIONS = (Column.ROTATION_X, Column.ROTATION_Y, Column.ROTATION_Z)
EULER_PARAMETERS = (Column.EULER_0, Column.EULER_1, Column.EULER_2, Column.EULER_3)
TURNING = (*ROTATIONS, *EULER_PARAMETERS)

JOINT_COLUMNS: dict[Joint, tuple[Column, ...]] = {
    Joint.FIXED: (),
    Joint.REVOLUTE: (Column.ROTATION_Z,),
    Joint.PRISMATIC: (Column.TRANSLATION_Z,),
    Joint.UNIVERSAL: (Column.ROTATION_Z, Column.ROTATION_X),
    Joint.CYLINDRICAL: (Column.TRANSLATION_Z, Column.ROTATION_Z),
    Joint.SPHERICAL: EULER_PARAMETERS,
    Joint.FLOATING: (*TRANSLATIONS, *EULER_PARAMETERS),
    Joint.PLANAR: (Column.TRANSLATION_X, Column.TRANSLATION_Y, Column.ROTATION_Z),
}


class Measure(IntEnum):
    """Scalar functions of the configuration; constraints, forces and sensors are built on them."""

    PROJECTION = 0  # u_a . (p_b - p_a), u_a fixed in body a
    DOT = 1  # u_a . u_b
    DISTANCE = 2  # |p_b - p_a|
    ANGLE = 3  # from u_a to u_b about n_a, positive by the right hand; u_a is normal to n_a
    COORDINATES = 4  # sum of coefficient * coordinate
    EULER_NORM = 5  # e . e of four Euler parameters


BETWEEN_BODIES = (Measure.PROJECTION, Measure.DOT, Measure.DISTANCE, Measure.ANGLE)
OF_COORDINATES = (Measure.COORDINATES, Measure.EULER_NORM)


class Law(IntEnum):
    """Functions of one variable (time, or elongation); coefficients stand in theta."""

    CONSTANT = 0  # c
    POLYNOMIAL = 1  # c_0 + c_1 x + ...
    HARMONIC = 2  # offset + amplitude sin(omega x + phase)
    SMOOTH_STEP = 3  # quintic from y_0 to y_1 between x_0 and x_1
    SPLINE = 4  # piecewise cubic: n breakpoints, then (n - 1) x 4 coefficients, highest power first
    SINE_POWER = 5  # offset + amplitude sin(omega x + phase)^count
    ONE_SIDED = 6  # slope times the smooth positive part of x - x_0, or of x_0 - x where the onset is negative


class Operation(IntEnum):
    """Steps of the tapes of expressions, by their operands a, b, c; comparisons give 1 or 0."""

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    DIVIDE = 3
    POWER = 4
    ATAN2 = 5
    HYPOT = 6
    MINIMUM = 7
    MAXIMUM = 8
    LESS = 9
    LESS_EQUAL = 10
    SELECT = 11  # b where a is not 0, else c
    LAW = 12  # value of law b at a
    NEGATE = 13
    SQRT = 14
    EXP = 15
    LOG = 16
    ABS = 17
    SIGN = 18
    SIN = 19
    COS = 20
    TAN = 21
    ASIN = 22
    ACOS = 23
    ATAN = 24
    SINH = 25
    COSH = 26
    TANH = 27


JUMPING = (Operation.LESS, Operation.LESS_EQUAL, Operation.SIGN)  # operations whose values jump
BENDING = (*JUMPING, Operation.MINIMUM, Operation.MAXIMUM, Operation.ABS)  # and those whose slopes do


class Force(IntEnum):
    """Force elements. Gravity is not among them: it is the acceleration of the base."""

    ALONG_MEASURE = 0  # springs, dampers, friction, motors: act on the rate of a measure
    POINT_FORCE = 1  # at a point of a body
    TORQUE = 2  # on a body
    DRAG = 3  # at a point of a body, against its velocity through the air, quadratic
    TYRE_MAGIC_FORMULA = 4  # between a wheel and the road, see docs/theory/tyres.md; slip forces by the Magic Formula
    TYRE_LINEAR = 5  # the same; slip forces linear up to friction
    SPHERE_ON_PLANE = 6  # contact of a sphere of the second body with a plane of the first
    SPHERE_ON_SPHERE = 7  # or with a sphere of the first
    BUSHING = 8  # elastic and damping forces in six directions between frames of two bodies
    WING = 9  # lift and drag of a plate
    SPHERE_ON_ROAD = 10  # contact of a sphere with a road


APPLIED = (Force.POINT_FORCE, Force.TORQUE)
TYRES = (Force.TYRE_MAGIC_FORMULA, Force.TYRE_LINEAR)
BODIES_TOUCHING = (Force.SPHERE_ON_PLANE, Force.SPHERE_ON_SPHERE)
CONTACTS = (*BODIES_TOUCHING, Force.SPHERE_ON_ROAD)
ALONG = {Force.ALONG_MEASURE: "spring"}  # of forces along a measure: the file of ``kernels/elements`` with the kind
ON_BODIES = {  # the same of all others
    **dict.fromkeys(APPLIED, "applied"),
    Force.DRAG: "drag",
    **dict.fromkeys(TYRES, "tyre"),
    **dict.fromkeys(BODIES_TOUCHING, "contact"),
    Force.BUSHING: "bushing",
    Force.WING: "wing",
    Force.SPHERE_ON_ROAD: "road",
}
ELEMENTS = {**ALONG, **ON_BODIES}
EVERYWHERE = frozenset(("spring", "applied"))  # all kernels know them
TOGETHER = frozenset(("drag", "tyre"))  # a model with one has kernels for all: each set has its own kernels


class TyreQuantity(IntEnum):
    """Scalars of a tyre that sensors read, in the axes of the road under the wheel."""

    NORMAL_LOAD = 0
    LONGITUDINAL_SLIP = 1
    LATERAL_SLIP = 2
    LONGITUDINAL_FORCE = 3
    LATERAL_FORCE = 4
    DEFLECTION = 5


class ContactQuantity(IntEnum):
    """Scalars of a contact that sensors read, at the places of those of tyres."""

    NORMAL_FORCE = 0
    SLIDING_SPEED = 1
    FRICTION = 3
    PENETRATION = 5


class BushingQuantity(IntEnum):
    """First of three components, along the axes of the first frame, that sensors read of a bushing."""

    FORCE = 0
    TORQUE = 3
    DISPLACEMENT = 8
    ROTATION = 11


class Attitude(IntEnum):
    """Angles of a body by ISO 8855: yaw about z, then pitch about y, then roll about x."""

    ROLL = 0
    PITCH = 1
    YAW = 2


class Axes(IntEnum):
    """Frame in which an applied force or torque is given."""

    GLOBAL = 0
    BODY = 1


class Sensor(IntEnum):
    """Quantities that a run records; ``SENSOR_WIDTH`` numbers each."""

    POSITION = 0
    VELOCITY = 1
    ACCELERATION = 2
    DIRECTION = 3
    ANGULAR_VELOCITY = 4
    ANGULAR_ACCELERATION = 5
    COORDINATE = 6
    MEASURE = 7
    FORCE = 8
    MULTIPLIER = 9
    KINETIC_ENERGY = 10
    POTENTIAL_ENERGY = 11
    ALONG = 12  # position, velocity or acceleration of a point along a direction that a body carries
    ATTITUDE = 13  # roll, pitch or yaw of a body, or its rate
    TYRE = 14  # a ``TyreQuantity``, ``ContactQuantity`` or component of a ``BushingQuantity``
    FORCE_ON_BODY = 15  # vector of an applied force or torque, drag or tyre
    STRAIN_ENERGY = 16  # of a body that deforms


SENSOR_WIDTH: dict[Sensor, int] = {
    sensor: 3
    if sensor
    in (
        Sensor.POSITION,
        Sensor.VELOCITY,
        Sensor.ACCELERATION,
        Sensor.DIRECTION,
        Sensor.ANGULAR_VELOCITY,
        Sensor.ANGULAR_ACCELERATION,
        Sensor.FORCE_ON_BODY,
    )
    else 1
    for sensor in Sensor
}


class Status(IntEnum):
    """Outcome of a kernel; sentences for them stand in ``solve/faults.py``."""

    OK = 0
    NO_CONVERGENCE = 1
    SINGULAR = 2
    NOT_FINITE = 3
    STEP_TOO_SMALL = 4
    TOO_MANY_STEPS = 5
    PAUSED = 6  # no failure: the caller may look after other things before it goes on
    PASSED = 7  # no failure: the step passes an onset, or bends too much, and is to be divided


# Integrators of open trees and their steps, as everything knows them that does not integrate.


class Integrator(NamedTuple):
    """What follows from the choice of an integrator."""

    control_order: int  # by which the error falls of steps that it chooses; 0 where steps are fixed
    implicit: bool  # its stages are iterated
    safety: float = 0.9  # factor of the length at which the next error is expected to be all that is allowed

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its steps."""
        return self.control_order > 0


INTEGRATORS = {
    "rk4": Integrator(0, implicit=False),
    "dop853": Integrator(8, implicit=False, safety=0.8),  # at 0.9 an eighth of its steps is rejected
    "esdirk": Integrator(4, implicit=True),
}
DEFAULT_INTEGRATOR = "dop853"
AUTO_INTEGRATOR = "auto"  # dop853, or esdirk where the first steps show that the motion is stiff
MOST_STEPS = 1_000_000_000  # of an analysis: more are a misprint, and would fill any disk
