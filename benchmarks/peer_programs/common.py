"""Mechanisms as data, and timing of runs, for the programs of all peers; needs numpy and nothing of mbsim.

Everything is given in the global frame at the start, where all coordinates of the tree are zero: bodies turn with it,
joints of the tree are hinges about points (two make a universal joint, three a ball), and points close the loops.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

REPEATS, LONG = 5, 2.0  # runs of a setting; no further one where those so far took so many seconds
GROUND = ""
SHARES = (1e-3, 1e-4, 1e-5)  # of parameters, by which differences are formed
DERIVATIVES = "d"  # note of settings whose error is that of derivatives, relative to the largest of each parameter
X, Y, Z = np.eye(3)


class Body(NamedTuple):
    name: str
    parent: str  # body that carries it, or GROUND
    at: np.ndarray  # (3,) point of the hinges
    axes: list[np.ndarray]  # of the hinges, from the parent on
    mass: float
    center: np.ndarray  # (3,)
    inertia: np.ndarray  # (3, 3) about the centre


class Loop(NamedTuple):
    a: str
    b: str
    at: np.ndarray  # (3,) point of both


class Spring(NamedTuple):
    """A spring and damper between two points."""

    a: str
    b: str
    from_a: np.ndarray  # (3,)
    to_b: np.ndarray  # (3,)
    stiffness: float
    damping: float
    natural: float | None = None  # length; that at the start where none is given

    @property
    def free(self) -> float:
        """Length without force."""
        return float(np.linalg.norm(self.to_b - self.from_a)) if self.natural is None else self.natural


class Mechanism(NamedTuple):
    gravity: np.ndarray  # (3,)
    bodies: list[Body]  # each branch after its parent, depth first: Pinocchio counts subtrees by this
    loops: list[Loop]
    springs: list[Spring]
    seen: tuple[str, np.ndarray]  # body and point (3,) whose motion is compared
    start: float = 0.0  # rate of the first hinge
    planar: bool = False

    def rates(self) -> list[np.ndarray]:
        """Rates of the hinges of each body at the start: the first is given, loops ask for the others."""
        first = np.cumsum([0, *(len(body.axes) for body in self.bodies)])
        known = {body.name: (body, k) for body, k in zip(self.bodies, first, strict=False)}

        def velocity(name: str, point: np.ndarray) -> np.ndarray:
            """Of a point by rates (3, n)."""
            by = np.zeros((3, first[-1]))
            while name != GROUND:
                body, k = known[name]
                for i, axis in enumerate(body.axes):
                    by[:, k + i] = np.cross(axis, point - body.at)
                name = body.parent
            return by

        apart = [velocity(loop.a, loop.at) - velocity(loop.b, loop.at) for loop in self.loops]
        matrix = np.vstack([np.eye(first[-1])[:1], *apart])
        found = np.linalg.lstsq(matrix, np.r_[self.start, np.zeros(len(matrix) - 1)], rcond=None)[0]
        return np.split(found, first[1:-1])


def rod(name: str, parent: str, start: np.ndarray, end: np.ndarray, mass: float) -> Body:
    """A thin rod in the plane of x and y, hinged at its start; moments about x and y are those about z."""
    length = np.linalg.norm(end - start)
    return Body(name, parent, start, [Z], mass, (start + end) / 2, mass * length**2 / 12 * np.eye(3))


BARS = np.array([5**0.5, 4.25**0.5, 1.0, 0.5**0.5, 2**0.5])  # L_s1, L_s2, m_A1, x_G_A1, L_A1 of the five-bar


def fivebar(bars: np.ndarray = BARS) -> Mechanism:
    """By its parameters; the first two bars keep their directions at the start, the loop moves the others."""
    L_s1, L_s2, mass, x_G, length = bars
    A, B, along = np.zeros(3), X, -(X + Y) / np.sqrt(2)
    p1 = length * along
    p2 = p1 + 1.5 * X - Y
    away = B - p2  # the pin is at the distances of both bars, on the right of the line from p2 to B
    distance = np.linalg.norm(away)
    share = (3.25 - 2.0 + distance**2) / (2 * distance)
    p3 = p2 + (share * away + np.sqrt(3.25 - share**2) * np.cross(away, Z)) / distance
    bodies = [Body("A1", GROUND, A, [Z], mass, x_G * along, np.eye(3) / 6), rod("12", "A1", p1, p2, 1.5)]
    bodies += [rod("23", "12", p2, p3, 1.5), rod("3B", GROUND, B, p3, 1.0)]
    springs = [Spring(GROUND, "A1", B, p1, 100.0, 0.0, L_s1), Spring(GROUND, "12", B, p2, 100.0, 0.0, L_s2)]
    return Mechanism(-9.81 * Y, bodies, [Loop("23", "3B", p3)], springs, ("12", p2), planar=True)


def rssr() -> Mechanism:
    A, B, Q = 0.3 * X, np.array([1.0, 0.4, 0.8]), np.array([1.0, 0.4, 0.2])
    across = np.array([0.4, -0.7, 0.0]) / np.hypot(0.4, 0.7)
    coupler = np.array([[0.081, -0.028, -0.056], [-0.028, 0.114, -0.032], [-0.056, -0.032, 0.066]])
    bodies = [
        Body("crank", GROUND, 0.0 * X, [Z], 0.5, 0.15 * X, np.diag([0.001, 0.004, 0.004])),
        Body("rocker", GROUND, Q, [X], 0.8, Q + 0.3 * Z, np.diag([0.024, 0.024, 0.001])),
        Body("coupler", "rocker", B, [Z, across], 1.2, np.array([0.65, 0.2, 0.4]), coupler),
    ]
    spring = Spring(GROUND, "rocker", np.array([0.5, 0.0, 1.0]), B, 50.0, 2.0)
    return Mechanism(-9.81 * Z, bodies, [Loop("crank", "coupler", A)], [spring], ("rocker", B), 2 * np.pi)


def four_bars(count: int = 40) -> Mechanism:
    bodies = [rod("v0", GROUND, 0.0 * X, Y, 1.0)]
    for i in range(1, count + 1):
        bodies.append(rod(f"h{i}", f"v{i - 1}", (i - 1) * X + Y, i * X + Y, 1.0))
        bodies.append(rod(f"v{i}", GROUND, i * X, i * X + Y, 1.0))
    loops = [Loop(f"h{i}", f"v{i}", i * X + Y) for i in range(1, count + 1)]
    return Mechanism(-9.81 * Y, bodies, loops, [], ("v0", Y), start=-1.0, planar=True)


def chain(count: int) -> Mechanism:
    cos, sin, inertia = np.cos(0.1), np.sin(0.1), np.diag([0.05**2 / 2, *[(3 * 0.05**2 + 1) / 12] * 2])
    turns = (np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]), np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]]))
    bodies, at, turned = [], np.zeros(3), np.eye(3)
    for i in range(1, count + 1):
        axis = turned @ (Z, Y)[i % 2]
        turned = turned @ turns[i % 2]
        center, moments = at + 0.5 * turned[:, 0], turned @ inertia @ turned.T
        bodies.append(Body(f"b{i}", f"b{i - 1}" if i > 1 else GROUND, at, [axis], 1.0, center, moments))
        at = at + turned[:, 0]
    return Mechanism(-9.81 * Z, bodies, [], [], (f"b{count}", at))


def delta() -> Mechanism:
    """`delta.yaml`: three arms on springs, two rods on each, and a platform, which the first rod carries."""
    base, arm, lean, plate, half, depth = 0.2, 0.3, np.radians(20), 0.06, 0.05, 0.7
    elbow, drop = base + arm * np.cos(lean), arm * np.sin(lean)
    inward, down = elbow - plate, depth - drop
    rod, center = np.hypot(inward, down), -depth * Z
    bodies, springs, loops = [], [], []
    for i in range(3):
        out = np.array([np.cos(i * 2 * np.pi / 3), np.sin(i * 2 * np.pi / 3), 0.0])
        across = np.cross(Z, out)
        hip, end, normal = base * out, elbow * out - drop * Z, (inward * Z - down * out) / rod
        bodies.append(Body(f"arm{i}", GROUND, hip, [across], 0.4, (hip + end) / 2, 0.4 * arm**2 / 12 * np.eye(3)))
        springs.append(Spring(GROUND, f"arm{i}", 0.5 * out + 0.3 * Z, end, 250.0 + 50.0 * i, 0.0))
        for k, aside in enumerate((-half * across, half * across)):
            name, first, ball = f"rod{i}{k}", end + aside, plate * out + aside + center
            moment = 0.1 * rod**2 / 12 * np.eye(3)
            bodies.append(Body(name, f"arm{i}", first, [across, normal], 0.1, (first + ball) / 2, moment))
            if len(bodies) == 2:
                axes, moments = [normal, across, np.cross(normal, across)], np.diag([0.002, 0.002, 0.004])
                bodies.append(Body("platform", name, ball, axes, 1.0, center, moments))
            else:
                loops.append(Loop(name, "platform", ball))
    return Mechanism(-9.81 * Z, bodies, loops, springs, ("platform", center))


MECHANISMS = {
    "fivebar": fivebar,
    "rssr": rssr,
    "delta": delta,
    "a02": four_bars,
    "chain24": lambda: chain(24),
    "chain256": lambda: chain(256),
}


class Task(NamedTuple):
    """A mechanism, and its known motion, from the file that the first argument names."""

    mechanism: Mechanism
    time: np.ndarray  # (N,)
    expected: np.ndarray  # (N, 3) of the point that is compared
    derivatives: np.ndarray | None  # (N, 2, 5) of the five-bar by its parameters


def task() -> Task:
    data = json.loads(Path(sys.argv[1]).read_text())
    known = np.array(data["derivatives"]) if "derivatives" in data else None
    return Task(MECHANISMS[data["mechanism"]](), np.array(data["time"]), np.array(data["place"]), known)


Settings = Callable[[Mechanism, np.ndarray], Iterator[tuple[str, str, Callable[[], np.ndarray]]]]


def compare(settings: Settings) -> None:
    """Report all settings of a program, of which each has a series, a name, and a run to positions (N, 3).

    Where derivatives are known, they are formed by central differences too; of three lengths of these, the best.
    """
    mechanism, time, expected, known = task()
    moved = {} if known is None or len(sys.argv) > 2 else {share: _moved(settings, time, share) for share in SHARES}
    for k, (series, setting, run) in enumerate(settings(mechanism, time)):
        seconds = report(series, setting, run, expected)
        if known is None or seconds is None or 2 * BARS.size * seconds > LONG:
            continue
        size = np.abs(known).max(axis=(0, 1))
        wanted = (known / size).reshape(time.size, -1)

        def differences(share: float, k=k, size=size) -> np.ndarray:
            found = [ahead[k][2]() - behind[k][2]() for ahead, behind in moved[share]]
            slopes = np.stack(found, axis=-1)[:, :2] / (2 * share * BARS * size)
            return slopes.reshape(len(slopes), -1)

        best = min(SHARES, key=lambda share: np.linalg.norm(differences(share) - wanted, axis=1).max())
        report(series, setting, partial(differences, best), wanted, DERIVATIVES)


def _moved(settings: Settings, time: np.ndarray, share: float) -> list:
    """Settings of the five-bar with each parameter more, and less, by a share."""
    steps = share * np.diag(BARS)
    return [[list(settings(fivebar(BARS + sign * step), time)) for sign in (1.0, -1.0)] for step in steps]


def report(
    series: str, setting: str, run: Callable[[], np.ndarray], expected: np.ndarray, note: str = ""
) -> float | None:
    """Print the error of a run that returns positions (N, 3), and the processor time of the quickest of some.

    Returns that time. Where a second argument names a setting, that runs once, and no other.
    """
    if len(sys.argv) > 2:
        if sys.argv[2] == f"{series}, {setting}" and not note:
            run()
        return None
    try:
        found, times = run(), []
        while len(times) < REPEATS and sum(times) < LONG:
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
    except Exception as error:  # whatever a peer raises where it fails
        print(f"{series}, {setting}: {error}", file=sys.stderr)
        return None
    error = float(np.linalg.norm(found - expected, axis=1).max())
    found = {"series": series, "setting": setting, "error": error, "seconds": min(times), "note": note}
    if not np.isfinite(error):
        return None
    print(json.dumps(found), flush=True)
    return min(times)
