"""Trees built straight through the data contract: random ones, chains, and the 43-dof human.

The human is that of Zhakatayev, Rogovchenko and Patzold (2023), tables 1 and 2. Centres of mass and inertias, which the
paper leaves open: half-way along each link, solid cylinders of radius 0.1 L.
"""

from dataclasses import dataclass, field

import numpy as np

from mbsim_cli.model.codes import JOINT_COLUMNS, Axes, Force, Joint, Law
from mbsim_cli.model.layout import (
    GROUND,
    NONE,
    Constraints,
    Forces,
    Laws,
    Measures,
    Model,
    Pairs,
    Sensors,
    Tree,
    freeze,
)  # fmt: skip

_PI_2 = 0.5 * np.pi


@dataclass
class Body:
    """A body and the joint that carries it."""

    parent: int
    columns: tuple[int, ...]
    p_P: np.ndarray = field(default_factory=lambda: np.zeros(3))
    R_P: np.ndarray = field(default_factory=lambda: np.eye(3))
    p_C: np.ndarray = field(default_factory=lambda: np.zeros(3))
    R_C: np.ndarray = field(default_factory=lambda: np.eye(3))
    mass: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros(6))


@dataclass
class Load:
    """A force at a point of a body or a torque; ``harmonic`` holds the coefficients of its law of time."""

    body: int
    kind: Force
    axes: Axes
    point: np.ndarray
    vector: np.ndarray
    harmonic: np.ndarray | None = None


def build(bodies, loads=(), gravity=(0.0, 0.0, -9.81)):
    """Model and theta of a tree."""
    theta = [*gravity]
    offsets, first, kinds, owners = [], [0], [], []
    for i, b in enumerate(bodies):
        offsets.append(len(theta))
        theta += [*b.p_P, *b.R_P.ravel(), *b.p_C, *b.R_C.ravel(), b.mass, *b.center, *b.inertia]
        kinds += [int(c) for c in b.columns]
        owners += [i] * len(b.columns)
        first.append(len(kinds))
    force_theta, law, laws = [], [], []
    for load in loads:
        force_theta.append(len(theta))
        theta += [*load.point, *load.vector]
        law.append([NONE] * 3)
        if load.harmonic is not None:
            law[-1][0] = len(laws)
            laws.append(len(theta))
            theta += [*load.harmonic]
    initial = len(theta)
    theta += [0.0] * (2 * len(kinds))
    paths = [_path(bodies, first, load.body) for load in loads]
    on_path = np.array([column for path in paths for column in path], np.int64)
    e = np.zeros(0, np.int64)
    model = Model(
        Tree(*map(np.array, ([b.parent for b in bodies], first, kinds, owners, offsets, [initial]))),
        Pairs(
            np.full(len(loads), GROUND), np.array([load.body for load in loads], np.int64),
            np.cumsum([0] + [len(p) for p in paths]), on_path, np.ones(on_path.size, np.int64),
        ),
        Measures(e, e, e, np.zeros(1, np.int64), e),
        Constraints(e, e, e),
        Forces(
            np.array([load.kind for load in loads], np.int64), np.full(len(loads), NONE), np.arange(len(loads)),
            np.array([load.axes for load in loads], np.int64), np.array(law, np.int64).reshape(-1, 3),
            np.array(force_theta, np.int64),
        ),
        Laws(
            np.full(len(laws), int(Law.HARMONIC)), np.array(laws, np.int64), np.full(len(laws), 4),
            *np.full((2, len(laws)), NONE),
        ),
        Sensors(e, e, e, e, e, np.zeros(1, np.int64)),
    )  # fmt: skip
    return freeze(model), np.array(theta)


def _path(bodies, first, i):
    columns = []
    while i != GROUND:
        columns += list(range(first[i + 1] - 1, first[i] - 1, -1))
        i = bodies[i].parent
    return columns


def rotation(rng):
    """Random rotation matrix."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


ONE_DOF = (Joint.REVOLUTE, Joint.PRISMATIC, Joint.UNIVERSAL, Joint.CYLINDRICAL, Joint.PLANAR, Joint.FIXED)


def random_bodies(rng, count, joints=ONE_DOF, massless=0.3):
    """Bodies of a random tree, numbered depth first."""
    bodies, branch = [], [GROUND]
    for i in range(count):
        keep = int(rng.integers(max(1, len(branch) - 2), len(branch) + 1))
        parent, branch = branch[keep - 1], [*branch[:keep], i]
        body = Body(
            parent, JOINT_COLUMNS[joints[rng.integers(len(joints))]], 0.5 * rng.normal(size=3), rotation(rng),
            0.5 * rng.normal(size=3), rotation(rng),
        )  # fmt: skip
        if rng.random() > massless:
            body.mass = rng.uniform(0.2, 3.0)
            body.center = 0.3 * rng.normal(size=3)
            body.inertia = _symmetric(rng)
        bodies.append(body)
    return bodies


def _symmetric(rng):
    a = 0.3 * rng.normal(size=(3, 3))
    J = a @ a.T
    J = np.trace(J) * np.eye(3) - J
    return np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])


def random_loads(rng, count, bodies):
    """Forces and torques in both kinds of axes, half of them with laws."""
    return [
        Load(
            int(rng.integers(bodies)), Force(int(rng.integers(1, 3))), Axes(int(rng.integers(2))), rng.normal(size=3),
            10.0 * rng.normal(size=3), rng.normal(size=4) if rng.random() < 0.5 else None,
        )
        for _ in range(count)
    ]  # fmt: skip


def random_motion(rng, count, n):
    """Positions, velocities, accelerations (count, n)."""
    return [rng.normal(size=(count, n)) for _ in range(3)]


def chain_bodies(n):
    """A chain of n equal links with axes that alternate."""
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    inertia = np.array([1e-4, 1e-3, 1e-3, 0.0, 0.0, 0.0])
    return [
        Body(
            i - 1, JOINT_COLUMNS[Joint.REVOLUTE], np.array([0.1 if i else 0.0, 0.0, 0.0]), turn, mass=0.2,
            center=np.array([0.05, 0.0, 0.0]), inertia=inertia,
        )
        for i in range(n)
    ]  # fmt: skip


# Masses (kg) and lengths (m) of links 1 to 20.
_MASS = [4.5, 9.5, 3.7, 1.2, 0.2] * 2 + [12.3] + [5.8, 1.9, 1.3, 0.5] * 2 + [8.0]
_LENGTH = [0.09, 0.44, 0.43, 0.16, 0.06] * 2 + [0.49] + [0.17, 0.28, 0.26, 0.19] * 2 + [0.35]
# Parent row, quarter turns of theta, link in d, link in a (negative: minus its length), quarter turns of alpha.
_ROWS = (
    [(0, 0, 0, 0, -1), (1, 1, 0, 0, -1), (2, 0, 0, 0, 0), (3, 1, 0, 0, -1), (4, 1, 0, 0, -1)]
    + [(5, 0, 0, 1, 1), (6, 0, 0, 0, -1), (7, 1, 0, 0, -1), (8, 0, 0, 2, 0), (9, 0, 0, 3, 0), (10, 0, 0, 0, 1)]
    + [(11, 0, 4, 0, -1), (12, -1, 0, 5, 0)]
    + [(5, 0, 0, -6, 1), (14, 0, 0, 0, -1), (15, 1, 0, 0, -1), (16, 0, 0, 7, 0), (17, 0, 0, 8, 0), (18, 0, 0, 0, 1)]
    + [(19, 0, 9, 0, -1), (20, -1, 0, 10, 0), (5, 1, 0, -11, 0)]
    + [(22, -1, 0, 0, 1), (23, 0, 0, 12, 0), (24, 0, 0, 0, -1), (25, 1, 0, 0, -1), (26, 0, 0, 13, 0)]
    + [(27, -1, 0, 0, -1), (28, 0, 14, 0, 1), (29, 1, 0, 0, 1), (30, 0, 0, 15, 0)]
    + [(22, -1, 0, 0, 1), (32, 0, 0, -16, 0), (33, 0, 0, 0, -1), (34, 1, 0, 0, -1), (35, 0, 0, 17, 0)]
    + [(36, -1, 0, 0, -1), (37, 0, 18, 0, 1), (38, 1, 0, 0, 1), (39, 0, 0, 19, 0)]
    + [(22, -1, 0, 0, 1), (41, 1, 0, 0, -1), (42, 1, 0, -20, 0)]
)


def human_bodies():
    """One body a row; rows 1 to 3 slide, row 3 against its axis."""
    return [_human_body(i, *row) for i, row in enumerate(_ROWS)]


def _human_body(i, parent, theta, d, a, alpha):
    link = abs(d or a)
    length = _LENGTH[link - 1] if link else 0.0
    offset = np.array([np.sign(a) * length if a else 0.0, 0.0, np.sign(d) * length if d else 0.0])
    flip = np.diag([-1.0, 1.0, -1.0]) if i == 2 else np.eye(3)
    c, s = np.cos(alpha * _PI_2), np.sin(alpha * _PI_2)
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    c, s = np.cos(theta * _PI_2), np.sin(theta * _PI_2)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    body = Body(
        parent - 1, JOINT_COLUMNS[Joint.PRISMATIC if i < 3 else Joint.REVOLUTE], R_P=flip, p_C=-tilt.T @ offset,
        R_C=(flip.T @ turn @ tilt).T,
    )  # fmt: skip
    if link:
        m, r = _MASS[link - 1], 0.1 * length
        body.mass, body.center = m, 0.5 * body.p_C
        axis = body.p_C / length
        across = m * (3.0 * r * r + length * length) / 12.0
        J = across * np.eye(3) + (0.5 * m * r * r - across) * np.outer(axis, axis)
        body.inertia = np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    return body


def foot_loads():
    """The loaded case: a force at a local point and a torque, in global axes, on links 31 and 40."""
    loads = []
    for link in (31, 40):
        point, force, torque = np.array([0.02, 0.01, 0.0]), np.array([30.0, -20.0, 400.0]), np.array([1.0, 2.0, -3.0])
        loads.append(Load(link - 1, Force.POINT_FORCE, Axes.GLOBAL, point, force))
        loads.append(Load(link - 1, Force.TORQUE, Axes.GLOBAL, np.zeros(3), torque))
    return loads


def human_motion(n=43, rate=100.0, duration=3.0):
    """q = sin(2 pi t) for every joint."""
    w, t = 2.0 * np.pi, np.arange(round(duration * rate) + 1) / rate
    one = np.ones(n)
    return [np.outer(x, one) for x in (np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t))]
