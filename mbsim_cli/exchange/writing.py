"""Shared by the writers of URDF and MJCF: lists of numbers, the tree of joints, the layout of the file."""

from collections.abc import Iterable
from xml.etree import ElementTree

from mbsim_cli.exchange.robot import Joint, Robot, digits


def words(numbers: Iterable[float]) -> str:
    """Numbers with all digits, separated by blanks."""
    return " ".join(map(digits, numbers))


def children(robot: Robot) -> dict[str, list[Joint]]:
    """Joints that carry bodies, by the body that they stand on, in the order of the robot."""
    found: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        if not joint.closes:
            found.setdefault(joint.bodies[0], []).append(joint)
    return found


def laid_out(root: ElementTree.Element, robot: Robot) -> str:
    """The text of the file, with the robot's remarks in a comment at the top."""
    ElementTree.indent(root)
    remarks = "".join(f"     {remark.replace('--', '- -')}\n" for remark in robot.remarks)
    comment = f"<!-- Exported from {robot.source.replace('--', '- -')} by mbsim.\n{remarks}-->\n"
    return '<?xml version="1.0"?>\n' + comment + ElementTree.tostring(root, encoding="unicode") + "\n"
