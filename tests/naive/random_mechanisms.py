"""Random mechanisms written down twice: as model files, and for the textbook twin."""

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from tests.naive.joints import Apart, InPlane, Turns, joint
from tests.naive.maximal import Body, Motion, System
from tests.naive.mechanisms import spring

KINDS = ("fixed", "revolute", "prismatic", "universal", "cylindrical", "spherical", "floating", "planar")
FREEDOM = dict(zip(KINDS, (0, 1, 1, 2, 2, 3, 6, 3), strict=True))
WITH_AXES = ("revolute", "prismatic", "cylindrical", "planar")  # an axis and a reference
RATES = {
    "revolute": {"angular_velocity": 1},
    "prismatic": {"velocity": 1},
    "universal": {"angle_rates": 2},
    "cylindrical": {"velocity": 1, "angular_velocity": 1},
    "spherical": {"angular_velocity": 3},
    "floating": {"velocity": 3, "angular_velocity": 3},
    "planar": {"velocity": 2, "angular_velocity": 1},
}


@dataclass
class Twin:
    """A model file as a mapping, and how the same is told to the textbook: everything in the design position."""

    seed: int
    model: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)  # of joints and constraints: bodies and point
    axes: dict = field(default_factory=dict)  # of joints, global
    kinds: dict = field(default_factory=dict)
    makers: list = field(default_factory=list)  # (name of joint or constraint, function of a Frame -> constraints)
    loads: list = field(default_factory=list)  # functions of (Frame, Motion) -> loads


class Frame:
    """Where bodies stand in the design position: takes global points and vectors into the axes of a body."""

    def __init__(self, names, R, r, com):
        self.number = {"ground": None} | {name: k for k, name in enumerate(names)}
        self.R, self.r, self.com = R, r, com

    def point(self, body, x):
        """A global point, from the centre of mass of a body, in its axes."""
        k = self.number[body]
        return np.array(x) if k is None else self.R[k].T @ (x - self.r[k]) - self.com[k]

    def vector(self, body, u):
        k = self.number[body]
        return np.array(u) if k is None else self.R[k].T @ u


def unit(rng):
    a = rng.normal(size=3)
    return a / np.linalg.norm(a)


def axes_about(rng, z=None):
    """A random orthonormal frame (columns)."""
    z = unit(rng) if z is None else z
    x = np.cross(z, unit(rng))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def random_mechanism(seed, bodies=4, loops=0, extras=True):
    """A Twin: a random tree, closed by ``loops`` further joints, with springs, drives, motions and constraints.

    ``extras`` may be ``tree``: nothing that a formulation of open trees does not know.
    """
    rng = np.random.default_rng(seed)
    twin = Twin(seed)
    names = [f"b{k}" for k in range(bodies)]
    model = twin.model = {
        "mbsim": 1, "gravity": rng.normal(size=3).tolist(), "points": {}, "vectors": {}, "bodies": {}, "joints": {},
        "constraints": {}, "forces": {}, "sensors": {}, "analysis": {"step": 1e-3, "duration": 1e-3},
    }  # fmt: skip
    for name in names:
        half = rng.normal(size=(3, 3))
        J = 0.02 * (np.eye(3) * (1.0 + (half * half).sum()) - half @ half.T)  # as of masses
        model["bodies"][name] = {
            "mass": rng.uniform(0.5, 2), "center_of_mass": (0.3 * rng.normal(size=3)).tolist(), "inertia": J.tolist(),
            "position": rng.normal(size=3).tolist(),
            "orientation": {"axis": unit(rng).tolist(), "angle": rng.uniform(0.3, 2.5)},
        }  # fmt: skip
    for k, name in enumerate(names):
        parent = "ground" if k == 0 else ["ground", *names[:k]][rng.integers(max(0, k - 1), k + 1)]
        kind = KINDS[(seed + 3 * k) % len(KINDS)]
        if k == 0 and kind == "fixed":
            kind = "universal"
        add_joint(twin, rng, f"J{k}", kind, (parent, name), reverse=bool(rng.integers(2)))
    stated = [f"J{k}" for k in range(bodies)]
    for k in range(loops):
        a, b = rng.choice(bodies + 1, 2, replace=False)
        ends = tuple((["ground", *names])[i] for i in (a, b))
        closing = ("spherical", "universal", "cylindrical", "planar", "floating", "revolute", "prismatic")
        add_joint(twin, rng, f"K{k}", closing[(seed + k) % len(closing)], ends)
    if extras:
        add_extras(twin, rng, names, constrained=not loops and extras != "tree")
    if loops or model["constraints"]:
        stated = [name for name in stated if FREEDOM[twin.kinds[name]] == 1 and name not in driven(twin)][:1]
    for name in stated:
        state_rates(rng, model["joints"][name], twin.kinds[name], name in driven(twin))
    add_sensors(twin, names)
    return twin


def parametrised(twin):
    """The same with parameters in masses, hardpoints, axes, forces and laws."""
    model = twin.model
    model["parameters"] = {"m": 1.0, "p": 0.0, "q": 0.0, "k": 1.0, "g": 0.0}
    bodies, points, vectors = model["bodies"], model["points"], model["vectors"]
    for body in bodies.values():
        body["mass"] = f"{body['mass']!r}*m"
        body["center_of_mass"][1] = f"{body['center_of_mass'][1]!r} + 0.5*p"
    for name in [name for name in points if name.startswith(("J1", "K0", "T", "Q"))]:
        points[name]["design"][0] = f"{points[name]['design'][0]!r} + p"
    turning = [name for name in twin.kinds if twin.kinds[name] in WITH_AXES]
    for name in turning:
        design = vectors[f"{name}z"]["design"]
        vectors[f"{name}z"]["design"] = [f"{x!r} + {0.3 + 0.2 * k}*q" for k, x in enumerate(design)]
    for force in model["forces"].values():
        for key in {"stiffness", "value"}.intersection(force):
            force[key] = f"{force[key]}*k"
    model["gravity"][2] = f"{model['gravity'][2]!r} + g"
    for spec in model["constraints"].values():
        if spec["type"] == "motion":
            spec["law"]["coefficients"][2] = "0.6*k"
    model["analysis"]["sensitivity"] = {"method": "ddm", "parameters": "all"}
    return twin


def driven(twin):
    """Joints that a motion moves."""
    specs = twin.model["constraints"].values()
    return {spec["coordinate"].partition(".")[0] for spec in specs if spec["type"] == "motion"}


def state_rates(rng, spec, kind, moved):
    """Random rates of all coordinates of a joint, unless a motion gives them."""
    if kind in RATES and not moved:
        rates = {key: rng.normal(size=n).tolist() for key, n in RATES[kind].items()}
        spec["initial"] = {key: x if len(x) > 1 else x[0] for key, x in rates.items()}


def add_joint(twin, rng, name, kind, ends, reverse=False):
    """A joint at a random place, as a hardpoint on both bodies; those that slide are not at zero."""
    ends = ends[::-1] if reverse else ends
    axes, x = axes_about(rng), rng.normal(size=3)
    way = axes @ (rng.normal(size=3) * {"prismatic": [0, 0, 1], "cylindrical": [0, 0, 1], "planar": [1, 1, 0],
        "floating": [1, 1, 1]}.get(kind, [0, 0, 0]))  # fmt: skip
    points, vectors = twin.model["points"], twin.model["vectors"]
    points[f"{name}a"] = {"design": x.tolist(), "bodies": [ends[0]]}
    points[f"{name}b"] = {"design": (x + way).tolist(), "bodies": [ends[1]]}
    spec = {"type": kind, "bodies": list(ends), "point": [f"{name}a", f"{name}b"]}
    for k, letter in enumerate("xyz"):
        vectors[f"{name}{letter}"] = {"design": axes[:, k].tolist(), "bodies": list(ends)}
    if kind in WITH_AXES:
        spec |= {"axis": f"{name}z", "reference": f"{name}x"}
    if kind == "universal":
        spec["axes"] = [f"{name}z", f"{name}x"]
    twin.model["joints"][name] = spec
    twin.ends[name], twin.axes[name], twin.kinds[name] = (*ends, x + way), axes, kind

    def make(frame):
        (a, b), number = ends, frame.number
        frames = (np.column_stack([frame.vector(body, u) for u in axes.T]) for body in ends)
        R_a, R_b = frames
        return joint(kind, number[a], frame.point(a, x), R_a, number[b], frame.point(b, x + way), R_b)

    twin.makers.append((name, make))


def add_extras(twin, rng, names, constrained):
    """A spring, forces on coordinates of joints, a motion and a constraint."""
    model, ends = twin.model, twin.ends
    tree = [name for name in ends if name.startswith("J")]
    a, b = "ground", names[-1]
    x, y = rng.normal(size=3), rng.normal(size=3)
    model["points"] |= {"S": {"design": x.tolist(), "bodies": [a]}, "T": {"design": y.tolist(), "bodies": [b]}}
    model["forces"]["spring"] = {
        "type": "spring_damper", "points": [f"{a}.S", f"{b}.T"], "stiffness": 20, "damping": 0.5, "natural_length": 1,
    }  # fmt: skip
    twin.loads.append(lambda frame, m: spring(m, None, x, frame.number[b], frame.point(b, y), 20.0, 0.5, 1.0))
    turning = [name for name in ends if twin.kinds[name] == "revolute"]
    sliding = [name for name in ends if twin.kinds[name] == "prismatic"]
    if turning:
        angle = f"{turning[0]}.angle"
        model["forces"]["torsion"] = {
            "type": "rotational_spring_damper", "coordinate": angle, "stiffness": 5, "natural_angle": 0.4,
        }  # fmt: skip
        twin.loads.append(lambda frame, m: couple(frame, m, *ends[turning[0]][:2], twin.axes[turning[0]], 5.0, 0.4))
    if sliding:
        model["forces"]["drive"] = {"type": "drive", "coordinate": f"{sliding[0]}.displacement", "value": 3}
        twin.loads.append(lambda frame, m: push(frame, m, *ends[sliding[0]], twin.axes[sliding[0]][:, 2], 3.0))
    moved = [name for name in turning[1:] if name in tree]
    if moved:
        name = moved[0]
        model["constraints"]["turn"] = {
            "type": "motion", "coordinate": f"{name}.angle", "law": {"type": "polynomial", "coefficients": [0, 0, 0.6]},
        }  # fmt: skip
        twin.ends["turn"] = ends[name]
        twin.makers.append(("turn", lambda frame: [turn(frame, *ends[name][:2], twin.axes[name][:, 2], 1.2)]))
    if not constrained:
        return
    p, q = rng.normal(size=3), rng.normal(size=3)
    model["points"] |= {"P": {"design": p.tolist(), "bodies": [a]}, "Q": {"design": q.tolist(), "bodies": [b]}}
    if twin.seed % 2:
        model["constraints"]["rope"] = {"type": "distance", "points": [f"{a}.P", f"{b}.Q"]}
        twin.makers.append(("rope", lambda frame: [Apart(None, p, frame.number[b], frame.point(b, q))]))
    else:
        n = unit(rng)
        model["vectors"]["n"] = {"design": n.tolist(), "bodies": [a]}
        # the plane goes through the point's place
        model["points"]["P"]["design"] = (q + np.cross(n, unit(rng))).tolist()
        origin = np.array(model["points"]["P"]["design"])
        plane = {"point": f"{a}.P", "normal": f"{a}.n"}
        model["constraints"]["rope"] = {"type": "point_on_plane", "point": f"{b}.Q", "plane": plane}
        twin.makers.append(("rope", lambda frame: [InPlane(None, origin, n, frame.number[b], frame.point(b, q))]))
    twin.ends["rope"] = (a, b, q)


def turn(frame, a, b, axis, second):
    """A given angular acceleration of b about an axis of a."""
    return Turns([(frame.number[a], frame.vector(a, axis), frame.number[b], 1.0)], second)


def couple(frame, m, a, b, axes, stiffness, natural):
    """Loads of a torsion spring on body b and against body a, about the last axis of a; none has turned by design."""
    x, _, axis = (m.arm(frame.number[a], frame.vector(a, u)) for u in axes.T)
    turned = m.arm(frame.number[b], frame.vector(b, axes[:, 0]))
    torque = stiffness * (natural - np.arctan2(axis @ np.cross(x, turned), x @ turned)) * axis
    return [(frame.number[body], np.zeros(3), s * torque) for body, s in ((b, 1), (a, -1)) if body != "ground"]


def push(frame, m, a, b, x, axis, amount):
    """Loads of a force along an axis of a, at the point x of body b, on that and against body a."""
    found, force = [], amount * m.arm(frame.number[a], frame.vector(a, axis))
    x = m.point(frame.number[b], frame.point(b, x))
    for body, s in ((b, 1), (a, -1)):
        k = frame.number[body]
        if k is not None:
            found.append((k, s * force, np.cross(x - m.r[k], s * force)))
    return found


def add_sensors(twin, names):
    """Motion of all bodies, and reactions of all joints and constraints."""
    sensors = twin.model["sensors"]
    for name in names:
        for key, kind in (("r", "position"), ("v", "velocity"), ("a", "acceleration")):
            sensors[f"{key}_{name}"] = {"type": kind, "point": f"{name}.center_of_mass"}
        for axis in "xyz":
            sensors[f"{axis}_{name}"] = {"type": "direction", "vector": f"{name}.{axis}"}
        sensors[f"w_{name}"] = {"type": "angular_velocity", "body": name}
        sensors[f"aw_{name}"] = {"type": "angular_acceleration", "body": name}
    for name, (a, b, _) in twin.ends.items():
        of = {"constraint": name} if name in twin.model["constraints"] else {"joint": name}
        sensors[f"R_{name}"] = {"type": "reaction", **of}
        sensors[f"on_{name}"] = {"type": "reaction", **of, "on": a, "axes": "body"}
        if twin.kinds.get(name) in WITH_AXES:
            sensors[f"along_{name}"] = {"type": "reaction", **of, "on": b, "axes": "joint"}


def frame_of(twin, shown):
    """The Frame where bodies stand as the sensors show them."""
    names, specs = list(twin.model["bodies"]), twin.model["bodies"].values()
    com = [np.array(spec["center_of_mass"]) for spec in specs]
    R = [np.column_stack([shown[f"{axis}_{name}"] for axis in "xyz"]) for name in names]
    origin = [shown[f"r_{name}"] - turned @ c for name, turned, c in zip(names, R, com, strict=True)]
    return Frame(names, R, origin, com)


def system_of(twin, frame, shown):
    """The textbook's System and Motion at what the sensors show of the bodies, with the constraints of each name.

    The frame is that of the design position.
    """
    names = list(twin.model["bodies"])
    specs = twin.model["bodies"].values()
    R = frame_of(twin, shown).R
    bodies = [
        Body(spec["mass"], np.array(spec["inertia"]), shown[f"r_{name}"], quaternion(turned), shown[f"v_{name}"],
            shown[f"w_{name}"])
        for name, spec, turned in zip(names, specs, R, strict=True)
    ]  # fmt: skip
    made = {name: make(frame) for name, make in twin.makers}
    system = System(bodies, [one for many in made.values() for one in many], np.array(twin.model["gravity"]))
    system.loads = lambda t, m: [load for part in twin.loads for load in part(frame, m)]
    return system, Motion(system.initial(), len(bodies)), made


def quaternion(R):
    """Quaternion (4,), scalar first, of a rotation matrix."""
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)
