"""Looking up what a text of a model names: points and vectors of bodies, coordinates, laws, forces, constraints."""

from collections.abc import Mapping
from typing import Any

from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.quantities import DesignPoint, DesignVector
from mbsim_cli.spec.reading.messages import Path

_IMPLICIT_POINTS = ("origin", "center_of_mass")
_IMPLICIT_VECTORS = ("x", "y", "z")
ALL = "all"


class Lookup:
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
        self._force_of_type(path, name, "tyre")

    def contact(self, path: Path, name: str) -> None:
        """Check that a contact exists."""
        self._force_of_type(path, name, "contact")

    def bushing(self, path: Path, name: str) -> None:
        """Check that a bushing exists."""
        self._force_of_type(path, name, "bushing")

    def _force_of_type(self, path: Path, name: str, wanted: str) -> None:
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


def is_elastic(name: str) -> bool:
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
