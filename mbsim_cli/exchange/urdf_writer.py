"""Robots as URDF: a tree of links, whose frames stand where the joint that carries them is."""

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.exchange.robot import GROUND, INERTIA, Body, Coupling, Joint, Robot, digits
from mbsim_cli.exchange.writing import laid_out, words

WORLD = "world"
NO_LIMIT = {"effort": "1e9", "velocity": "1e9"}  # which the format wants with every limit
_KINDS = {"fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic", "floating": "floating"}


def urdf_of(robot: Robot) -> str:
    """The text of a URDF file; raises UsageError for joints that URDF has not.

    What URDF cannot state is added to the robot's remarks: loops, springs, rotor inertias, motors, initial positions,
    another gravity than 9.81 m/s^2 along -z.
    """
    _remark(robot)
    shifts = {joint.bodies[1]: joint.places[1] for joint in robot.joints if not joint.closes} | {GROUND: np.zeros(3)}
    root = Element("robot", name=robot.name)
    base = _base(robot)
    if base is None:
        SubElement(root, "link", name=WORLD)
    for body in robot.bodies:
        _add_link(root, body, shifts[body.name])
    for joint in robot.joints:
        if not joint.closes and joint is not base:
            _add_joint(root, robot, joint, shifts)
    return laid_out(root, robot)


def _base(robot: Robot) -> Joint | None:
    """The joint of the root link to the ground, which a URDF leaves out; None where the ground is a link of its own."""
    roots = [joint for joint in robot.joints if joint.bodies[0] == GROUND and not joint.closes]
    if len(roots) != 1 or roots[0].kind not in ("fixed", "floating"):
        return None
    (root,) = roots
    at_origin = not root.places.any() and np.array_equal(root.turn, np.eye(3))
    if root.kind == "floating":
        place = "" if at_origin else "; its initial pose is left out"
        robot.remarks.append(f"{root.bodies[1]} floats: import it with --base floating{place}")
        return root
    return root if at_origin else None


def _remark(robot: Robot) -> None:
    remarks = robot.remarks
    remarks += [f"not stated: loop closed by joint {joint.name}" for joint in robot.joints if joint.closes]
    for what, names in (
        ("springs", [joint.name for joint in robot.joints if joint.stiffness]),
        ("armatures", [joint.name for joint in robot.joints if joint.armature]),
        ("initial positions", [joint.name for joint in robot.joints if joint.start]),
        ("motors", [motor.name for motor in robot.motors]),
        ("couplings of other than two joints", [c.name for c in robot.couplings if len(c.terms) != 2]),
    ):
        if names:
            remarks.append(f"not stated: {what} ({', '.join(names)})")
    if not np.array_equal(robot.gravity, [0.0, 0.0, -9.81]):
        remarks.append(f"not stated: gravity of {words(robot.gravity)} m/s^2")


def _add_link(root: Element, body: Body, shift: np.ndarray) -> None:
    link = SubElement(root, "link", name=body.name)
    if body.is_massless:
        return
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=words(body.center - shift), rpy="0 0 0")
    SubElement(inertial, "mass", value=digits(body.mass))
    SubElement(inertial, "inertia", {f"i{name}": digits(body.inertia[at]) for name, at in INERTIA.items()})


def _add_joint(root: Element, robot: Robot, joint: Joint, shifts: dict[str, np.ndarray]) -> None:
    if joint.kind not in _KINDS:
        raise UsageError(f"URDF has no {joint.kind} joints, as {joint.name} is; MJCF has (--to mjcf)")
    parent, child = joint.bodies
    kind = "continuous" if joint.kind == "revolute" and joint.limits is None else _KINDS[joint.kind]
    made = SubElement(root, "joint", name=joint.name, type=kind)
    SubElement(made, "parent", link=WORLD if parent == GROUND else parent)
    SubElement(made, "child", link=child)
    SubElement(made, "origin", xyz=words(joint.places[0] - shifts[parent]), rpy=words(angles_of(joint.turn)))
    if not joint.coordinate:
        return
    SubElement(made, "axis", xyz=words(joint.axis))
    low, high = joint.limits or (-1e9, 1e9)
    if kind != "continuous":  # a prismatic joint has no kind without limits
        SubElement(made, "limit", {"lower": digits(low), "upper": digits(high)} | NO_LIMIT)
    if joint.damping:
        SubElement(made, "dynamics", damping=digits(joint.damping))
    for coupling in robot.couplings:
        _add_mimic(made, robot, joint, coupling)


def _add_mimic(made: Element, robot: Robot, joint: Joint, coupling: Coupling) -> None:
    """The first coordinate of a coupling of two follows the second."""
    terms = coupling.terms
    if len(terms) != 2 or next(iter(terms)) != joint.coordinate:
        return
    (_, own), (other, weight) = terms.items()
    leader = next((one for one in robot.joints if one.coordinate == other), None)
    if leader is None or made.find("mimic") is not None:
        return
    multiplier, offset = digits(-weight / own), digits(coupling.offset / own)
    SubElement(made, "mimic", joint=leader.name, multiplier=multiplier, offset=offset)


def angles_of(turn: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation, about the fixed axes x, y, z in turn; exact near a pitch of 90 degrees too."""
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-turn[2, 0], c * turn[0, 0] + s * turn[1, 0])
    roll = np.arctan2(s * turn[0, 2] - c * turn[1, 2], c * turn[1, 1] - s * turn[0, 1])
    return np.array([roll, pitch, yaw]) + 0.0
