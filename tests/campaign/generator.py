"""Random mechanisms as model files: open trees and loops, of all joints, forces, laws and constraints.

A loop is closed by a joint whose points and axes are computed from where the tree stands, so that it fits.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.errors import ModelError

FREEDOM = {"fixed": 0, "revolute": 1, "prismatic": 1, "universal": 2, "cylindrical": 2, "spherical": 3, "planar": 3}
FREEDOM["floating"] = 6
COORDINATES = {
    "revolute": ("angle",),
    "prismatic": ("displacement",),
    "universal": ("angle_1", "angle_2"),
    "cylindrical": ("displacement", "angle"),
    "planar": ("x", "y", "angle"),
    "floating": ("x", "y", "z"),
}
CLOSING = tuple(joint for joint in FREEDOM if joint != "floating")
LOOP = 7  # freedom of the joints of a loop in space that can move
PARAMETERS = 4
SECTIONS = ("gravity", "points", "vectors", "bodies", "joints", "laws", "forces", "constraints")
FILE = Path(__file__).parent / "model.yaml"  # is never written
Data = dict[str, Any]


class Mechanism:
    """Grows a model file, ``data``."""

    sections: tuple[str, ...] = SECTIONS  # whose numbers may become parameters
    without: tuple[str, ...] = ("size", "shape")  # keys whose numbers may not

    def __init__(self, seed: Any, *, planar: bool = False):
        self.random = np.random.default_rng(seed)
        self.planar = planar
        self.parent: dict[str, tuple[str, str]] = {}  # body or ground that carries a body, and the joint
        self.closing = ""  # joint that is cut for certain
        self.data: Data = {"mbsim": 1, "gravity": self._vector(5), "points": {}, "vectors": {}, "bodies": {}}
        self.data |= {"joints": {}, "laws": {}, "forces": {}, "constraints": {}, "sensors": {}, "objectives": {}}

    def number(self, low: float, high: float) -> float:
        """A number with few digits."""
        return round(float(self.random.uniform(low, high)), 3)

    def pick(self, choices: Any) -> Any:
        """One of several."""
        choices = list(choices)
        return choices[int(self.random.integers(len(choices)))]

    def _vector(self, size: float) -> list[float]:
        """Three numbers; in the plane z = 0 where the mechanism is planar."""
        x, y, z = (self.number(-size, size) for _ in range(3))
        return [x, y, 0.0 if self.planar else z]

    def _direction(self) -> list[float]:
        return [0.0, 0.0, 1.0] if self.planar else [self.number(0.2, 1), self.number(-1, 1), self.number(-1, 1)]

    # bodies and joints

    def add_body(self, parent: str, joint: str) -> str:
        """A body on a joint to another, at a random start."""
        name = f"b{len(self.data['bodies'])}"
        self.data["bodies"][name] = self._body()
        self._join(f"j{name[1:]}", joint, parent, name)
        self.parent[name] = (parent, f"j{name[1:]}")
        return name

    def _body(self) -> Data:
        if self.random.random() < 0.3:
            size = [self.number(0.3, 0.8) for _ in range(3)]
            return {"shape": {"type": "box", "size": size, "mass": self.number(0.5, 2), "center": self._vector(0.2)}}
        moments = dict(zip(("xx", "yy", "zz"), (self.number(0.2, 0.35) for _ in range(3)), strict=True))
        products = dict(zip(("xy", "xz", "yz"), (self.number(-0.02, 0.02) for _ in range(3)), strict=True))
        return {
            "mass": self.number(0.5, 2),
            "center_of_mass": self._vector(0.2),
            "inertia": moments | ({} if self.planar else products),
        }

    def _join(self, name: str, kind: str, a: str, b: str) -> None:
        points = {a: self._vector(0.5), b: self._vector(0.5)}
        axes = {a: self._direction(), b: self._direction()}
        self.data["points"][name], self.data["vectors"][name] = points, axes
        bodies = [a, b] if self.random.random() < 0.7 else [b, a]
        joint = {"type": kind, "bodies": bodies, "point": name} | self._axes(name, kind)
        if kind != "fixed":
            joint["initial"] = self._start(kind)
        self.data["joints"][name] = joint

    @staticmethod
    def _axes(name: str, kind: str) -> Data:
        if kind == "universal":
            return {"axes": [name, name]}
        return {} if kind in ("spherical", "floating") else {"axis": name}

    def _start(self, kind: str) -> Data:
        angle, shift, rate = self.number(-1, 1), self.number(-0.3, 0.3), self.number(-1, 1)
        turned = {"orientation": {"axis": self._vector(1), "angle": angle}, "angular_velocity": self._vector(1)}
        return {
            "revolute": {"angle": angle, "angular_velocity": rate},
            "prismatic": {"displacement": shift, "velocity": rate},
            "cylindrical": {"displacement": shift, "velocity": rate, "angle": angle, "angular_velocity": rate / 2},
            "universal": {"angles": [angle, shift], "angle_rates": [rate, rate / 2]},
            "spherical": turned,
            "floating": turned | {"position": self._vector(1), "velocity": self._vector(1)},
            "planar": {"position": [shift, angle / 2], "velocity": [rate, shift], "angle": angle},
        }[kind]

    def close(self, a: str, b: str, kind: str) -> None:
        """A joint between two bodies as they stand, that closes a loop."""
        assembled = build(self.load(), sensitivity="none")
        at, index = assembled.closing.at, assembled.topology.index
        name, p_a = f"c{len(self.data['joints'])}", self._vector(0.5)
        place = np.array(at.point(index[a], tuple(p_a)))
        origin = np.array(at.point(index[b], (0.0, 0.0, 0.0)))
        self.data["points"][name] = {a: p_a, b: self._seen_from(at, index[b], place - origin)}
        u = np.array(self._direction())
        across = np.cross(u, [1.0, 0.3, -0.2] if not self.planar else [0.0, 1.0, 0.0])
        for vector, local in ((name, u), (f"{name}_across", across)):
            seen = np.array(at.direction(index[a], tuple(local)))
            self.data["vectors"][vector] = {a: local.tolist(), b: self._seen_from(at, index[b], seen)}
        joint = {"type": kind, "bodies": [a, b], "point": name} | self._axes(name, kind)
        if kind == "universal":
            joint["axes"] = [name, f"{name}_across"]
        elif "axis" in joint:
            joint["reference"] = f"{name}_across"
        self.data["joints"][name] = joint
        if self.random.random() < 0.5 and not self.planar:
            joint["cut"], self.closing = True, name
        for kept in self.data["joints"].values():  # rates of a loop are not free
            for rate in ("angular_velocity", "velocity", "angle_rates"):
                kept.get("initial", {}).pop(rate, None)
        free = [joint for joint in self.path(a, b) if self.data["joints"][joint]["type"] == "revolute"]
        if free:
            moving = self.data["joints"][self.pick(free)]["initial"]
            moving |= {"angular_velocity": self.number(-1, 1), "independent": True}
            try:
                build(self.load(), sensitivity="none")
            except ModelError:  # the loop holds it
                del moving["angular_velocity"], moving["independent"]

    @staticmethod
    def _seen_from(at: Any, body: int, a: np.ndarray) -> list[float]:
        """Components of a global vector in the axes of a body."""
        axes = [np.array(at.direction(body, tuple(e))) for e in np.eye(3)]
        return [float(axis @ a) for axis in axes]

    def freedom(self, joints: Iterable[str]) -> int:
        """Of some joints, without any loop."""
        return sum(FREEDOM[self.data["joints"][joint]["type"]] for joint in joints)

    def joints_closing(self, a: str, b: str) -> list[str]:
        """Joints between two bodies that leave the loop a freedom."""
        freedom = self.freedom(self.path(a, b))
        return [kind for kind in CLOSING if freedom + FREEDOM[kind] >= LOOP]

    def path(self, a: str, b: str) -> list[str]:
        """Tree joints between two bodies."""

        def up(body: str) -> list[str]:
            found = []
            while body != "ground":
                body, joint = self.parent[body]
                found.append(joint)
            return found

        one, other = up(a), up(b)
        return [j for j in one if j not in other] + [j for j in other if j not in one]

    def load(self) -> Any:
        """The model file as it stands."""
        return load(self.data)

    # elements

    def coordinates(self) -> list[str]:
        """Coordinates of tree joints that a force may act on."""
        joints = [joint for _, joint in self.parent.values()]
        return [f"{j}.{c}" for j in joints for c in COORDINATES.get(self.data["joints"][j]["type"], ())]

    def point(self, body: str) -> str:
        """A new point of a body."""
        name = f"p{len(self.data['points'])}"
        self.data["points"][name] = {body: self._vector(0.6)}
        return f"{body}.{name}"

    def law(self) -> str:
        """A new law, of any argument."""
        laws = self.data["laws"]
        name = f"l{len(laws)}"
        n = self.number
        laws[name] = self.pick(
            (
                {"type": "constant", "value": n(-1, 1)},
                {"type": "polynomial", "coefficients": [n(-1, 1), n(-1, 1), n(-1, 1)]},
                {"type": "harmonic", "amplitude": n(0.2, 1), "frequency": n(0.5, 2), "phase": n(-1, 1), "offset": 0.1},
                {"type": "harmonic", "amplitude": n(0.2, 1), "angular_frequency": n(2, 6), "power": 3},
                {"type": "smooth_step", "from": n(-1, 0), "to": n(0.2, 1), "start": -0.31, "end": 0.42},
                {"type": "spline", "x": [-9, -0.9, 0.13, 1.1, 9], "values": [n(-1, 1) for _ in range(5)]},
                {"type": "one_sided", "start": n(-0.1, 0.1), "slope": n(1, 5), "onset": n(0.1, 0.3)},
            )
        )
        return name

    def _damper(self) -> Data:
        """A law of the rate that takes energy away."""
        n = self.number
        return {"type": "spline", "x": [-99, -1, 0, 1, 99], "values": [-n(20, 30), -n(0.2, 1), 0, n(0.2, 1), n(20, 30)]}

    def add_forces(self, count: int) -> None:
        """Forces of random types."""
        for k in range(count):
            self.data["forces"][f"f{k}"] = self._force()

    def _force(self) -> Data:
        bodies, n = list(self.data["bodies"]), self.number
        body, other = self.pick(bodies), self.pick(["ground", *bodies])
        angles = [c for c in self.coordinates() if "angle" in c]
        between = {"points": [self.point(body), self.point("ground" if other == body else other)]}
        springs = {"stiffness": n(5, 40), "damping": n(0.1, 1)}
        choices: list[Data] = [
            {"type": "spring_damper", **between, **springs, "natural_length": "auto", "elongation_law": self.law()},
            {"type": "spring_damper", **between, **springs, "natural_length": n(0.2, 1), "law": self.law()},
            {"type": "force", "point": self.point(body), "value": self._vector(3), "law": self.law()},
            {"type": "bump_stop", **between, "maximum": n(0.2, 1), "stiffness": n(5, 20), "onset": 0.2},
        ]
        if not self.planar:
            wind = {"area": n(0.1, 1), "coefficient": n(0.5, 1), "wind": self._vector(2)}
            choices += [
                {"type": "torque", "body": body, "value": self._vector(1), "axes": "body", "law": self.law()},
                {"type": "drag", "point": self.point(body), **wind},
            ]
        if angles:
            angle = {"coordinate": self.pick(angles)}
            choices += [
                {
                    "type": "rotational_spring_damper",
                    **angle,
                    **springs,
                    "rate_law": self._damper(),
                    "natural_angle": n(-1, 1),
                },
                {"type": "rotational_spring_damper", **angle, **springs, "natural_angle": "auto"},
            ]
        if self.coordinates():
            coordinate = {"coordinate": self.pick(self.coordinates())}
            choices += [
                {"type": "drive", **coordinate, "value": n(-1, 1), "law": self.law()},
                {"type": "viscous_friction", **coordinate, "damping": n(0.1, 1)},
            ]
        return self.pick(choices)

    def add_constraint(self) -> None:
        """A constraint that the start satisfies."""
        body = self.pick(self.data["bodies"])
        choices: list[Data] = [{"type": "distance", "points": [self.point("ground"), self.point(body)]}]
        coordinates = self.coordinates()
        if len(coordinates) > 1:
            first, second = self.random.permutation(coordinates)[:2]
            choices.append({"type": "coupling", "terms": {str(first): self.number(0.5, 1), str(second): -1.0}})
        self.data["constraints"]["k"] = self.pick(choices)

    def drive(self, coordinate: str, start: float) -> None:
        """A motion of a coordinate, from its declared start, which the law does not know; the rate is the law's."""
        joint, _, name = coordinate.partition(".")
        rate = self.number(-1, 1)
        self.data["joints"][joint]["initial"].pop("angular_velocity" if name == "angle" else "velocity", None)
        coefficients = [0.5 * start, rate, self.number(-1, 1)]
        self.data["constraints"]["m"] = {
            "type": "motion",
            "coordinate": coordinate,
            "law": {"type": "polynomial", "coefficients": coefficients},
            "offset": "auto",
        }

    def observe(self) -> None:
        """Sensors and objectives of all kinds."""
        last = list(self.data["bodies"])[-1]
        point = self.point(last)
        self.data["sensors"] = {
            "r": {"type": "position", "point": point},
            "v": {"type": "velocity", "point": point},
            "a": {"type": "acceleration", "point": point},
            "w": {"type": "angular_velocity", "body": last},
            "T": {"type": "kinetic_energy"},
            "R": {"type": "reaction", "joint": self.pick(self.data["joints"]), "on": None},
        }
        held = self.data["joints"][self.data["sensors"]["R"]["joint"]]
        self.data["sensors"]["R"]["on"] = self.pick(body for body in held["bodies"] if body != "ground")
        self.data["objectives"] = {
            "way": {"integral": "dot(v, v)", "unit": ""},
            "end": {"final": "r.x + 0.7*r.y + 0.3*r.z + 0.1*T"},
            "shock": {"integral": "dot(a, a) + dot(w, w)"},
            "peak": {"maximum": "norm(v)", "sharpness": 5},
            "load": {"integral": "R.force.x**2 + R.force.y**2" + self._out_of_plane()},
        }
        if self.closing:
            equation = "z" if self.data["joints"][self.closing]["type"] == "planar" else "x"
            self.data["sensors"]["pull"] = {"type": "multiplier", "constraint": f"{self.closing}.{equation}"}
            self.data["objectives"]["pull"] = {"integral": "pull**2"}

    def _out_of_plane(self) -> str:
        # where a planar loop is redundant, only these are determined
        return "" if self.planar else " + R.force.z**2 + dot(R.moment, R.moment)"

    def choose_parameters(self, count: int, *, anywhere: bool = False) -> None:
        """Let parameters stand in the place of some numbers; of a planar mechanism of some in its plane."""
        places = list(_numbers({key: self.data[key] for key in self.sections}, (), self.without))
        if self.planar and not anywhere:
            places = [(path, value) for path, value in places if not _across(path, value)]
        chosen = self.random.permutation(len(places))[:count]
        self.data["parameters"] = {}
        for k, place in enumerate(chosen):
            path, value = places[place]
            self.data["parameters"][f"q{k}"] = value
            owner = self.data
            for part in path[:-1]:
                owner = owner[part]
            owner[path[-1]] = f"q{k}"


def _numbers(value: Any, path: tuple, without: tuple[str, ...] = Mechanism.without) -> Iterator[tuple[tuple, float]]:
    if isinstance(value, float):
        yield path, value
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key not in without:
            yield from _numbers(entry, (*path, key), without)


def _across(path: tuple, value: float) -> bool:
    return path[0] == "vectors" or value == 0.0 or "orientation" in path


def load(data: Data) -> Any:
    """A model file from data."""
    import json

    return spec.load(FILE, texts={str(FILE): json.dumps(data)})


def open_tree(seed: int, parameters: int = PARAMETERS) -> Data:
    """A tree of two to five joints of any type, with forces and sometimes a driven coordinate."""
    m = Mechanism(seed)
    for _ in range(m.random.integers(2, 6)):
        m.add_body(m.pick(["ground", *m.data["bodies"]]), m.pick(FREEDOM))
    if not any(joint["type"] != "fixed" for joint in m.data["joints"].values()):
        m.add_body("ground", "floating")
    m.add_forces(int(m.random.integers(1, 4)))
    single = [c for c in m.coordinates() if c.endswith((".angle", ".displacement"))]
    if single and m.random.random() < 0.4:
        coordinate = m.pick(single)
        joint, _, name = coordinate.partition(".")
        m.drive(coordinate, m.data["joints"][joint]["initial"][name])
    return _finished(m, parameters)


def spatial_loop(seed: int, parameters: int = PARAMETERS) -> Data:
    """A loop in space with one freedom or more, and sometimes a branch and a constraint."""
    m = Mechanism(seed)
    body, freedom = "ground", 0
    first = m.add_body("ground", m.pick(("revolute", "cylindrical", "universal", "prismatic", "planar")))
    for _ in range(m.random.integers(2, 4)):
        body = m.add_body(
            first if body == "ground" else body, m.pick(("revolute", "spherical", "cylindrical", "universal", "planar"))
        )
    if m.random.random() < 0.5:
        m.add_body(m.pick(m.data["bodies"]), m.pick(("revolute", "spherical", "prismatic")))
    target = m.pick(("ground", m.add_body("ground", m.pick(("revolute", "universal", "spherical")))))
    freedom = m.freedom(m.path(body, target))
    fitting = m.joints_closing(body, target)
    m.close(body, target, m.pick(fitting or ["spherical"]))
    m.add_forces(int(m.random.integers(1, 4)))
    if freedom > LOOP + 1 and m.random.random() < 0.3:
        m.add_constraint()
    return _finished(m, parameters)


def planar_loop(seed: int, parameters: int = PARAMETERS, *, anywhere: bool = False) -> Data:
    """A linkage of parallel revolutes in a plane: three of the equations of its cut joint always hold."""
    m = Mechanism(seed, planar=True)
    chain = ["ground"]
    for _ in range(m.random.integers(3, 6)):
        chain.append(m.add_body(chain[-1], "revolute"))
    m.close(chain[-1], "ground", "revolute")
    m.add_forces(int(m.random.integers(1, 3)))
    return _finished(m, parameters, anywhere)


def bent_loop(seed: int, parameters: int = PARAMETERS) -> Data:
    """The same, by parameters that would bend it too: in such directions the mechanism does not exist."""
    return planar_loop(seed, parameters, anywhere=True)


def _finished(m: Mechanism, parameters: int, anywhere: bool = False) -> Data:
    m.observe()
    m.choose_parameters(parameters, anywhere=anywhere)
    return m.data


FAMILIES = {
    "open tree": open_tree,
    "loop in space": spatial_loop,
    "loop in a plane": planar_loop,
    "loop that may bend": bent_loop,
}
