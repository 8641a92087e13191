"""What writers of URDF and MJCF share: numbers, and how the file of a robot is laid out."""

from collections.abc import Iterable
from xml.etree import ElementTree

import numpy as np

from mbsim_cli.exchange.robot import Joint, Robot

ROUND_OFF = 1e-15  # numbers below, relative to the largest beside them, are zero


def words(numbers: Iterable[float]) -> str:
    """Numbers with all their digits, of which whole ones have no point."""
    return " ".join(str(int(n)) if n == int(n) and abs(n) < 1e15 else repr(n) for n in map(float, numbers))


def inertia_words(inertia: np.ndarray) -> dict[str, str]:
    """The six numbers of an inertia by the names of URDF."""
    places = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    return {name: words([inertia[at]]) for name, at in places.items()}


def children(robot: Robot) -> dict[str, list[Joint]]:
    """Joints that carry bodies, by the body that they stand on, in the order of the robot."""
    found: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        if not joint.closes:
            found.setdefault(joint.bodies[0], []).append(joint)
    return found


def laid_out(root: ElementTree.Element, robot: Robot) -> str:
    """The file's text, which begins with what could not be stated."""
    ElementTree.indent(root)
    remarks = "".join(f"     {remark.replace('--', '- -')}\n" for remark in robot.remarks)
    comment = f"<!-- Exported from {robot.source.replace('--', '- -')} by mbsim.\n{remarks}-->\n"
    return '<?xml version="1.0"?>\n' + comment + ElementTree.tostring(root, encoding="unicode") + "\n"
