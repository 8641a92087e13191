"""Bodies and elements with random numbers, collected for ``models.Builder``."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import JOINT_COLUMNS, TYRES, Axes, Column, Force, Joint, Measure, Sensor
from mbsim_cli.model.layout import APART, GROUND, NONE, STARTS_NEAR, Laws
from tests.kernels.geometry import joint_motion, measure, poses, rotation
from tests.kernels.textbook_laws import LAW_COUNTS, LAW_NUMBERS, law_start

XYZ = ("x", "y", "z")
MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
MEASURE_ENTRIES = tuple(f"{vector}.{c}" for vector in ("p_a", "p_b", "u_a", "u_b", "n_a") for c in XYZ)
USED_ENTRIES = {
    Measure.PROJECTION: ("p_a", "p_b", "u_a"),
    Measure.DOT: ("u_a", "u_b"),
    Measure.DISTANCE: ("p_a", "p_b"),
    Measure.ANGLE: ("u_a", "u_b", "n_a"),
}
TYRE_ENTRIES = (
    *(f"{vector}.{c}" for vector in ("center", "axis") for c in XYZ),
    *("radius", "stiffness", "damping", "onset", "friction", "slip_x", "slip_y", "B", "C", "slow"),
)
CONTACT_ENTRIES = (
    *(f"{vector}.{c}" for vector in ("center", "axis", "point", "normal") for c in XYZ),
    *("radius", "other_radius", "stiffness", "exponent", "dissipation", "dynamic", "static", "stribeck"),
    *("rim", "half", "damping", "depth"),
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


class Elements:
    """Collects bodies and elements; every number gets a name ``kind:entry`` for the loops of the tests."""

    def __init__(self, seed=0, gravity=(1.1, -2.3, -9.2)):
        self.rng = np.random.default_rng(seed)
        self.theta, self.names = [], []
        self.bodies, self.pairs = [], []
        self.z, self.zd, self.kinds = [], [], []
        self.measures, self.equations, self.forces, self.laws, self.sensors = [], [], [], [], []
        self.armatures = []
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

    def armature(self, coordinate, stored=1):
        """An inertia of a coordinate itself."""
        self.armatures.append(
            (coordinate, self.numbers("armature", ["inertia"], self.rng.uniform(0.3, 0.9, 1)), stored)
        )

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
            if kind == Measure.DISTANCE:
                block[APART] = 0.0  # which nothing varies
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
        entries = [f"{vector}.{c}" for vector in ("point", "unused", "air") for c in XYZ] + ["coefficient"]
        numbers = [*self.vector(0.3), 0.0, 0.0, 0.0, *self.vector(0.5), 0.7]
        offset = self.numbers(f"drag {len(self.forces)}", entries, numbers)
        pair = self.pair(GROUND, body)
        self.forces.append((Force.DRAG, NONE, pair, Axes.GLOBAL, (NONE, NONE, NONE), offset))
        return len(self.forces) - 1

    def wing(self, body):
        """A wing of a body; return its number."""
        entries = [f"{vector}.{c}" for vector in ("point", "normal", "air") for c in XYZ] + ["drag", "lift"]
        offset = self.numbers(
            f"wing {len(self.forces)}", entries, [*self.vector(0.3), *self.unit(), *self.vector(), 0.1, 0.6]
        )
        self.forces.append((Force.WING, NONE, self.pair(GROUND, body), Axes.GLOBAL, (NONE, NONE, NONE), offset))
        return len(self.forces) - 1

    def contact(self, kind, first, second, penetration=0.05):
        """A sphere of the second body in contact with a plane or sphere of the first; return its number."""
        (Ra, ra), (Rb, rb) = self.pose(first), self.pose(second)
        center, other = self.vector(0.2), self.vector(0.2)
        d = rb + Rb @ center - ra - Ra @ other
        normal = self.unit()
        axis, half, on_plane = self.unit(), 0.05, kind == Force.SPHERE_ON_PLANE
        height = normal @ Ra.T @ d
        if on_plane and height < 0.0:
            normal, height = -normal, -height
        rim = 0.1 * height if on_plane else 0.0
        gap = height - rim * np.linalg.norm(np.cross(Ra @ normal, Rb @ axis))
        if not on_plane:
            gap = np.linalg.norm(d - np.clip(height, -half, half) * (Ra @ normal))
        radius = 0.0 if on_plane else 0.1
        numbers = [gap + penetration - radius, radius, 40.0, 1.7, 0.2, 0.5, 0.7, 0.3, rim, half, 0.4, 0.08]
        offset = self.numbers(
            f"{kind.name.lower()} {len(self.forces)}", CONTACT_ENTRIES, [*center, *axis, *other, *normal, *numbers]
        )
        self.forces.append((kind, NONE, self.pair(first, second), Axes.GLOBAL, (NONE, NONE, NONE), offset))
        return len(self.forces) - 1

    def sphere_on_road(self, body, road, penetration=0.05):
        """A sphere pressed on a road law; return its number."""
        (R, r), point = self.pose(body), self.vector(0.2)
        x, _, z = r + R @ point
        unused = np.zeros(9)
        numbers = [z - self.law_at(road, x) + penetration, 0.0, 40.0, 1.7, 0.2, 0.5, 0.7, 0.3, 0.0, 0.0, 0.4, 0.08]
        offset = self.numbers(f"sphere on road {len(self.forces)}", CONTACT_ENTRIES, [*point, *unused, *numbers])
        pair = self.pair(GROUND, body)
        self.forces.append((Force.SPHERE_ON_ROAD, NONE, pair, Axes.GLOBAL, (road, NONE, NONE), offset))
        return len(self.forces) - 1

    def bushing(self, first, second, laws=(NONE,) * 6):
        """A bushing between two bodies, near its natural place; return its number."""
        (Ra, ra), (Rb, rb) = self.pose(first), self.pose(second)
        p_b, R_a = self.vector(0.2), self.turn()
        p_a = Ra.T @ (rb + Rb @ p_b - ra) + self.vector(0.05)
        R_b = Rb.T @ Ra @ R_a @ rotation(self.unit(), 0.4)
        half = self.rng.normal(size=(2, 6, 6))
        upper = np.triu_indices(6)
        K, C = (scale * (np.eye(6) + 0.1 * each @ each.T) for scale, each in zip((20.0, 0.5), half, strict=True))
        numbers = [*p_b, *R_b.T.ravel(), *p_a, *R_a.T.ravel(), *self.vector(0.05), *self.vector(0.1)]
        numbers += [*self.vector(), *self.vector(0.3), *K[upper], *C[upper]]
        entries = [f"{name}.{c}" for side in "ba" for name in (f"p_{side}", *(f"{x}_{side}" for x in XYZ)) for c in XYZ]
        entries += [f"{name} {k}" for name in ("natural", "preload") for k in range(6)]
        entries += [f"{name} {k}" for name in ("K", "C") for k in range(21)]
        offset = self.numbers(f"bushing {len(self.forces)}", entries, numbers)
        row = (NONE, NONE, NONE, *laws)
        self.forces.append((Force.BUSHING, NONE, self.pair(first, second), Axes.GLOBAL, row, offset))
        return len(self.forces) - 1

    def law_at(self, k, x):
        """Value of a law without windows, from the kernel as plain Python."""
        columns = [np.array(column) for column in zip(*self.laws, strict=True)]
        return law_value(Laws(*columns), np.array(self.theta), k, x)[0]

    def sensor(self, kind, body=NONE, index=NONE, order=0):
        """A sensor."""
        entries = (*XYZ, *(f"along.{c}" for c in XYZ)) if kind == Sensor.ALONG else XYZ
        values = np.concatenate([self.vector() for _ in range(len(entries) // 3)])
        offset = self.numbers(f"sensor {kind.name.lower()} {len(self.sensors)}", entries, values)
        self.sensors.append((kind, body, index, order, offset))
