"""Robots in URDF: links, joints, limits, damping and joints that follow others.

The dozen elements that matter for the motion are read from the XML as they stand; meshes are not opened, so that
``package://`` needs no ROS.
"""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.exchange.robot import GROUND, Body, Coupling, Joint, Names, Robot

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_KINDS |= {"floating": "floating", "planar": "planar"}
_NO_AXIS = ("fixed", "floating")


def read(path: Path, floating: bool = False) -> Robot:
    """The robot in a file; its root link is fixed to the ground, or ``floating``.

    Raises InputOutputError where the file is no URDF, or states what no mechanism has.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise InputOutputError(f"{path} cannot be read as XML: {error}") from None
    try:
        return _robot(root, path, floating)
    except _Wrong as error:
        raise InputOutputError(f"{path}: {error}") from None


class _Wrong(Exception):
    """An element states something wrong; the message is for the user."""


def _robot(root: Element, path: Path, floating: bool) -> Robot:
    robot = Robot(root.get("name") or path.stem, path.name)
    links, elements = root.findall("link"), root.findall("joint")
    bodies, joints = Names([GROUND]), Names()
    for link in links:
        robot.bodies.append(_body(link, bodies.add(_named(link))))
    children = {_link(joint, "child", bodies) for joint in elements}
    for link in links:
        name = _named(link)
        if name not in children:
            kind = "floating" if floating else "fixed"
            robot.joints.append(Joint(joints.add("base"), kind, (GROUND, bodies[name]), np.zeros((2, 3))))
    made = {_named(element): _joint(element, joints.add(_named(element)), bodies) for element in elements}
    robot.joints += made.values()
    for element in elements:
        if (mimic := element.find("mimic")) is not None:
            own, other = made[_named(element)], made.get(mimic.get("joint") or "")
            if other is not None and own.coordinate and other.coordinate:
                robot.couplings.append(_coupling(own, other, mimic))
            else:
                sentence = f"{own.name} follows {mimic.get('joint')}, and one of the two has no coordinate"
                robot.remarks.append(f"not taken over: {sentence}")
    _add_remarks(links, elements, made, robot)
    return robot


def _named(element: Element) -> str:
    name = element.get("name")
    if not name:
        raise _Wrong(f"a {element.tag} has no name")
    return name


def _link(joint: Element, end: str, bodies: Names) -> str:
    """Name of the parent or child of a joint."""
    stated = joint.find(end)
    name = None if stated is None else stated.get("link")
    if name is None or name not in bodies:
        raise _Wrong(f"joint {_named(joint)}: the {end} {name} is no link")
    return name


def _numbers(element: Element | None, attribute: str, default: tuple[float, ...], where: str) -> np.ndarray:
    """Numbers of an attribute, as many as the default has."""
    text = None if element is None else element.get(attribute)
    if text is None:
        return np.array(default)
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        found = np.array([])
    if found.shape != (len(default),) or not np.all(np.isfinite(found)):
        raise _Wrong(f"{where}: {attribute} wants {len(default)} numbers, not {text!r}")
    return found


def _number(element: Element | None, attribute: str, default: float, where: str) -> float:
    return float(_numbers(element, attribute, (default,), where)[0])


def _pose(element: Element, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Place and rotation of an ``origin``: about the fixed axes x, y, z in turn."""
    origin = element.find("origin")
    place = _numbers(origin, "xyz", (0.0, 0.0, 0.0), where)
    (cr, cp, cy), (sr, sp, sy) = (f(_numbers(origin, "rpy", (0.0, 0.0, 0.0), where)) for f in (np.cos, np.sin))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return place, about_z @ about_y @ about_x


def _body(link: Element, name: str) -> Body:
    inertial = link.find("inertial")
    if inertial is None:
        return Body(name)
    where = f"link {_named(link)}"
    place, turn = _pose(inertial, where)
    stated = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (_number(stated, name, 0.0, where) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Body(name, _number(inertial.find("mass"), "value", 0.0, where), place, turn @ inertia @ turn.T)


def _joint(element: Element, name: str, bodies: Names) -> Joint:
    kind, where = element.get("type") or "", f"joint {_named(element)}"
    if kind not in _KINDS:
        raise _Wrong(f"{where}: unknown type {kind!r}; known: {', '.join(_KINDS)}")
    place, turn = _pose(element, where)
    axis = _numbers(None if kind in _NO_AXIS else element.find("axis"), "xyz", (1.0, 0.0, 0.0), where)
    length = float(np.linalg.norm(axis))
    if not length > 0:
        raise _Wrong(f"{where}: the axis has no direction")
    ends = (bodies[_link(element, "parent", bodies)], bodies[_link(element, "child", bodies)])
    made = Joint(name, _KINDS[kind], ends, np.array([place, np.zeros(3)]), turn, axis / length)
    limit = element.find("limit")
    if limit is not None and kind in ("revolute", "prismatic"):
        made.limits = (_number(limit, "lower", 0.0, where), _number(limit, "upper", 0.0, where))
    if made.coordinate:
        made.damping = _number(element.find("dynamics"), "damping", 0.0, where)
    return made


def _coupling(own: Joint, other: Joint, mimic: Element) -> Coupling:
    """One coordinate that follows another: q = multiplier q_other + offset."""
    multiplier = _number(mimic, "multiplier", 1.0, f"joint {own.name}")
    offset = _number(mimic, "offset", 0.0, f"joint {own.name}")
    terms = {own.coordinate: 1.0, other.coordinate: -multiplier}
    return Coupling(f"{own.name}_follows_{other.name}", terms, offset)


def _add_remarks(links: list[Element], elements: list[Element], made: dict[str, Joint], robot: Robot) -> None:
    """Say what has no place in a model file, or no meaning for the motion."""
    rubbing = [
        joint.name
        for element in elements
        if _number(element.find("dynamics"), "friction", 0.0, (joint := made[_named(element)]).name)
    ]
    if rubbing:
        robot.remarks.append(f"not taken over: dry friction of {', '.join(rubbing)}")
    efforts = (_number(element.find("limit"), "effort", 0.0, _named(element)) for element in elements)
    if any(efforts):
        robot.remarks.append("not taken over: limits of efforts and velocities")
    for what in ("visual", "collision"):
        if count := sum(len(link.findall(what)) for link in links):
            robot.remarks.append(f"not taken over: {count} {what} shapes")
