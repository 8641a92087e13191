"""Random mechanisms with bodies that deform: of meshes, by number and from files, on frames of every kind.

Joints, forces and sensors take nodes, or the frame where it is held. A loop is closed at a body that does not deform,
so that its point and axes can be put where the tree stands.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import assemble
from mbsim_cli.study.reduced_bodies import standard_input
from tests.campaign import generator
from tests.campaign.generator import FREEDOM, Data, Mechanism

ORIGIN = "origin"
MATERIALS = {"soft": {"youngs_modulus": 1e7, "poisson_ratio": 0.3, "density": 900.0}}
KINDS = ("rigid", "beam", "beam", "plate", "brick", "number", "file")
INERTIA = {"xx": 0.2, "yy": 0.3, "zz": 0.25}  # about the centre of mass
SYMMETRIC = ("Me", "Ke", "J", "Cr", "sets")  # a single entry of a matrix is no parameter, a choice of nodes neither


class FlexibleMechanism(Mechanism):
    """Grows a model file; ``file`` is one of standard input data, with its design variables and nodes."""

    def __init__(self, seed: int, file: tuple[Path, list[str], list[str]]):
        super().__init__(seed)
        self.file = file
        self.places: dict[str, list[str]] = {}  # of bodies that deform
        self._next: list[str] = []
        self.data["materials"] = json.loads(json.dumps(MATERIALS))

    # bodies

    def add_body(self, parent: str, joint: str, kind: str = "") -> str:
        """A body of any kind."""
        self._kind = kind or self.pick(KINDS)
        return super().add_body(parent, joint)

    def _body(self) -> Data:
        self._next = []
        if self._kind == "rigid":
            return super()._body()
        made = {"number": self._by_number, "file": self._from_file}.get(self._kind, self._meshed)()
        n, made = made.pop("n"), made
        if self.random.random() < 0.4:
            made["initial"] = {key: [self.number(-0.02, 0.02) for _ in range(n)] for key in ("position", "velocity")}
        return {"flexible": made}

    def _meshed(self) -> Data:
        length, n = self.number(0.5, 0.9), int(self.random.integers(1, 4))
        section: Data = {"type": "rectangle", "size": [self.number(0.021, 0.04), 0.02]}
        if n == 2:  # double modes are not to be cut
            section = self.pick((section, {"type": "circle", "radius": 0.02}))
        mesh = {
            "beam": {"type": "beam", "length": length, "section": section, "elements": int(self.random.integers(1, 4))},
            "plate": {"type": "rectangle", "size": [length, 0.1], "thickness": 0.02, "elements": [3, 1]},
            "brick": {"type": "brick", "size": [length, 0.1, 0.08], "elements": [2, 1, 1]},
        }[self._kind]
        frame = self.pick(({"fixed": "a"}, {"chord": ["a", "b"]}, "free"))
        self._next = ["a", "b", *([ORIGIN] if frame == {"fixed": "a"} else [])]
        coupling = self.pick(("mean", "rigid")) if self._kind == "brick" else "mean"
        made: Data = {
            "n": n,
            "mesh": mesh,
            "material": "soft",
            "sets": {"a": {"x": 0}, "b": {"x": length}},
            "frame": frame,
            "modes": {"count": n},
            "nodes": {"a": {"set": "a"}, "b": {"set": "b", "coupling": coupling}},
            "damping": {"alpha": self.number(0, 0.2), "beta": 1e-4, "ratio": self.number(0.01, 0.05)},
        }
        if self.random.random() < 0.4:
            made["stiffening"] = self.pick((["rotation"], ["rotation", "acceleration"], ["b"], ["acceleration", "b"]))
        return made

    def _by_number(self) -> Data:
        r = self.random
        J1, J2, Cr1 = (0.01 * r.normal(size=(2, *rest)) for rest in ((3, 3), (2, 3, 3), (2, 3)))
        J2 = J2 + J2.swapaxes(0, 1)

        def listed(array: np.ndarray) -> Any:
            return np.round(array, 6).tolist()

        self._next = ["b", ORIGIN]
        terms = {
            "mass": self.number(1, 2),
            "mdCM": [0.3, 0.02, 0.01],
            "J": {
                "M0": [[0.2, 0.01, 0.0], [0.01, 0.3, 0.0], [0.0, 0.0, 0.4]],
                "M1": listed(J1 + J1.swapaxes(1, 2)),
                "M2": listed(J2 + J2.swapaxes(2, 3)),
            },
            "Ct": listed(0.1 * r.normal(size=(2, 3))),
            "Cr": {"M0": listed(0.05 * r.normal(size=(2, 3))), "M1": listed(Cr1 - Cr1.swapaxes(0, 1))},
            "Me": [[0.5, 0.01], [0.01, 0.4]],
            "Ke": [[300.0, 2.0], [2.0, 500.0]],
        }
        node = {"origin": [0.6, 0.0, 0.1], "phi": listed(r.normal(size=(2, 3))), "psi": listed(r.normal(size=(2, 3)))}
        return {"n": 2, "terms": terms, "nodes": {"b": node}}

    def _from_file(self) -> Data:
        path, designs, nodes = self.file
        self._next = [*nodes, ORIGIN]
        return {"n": 2, "sid": str(path), "design": {self.pick(designs): 0.0}}

    # places on them

    def _place(self, body: str, name: str, size: float) -> str:
        """A node or the frame of a body that deforms, a new point of any other."""
        if body in self.places:
            return self.pick(self.places[body])
        self.data["points"].setdefault(name, {})[body] = self._vector(size)
        return name

    def _join(self, name: str, kind: str, a: str, b: str) -> None:
        if self._next:
            self.places[b] = self._next
        bodies = [a, b] if self.random.random() < 0.7 else [b, a]
        self.data["vectors"][name] = {body: self._direction() for body in bodies}
        points = [self._place(body, name, 0.5) for body in bodies]
        joint = {"type": kind, "bodies": bodies, "point": points} | self._axes(name, kind)
        if kind != "fixed":
            joint["initial"] = self._start(kind)
        self.data["joints"][name] = joint

    def point(self, body: str) -> str:
        """A point of a body, new where it does not deform."""
        name = f"p{len(self.data['points'])}"
        return f"{body}.{self._place(body, name, 0.6)}"

    def _force(self) -> Data:
        force = super()._force()
        if force["type"] == "torque" and force["body"] in self.places:
            place = self.pick(self.places[force["body"]])
            force["body"] = force["body"] if place == ORIGIN else f"{force['body']}.{place}"
        if "points" in force and all(point.partition(".")[0] in self.places for point in force["points"]):
            force["points"][1] = self.point("ground")  # two nodes may be at one place
        return force

    # a loop

    def close(self, a: str, b: str, kind: str) -> None:
        """A joint at a place of one body as it stands; the other does not deform."""
        name = f"c{len(self.data['joints'])}"
        place = self._place(a, name, 0.5)
        at, turned, origin, axes = self._seen(a, place, b)
        self.data["points"].setdefault(name, {})[b] = (axes @ (at - origin)).tolist()
        u = np.array(self._direction())
        for vector, local in ((name, u), (f"{name}_across", np.cross(u, [1.0, 0.3, -0.2]))):
            self.data["vectors"][vector] = {a: local.tolist(), b: (axes @ turned.T @ local).tolist()}
        joint = {"type": kind, "bodies": [a, b], "point": [place, name]} | self._axes(name, kind)
        if kind == "universal":
            joint["axes"] = [name, f"{name}_across"]
        elif "axis" in joint:
            joint["reference"] = f"{name}_across"
        self.data["joints"][name] = joint
        cut = self.pick([name, *self.path(a, b), ""])
        if cut and self.data["joints"][cut]["type"] != "fixed":
            self.data["joints"][cut]["cut"] = True
        self.release()

    def release(self) -> None:
        """State no velocities: those of a loop are not free."""
        for kept in self.data["joints"].values():
            for rate in ("angular_velocity", "velocity", "angle_rates"):
                kept.get("initial", {}).pop(rate, None)
        for body in self.places:
            self.data["bodies"][body]["flexible"].get("initial", {}).pop("velocity", None)

    def _seen(self, a: str, place: str, b: str) -> tuple[np.ndarray, ...]:
        """Place (3) and axes (3, 3; a row an axis) of a place, and of a body's frame, as the tree stands."""
        sensors: Data = {}
        for k, (point, of) in enumerate(((f"{a}.{place}", a if place == ORIGIN or a not in self.places else
                                          f"{a}.{place}"), (f"{b}.origin", b))):  # fmt: skip
            sensors[f"p{k}"] = {"type": "position", "point": point}
            sensors |= {f"{axis}{k}": {"type": "direction", "vector": f"{of}.{axis}"} for axis in "xyz"}
        problem = problem_of(self.data | {"sensors": sensors, "objectives": {}, "constraints": {}, "forces": {}})
        found = Simulation(problem, assemble(problem)).first_block().sensors[0].reshape(2, 4, 3)
        return found[0, 0], found[0, 1:], found[1, 0], found[1, 1:]

    # what is asked

    def observe(self) -> None:
        """Sensors of motion and of deformation."""
        last = list(self.data["bodies"])[-1]
        point = self.point(last)
        sensors: Data = {
            "r": {"type": "position", "point": point},
            "v": {"type": "velocity", "point": point},
            "a": {"type": "acceleration", "point": point},
            "T": {"type": "kinetic_energy"},
            "V": {"type": "potential_energy"},
        }
        joint = self.pick(self.data["joints"])
        on = self.pick([body for body in self.data["joints"][joint]["bodies"] if body != "ground"])
        sensors["R"] = {"type": "reaction", "joint": joint, "on": on, "axes": self.pick(("ground", "body", "joint"))}
        for body, places in self.places.items():
            sensors[f"U_{body}"] = {"type": "strain_energy", "body": body}
            sensors[f"q_{body}"] = {"type": "elastic_coordinate", "body": body, "number": 1, "derivative": 1}
            node = next(place for place in places if place != ORIGIN)
            sensors[f"u_{body}"] = {"type": "deformation", "point": f"{body}.{node}"}
            sensors[f"w_{body}"] = {"type": "angular_velocity", "body": f"{body}.{node}"}
        self.data["sensors"] = sensors

    def choose_parameters(self, count: int, *, anywhere: bool = False) -> None:
        """Of the numbers that mean something alone, at least one of a body that deforms."""
        names = ("materials", *generator.SECTIONS)
        places = list(generator._numbers({key: self.data[key] for key in names}, ()))
        places = [(path, value) for path, value in places if not set(path) & set(SYMMETRIC)]
        order = [places[i] for i in self.random.permutation(len(places))]
        flexible = [place for place in order if "flexible" in place[0] or "materials" in place[0]]
        chosen = {path: value for path, value in (*flexible[: count // 2], *order[:count])}
        self.data["parameters"] = {}
        for k, (path, value) in enumerate(chosen.items()):
            self.data["parameters"][f"q{k}"] = value
            owner = self.data
            for part in path[:-1]:
                owner = owner[part]
            owner[path[-1]] = f"q{k}"


def problem_of(data: Data, step: float = 1e-3, steps: int = 3, **options: Any) -> Any:
    """The packed problem of a model file."""
    analysis = {"step": step, "duration": step * steps}
    model = spec.load(generator.FILE, texts={str(generator.FILE): json.dumps(data | {"analysis": analysis})})
    return build(model, standard_input=standard_input, **({"sensitivity": "none"} | options)).problem


def flexible_tree(seed: int, file: Any, parameters: int = 6, grower: type = FlexibleMechanism) -> Data:
    """A tree of two or three joints of any type."""
    m = grower(seed, file)
    for k in range(m.random.integers(2, 4)):
        parent = m.pick(["ground", *m.data["bodies"]])
        m.add_body(parent, m.pick(FREEDOM), "" if k else m.pick(KINDS[1:]))
    if not any(joint["type"] != "fixed" for joint in m.data["joints"].values()):
        m.add_body("ground", "floating")
    return _finished(m, parameters)


def flexible_loop(seed: int, file: Any, parameters: int = 6, grower: type = FlexibleMechanism) -> Data:
    """A loop in space that has one freedom or more beside those of deformation."""
    m = grower(seed, file)
    body = m.add_body("ground", m.pick(("revolute", "cylindrical", "universal", "planar")), m.pick(KINDS[1:]))
    for _ in range(m.random.integers(1, 3)):
        body = m.add_body(body, m.pick(("revolute", "spherical", "cylindrical", "universal")))
    target = m.pick(("ground", m.add_body("ground", m.pick(("revolute", "universal", "spherical")), "rigid")))
    if fitting := m.joints_closing(body, target):
        m.close(body, target, m.pick(fitting))
    else:
        rope = {"type": "distance", "points": [m.point("ground"), m.point(body)], "distance": "auto"}
        m.data["constraints"]["rope"] = rope
        m.release()
    return _finished(m, parameters)


def flexible_flier(seed: int, file: Any) -> Data:
    """Bodies that nothing but each other acts on, without damping; their frames have places."""
    m = FlexibleMechanism(seed, file)
    m.data["gravity"] = [0.0, 0.0, 0.0]
    for k in range(m.random.integers(2, 4)):
        parent, joint = (m.pick(m.data["bodies"]), m.pick(FREEDOM)) if k else ("ground", "floating")
        m.add_body(parent, joint, m.pick(KINDS[1:]) if k == 1 else "")
    for name, body in m.data["bodies"].items():
        if "flexible" in body:
            body["flexible"]["damping"] = {"beta": 0.0}
            if body["flexible"].get("frame") == "free":
                body["flexible"]["frame"] = {"fixed": "a"}
        else:
            m.data["bodies"][name] = {"mass": 1.3, "center_of_mass": m._vector(0.2), "inertia": INERTIA}
    rigid = m.add_body(m.pick(m.data["bodies"]), m.pick(FREEDOM), "rigid")  # its point is at no node
    m.data["bodies"][rigid] = {"mass": 0.7, "center_of_mass": [0.1, 0.0, 0.2], "inertia": INERTIA}
    spring = {"stiffness": m.number(10, 40), "natural_length": m.number(0.2, 0.8)}
    m.data["forces"]["f"] = {"type": "spring_damper", "points": [m.point("b0"), m.point(rigid)], **spring}
    return m.data


def _finished(m: FlexibleMechanism, parameters: int) -> Data:
    m.add_forces(int(m.random.integers(1, 4)))
    m.observe()
    m.choose_parameters(parameters)
    return m.data


FAMILIES = {"tree": flexible_tree, "loop": flexible_loop}
