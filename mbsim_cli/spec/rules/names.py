"""Names: what they may look like, that none means two things, that every name and number refers to something."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.bodies import DesignPoint, DesignVector
from mbsim_cli.spec.constraints import COUPLINGS
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import CONSTANTS, FUNCTIONS, VECTOR_FUNCTIONS, ExpressionError, names, parse
from mbsim_cli.spec.expressions.units import instead_of, quantity
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import GROUND, Review

_IN_EXPRESSIONS = ("constants", "parameters", "states", "controllers", "sensors", "objectives")
_IN_REFERENCES = (
    "points", "vectors", "materials", "fields", "bodies", "joints", "constraints", "forces", "cables", "laws", "roads",
    "dh", "study", "optimization", "measurements", "fit",
)  # fmt: skip
_RESERVED = {*CONSTANTS, *FUNCTIONS, *VECTOR_FUNCTIONS, "t"}
_KEYWORDS = {"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else"}
_KEYWORDS |= {"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not"}
_KEYWORDS |= {"or", "pass", "raise", "return", "try", "while", "with", "yield", "True", "False", "None"}


def check_names(review: Review) -> None:
    """Report names that cannot be written in expressions or references, or that stand twice."""
    for section in _IN_EXPRESSIONS:
        for name in getattr(review.model, section):
            made = (section, name) in review.model.derived.made
            for message, hint in () if made else in_expressions(name):
                review.report((section, name), message, hint, key=True)
    for section in _IN_REFERENCES:
        for name in getattr(review.model, section):
            made = section in ("points", "vectors") and (section, name) in review.model.derived.made
            if not made and not _plain(name.replace("-", "_")):
                hint = "letters, digits, _ and -, a letter first"
                review.report((section, name), f"{name!r} cannot be a name", hint, key=True)
    if GROUND in review.model.bodies:
        review.report(("bodies", GROUND), "the ground exists already and cannot be defined", key=True)
    for section, others in (
        ("parameters", ("constants",)),
        ("sensors", ("constants", "parameters")),
        ("objectives", ("constants", "parameters")),
        ("constraints", ("joints",)),  # multipliers are named after either
    ):
        for name in getattr(review.model, section):
            for other in (other for other in others if name in getattr(review.model, other)):
                message = f"{name!r} is also one of the {other}"
                review.report((section, name), message, "give one of them another name", key=True)


def _plain(name: str) -> bool:
    return name.isidentifier() and unicodedata.is_normalized("NFKC", name)


def in_expressions(name: str) -> Iterator[tuple[str, str]]:
    """Yield why a name cannot stand in expressions, and a hint."""
    if not _plain(name) or name in _KEYWORDS:
        yield f"{name!r} cannot be used in expressions", "letters, digits and _, a letter first"
    elif name in _RESERVED:
        yield f"{name!r} has a meaning in expressions already", "choose another name"


# Numbers: every expression reads known names and has a value.


def check_numbers(review: Review) -> None:
    """Report unknown names, cycles and values that do not exist."""
    if review.lost("parameters") or review.lost("constants"):
        return
    expressions = review.model.expressions
    known = {*expressions.names, *review.names("parameters"), *review.names("constants")}
    faults: dict[str, list[ExpressionError]] = {}
    for path, number in review.model.computed:
        if path[0] in ("parameters", "constants") and path[2:] in ((), ("value",)):
            continue
        if number.text not in faults:
            faults[number.text] = list(_faults(review, number, known))
        for fault in faults[number.text]:
            review.report(path, fault.message, fault.hint, fault.offset)
    model = review.model
    for name, error in model.expressions.errors.items():
        path = ("parameters", name, "value") if name in model.parameters else ("constants", name)
        number = model.parameters[name].value if name in model.parameters else model.constants[name]
        if error.message.startswith("unknown"):
            for fault in _faults(review, number, known):
                review.report(path, fault.message, fault.hint, fault.offset)
        elif not error.reported:
            review.report(path, error.message, error.hint, error.offset)


def _faults(review: Review, number: Number, known: set[str]) -> Iterator[ExpressionError]:
    unknown = [(name, offset) for name, offset in names(parse(number.text)).items() if name not in known]
    if unknown and (found := quantity(number.text)) is not None:  # 30 deg/s
        yield ExpressionError("numbers stand without units", found.offset, instead_of(found))
        return
    for name, offset in unknown:
        yield ExpressionError(f"unknown parameter or constant {name!r}", offset, review.suggest(name, known))
    if unknown:
        return
    try:
        review.model.expressions.value(number)
    except ExpressionError as error:
        # a name without value is reported where it is defined
        if not error.reported and not error.message.startswith("unknown"):
            yield error


# References: every body, point, vector, coordinate, law and force that is named exists; all bodies hang together.


_IMPLICIT_POINTS = ("origin", "center_of_mass")
_IMPLICIT_VECTORS = ("x", "y", "z")
ALL = "all"


SIDES = {"line": "direction", "plane": "normal"}  # vectors of what a body carries beside a point
_KEYS = {  # of items that name something, with the method that looks it up
    **dict.fromkeys(("point", "points", "center"), "point_of_body"),
    **dict.fromkeys(("vector", "vectors", "axis", "reference", "normal", "direction"), "vector_of_body"),
    **{key: key for key in ("body", "coordinate", "constraint")},
}
_SECTIONS = {"force": "forces", "road": "roads", "law": "laws", "elongation_law": "laws", "rate_law": "laws"}
_FORCES_OF_TYPE = ("tyre", "contact", "bushing")


class References:
    """Reports names that nothing defines; ``points`` and ``vectors`` give the bodies that carry each."""

    def __init__(self, review: Review):
        self.review = review
        self.points = {name: _carriers(point) for name, point in review.model.points.items()}
        self.vectors = {name: _carriers(vector) for name, vector in review.model.vectors.items()}

    def point_of_body(self, path: Path, text: str) -> None:
        """Check a point that is written body.name."""
        if body := self._body_in(path, text, "point", self.points):
            self.point(path, body, text[len(body) + 1 :], len(body) + 1)

    def vector_of_body(self, path: Path, text: str) -> None:
        """Check a vector that is written body.name."""
        if body := self._body_in(path, text, "vector", self.vectors):
            self.vector(path, body, text[len(body) + 1 :], len(body) + 1)

    def _body_in(self, path: Path, text: str, what: str, carriers: Mapping[str, set[str]]) -> str:
        """The body that exists in body.name; empty where something else stands there."""
        body, _, name = text.partition(".")
        if body and name:
            return body if self.review.known(path, body, "bodies", "body") else ""
        found = sorted(carriers.get(text, ()))[:4]
        hint = "write " + " or ".join(f"{carrier}.{text}" for carrier in found) if found else None
        self.review.report(path, f"{text!r} must be written body.{what}", hint)
        return ""

    def point(self, path: Path, body: str, name: str, offset: int = 0) -> None:
        """Check that a body carries a point."""
        nodes = _nodes(self.review, body)
        if nodes is None:
            return  # those of a file, which is read later
        implicit = ("origin",) if body == GROUND else (*_IMPLICIT_POINTS, *nodes)
        self._on_body(path, body, name, offset, "point", self.points, implicit)

    def vector(self, path: Path, body: str, name: str, offset: int = 0) -> None:
        """Check that a body carries a vector, or one that turns with a node of it, node.name."""
        node, dot, own = name.partition(".")
        nodes = _nodes(self.review, body)
        if dot and (nodes is None or node in nodes):
            name, offset = own, offset + len(node) + 1
        self._on_body(path, body, name, offset, "vector", self.vectors, _IMPLICIT_VECTORS)

    def _on_body(
        self, path: Path, body: str, name: str, offset: int, what: str, carriers: dict, implicit: tuple[str, ...]
    ) -> None:
        review, section = self.review, what + "s"
        if name in implicit or body not in review.bodies or not review.intact(section, name) or review.lost(section):
            return
        if name not in carriers:
            near = [*(n for n, bodies in carriers.items() if body in bodies or ALL in bodies), *implicit]
            hint = review.suggest(name, near)
            if hint is None or not hint.startswith("did"):
                elsewhere = review.suggest(name, carriers) or ""
                hint = elsewhere if elsewhere.startswith("did") else hint
            review.report(path, f"unknown {what} {name!r}", hint, offset)
        elif body not in carriers[name] and ALL not in carriers[name]:
            where = ", ".join(sorted(carriers[name])[:8])
            review.report(path, f"{what} {name!r} is not on body {body!r}", f"it is on {where}", offset)

    def body(self, path: Path, name: str) -> None:
        """Check that a body exists, or a node of one that deforms, body.node."""
        body, dot, node = name.partition(".")
        nodes = _nodes(self.review, body)
        if not dot or nodes == ():
            self.review.known(path, name, "bodies", "body")
        elif nodes is not None and node not in nodes:
            self.review.report(path, f"unknown node {node!r}", self.review.suggest(node, nodes), len(body) + 1)

    def coordinate(self, path: Path, text: str, key: bool = False) -> None:
        """Check that a joint has a coordinate."""
        review = self.review
        joint, dot, name = text.partition(".")
        if not dot:
            review.report(path, f"{text!r} must be written JOINT.coordinate", key=key)
        elif joint not in review.names("joints"):
            if not review.lost("joints"):
                hint = review.suggest(joint, review.names("joints"))
                review.report(path, f"unknown joint {joint!r}", hint, key=key)
        elif review.lost("joints") or (not review.intact("dh") and ("joints", joint) in review.model.derived.made):
            pass  # its type may be wrong
        elif joint in review.model.joints and name not in review.model.joints[joint].coordinates:
            known = review.model.joints[joint].coordinates
            hint = review.suggest(name, known) if known else "it has none"
            message = f"joint {joint!r} has no coordinate {name!r}"
            review.report(path, message, hint, None if key else len(joint) + 1, key)

    def force_of_type(self, path: Path, name: str, wanted: str) -> None:
        """Check that a force of a type exists."""
        review = self.review
        if name in review.model.forces and review.model.forces[name].type != wanted:
            kind = review.model.forces[name].type
            review.report(path, f"force {name!r} is no {wanted} but of type {kind!r}", f"name a force of type {wanted}")
        else:
            review.known(path, name, "forces", wanted)

    def constraint(self, path: Path, text: str) -> None:
        """Check that a constraint or joint exists, with or without the equation behind a dot."""
        review = self.review
        name = text.partition(".")[0]
        known = review.names("constraints") | review.names("joints")
        if not review.lost("joints"):
            review.known(path, name, "constraints", "constraint or joint", known)

    def check(self) -> None:
        """Check all sections."""
        model = self.review.model
        for section in ("points", "vectors"):
            for name, given in getattr(model, section).items():
                self._carried(section, name, given)
        for name, body in model.bodies.items():
            self._body(name, body)
        for name, joint in model.joints.items():
            self._joint(("joints", name), joint)
        for section in ("constraints", "forces", "sensors"):
            for name, item in getattr(model, section).items():
                self._item((section, name), item)
        if (motion := getattr(model.analysis, "motion", None)) is not None:
            self._motion(motion)

        for index, coordinate in enumerate(getattr(model.analysis, "hold", ())):
            self.coordinate(("analysis", "hold", index), coordinate)

    def _motion(self, motion: Any) -> None:
        path = ("analysis", "motion")
        if isinstance(motion.all, str):
            self.review.known((*path, "all"), motion.all, "laws", "law")
        for coordinate, law in motion.laws.items():
            self._given((*path, "laws", coordinate), coordinate)
            if isinstance(law, str):
                self.review.known((*path, "laws", coordinate), law, "laws", "law")
        for place in ("columns", "scale") if motion.table is not None else ():
            for coordinate in getattr(motion.table, place):
                if coordinate not in motion.table.arguments:
                    self._given((*path, "table", place, coordinate), coordinate)

    def _given(self, path: Path, text: str) -> None:
        """Check that a joint, or a body that deforms, has a coordinate; how many elastic ones it has assembly knows."""
        owner, _, name = text.partition(".")
        body = self.review.model.bodies.get(owner)
        is_elastic = name[:1] == "q" and name[1:].isdigit()  # q1, q2, ...
        if body is None or body.flexible is None or not is_elastic:
            self.coordinate(path, text, key=True)

    def _carried(self, section: str, name: str, given: Any) -> None:
        if isinstance(given, DesignPoint | DesignVector):
            for index, body in enumerate(given.bodies):
                self.review.known((section, name, "bodies", index), body, "bodies", "body")
            return
        for body in given:
            if not (section == "vectors" and body == ALL) and body not in self.review.bodies:
                hint = self.review.suggest(body, self.review.bodies)
                if not self.review.lost("bodies"):
                    self.review.report((section, name, body), f"unknown body {body!r}", hint, key=True)

    def _body(self, name: str, body: Any) -> None:
        if isinstance(body.center_of_mass, str):
            path = ("bodies", name, "center_of_mass")
            if body.center_of_mass == "center_of_mass":
                self.review.report(path, "the centre of mass cannot be defined by itself")
            else:
                self.point(path, name, body.center_of_mass)
        if body.inertia_about != "center_of_mass":
            self.point(("bodies", name, "inertia_about"), name, body.inertia_about)

    def _joint(self, path: Path, joint: Any) -> None:
        bodies = joint.bodies
        for index, body in enumerate(bodies):
            self.review.known((*path, "bodies", index), body, "bodies", "body")
        if bodies[0] == bodies[1]:
            self.review.report((*path, "bodies"), f"both bodies are {bodies[0]!r}")
        for key, look_up in (
            ("point", self.point),
            ("axis", self.vector),
            ("reference", self.vector),
            ("axes", self.vector),
        ):
            given = getattr(joint, key, None)
            if isinstance(given, str):
                for body in dict.fromkeys(bodies):
                    look_up((*path, key), body, given)
            elif given is not None:
                for index, (body, name) in enumerate(zip(bodies, given, strict=True)):
                    look_up((*path, key, index), body, name)
        independent = joint.initial.independent if hasattr(joint, "initial") else None
        for index, name in enumerate(independent if isinstance(independent, list) else []):
            place = (*path, "initial", "independent", index)
            self.review.known(place, name, "joints", "coordinate", joint.coordinates)

    def _item(self, path: Path, item: Any) -> None:
        if item.type == "reaction":
            return  # a rule of its own
        for key, method in _KEYS.items():
            given, look_up = getattr(item, key, None), getattr(self, method)
            if isinstance(given, str):
                look_up((*path, key), given)
            elif isinstance(given, list) and key in ("points", "vectors", "axis", "reference"):
                for index, name in enumerate(given):
                    look_up((*path, key, index), name)
        for key, section in _SECTIONS.items():
            given = getattr(item, key, None)
            if isinstance(given, str) and (key, item.type) != ("law", "contact"):
                self.review.known((*path, key), given, section, section.removesuffix("s"))
        for key in _FORCES_OF_TYPE:
            if isinstance(given := getattr(item, key, None), str):
                self.force_of_type((*path, key), given, key)
        for key in ("shape", "against"):
            if isinstance(given := getattr(item, key, None), Spec):
                self._item((*path, key), given)
        for key, side in SIDES.items():
            if (given := getattr(item, key, None)) is not None:
                self.point_of_body((*path, key, "point"), given.point)
                self.vector_of_body((*path, key, side), getattr(given, side))
        if isinstance(coordinates := getattr(item, "coordinates", None), list):
            for index, coordinate in enumerate(coordinates):
                self.coordinate((*path, "coordinates", index), coordinate)
        for direction, law in getattr(item, "laws", None) or ():
            if isinstance(law, str):
                self.review.known((*path, "laws", direction), law, "laws", "law")
        if item.type == "coupling" and item.terms is not None:
            for coordinate in item.terms:
                self.coordinate((*path, "terms", coordinate), coordinate, key=True)
        elif item.type in COUPLINGS:
            self.coordinate((*path, "of"), item.of)
            self.coordinate((*path, "by"), item.by)


def _nodes(review: Review, name: str) -> tuple[str, ...] | None:
    """Nodes of a body that deforms; None where a file has them."""
    body = review.model.bodies.get(name)
    if body is None or body.flexible is None:
        return ()
    nodes = getattr(body.flexible, "nodes", None)
    return None if nodes is None else tuple(nodes)


def _carriers(given: Any) -> set[str]:
    return set(given.bodies) if isinstance(given, DesignPoint | DesignVector) else set(given)


def check_references(review: Review) -> None:
    """Report every name that nothing defines."""
    References(review).check()


# Joint graph: every body hangs on the ground, also when the joints that must be cut are cut.

_LISTED = 6


def check_graph(review: Review) -> None:
    """Report groups of bodies that no chain of joints connects to the ground."""
    if not review.intact("bodies") or not review.intact("joints"):
        return
    joints = review.model.joints.values()
    if any(body not in review.bodies for joint in joints for body in joint.bodies):
        return  # reported already, and the graph is not known
    flexible = {name for name, body in review.model.bodies.items() if body.flexible is not None}
    groups = _groups(review, (joint.bodies for joint in joints))
    # ``mbsim reduce`` takes a flexible body alone
    loose = [group for group in groups if len(group) > 1 or group[0] not in flexible]
    for group in loose:
        _report(review, group, "is not connected to the ground by joints", "a floating joint leaves a body free")
    if not loose and any(joint.cut for joint in joints):
        for group in _groups(review, (joint.bodies for joint in joints if not joint.cut)):
            _report(review, group, "is not connected to the ground without cut joints", "cut fewer joints")


def _report(review: Review, group: list[str], what: str, hint: str) -> None:
    others = group[1 : 1 + _LISTED]
    more = ", ..." if len(group) > 1 + _LISTED else ""
    also = f" (nor {'is' if len(group) == 2 else 'are'} {', '.join(others)}{more})" if others else ""
    review.report(("bodies", group[0]), f"body {group[0]!r} {what}{also}", hint, key=True)


def _groups(review: Review, pairs: Iterable[list[str]]) -> list[list[str]]:
    head = {body: body for body in (GROUND, *review.model.bodies)}

    def top(body: str) -> str:
        while head[body] != body:
            head[body] = head[head[body]]
            body = head[body]
        return body

    for a, b in pairs:
        if a in head and b in head:
            head[top(a)] = top(b)
    groups: dict[str, list[str]] = {}
    for body in review.model.bodies:
        groups.setdefault(top(body), []).append(body)
    groups.pop(top(GROUND), None)
    return list(groups.values())
