"""XML of URDF, SDF and MJCF: errors, numbers, rotations, paths of meshes; the layout of written files."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from mbsim_cli.errors import InputOutputError, counted
from mbsim_cli.exchange.robot import Robot, digits


class Wrong(Exception):
    """An element is invalid; the message is for the user."""


def read_with(path: Path, make: Callable[[Element], Robot]) -> Robot:
    """The robot that ``make`` builds from the root of a file, without its namespace; raises InputOutputError."""
    try:
        root = ElementTree.parse(path).getroot()
        space, _, _ = root.tag.rpartition("}")
        for element in root.iter() if space else ():
            element.tag = element.tag.removeprefix(space + "}")
        return make(root)
    except ElementTree.ParseError as error:
        raise InputOutputError(f"{path} cannot be read as XML: {error}") from None
    except Wrong as error:
        raise InputOutputError(f"{path}: {error}") from None


def root_of(beginning: bytes) -> str:
    """The name of the first element, outside of comments; empty if there is none."""
    coding = "utf-16" if beginning.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = re.sub("<!--.*?-->", "", beginning.decode(coding, errors="replace"), flags=re.DOTALL)
    found = re.search(r"<(?:\w+:)?(\w+)", text)
    return found[1] if found else ""


def named(element: Element) -> str:
    """The name of an element; raises Wrong if it has none."""
    name = element.get("name")
    if not name:
        raise Wrong(f"a {element.tag} has no name")
    return name


def numbers_in(text: str | None, default: tuple[float, ...], what: str, where: str) -> np.ndarray:
    """Finite numbers in a text, or the default for None; raises Wrong unless there are as many as in the default."""
    if text is None:
        return np.array(default)
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        found = np.array([])
    if found.shape != (len(default),) or not np.all(np.isfinite(found)):
        raise Wrong(f"{where}: {what} must have {counted(len(default), 'number')}, not {text!r}")
    return found


def number_in(text: str | None, default: float, what: str, where: str) -> float:
    """A number in a text, which may be infinite as limits are, or the default for None; raises Wrong."""
    if text is not None and re.fullmatch(r"\s*[+-]?inf(inity)?\s*", text, re.IGNORECASE):
        return float(text)
    return float(numbers_in(text, (default,), what, where)[0])


def turned(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """The rotation matrix (3, 3) of angles about the fixed axes x, y, z in turn."""
    (cr, cp, cy), (sr, sp, sy) = (f(np.array([roll, pitch, yaw])) for f in (np.cos, np.sin))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def mesh_file(stated: str, robot: Path) -> Path | None:
    """The file at a path of a mesh, None if it does not exist.

    ``package://NAME/...`` and ``model://NAME/...`` are searched in folders NAME near the file of the robot.
    """
    scheme, _, rest = stated.rpartition("://")
    if scheme in ("", "file"):
        candidates = [robot.parent / rest]
    else:
        name, _, inner = rest.partition("/")
        folders = robot.resolve().parents
        candidates = [folder / inner for folder in folders if folder.name == name]
        candidates += [folder / rest for folder in folders]
    return next((path for path in candidates if path.is_file()), None)


def words(numbers: Iterable[float]) -> str:
    """Numbers with full precision, separated by blanks."""
    return " ".join(map(digits, numbers))


def laid_out(root: ElementTree.Element, robot: Robot) -> str:
    """The text of the file, with the robot's remarks in a comment at the top."""
    ElementTree.indent(root)
    remarks = "".join(f"     {remark.replace('--', '- -')}\n" for remark in robot.remarks)
    comment = f"<!-- Exported from {robot.source.replace('--', '- -')} by mbsim.\n{remarks}-->\n"
    return '<?xml version="1.0"?>\n' + comment + ElementTree.tostring(root, encoding="unicode") + "\n"
