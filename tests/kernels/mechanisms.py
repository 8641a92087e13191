"""Mechanisms that the tests of kernels share; each returns a ``Builder`` that still takes elements."""

import numpy as np

from mbsim_cli.model.codes import (
    BODIES_TOUCHING,
    TYRES,
    Attitude,
    Axes,
    BushingQuantity,
    Force,
    Joint,
    Law,
    Measure,
    Sensor,
    TyreQuantity,
)
from mbsim_cli.model.layout import GROUND, NONE
from tests.kernels.models import Builder


def loop(tree, cut, seed=1):
    """A loop between two moving branches; ``tree`` is inside it, ``cut`` closes it. Never redundant."""
    builder = Builder(seed)
    first = builder.body(Joint.REVOLUTE)
    tested = builder.body(tree, first)
    ball = builder.body(Joint.SPHERICAL, tested)
    last = builder.body(Joint.CYLINDRICAL, ball)
    other = builder.body(Joint.UNIVERSAL)
    builder.cut(cut, last, other)
    builder.along(builder.geometric(Measure.DISTANCE, ball, other))
    return builder


def branches(seed=2):
    """A tree with a fork and with Euler parameters on both branches: bodies 0 (trunk), 1, 2 and 3, 4."""
    builder = Builder(seed)
    trunk = builder.body(Joint.CYLINDRICAL)
    left = builder.body(Joint.SPHERICAL, trunk)
    builder.body(Joint.UNIVERSAL, left)
    right = builder.body(Joint.FLOATING, trunk)
    builder.body(Joint.PLANAR, right)
    return builder


PAIRS = ((2, 4), (4, 1), (GROUND, 3), (2, GROUND), (0, 2), (4, 0))  # other branch, ground, ancestors, both senses


def everything(seed=7, own=True, bushings=True):
    """A forked tree with every measure as a force and as a constraint, every law, every applied force.

    ``own``: with the forces that have kernels of their own. Without them its kernels are those that all models share.
    """
    builder = branches(seed)
    laws = [builder.law(kind) for kind in Law]
    for k, kind in enumerate(Measure):
        if kind != Measure.EULER_NORM:
            a, b = PAIRS[k % len(PAIRS)]
            used = tuple(laws[(k + slot) % len(laws)] for slot in range(3))
            builder.along(any_measure(builder, kind, a, b), used)
            a, b = PAIRS[(k + 1) % len(PAIRS)]
            builder.constraint(any_measure(builder, kind, a, b), laws[k % len(laws)])
    for kind in (Force.POINT_FORCE, Force.TORQUE):
        for k, axes in enumerate(Axes):
            builder.applied(kind, 2 + 2 * k, axes, laws[2])
    if own:
        builder.drag(4)
        builder.wing(2)
        for k, kind in enumerate(TYRES):
            builder.tyre(kind, 2 + 2 * k, builder.sum((Law.POLYNOMIAL, None), (Law.HARMONIC, (-9.0, 9.0))))
        all_contacts(builder)
    builder.armature(0)
    builder.armature(6, 0)
    if own and bushings:
        all_bushings(builder, laws)
    builder.every_sensor()
    return builder


def everything_open(seed=7):
    """An open tree with every joint, every force, every law and every sensor, and with two driven coordinates."""
    builder = branches(seed)
    tip = builder.body(Joint.REVOLUTE, 2)
    builder.body(Joint.PRISMATIC, 4)
    builder.body(Joint.FIXED, 1)
    builder.body(Joint.REVOLUTE, tip)
    laws = [builder.law(kind) for kind in Law]
    for k, kind in enumerate(Measure):
        if kind != Measure.EULER_NORM:
            used = tuple(laws[(k + slot) % len(laws)] for slot in range(3))
            builder.along(any_measure(builder, kind, *PAIRS[k % len(PAIRS)]), used)
    on_single_bodies(builder, laws)
    builder.constraint(builder.coordinates((1,)), laws[2])
    builder.constraint(builder.coordinates((len(builder.z) - 1,)), laws[1])
    for coordinate, stored in ((0, 1), (1, 1), (len(builder.z) - 1, 1), (len(builder.z) - 2, 0)):
        builder.armature(coordinate, stored)
    builder.every_sensor()
    return builder


def on_single_bodies(builder, laws):
    """Every force that acts on a single body."""
    for kind in (Force.POINT_FORCE, Force.TORQUE):
        for k, axes in enumerate(Axes):
            builder.applied(kind, 2 + 2 * k, axes, laws[2])
    builder.drag(4)
    builder.wing(2)
    for k, kind in enumerate(TYRES):
        builder.tyre(kind, 2 + 2 * k, laws[1])
    all_contacts(builder)
    all_bushings(builder, laws)


def all_contacts(builder):
    """Contacts of every kind, between two bodies and with the ground."""
    for kind in BODIES_TOUCHING:
        builder.contact(kind, 1, 4)
        builder.contact(kind, GROUND, 3)


def all_bushings(builder, laws):
    """Bushings between two bodies and with the ground, with every law."""
    builder.bushing(1, 4, laws[:6])
    builder.bushing(GROUND, 3, (*laws[6:], *[NONE] * (12 - len(laws))))


def any_measure(builder, kind, a, b):
    """A measure of any kind; those of coordinates take coordinates of a spherical and of other joints."""
    if kind == Measure.COORDINATES:
        return builder.coordinates((0, 1, 3, 6))
    if kind == Measure.EULER_NORM:
        return next(k for k, measure in enumerate(builder.measures) if measure[0] == kind)
    return builder.geometric(kind, a, b)


def with_sensors(*kinds, own=True):
    """``everything`` with all sensors of some kinds, and no others."""
    builder = everything(own=own)
    builder.sensors.clear()
    for kind in kinds:
        for place in places_of_sensors(builder, kind):
            builder.sensor(kind, *place)
    return builder


def quantities_of(builder, k):
    """Quantities of a force that sensors read."""
    if builder.forces[k][0] == Force.BUSHING:
        return [first + component for first in BushingQuantity for component in range(3)]
    return list(TyreQuantity)


def places_of_sensors(builder, kind):
    """All (body, index, order) of ``everything`` that sensors of a kind can read."""
    forces = [(NONE, k, 0) for k in range(len(builder.forces)) if builder.sensor_of_force(k) == kind]
    places = {
        Sensor.COORDINATE: [(NONE, c, order) for c in range(len(builder.z)) for order in range(3)],
        Sensor.MEASURE: [(NONE, k, order) for k in range(len(builder.measures)) for order in range(3)],
        Sensor.FORCE: forces,
        Sensor.FORCE_ON_BODY: forces,
        Sensor.MULTIPLIER: [(NONE, k, 0) for k in range(len(builder.equations))],
        Sensor.KINETIC_ENERGY: [(NONE, NONE, 0)],
        Sensor.POTENTIAL_ENERGY: [(NONE, NONE, 0)],
        Sensor.ALONG: [(k, (k + 2) % 5, order) for k in range(5) for order in range(3)],
        Sensor.ATTITUDE: [(k, angle, order) for k in range(5) for angle in Attitude for order in range(2)],
        Sensor.TYRE: [(NONE, k, quantity) for k in builder.with_quantities() for quantity in quantities_of(builder, k)],
    }
    return places.get(kind, [(body, NONE, 0) for body in range(len(builder.bodies))])


def four_bar(seed=4):
    """A planar four-bar whose revolute cut keeps all five equations: three of them are redundant."""
    builder = Builder(seed, gravity=(0.3, -9.7, 0.0))
    level = np.eye(3)

    def bar(parent, at, length):
        number = builder.body(Joint.REVOLUTE, parent, frames=(np.array(at), level, np.zeros(3), level))
        return number, np.array([length, 0.0, 0.0])

    crank, end = bar(GROUND, [0.0, 0.0, 0.0], 0.4)
    coupler, _ = bar(crank, end, 1.1)
    rocker, _ = bar(GROUND, [1.2, 0.1, 0.0], 0.7)
    builder.z[:] = 1.0, -0.4, 1.9
    builder.cut(Joint.REVOLUTE, coupler, rocker, turn=level)
    builder.along(builder.geometric(Measure.DISTANCE, crank, rocker))
    return builder


def three_cranks(seed=6):
    """Three equal cranks on one bar, in a plane: of the four equations of two cuts one follows from the others.

    The second cut is seen from the crank, so that the combination of equations that says nothing turns.
    """
    builder = Builder(seed, gravity=(0.3, -9.7, 0.0))
    level, length, apart, angle = np.eye(3), 0.6, 1.1, 0.9

    def body(parent, at):
        return builder.body(Joint.REVOLUTE, parent, frames=(np.array(at), level, np.zeros(3), level))

    first = body(GROUND, [0.0, 0.0, 0.0])
    bar = body(first, [length, 0.0, 0.0])
    others = [body(GROUND, [k * apart, 0.0, 0.0]) for k in (1, 2)]
    builder.z[:], builder.zd[:] = (angle, -angle, angle, angle), (3.0, -3.0, 3.0, 3.0)
    for k, crank in enumerate(others, 1):
        on_bar, on_crank, u = np.array([k * apart, 0.0, 0.0]), np.array([length, 0.0, 0.0]), builder.unit()
        ends = [(bar, on_bar), (crank, on_crank)][:: 3 - 2 * k]
        for axis in (np.array([u[0], u[1], 0.0]), np.array([-u[1], u[0], 0.0])):
            block = np.concatenate([ends[0][1], ends[1][1], axis, level[0], level[2]])
            builder.constraint(builder.geometric(Measure.PROJECTION, ends[0][0], ends[1][0], block, "cut"))
    builder.along(builder.geometric(Measure.DISTANCE, first, others[1]))
    for equation in range(4):
        builder.sensor(Sensor.MULTIPLIER, index=equation)
    return builder
