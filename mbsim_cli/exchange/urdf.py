"""Robots in URDF, read and written: links, joints, limits, damping and mimic joints.

Only elements that matter for the motion are read. Meshes are not opened, so that ``package://`` needs no ROS.
"""

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.exchange.robot import GROUND, INERTIA, Body, Coupling, Joint, Names, Robot, Visual, digits, rotation_of
from mbsim_cli.exchange.xml import Wrong, laid_out, named, number_in, numbers_in, read_with, turned, words

_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_RESISTANCE = ("damping", "friction")
_READ = {  # or counted: elements of each level
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"},
}


def read(path: Path, floating: bool = False) -> Robot:
    """The robot in a file, whose root link is fixed to the ground or ``floating``; raises InputOutputError."""
    return read_with(path, lambda root: _robot(root, path, floating))


def _robot(root: Element, path: Path, floating: bool) -> Robot:
    robot = Robot(root.get("name") or path.stem, path.name)
    links, elements = root.findall("link"), root.findall("joint")
    _refuse_macros_and_doubles(root)
    bodies, joints = robot.body_names, robot.joint_names
    for link in links:
        robot.bodies.append(_body(link, bodies.add(named(link))))
        for visual in link.findall("visual"):
            mesh, where = visual.find("geometry/mesh"), f"link {named(link)}"
            if mesh is not None and (file := mesh.get("filename")):
                scale = _numbers(mesh, "scale", (1.0, 1.0, 1.0), where)
                robot.visuals.append(Visual(bodies[named(link)], file, scale, *_pose(visual, where)))
    children = {_link(joint, "child", bodies) for joint in elements}
    for link in links:
        name = named(link)
        if name not in children:
            kind = "floating" if floating else "fixed"
            robot.joints.append(Joint(joints.add("base"), kind, (GROUND, bodies[name]), np.zeros((2, 3))))
    made = {named(element): _joint(element, joints.add(named(element)), bodies) for element in elements}
    robot.joints += made.values()
    parents: dict[str, Joint] = {}
    for joint in made.values():
        if (first := parents.setdefault(joint.bodies[1], joint)) is not joint:
            sentence = f"{joint.bodies[1]} is the child of {first.name} and of {joint.name}, which close a loop"
            robot.remarks.append(sentence)
    for element in elements:
        if (mimic := element.find("mimic")) is not None:
            own, other = made[named(element)], made.get(mimic.get("joint") or "")
            if other is own:
                robot.remarks.append(f"not taken over: {own.name} follows itself")
            elif other is not None and own.coordinate and other.coordinate:
                multiplier = _number(mimic, "multiplier", 1.0, f"joint {own.name}")
                terms = {own.coordinate: 1.0, other.coordinate: -multiplier}  # q = multiplier q_other + offset
                offset = _number(mimic, "offset", 0.0, f"joint {own.name}")
                robot.couplings.append(Coupling(f"{own.name}_follows_{other.name}", terms, offset))
            else:
                sentence = f"{own.name} follows {mimic.get('joint')}, and one of the two has no coordinate"
                robot.remarks.append(f"not taken over: {sentence}")
    _add_remarks(root, links, elements, robot)
    return robot


def _refuse_macros_and_doubles(root: Element) -> None:
    """Raise Wrong for a file that xacro has not expanded, and for names that stand twice."""
    if any("xacro" in element.tag for element in root.iter() if isinstance(element.tag, str)):
        raise Wrong("the file has macros; expand them first: xacro FILE -o ROBOT.urdf")
    for kind in ("link", "joint"):
        seen: set[str] = set()
        for element in root.findall(kind):
            if named(element) in seen:
                raise Wrong(f"{kind} {named(element)} stands twice")
            seen.add(named(element))


def _link(joint: Element, end: str, bodies: Names) -> str:
    """Name of the parent or child of a joint."""
    stated = joint.find(end)
    name = None if stated is None else stated.get("link")
    if name is None or name not in bodies:
        raise Wrong(f"joint {named(joint)}: the {end} {name} is no link")
    return name


def _numbers(element: Element | None, attribute: str, default: tuple[float, ...], where: str) -> np.ndarray:
    """Numbers of an attribute, or the default; their count is that of the default."""
    return numbers_in(None if element is None else element.get(attribute), default, attribute, where)


def _number(element: Element | None, attribute: str, default: float, where: str) -> float:
    return number_in(None if element is None else element.get(attribute), default, attribute, where)


def _pose(element: Element, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation matrix (3, 3) of an ``origin``, by a quaternion or angles about the fixed x, y, z."""
    origin = element.find("origin")
    place = _numbers(origin, "xyz", (0.0, 0.0, 0.0), where)
    if origin is not None and origin.get("quat_xyzw") is not None:  # since version 1.1 of the format
        quaternion = _numbers(origin, "quat_xyzw", (0.0, 0.0, 0.0, 1.0), where)
        if not quaternion.any():
            raise Wrong(f"{where}: quat_xyzw must not be zero")
        return place, rotation_of(quaternion[[3, 0, 1, 2]])
    return place, turned(*_numbers(origin, "rpy", (0.0, 0.0, 0.0), where))


def _body(link: Element, name: str) -> Body:
    inertial = link.find("inertial")
    if inertial is None:
        return Body(name)
    where = f"link {named(link)}"
    place, turn = _pose(inertial, where)
    stated = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (_number(stated, name, 0.0, where) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Body(name, _number(inertial.find("mass"), "value", 0.0, where), place, turn @ inertia @ turn.T)


def _joint(element: Element, name: str, bodies: Names) -> Joint:
    kind, where = element.get("type") or "", f"joint {named(element)}"
    if kind not in _KINDS:
        raise Wrong(f"{where}: unknown type {kind!r}; known: {', '.join(_KINDS)}")
    place, turn = _pose(element, where)
    axis = _numbers(None if kind in ("fixed", "floating") else element.find("axis"), "xyz", (1.0, 0.0, 0.0), where)
    length = float(np.linalg.norm(axis))
    if not 0 < length < np.inf:
        raise Wrong(f"{where}: the axis has no direction")
    ends = (bodies[_link(element, "parent", bodies)], bodies[_link(element, "child", bodies)])
    if ends[0] == ends[1]:
        raise Wrong(f"{where}: parent and child are the same link")
    shape, places = "revolute" if kind == "continuous" else kind, np.array([place, np.zeros(3)])
    made = Joint(name, shape, ends, places, turn, axis / length)
    limit = element.find("limit")
    if limit is not None and kind in ("revolute", "prismatic"):
        made.limits = (_number(limit, "lower", 0.0, where), _number(limit, "upper", 0.0, where))
    if made.coordinate:
        made.damping = _number(element.find("dynamics"), "damping", 0.0, where)
        made.loss = _number(element.find("dynamics"), "friction", 0.0, where)
    return made


def _add_remarks(root: Element, links: list[Element], elements: list[Element], robot: Robot) -> None:
    """Add remarks on elements that model files do not have, or that do not affect the motion."""
    if any(_states(element, "limit", "effort", "velocity") for element in elements):
        robot.remarks.append("not taken over: limits of efforts and velocities")
    several = [element for element in elements if element.get("type") in ("planar", "floating")]
    for what, *stated in (("limits", "limit", "lower", "upper"), ("damping and friction", "dynamics", *_RESISTANCE)):
        if names := [named(element) for element in several if _states(element, *stated)]:
            robot.remarks.append(f"not taken over: {what} of {', '.join(names)}")
    shapes = sum(visual.find("geometry/mesh") is None for link in links for visual in link.findall("visual"))
    for count, what in ((shapes, "visual"), (sum(len(link.findall("collision")) for link in links), "collision")):
        if count:
            robot.remarks.append(f"not taken over: {count} {what} shapes")
    parts = [("robot", root), *(("link", link) for link in links), *(("joint", element) for element in elements)]
    if found := {child.tag for level, part in parts for child in part if child.tag not in _READ[level]}:
        robot.remarks.append(f"not taken over: elements {', '.join(sorted(found))}")


def _states(joint: Element, part: str, *attributes: str) -> bool:
    """Whether one of the attributes of an element in a joint is not zero; text that is no number counts, too."""
    stated = joint.find(part)
    return stated is not None and any(_is_not_zero(stated.get(attribute, "").strip()) for attribute in attributes)


def _is_not_zero(text: str) -> bool:
    try:
        return float(text) != 0.0
    except ValueError:
        return bool(text)


# Writing: a tree of links; the frame of a link is at the joint to its parent.

WORLD = "world"
_WRITTEN = ("fixed", "revolute", "prismatic", "floating")


def urdf_of(robot: Robot) -> str:
    """The text of a URDF file; raises UsageError for kinds of joints that URDF lacks.

    Remarks on the robot list what URDF cannot state: loops, springs, rotor inertias, motors, initial positions, and
    any gravity but 9.81 m/s^2 along -z.
    """
    _remark(robot)
    shifts = {joint.bodies[1]: joint.places[1] for joint in robot.joints if not joint.closes} | {GROUND: np.zeros(3)}
    root = Element("robot", name=robot.name)
    base = _base(robot)
    if base is None:
        SubElement(root, "link", name=WORLD)
    for body in robot.bodies:
        link = SubElement(root, "link", name=body.name)
        if not body.is_massless:
            inertial = SubElement(link, "inertial")
            SubElement(inertial, "origin", xyz=words(body.center - shifts[body.name]), rpy="0 0 0")
            SubElement(inertial, "mass", value=digits(body.mass))
            SubElement(inertial, "inertia", {f"i{name}": digits(body.inertia[at]) for name, at in INERTIA.items()})
    for joint in robot.joints:
        if not joint.closes and joint is not base:
            _write_joint(root, robot, joint, shifts)
    return laid_out(root, robot)


def _base(robot: Robot) -> Joint | None:
    """The joint of the root link to the ground, which URDF does not state; None if the ground is written as a link."""
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
        ("springs and dampers between points", [line.name for line in robot.lines if not line.is_rigid]),
        ("constant distances", [line.name for line in robot.lines if line.is_rigid]),
        ("armatures", [joint.name for joint in robot.joints if joint.armature]),
        ("initial positions", [joint.name for joint in robot.joints if joint.start]),
        ("initial velocities", [joint.name for joint in robot.joints if joint.rates.any()]),
        ("motors", [motor.name for motor in robot.motors]),
        ("couplings of other than two joints", [c.name for c in robot.couplings if len(c.terms) != 2]),
    ):
        if names:
            remarks.append(f"not stated: {what} ({', '.join(names)})")
    if not np.array_equal(robot.gravity, [0.0, 0.0, -9.81]):
        remarks.append(f"not stated: gravity of {words(robot.gravity)} m/s^2")


def _write_joint(root: Element, robot: Robot, joint: Joint, shifts: dict[str, np.ndarray]) -> None:
    if joint.kind not in _WRITTEN:
        raise UsageError(f"URDF has no {joint.kind} joints, as {joint.name} is; MJCF has (--to mjcf)")
    parent, child = joint.bodies
    kind = "continuous" if joint.kind == "revolute" and joint.limits is None else joint.kind
    made = SubElement(root, "joint", name=joint.name, type=kind)
    SubElement(made, "parent", link=WORLD if parent == GROUND else parent)
    SubElement(made, "child", link=child)
    SubElement(made, "origin", xyz=words(joint.places[0] - shifts[parent]), rpy=words(angles_of(joint.turn)))
    if not joint.coordinate:
        return
    SubElement(made, "axis", xyz=words(joint.axis))
    low, high = joint.limits or (-1e9, 1e9)
    if kind != "continuous":  # prismatic joints must have limits, and all limits those of effort and velocity
        SubElement(made, "limit", lower=digits(low), upper=digits(high), effort="1e9", velocity="1e9")
    dynamics = {"damping": joint.damping, "friction": joint.loss}
    if stated := {name: digits(value) for name, value in dynamics.items() if value}:
        SubElement(made, "dynamics", stated)
    for coupling in robot.couplings:  # the first coordinate of a coupling of two follows the second
        if len(coupling.terms) != 2 or next(iter(coupling.terms)) != joint.coordinate:
            continue
        (_, own), (other, weight) = coupling.terms.items()
        leader = next((one for one in robot.joints if one.coordinate == other), None)
        if made.find("mimic") is not None:
            robot.remarks.append(f"not stated: coupling {coupling.name}, as {joint.name} follows another joint already")
        elif leader is not None:
            multiplier, offset = digits(-weight / own), digits(coupling.offset / own)
            SubElement(made, "mimic", joint=leader.name, multiplier=multiplier, offset=offset)


def angles_of(turn: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation, about the fixed axes x, y, z in turn; exact near a pitch of 90 degrees too."""
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-turn[2, 0], c * turn[0, 0] + s * turn[1, 0])
    roll = np.arctan2(s * turn[0, 2] - c * turn[1, 2], c * turn[1, 1] - s * turn[0, 1])
    return np.array([roll, pitch, yaw]) + 0.0
