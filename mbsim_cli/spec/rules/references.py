"""References: every body, point, vector, coordinate, law and force that is named exists; all bodies hang together."""

from collections.abc import Callable, Iterable
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.constraints import COUPLINGS
from mbsim_cli.spec.judging.lookup import ALL, Lookup, is_elastic
from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.quantities import DesignPoint, DesignVector
from mbsim_cli.spec.reading.messages import Path

SIDES = {"line": "direction", "plane": "normal"}  # vectors of what a body carries beside a point
_FIELDS: tuple[tuple[str, Callable[[Lookup, Path, str], None]], ...] = (
    ("point", Lookup.point_of_body),
    ("points", Lookup.point_of_body),
    ("vector", Lookup.vector_of_body),
    ("vectors", Lookup.vector_of_body),
    ("body", Lookup.body),
    ("coordinate", Lookup.coordinate),
    ("constraint", Lookup.constraint),
    ("force", Lookup.force),
    ("center", Lookup.point_of_body),
    ("axis", Lookup.vector_of_body),
    ("reference", Lookup.vector_of_body),
    ("normal", Lookup.vector_of_body),
    ("direction", Lookup.vector_of_body),
    ("road", Lookup.road),
    ("tyre", Lookup.tyre),
    ("contact", Lookup.contact),
    ("bushing", Lookup.bushing),
    ("law", Lookup.law),
    ("elongation_law", Lookup.law),
    ("rate_law", Lookup.law),
)


def check(review: Review) -> None:
    """Report every name that nothing defines."""
    References(review).check()


class References(Lookup):
    """Goes through the sections that name something."""

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
        if body is None or body.flexible is None or not is_elastic(name):
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
        for key, look_up in _FIELDS:
            given = getattr(item, key, None)
            if isinstance(given, str) and (key, item.type) != ("law", "contact"):
                look_up(self, (*path, key), given)
            elif isinstance(given, list) and key in ("points", "vectors", "axis", "reference"):
                for index, name in enumerate(given):
                    look_up(self, (*path, key, index), name)
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
                self.law((*path, "laws", direction), law)
        if item.type == "coupling" and item.terms is not None:
            for coordinate in item.terms:
                self.coordinate((*path, "terms", coordinate), coordinate, key=True)
        elif item.type in COUPLINGS:
            self.coordinate((*path, "of"), item.of)
            self.coordinate((*path, "by"), item.by)


# Joint graph: every body hangs on the ground, also when the joints that must be cut are cut.

_SHOWN = 6


def check_graph(review: Review) -> None:
    """Report groups of bodies that no chain of joints connects to the ground."""
    if not review.intact("bodies") or not review.intact("joints"):
        return
    joints = review.model.joints.values()
    if any(body not in review.bodies for joint in joints for body in joint.bodies):
        return  # reported already, and the graph is not known
    loose = [
        group for group in _groups(review, (joint.bodies for joint in joints)) if not _to_be_reduced(review, group)
    ]
    for group in loose:
        _report(review, group, "is not connected to the ground by joints", "a floating joint leaves a body free")
    if not loose and any(joint.cut for joint in joints):
        for group in _groups(review, (joint.bodies for joint in joints if not joint.cut)):
            _report(review, group, "is not connected to the ground without cut joints", "cut fewer joints")


def _to_be_reduced(review: Review, group: list[str]) -> bool:
    """Whether a body stands alone that deforms: a file may describe it for ``mbsim reduce`` only."""
    return len(group) == 1 and review.model.bodies[group[0]].flexible is not None


def _report(review: Review, group: list[str], what: str, hint: str) -> None:
    others = group[1 : 1 + _SHOWN]
    more = ", ..." if len(group) > 1 + _SHOWN else ""
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
