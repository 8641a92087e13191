"""What sensors of a rich mechanism show, against formulas of the documentation for the motion of its bodies.

All that is read of the program are places, axes, velocities and accelerations of bodies, and reactions: by Newton's and
Euler's equations these must sum to what forces of the file, computed here anew, leave to the bodies.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from mbsim_cli.spec import load
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import blocks_of
from tests.campaign.generator import COORDINATES, FILE, Data
from tests.campaign.richer import AXIAL, matrix_of

APART = (0.0, 2e-4, 3e-4)  # s, between instants of a motion that has a body's velocity and acceleration; by order
TIMES, PLACES = [0, 0.5, 1, 30], [0, 1, 2, 3]
TABLES = {
    "F": (TIMES, [1, 2, 1.5, 3]),
    "G": (TIMES, [2, 1, 1.5, 2]),
    "z": (PLACES, [0, 0.01, 0.03, 0.01]),
}  # of the files that roads and laws name


def unit(u: Any) -> np.ndarray:
    """A vector of length one."""
    return np.array(u) / np.linalg.norm(u)


def number(x: Any) -> float:
    """A number, or what its formula says."""
    return float(eval(x, {"pi": np.pi})) if isinstance(x, str) else float(x)


def step(s: float) -> float:
    """Quintic from 0 to 1."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2)


def soft(s: float) -> float:
    """Positive part with a smooth start."""
    return 0.0 if s <= 0 else s**3 - s**4 / 2 if s < 1 else s - 0.5


def law(data: Data, given: Any, x: float) -> float:
    """Value of a law, by name or as it is written."""
    spec = data["laws"][given] if isinstance(given, str) else given
    n: Callable[[str], float] = lambda key: number(spec.get(key, 0.0))  # noqa: E731
    kind = spec["type"]
    if kind == "constant":
        return n("value")
    if kind == "polynomial":
        return sum(number(c) * x**k for k, c in enumerate(spec["coefficients"]))
    if kind == "harmonic":
        w = 2 * np.pi * n("frequency") if "frequency" in spec else n("angular_frequency")
        return n("offset") + n("amplitude") * np.sin(w * x + n("phase")) ** spec.get("power", 1)
    if kind == "smooth_step":
        return n("from") + (n("to") - n("from")) * step((x - n("start")) / (n("end") - n("start")))
    if kind == "one_sided":
        sign = -1 if spec.get("side") == "below" else 1
        return sign * n("slope") * n("onset") * soft(sign * (x - n("start")) / n("onset"))
    if kind == "windowed":
        return law(data, spec["law"], x - n("start")) if n("start") <= x <= n("end") else 0.0
    if kind == "sum":
        return sum(law(data, one, x) for one in spec["laws"])
    if kind == "piecewise":
        return law(data, spec["laws"][int(np.searchsorted([number(b) for b in spec["breaks"]], x))], x)
    if kind == "table":
        at, values = TABLES[spec["columns"]["value"]]
        return spline(np.array(at) * spec["scale"]["x"], np.array(values) * spec["scale"]["value"], x, "linear")
    return spline(spec.get("x", spec.get("times")), spec["values"], x, spec.get("extrapolate", "none"))


def spline(at: Any, values: Any, x: float, beyond: str) -> float:
    """A natural cubic spline, and what is said beyond its ends."""
    line = CubicSpline(at, values, bc_type="natural")
    end = min(max(x, at[0]), at[-1])
    return float(line(end)) + (float(line(end, 1)) * (x - end) if beyond == "linear" else 0.0)


def height(data: Data, given: Any, x: float) -> float:
    """Of a road at x."""
    spec = data["roads"][given] if isinstance(given, str) else given
    kind = spec["type"]
    if kind == "sum":
        return sum(height(data, one, x) for one in spec["roads"])
    if kind == "flat":
        return spec["height"]
    if kind == "ramp":
        begins = spec["onset"] * soft((x - spec["start"]) / spec["onset"])
        ends = spec["onset"] * soft((x - spec["end"]) / spec["onset"]) if "end" in spec else 0.0
        return spec["slope"] * (begins - ends)
    if kind == "step":
        return spec["height"] * step((x - spec["position"]) / spec["width"])
    if kind == "sinusoidal":
        return spec["offset"] + spec["amplitude"] * np.sin(2 * np.pi * x / spec["wavelength"] + spec["phase"])
    if kind == "bumps":
        places = [(x - at) / spec["length"] for at in spec["positions"]]
        return sum(spec["height"] * np.sin(np.pi * s) ** 3 for s in places if 0 < s < 1)
    if kind == "profile":
        return spline(spec["x"], spec["z"], x, spec["extrapolate"])
    at, values = TABLES["z"]
    return spline(np.array(at) * spec["scale"]["x"], np.array(values) * spec["scale"]["z"], x, "linear")


def slope(data: Data, given: Any, x: float) -> float:
    """Of a road at x."""
    h = 1e-4
    values = [height(data, given, x + k * h) for k in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)


@dataclass
class Pose:
    """Place and axes of a body's frame, and how they move."""

    r: np.ndarray = field(default_factory=lambda: np.zeros(3))
    R: np.ndarray = field(default_factory=lambda: np.eye(3))
    v: np.ndarray = field(default_factory=lambda: np.zeros(3))
    w: np.ndarray = field(default_factory=lambda: np.zeros(3))
    a: np.ndarray = field(default_factory=lambda: np.zeros(3))
    alpha: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def after(self, dt: float) -> "Pose":
        """Where it stands a little later, to the second order."""
        turned = Rotation.from_rotvec(self.w * dt + self.alpha * dt**2 / 2).as_matrix()
        return Pose(self.r + self.v * dt + self.a * dt**2 / 2, turned @ self.R)


class Bodies:
    """All bodies at an instant; names of points and vectors become places and directions."""

    def __init__(self, data: Data, poses: dict[str, Pose], t: float):
        self.data, self.poses, self.t = data, poses, t

    def after(self, dt: float) -> "Bodies":
        return Bodies(self.data, {name: pose.after(dt) for name, pose in self.poses.items()}, self.t + dt)

    def _local(self, section: str, body: str, name: str) -> np.ndarray:
        given = self.data[section].get(name)
        if given is None:
            return {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2], "origin": np.zeros(3)}[name]
        if "design" not in given:
            return np.array(given[body], float)
        stated, x = self.data["bodies"].get(body, {}), np.array(given["design"], float)
        if "position" not in stated:
            return x
        R = matrix_of(stated["orientation"])
        return R.T @ (x - stated["position"] if section == "points" else x)

    def point(self, name: str) -> np.ndarray:
        body, _, point = name.partition(".")
        return self.poses[body].r + self.poses[body].R @ self._local("points", body, point)

    def vector(self, name: str) -> np.ndarray:
        return unit(self.components(name))

    def components(self, name: str) -> np.ndarray:
        """Of a vector, whatever its length."""
        body, _, vector = name.partition(".")
        return self.poses[body].R @ self._local("vectors", body, vector)

    def velocity(self, body: str, x: np.ndarray) -> np.ndarray:
        pose = self.poses[body]
        return pose.v + np.cross(pose.w, x - pose.r)

    # joints

    def ends(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Points of a joint on both bodies."""
        joint = self.data["joints"][name]
        a, b = (self.point(f"{body}.{joint['point']}") for body in joint["bodies"])
        return a, b

    def axes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Axes of a joint on both bodies."""
        joint = self.data["joints"][name]
        named = joint.get("axes", [joint.get("axis")] * 2)
        return tuple(self.vector(f"{body}.{axis}") for body, axis in zip(joint["bodies"], named, strict=True))

    def references(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Directions across the axes that coincide at zero angle."""
        joint, (a, b) = self.data["joints"][name], self.axes(name)
        if "reference" in joint:
            u, v = (self.vector(f"{body}.{joint['reference']}") for body in joint["bodies"])
            return unit(u - u @ a * a), unit(v - v @ b * b)
        R_a, R_b = (self.poses[body].R for body in joint["bodies"])
        la, lb = R_a.T @ a, R_b.T @ b
        turn = np.cross(lb, la)  # least rotation that carries lb to la, of components
        angle = np.arctan2(np.linalg.norm(turn), lb @ la)
        turned = Rotation.from_rotvec(angle * unit(turn) if np.linalg.norm(turn) > 0 else turn).as_matrix()
        x = unit(np.cross(la, [0.3, 0.5, -0.8]))
        return R_a @ x, R_b @ turned.T @ x

    def coordinate(self, name: str) -> float:
        """Value of a coordinate, an angle within half a turn."""
        joint, _, which = name.partition(".")
        (pa, pb), kind = self.ends(joint), self.data["joints"][joint]["type"]
        if kind == "floating":
            first = self.data["joints"][joint]["bodies"][0]
            return float((self.poses[first].R.T @ (pb - pa))["xyz".index(which)])
        n, m = self.axes(joint)
        if kind == "universal":
            u, v = self.references(joint)
            return turn_of(n, u, m) if which == "angle_1" else turn_of(m, n, v)
        u, v = self.references(joint)
        if which == "angle":
            return turn_of(n, u, v)
        return float({"displacement": n, "x": u, "y": np.cross(n, u)}[which] @ (pb - pa))

    def along(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Force and moment about the global origin of a unit force on a coordinate, on the joint's second body."""
        joint, _, which = name.partition(".")
        (_, pb), kind = self.ends(joint), self.data["joints"][joint]["type"]
        if kind == "floating":
            u = self.poses[self.data["joints"][joint]["bodies"][0]].R[:, "xyz".index(which)]
        else:
            n, m = self.axes(joint)
            if which.startswith("angle"):
                return np.zeros(3), m if which == "angle_2" else n
            u, _ = self.references(joint)
            u = {"displacement": n, "x": u, "y": np.cross(n, u)}[which]
        return u, np.cross(pb, u)

    def rate(self, name: str) -> float:
        """Rate of a coordinate."""
        a, b = self.data["joints"][name.partition(".")[0]]["bodies"]
        force, moment = self.along(name)
        at_origin = self.velocity(b, np.zeros(3)) - self.velocity(a, np.zeros(3))
        w = self.poses[b].w - self.poses[a].w
        return float(force @ at_origin + moment @ w)


def turn_of(axis: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """Angle from u to v about an axis."""
    u, v = u - u @ axis * axis, v - v @ axis * axis
    return float(np.arctan2(axis @ np.cross(u, v), u @ v))


class Textbook:
    """Forces of a file at an instant, and what its sensors should show; ``start`` are the bodies at the start."""

    def __init__(self, start: Bodies, now: Bodies, angles: dict[str, float]):
        self.start, self.now, self.data = start, now, now.data
        self.angles = angles  # coordinates with their full turns

    def coordinate(self, name: str) -> float:
        """With full turns."""
        found = self.now.coordinate(name)
        return found + 2 * np.pi * np.round((self.angles[name] - found) / (2 * np.pi)) if "angle" in name else found

    def force(self, name: str) -> tuple[Any, dict[str, np.ndarray]]:
        """What a force sensor shows, and wrenches (6,) about the global origin by body."""
        spec, now = self.data["forces"][name], self.now
        make = getattr(self, f"_{spec['type']}")
        return make(spec, now)

    def _law(self, spec: Data, key: str, x: float, without: float = 0.0) -> float:
        return law(self.data, spec[key], x) if key in spec else without

    def _between(self, spec: Data, push: float) -> dict[str, np.ndarray]:
        p, q = (self.now.point(name) for name in spec["points"])
        bodies = [name.partition(".")[0] for name in spec["points"]]
        u = unit(q - p)
        return added({bodies[0]: wrench(p, -push * u)}, {bodies[1]: wrench(q, push * u)})

    def _on_coordinate(self, name: str, value: float) -> dict[str, np.ndarray]:
        a, b = self.data["joints"][name.partition(".")[0]]["bodies"]
        one = value * np.concatenate(self.now.along(name))
        return {a: -one, b: one}

    def _length(self, spec: Data) -> tuple[float, float]:
        if "coordinate" in spec:
            return self.coordinate(spec["coordinate"]), self.now.rate(spec["coordinate"])
        p, q = (self.now.point(name) for name in spec["points"])
        vp, vq = (self.now.velocity(name.partition(".")[0], x) for name, x in zip(spec["points"], (p, q), strict=True))
        return float(np.linalg.norm(q - p)), float(unit(q - p) @ (vq - vp))

    def natural(self, spec: Data, key: str, value: Callable[[Bodies], float]) -> float:
        return value(self.start) if spec.get(key, "auto") == "auto" else spec[key]

    def _spring_damper(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        length, rate = self._length(spec)
        e = length - self._natural_length(spec)
        pull = spec["stiffness"] * e + spec["damping"] * rate + self._law(spec, "elongation_law", e)
        pull += self._law(spec, "rate_law", rate) - spec.get("force", 0.0) - self._law(spec, "law", now.t)
        return -pull, self._along(spec, -pull)

    def _along(self, spec: Data, push: float) -> dict[str, np.ndarray]:
        return self._between(spec, push) if "points" in spec else self._on_coordinate(spec["coordinate"], push)

    def _natural_length(self, spec: Data) -> float:
        def value(at: Bodies) -> float:
            return distance(at, spec["points"]) if "points" in spec else at.coordinate(spec["coordinate"])

        return self.natural(spec, "natural_length", value)

    def _rotational_spring_damper(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        c = spec["coordinate"]
        rate = now.rate(c)
        e = self.coordinate(c) - self.natural(spec, "natural_angle", lambda at: at.coordinate(c))
        value = spec.get("torque", 0.0) + self._law(spec, "law", now.t) - spec["stiffness"] * e
        value -= spec["damping"] * rate + self._law(spec, "elongation_law", e) + self._law(spec, "rate_law", rate)
        return value, self._on_coordinate(c, value)

    def _force(self, spec: Data, now: Bodies) -> tuple[np.ndarray, dict]:
        body = spec["point"].partition(".")[0]
        f = self._turned(spec, body)
        return f, {body: wrench(now.point(spec["point"]), f)}

    def _torque(self, spec: Data, now: Bodies) -> tuple[np.ndarray, dict]:
        f = self._turned(spec, spec["body"])
        return f, {spec["body"]: np.concatenate([np.zeros(3), f])}

    def _turned(self, spec: Data, body: str) -> np.ndarray:
        f = self._law(spec, "law", self.now.t, 1.0) * np.array(spec["value"])
        return self.now.poses[body].R @ f if spec.get("axes") == "body" else f

    def _drag(self, spec: Data, now: Bodies) -> tuple[np.ndarray, dict]:
        x, body = now.point(spec["point"]), spec["point"].partition(".")[0]
        v = now.velocity(body, x) - np.array(spec.get("wind", [0, 0, 0]))
        f = -0.5 * spec.get("density", 1.225) * spec["area"] * spec["coefficient"] * np.sqrt(v @ v + 1e-24) * v
        return f, {body: wrench(x, f)}

    def _bump_stop(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        value = stop(spec, self._length(spec)[0])
        return value, self._along(spec, value)

    def _drive(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        value = spec["value"] + self._law(spec, "law", now.t)
        return value, self._on_coordinate(spec["coordinate"], value)

    def _viscous_friction(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        value = -spec["damping"] * now.rate(spec["coordinate"])
        return value, self._on_coordinate(spec["coordinate"], value)

    def _anti_roll_bar(self, spec: Data, now: Bodies) -> tuple[float, dict]:
        pairs = list(zip(spec["coordinates"], spec["ratios"], strict=True))
        natural = self.natural(spec, "natural", lambda at: sum(k * at.coordinate(c) for c, k in pairs))
        e = sum(k * self.coordinate(c) for c, k in pairs) - natural
        value = -spec["stiffness"] * e - spec["damping"] * sum(k * now.rate(c) for c, k in pairs)
        return value, added(*(self._on_coordinate(c, k * value) for c, k in pairs))

    def tyre(self, spec: Data) -> dict[str, Any]:
        """Quantities of a tyre, its force (3,) and where that acts, and the road's energy."""
        now, body = self.now, spec["center"].partition(".")[0]
        c, e = now.point(spec["center"]), now.vector(spec["axis"])
        v, w = now.velocity(body, c), now.poses[body].w
        h, h1 = height(self.data, spec["road"], c[0]), slope(self.data, spec["road"], c[0])
        gap = c[2] - h
        u, rate = spec["radius"] - gap, h1 * v[0] - v[2]
        a = np.array([-h1, 0, 1])
        n, k, onset = unit(a), spec["stiffness"], spec["onset"]
        F_z = step(u / onset) * k * onset * soft((k * u + spec["damping"] * rate) / (k * onset))
        N = F_z * np.linalg.norm(a)
        t = np.cross(e, n)
        t = t / np.sqrt(t @ t + 1e-12)
        s = np.cross(n, t)
        v_p = v - gap * np.cross(w, n)
        D = np.hypot(gap * np.cross(w, n) @ t, spec["slow_speed"])
        slips, kind = -np.array([v_p @ t, v_p @ s]) / D, spec["slip"]
        if kind["type"] == "linear":
            f = slips * [kind["longitudinal_stiffness"], kind["lateral_stiffness"]]
            f = f * spec["friction"] * N / np.sqrt((spec["friction"] * N) ** 2 + f @ f + 1e-12)
        else:
            size = np.sqrt(slips @ slips + 1e-6)
            f = slips * spec["friction"] * N * np.sin(kind["C"] * np.arctan(kind["B"] * size)) / size
        names = ("longitudinal_slip", "lateral_slip", "longitudinal_force", "lateral_force")
        found = dict(zip(names, (*slips, *f), strict=True)) | {"normal_load": N, "deflection": u}
        energy = quad(
            lambda x: step(x / onset) * k * onset * soft(x / onset), 0, max(u, 0), points=(min(onset, max(u, 0)),)
        )
        return found | {"F": F_z * a + f[0] * t + f[1] * s, "at": c - gap * n, "energy": energy[0], "body": body}

    def _tyre(self, spec: Data, now: Bodies) -> tuple[np.ndarray, dict]:
        found = self.tyre(spec)
        return found["F"], {found["body"]: wrench(found["at"], found["F"])}

    # energies

    def potential(self, inertias: dict) -> float:
        """Potential energy of weight and of forces that have one."""
        g, now = np.array(self.data["gravity"]), self.now
        total = -sum(m * g @ (now.poses[body].r + now.poses[body].R @ c) for body, (m, c, _) in inertias.items())
        for spec in self.data["forces"].values():
            total += self._energy(spec)
        return float(total)

    def _energy(self, spec: Data) -> float:
        kind = spec["type"]
        if kind == "spring_damper":
            length = self._length(spec)[0]
            return self._stored(spec, length - self._natural_length(spec)) - spec.get("force", 0.0) * length
        if kind == "rotational_spring_damper":
            c = spec["coordinate"]
            angle = self.coordinate(c)
            natural = self.natural(spec, "natural_angle", lambda at: at.coordinate(c))
            return self._stored(spec, angle - natural) - spec.get("torque", 0.0) * angle
        if kind == "drive":
            return -spec["value"] * self.coordinate(spec["coordinate"])
        if kind == "force" and spec.get("axes", "global") == "global" and "law" not in spec:
            return -float(np.array(spec["value"]) @ self.now.point(spec["point"]))
        if kind == "bump_stop":
            x = self._length(spec)[0]
            edges = [spec[key] for key in ("minimum", "maximum") if key in spec]
            free = edges[0] if len(edges) < 2 else min(max(x, edges[0]), edges[1])
            return -quad(lambda s: stop(spec, s), free, x, epsabs=1e-12, limit=200)[0]
        if kind == "anti_roll_bar":
            pairs = list(zip(spec["coordinates"], spec["ratios"], strict=True))
            natural = self.natural(spec, "natural", lambda at: sum(k * at.coordinate(c) for c, k in pairs))
            return 0.5 * spec["stiffness"] * (sum(k * self.coordinate(c) for c, k in pairs) - natural) ** 2
        return self.tyre(spec)["energy"] if kind == "tyre" else 0.0

    def _stored(self, spec: Data, e: float) -> float:
        return 0.5 * spec["stiffness"] * e**2 + (
            self._area(spec["elongation_law"], e) if "elongation_law" in spec else 0.0
        )

    def _area(self, given: Any, e: float) -> float:
        """Integral of a law from zero, of a one-sided one from where it begins."""
        one = self.data["laws"][given] if isinstance(given, str) else given
        if one["type"] == "sum":
            return sum(self._area(part, e) for part in one["laws"])
        zero = one["start"] if one["type"] == "one_sided" else 0.0
        return quad(lambda x: law(self.data, one, x), zero, e, epsabs=1e-12, limit=400)[0]

    # sensors

    def shown(self, spec: Data, inertias: dict) -> Any:
        """What a sensor should show; None of those that nothing here knows."""
        kind, now = spec["type"], self.now
        if kind == "force":
            return self.force(spec["force"])[0]
        if kind == "tyre":
            return self.tyre(self.data["forces"][spec["tyre"]])[spec["quantity"]]
        if kind == "potential_energy":
            return self.potential(inertias)
        if kind == "kinetic_energy":
            return sum(_kinetic(now, body, *terms) for body, terms in inertias.items())
        if kind == "angular_acceleration":
            return now.poses[spec["body"]].alpha
        if kind in ("velocity_along", "acceleration_along"):
            at = lambda bodies: bodies.point(spec["point"])  # noqa: E731
            return now.vector(spec["vector"]) @ derivative(at, now, 1 if kind == "velocity_along" else 2)
        geometry = {
            "direction": lambda at: at.components(spec["vector"]),
            "distance": lambda at: distance(at, spec["points"]),
            "angle": lambda at: turn_of(at.vector(spec["axis"]), *map(at.vector, spec["vectors"])),
            "displacement": lambda at: at.vector(spec["direction"]) @ way(at, spec["points"]),
            "coordinate": lambda at: at.coordinate(spec["coordinate"]),
            "yaw": lambda at: np.arctan2(at.poses[spec["body"]].R[1, 0], at.poses[spec["body"]].R[0, 0]),
            "pitch": lambda at: np.arcsin(-at.poses[spec["body"]].R[2, 0]),
            "roll": lambda at: np.arctan2(at.poses[spec["body"]].R[2, 1], at.poses[spec["body"]].R[2, 2]),
        }.get(kind)  # fmt: skip
        return None if geometry is None else derivative(geometry, now, spec.get("derivative", 0))


def _kinetic(now: Bodies, body: str, mass: float, c: np.ndarray, tensor: np.ndarray) -> float:
    pose = now.poses[body]
    v, w = now.velocity(body, pose.r + pose.R @ c), pose.R.T @ pose.w
    return 0.5 * mass * v @ v + 0.5 * w @ tensor @ w


def derivative(function: Callable[[Bodies], Any], now: Bodies, order: int) -> Any:
    """Of a function of the motion that all bodies have a little before and after."""
    if order == 0:
        return function(now)
    h = APART[order]
    at = [function(now.after(k * h)) for k in (-2, -1, 0, 1, 2)]
    if order == 1:
        return (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * h)
    return (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * h * h)


def way(at: Bodies, points: list[str]) -> np.ndarray:
    """From one point to another."""
    return at.point(points[1]) - at.point(points[0])


def distance(at: Bodies, points: list[str]) -> float:
    """Of two points."""
    return float(np.linalg.norm(way(at, points)))


def stop(spec: Data, x: float) -> float:
    """Force of a bump stop that enlarges x."""
    k, onset = spec["stiffness"], spec["onset"]
    low = k * onset * soft((spec["minimum"] - x) / onset) if "minimum" in spec else 0.0
    return low - (k * onset * soft((x - spec["maximum"]) / onset) if "maximum" in spec else 0.0)


def wrench(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Force at x and its moment about the global origin (6,)."""
    return np.concatenate([f, np.cross(x, f)])


def added(*wrenches: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sums by body."""
    total: dict[str, np.ndarray] = {}
    for found in wrenches:
        for body, one in found.items():
            total[body] = total.get(body, np.zeros(6)) + one
    return total


# what is asked of the program

AGREE = 1e-5  # of what sensors show, whose rates are differences here
CLOSED = 1e-9  # joints
BALANCED = 1e-8  # of the largest force or moment on a body
MOTION = {"r": "position", "v": "velocity", "a": "acceleration"}


def with_motion(data: Data) -> Data:
    """The file with sensors of the motion of all bodies, of all reactions and coordinates."""
    sensors = dict(data["sensors"])
    for body in data["bodies"]:
        sensors |= {f"{key}_{body}": {"type": kind, "point": f"{body}.origin"} for key, kind in MOTION.items()}
        sensors |= {f"{axis}_{body}": {"type": "direction", "vector": f"{body}.{axis}"} for axis in "xyz"}
        sensors[f"w_{body}"] = {"type": "angular_velocity", "body": body}
        sensors[f"alpha_{body}"] = {"type": "angular_acceleration", "body": body}
    for name, spec in data["joints"].items():
        sensors[f"R_{name}"] = {"type": "reaction", "joint": name}
        for c in coordinates(spec):
            sensors[f"q_{name}_{c}"] = {"type": "coordinate", "coordinate": f"{name}.{c}"}
    for name, spec in data["constraints"].items():
        if spec["type"] == "coupling":
            for joint in {c.partition(".")[0] for c in spec["terms"]}:
                sensors[f"R_{name}_{joint}"] = {"type": "reaction", "constraint": name, "joint": joint}
        elif spec["type"] != "motion":  # its joint's holds it
            sensors[f"R_{name}"] = {"type": "reaction", "constraint": name}
    return data | {"sensors": sensors, "objectives": {}}


def coordinates(joint: Data) -> tuple[str, ...]:
    """Coordinates of a joint that have a meaning alone."""
    return COORDINATES.get(joint["type"], ())


class Shown:
    """Values of all sensors at an instant (by name), as bodies and as sums of wrenches."""

    def __init__(self, data: Data, values: dict[str, np.ndarray], t: float):
        self.data, self.values, self.t = data, values, t
        poses = {"ground": Pose()}
        for body in data["bodies"]:
            R = np.column_stack([values[f"{axis}_{body}"] for axis in "xyz"])
            r, v, w, a, alpha = (values[f"{key}_{body}"] for key in ("r", "v", "w", "a", "alpha"))
            poses[body] = Pose(r, R, v, w, a, alpha)
        self.bodies = Bodies(data, poses, t)
        self.angles = {
            f"{j}.{c}": float(values[f"q_{j}_{c}"][0]) for j, s in data["joints"].items() for c in coordinates(s)
        }

    def reactions(self) -> dict[str, np.ndarray]:
        """Sums (6,) about the global origin by body."""
        total: list[dict[str, np.ndarray]] = []
        for name in [name for name in self.values if name.startswith("R_") and name.endswith(".force")]:
            key = name[2:].removesuffix(".force")
            force, moment = self.values[name], self.values[f"R_{key}.moment"]
            bodies, x = self._place(key)
            one = np.concatenate([force, moment + np.cross(x, force)])
            total.append(added({bodies[0]: -one}, {bodies[1]: one}))
        return added(*total)

    def _place(self, key: str) -> tuple[list[str], np.ndarray]:
        """Bodies of a joint or constraint, and the point that its moment is about."""
        joint = key if key in self.data["joints"] else key.rpartition("_")[2]
        if joint in self.data["joints"]:
            return self.data["joints"][joint]["bodies"], self.bodies.ends(joint)[1]
        spec = self.data["constraints"][key]
        names = spec.get("points") or spec.get("vectors")
        if names:
            x = self.bodies.point(names[1]) if spec["type"] == "distance" else np.zeros(3)
            return [name.partition(".")[0] for name in names], x
        carrier = (spec.get("line") or spec.get("plane"))["point"]
        return [name.partition(".")[0] for name in (carrier, spec["point"])], self.bodies.point(spec["point"])

    def left(self, textbook: Textbook, inertias: dict) -> dict[str, tuple[np.ndarray, float]]:
        """What Newton's and Euler's equations of each body leave (6,), and the size of what they sum."""
        loads = added(self.reactions(), *(textbook.force(name)[1] for name in self.data["forces"]))
        g, found = np.array(self.data["gravity"]), {}
        for body, (mass, c, tensor) in inertias.items():
            pose = self.bodies.poses[body]
            arm = pose.R @ c
            inertia = pose.R @ tensor @ pose.R.T
            a = pose.a + np.cross(pose.alpha, arm) + np.cross(pose.w, np.cross(pose.w, arm))
            turning = inertia @ pose.alpha + np.cross(pose.w, inertia @ pose.w)
            needed = wrench(pose.r + arm, mass * (a - g)) + np.concatenate([np.zeros(3), turning])
            load = loads.get(body, np.zeros(6))
            found[body] = load - needed, max(1.0, np.abs(load).max(), np.abs(needed).max())
        return found

    def open_joints(self) -> float:
        """How far joints are open: places and axes (largest entry)."""
        found = [0.0]
        for name, spec in self.data["joints"].items():
            a, b = self.bodies.ends(name)
            way, kind = b - a, spec["type"]
            if kind in AXIAL:
                n, m = self.bodies.axes(name)
                found.append(np.abs(n - m).max())
                off = {"revolute": way, "prismatic": way - way @ n * n, "planar": way @ n * n}
                found.append(np.abs(off.get(kind, off["prismatic"])).max())
            elif kind == "universal":
                n, m = self.bodies.axes(name)
                found += [abs(n @ m), np.abs(way).max()]
            elif kind != "floating":
                found.append(np.abs(way).max())
        return max(found)


def instants(data: Data, analysis: Data, every: int = 1) -> list["Shown"]:
    """What the sensors show in an analysis, at the first and every so many instants."""
    file = load(FILE, texts={str(FILE): json.dumps(with_motion(data) | {"analysis": analysis})})
    assembled = build(file, Settings(), [])
    found = []
    for block in blocks_of(assembled.problem):
        for row, t in zip(block.sensors, block.time, strict=True):
            values = {name: np.array(np.atleast_1d(row[rows])) for name, rows in assembled.sensor_rows.items()}
            found.append(Shown(data, values, float(t)))
    return found[::every]


def wrong_values(data: Data, inertias: dict, analysis: Data, every: int = 1) -> tuple[int, list[str]]:
    """How many numbers were compared, and what is wrong of them.

    Accelerations of ``ali3p`` are what forces give at the start; later they are those of the integrator.
    """
    count, wrong, found = 0, [], instants(data, analysis, every)
    start = found[0] if "equilibrium" not in analysis.values() else instants(data, {"step": 1e-3, "duration": 1e-3})[0]
    for k, shown in enumerate(found):
        textbook = Textbook(start.bodies, shown.bodies, shown.angles)
        wrong += [f"{shown.t}: joints are open"] if shown.open_joints() > CLOSED else []
        if k == 0 or not analysis.get("formulation", "").startswith("ali3p"):
            for body, (left, size) in shown.left(textbook, inertias).items():
                count += int(np.count_nonzero(~np.isnan(left)))
                if np.nanmax(np.abs(left), initial=0.0) > BALANCED * size:
                    wrong.append(f"{shown.t}: {body} is left {left} of {size}")
        for name, sensor in data["sensors"].items():
            expected = textbook.shown(sensor, inertias)
            if expected is not None:
                count += 1
                off = apart(sensor, shown.values[name], np.atleast_1d(expected))
                if not off <= AGREE * max(1.0, np.abs(shown.values[name]).max()):
                    wrong.append(f"{shown.t}: {name} shows {shown.values[name]}, the textbook {expected}: {sensor}")
    return count, wrong


def apart(sensor: Data, shown: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference; angles count no full turns here."""
    off = float(np.abs(shown - expected).max())
    turns = sensor["type"] in ("angle", "roll", "yaw") or "angle" in sensor.get("coordinate", "")
    return abs((off + np.pi) % (2 * np.pi) - np.pi) if turns and not sensor.get("derivative") else off
