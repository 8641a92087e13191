"""Models in SDF (SDFormat 1.4 to 1.12): links and frames posed relative to one another, joints, limits, loops.

The format has no tree: a joint closes a loop if its links are already connected. ``include`` is not followed; plugins
and sensors are listed in remarks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from mbsim_cli.exchange.robot import GROUND, INERTIA, Body, Coupling, Joint, Robot, Visual, rotation_of, united
from mbsim_cli.exchange.xml import Wrong, named, number_in, numbers_in, read_with, turned

Pose = tuple[np.ndarray, np.ndarray]  # origin (3,), axes as columns (3, 3)
Given = tuple[str, np.ndarray, np.ndarray]  # frame that a pose is relative to, pose
HERE: Pose = (np.zeros(3), np.eye(3))
ROOT, MODEL = "world", "__model__"
_ONE = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
_KINDS = (*_ONE, "ball", "fixed", "universal", "revolute2", "screw")
UNLIMITED = 1e15  # larger limits mean no limit
DENSITY, GRAVITY = 1000.0, (0.0, 0.0, -9.8)  # defaults of the format


def read(path: Path, fixed: bool | None = None) -> Robot:
    """The models in a file; unconnected links float unless static or ``fixed``. Raises InputOutputError."""
    return read_with(path, lambda root: _Reader(root, path, fixed).robot)


@dataclass
class _Scope:
    """The names of a model; ``a::b`` is the name ``b`` in the nested model ``a``."""

    element: Element
    prefix: str  # "" of the world, "arm::" of a model in it
    links: dict[str, Element] = field(default_factory=dict)  # by full name


def _inverse(pose: Pose) -> Pose:
    place, R = pose
    return -R.T @ place, R.T


def _after(first: Pose, second: Pose) -> Pose:
    """The composition of two poses: ``second`` is relative to ``first``."""
    return first[0] + first[1] @ second[0], first[1] @ second[1]


def _text(element: Element | None, path: str) -> str | None:
    found = None if element is None else element.find(path)
    return None if found is None or found.text is None else found.text.strip()


def _number(element: Element | None, path: str, default: float, where: str) -> float:
    return number_in(_text(element, path), default, path, where)


class _Reader:
    """Collects frames of all models, then bodies and joints."""

    def __init__(self, root: Element, path: Path, fixed: bool | None):
        if root.tag != "sdf":
            raise Wrong("the root element is no <sdf>")
        self._old = numbers_in(root.get("version"), (1.4,), "version", "sdf")[0] < 1.45  # axes relative to the model
        world = root.find("world")
        whole = root if world is None else world
        models = whole.findall("model")
        if not models:
            raise Wrong("there is no <model>")
        gravity = numbers_in(_text(whole, "gravity"), GRAVITY, "gravity", "world")
        self.robot = Robot(models[0].get("name") or path.stem, path.name, gravity)
        self._fixed = fixed
        self._frames: dict[str, Given] = {}
        self._attached: dict[str, str] = {}  # frames other than links: the frame that they move with
        self._scopes: list[_Scope] = []
        self._static: list[str] = []
        self._bodies, self._joints = self.robot.body_names, self.robot.joint_names
        self._made: dict[str, list[Joint]] = {}  # by full name
        self._held: list[Joint] = []  # joints of links to the ground that the file does not state
        self._connected: dict[str, set[str]] = {}  # by body, those that joints connect it to, and itself
        for model in models:
            self._declare(model, "", ROOT)
        self._frames[MODEL] = (ROOT, *HERE)
        self._declare_joints_and_frames(whole, "", ROOT)
        self._scopes.append(_Scope(whole, ""))
        for scope in self._scopes:
            for name, link in scope.links.items():
                self.robot.bodies.append(self._body(name, link))
        self._hold_roots(static=True)
        for scope in self._scopes:
            joints = scope.element.findall("joint")
            if joints and self._is_static(scope):
                self.robot.remarks.append(f"not taken over: joints of {named(scope.element)}, which is static")
                continue
            for joint in joints:
                self._add_joint(scope, joint)
        self._hold_roots(static=False)
        self.robot.joints[:0] = self._held
        self._follow()
        self._say_what_is_dropped(whole)

    # Frames: each is stated relative to another one, in any order, and resolved on demand.

    def _declare(self, model: Element, outer: str, at: str) -> None:
        """Register the frames of a model, of its links, joints and frames, and of nested models."""
        prefix = f"{outer}{named(model)}::"
        scope = _Scope(model, prefix)
        self._scopes.append(scope)
        own = prefix + MODEL
        placed = model.get("placement_frame")
        self._frames[own] = self._pose(model, outer, at, named(model))
        if placed:  # the stated pose is that of this frame, not of the model
            self._frames[f"{prefix}__placed__"] = self._frames[own]
            self._frames[own] = (f"{prefix}__from__{placed}", *HERE)
        self._frames[prefix[:-2]] = (own, *HERE)
        if (_text(model, "static") or "false").lower() in ("true", "1"):
            self._static.append(prefix)
        for link in model.findall("link"):
            scope.links[prefix + named(link)] = link
            self._frames[prefix + named(link)] = self._pose(link, prefix, own, f"link {named(link)}")
        self._declare_joints_and_frames(model, prefix, own)
        first = next((named(part) for part in (*model.findall("link"), *model.findall("model"))), None)
        if canonical := model.get("canonical_link") or first:
            self._attached[own] = self._attached[prefix[:-2]] = prefix + canonical
        for inner in model.findall("model"):
            self._declare(inner, prefix, own)

    def _declare_joints_and_frames(self, model: Element, prefix: str, own: str) -> None:
        """Register the frames of the joints and frames of a model, or of the world."""
        for kind, key in (("joint", "child"), ("frame", "attached_to")):
            for element in model.findall(kind):
                full, where = prefix + named(element), f"{kind} {named(element)}"
                if kind == "joint":
                    at = self._full(prefix, _text(element, key) or "", f"{where}: the child")
                else:
                    at = self._full(prefix, element.get(key) or "", where) if element.get(key) else own
                self._frames[full], self._attached[full] = self._pose(element, prefix, at, where), at

    def _pose(self, element: Element, prefix: str, at: str, where: str) -> Given:
        """The stated pose of an element, and the full name of the frame that it is relative to."""
        pose = element.find("pose")
        if pose is None:
            return at, *HERE
        relative = pose.get("relative_to")
        frame = self._full(prefix, relative, where) if relative else at
        text = pose.text if pose.text is None or pose.text.strip() else None
        if pose.get("rotation_format") == "quat_xyzw":
            numbers = numbers_in(text, (0.0, 0, 0, 0, 0, 0, 1), "pose", where)
            return frame, numbers[:3], rotation_of(numbers[[6, 3, 4, 5]])
        numbers = numbers_in(text, (0.0,) * 6, "pose", where)
        turns = np.deg2rad(numbers[3:]) if pose.get("degrees") in ("true", "1") else numbers[3:]
        return frame, numbers[:3], turned(*turns)

    def _full(self, prefix: str, name: str, where: str) -> str:
        """The full name of a frame from its name in a scope."""
        if not name:
            raise Wrong(f"{where} is missing")
        return ROOT if name == ROOT else prefix + name

    def _in_world(self, name: str, where: str, asked: tuple[str, ...] = ()) -> Pose:
        """Pose of a frame in the world; raises Wrong if it does not exist, or is stated relative to itself."""
        if name == ROOT:
            return HERE
        if "__from__" in name:  # the pose of a model relative to its placement frame
            prefix, _, placed = name.partition("__from__")
            goal = self._in_world(f"{prefix}__placed__", where, asked)
            return _after(goal, _inverse(self._within(prefix + placed, prefix + MODEL, where)))
        if name not in self._frames:
            raise Wrong(f"{where}: there is no frame or link {name}")
        if name in asked:
            raise Wrong(f"{where}: the pose of {name} is stated relative to itself")
        before, place, turn = self._frames[name]
        return _after(self._in_world(before, where, (*asked, name)), (place, turn))

    def _within(self, name: str, model: str, where: str) -> Pose:
        """Pose of a frame relative to its model."""
        pose, count = HERE, 0
        while name != model:
            if name not in self._frames or count > len(self._frames):
                raise Wrong(f"{where}: the placement frame {name} has no place in its model")
            name, place, turn = self._frames[name]
            pose, count = _after((place, turn), pose), count + 1
        return pose

    def _body(self, full: str, link: Element) -> Body:
        where = f"link {named(link)}"
        name = self._bodies.add(full if full.count("::") > 1 else full.partition("::")[2])
        self._bodies[full] = name
        self._add_visuals(full, link, name)
        inertial = link.find("inertial")
        if inertial is not None and inertial.get("auto") in ("true", "1"):
            return self._of_collisions(full, link, inertial, name)
        if inertial is None:
            return Body(name, 1.0, np.zeros(3), np.eye(3))  # the format's own default
        place, turn = self._in_link(inertial, full, where)
        xx, yy, zz, xy, xz, yz = (_number(inertial, f"inertia/i{ab}", float(ab[0] == ab[1]), where) for ab in INERTIA)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Body(name, _number(inertial, "mass", 1.0, where), place, turn @ inertia @ turn.T)

    def _in_link(self, part: Element, full: str, where: str) -> Pose:
        """Pose of a part of a link, such as a shape, in the axes of the link."""
        frame, place, turn = self._pose(part, full.rpartition("::")[0] + "::", full, where)
        if frame == full:
            return place, turn
        to_frame = _after(_inverse(self._in_world(full, where)), self._in_world(frame, where))
        return _after(to_frame, (place, turn))

    def _of_collisions(self, full: str, link: Element, inertial: Element, name: str) -> Body:
        """Mass and inertia of the shapes of a link, by their densities, or by these and the mass that is stated."""
        where = f"link {named(link)}"
        common = _number(inertial, "density", DENSITY, where)
        parts = []
        for collision in link.findall("collision"):
            place, turn = self._in_link(collision, full, where)
            found = _solid(collision.find("geometry"), where)
            if found is None:
                self.robot.remarks.append(f"not taken over: inertia of collision {collision.get('name')} of {name}")
                continue
            volume, moments = found
            mass = volume * _number(collision, "density", common, where)
            parts.append(Body(name, mass, place, mass * turn @ np.diag(moments) @ turn.T))
        whole = united(name, parts)
        if whole.mass:
            factor = _number(inertial, "mass", whole.mass, where) / whole.mass
            whole.mass, whole.inertia = factor * whole.mass, factor * whole.inertia
        return whole

    def _add_visuals(self, full: str, link: Element, body: str) -> None:
        """Add the meshes that pictures show of a link."""
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            file = _text(mesh, "uri")
            if file:
                place, turn = self._in_link(visual, full, f"link {named(link)}")
                scale = numbers_in(_text(mesh, "scale"), (1.0, 1.0, 1.0), "scale", f"link {named(link)}")
                self.robot.visuals.append(Visual(body, file, scale, place, turn))

    def _add_joint(self, scope: _Scope, element: Element) -> None:
        name, kind = named(element), element.get("type") or ""
        where = f"joint {name}"
        if kind == "gearbox":
            self.robot.remarks.append(f"not taken over: gearbox {name}; a coupling of the two coordinates states it")
            return
        if kind not in _KINDS:
            raise Wrong(f"{where}: unknown type {kind!r}; known: {', '.join(_KINDS)}, gearbox")
        ends = []
        for end in ("parent", "child"):
            which = f"{where}: the {end}"
            ends.append(self._link_of(self._full(scope.prefix, _text(element, end) or "", which), which))
        bodies = tuple(GROUND if end == ROOT else self._bodies[end] for end in ends)
        made = list(self._parts(scope, element, bodies, [self._in_world(end, where) for end in ends]))
        made[-1].closes = not self._join(*bodies)  # of a chain only the last joint closes the loop
        self._made[scope.prefix + name] = made
        self.robot.joints += made

    def _link_of(self, full: str, where: str) -> str:
        """The body of the link that a frame is attached to, or the ground."""
        seen = 0
        while full != ROOT and full not in self._bodies:
            if full not in self._attached or seen > len(self._attached):
                raise Wrong(f"{where} {full.rpartition('::')[2]} is no link")
            full, seen = self._attached[full], seen + 1
        return full

    def _parts(self, scope: _Scope, element: Element, bodies: tuple[str, ...], poses: list[Pose]) -> Iterator[Joint]:
        """The joint, or a chain of two joints with a massless body between them; ``poses`` of both bodies."""
        name, where = self._joints.add(named(element)), f"joint {named(element)}"
        kind, (first, second), child = element.get("type") or "", bodies, poses[1][1]
        frame = self._in_world(scope.prefix + named(element), where)
        places = [_after(_inverse(pose), frame)[0] for pose in poses]
        turn = poses[0][1].T @ child
        turn[np.abs(turn) < 4e-16] = 0.0  # round-off for parallel axes
        if kind in ("ball", "fixed"):
            shape = "spherical" if kind == "ball" else "fixed"
            yield Joint(name, shape, (first, second), np.array(places), turn)
            return
        axes = [child.T @ self._axis(scope, element, "axis", where)]
        if kind in _ONE:
            made = Joint(name, _ONE[kind], (first, second), np.array(places), turn, axes[0])
            yield self._driven(element, "axis", made)
            return
        axes.append(axes[0] if kind == "screw" else child.T @ self._axis(scope, element, "axis2", where))
        middle = self._bodies.add(f"{name}_middle")
        self.robot.bodies.append(Body(middle))
        # the massless body has the axes of the second body, and its origin at the joint
        outer = Joint(name, "revolute", (first, middle), np.array([places[0], np.zeros(3)]), turn, axes[0])
        yield self._driven(element, "axis", outer)
        last = "prismatic" if kind == "screw" else "revolute"
        label, own = self._joints.add(f"{name}_2"), np.array([np.zeros(3), places[1]])
        inner = Joint(label, last, (middle, second), own, np.eye(3), axes[1])
        if kind == "screw":
            if _text(element, "screw_thread_pitch") is None:
                raise Wrong(f"{where}: a screw needs screw_thread_pitch [m/rev], whose sign is defined")
            pitch = _number(element, "screw_thread_pitch", 0.0, where)
            terms = {inner.coordinate: 1.0, outer.coordinate: -pitch / (2 * np.pi)}
            self.robot.couplings.append(Coupling(f"{name}_pitch", terms, 0.0))
            yield inner
        else:
            yield self._driven(element, "axis2", inner)

    def _axis(self, scope: _Scope, element: Element, called: str, where: str) -> np.ndarray:
        """The direction of an axis in the world."""
        axis = element.find(called)
        xyz = None if axis is None else axis.find("xyz")
        direction = numbers_in(None if xyz is None else xyz.text, (0.0, 0.0, 1.0), f"{called} xyz", where)
        length = float(np.linalg.norm(direction))
        if not length > 0:
            raise Wrong(f"{where}: the {called} has no direction")
        expressed = None if xyz is None else xyz.get("expressed_in")
        of_model = self._old or (_text(axis, "use_parent_model_frame") or "false").lower() in ("true", "1")
        own = scope.prefix + (MODEL if of_model else named(element))
        frame = self._full(scope.prefix, expressed, where) if expressed else own
        found = self._in_world(frame, where)[1] @ direction / length
        found[np.abs(found) < 4e-16] = 0.0
        return found

    def _driven(self, element: Element, called: str, joint: Joint) -> Joint:
        """The joint with limits, damping and spring of its axis."""
        axis, where = element.find(called), f"joint {named(element)}"
        joint.axis = joint.axis.copy()
        joint.axis[np.abs(joint.axis) < 4e-16] = 0.0
        low, high = (_number(axis, f"limit/{end}", far, where) for end, far in (("lower", -1e16), ("upper", 1e16)))
        if element.get("type") != "continuous":
            joint.limits = (low if low > -UNLIMITED else -np.inf, high if high < UNLIMITED else np.inf)
        joint.damping = _number(axis, "dynamics/damping", 0.0, where)
        joint.stiffness = _number(axis, "dynamics/spring_stiffness", 0.0, where)
        joint.natural = _number(axis, "dynamics/spring_reference", 0.0, where)
        joint.loss = _number(axis, "dynamics/friction", 0.0, where)
        return joint

    def _join(self, first: str, second: str) -> bool:
        """Connect two bodies; False if they were connected before."""
        one, other = (self._connected.setdefault(name, {name}) for name in (first, second))
        one |= other
        self._connected |= dict.fromkeys(other, one)
        return one is not other

    def _is_static(self, scope: _Scope) -> bool:
        return any(scope.prefix.startswith(prefix) for prefix in self._static)

    def _hold_roots(self, static: bool) -> None:
        """Fix links of ``static`` models, or of all others, to the ground or let them float if no joints hold them."""
        children = {joint.bodies[1] for joint in self.robot.joints}
        for scope in sorted(self._scopes, key=lambda scope: scope.prefix.count("::")):
            if self._is_static(scope) != static:
                continue
            for full in sorted(scope.links, key=lambda full: self._bodies[full] in children):  # roots first
                name = self._bodies[full]
                if self._join(GROUND, name):
                    kind = "fixed" if static or self._fixed else "floating"
                    place, turn = self._in_world(full, f"link {name}")
                    label = self._joints.add(f"{name}_base" if self._held else "base")
                    self._held.append(Joint(label, kind, (GROUND, name), np.array([place, np.zeros(3)]), turn))

    def _follow(self) -> None:
        """Add couplings of mimic joints: q = multiplier (q_other - reference) + offset."""
        for scope in self._scopes:
            for element in scope.element.findall("joint"):
                for number, called in enumerate(("axis", "axis2")):
                    mimic = element.find(f"{called}/mimic")
                    if mimic is None:
                        continue
                    where = f"joint {named(element)}"
                    other = self._made.get(self._full(scope.prefix, mimic.get("joint") or "", where), [])
                    at = 1 if mimic.get("axis") == "axis2" else 0
                    own = self._made.get(scope.prefix + named(element), [])
                    if len(own) <= number or len(other) <= at or not other[at].coordinate or not own[number].coordinate:
                        self.robot.remarks.append(f"not taken over: {where} follows {mimic.get('joint')}")
                        continue
                    factor = _number(mimic, "multiplier", 1.0, where)
                    shift = _number(mimic, "offset", 0.0, where)
                    shift -= factor * _number(mimic, "reference", 0.0, where)
                    terms = {own[number].coordinate: 1.0, other[at].coordinate: -factor}
                    name = f"{own[number].name}_follows_{other[at].name}"
                    self.robot.couplings.append(Coupling(name, terms, shift))

    def _say_what_is_dropped(self, whole: Element) -> None:
        """Add remarks on elements that model files do not have."""
        remarks = self.robot.remarks
        for include in whole.iter("include"):
            remarks.append(f"not followed: include of {_text(include, 'uri')}")
        for plugin in whole.iter("plugin"):
            remarks.append(f"not taken over: plugin {plugin.get('name') or plugin.get('filename')}")
        left_out = (
            ("sensor", "sensors"),
            ("collision", "collision shapes and contacts"),
            ("light", "lights"),
            ("fluid_added_mass", "added masses of fluids"),
            ("velocity_decay", "dampings of links (velocity_decay)"),
            ("initial_position", "initial positions of joints"),
            ("state", "saved states of the world"),
        )
        for what, called in left_out:
            if count := sum(1 for _ in whole.iter(what)):
                remarks.append(f"not taken over: {count} {called}")
        shapes = sum(1 for visual in whole.iter("visual") if visual.find("geometry/mesh/uri") is None)
        if shapes:
            remarks.append(f"not taken over: {shapes} visual shapes that are no meshes")
        bounds = [one for limit in whole.iter("limit") for one in (limit.find("effort"), limit.find("velocity"))]
        if any(one is not None and (one.text or "").strip() not in ("", "-1", "inf", "0") for one in bounds):
            remarks.append("not taken over: limits of efforts and velocities")
        flying = [(named(link), _text(link, "gravity") or "true") for link in whole.iter("link")]
        weightless = [name for name, said in flying if said.lower() in ("false", "0")]
        if weightless:
            remarks.append(f"gravity acts on {', '.join(weightless)} too, which the file excludes")


def _solid(geometry: Element | None, where: str) -> tuple[float, np.ndarray] | None:
    """Volume [m^3] and principal moments of unit mass [m^2] of a shape about its centre; None if it is unknown."""
    for kind in ("box", "sphere", "cylinder", "capsule", "ellipsoid"):
        shape = None if geometry is None else geometry.find(kind)
        if shape is None:
            continue
        if kind == "box":
            a, b, c = numbers_in(_text(shape, "size"), (1.0, 1.0, 1.0), "size", where)
            return a * b * c, np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 12
        if kind == "ellipsoid":
            a, b, c = numbers_in(_text(shape, "radii"), (1.0, 1.0, 1.0), "radii", where)
            return 4 / 3 * np.pi * a * b * c, np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 5
        r = _number(shape, "radius", 1.0, where)
        if kind == "sphere":
            return 4 / 3 * np.pi * r**3, np.full(3, 0.4 * r * r)
        h = _number(shape, "length", 1.0, where)
        tube = np.pi * r * r * h
        own, across = r * r / 2, r * r / 4 + h * h / 12
        if kind == "cylinder":
            return tube, np.array([across, across, own])
        ends = 4 / 3 * np.pi * r**3  # two half spheres, their centres of mass 3 r / 8 beyond the tube
        caps = 0.4 * r * r + h * h / 4 + 3 / 8 * h * r
        volume = tube + ends
        mixed = (tube * np.array([across, across, own]) + ends * np.array([caps, caps, 0.4 * r * r])) / volume
        return volume, mixed
    return None
