"""References: every body, point, vector, joint coordinate, law and force that is named exists."""

from collections.abc import Callable
from typing import Any

from mbsim_cli.spec.messages import Path
from mbsim_cli.spec.points import DesignPoint, DesignVector
from mbsim_cli.spec.review import GROUND, Review

_IMPLICIT_POINTS = ("origin", "center_of_mass")
_IMPLICIT_VECTORS = ("x", "y", "z")
_ALL = "all"
_PLACES = {"force": "point", "torque": "body", "drag": "point", "tyre": "center"}  # of what acts on one body
_ON_COORDINATES = (
    "rotational_spring_damper",
    "motion",
    "coupling",
    "drive",
    "viscous_friction",
    "anti_roll_bar",
    "bump_stop",
)


def check(review: Review) -> None:
    """Report every name that nothing defines."""
    References(review).check()


class References:
    """Looks names up; ``points`` and ``vectors`` give the bodies that carry each."""

    def __init__(self, review: Review):
        self.review = review
        self.points = {name: _carriers(point) for name, point in review.model.points.items()}
        self.vectors = {name: _carriers(vector) for name, vector in review.model.vectors.items()}

    def check(self) -> None:
        """Check all sections."""
        model = self.review.model
        for section, carriers in (("points", self.points), ("vectors", self.vectors)):
            for name, bodies in carriers.items():
                self._carried(section, name, getattr(model, section)[name], bodies)
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
            self.law((*path, "all"), motion.all)
        for coordinate, law in motion.laws.items():
            self._given((*path, "laws", coordinate), coordinate)
            if isinstance(law, str):
                self.law((*path, "laws", coordinate), law)
        for place in ("columns", "scale") if motion.table is not None else ():
            for coordinate in getattr(motion.table, place):
                if coordinate not in motion.table.arguments:
                    self._given((*path, "table", place, coordinate), coordinate)

    def _given(self, path: Path, text: str) -> None:
        """Check that a joint, or a body that deforms, has a coordinate; how many elastic ones it has assembly knows."""
        owner, _, name = text.partition(".")
        body = self.review.model.bodies.get(owner)
        if body is None or body.flexible is None or not _is_elastic(name):
            self.coordinate(path, text, key=True)

    def _carried(self, section: str, name: str, given: Any, bodies: set[str]) -> None:
        if isinstance(given, DesignPoint | DesignVector):
            for index, body in enumerate(given.bodies):
                self.review.known((section, name, "bodies", index), body, "bodies", "body")
            return
        for body in given:
            if not (section == "vectors" and body == _ALL) and body not in self.review.bodies:
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
        review = self.review
        if item.type == "reaction":
            return  # a rule of its own
        for key, look_up in _FIELDS:
            given = getattr(item, key, None)
            if isinstance(given, str):
                look_up(self, (*path, key), given)
            elif isinstance(given, list) and key in ("points", "vectors"):
                for index, name in enumerate(given):
                    look_up(self, (*path, key, index), name)
                if given[0] == given[1]:
                    review.report((*path, key), f"both {key} are {given[0]!r}")
        for key in ("line", "plane"):
            if (given := getattr(item, key, None)) is not None:
                self.reference("point")((*path, key, "point"), given.point)
                side = "direction" if key == "line" else "normal"
                self.reference("vector")((*path, key, side), getattr(given, side))
                self._same_body((*path, key), given.point, getattr(given, side))
        if isinstance(coordinates := getattr(item, "coordinates", None), list):
            for index, coordinate in enumerate(coordinates):
                self.coordinate((*path, "coordinates", index), coordinate)
        for coordinate in getattr(item, "terms", {}):
            self.coordinate((*path, "terms", coordinate), coordinate, key=True)
        if item.type in _ON_COORDINATES and (item.type != "bump_stop" or item.coordinate is not None):
            self._suitable(path, item)
        if item.type == "tyre" and path[0] == "forces":
            self._same_body((*path, "axis"), item.center, item.axis)
        if path[0] == "forces":
            self._acts(path, item)
        if item.type == "displacement":
            self._same_body((*path, "direction"), item.points[0], item.direction)

    def _same_body(self, path: Path, point: str, vector: str) -> None:
        if point.split(".")[0] != vector.split(".")[0]:
            self.review.report(path, f"{point!r} and {vector!r} must be of one body")

    def _acts(self, path: Path, item: Any) -> None:
        """Report a force that moves nothing: one on the ground, or within one rigid body."""
        key = _PLACES.get(item.type)
        if key is not None and getattr(item, key).partition(".")[0] == GROUND:
            message = f"the ground does not move, and a {item.type} on it changes nothing"
            self.review.report((*path, key), message, "name the body that it acts on")
        points: list[str] = getattr(item, "points", None) or []
        bodies = {point.partition(".")[0] for point in points}
        if len(bodies) == 1 and points[0] != points[1] and self._is_rigid(body := bodies.pop()):
            message = f"both points are on {body!r}, whose points keep their distance: no force between them moves it"
            self.review.report((*path, "points"), message, "the second one belongs to another body")

    def _is_rigid(self, name: str) -> bool:
        body = self.review.model.bodies.get(name)
        return name == GROUND or (body is not None and body.flexible is None)

    def _suitable(self, path: Path, item: Any) -> None:
        for name, place, is_key in _coordinates_of(path, item):
            joint, _, coordinate = name.partition(".")
            if joint not in self.review.model.joints or coordinate not in self.review.model.joints[joint].coordinates:
                continue  # reported already
            if coordinate in ("e0", "e1", "e2", "e3"):
                hint = "no force or constraint acts on an Euler parameter alone"
                self.review.report(place, f"{name!r} is an Euler parameter", hint, key=is_key)
            elif item.type == "rotational_spring_damper" and not coordinate.startswith("angle"):
                self.review.report(place, f"{name!r} is not an angle", "a rotational spring needs one")

    def reference(self, what: str) -> Callable[[Path, str], None]:
        """Return the look-up of texts written body.name."""
        look_up = self.point if what == "point" else self.vector

        def check_reference(path: Path, text: str) -> None:
            body, dot, name = text.partition(".")
            if not dot or not body or not name:
                carriers = (self.points if what == "point" else self.vectors).get(text, set())
                hint = (
                    "write " + " or ".join(f"{carrier}.{text}" for carrier in sorted(carriers)[:4])
                    if carriers
                    else None
                )
                self.review.report(path, f"{text!r} must be written body.{what}", hint)
            elif self.review.known(path, body, "bodies", "body"):
                look_up(path, body, name, len(body) + 1)

        return check_reference

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
            near = [*(n for n, bodies in carriers.items() if body in bodies or _ALL in bodies), *implicit]
            hint = review.suggest(name, near)
            if hint is None or not hint.startswith("did"):
                elsewhere = review.suggest(name, carriers) or ""
                hint = elsewhere if elsewhere.startswith("did") else hint
            review.report(path, f"unknown {what} {name!r}", hint, offset)
        elif body not in carriers[name] and _ALL not in carriers[name]:
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
        elif review.lost("joints") or (not review.intact("dh") and ("joints", joint) in review.model._made):
            pass  # its type may be wrong
        elif joint in review.model.joints and name not in review.model.joints[joint].coordinates:
            known = review.model.joints[joint].coordinates
            hint = review.suggest(name, known) if known else "it has none"
            message = f"joint {joint!r} has no coordinate {name!r}"
            review.report(path, message, hint, None if key else len(joint) + 1, key)

    def law(self, path: Path, name: str) -> None:
        """Check that a law exists."""
        self.review.known(path, name, "laws", "law")

    def force(self, path: Path, name: str) -> None:
        """Check that a force exists."""
        self.review.known(path, name, "forces", "force")

    def road(self, path: Path, name: str) -> None:
        """Check that a road exists."""
        self.review.known(path, name, "roads", "road")

    def tyre(self, path: Path, name: str) -> None:
        """Check that a tyre exists."""
        review = self.review
        if name in review.model.forces and review.model.forces[name].type != "tyre":
            kind = review.model.forces[name].type
            review.report(path, f"force {name!r} is no tyre but of type {kind!r}", "name a force of type tyre")
        else:
            review.known(path, name, "forces", "tyre")

    def constraint(self, path: Path, text: str) -> None:
        """Check that a constraint or joint exists, with or without the equation behind a dot."""
        review = self.review
        name = text.partition(".")[0]
        known = review.names("constraints") | review.names("joints")
        if not review.lost("joints"):
            review.known(path, name, "constraints", "constraint or joint", known)


_FIELDS: tuple[tuple[str, Callable[[References, Path, str], None]], ...] = (
    ("point", lambda self, path, text: self.reference("point")(path, text)),
    ("points", lambda self, path, text: self.reference("point")(path, text)),
    ("vector", lambda self, path, text: self.reference("vector")(path, text)),
    ("vectors", lambda self, path, text: self.reference("vector")(path, text)),
    ("body", References.body),
    ("coordinate", References.coordinate),
    ("constraint", References.constraint),
    ("force", References.force),
    ("center", lambda self, path, text: self.reference("point")(path, text)),
    ("axis", lambda self, path, text: self.reference("vector")(path, text)),
    ("direction", lambda self, path, text: self.reference("vector")(path, text)),
    ("road", References.road),
    ("tyre", References.tyre),
    ("law", References.law),
    ("elongation_law", References.law),
    ("rate_law", References.law),
)


def _coordinates_of(path: Path, item: Any) -> list[tuple[str, Path, bool]]:
    """Coordinates that an item acts on, with their places, and whether they stand there as keys."""
    if item.type == "coupling":
        return [(name, (*path, "terms", name), True) for name in item.terms]
    if item.type == "anti_roll_bar":
        return [(name, (*path, "coordinates", index), False) for index, name in enumerate(item.coordinates)]
    return [(item.coordinate, (*path, "coordinate"), False)]


def _is_elastic(name: str) -> bool:
    """Whether a name is one of an elastic coordinate: q1, q2, ..."""
    return name[:1] == "q" and name[1:].isdigit()


def _nodes(review: Review, name: str) -> tuple[str, ...] | None:
    """Nodes of a body that deforms; None where a file has them."""
    body = review.model.bodies.get(name)
    if body is None or body.flexible is None:
        return ()
    nodes = getattr(body.flexible, "nodes", None)
    return None if nodes is None else tuple(nodes)


def _carriers(given: Any) -> set[str]:
    return set(given.bodies) if isinstance(given, DesignPoint | DesignVector) else set(given)
