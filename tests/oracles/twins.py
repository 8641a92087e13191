"""Random mechanisms, each written twice, body by body: as a model file of mbsim, and as MJCF for MuJoCo."""

from xml.etree import ElementTree

import mujoco
import numpy as np

JOINTS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "floating")
DURATION = 0.4
SIZE = 6  # bodies
LAST = f"b{SIZE - 1}"
GRAVITY = (0.0, 0.0, -9.81)
VALUES = {"m": 2.0, "k": 30.0, "reach": 0.4}  # the parameters: a mass, a stiffness, a length


class Twins:
    """A tree of bodies with springs, or a chain that rests. Zero coordinates leave all axes parallel.

    ``values`` are those of the parameters in MuJoCo.
    """

    def __init__(self, seed: int, chain: bool = False, **values: float):
        self._rng = np.random.default_rng(seed)
        self._values, self._moving = VALUES | values, not chain
        self.model = {
            "mbsim": 1, "gravity": list(GRAVITY), "parameters": dict(VALUES), "points": {}, "vectors": {}, "bodies": {},
            "joints": {}, "forces": {}, "sensors": {}, "objectives": {},
            "analysis": {"step": 1e-2, "duration": DURATION},
        }  # fmt: skip
        self._xml = ElementTree.Element("mujoco")
        self._put(self._xml, "option", gravity=GRAVITY)
        self._start: dict[str, tuple[list, list]] = {}  # position and velocity of each joint of MuJoCo
        self._bodies = {"ground": self._put(self._xml, "worldbody")}
        self._tendons = self._put(self._xml, "tendon")
        for number in range(SIZE):
            parent = list(self._bodies)[-1] if chain else str(self._rng.choice(list(self._bodies)))
            self._body(f"b{number}", parent, str(self._rng.choice(JOINTS[:-1] if chain else JOINTS)))
        for number in range(3):
            self._spring(f"s{number}", *map(str, self._rng.choice(list(self._bodies), size=2, replace=False)))
        self.point("tip", LAST, ["reach", 0.2, -0.1])
        self.model["sensors"]["tip"] = {"type": "position", "point": f"{LAST}.tip"}
        self.model["objectives"]["height"] = {"final": "tip.z"}

    @staticmethod
    def _put(parent, tag: str, **attributes) -> ElementTree.Element:
        """An element with numbers and texts."""
        written = {
            k: v if isinstance(v, str) else " ".join(map(repr, np.ravel(v).tolist())) for k, v in attributes.items()
        }
        return ElementTree.SubElement(parent, tag, written)

    def _number(self, value) -> float:
        """What an expression of the model file, the name of a parameter or a number, is for MuJoCo."""
        return self._values.get(value, value)

    def point(self, name: str, body: str, place) -> None:
        """A point of both programs; that of MuJoCo is called ``name.body``."""
        self.model["points"].setdefault(name, {})[body] = list(place)
        self._put(self._bodies[body], "site", name=f"{name}.{body}", pos=[self._number(x) for x in place])

    def _body(self, name: str, parent: str, kind: str) -> None:
        here, there, axis, centre = self._rng.normal(size=(4, 3)) * 0.3
        spread = self._rng.normal(size=(3, 3)) * 0.2
        inertia = (np.trace(spread @ spread.T) + 0.02) * np.eye(3) - spread @ spread.T  # that of some body
        mass = self._rng.uniform(0.5, 3.0) if self.model["bodies"] else "m"
        self.model["bodies"][name] = {"mass": mass, "center_of_mass": centre.tolist(), "inertia": inertia.tolist()}
        self.model["points"][f"p_{name}"] = {parent: here.tolist(), name: there.tolist()}
        self.model["vectors"][f"u_{name}"] = {parent: axis.tolist(), name: axis.tolist()}
        self._bodies[name] = twin = self._put(self._bodies[parent], "body", pos=here - there)
        moments = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        self._put(twin, "inertial", pos=centre, mass=self._number(mass), fullinertia=moments)
        joint = {"type": kind, "bodies": [parent, name], "point": f"p_{name}"}
        self.model["joints"][f"j_{name}"] = joint | getattr(self, f"_{kind}")(name, axis, there)

    def _joint(self, body: str, kind: str, axis, there) -> tuple[float, float]:
        """A coordinate of MuJoCo, and where it starts."""
        q, v = self._rng.uniform(-1.0, 1.0), self._moving * self._rng.normal()
        name = f"{body}.{len(self._start)}"
        self._put(self._bodies[body], "joint", name=name, type=kind, axis=axis, pos=there)
        self._start[name] = [q], [v]
        return q, v

    def _ball(self, body: str, there) -> dict:
        """A ball joint, whose angular velocity has its own axes in MuJoCo, and how it starts."""
        e = self._rng.normal(size=4)
        e /= np.linalg.norm(e)
        spin, matrix = self._moving * self._rng.normal(size=3), np.zeros(9)
        mujoco.mju_quat2Mat(matrix, e)
        self._put(self._bodies[body], "joint", name=f"{body}.ball", type="ball", pos=there)
        self._start[f"{body}.ball"] = e.tolist(), (spin @ matrix.reshape(3, 3)).tolist()
        return {"orientation": {"euler_parameters": e.tolist()}, "angular_velocity": spin.tolist()}

    def _revolute(self, body, axis, there):
        q, v = self._joint(body, "hinge", axis, there)
        return {"axis": f"u_{body}", "initial": {"angle": q, "angular_velocity": v}}

    def _prismatic(self, body, axis, there):
        q, v = self._joint(body, "slide", axis, there)
        return {"axis": f"u_{body}", "initial": {"displacement": q, "velocity": v}}

    def _cylindrical(self, body, axis, there):
        slide, turn = self._prismatic(body, axis, there), self._revolute(body, axis, there)
        return slide | {"initial": slide["initial"] | turn["initial"]}

    def _universal(self, body, axis, there):
        q, v = zip(*(self._joint(body, "hinge", row, there) for row in np.eye(3)[:2]), strict=True)
        return {"axes": ["x", "y"], "reference": ["y", "x"], "initial": {"angles": list(q), "angle_rates": list(v)}}

    def _spherical(self, body, axis, there):
        return {"initial": self._ball(body, there)}

    def _floating(self, body, axis, there):
        q, v = zip(*(self._joint(body, "slide", row, there) for row in np.eye(3)), strict=True)
        return {"initial": {"position": list(q), "velocity": list(v)} | self._ball(body, there)}

    def _spring(self, name: str, one: str, other: str) -> None:
        for body in (one, other):
            self.point(name, body, self._rng.normal(size=3).tolist())
        k, c, length = self._rng.uniform(0.5, 5.0, size=3).tolist()
        stiffness = k if self.model["forces"] else "k"
        self.model["forces"][name] = {
            "type": "spring_damper", "points": [f"{one}.{name}", f"{other}.{name}"],
            "stiffness": stiffness, "damping": c, "natural_length": length,
        }  # fmt: skip
        tendon = self._put(self._tendons, "spatial", stiffness=self._number(stiffness), damping=c, springlength=length)
        for body in (one, other):
            self._put(tendon, "site", site=f"{name}.{body}")

    def close(self, one: str, other: str) -> tuple[str, str]:
        """Join two bodies by a ball where a point of the first one is at the start; its sites' names."""
        place = self._rng.normal(size=3) * 0.3
        self.point("loop", one, place.tolist())
        _, data = self.mujoco()
        there = data.body("world" if other == "ground" else other)
        self.point("loop", other, ((data.site(f"loop.{one}").xpos - there.xpos) @ there.xmat.reshape(3, 3)).tolist())
        self.model["joints"]["loop"] = {"type": "spherical", "bodies": [one, other], "point": "loop"}
        self.model["sensors"]["pull"] = {"type": "reaction", "joint": "loop"}
        return f"loop.{one}", f"loop.{other}"

    def mujoco(self):
        """MuJoCo's model, and its data at the start."""
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(self._xml, encoding="unicode"))
        data = mujoco.MjData(model)
        for name, (position, velocity) in self._start.items():
            data.joint(name).qpos, data.joint(name).qvel = position, velocity
        mujoco.mj_forward(model, data)
        return model, data
