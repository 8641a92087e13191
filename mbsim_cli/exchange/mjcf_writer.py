"""Mechanisms as MJCF: bodies within bodies, at the coordinates' zero; the start is a keyframe."""

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbsim_cli.exchange.robot import GROUND, INERTIA, Body, Joint, Robot, digits, quaternion_of
from mbsim_cli.exchange.writing import children, laid_out, words

_JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}


def mjcf_of(robot: Robot) -> str:
    """The text of an MJCF file; what MJCF cannot state is added to the robot's remarks."""
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    SubElement(root, "option", gravity=words(robot.gravity))
    start: list[float] = []
    bodies, carried = {body.name: body for body in robot.bodies}, children(robot)
    world = SubElement(root, "worldbody")
    pending = [(joint, world) for joint in reversed(carried.get(GROUND, []))]
    while pending:  # depth first, as the format numbers coordinates
        joint, parent = pending.pop()
        chain = _chain(joint, bodies, carried)
        inner = _add_body(parent, chain, bodies[chain[-1].bodies[1]], start)
        pending += [(below, inner) for below in reversed(carried.get(chain[-1].bodies[1], []))]
    _add_equalities(root, robot)
    if refused := [body.name for body in robot.bodies if body.mass and np.linalg.eigvalsh(body.inertia)[0] <= 0.0]:
        robot.remarks.append(f"MuJoCo refuses inertias that are not positive: {', '.join(refused)}")
    if robot.motors:
        actuators = SubElement(root, "actuator")
        for motor in robot.motors:
            SubElement(actuators, "motor", name=motor.name, joint=motor.joint, gear=digits(motor.gear))
    if start:
        SubElement(SubElement(root, "keyframe"), "key", name="start", qpos=words(start))
    return laid_out(root, robot)


def _chain(joint: Joint, bodies: dict[str, Body], carried: dict[str, list[Joint]]) -> list[Joint]:
    """A joint with those that follow it over bodies without mass, which MJCF has as several joints of one body."""
    chain = [joint]
    while chain[-1].kind in _JOINTS:
        body = bodies[chain[-1].bodies[1]]
        below = carried.get(body.name, [])
        if not body.is_massless or len(below) != 1 or below[0].kind not in _JOINTS:
            break
        chain.append(below[0])
    return chain


def _add_body(parent: Element, chain: list[Joint], body: Body, start: list[float]) -> Element:
    """Add a body with its joints, the outer first; their coordinates at the start are appended."""
    place, turn = np.zeros(3), np.eye(3)  # of the body where all coordinates are zero
    for joint in chain:
        place = place + turn @ (joint.places[0] - joint.turn @ joint.places[1])
        turn = turn @ joint.turn
    made = SubElement(parent, "body", name=body.name, pos=words(place), quat=words(quaternion_of(turn)))
    if not body.is_massless:
        full = words(body.inertia[at] for at in INERTIA.values())
        SubElement(made, "inertial", pos=words(body.center), mass=digits(body.mass), fullinertia=full)
    if chain[0].kind == "floating":
        SubElement(made, "freejoint", name=chain[0].name)
        start += [*place, *quaternion_of(turn)]
    anchors, turns = [chain[-1].places[1]], [np.eye(3)]  # from the innermost outwards; turns: the body in the joint's
    for outer, inner in zip(chain[-2::-1], chain[:0:-1], strict=True):
        turns.append(inner.turn @ turns[-1])
        anchors.append(anchors[-1] + turns[-1].T @ (outer.places[1] - inner.places[0]))
    for joint, anchor, from_body in zip(chain, reversed(anchors), reversed(turns), strict=True):
        if joint.kind in _JOINTS:
            _add_joint(made, joint, anchor, from_body.T @ joint.axis)
            start += [joint.start] if joint.coordinate else [1.0, 0.0, 0.0, 0.0]
    return made


def _add_joint(body: Element, joint: Joint, anchor: np.ndarray, axis: np.ndarray) -> None:
    stated = {"name": joint.name, "type": _JOINTS[joint.kind], "pos": words(anchor)}
    if joint.coordinate:
        stated["axis"] = words(axis)
        for name, value in (("damping", joint.damping), ("armature", joint.armature)):
            stated |= {name: digits(value)} if value else {}
        if joint.stiffness:
            stated |= {"stiffness": digits(joint.stiffness), "springref": digits(joint.natural)}
        if joint.limits is not None:
            stated["range"] = words(joint.limits)
    SubElement(body, "joint", stated)


def _add_equalities(root: Element, robot: Robot) -> None:
    """Joints that close loops, and couplings."""
    equality = Element("equality")
    owners = {joint.coordinate: joint.name for joint in robot.joints if joint.coordinate}
    for joint in robot.joints:
        if not joint.closes:
            continue
        bodies, grounded = dict(zip(("body1", "body2"), joint.bodies, strict=True)), GROUND in joint.bodies
        if joint.kind == "spherical" and not grounded:
            SubElement(equality, "connect", bodies | {"name": joint.name, "anchor": words(joint.places[0])})
        elif joint.kind == "fixed" and not grounded:
            pose = [*(joint.places[0] - joint.turn @ joint.places[1]), *quaternion_of(joint.turn)]
            SubElement(equality, "weld", bodies | {"name": joint.name, "relpose": words(pose)})
        else:
            robot.remarks.append(f"not stated: loop closed by the {joint.kind} joint {joint.name}")
    for coupling in robot.couplings:
        names = [owners.get(coordinate) for coordinate in coupling.terms]
        if len(names) > 2 or None in names:
            robot.remarks.append(f"not stated: coupling {coupling.name}")
            continue
        own, *rest = coupling.terms.values()
        polynomial = [coupling.offset / own, -rest[0] / own if rest else 0.0, 0.0, 0.0, 0.0]
        joints = {f"joint{k}": name for k, name in enumerate(map(str, names), 1)}
        SubElement(equality, "joint", joints | {"name": coupling.name, "polycoef": words(polynomial)})
    if len(equality):
        root.append(equality)
