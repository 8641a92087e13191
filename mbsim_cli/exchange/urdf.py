"""Robots in URDF: links, joints, limits, damping and joints that follow others.

The dozen elements that matter for the motion are read from the XML as they stand; meshes are not opened, so that
``package://`` needs no ROS.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from mbsim_cli.exchange.reading import Wrong, named, numbers_in, read_with, turned
from mbsim_cli.exchange.robot import GROUND, Body, Coupling, Joint, Names, Robot, Visual

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_KINDS |= {"floating": "floating", "planar": "planar"}
_NO_AXIS = ("fixed", "floating")


def read(path: Path, floating: bool = False) -> Robot:
    """The robot in a file; its root link is fixed to the ground, or ``floating``.

    Raises InputOutputError where the file is no URDF, or states what no mechanism has.
    """
    return read_with(path, lambda root: _robot(root, path, floating))


def _robot(root: Element, path: Path, floating: bool) -> Robot:
    robot = Robot(root.get("name") or path.stem, path.name)
    links, elements = root.findall("link"), root.findall("joint")
    bodies, joints = Names([GROUND]), Names()
    for link in links:
        robot.bodies.append(_body(link, bodies.add(named(link))))
        robot.visuals += _visuals(link, bodies[named(link)])
    children = {_link(joint, "child", bodies) for joint in elements}
    for link in links:
        name = named(link)
        if name not in children:
            kind = "floating" if floating else "fixed"
            robot.joints.append(Joint(joints.add("base"), kind, (GROUND, bodies[name]), np.zeros((2, 3))))
    made = {named(element): _joint(element, joints.add(named(element)), bodies) for element in elements}
    robot.joints += made.values()
    for element in elements:
        if (mimic := element.find("mimic")) is not None:
            own, other = made[named(element)], made.get(mimic.get("joint") or "")
            if other is not None and own.coordinate and other.coordinate:
                robot.couplings.append(_coupling(own, other, mimic))
            else:
                sentence = f"{own.name} follows {mimic.get('joint')}, and one of the two has no coordinate"
                robot.remarks.append(f"not taken over: {sentence}")
    _add_remarks(links, elements, robot)
    return robot


def _link(joint: Element, end: str, bodies: Names) -> str:
    """Name of the parent or child of a joint."""
    stated = joint.find(end)
    name = None if stated is None else stated.get("link")
    if name is None or name not in bodies:
        raise Wrong(f"joint {named(joint)}: the {end} {name} is no link")
    return name


def _numbers(element: Element | None, attribute: str, default: tuple[float, ...], where: str) -> np.ndarray:
    """Numbers of an attribute, as many as the default has."""
    return numbers_in(None if element is None else element.get(attribute), default, attribute, where)


def _number(element: Element | None, attribute: str, default: float, where: str) -> float:
    return float(_numbers(element, attribute, (default,), where)[0])


def _pose(element: Element, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Place and rotation of an ``origin``: about the fixed axes x, y, z in turn."""
    origin = element.find("origin")
    place = _numbers(origin, "xyz", (0.0, 0.0, 0.0), where)
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


def _visuals(link: Element, body: str) -> Iterator[Visual]:
    """The meshes that pictures show of a link."""
    where = f"link {named(link)}"
    for visual in link.findall("visual"):
        mesh = visual.find("geometry/mesh")
        if mesh is not None and (file := mesh.get("filename")):
            yield Visual(body, file, _numbers(mesh, "scale", (1.0, 1.0, 1.0), where), *_pose(visual, where))


def _joint(element: Element, name: str, bodies: Names) -> Joint:
    kind, where = element.get("type") or "", f"joint {named(element)}"
    if kind not in _KINDS:
        raise Wrong(f"{where}: unknown type {kind!r}; known: {', '.join(_KINDS)}")
    place, turn = _pose(element, where)
    axis = _numbers(None if kind in _NO_AXIS else element.find("axis"), "xyz", (1.0, 0.0, 0.0), where)
    length = float(np.linalg.norm(axis))
    if not length > 0:
        raise Wrong(f"{where}: the axis has no direction")
    ends = (bodies[_link(element, "parent", bodies)], bodies[_link(element, "child", bodies)])
    made = Joint(name, _KINDS[kind], ends, np.array([place, np.zeros(3)]), turn, axis / length)
    limit = element.find("limit")
    if limit is not None and kind in ("revolute", "prismatic"):
        made.limits = (_number(limit, "lower", 0.0, where), _number(limit, "upper", 0.0, where))
    if made.coordinate:
        made.damping = _number(element.find("dynamics"), "damping", 0.0, where)
        made.loss = _number(element.find("dynamics"), "friction", 0.0, where)
    return made


def _coupling(own: Joint, other: Joint, mimic: Element) -> Coupling:
    """One coordinate that follows another: q = multiplier q_other + offset."""
    multiplier = _number(mimic, "multiplier", 1.0, f"joint {own.name}")
    offset = _number(mimic, "offset", 0.0, f"joint {own.name}")
    terms = {own.coordinate: 1.0, other.coordinate: -multiplier}
    return Coupling(f"{own.name}_follows_{other.name}", terms, offset)


def _add_remarks(links: list[Element], elements: list[Element], robot: Robot) -> None:
    """Say what has no place in a model file, or no meaning for the motion."""
    efforts = (_number(element.find("limit"), "effort", 0.0, named(element)) for element in elements)
    if any(efforts):
        robot.remarks.append("not taken over: limits of efforts and velocities")
    shapes = sum(visual.find("geometry/mesh") is None for link in links for visual in link.findall("visual"))
    for count, what in ((shapes, "visual"), (sum(len(link.findall("collision")) for link in links), "collision")):
        if count:
            robot.remarks.append(f"not taken over: {count} {what} shapes")
