"""A builder of problems directly on the data contract, with random numbers, and the names of all its numbers."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from mbsim_cli.assembly.laws import law_at
from mbsim_cli.model.codes import (
    JOINT_COLUMNS,
    SENSOR_WIDTH,
    TYRES,
    Attitude,
    Axes,
    Column,
    Force,
    Joint,
    Law,
    Measure,
    Sensor,
    TyreQuantity,
)
from mbsim_cli.model.layout import (
    GROUND,
    NONE,
    R_C,
    R_P,
    STARTS_NEAR,
    Constraints,
    Forces,
    Laws,
    Measures,
    Model,
    Pairs,
    Sensors,
    Tree,
    freeze,
)
from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Options, Problem
from tests.kernels.geometry import joint_motion, measure, poses, rotation, skew

XYZ = ("x", "y", "z")
MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
MEASURE_ENTRIES = tuple(f"{vector}.{c}" for vector in ("p_a", "p_b", "u_a", "u_b", "n_a") for c in XYZ)
USED_ENTRIES = {
    Measure.PROJECTION: ("p_a", "p_b", "u_a"),
    Measure.DOT: ("u_a", "u_b"),
    Measure.DISTANCE: ("p_a", "p_b"),
    Measure.ANGLE: ("u_a", "u_b", "n_a"),
}
KNOTS = np.array([-6.0, -0.7, 0.00013, 0.1, 0.8, 6.0])
HEIGHTS = 0.4 * KNOTS + 0.3 * np.sin(KNOTS + 0.2)


def spline_numbers(knots, heights):
    """Coefficients of a cubic spline as a law stores them."""
    return (*knots, *CubicSpline(knots, heights).c.T.ravel())


LAW_NUMBERS = {  # rising, so that no force drives itself, with variety around 0 .. 0.1
    Law.CONSTANT: (0.7,),
    Law.POLYNOMIAL: (0.3, 0.8, 0.2, 0.1),
    Law.HARMONIC: (0.4, 0.1, 7.0, 0.3),
    Law.SMOOTH_STEP: (-0.02, 0.17, 0.3, 0.9),
    Law.SPLINE: spline_numbers(KNOTS, HEIGHTS),
    Law.SINE_POWER: (0.4, 0.2, 7.0, 0.4),
    Law.ONE_SIDED: (-0.03, 0.12, 0.9),
}
LAW_COUNTS = {Law.SPLINE: len(KNOTS), Law.SINE_POWER: 3}  # where it is not the number of coefficients
TYRE_ENTRIES = (
    *(f"{vector}.{c}" for vector in ("center", "axis") for c in XYZ),
    *("radius", "stiffness", "damping", "onset", "friction", "slip_x", "slip_y", "B", "C", "slow"),
)
# equations of cut joints: (measure, axis on a, axis on b), axes 0, 1, 2; see docs/theory/assembly.md
_POINT = tuple((Measure.PROJECTION, k, 0) for k in range(3))
_LINE = _POINT[:2]
_PARALLEL = ((Measure.DOT, 0, 2), (Measure.DOT, 1, 2))
_NO_TURN = (Measure.DOT, 0, 1)
CUT_EQUATIONS = {
    Joint.FIXED: (*_POINT, *_PARALLEL, _NO_TURN),
    Joint.REVOLUTE: (*_POINT, *_PARALLEL),
    Joint.PRISMATIC: (*_LINE, *_PARALLEL, _NO_TURN),
    Joint.UNIVERSAL: (*_POINT, (Measure.DOT, 2, 0)),
    Joint.CYLINDRICAL: (*_LINE, *_PARALLEL),
    Joint.SPHERICAL: _POINT,
    Joint.FLOATING: (),
    Joint.PLANAR: (_POINT[2], *_PARALLEL),
}


@dataclass(frozen=True)
class Body:
    """A body and the tree joint that carries it."""

    joint: Joint
    parent: int
    first: int
    theta: int


class Builder:
    """Collects bodies and elements; every number gets a name ``kind:entry`` for the loops of the tests."""

    def __init__(self, seed=0, gravity=(1.1, -2.3, -9.2)):
        self.rng = np.random.default_rng(seed)
        self.theta, self.names = [], []
        self.bodies, self.pairs = [], []
        self.z, self.zd, self.kinds = [], [], []
        self.measures, self.equations, self.forces, self.laws, self.sensors = [], [], [], [], []
        self.initial = None
        self.numbers("gravity", XYZ, gravity)

    def numbers(self, kind, entries, values):
        """Append a block of theta; return its offset."""
        offset = len(self.theta)
        self.theta += [float(value) for value in values]
        self.names += [f"{kind}:{entry}" for entry in entries]
        return offset

    def vector(self, scale=1.0):
        """Three random numbers."""
        return scale * self.rng.normal(size=3)

    def unit(self):
        """A random direction."""
        a = self.rng.normal(size=3)
        return a / np.linalg.norm(a)

    def turn(self):
        """A random rotation matrix."""
        return rotation(self.unit(), self.rng.uniform(0.3, 2.5))

    # bodies

    def body(self, joint, parent=GROUND, *, massless=False, frames=None):
        """Add a body on a tree joint with random frames on both sides; return its number."""
        rng, name = self.rng, f"tree {joint.name.lower()} {len(self.bodies)}"
        p_P, R_P_, p_C, R_C_ = frames or (self.vector(0.5), self.turn(), self.vector(0.4), self.turn())
        half = rng.normal(size=(3, 3))
        J = 0.05 * np.eye(3) + 0.03 * half @ half.T
        inertia = np.concatenate(
            [[rng.uniform(0.5, 2)], self.vector(0.2), J[np.diag_indices(3)], J[[0, 0, 1], [1, 2, 2]]]
        )
        if massless:
            inertia *= 0
        R_names = [f"{row}{column}" for row in XYZ for column in XYZ]
        entries = [f"p_P.{c}" for c in XYZ] + [f"R_P.{c}" for c in R_names]
        entries += [f"p_C.{c}" for c in XYZ] + [f"R_C.{c}" for c in R_names]
        entries += ["mass", *(f"com.{c}" for c in XYZ), *(f"inertia.{c}" for c in MOMENTS)]
        offset = self.numbers(name, entries, [*p_P, *R_P_.flat, *p_C, *R_C_.flat, *inertia])
        self.bodies.append(Body(joint, parent, len(self.z), offset))
        z, zd = self.joint_state(joint)
        self.z += list(z)
        self.zd += list(zd)
        self.kinds += JOINT_COLUMNS[joint]
        if Column.EULER_0 in JOINT_COLUMNS[joint]:
            self.euler_norm(self.bodies[-1])
        return len(self.bodies) - 1

    def joint_state(self, joint):
        """Random coordinates and rates; unit Euler parameters."""
        n = len(JOINT_COLUMNS[joint])
        z, zd = self.rng.uniform(-0.8, 0.8, n), self.rng.uniform(-0.6, 0.6, n)
        if Column.EULER_0 in JOINT_COLUMNS[joint]:
            z[-4:] += (0.7, 0, 0, 0)
            z[-4:] /= np.linalg.norm(z[-4:])
            zd[-4:] -= z[-4:] * (z[-4:] @ zd[-4:])
        return z, zd

    def euler_norm(self, body):
        """The norm equation of the body's Euler parameters."""
        first = body.first + JOINT_COLUMNS[body.joint].index(Column.EULER_0)
        self.measures.append((Measure.EULER_NORM, NONE, len(self.theta), tuple(range(first, first + 4))))
        self.constraint(len(self.measures) - 1)

    def pair(self, a, b):
        """Number of the pair (a, b)."""
        if (a, b) not in self.pairs:
            self.pairs.append((a, b))
        return self.pairs.index((a, b))

    def path(self, a, b):
        """Columns between two bodies with their signs, as ``layout.Pairs`` orders them."""
        up_a, up_b = self._columns_up(a), self._columns_up(b)
        common = set(up_a) & set(up_b)
        return [(c, 1) for c in up_b if c not in common] + [(c, -1) for c in up_a if c not in common]

    def _columns_up(self, body):
        columns = []
        while body != GROUND:
            first, size = self.bodies[body].first, len(JOINT_COLUMNS[self.bodies[body].joint])
            columns += reversed(range(first, first + size))
            body = self.bodies[body].parent
        return columns

    # measures

    def pose(self, body):
        """Pose of a body at the initial coordinates."""
        return poses(self, np.array(self.theta), np.array(self.z))[body]

    def geometric(self, kind, a, b, block=None, name="measure"):
        """A measure between bodies, with random points and directions; return its number."""
        if block is None:
            u, n = self.unit(), self.unit()
            if kind == Measure.ANGLE:
                n = np.cross(u, n) / np.linalg.norm(np.cross(u, n))
            block = np.concatenate([self.vector(), self.vector(), u, self.unit(), n])
            if kind == Measure.ANGLE:
                block[STARTS_NEAR] = 0.0
        offset = self.numbers(f"{name} {kind.name.lower()} {len(self.measures)}", MEASURE_ENTRIES, block)
        self.measures.append((kind, self.pair(a, b), offset, ()))
        return len(self.measures) - 1

    def coordinates(self, columns, coefficients=None):
        """A measure of coordinates with random coefficients; return its number."""
        values = self.rng.uniform(0.5, 1.5, len(columns)) if coefficients is None else coefficients
        entries = [f"coefficient {k}" for k in range(len(columns))]
        offset = self.numbers(f"measure coordinates {len(self.measures)}", entries, values)
        self.measures.append((Measure.COORDINATES, NONE, offset, tuple(columns)))
        return len(self.measures) - 1

    def value(self, k):
        """Value of measure k at the initial coordinates."""
        kind, pair, offset, columns = self.measures[k]
        z = np.array(self.z)[list(columns)]
        if kind == Measure.EULER_NORM:
            return z @ z
        if kind == Measure.COORDINATES:
            return z @ np.array(self.theta[offset : offset + len(columns)])
        a, b = self.pairs[pair]
        return measure(kind, np.array(self.theta[offset : offset + 15]), self.pose(a), self.pose(b))

    # elements

    def law(self, kind, window=None):
        """A law, in a window or everywhere; return its number."""
        values, start = LAW_NUMBERS[kind], NONE
        if window is not None:
            start = self.numbers(f"window {len(self.laws)}", ("start", "end"), window)
        offset = self.numbers(f"law {kind.name.lower()} {len(self.laws)}", range(len(values)), values)
        self.laws.append((kind, offset, LAW_COUNTS.get(kind, len(values)), start, NONE))
        return len(self.laws) - 1

    def sum(self, *windowed):
        """The sum of laws given as (kind, window); return its number."""
        first = len(self.laws)
        for kind, window in windowed:
            self.law(kind, window)
        for k in range(first, len(self.laws) - 1):
            self.laws[k] = (*self.laws[k][:4], k + 1)
        return first

    def constraint(self, measure, law=NONE):
        """A constraint that the initial coordinates satisfy; return its number."""
        start = 0.0 if law == NONE else law_start(self.laws[law][0])
        kind = self.measures[measure][0].name.lower()
        offset = self.numbers(f"constraint {kind} {len(self.equations)}", ("target",), [self.value(measure) - start])
        self.equations.append((measure, offset, law))
        return len(self.equations) - 1

    def cut(self, joint, a, b, *, turn=None, state=None):
        """Close a loop by a joint between frames that fit the initial pose; return its constraints."""
        (Ra, ra), (Rb, rb) = self.pose(a), self.pose(b)
        p_a, frame_a = self.vector(0.5), self.turn() if turn is None else Ra.T @ turn
        d, J = joint_motion(joint, self.joint_state(joint)[0] if state is None else state)
        p_b = Rb.T @ (ra + Ra @ (p_a + frame_a @ d) - rb)
        frame_b = Rb.T @ Ra @ frame_a @ J
        found = []
        for kind, i, j in CUT_EQUATIONS[joint]:
            n = frame_a[:, (i + 1) % 3]
            block = np.concatenate([p_a, p_b, frame_a[:, i], frame_b[:, j], n])
            found.append(self.constraint(self.geometric(kind, a, b, block, f"cut {joint.name.lower()}")))
        return found

    def along(self, measure, laws=(NONE, NONE, NONE)):
        """A force along a measure, with laws of time, elongation and rate; return its number."""
        rng = self.rng
        values = [rng.uniform(20, 60), rng.uniform(0.5, 2), self.value(measure) - rng.uniform(0.05, 0.15), rng.normal()]
        entries = ("stiffness", "damping", "natural", "constant")
        kind = self.measures[measure][0].name.lower()
        offset = self.numbers(f"force along {kind} {len(self.forces)}", entries, values)
        self.forces.append((Force.ALONG_MEASURE, measure, NONE, Axes.GLOBAL, laws, offset))
        return len(self.forces) - 1

    def applied(self, kind, body, axes, law=NONE):
        """An applied force or torque; return its number."""
        entries = [f"point.{c}" for c in XYZ] + [f"vector.{c}" for c in XYZ]
        name = f"{kind.name.lower()} {axes.name.lower()} {len(self.forces)}"
        offset = self.numbers(name, entries, [*self.vector(0.5), *self.vector(4.0)])
        self.forces.append((kind, NONE, self.pair(GROUND, body), axes, (law, NONE, NONE), offset))
        return len(self.forces) - 1

    def tyre(self, kind, body, road, deflection=0.05):
        """A tyre pressed on a road law; return its number. Soft, and with wide onsets: so every number counts."""
        (R, r), point = self.pose(body), self.vector(0.2)
        radius = (r + R @ point)[2] + deflection - self.law_at(road, (r + R @ point)[0])
        numbers = [
            radius,
            40.0,
            2.0,
            0.04,
            0.8,
            *((1.0, 1.0, 3.0, 1.4) if kind == TYRES[0] else (5.0, 4.0, 0.0, 0.0)),
            0.5,
        ]
        name = f"{kind.name.lower()} {len(self.forces)}"
        offset = self.numbers(name, TYRE_ENTRIES, [*point, *self.unit(), *numbers])
        self.forces.append((kind, NONE, self.pair(GROUND, body), Axes.GLOBAL, (road, NONE, NONE), offset))
        return len(self.forces) - 1

    def drag(self, body):
        """Drag at a point of a body; return its number."""
        entries = [*(f"point.{c}" for c in XYZ), *(f"air.{c}" for c in XYZ), "coefficient"]
        offset = self.numbers(f"drag {len(self.forces)}", entries, [*self.vector(0.3), *self.vector(0.5), 0.7])
        pair = self.pair(GROUND, body)
        self.forces.append((Force.DRAG, NONE, pair, Axes.GLOBAL, (NONE, NONE, NONE), offset))
        return len(self.forces) - 1

    def law_at(self, k, x):
        """Value of a law without windows, from the kernel's twin in the assembly."""
        columns = [np.array(column) for column in zip(*self.laws, strict=True)]
        return law_at(Laws(*columns), self.theta, k, x)

    def sensor(self, kind, body=NONE, index=NONE, order=0):
        """A sensor."""
        entries = (*XYZ, *(f"along.{c}" for c in XYZ)) if kind == Sensor.ALONG else XYZ
        values = np.concatenate([self.vector() for _ in range(len(entries) // 3)])
        offset = self.numbers(f"sensor {kind.name.lower()} {len(self.sensors)}", entries, values)
        self.sensors.append((kind, body, index, order, offset))

    def tyres(self):
        """Numbers of the tyres."""
        return [k for k, force in enumerate(self.forces) if force[0] in TYRES]

    def sensor_of_force(self, k):
        """Kind of the sensor that reads a force."""
        return Sensor.FORCE if self.forces[k][0] == Force.ALONG_MEASURE else Sensor.FORCE_ON_BODY

    def every_sensor(self):
        """One sensor of each kind and order."""
        last, n = len(self.bodies) - 1, len(self.z)
        for kind in Sensor:
            if SENSOR_WIDTH[kind] == 3 and kind != Sensor.FORCE_ON_BODY:
                self.sensor(kind, body=last)
        for order in range(3):
            self.sensor(Sensor.COORDINATE, index=n // 2, order=order)
            for k in range(len(self.measures)):
                self.sensor(Sensor.MEASURE, index=k, order=order)
        for k in range(len(self.forces)):
            self.sensor(self.sensor_of_force(k), index=k)
        for k in range(len(self.equations)):
            self.sensor(Sensor.MULTIPLIER, index=k)
        self.sensor(Sensor.KINETIC_ENERGY)
        self.sensor(Sensor.POTENTIAL_ENERGY)
        self.sensor(Sensor.ALONG, last, 0, 2)
        for angle in Attitude:
            self.sensor(Sensor.ATTITUDE, last, angle, 1)
        for k in self.tyres():
            self.sensor(Sensor.TYRE, index=k, order=TyreQuantity.NORMAL_LOAD)

    # the problem

    def model(self, initial):
        """The model, frozen."""
        tree = Tree(
            np.array([body.parent for body in self.bodies]),
            np.array([*(body.first for body in self.bodies), len(self.z)]),
            np.array(self.kinds),
            np.array([i for i, body in enumerate(self.bodies) for _ in JOINT_COLUMNS[body.joint]]),
            np.array([body.theta for body in self.bodies]),
            np.array([initial]),
        )
        width = [SENSOR_WIDTH[sensor[0]] for sensor in self.sensors]
        listed = [len(measure[3]) for measure in self.measures]
        model = Model(
            tree,
            self._pairs(),
            Measures(*table(self.measures, 4)[:3], offsets(listed), ints(c for row in self.measures for c in row[3])),
            Constraints(*table(self.equations, 3)),
            Forces(
                *table(self.forces, 4), ints(f[4] for f in self.forces).reshape(-1, 3), ints(f[5] for f in self.forces)
            ),
            Laws(*table(self.laws, 5)),
            Sensors(*table(self.sensors, 5), offsets(width)),
        )
        return freeze(model)

    def _pairs(self):
        paths = [self.path(a, b) for a, b in self.pairs]
        flat = [entry for path in paths for entry in path]
        return Pairs(*table(self.pairs, 2), offsets([len(path) for path in paths]), *table(flat, 2))

    def problem(self, **options):
        """The finished problem, with no directions of differentiation yet."""
        n = len(self.z)
        columns = [Column(kind).name.lower() for kind in self.kinds]
        if self.initial is None:
            self.initial = self.numbers("initial position", [f"{k} {c}" for k, c in enumerate(columns)], self.z)
            self.numbers("initial velocity", [f"{k} {c}" for k, c in enumerate(columns)], self.zd)
        model = self.model(self.initial)
        names = Names(constraints=tuple(self.names[equation[1]] for equation in self.equations))
        none = np.zeros(n, bool)
        theta = np.array(self.theta)
        return Problem(model, names, theta, np.zeros((theta.size, 0)), none, none, options=Options(**options))

    def directions(self):
        """All directions of differentiation, {name: (len(theta),)}: numbers one by one, joint frames by small turns."""
        frames = {body.theta + side + k: (body, side) for body in self.bodies for side in (R_P, R_C) for k in range(9)}
        splines = {law[1] + k for law in self.laws if law[0] == Law.SPLINE for k in range(5 * law[2] - 4)}
        splines |= {law[3] + k for law in self.laws if law[3] != NONE for k in range(2)}  # no derivative there either
        found = {}
        for index, name in enumerate(self.names):
            if index not in frames and index not in splines:
                found[name] = self.direction(index)
        for kind, offset, count, *_ in self.laws:
            if kind == Law.SPLINE:
                found |= self.spline_directions(offset, count)
        for body, side in dict.fromkeys(frames.values()):
            span = slice(body.theta + side, body.theta + side + 9)
            R = np.array(self.theta[span]).reshape(3, 3)
            kind, entry = self.names[span.start].split(":")
            for k, axis in enumerate(np.eye(3)):
                direction = np.zeros(len(self.theta))
                direction[span] = (R @ skew(axis)).ravel()
                found[f"{kind}:{entry[:3]} turn {XYZ[k]}"] = direction
        return found

    def direction(self, index, values=(1.0,)):
        """Direction that varies the numbers from ``index`` on."""
        found = np.zeros(len(self.theta))
        found[index : index + len(values)] = values
        return found

    def spline_directions(self, offset, count):
        """Variations of a spline that keep it smooth: each height, and each knot moved along the curve."""
        knots = np.array(self.theta[offset : offset + count])
        name, found = self.names[offset].split(":")[0], {}
        for k, one in enumerate(np.eye(count)):
            varied = np.array(spline_numbers(knots, one))
            varied[:count] = 0.0
            found[f"{name}:height {k}"] = self.direction(offset, varied)
            found[f"{name}:knot {k}"] = self.direction(offset + k)
            if k < count - 1:
                a, b, c, _ = self.theta[offset + count + 4 * k : offset + count + 4 * k + 4]
                found[f"{name}:knot {k}"] += self.direction(offset + count + 4 * k, (0.0, 3 * a, 2 * b, c))
        return found


def law_start(kind):
    """Value of a law of ``LAW_NUMBERS`` at t = 0, from the textbook."""
    return textbook_laws(0.0)[kind]


def textbook_laws(x):
    """Values of the laws of ``LAW_NUMBERS``."""
    c = LAW_NUMBERS
    first, last, low, high = c[Law.SMOOTH_STEP]
    s = np.clip((x - first) / (last - first), 0, 1)
    start, onset, slope = c[Law.ONE_SIDED]
    beyond = np.clip((x - start) / onset, 0, 1)

    def sine(offset, amplitude, omega, phase):
        return offset, amplitude, np.sin(omega * x + phase)

    offset, amplitude, plain = sine(*c[Law.HARMONIC])
    offset3, amplitude3, cubed = sine(*c[Law.SINE_POWER])
    return {
        Law.CONSTANT: c[Law.CONSTANT][0],
        Law.POLYNOMIAL: np.polyval(c[Law.POLYNOMIAL][::-1], x),
        Law.HARMONIC: offset + amplitude * plain,
        Law.SMOOTH_STEP: low + (high - low) * (10 * s**3 - 15 * s**4 + 6 * s**5),
        Law.SPLINE: CubicSpline(KNOTS, HEIGHTS)(x),
        Law.SINE_POWER: offset3 + amplitude3 * cubed**3,
        Law.ONE_SIDED: slope * onset * (beyond**3 - beyond**4 / 2) + slope * max(0, x - start - onset),
    }


def ints(values):
    """Integer array."""
    return np.array([int(value) for row in values for value in (row if isinstance(row, tuple) else (row,))], np.int64)


def offsets(sizes):
    """First entries of consecutive runs."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=int)]).astype(np.int64)


def table(rows, width):
    """The first columns of rows of integers."""
    return [ints(row[k] for row in rows) for k in range(width)]
