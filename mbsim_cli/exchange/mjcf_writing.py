"""Mechanisms written in MJCF: bodies within bodies, in the pose of zero coordinates; a keyframe holds the start."""

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbsim_cli.exchange.robot import GROUND, INERTIA, Body, Joint, Names, Robot, digits, distance_of, quaternion_of
from mbsim_cli.exchange.xml import laid_out, words

_JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}
_CLOSING = {"spherical": "connect", "fixed": "weld", "revolute": "connect"}
_REFUSED = 1e-15  # kg and kg m^2: MuJoCo refuses bodies that move with less
_LEAST = 2e-15  # written for zeros
_NEGLIGIBLE = 1e-9  # largest share of _LEAST in the inertia of a body
_LEAST_FULL = 1e-13  # kg m^2: MuJoCo takes smaller moments about principal axes only, its bound is 1e-14
_ROUND_OFF = 1e-12  # of moments, relative to the largest, and of lengths


def mjcf_of(robot: Robot) -> str:
    """The text of an MJCF file; what MJCF cannot state is added to the robot's remarks."""
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    SubElement(root, "option", gravity=words(robot.gravity))
    start: list[float] = []
    rates: list[float] = []
    bodies = {body.name: body for body in robot.bodies}
    carried: dict[str, list[Joint]] = {}  # joints to children, by parent body
    for joint in robot.joints:
        if not joint.closes:
            carried.setdefault(joint.bodies[0], []).append(joint)
    inertias, names = _Inertias(robot), Names(joint.name for joint in robot.joints)
    world = SubElement(root, "worldbody")
    pending = [(joint, world) for joint in reversed(carried.get(GROUND, []))]
    while pending:  # depth first, as the format numbers coordinates
        joint, parent = pending.pop()
        chain = _chain(joint, bodies, carried)
        body = bodies[chain[-1].bodies[1]]
        inner = _write_body(parent, chain, inertias.of(body, joint.kind != "fixed"), names, start, rates)
        pending += [(below, inner) for below in reversed(carried.get(chain[-1].bodies[1], []))]
    _add_equalities(root, robot)
    inertias.remark()
    if robot.motors:
        actuators = SubElement(root, "actuator")
        for motor in robot.motors:
            SubElement(actuators, "motor", name=motor.name, joint=motor.joint, gear=digits(motor.gear))
    if start:
        velocity = {"qvel": words(rates)} if any(rates) else {}
        SubElement(SubElement(root, "keyframe"), "key", {"name": "start", "qpos": words(start)} | velocity)
    return laid_out(root, robot)


def _chain(joint: Joint, bodies: dict[str, Body], carried: dict[str, list[Joint]]) -> list[Joint]:
    """A joint and those after it over massless bodies, which become several joints of one body in MJCF."""
    chain = [joint]
    while chain[-1].kind in _JOINTS:
        body = bodies[chain[-1].bodies[1]]
        below = carried.get(body.name, [])
        if not body.is_massless or len(below) != 1 or below[0].kind not in _JOINTS:
            break
        if below[0].kind != "prismatic" and any(joint.kind == "spherical" for joint in chain):
            break  # in MuJoCo no rotation follows a ball in the same body
        chain.append(below[0])
    return chain


class _Inertias:
    """Masses and inertias that MuJoCo accepts, for the same motion; ``remark`` lists those that are not the model's."""

    def __init__(self, robot: Robot):
        self._remarks = robot.remarks
        self._replaced: list[str] = []
        self._filled: list[str] = []
        self._refused: list[str] = []
        self._axes: dict[str, np.ndarray] = {GROUND: np.zeros((0, 3))}  # about which a body turns, at zero coordinates
        bodies = {body.name: body for body in robot.bodies}
        tree = [joint for joint in robot.joints if not joint.closes]
        lengths = [np.abs((joint.places[1], bodies[joint.bodies[1]].center)).max() for joint in tree]
        turned, shifted, slides = [], [], {GROUND: False}  # moments that joints feel, and masses
        for joint in tree:
            own = {"revolute": joint.axis[None], "spherical": np.eye(3), "floating": np.eye(3)}.get(joint.kind)
            before, body = self._axes[joint.bodies[0]] @ joint.turn, bodies[joint.bodies[1]]
            self._axes[body.name] = before if own is None else np.concatenate([before, own])
            slides[body.name] = slides[joint.bodies[0]] or joint.kind in ("prismatic", "floating")
            lever = np.linalg.norm(body.center - joint.places[1])
            around = body.mass * lever**2 if lever > _ROUND_OFF * max(lengths) else 0.0
            moment = np.abs(body.inertia).max()
            moment *= moment > _noise(body)
            if len(self._axes[body.name]):
                turned.append(max(around, joint.armature * (joint.kind == "revolute"), moment))
            if slides[body.name]:
                shifted.append(max(body.mass, joint.armature * (joint.kind == "prismatic")))
        of_moments, of_mass = (
            _NEGLIGIBLE * min(filter(None, sizes), default=0.0) > _LEAST for sizes in (turned, turned + shifted)
        )
        self._is_negligible = np.array([of_mass, of_moments, of_moments, of_moments])

    def of(self, body: Body, moves: bool) -> dict[str, str]:
        """Attributes of the ``inertial`` of a body; empty for one without mass that is fixed to another."""
        if body.is_massless and not moves:
            return {}
        inertia, turns = body.inertia, len(self._axes[body.name]) > 0
        moments, axes = np.linalg.eigh(inertia)
        noise = max(_noise(body), _ROUND_OFF * moments[2])
        only = self._only_moment(body, moments)
        is_filled = only > noise and (_excess(moments) > noise or (moves and moments[0] < _REFUSED))
        if is_filled:
            inertia, moments, axes = only * np.eye(3), np.full(3, only), np.eye(3)
        numbers, excess = np.array([body.mass, *moments]), _excess(moments)
        lacks = moves & (numbers < _REFUSED)
        are_zero = np.abs(numbers) <= [0.0, noise, noise, noise]
        stated = {"pos": words(body.center)}
        if excess > noise or (lacks & [True, turns, turns, turns] & ~(are_zero & self._is_negligible)).any():
            self._refused.append(body.name)
            inertia = body.inertia
        else:
            if is_filled:
                self._filled.append(body.name)
            if lacks.any():
                self._replaced.append(body.name)
            if lacks.any() or moments[0] < _LEAST_FULL or excess > -noise:  # MuJoCo's own principal axes are off
                numbers = np.where(lacks, _LEAST, np.maximum(numbers, 0.0))
                numbers[1] = max(numbers[1], numbers[3] - numbers[2])
                axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
                stated |= {"quat": words(quaternion_of(axes)), "mass": digits(numbers[0])}
                return stated | {"diaginertia": words(numbers[1:])}
        return stated | {"mass": digits(body.mass), "fullinertia": words(inertia[at] for at in INERTIA.values())}

    def _only_moment(self, body: Body, moments: np.ndarray) -> float:
        """The moment about the only axis that a body turns about, the largest if it does not turn; 0 for more axes."""
        axes = self._axes[body.name]
        if not len(axes):
            return moments[2]
        first = axes[0] / np.linalg.norm(axes[0])
        is_only = np.abs(np.cross(first, axes)).max() < 1e-9 * np.abs(axes).max()
        return first @ body.inertia @ first if is_only else 0.0

    def remark(self) -> None:
        """List the bodies whose numbers are others than in the model, and those that MuJoCo refuses."""
        for what, names, how in (
            ("moving bodies without mass or inertia: zeros of", self._replaced, f"as {_LEAST:g}"),
            ("inertias that are zero or impossible: those of", self._filled, "with the same moment about all axes"),
        ):
            if names:
                sentence = f"MuJoCo refuses {what} {', '.join(names)} were written {how}"
                self._remarks.append(f"{sentence}; the motion is the same")
        if self._refused:
            why = f"it needs {_REFUSED:g} kg and kg m^2 of all that moves, and inertias that a body can have"
            self._remarks.append(f"MuJoCo refuses the file: {why}; correct {', '.join(self._refused)}")


def _noise(body: Body) -> float:
    """Round-off of moments of inertia that were shifted to the centre of mass [kg m^2]."""
    return _ROUND_OFF * body.mass * float(body.center @ body.center)


def _excess(moments: np.ndarray) -> float:
    """The largest moment minus the sum of the others, positive for inertias that no body can have [kg m^2]."""
    return moments[2] - moments[1] - moments[0]


def _write_body(
    parent: Element, chain: list[Joint], inertial: dict[str, str], names: Names, start: list[float], rates: list[float]
) -> Element:
    """Add a body with its joints, the outer first; their initial coordinates and velocities are appended.

    A joint that floats on another body becomes three slides and a ball, as MuJoCo's float in the world only.
    """
    place, turn = np.zeros(3), np.eye(3)  # of the body at zero coordinates
    for joint in chain:
        place = place + turn @ (joint.places[0] - joint.turn @ joint.places[1])
        turn = turn @ joint.turn
    made = SubElement(parent, "body", name=chain[-1].bodies[1], pos=words(place), quat=words(quaternion_of(turn)))
    if inertial:
        SubElement(made, "inertial", inertial)
    if chain[0].kind == "floating":
        velocity, spin = np.split(chain[0].rates, 2)
        velocity = velocity - np.cross(spin, turn @ chain[0].places[1])  # of the origin
        if chain[0].bodies[0] == GROUND:
            SubElement(made, "freejoint", name=chain[0].name)
            start += [*place, *quaternion_of(turn)]
        else:
            for letter, axis in zip("xyz", np.eye(3), strict=True):
                SubElement(made, "joint", name=names.add(f"{chain[0].name}_{letter}"), type="slide", axis=words(axis))
            SubElement(made, "joint", name=chain[0].name, type="ball")
            start += [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            velocity = turn.T @ velocity
        rates += [*velocity, *(turn.T @ spin)]
    anchors, turns = [chain[-1].places[1]], [np.eye(3)]  # from the innermost outwards; turns: the body in the joint's
    for outer, inner in zip(chain[-2::-1], chain[:0:-1], strict=True):
        turns.append(inner.turn @ turns[-1])
        anchors.append(anchors[-1] + turns[-1].T @ (outer.places[1] - inner.places[0]))
    for joint, anchor, from_body in zip(chain, reversed(anchors), reversed(turns), strict=True):
        if joint.kind in _JOINTS:
            _write_joint(made, joint, anchor, from_body.T @ joint.axis)
            start += [joint.start] if joint.coordinate else [1.0, 0.0, 0.0, 0.0]
            rates += list(joint.rates if joint.coordinate else from_body.T @ joint.turn.T @ joint.rates)
    return made


def _write_joint(body: Element, joint: Joint, anchor: np.ndarray, axis: np.ndarray) -> None:
    stated = {"name": joint.name, "type": _JOINTS[joint.kind], "pos": words(anchor)}
    if joint.coordinate:
        stated["axis"] = words(axis)
        for name, value in (("damping", joint.damping), ("armature", joint.armature), ("frictionloss", joint.loss)):
            stated |= {name: digits(value)} if value else {}
        if joint.stiffness:
            stated |= {"stiffness": digits(joint.stiffness), "springref": digits(joint.natural)}
        if joint.limits is not None:
            stated["range"] = words(joint.limits)
    SubElement(body, "joint", stated)


class _Sites:
    """Adds sites to bodies, with names of their own."""

    def __init__(self, root: Element):
        self._names = Names()
        self._elements = {body.get("name", GROUND): body for body in root.iter() if body.tag in ("worldbody", "body")}

    def lacks(self, bodies: tuple[str, str]) -> str:
        """Why sites cannot stand in these bodies; empty if they can."""
        missing = [body for body in bodies if body not in self._elements]
        return f"body {missing[0]} has no mass, and is not written between its joints" if missing else ""

    def add(self, name: str, bodies: tuple[str, str], places: np.ndarray, turn: np.ndarray | None = None) -> list[str]:
        """Names of two sites at places (2, 3) in the bodies; with ``turn`` (3, 3) the first has the second's axes."""
        sites: list[str] = []
        for body, place, axes in zip(bodies, places, (turn, None), strict=True):
            sites.append(self._names.add(f"{name}_1" if not sites else f"{name}_2"))
            turned = {} if axes is None else {"quat": words(quaternion_of(axes))}
            SubElement(self._elements[body], "site", {"name": sites[-1], "pos": words(place)} | turned)
        return sites


def _add_lines(root: Element, equality: Element, robot: Robot, sites: _Sites, equality_names: Names) -> None:
    """Springs and dampers between points, and constant distances, as tendons."""
    tendons, names = Element("tendon"), Names()
    for line in robot.lines:
        if why := sites.lacks(line.bodies):
            robot.remarks.append(f"not stated: {line.name}: {why}")
            continue
        stated = {"name": names.add(line.name)}
        for name, value in (("stiffness", line.stiffness), ("damping", line.damping)):
            stated |= {name: digits(value)} if value else {}
        if line.stiffness:  # -1 would be the length at zero coordinates
            stated["springlength"] = digits(line.length if line.length != -1.0 else np.nextafter(-1.0, -2.0))
        tendon = SubElement(tendons, "spatial", stated)
        for site in sites.add(line.name, line.bodies, line.places):
            SubElement(tendon, "site", site=site)
        if line.is_rigid:
            polynomial = words([line.length - distance_of(robot, line, moved=False), 0.0, 0.0, 0.0, 0.0])
            name = equality_names.add(line.name)
            SubElement(equality, "tendon", name=name, tendon1=stated["name"], polycoef=polynomial)
    if len(tendons):
        root.append(tendons)


def _size(robot: Robot) -> float:
    """The largest extent of the points of joints in a body that moves; 1 m where there is none."""
    points: dict[str, list[np.ndarray]] = {}
    for joint in robot.joints:
        for body, place in zip(joint.bodies, joint.places, strict=True):
            points.setdefault(body, []).append(place)
    return max((np.ptp(places, axis=0).max() for body, places in points.items() if body != GROUND), default=0.0) or 1.0


def _add_equalities(root: Element, robot: Robot) -> None:
    """Joints that close loops, between sites, couplings, and lines between points.

    An ``anchor`` would not do: MuJoCo takes its place in the second body from the pose of zero coordinates. A revolute
    joint holds two points of its axis.
    """
    equality, sites, equality_names = Element("equality"), _Sites(root), Names()
    owners = {joint.coordinate: joint.name for joint in robot.joints if joint.coordinate}
    apart = _size(robot)
    for joint in robot.joints:
        if not joint.closes:
            continue
        why = sites.lacks(joint.bodies)
        reason = f": {why}" if why else ""
        if joint.kind not in _CLOSING or why:
            robot.remarks.append(f"not stated: loop closed by the {joint.kind} joint {joint.name}{reason}")
            continue
        closed = [(joint.name, joint.places)]
        if joint.kind == "revolute":
            along = apart * np.array([joint.turn @ joint.axis, joint.axis])
            closed.append((f"{joint.name}_axis", joint.places + along))
        for name, places in closed:
            first, second = sites.add(name, joint.bodies, places, joint.turn)
            SubElement(equality, _CLOSING[joint.kind], name=equality_names.add(name), site1=first, site2=second)
    for coupling in robot.couplings:
        names = [owners.get(coordinate) for coordinate in coupling.terms]
        if len(names) > 2 or None in names:
            robot.remarks.append(f"not stated: coupling {coupling.name}")
            continue
        own, *rest = coupling.terms.values()
        polynomial = [coupling.offset / own, -rest[0] / own if rest else 0.0, 0.0, 0.0, 0.0]
        stated = {f"joint{k}": name for k, name in enumerate(map(str, names), 1)}
        stated |= {"name": equality_names.add(coupling.name), "polycoef": words(polynomial)}
        SubElement(equality, "joint", stated)
    _add_lines(root, equality, robot, sites, equality_names)
    if len(equality):
        root.append(equality)
