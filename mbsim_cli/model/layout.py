"""The data contract between assembly and kernels: ``Model`` (frozen arrays) and ``theta`` (numbers).

Every number that the physics reads stands in one flat vector ``theta`` (SI units, radians). ``Model``
holds topology, codes and offsets into ``theta`` only, so that one ``Model`` serves any parameter values.
Offsets name the first entry of a block; the blocks are

======== ======================================================================================
block    entries of theta
======== ======================================================================================
gravity  3: acceleration of free fall, global axes, m/s^2 (at ``GRAVITY``, always offset 0)
body     ``BODY_SIZE``: joint frame on the parent side p_P (3), R_P (9, by rows), in the parent's axes;
         joint frame on the child side p_C (3), R_C (9), in the body's axes; mass (1), centre of mass (3),
         inertia about the centre of mass xx yy zz xy xz yz (6), in the body's axes
measure  geometric kinds, ``MEASURE_SIZE``: p_a (3), p_b (3), u_a (3), u_b (3), n_a (3), each in its
         own body's axes, the directions of unit length. DISTANCE: at ``APART`` a length e, g = sqrt(d . d + e^2);
         0 but for springs without length. ANGLE has no points: at ``STARTS_NEAR`` stands the value
         that it is nearest to at the start, of those a turn apart. COORDINATES: one coefficient a coordinate, then the
         sign of the argument of its curve, if it has one.
         EULER_NORM: none
constraint 1: target; the constraint is Phi = measure - target - law(t)
force    ALONG_MEASURE, 4: stiffness k, damping c, natural value g_0, constant force f_0; the force on the
         rate of the measure g is Q = f_0 + law_t(t) - k (g - g_0) - c g' - law_e(g - g_0) - law_r(g').
         POINT_FORCE, ``APPLIED_SIZE``: point (3) in body axes, vector (3). TORQUE, the same: three unused, vector (3).
         The vector is multiplied by law_t(t) where there is one. DRAG, ``DRAG_SIZE``: point (3) in body axes, three
         unused, velocity of the air (3) in global axes, coefficient; TYRE_*, ``TYRE_SIZE``: centre (3) and spin
         axis (3) in body axes, then the numbers named from ``RADIUS`` on; contacts, ``CONTACT_SIZE``: centre (3) and
         axis of a rim (3), of a sphere zero, point (3) and normal or axis (3) in axes of the first body, then the
         numbers named from ``SPHERE_RADIUS`` on.
         BUSHING, ``BUSHING_SIZE``: point (3) and axes (9, one behind the other) in axes of the second body, the same in
         axes of the first, then unloaded displacement and rotation (6), preload (6), and the upper triangles of
         stiffness and damping (21 each, by rows)
law      as in ``codes.Law``; SMOOTH_STEP: x_0, x_1, y_0, y_1. HARMONIC, SINE_POWER: offset, amplitude, omega,
         phase. ONE_SIDED: x_0, onset, slope
window   2: a law holds where start <= x < end
sensor   POSITION, VELOCITY, ACCELERATION: point (3) in body axes; DIRECTION: vector (3) in body axes;
         ALONG: point (3) in body axes, direction (3) in the axes of the body that carries it
armature 1: inertia that is added to a coordinate
reaction 12: point (3) in the axes of the body that carries it; rotation matrix (9, by rows) of the axes of
         force and moment, in the axes of the body that carries them
signal   the numbers that an expression reads: named ones, then constants
flexible of a flexible body: ``model.standard_data``
initial  position (n), then velocity (n)
======== ======================================================================================

Bodies are numbered parent before child; the ground is body -1 and is not stored. A body's pose is
r, R (R takes body axes to global axes); across a joint R = R_parent R_P R_joint(z) R_C^T and the joint
points coincide when the joint translations are zero.
"""

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.codes import ELEMENTS, EVERYWHERE, TOGETHER

STEP = 1e-30  # of a complex step; its square vanishes beside any value, so the derivative is exact

GRAVITY = 0
BODY_SIZE = 34
P_P, R_P, P_C, R_C, MASS, COM, INERTIA = 0, 3, 12, 15, 24, 25, 28
MEASURE_SIZE = 15
P_A, P_B, U_A, U_B, N_A = 0, 3, 6, 9, 12
APART = 6  # of distances: how far apart points are, at least; 0 but for springs without length
STARTS_NEAR = P_A  # of ANGLE
APPLIED_SIZE, VECTOR = 6, 3
DRAG_SIZE = 10
AIR, DRAG = 6, 9
TYRE_SIZE = 16
AXIS = 3  # of forces on one body that depend on its motion, behind their point
RADIUS, TYRE_STIFFNESS, TYRE_DAMPING, ONSET = 6, 7, 8, 9  # of the vertical force
FRICTION, SLIP_X, SLIP_Y, SHAPE_B, SHAPE_C, SLOW = 10, 11, 12, 13, 14, 15  # of the slip forces
CONTACT_SIZE = 24
P_OTHER, N_OTHER = 6, 9  # of contacts: point and normal on the first body
SPHERE_RADIUS, OTHER_RADIUS, SPHERE_STIFFNESS, EXPONENT, DISSIPATION, DYNAMIC, STATIC, STRIBECK = range(12, 20)
RIM_RADIUS, HALF_LENGTH, IMPACT_DAMPING, IMPACT_DEPTH = range(20, 24)  # of contacts, too
BUSHING_SIZE = 78
AXES_B, POINT_A, AXES_A = 3, 12, 15  # of pairs of frames, behind the point on the second body
UNLOADED, PRELOAD, BUSHING_STIFFNESS, BUSHING_DAMPING = 24, 30, 36, 57  # behind the frames
GROUND = -1
NONE = -1
FORCE_LAWS, BUSHING_LAWS = 9, 3  # columns of ``Forces.law``, and the first of those of directions


def with_fields(kind: Any, *names: str) -> Any:
    """A NamedTuple with the fields of another one, and more."""
    return namedtuple(kind.__name__, (*kind._fields, *names), module=__name__)


class Tree(NamedTuple):
    """Spanning tree: nb bodies, n coordinates."""

    parent: np.ndarray  # (nb,) parent body, or GROUND
    first_column: np.ndarray  # (nb + 1,) columns of body i are first_column[i] .. first_column[i + 1] - 1
    column_kind: np.ndarray  # (n,) codes.Column
    column_body: np.ndarray  # (n,) body that the column moves
    theta: np.ndarray  # (nb,) offset of the body block
    initial: np.ndarray  # (1,) offset of the initial block


class FlexibleTree(
    with_fields(
        Tree,
        "flexible",  # (nf,) body
        "pair",  # (nf,) pair (GROUND, body)
        "elastic",  # (nf + 1,) columns of the elastic coordinates of body f are elastic[f] .. elastic[f + 1] - 1
        "block",  # (nf,) offset of the body's standard input data
        "deviation",  # (nf,) offset of what these have beyond the identities between their terms, or NONE
        "column",  # (n,) column of each coordinate, increasing
        "node",  # (nv,) columns of nodes
        "node_body",  # (nv,) number of the flexible body that holds the node
        "shape",  # (nv,) offset of L, before zeros
        "bend",  # (nv,) offset of P, symmetric, by rows, of nodes that stiffen; else NONE
    )
):
    """``Tree`` with nf bodies that deform; columns of their elastic coordinates stand behind those of all joints.

    Columns of nodes, places on such bodies, are no coordinates: they are zeta = L q + q . P q / 2 of the elastic ones q
    of their body. So there are n coordinates and more columns.
    """

    __slots__ = ()


class Natural(NamedTuple):
    """Bodies in natural coordinates, in the place of ``Tree``: nb bodies, n coordinates, mr equations of rigidity.

    The place of a body's origin and the three columns of its rotation matrix are linear in the coordinates that it
    lists: twelve numbers at rest, then twelve for each coordinate. The equations of rigidity stand behind the others.
    """

    parent: np.ndarray  # (nb,) GROUND
    theta: np.ndarray  # (nb,) offset of the body block
    column_kind: np.ndarray  # (n,) NONE
    column_body: np.ndarray  # (0,)
    first: np.ndarray  # (nb + 1,) into column
    column: np.ndarray  # coordinates that body i depends on, trios first
    trios: np.ndarray  # (nb,) three coordinates each that move the body along x, y and z: those of a point or vector
    pose: np.ndarray  # (nb,) offset of the linear map of body i
    rigid: np.ndarray  # (mr,) body of an equation of rigidity, sum of S_jk (R_j . R_k - delta_jk) / 2
    shape: np.ndarray  # (mr,) offset of S: xx, yy, zz, xy, xz, yz
    rigid_first: np.ndarray  # (mr + 1,) into rigid_entry
    rigid_entry: np.ndarray  # entries of column that an equation of rigidity depends on: the first of trios, others
    rigid_trios: np.ndarray  # (mr,)
    defined: np.ndarray  # (k,) equations that define a coordinate by their measure
    definition: np.ndarray  # (k,) the coordinate
    turning: np.ndarray  # (k, 3) coordinates of vectors; NONE last where two give one in a plane
    mass_first: np.ndarray  # (n + 1,) into mass_column
    mass_column: np.ndarray  # columns of the entries of each row of the mass matrix
    mass: np.ndarray  # (1,) offset of these entries
    weight: np.ndarray  # (1,) offset of the weight (n)
    least: np.ndarray  # (n,) inertia that a coordinate counts for, at least, where constraints are weighed
    swing: np.ndarray  # (n,) rad that bodies turn by as a coordinate moves by one, or 0: tells when to look at J
    extent: np.ndarray  # (n,) squares of the units of coordinates
    row_extent: np.ndarray  # (m,) the same of constraints


class FlexibleNatural(
    with_fields(
        Natural,
        "flexible",  # (nf,) body
        "elastic",  # (nf + 1,) elastic coordinates of body f are elastic[f] .. elastic[f + 1] - 1
        "block",  # (nf,) as in ``FlexibleTree``
        "deviation",  # (nf,) as in ``FlexibleTree``
        "weld",  # (nw,) equations that weld a node
        "weld_body",  # (nw,) number of the body that deforms
        "weld_shape",  # (nw,) offset of L
        "weld_bend",  # (nw,) offset of P, or NONE
        "weld_sine",  # (nw,) 1 where the measure is sin(zeta), else 0
    )
):
    """``Natural`` with nf bodies that deform; numbers of their elastic coordinates stand behind those of all others.

    The frame of such a body has a linear map like a rigid body, and a place on it, a node, one of its own. Equations
    weld nodes to bodies: measure = zeta, or sin(zeta), zeta as of ``FlexibleTree``.
    """

    __slots__ = ()


NATURAL = Natural, FlexibleNatural
DEFORMING = FlexibleTree, FlexibleNatural


class Pairs(NamedTuple):
    """Pairs of bodies (a, b) that elements act between, with the columns on the path between them.

    Columns common to both are left out: internal forces do no work on them. Columns of b stand first,
    from b upwards, then those of a, from a upwards.
    """

    a: np.ndarray  # (npair,)
    b: np.ndarray  # (npair,)
    first: np.ndarray  # (npair + 1,) into column and sign
    column: np.ndarray
    sign: np.ndarray  # +1 on the branch of b, -1 on the branch of a


class NoCurves(NamedTuple):
    """In the place of ``Curves`` where there are none: kernels know nothing of them then."""

    none: np.ndarray  # (0,)


NO_CURVES = NoCurves(np.zeros(0, np.int64))


class Curves(NamedTuple):
    """Laws of coordinates that measures of coordinates are less by, of the last coordinate that each lists."""

    law: np.ndarray  # (nm,) or NONE; behind the coefficients stands the sign of the law's argument
    laws: "Laws"  # as ``Model.laws``


class Measures(NamedTuple):
    """Measures; those of coordinates have pair NONE and list their coordinates."""

    kind: np.ndarray  # (nm,) codes.Measure
    pair: np.ndarray  # (nm,)
    theta: np.ndarray  # (nm,) offset of the measure block
    first: np.ndarray  # (nm + 1,) into coordinate
    coordinate: np.ndarray
    curves: Curves | NoCurves = NO_CURVES


class NoFollowers(NamedTuple):
    """In the place of ``Followers`` where there are none: kernels know nothing of them then."""

    none: np.ndarray  # (0,)


NO_FOLLOWERS = NoFollowers(np.zeros(0, np.int64))


class Followers(NamedTuple):
    """Columns that equal the measures of constraints, as the length of a part of a cable does."""

    column: np.ndarray  # (m,) or NONE


class Constraints(NamedTuple):
    """Constraint equations Phi = measure - follower - theta[target] - law(t), m of them."""

    measure: np.ndarray  # (m,)
    theta: np.ndarray  # (m,) offset of the target
    law: np.ndarray  # (m,) law of time or NONE
    followers: Followers | NoFollowers = NO_FOLLOWERS


class Forces(NamedTuple):
    """Force elements, nf of them."""

    kind: np.ndarray  # (nf,) codes.Force
    measure: np.ndarray  # (nf,) for ALONG_MEASURE, else NONE
    pair: np.ndarray  # (nf,) (GROUND, body) for all others, else NONE
    axes: np.ndarray  # (nf,) codes.Axes; along a measure NONE where it is the rate of a state, which does no work
    law: np.ndarray  # (nf, 9) laws of time, elongation and rate, or NONE; of a tyre the height of its road; of a
    # bushing, from ``BUSHING_LAWS`` on, those of six directions
    theta: np.ndarray  # (nf,)


class Laws(NamedTuple):
    """Terms of laws, nl of them; a law is the sum of a term and of those that follow it by ``next``."""

    kind: np.ndarray  # (nl,) codes.Law
    theta: np.ndarray  # (nl,) offset of the coefficients
    count: np.ndarray  # (nl,) number of coefficients (SPLINE: of breakpoints; SINE_POWER: the power)
    window: np.ndarray  # (nl,) offset of the window outside of which the term is zero, or NONE
    next: np.ndarray  # (nl,) next term of the sum, or NONE


class Sensors(NamedTuple):
    """Sensors; sensor s fills rows first[s] .. first[s + 1] - 1 of the record."""

    kind: np.ndarray  # (ns,) codes.Sensor
    body: np.ndarray  # (ns,) body, or NONE; of a contact of several elements how many follow the first
    index: np.ndarray  # (ns,) coordinate, measure, force element or constraint that is read; ALONG: body that
    # carries the direction; ATTITUDE: codes.Attitude; STRAIN_ENERGY: number of the flexible body
    order: np.ndarray  # (ns,) time derivative read: 0, 1, 2; TYRE: codes.TyreQuantity
    theta: np.ndarray  # (ns,) offset of the sensor block
    first: np.ndarray  # (ns + 1,)


class Signals(NamedTuple):
    """Expressions of the motion that forces are made of, nu of them, as tapes; see ``kernels/elements/tape.py``.

    The places of a tape hold g and g' of the measure that its force acts along, t, the inputs, the numbers, and what
    each step gives. Inputs are rows of a record that sensors of their own fill.
    """

    of_force: (
        np.ndarray
    )  # (nf, 3) signal that is added to each component of a force, or NONE; along a measure the first
    measure: np.ndarray  # (nu,) measure that its force acts along, or NONE
    offset: np.ndarray  # (nu,) its first place among those of all signals
    numbers: np.ndarray  # (nu,) place of the first number, from its first place on
    theta: np.ndarray  # (nu,) offset of the numbers
    first_step: np.ndarray  # (nu + 1,) into code and operand
    steps: np.ndarray  # (nu,) place of the first step
    result: np.ndarray  # (nu,) place of the value
    code: np.ndarray  # codes.Operation
    operand: np.ndarray  # (steps, 3) places; of LAW the argument, then the law
    first_input: np.ndarray  # (nu + 1,) into input
    input: np.ndarray  # rows of the record of inputs
    kind: np.ndarray  # the sensors that fill this record, as ``Sensors``
    body: np.ndarray
    index: np.ndarray
    order: np.ndarray
    sensor_theta: np.ndarray
    row: np.ndarray
    bodies: np.ndarray  # bodies whose motion they read
    none: np.ndarray  # (0,)


class LoadedSignals(Signals):
    """Expressions some of which read multipliers: the equations of motion are implicit in these.

    Kernels choose by this type, so that models without such forces pay nothing.
    """

    __slots__ = ()


class NoSignals(NamedTuple):
    """In the place of ``Signals`` where no force reads an expression: kernels know nothing of them then."""

    none: np.ndarray  # (0,)


NO_SIGNALS = NoSignals(np.zeros(0, np.int64))


@cache
def elements_type(families: tuple[str, ...]) -> Any:
    """A type that says which elements kernels know of: those that there are among the forces, and few others.

    ``families`` are those of ``codes.ELEMENTS``.
    """
    kind: Any = namedtuple(f"Elements_{'_'.join(families)}", ("none",), module=__name__)  # type: ignore[misc]
    kind.families = families
    return kind


def __getattr__(name: str) -> Any:
    if name.startswith("Elements_"):  # as pickle looks for it
        return elements_type(tuple(filter(None, name.split("_")[1:])))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


NO_ELEMENTS = elements_type(())(np.zeros(0, np.int64))


class Reactions(NamedTuple):
    """Reactions that sensors read, nr of them: force and moment at a point, on one of the bodies that are joined.

    The equations are those of the model that reactions are read of (``problem.Reacting``). Not part of ``Model``: where
    nothing reads reactions, no kernel knows of them.
    """

    joint: np.ndarray  # (nr,) body whose tree joint's whole force is read, or NONE
    column_body: np.ndarray  # (nr,) body whose columns take part, or NONE
    sign: np.ndarray  # (nr,) of these two: 1 on the body that the joint carries, -1 on its parent
    first: np.ndarray  # (nr + 1,) into equation and equation_sign
    equation: np.ndarray  # equations whose force is added
    equation_sign: np.ndarray  # of geometric ones: 1 on body b of the pair, -1 on body a
    point_body: np.ndarray  # (nr,) body that carries the point
    axes_body: np.ndarray  # (nr,) body that carries the axes of force and moment
    theta: np.ndarray  # (nr,) offset of the block: point (3) in body axes, axes (9, by rows) in body axes


class Armatures(NamedTuple):
    """Inertias that coordinates have of their own, beside those of bodies; those of states hold no energy."""

    coordinate: np.ndarray  # (na,) column
    theta: np.ndarray  # (na,) offset of the inertia
    stored: np.ndarray  # (na,) 1 where the rate has kinetic energy, 0 of a state


NO_ARMATURES = Armatures(*(np.zeros(0, np.int64) for _ in range(3)))


class Model(NamedTuple):
    """A multibody system without its numbers."""

    tree: Tree  # or FlexibleTree, Natural, FlexibleNatural
    pairs: Pairs
    measures: Measures
    constraints: Constraints
    forces: Forces
    laws: Laws
    sensors: Sensors
    armatures: Armatures = NO_ARMATURES
    signals: Signals | NoSignals = NO_SIGNALS
    elements: Any = NO_ELEMENTS  # of ``elements_type``, as ``freeze`` finds them


def freeze(model: Model) -> Model:
    """Return the model with every array contiguous, typed and read-only, as the kernels require."""
    found = EVERYWHERE.union(family for kind, family in ELEMENTS.items() if kind in model.forces.kind)
    known = found if found.isdisjoint(TOGETHER) else found | TOGETHER
    families = tuple(family for family in dict.fromkeys(ELEMENTS.values()) if family in known)
    model = model._replace(elements=elements_type(families)(NO_ELEMENTS.none))

    def fixed(part: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*map(fixed, part))
        array = np.asarray(part)
        kind = np.float64 if array.dtype.kind == "f" else np.int64
        copy = np.array(array, dtype=kind, order="C")
        copy.flags.writeable = False
        return copy

    return fixed(model)


# Names of everything that stands by number in ``Model``.


@dataclass(frozen=True)
class Names:
    """Names in the order of the arrays of ``Model``; units as printed in results."""

    bodies: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()  # tree joint of each body
    coordinates: tuple[str, ...] = ()  # "joint.angle"
    coordinate_units: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()  # "joint.equation"
    constraint_units: tuple[str, ...] = ()  # of the equations: those of their multipliers follow
    forces: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()
    sensor_units: tuple[str | tuple[str, ...], ...] = ()  # one for all components, or one for each
    sensor_components: tuple[tuple[str, ...], ...] = ()  # labels of what each sensor gives
    parameters: tuple[str, ...] = ()
    parameter_units: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()  # equations that hold whatever the coordinates are
    undefined: Mapping[str, str] = field(default_factory=dict)  # why parameters give no derivative
    expressions: Mapping[tuple[int, int], str] = field(
        default_factory=dict
    )  # place in the file, by force and component

    def equation(self, number: int) -> str:
        """Name of an equation by its number from 1: of the constraints, then of the identities."""
        return (*self.constraints, *self.identities)[number - 1]
