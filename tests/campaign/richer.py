"""Random mechanisms of what the first generator leaves out: every shape, law, force, constraint, road and sensor.

Points and vectors stand in bodies or in a drawing, tyres roll on roads that pass below wherever the wheel is.
"""

import itertools
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbsim_cli.assembly import build
from mbsim_cli.errors import MbsimError, ModelError
from mbsim_cli.solve.initial import assemble
from tests.campaign.generator import FREEDOM, LOOP, PARAMETERS, SECTIONS, Data, Mechanism, load

AXIAL = ("revolute", "prismatic", "cylindrical", "planar")
CALM = 20.0  # rad/s or m/s
RATES = ("angular_velocity", "velocity", "angle_rates")
REMOVED = {"distance": 1, "angle": 1, "point_on_line": 2, "point_on_plane": 1, "coupling": 1, "motion": 1}
TABLE = "../properties/models/table.csv"  # F and G over s, from 0 to 0.5


class RichMechanism(Mechanism):
    """Grows a model file. Numbers that hold only together are texts, so that none of them varies alone."""

    sections = (*SECTIONS, "roads")
    without = ("rotation_matrix", "euler_parameters", "piecewise", "windowed")

    drawn = True  # bodies have poses in the drawing

    def __init__(self, seed: int):
        super().__init__(seed)
        self.data["gravity"] = [0.0, 0.0, -self.number(2, 9)]
        self.data["roads"] = {}
        self.read: Data = {}  # sensors that forces read
        self.inertias: dict[str, tuple[float, np.ndarray, np.ndarray]] = {}  # mass, centre, tensor about it

    # bodies

    def _body(self) -> Data:
        name, c, mass = f"b{len(self.data['bodies'])}", self._vector(0.2), self.number(0.5, 2)
        body, tensor = self.pick((self._cylinder, self._sphere, self._rod, self._about_a_point, self._box))(
            name, c, mass
        )
        self.inertias[name] = mass, np.array(c), tensor
        if self.drawn and self.random.random() < 0.5:
            body |= {"position": self._vector(1), "orientation": self._orientation()}
        return body

    def _cylinder(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        length, radius, k = self.number(0.4, 0.8), self.number(0.2, 0.4), int(self.random.integers(3))
        moments = np.full(3, mass * (3 * radius**2 + length**2) / 12)
        moments[k] = mass * radius**2 / 2
        shape = {"type": "cylinder", "length": length, "radius": radius, "axis": "xyz"[k], "center": c}
        return {"shape": shape, "mass": mass}, np.diag(moments)

    def _sphere(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        radius = self.number(0.4, 0.7)
        shape = {"type": "sphere", "radius": radius, "mass": 0.8}
        return {"shape": shape, "mass": mass, "center_of_mass": c}, 0.4 * 0.8 * radius**2 * np.eye(
            3
        )  # the shape's mass

    def _box(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        size = [self.number(0.3, 0.8) for _ in range(3)]
        squares = np.square(size)
        shape = {"type": "box", "size": size, "mass": mass, "center": c}
        return {"shape": shape}, mass * np.diag(squares.sum() - squares) / 12

    def _rod(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        tensor = np.diag([self.number(0.2, 0.35) for _ in range(3)])
        inertia = dict(zip(("xx", "yy", "zz"), map(float, tensor.diagonal()), strict=True))
        return {"shape": {"type": "rod", "length": 0.5, "mass": mass, "center": c}, "inertia": inertia}, tensor

    def _about_a_point(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        half = 0.1 * self.random.normal(size=(3, 3))
        tensor = 0.25 * np.eye(3) + half @ half.T
        about, p = self.pick((("origin", [0.0, 0.0, 0.0]), (f"i_{name}", self._vector(0.4))))
        if about != "origin":
            self.data["points"][about] = {name: p}
        d = np.array(c) - p
        shifted = tensor + mass * (d @ d * np.eye(3) - np.outer(d, d))
        rows = [[repr(float(x)) for x in row] for row in (shifted + shifted.T) / 2]
        return {"mass": mass, "center_of_mass": c, "inertia": rows, "inertia_about": about}, tensor

    def _orientation(self) -> Data:
        axis, angle = np.array(self._vector(1)) + 0.01, self.number(0.3, 2)
        turned = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
        return self.pick(
            (
                {"axis": axis.tolist(), "angle": angle},
                {"euler_parameters": np.roll(turned.as_quat(), 1).tolist()},
                {"rotation_matrix": turned.as_matrix().tolist()},
            )
        )

    # joints

    def _put(self, name: str, bodies: list[str], size: float, section: str = "points") -> None:
        """A point or vector on bodies: of its own on each, or one in the drawing."""
        made = (lambda: self._vector(size)) if section == "points" else self._direction
        drawn = self.random.random() < 0.4
        given = {"design": made(), "bodies": bodies} if drawn else {body: made() for body in bodies}
        self.data[section][name] = given

    def _join(self, name: str, kind: str, a: str, b: str) -> None:
        bodies = [a, b] if self.random.random() < 0.7 else [b, a]
        self._put(name, bodies, 0.5)
        joint: Data = {"type": kind, "bodies": bodies, "point": name}
        if kind == "fixed":  # as in the drawing
            self.data["points"][name] = {"design": self._vector(0.5), "bodies": bodies}
        elif kind not in ("spherical", "floating"):
            self._put(name, bodies, 1, "vectors")
            joint |= self._axes(name, kind)
            if kind in ("planar", "universal") or self.random.random() < 0.5:
                self._put(f"{name}_r", bodies, 1, "vectors")
                joint["reference"] = f"{name}_r"
        if kind != "fixed":
            joint["initial"] = self._start(kind)
            if "orientation" in joint["initial"]:
                joint["initial"]["orientation"] = self._orientation()
        self.data["joints"][name] = joint

    def point(self, body: str) -> str:
        """A new point of a body."""
        name = f"p{len(self.data['points'])}"
        self._put(name, [body], 0.6)
        return f"{body}.{name}"

    def vector(self, body: str) -> str:
        """A new vector of a body."""
        name = f"v{len(self.data['vectors'])}"
        self._put(name, [body], 1, "vectors")
        return f"{body}.{name}"

    def release(self) -> None:
        """State no velocities: those of a loop are not free."""
        for kept in self.data["joints"].values():
            for rate in RATES:
                kept.get("initial", {}).pop(rate, None)

    def forget(self, coordinate: str) -> None:
        """State no velocity of a joint that a law moves."""
        for rate in RATES:
            self.data["joints"][coordinate.partition(".")[0]]["initial"].pop(rate, None)

    # laws

    def law(self) -> str | Data:
        """A law of any argument, by name or in place."""
        n = self.number
        a, b = n(0.01, 0.05), n(0.07, 0.12)
        made = self.pick(
            (
                lambda: super(RichMechanism, self).law(),
                lambda: {"type": "one_sided", "side": "below", "start": n(-0.1, 0.1), "slope": n(1, 5), "onset": 0.2},
                lambda: {"type": "spline", "times": [-0.1, 0.03, 0.11, 0.2], "values": [n(-1, 1) for _ in range(4)],
                         "extrapolate": self.pick(("hold", "linear"))},
                lambda: {"type": "table", "file": TABLE, "columns": {"x": "s", "value": self.pick("FG")},
                         "scale": {"x": n(0.5, 2), "value": n(0.5, 2)}, "extrapolate": "linear"},
                lambda: {"type": "windowed", "start": repr(a), "end": repr(b),
                         "law": {"type": "harmonic", "amplitude": n(1, 3), "angular_frequency": f"pi/({b} - {a})",
                                 "power": 3}},
                lambda: {"type": "piecewise", "breaks": [repr(a)], "laws": [
                    {"type": "polynomial", "coefficients": ["0.3", "2", "5"]},
                    {"type": "polynomial", "coefficients": [f"0.3 - 5*{a}**2", f"2 + 10*{a}"]}]},
                lambda: {"type": "sum", "laws": [super(RichMechanism, self).law(),
                                                 {"type": "harmonic", "amplitude": n(0.2, 1), "frequency": n(1, 4),
                                                  "offset": n(-1, 1)}]},
            )
        )()  # fmt: skip
        if isinstance(made, dict) and self.random.random() < 0.5:
            name = f"l{len(self.data['laws'])}"
            self.data["laws"][name], made = made, name
        return made

    # forces

    def _force(self) -> Data:
        n, random = self.number, self.random
        body, other = self.pick(self.data["bodies"]), self.pick(["ground", *self.data["bodies"]])
        other = "ground" if body == other else other
        between = [self.point(body), self.point(other)]
        springs = {"stiffness": n(5, 40), "damping": n(0.1, 1)}
        laws = {key: self.law() for key in ("elongation_law", "law") if random.random() < 0.5}
        laws |= {"rate_law": self._damper()} if random.random() < 0.5 else {}
        axes = self.pick(("global", "body"))
        stop = self.pick(
            ({"minimum": n(0.8, 2)}, {"maximum": n(0.2, 1)}, {"minimum": n(0.6, 0.9), "maximum": n(1, 1.4)})
        )
        stop |= {"stiffness": n(5, 20), "onset": n(0.05, 0.2)}
        natural = self.pick(("auto", n(0.2, 1)))
        multiplied = {"law": self.law()} if random.random() < 0.7 else {}
        choices: list[Data] = [
            {
                "type": "spring_damper",
                "points": between,
                **springs,
                "natural_length": natural,
                **laws,
                "force": n(-2, 2),
            },
            {"type": "force", "point": between[0], "value": self._vector(3), "axes": axes, **multiplied},
            {"type": "torque", "body": body, "value": self._vector(1), "axes": axes, **multiplied},
            {"type": "bump_stop", "points": between, **stop},
            {"type": "drag", "point": between[0], "area": n(0.1, 1), "coefficient": n(0.5, 1), "density": n(1, 2)},
        ]
        if angles := [c for c in self.coordinates() if "angle" in c]:
            angle = {"coordinate": self.pick(angles), **springs, "natural_angle": natural, **laws, "torque": n(-2, 2)}
            choices += [{"type": "rotational_spring_damper", **angle}] * 2
        if found := self.coordinates():
            one = {"coordinate": self.pick(found)}
            limits = {"minimum": n(0.1, 0.5)} if random.random() < 0.5 else {"maximum": n(-0.5, -0.1)}
            choices += [
                {"type": "drive", **one, "value": n(-1, 1), **multiplied},
                {"type": "viscous_friction", **one, "damping": n(0.1, 1)},
                {"type": "bump_stop", **one, **limits, "stiffness": n(5, 20), "onset": n(0.05, 0.2)},
            ]
        if len(found) > 1:
            pair = [str(c) for c in random.permutation(found)[:2]]
            bar = {"type": "anti_roll_bar", "coordinates": pair, "ratios": [n(0.5, 1), n(-2, 2)]}
            choices += [bar | springs | {"natural": natural}] * 2
        choices += [self._tyre(body)] * 3
        return self.pick(choices)

    # tyres

    def stand(self) -> Any:
        """Places (``at``) and numbers of bodies as the tree stands."""
        bare = self.data | {"constraints": {}, "forces": {}}
        assembled = build(load(bare), sensitivity="none")
        return assembled.closing.at, assembled.topology.index

    def _tyre(self, body: str) -> Data:
        n, center, axis = self.number, self.point(body), self.vector(body)
        at, index = self.stand()
        name = center.partition(".")[2]
        given = self.data["points"][name]
        local = given.get(body) or self._drawn(body, given["design"])
        x, _, z = at.point(index[body], tuple(local))
        radius = n(0.3, 0.6)
        height = z - radius + n(-0.02, 0.05)
        slip = self.pick(
            (
                {"type": "magic_formula", "B": n(4, 10), "C": n(1.2, 1.6)},
                {"type": "linear", "longitudinal_stiffness": n(20, 60), "lateral_stiffness": n(20, 60)},
            )
        )
        tyre = {"type": "tyre", "center": center, "axis": axis, "road": self._road(x, height), "radius": radius}
        tyre |= {"stiffness": n(100, 400), "damping": n(1, 5), "onset": n(0.005, 0.02), "friction": n(0.5, 1)}
        return tyre | {"slip": slip, "slow_speed": n(0.3, 1)}

    def _drawn(self, body: str, x: list) -> list:
        """Coordinates in a body of a place in the drawing."""
        stated = self.data["bodies"][body]
        if "position" not in stated:
            return x
        return (matrix_of(stated["orientation"]).T @ (np.array(x) - stated["position"])).tolist()

    def _road(self, x: float, height: float) -> Data | str:
        """A road that has about the height at x."""
        n = self.number
        made = self.pick(
            (
                {"type": "ramp", "start": x - n(0.05, 0.2), "slope": n(-0.1, 0.1), "onset": n(0.3, 0.5)},
                {"type": "ramp", "start": x - 0.9, "end": x - n(0, 0.1), "slope": 0.05, "onset": 0.4},
                {"type": "step", "position": x - n(0.1, 0.2), "width": n(0.4, 0.6), "height": n(-0.05, 0.05)},
                {"type": "sinusoidal", "amplitude": n(0.01, 0.03), "wavelength": n(0.5, 2), "phase": n(-2, 2),
                 "offset": n(-0.01, 0.01)},
                {"type": "bumps", "positions": [x - n(0.1, 0.3), x + 2.0], "length": n(0.5, 1),
                 "height": n(0.01, 0.05)},
                {"type": "profile", "x": [x - 1, x - n(0.1, 0.3), x + n(0.1, 0.3), x + 1],
                 "z": [n(-0.03, 0.03) for _ in range(4)], "extrapolate": self.pick(("hold", "linear"))},
                {"type": "table", "file": "../properties/models/road.csv", "scale": {"x": n(1, 2), "z": n(1, 3)},
                 "extrapolate": "linear"},
                {},
            )
        )  # fmt: skip
        flat = {"type": "flat", "height": height}
        if not made:
            return flat
        roads = self.data["roads"]
        k = len(roads)
        roads |= {f"r{k}": made, f"r{k}_flat": flat, f"r{k}_sum": {"type": "sum", "roads": [f"r{k}", f"r{k}_flat"]}}
        return f"r{k}_sum"

    # constraints

    def add_constraints(self, freedom: int) -> None:
        """Constraints that the start satisfies, of all kinds; none contradicts others, and something may move."""
        self.release()
        for count in range(3):
            made, kept = self._constraint(), dict(self.data["constraints"])
            self.data["constraints"][f"k{count}"] = made
            freedom -= REMOVED[made["type"]]
            if freedom < 1 or not self._fits():
                self.data["constraints"], freedom = kept, freedom + REMOVED[made["type"]]
        turning = [joint for joint in self.data["joints"].values() if joint["type"] in ("revolute", "cylindrical")]
        for joint in (joint for joint in turning if "initial" in joint):
            joint["initial"] |= {"angular_velocity": self.number(-1, 1), "independent": ["angle"]}
            if self._fits():
                return
            del joint["initial"]["angular_velocity"], joint["initial"]["independent"]

    def _fits(self) -> bool:
        """Whether no constraint or velocity contradicts others, or follows from them."""
        try:
            return not build(self.load(), sensitivity="none").info["redundant_constraints"]
        except ModelError:
            return False

    def _constraint(self) -> Data:
        n = self.number
        body, other = self.pick(self.data["bodies"]), self.pick(["ground", *self.data["bodies"]])
        other = "ground" if body == other else other
        law = {"law": self._gentle()} if self.random.random() < 0.5 else {}
        p = self.point(body)
        choices: list[Data] = [
            {"type": "distance", "points": [p, self.point(other)], **law},
            {"type": "angle", "vectors": [self.vector(other), self.vector(body)], "axis": self.vector(other), **law},
            {
                "type": "point_on_plane",
                "point": p,
                "plane": {"point": self._beside(p, other), "normal": self.vector(other)},
            },
            {
                "type": "point_on_line",
                "point": p,
                "line": {"point": self._beside(p, other), "direction": self.vector(other)},
            },
        ]
        for key in ("plane", "line"):
            given = next(made for made in choices if key in made)[key]
            self._slide(p, given, "normal" if key == "plane" else "direction")
        if len(found := self.coordinates()) > 1:
            terms = {str(c): n(0.5, 1) for c in self.random.permutation(found)[: self.random.integers(2, 4)]}
            choices.append({"type": "coupling", "terms": terms, "offset": "auto"})
        driven = [made["coordinate"] for made in self.data["constraints"].values() if made["type"] == "motion"]
        if free := [c for c in found if c not in driven and not c.startswith("c")]:
            motion = {"type": "motion", "coordinate": self.pick(free), "law": self._gentle(), "offset": "auto"}
            choices.append(motion)
        return self.pick(choices)

    def _gentle(self) -> Data:
        """A law of time without corners."""
        n = self.number
        return self.pick(
            (
                {"type": "harmonic", "amplitude": n(0.02, 0.1), "frequency": n(0.5, 2), "phase": n(-1, 1),
                 "offset": 0.1},
                {"type": "polynomial", "coefficients": [n(-1, 1), n(-0.2, 0.2), n(-0.3, 0.3)]},
                {"type": "smooth_step", "from": 0.0, "to": n(-0.1, 0.1), "start": n(-0.1, -0.05), "end": n(0.2, 0.4)},
                {"type": "windowed", "start": "0.02", "end": "0.32",
                 "law": {"type": "harmonic", "amplitude": n(0.02, 0.1), "angular_frequency": "pi/0.3", "power": 3}},
            )
        )  # fmt: skip

    def _beside(self, point: str, other: str) -> str:
        """A point of another body at the place of a point, as the tree stands."""
        body, _, name = point.partition(".")
        at, index = self.stand()
        given = self.data["points"][name]
        place = np.array(at.point(index[body], tuple(given.get(body) or self._drawn(body, given["design"]))))
        origin = np.array(at.point(index[other], (0.0, 0.0, 0.0)))
        made = f"p{len(self.data['points'])}"
        self.data["points"][made] = {other: self._seen_from(at, index[other], place - origin)}
        return f"{other}.{made}"

    def _slide(self, point: str, given: Data, key: str) -> None:
        """Move the point of a line along it, or that of a plane within it."""
        body, _, name = given["point"].partition(".")
        vector = self.data["vectors"][given[key].partition(".")[2]]
        u = np.array(vector.get(body) or self._turned(body, vector["design"]))
        way = 0.3 * u if key == "direction" else 0.3 * np.cross(u, [0.3, 1.0, 0.2])
        self.data["points"][name][body] = (np.array(self.data["points"][name][body]) + way).tolist()

    def _turned(self, body: str, u: list) -> list:
        stated = self.data["bodies"].get(body, {})
        return (matrix_of(stated["orientation"]).T @ u).tolist() if "orientation" in stated else u

    # what is asked

    def observe(self) -> None:
        """Sensors of all kinds, and an objective of each."""
        pick, data = self.pick, self.data
        bodies = list(data["bodies"])
        one, other = pick(bodies), pick(["ground", *bodies[:-1]])
        other = "ground" if one == other else other
        order = lambda: int(self.random.integers(3))  # noqa: E731
        p, q = self.point(one), self.point(other)
        reacting = {"joint": pick(data["joints"])}
        if data["constraints"] and self.random.random() < 0.5:
            name = pick(data["constraints"])
            reacting = {"constraint": name}
            if data["constraints"][name]["type"] in ("coupling", "gear", "rack", "screw"):
                coupled = data["constraints"][name]
                first = next(iter(coupled["terms"])) if "terms" in coupled else coupled["of"]
                reacting["joint"] = first.partition(".")[0]
        reacting["axes"] = pick(("ground", "body", "ground" if "constraint" in reacting else "joint"))
        sensors: Data = {
            "s_direction": {"type": "direction", "vector": self.vector(one)},
            "s_alpha": {"type": "angular_acceleration", "body": one},
            "s_distance": {"type": "distance", "points": [p, q], "derivative": order()},
            "s_angle": {"type": "angle", "vectors": [self.vector(other), self.vector(one)], "axis": self.vector(other),
                        "derivative": order()},
            "s_way": {"type": "displacement", "points": [q, p], "direction": self.vector(other), "derivative": order()},
            "s_v": {"type": "velocity_along", "point": p, "vector": self.vector(pick(["ground", *bodies]))},
            "s_a": {"type": "acceleration_along", "point": p, "vector": self.vector(pick(["ground", *bodies]))},
            "s_attitude": {"type": pick(("roll", "pitch", "yaw")), "body": one, "derivative": order() % 2},
            "s_T": {"type": "kinetic_energy"},
            "s_V": {"type": "potential_energy"},
            "s_R": {"type": "reaction", **reacting},
        }  # fmt: skip
        if coordinates := self.coordinates():
            sensors["s_q"] = {"type": "coordinate", "coordinate": pick(coordinates), "derivative": order()}
        for name, force in data["forces"].items():
            sensors[f"s_{name}"] = {"type": "force", "force": name}
            if force["type"] == "tyre":
                quantity = pick(("normal_load", "longitudinal_slip", "lateral_slip", "longitudinal_force",
                                 "lateral_force", "deflection"))  # fmt: skip
                sensors[f"t_{name}"] = {"type": "tyre", "tyre": name, "quantity": quantity}
        data["sensors"] = sensors
        wide = ("direction", "angular_acceleration")
        vectors = [
            name
            for name, force in data["forces"].items()
            if force["type"] in ("force", "torque", "drag", "tyre", "bushing", "contact", "wing")
        ]
        made: Data = {}
        for name, sensor in sensors.items():
            if sensor["type"] == "reaction":
                made |= {f"o_{part}": {"integral": f"dot(s_R.{part}, s_R.{part})"} for part in ("force", "moment")}
            elif sensor["type"] in wide or (name[2:] in vectors and sensor["type"] == "force"):
                made[f"o_{name}"] = {"integral": f"dot({name}, [0.3, -0.5, 0.7])"}
            else:
                made[f"o_{name}"] = {pick(("integral", "final")): f"{name} + 0.1*{name}**2"}
        made["o_peak"] = {"maximum": "s_distance", "sharpness": 5}
        made["o_sum"] = {"expression": "o_s_T**2 + 0.3*o_peak"}
        data["objectives"] = made


class Sliding(RichMechanism):
    """One with springs on translations of joints, and planes that lead points."""

    def ways(self) -> list[str]:
        """Translations of joints."""
        return [coordinate for coordinate in self.coordinates() if "angle" not in coordinate]

    def _force(self) -> Data:
        n = self.number
        if not (ways := self.ways()) or self.random.random() < 0.4:
            return super()._force()
        spring = {"type": "spring_damper", "coordinate": self.pick(ways), "stiffness": n(5, 40), "damping": n(0.1, 1)}
        spring |= {"natural_length": self.pick(("auto", n(-1, 1))), "force": n(-2, 2)}
        return spring | {key: self.law() for key in ("elongation_law", "law") if self.random.random() < 0.5}

    def _constraint(self) -> Data:
        made = super()._constraint()
        led = {"distance": "auto", "law": self._gentle()} if self.random.random() < 0.7 else {}
        return made | led if made["type"] == "point_on_plane" else made


class Profiled(RichMechanism):
    """One whose laws of time change at instants that are parameters; rates of those that drive are continuous."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.instants: Data = {}

    def _instant(self, low: float, high: float) -> str:
        """A new parameter, beside the instants of results, where derivatives of fixed steps have two sides."""
        name = f"t{len(self.instants)}"
        self.instants[name] = self.number(low, high) + 2.3e-4
        return name

    def _ends(self) -> tuple[str, str]:
        return self._instant(0.01, 0.05), self._instant(0.07, 0.12)

    def _pulse(self, power: int, size: float) -> Data:
        a, b = self._ends()
        sine = {"type": "harmonic", "amplitude": self.number(size, 3 * size), "angular_frequency": f"pi/({b} - {a})"}
        return {"type": "windowed", "start": a, "end": b, "law": sine | {"power": power}}

    def _gentle(self) -> Data:
        if self.random.random() < 0.5:
            return self._pulse(int(self.random.integers(2, 4)), 0.02)
        (a, b), h = self._ends(), f"({self.number(-5, 5)})"
        rising = [f"{h}*{a}**2/2", f"-{h}*{a}", f"{h}/2"]
        pieces = [["0"], rising, [f"{h}*({a}**2 - {b}**2)/2", f"{h}*({b} - {a})"]]
        laws = [{"type": "polynomial", "coefficients": piece} for piece in pieces]
        return {"type": "piecewise", "breaks": [a, b], "laws": laws}

    def law(self) -> str | Data:
        """A law of time."""
        if self.random.random() < 0.4:
            return self._pulse(1, 1.0)
        times, n = [*self._ends(), self._instant(0.13, 0.14)], self.number
        return {"type": "spline", "times": times, "values": [n(-1, 1) for _ in times], "extrapolate": "hold"}

    def _force(self) -> Data:
        made = super()._force()
        while any(key in made for key in ("elongation_law", "rate_law")):  # which are laws of other arguments
            made = super()._force()
        return made

    def choose_parameters(self, count: int, *, anywhere: bool = False) -> None:
        """These, and those instants that act: most were drawn for forces that were not chosen."""
        super().choose_parameters(count, anywhere=anywhere)
        acting = set(
            re.findall(r"\bt\d+\b", json.dumps([self.data[section] for section in ("laws", "forces", "constraints")]))
        )
        self.data["parameters"] |= {name: time for name, time in self.instants.items() if name in acting}


def matrix_of(orientation: Data) -> np.ndarray:
    """Rotation matrix (3, 3) of an orientation in a file."""
    if "rotation_matrix" in orientation:
        return np.array(orientation["rotation_matrix"])
    if "euler_parameters" in orientation:
        return Rotation.from_quat(np.roll(orientation["euler_parameters"], -1)).as_matrix()
    axis = np.array(orientation["axis"])
    return Rotation.from_rotvec(orientation["angle"] * axis / np.linalg.norm(axis)).as_matrix()


def _tree(seed: int, kind: Any = RichMechanism) -> Any:
    m = kind(seed)
    for _ in range(m.random.integers(2, 5)):
        m.add_body(m.pick(["ground", *m.data["bodies"]]), m.pick(FREEDOM))
    if not any(joint["type"] != "fixed" for joint in m.data["joints"].values()):
        m.add_body("ground", "floating")
    return m


def tree(seed: int, kind: Any = RichMechanism) -> Any:
    """An open tree under forces of all kinds, sometimes with a driven coordinate."""
    m = _tree(seed, kind)
    m.add_forces(int(m.random.integers(2, 5)))
    if m.random.random() < 0.4 and (found := m.coordinates()):
        coordinate = m.pick(found)
        law = {"type": "motion", "coordinate": coordinate, "law": m._gentle(), "offset": "auto"}
        m.data["constraints"]["m"] = law
        m.forget(coordinate)
    return m


def profiled(seed: int, kind: Any = Profiled) -> Profiled:
    """An open tree that laws with instants drive and push."""
    m = _tree(seed, kind)
    while not m.coordinates():
        m.add_body("ground", m.pick(("revolute", "cylindrical")))
    m.add_forces(2)
    coordinate = m.pick(m.coordinates())
    law = {"type": "motion", "coordinate": coordinate, "law": m._gentle(), "offset": "auto"}
    m.data["constraints"]["m"] = law
    m.forget(coordinate)
    return m


def constrained(seed: int) -> RichMechanism:
    """A tree with constraints of all kinds."""
    m = _tree(seed)
    while (freedom := m.freedom(m.data["joints"])) < 4:
        m.add_body(m.pick(["ground", *m.data["bodies"]]), m.pick(("spherical", "planar", "cylindrical")))
    m.add_constraints(freedom)
    m.add_forces(int(m.random.integers(1, 3)))
    return m


def sliding(seed: int) -> RichMechanism:
    """A tree of which something slides, with constraints of all kinds."""
    m = _tree(seed, Sliding)
    while (freedom := m.freedom(m.data["joints"])) < 4 or not m.ways():
        m.add_body(m.pick(["ground", *m.data["bodies"]]), m.pick(("prismatic", "planar", "cylindrical")))
    m.add_constraints(freedom)
    m.add_forces(int(m.random.integers(2, 4)))
    return m


def _one_loop(seed: Any, kind: Any = RichMechanism) -> Any:
    """A chain of bodies whose last one is closed, without forces."""
    m = kind(seed)
    m.drawn = False
    body = m.add_body("ground", m.pick(("revolute", "cylindrical", "universal", "prismatic", "planar")))
    for _ in range(m.random.integers(2, 4)):
        body = m.add_body(body, m.pick(("revolute", "spherical", "cylindrical", "universal", "planar")))
    _close(m, body)
    return m


def loop(seed: int, kind: Any = RichMechanism) -> Any:
    """A loop in space that has one freedom or more."""
    m = _one_loop(seed, kind)
    m.add_forces(int(m.random.integers(1, 4)))
    return m


def machine(seed: int) -> RichMechanism:
    """Two loops with constraints of all kinds; none starts near a dead point, where accelerations have no bounds."""
    return next(m for k in itertools.count() if (m := _machine((seed, k))) and _is_calm(m))


def _machine(seed: tuple[int, int]) -> RichMechanism | None:
    """One, or None where the velocities that two loops are given contradict each other."""
    try:
        return _two_loops(seed)
    except ModelError:
        return None


def _two_loops(seed: tuple[int, int]) -> RichMechanism:
    m = _one_loop(seed)
    body = m.add_body(m.pick(m.data["bodies"]), m.pick(("spherical", "universal")))
    _close(m, m.add_body(body, m.pick(("spherical", "cylindrical", "universal"))))
    freedom = m.freedom(m.data["joints"]) - 2 * (LOOP - 1)
    m.add_constraints(max(freedom, 0))
    m.add_forces(int(m.random.integers(1, 4)))
    return m


def _close(m: RichMechanism, body: str) -> None:
    target = m.pick(("ground", m.add_body("ground", m.pick(("revolute", "universal", "spherical")))))
    fitting = [kind for kind in m.joints_closing(body, target) if kind != "fixed"]
    m.close(body, target, m.pick(fitting or ["spherical"]))


def _is_calm(m: RichMechanism) -> bool:
    try:
        state = assemble(build(m.load(), sensitivity="none").problem).state
    except MbsimError:
        return False
    return np.abs(state.zd).max() < CALM and np.abs(state.zdd).max() < CALM**2


def stated(seed: int) -> Any:
    """A tree or a loop with states, controllers, friction and armatures; states read the motion and act on it."""
    m = (tree, loop)[seed % 2](seed)
    while not (found := [name for name in m.coordinates() if name.partition(".")[2] in ("angle", "displacement")]):
        m.add_body("ground", m.pick(("revolute", "prismatic")))
    q, number = m.pick(found), m.number
    joint = m.data["joints"][q.partition(".")[0]]
    if joint["type"] in ("revolute", "prismatic"):
        m.data["joints"][q.partition(".")[0]] = joint | {
            "armature": number(0.1, 1), "friction": {"loss": number(0.2, 1), "velocity": number(2, 4)},
        }  # fmt: skip
    m.data["states"] = {
        "lag": {"initial": number(-1, 1), "rate": f"(sin({q}) - lag)/{number(0.2, 1)}"},
        "wave": {"initial": number(-1, 1), "rate": f"{number(0.5, 2)}*(lag - wave**3) + cos(3*t)"},
    }
    m.data["controllers"] = {
        "servo": {"type": "pid", "coordinate": q, "target": number(-0.5, 0.5), "kp": number(1, 5), "ki": number(1, 5),
                  "kd": number(0.2, 1), "filter": number(0.1, 0.3)},
        "seen": {"type": "delay", "input": "lag", "time": number(0.1, 0.4), "order": 2},
        "smooth": {"type": "transfer_function", "input": "wave", "numerator": [number(0.5, 2)],
                   "denominator": [number(0.1, 0.3), number(0.3, 1), 1]},
        "motor": {"type": "dc_motor", "coordinate": q, "voltage": f"{number(1, 3)}*smooth", "resistance": number(1, 2),
                  "inductance": number(0.2, 0.5), "torque_constant": number(0.2, 0.5), "gear": number(1, 3)},
    }  # fmt: skip
    m.data["forces"]["back"] = {"type": "drive", "coordinate": q, "value": f"{number(0.5, 2)}*wave - seen"}
    m.sections = (*m.sections, "states", "controllers")
    return m


def expressed(seed: int) -> Any:
    """A tree or a loop under forces that are expressions of what several bodies do."""
    m = (tree, loop)[seed % 2](seed)
    bodies, number = list(m.data["bodies"]), m.number
    m.read = {
        "e_r": {"type": "position", "point": m.point(m.pick(bodies))},
        "e_v": {"type": "velocity", "point": m.point(m.pick(bodies))},
        "e_w": {"type": "angular_velocity", "body": m.pick(bodies)},
        "e_d": {"type": "direction", "vector": f"{m.pick(bodies)}.x"},
        "e_s": {"type": "distance", "points": [m.point("ground"), m.point(m.pick(bodies))]},
    }
    read = [f"{number(0.5, 2)}*e_r.x", f"{number(0.1, 1)}*e_v.y*abs(e_v.y)", f"sin({number(1, 2)}*e_w.z + t)", "e_d.y",
            f"step(e_s, 0.2, 0, {number(1, 2)}, 1)", f"if(e_v.x > 0, tanh(e_v.x), {number(0.5, 2)}*e_v.x)"]  # fmt: skip
    if found := [name for name in m.coordinates() if name.partition(".")[2] in ("angle", "displacement")]:
        q = m.pick(found)
        read.append(f"{q}*{q}.velocity")
        value = f"-{number(0.5, 2)}*{q} - {number(0.1, 1)}*{q}.velocity + {m.pick(read)}"
        m.data["forces"]["e_drive"] = {"type": "drive", "coordinate": q, "value": value}
    body = m.pick(bodies)
    m.data["forces"] |= {
        "e_spring": {
            "type": "spring_damper", "points": [m.point("ground"), m.point(body)], "stiffness": number(1, 5),
            "natural_length": number(0.2, 1), "force": f"{m.pick(read)} - {m.pick(read)}",
        },
        "e_force": {"type": "force", "point": m.point(body), "axes": m.pick(("global", "body")),
                    "value": [m.pick(read), number(-1, 1), m.pick(read)]},
        "e_torque": {"type": "torque", "body": m.pick(bodies), "value": [0, m.pick(read), m.pick(read)]},
    }  # fmt: skip
    return m


def mounted(seed: int) -> Any:
    """A tree or a loop with a bushing, contacts, a wing, a cable, a stiffness that follows the motion, cam and gear."""
    m = (tree, loop)[seed % 2](seed)
    bodies, number = list(m.data["bodies"]), m.number
    free = m.add_body("ground", m.pick(("floating", "spherical", "planar")))
    others = ["ground", *bodies]
    m.data["forces"]["m_mount"] = {
        "type": "bushing", "points": [m.point(m.pick(others)), m.point(free)],
        "stiffness": [number(1, 5) for _ in range(6)], "damping": [number(0.1, 0.5) for _ in range(6)],
        "natural": [number(-0.2, 0.2) for _ in range(6)], "preload": [number(-1, 1) for _ in range(6)],
    }  # fmt: skip
    center = m.point(free)
    vector = {"center": center, "axis": f"{free}.{m.pick('xyz')}", "radius": number(0.5, 1)}
    shape = m.pick((
        {"type": "sphere", "center": center, "radius": number(2, 3)},
        {"type": "rim", **vector, "tube": number(0.1, 0.3)},
        {"type": "cylinder", **vector, "length": number(0.5, 1)},
        {"type": "box", "center": center, "size": [number(0.5, 2) for _ in range(3)]},
        {"type": "points", "points": [center, m.point(free)]},
    ))  # fmt: skip
    against = m.pick(others)
    plane = {"type": "plane", "point": m.point(against), "normal": f"{against}.{m.pick('xyz')}"}
    face = plane if shape["type"] in ("rim", "cylinder") else m.pick((
        plane,
        {"type": "sphere", "center": m.point(against), "radius": number(1, 2)},
        {"type": "cylinder", "center": m.point(against), "axis": f"{against}.{m.pick('xyz')}", "radius": number(1, 2)},
    ))  # fmt: skip
    m.data["forces"]["m_touch"] = {
        "type": "contact", "shape": shape, "against": face, "stiffness": number(2, 5), "exponent": number(1.5, 2.5),
        "dissipation": number(0.05, 0.2), "friction": number(0.1, 0.4), "friction_speed": number(1, 2),
    }  # fmt: skip
    m.data["forces"]["m_roll"] = {
        "type": "contact", "shape": {"type": "sphere", "center": m.point(free), "radius": number(2, 3)},
        "against": {"type": "road", "road": {"type": "sinusoidal", "amplitude": number(0.1, 0.3),
                                             "offset": number(-1, 1), "wavelength": number(8, 12)}},
        "stiffness": number(2, 5), "friction": number(0.1, 0.4), "friction_speed": number(1, 2),
    }  # fmt: skip
    m.data["forces"]["m_wing"] = {
        "type": "wing", "point": m.point(free), "normal": m.vector(free), "area": number(0.1, 0.5),
        "lift_slope": number(1, 3), "drag_coefficient": number(0.1, 0.5), "wind": m._vector(2),
    }  # fmt: skip
    m.data["cables"] = {
        "m_cable": {"path": [m.point("ground"), m.point(m.pick(bodies)), m.point(free)], "length": number(0.1, 0.3),
                    "stiffness": number(1, 5), "damping": number(0.1, 0.5), "onset": number(0.1, 0.3)},
    }  # fmt: skip
    m.sections = (*m.sections, "cables")
    m.read = {"m_s": {"type": "distance", "points": [m.point("ground"), m.point(free)]},
              "m_e": {"type": "expression", "value": f"m_s**2 - {number(0.2, 1)}*t"}}  # fmt: skip
    m.data["forces"]["m_spring"] = {
        "type": "spring_damper", "points": [m.point("ground"), m.point(free)], "natural_length": number(0.2, 1),
        "stiffness": f"{number(1, 3)} + tanh(m_e)", "damping": f"{number(0.1, 0.5)}*(1 + m_s**2)",
    }  # fmt: skip
    by, of, wheel = (m.add_body("ground", kind) for kind in ("revolute", m.pick(("revolute", "prismatic")), "revolute"))
    driven, meshing = m.parent[of][1], m.parent[wheel][1]
    for joint in (driven, meshing):
        m.forget(f"{joint}.")
    m.data.setdefault("constraints", {})["m_cam"] = {
        "type": "coupling", "law": m.law(), "by": f"{m.parent[by][1]}.angle", "offset": "auto",
        "of": next(name for name in m.coordinates() if name.startswith(f"{driven}.")),
    }  # fmt: skip
    m.data["constraints"]["m_wheels"] = {
        "type": "gear", "of": f"{meshing}.angle", "by": f"{m.parent[by][1]}.angle",
        "ratio": number(-2, -0.5), "offset": "auto",
    }  # fmt: skip
    return m


def rubbed(seed: int) -> Any:
    """A tree or a loop whose joints rub by what they carry."""
    m = (tree, loop)[seed % 2](seed)
    number = m.number

    def rub(*arm: float) -> Data:
        found = {"dynamic": number(0.05, 0.2), "static": number(0.2, 0.3), "velocity": number(1, 3)}
        return found | dict(zip(("radius",), arm, strict=False))

    for joint in m.data["joints"].values():
        match joint["type"]:
            case "prismatic":
                joint["friction"] = rub()
            case "revolute" | "spherical":
                joint["friction"] = rub(number(0.02, 0.1))
            case "cylindrical":
                joint["friction"] = {"angle": rub(number(0.02, 0.1)), "displacement": rub()}
            case "universal":
                joint["friction"] = {"angle_1": rub(number(0.02, 0.1)), "angle_2": rub(number(0.02, 0.1))}
    return m


def roped(seed: int) -> Any:
    """A tree or a loop with a body on a cable of constant length, which runs through points and over a pulley."""
    m = (tree, loop)[seed % 2](seed)
    number, body = m.number, m.pick(list(m.data["bodies"]))
    free = m.add_body("ground", m.pick(("floating", "planar")))
    m.forget(f"{m.parent[free][1]}.")
    center = m.pick(("ground", body))
    pulley = {"center": m.point(center), "axis": m.vector(center), "radius": number(0.03, 0.06),
              "turn": m.pick(("positive", "negative"))}  # fmt: skip
    path = [m.point("ground"), m.point(body), pulley, m.point(free)]
    law = {"law": m._gentle()} if m.random.random() < 0.5 else {}
    m.data["cables"] = {"m_rope": {"path": path, "length": "auto", **law}}
    m.sections = (*m.sections, "cables")
    return m


GROWN = {"rich tree": tree, "rich states": stated, "rich constraints": constrained, "rich slides": sliding}
GROWN |= {
    "rich loop": loop,
    "rich machine": machine,
    "rich expressions": expressed,
    "rich mounts": mounted,
    "rich friction": rubbed,
    "rich cables": roped,
}


def finished(m: Any) -> Any:
    """The mechanism with sensors, and numbers only."""
    m.observe()
    m.data["sensors"] |= m.read
    for name in m.data.get("states", ()):
        m.data["objectives"][f"o_{name}"] = {"integral": f"{name} + 0.1*{name}**2"}
    return m


def grown(family: str, seed: int) -> RichMechanism:
    """A mechanism of a family with sensors, and numbers only."""
    return finished((GROWN | {"rich profiles": profiled})[family](seed))


def with_parameters(grow: Callable[[int], Any], seed: int, parameters: int = PARAMETERS) -> Data:
    """A model file of a mechanism that ``grow`` makes."""
    m = finished(grow(seed))
    m.choose_parameters(parameters)
    return m.data


FAMILIES = {family: partial(with_parameters, grow) for family, grow in (GROWN | {"rich profiles": profiled}).items()}
