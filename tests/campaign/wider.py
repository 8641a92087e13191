"""Random mechanisms of the keys that ``richer`` leaves out: all forms of contacts, bushings, cables, friction, states.

Objectives are means, mean squares, smallest values and values at one time, too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.campaign.generator import Data
from tests.campaign.richer import Profiled, RichMechanism, loop, profiled, tree, with_parameters

PARTS = {"points": 2, "box": 8, "cylinder": 2, "capsule": 2}  # of a shape that touches
APART = 0.011  # s
DIRECTIONS = ("x", "y", "z", "rotation_x", "rotation_y", "rotation_z")


class WideMechanism(RichMechanism):
    """One whose shapes hold their mass and centre, and that is asked in more ways."""

    def _cylinder(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        made, tensor = super()._cylinder(name, c, mass)
        return {"shape": made["shape"] | {"mass": mass}}, tensor

    def _sphere(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        radius = self.number(0.4, 0.7)
        return {
            "shape": {"type": "sphere", "radius": radius, "mass": mass, "center": c}
        }, 0.4 * mass * radius**2 * np.eye(3)

    def _rod(self, name: str, c: list, mass: float) -> tuple[Data, np.ndarray]:
        made, tensor = super()._rod(name, c, mass)
        return made | {"shape": {"type": "point_mass", "mass": mass, "center": c}}, tensor

    def observe(self) -> None:
        """Sensors of contacts, bushings and expressions beside those of all kinds."""
        super().observe()
        pick, n, sensors, objectives = self.pick, self.number, self.data["sensors"], self.data["objectives"]
        for name, force in self.data["forces"].items():
            if force["type"] == "contact":
                part = PARTS.get(force.get("shape", {}).get("type", ""))
                quantity = pick(("normal_force", "friction", "sliding_speed", "penetration"))
                sensors[f"c_{name}"] = {"type": "contact", "contact": name, "quantity": quantity}
                if part:
                    sensors[f"c_{name}"]["part"] = int(self.random.integers(part)) + 1
                objectives[f"o_c_{name}"] = {"mean": f"c_{name}"}
            if force["type"] == "bushing":
                quantity = pick(("force", "torque", "displacement", "rotation"))
                sensors[f"h_{name}"] = {"type": "bushing", "bushing": name, "quantity": quantity}
                objectives[f"o_h_{name}"] = {"mean": f"dot(h_{name}, [0.3, -0.5, 0.7])"}
        sensors["s_e"] = {"type": "expression", "value": f"s_T + {n(0.1, 1)}*s_V*s_way", "unit": "J"}
        for name in ("s_T", "s_e", "s_way", "s_angle"):
            objectives[f"w_{name}"] = pick((
                {"mean": f"{name}**2"},
                {"rms": f"{name} - {n(-1, 1)}"},
                {"minimum": name, "sharpness": n(2, 5)},
                {"at": {"time": n(0.03, 0.12), "value": f"{name} + 0.1*{name}**2"}},
            ))  # fmt: skip


def _grown(seed: int) -> Any:
    return (tree, loop)[seed % 2](seed, WideMechanism)


# contacts


def touching(seed: int) -> Any:
    """A tree or a loop with contacts of every form between a free body and others."""
    m = _grown(seed)
    others = ["ground", *m.data["bodies"]]
    free = m.add_body("ground", m.pick(("floating", "spherical", "planar")))
    for k in range(2):
        m.data["forces"][f"m_{k}"] = {"type": "contact", **_form(m, free, m.pick(others)), **_dry(m)}
    return m


def _form(m: Any, free: str, against: str) -> Data:
    """What touches what, how stiff they are, and how they damp; spheres sometimes by Hertz."""
    n, center = m.number, m.point(free)
    plane = {"point": m.point(against), "normal": f"{against}.{m.pick('xyz')}"}
    along = {"axis": f"{against}.{m.pick('xyz')}", "radius": n(1, 2)}
    shape = m.pick((
        {"type": "sphere", "center": center, "radius": n(2, 3)},
        {"type": "points", "points": [center, m.point(free)]},
        {"type": "box", "center": center, "size": [n(0.5, 2) for _ in range(3)]},
        {"type": "rim", "center": center, "axis": m.vector(free), "radius": n(0.5, 1), "tube": n(0.1, 0.3)},
        {"type": "cylinder", "center": center, "axis": m.vector(free), "radius": n(0.5, 1), "length": n(0.5, 1)},
        {"type": "capsule", "center": center, "axis": m.vector(free), "radius": n(0.5, 1), "length": n(0.5, 1)},
    ))  # fmt: skip
    round_ones = [{"type": "plane"} | plane]
    if shape["type"] in ("sphere", "points", "box"):
        at = {"center": m.point(against)}
        round_ones += [
            {"type": "sphere", **at, "radius": n(1, 2)},
            {"type": "cylinder", **at, **along},
            {"type": "capsule", **at, **along, "length": n(0.5, 1)},
        ]
    form = m.pick((
        {"shape": shape, "against": m.pick(round_ones)},
        {"shape": shape, "against": m.pick(round_ones)},
        {"center": center, "radius": n(2, 3), "plane": plane},
        {"points": [m.point(against), center], "radii": [n(1, 2), n(1, 2)]},
    ))  # fmt: skip
    spheres = "shape" not in form or (shape["type"] == "sphere" and form["against"]["type"] in ("plane", "sphere"))
    moduli = {"youngs_modulus": [n(1, 3), n(1, 3)], "poisson_ratio": [n(0.2, 0.4), n(0.2, 0.4)]}
    stiff = {"stiffness": n(2, 5), "exponent": n(1.5, 2.5)}
    form |= moduli if spheres and m.random.random() < 0.5 else stiff
    return form | m.pick((
        {"dissipation": n(0.05, 0.2)},
        {"restitution": {"value": n(0.5, 0.9), "speed": n(1, 2),
                         "law": m.pick(("exact", "flores", "lankarani_nikravesh", "hunt_crossley"))}},
        {"impact": {"damping": n(0.1, 0.5), "depth": n(0.5, 1)}},
    ))  # fmt: skip


def _dry(m: Any) -> Data:
    found = {"friction": m.number(0.1, 0.3), "friction_speed": m.number(1, 2)}
    return found | ({"static_friction": m.number(0.3, 0.5)} if m.random.random() < 0.5 else {})


# bushings and gears


def bushed(seed: int) -> Any:
    """A tree or a loop with a bushing of every form, a wing in water, and a rack and a screw on one shaft."""
    m = _grown(seed)
    n, others = m.number, ["ground", *m.data["bodies"]]
    free, other = m.add_body("ground", m.pick(("floating", "spherical", "planar"))), m.pick(others)
    bushing = {"type": "bushing", "points": [m.point(other), m.point(free)]}
    if m.random.random() < 0.6:
        bushing["axis"] = [m.vector(other), m.vector(free)]
        if m.random.random() < 0.6:
            bushing["reference"] = [m.vector(other), m.vector(free)]
    for key, size in (("stiffness", 4.0), ("damping", 0.4)):
        whole = m.random.random() < 0.5
        bushing |= {f"{key}_matrix": _symmetric(m, size)} if whole else {key: [n(size / 4, size) for _ in range(6)]}
    if m.random.random() < 0.7:
        bushing["laws"] = {name: m.law() for name in DIRECTIONS if m.random.random() < 0.5} or {"x": m.law()}
    m.data["forces"]["m_mount"] = bushing | {
        "natural": [n(-0.2, 0.2) for _ in range(6)],
        "preload": [n(-1, 1) for _ in range(6)],
    }
    m.data["forces"]["m_wing"] = {
        "type": "wing", "point": m.point(free), "normal": m.vector(free), "area": n(0.1, 0.5), "lift_slope": n(1, 3),
        "density": n(1, 3),
    }  # fmt: skip
    shaft, bar, nut = (m.parent[m.add_body("ground", kind)][1] for kind in ("revolute", "prismatic", "prismatic"))
    for joint in (bar, nut):
        m.forget(f"{joint}.")
        if offset_free := m.random.random() < 0.5:
            m.data["joints"][joint]["initial"] |= {"independent": False}
        size = {"radius": n(0.1, 0.3)} if joint == bar else {"pitch": n(0.5, 1)}
        m.data["constraints"][f"m_{joint}"] = {
            "type": "rack" if joint == bar else "screw", "of": f"{joint}.displacement", "by": f"{shaft}.angle",
            "offset": n(-0.2, 0.2) if offset_free else "auto", **size,
        }  # fmt: skip
    return m


def _symmetric(m: Any, size: float) -> list[list[str]]:
    """A positive definite matrix (6, 6) of texts."""
    half = m.random.normal(size=(6, 6))
    found = size * (np.eye(6) + 0.1 * half @ half.T) / 2
    return [[repr(round(float(x), 6)) for x in row] for row in found]


# cables


def pulled(seed: int) -> Any:
    """A tree or a loop with an elastic cable that rubs on a pulley, and one of constant length that a drum winds up."""
    m = _grown(seed)
    n, body = m.number, m.pick(list(m.data["bodies"]))
    free, hung = (m.add_body("ground", m.pick(("floating", "planar"))) for _ in range(2))
    drum = m.add_body("ground", "revolute")
    m.forget(f"{m.parent[hung][1]}.")
    pulley = {
        "center": m.point("ground"), "axis": m.vector("ground"), "radius": n(0.03, 0.06),
        "turn": m.pick(("positive", "negative")), "turns": int(m.random.integers(2)),
    }  # fmt: skip
    rate = n(-0.5, 0.5)
    wound = m.pick(({"length": n(0.1, 0.3)}, {"length": f"{n(0.1, 0.3)} + ({rate})*t", "rate": f"{rate}"}))
    m.data["cables"] = {
        "m_pull": {"path": [m.point("ground"), pulley, m.point(body), m.point(free)], **wound, "stiffness": n(1, 5),
                   "damping": n(0.1, 0.5), "onset": n(0.1, 0.3), "friction": n(0.1, 0.3), "velocity": n(0.5, 1)},
        "m_hoist": {"path": [m.point("ground"), m.point(hung), m.point("ground")], "length": "auto",
                    "winds": {f"{m.parent[drum][1]}.angle": n(0.1, 0.3)},
                    **({"law": m._gentle()} if m.random.random() < 0.5 else {})},
    }  # fmt: skip
    m.sections = (*m.sections, "cables")
    return m


# joints


def jointed(seed: int) -> Any:
    """A tree or a loop whose joints rub by a given loss, some by bristles, beside an arm by a table of rows.

    Two more bodies start from guesses, which a stated distance and a stated angle move.
    """
    m = _grown(seed)
    n, pick = m.number, m.pick

    def rub(bristles: float = 0.5) -> Data:
        loss = n(0.2, 0.5)
        found = {"loss": loss, "velocity": n(1, 3)}
        found |= {"breakaway": n(0.6, 0.9)} if m.random.random() < 0.5 else {}
        found |= {"viscous": n(0.1, 0.3)} if m.random.random() < 0.5 else {}
        bristle = {"law": "bristle", "stiffness": n(5, 20), **pick(({}, {"damping": n(0.1, 0.5)}))}
        return found | (bristle if m.random.random() < bristles else {})

    for at, joint in m.data["joints"].items():
        names = {"cylindrical": ("displacement", "angle"), "universal": ("angle_1", "angle_2")}.get(joint["type"], ())
        if joint["type"] in ("revolute", "prismatic"):
            joint |= {"friction": rub()} | ({"armature": n(0.1, 0.5)} if at.startswith("j") else {})
        elif joint["type"] == "spherical":
            joint["friction"] = rub(bristles=0.0)
        elif names:
            joint["friction"] = {name: rub() for name in names if m.random.random() < 0.7} or {names[0]: rub()}
    for kind in ("floating", pick(("spherical", "universal"))):
        free = m.add_body("ground", kind)
        start = m.data["joints"][m.parent[free][1]]["initial"]
        m.forget(f"{m.parent[free][1]}.")
        start["independent"] = False
        if kind == "floating":
            stated = {"type": "distance", "points": [m.point("ground"), m.point(free)], "distance": n(0.5, 1.5)}
        else:
            vectors = ["ground.x", f"{free}.x"]
            stated = {"type": "angle", "vectors": vectors, "axis": m.vector("ground"), "angle": n(0.5, 1)}
        m.data["constraints"][f"h_{kind}"] = stated
    inertia = {"xx": n(0.2, 0.3), "yy": n(0.2, 0.3), "zz": n(0.2, 0.3)}
    row = lambda: {"theta": n(-1, 1), "d": n(-0.3, 0.3), "a": n(-0.3, 0.3), "alpha": n(-1, 1)}  # noqa: E731
    shape = {"type": "box", "size": [0.3, 0.4, 0.5], "mass": n(0.5, 2), "center": m._vector(0.2)}
    m.data["dh"] = {"arm": {
        "convention": pick(("distal", "proximal")), "base": pick(("ground", *m.data["bodies"])), "rows": {
            "h0": row() | {"initial": {"angle": n(-1, 1), "angular_velocity": n(-1, 1)}, "link": {
                "name": "upper", "mass": n(0.5, 2), "center_of_mass": m._vector(0.2), "inertia": inertia}},
            "h1": row() | {"variable": "d", "sign": pick((1, -1)), "initial": {"displacement": n(-0.2, 0.2)}},
            "h2": row() | {"link": {"name": "lower", "shape": shape}},
            "h3": row() | {"variable": pick(("theta", "none")), "parent": "h0", "link": {
                "mass": n(0.5, 2), "inertia": dict(inertia), "inertia_about": "origin"}},
        }}}  # fmt: skip
    m.sections = (*m.sections, "dh")
    m.data["forces"]["h_drive"] = {"type": "drive", "coordinate": "h2.angle", "value": n(-1, 1)}
    return m


# states


def controlled(seed: int) -> Any:
    """A tree or a loop with controllers of every form, which have targets that move, limits and rotors."""
    m = _grown(seed)
    while not (found := [name for name in m.coordinates() if name.partition(".")[2] in ("angle", "displacement")]):
        m.add_body("ground", m.pick(("revolute", "prismatic")))
    q, n = m.pick(found), m.number
    m.data["laws"]["l_target"] = {"type": "harmonic", "amplitude": n(0.2, 0.5), "frequency": n(1, 3)}
    m.data["states"] = {"lag": {"initial": n(-1, 1), "rate": f"({q} - lag)/{n(0.2, 1)}", "unit": "rad"}}
    limited = {"limit": n(1, 2), "anti_windup": n(0.5, 2)} if m.random.random() < 0.5 else {}
    filtered = {"filter": n(0.1, 0.3)} if m.random.random() < 0.5 else {}
    wound = {"inductance": n(0.2, 0.5), "initial": n(-1, 1)} if m.random.random() < 0.5 else {}
    m.data["controllers"] = {
        "servo": {"type": "pid", "coordinate": q, "target": m.pick(("l_target(t)", "0.3*lag", "l_target")),
                  "kp": n(1, 5), "ki": n(1, 5), "kd": n(0.2, 1), "target_rate": f"{n(0.1, 0.5)}*cos(3*t)",
                  **limited, **filtered},
        "seen": {"type": "delay", "input": f"lag + {n(0.1, 0.5)}*l_target(t)", "time": n(0.1, 0.4),
                 "initial": n(-1, 1), "order": int(m.random.integers(1, 5)), "unit": "rad"},
        "smooth": {"type": "transfer_function", "input": f"{q}.velocity", "numerator": [n(0.5, 2), n(0.1, 1)],
                   "denominator": [n(0.1, 0.3), n(0.3, 1), 1], "unit": "rad/s"},
        "motor": {"type": "dc_motor", "coordinate": m.pick(found), "voltage": f"{n(1, 3)}*smooth - seen",
                  "resistance": n(1, 2), "torque_constant": n(0.2, 0.5), "rotor_inertia": n(0.01, 0.1), "gear": n(1, 3),
                  **wound},
    }  # fmt: skip
    motor = m.data["controllers"]["motor"]
    if m.data["joints"][motor["coordinate"].partition(".")[0]]["type"] not in ("revolute", "prismatic"):
        del motor["rotor_inertia"]
    m.sections = (*m.sections, "states", "controllers")
    return m


# laws that jump


class Jumping(WideMechanism, Profiled):
    """One whose laws of time jump at instants that are parameters: that of objectives, and those of forces in some."""

    jumps = False  # whether forces do, which open trees alone take

    def law(self) -> str | Data:
        """A law of time."""
        return self._jump() if self.jumps else super().law()

    def _jump(self) -> Data:
        times = ["0", *self._ends()]
        return {"type": "spline", "times": times, "values": [self.number(-1, 1) for _ in times], "extrapolate": "hold",
                "between": self.pick(("constant", "constant", "linear"))}  # fmt: skip

    def observe(self) -> None:
        """Distances from a target that jumps, too."""
        super().observe()
        self.data["laws"]["target"] = self._jump()
        for k, name in enumerate(("s_way", "s_T", "s_alpha.x")):
            self.data["objectives"][f"j_{k}"] = {self.pick(("integral", "mean", "rms")): f"({name} - target(t))**2"}

    def choose_parameters(self, count: int, *, anywhere: bool = False) -> None:
        """With instants more than two steps apart; a warning says what derivatives lack where they are not."""
        super().choose_parameters(count, anywhere=anywhere)
        given, last = self.data["parameters"], 0.0
        for name in sorted(given.keys() & self.instants.keys(), key=given.get):
            last = given[name] = max(given[name], last + APART)


def jumping(seed: int) -> Any:
    """An open tree that laws with instants drive and push; forces jump in every other one."""
    return profiled(seed, type("Jumping", (Jumping,), {"jumps": bool(seed % 2)}))


GROWN: dict[str, Callable[[int], Any]] = {
    "wide contacts": touching,
    "wide mounts": bushed,
    "wide cables": pulled,
    "wide joints": jointed,
    "wide states": controlled,
    "wide jumps": jumping,
}

FAMILIES = {family: partial(with_parameters, grow) for family, grow in GROWN.items()}
