"""Names: what they may look like, that none means two things, that every name and number refers to something."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mbsim_cli.spec.analysis import MotionTable
from mbsim_cli.spec.base import Reference, references, walk
from mbsim_cli.spec.bodies import Body, DesignPoint, DesignVector
from mbsim_cli.spec.expressions.named_numbers import connected
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import CONSTANTS, FUNCTIONS, VECTOR_FUNCTIONS, ExpressionError, names, parse
from mbsim_cli.spec.expressions.units import instead_of, quantity
from mbsim_cli.spec.forces import AppliedForce, AppliedTorque
from mbsim_cli.spec.joints import RATE_WORDS
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import GROUND, Review
from mbsim_cli.spec.rules.bodies import LOADS

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
    derived, wrong = review.model.derived.made, set()
    for section in _IN_EXPRESSIONS:
        for name in getattr(review.model, section):
            for message, hint in () if (section, name) in derived else in_expressions(name):
                review.report((section, name), message, hint, key=True)
                wrong.add(name)
    for section in _IN_REFERENCES:
        for name in getattr(review.model, section):
            made = (section, name) in derived and (section in ("points", "vectors") or name in wrong)
            if not made and not _plain(name.replace("-", "_")):
                hint = "letters, digits, _ and -, a letter first"
                review.report((section, name), f"{name!r} cannot be a name", hint, key=True)
    if GROUND in review.model.bodies:
        review.report(("bodies", GROUND), "the ground exists already and cannot be defined", key=True)
    if ALL in review.model.bodies:
        message = "all stands for every body in points and vectors; no body can have that name"
        review.report(("bodies", ALL), message, key=True)
    for name in _IMPLICIT_POINTS:
        if name in review.model.points:
            review.report(("points", name), f"{name!r} exists already and cannot be defined", key=True)
    for owner, body in review.model.bodies.items():
        for name in getattr(body.flexible, "nodes", ()):
            path = ("bodies", owner, "flexible", "nodes", name)
            if name in _IMPLICIT_POINTS:
                review.report(path, f"{name!r} exists already and cannot be defined", key=True)
            elif not _plain("n" + name.replace("-", "_")):
                review.report(path, f"{name!r} cannot be a name of a node", "letters, digits, _ and -", key=True)
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
    if name in _KEYWORDS:
        yield f"{name!r} cannot be used in expressions, where it is a reserved word", "choose another name"
    elif not _plain(name):
        yield f"{name!r} cannot be used in expressions", "letters, digits and _, a letter first"
    elif name in _RESERVED:
        yield f"{name!r} has a meaning in expressions already", "choose another name"


def check_numbers(review: Review) -> None:
    """Report unknown names, cycles and values that do not exist."""
    if review.lost("parameters") or review.lost("constants"):
        return
    known = {*review.model.expressions.names, *review.names("parameters"), *review.names("constants")}
    faults: dict[str, list[ExpressionError]] = {}
    for path, number in review.model.computed:
        if path[0] in ("parameters", "constants") and path[2:] in ((), ("value",)):
            continue
        if number.text not in faults:
            faults[number.text] = list(_faults(review, number, known))
        for fault in faults[number.text]:
            review.report(path, fault.message, fault.hint, fault.offset)
    model = review.model
    for name in model.derived.comparisons.values():  # of t with formulas that stand within expressions
        made = walk(model.forces[name], ("forces", name), Number)
        number = next(number for _, number in made if number.literal is None)
        for fault in _faults(review, number, known):
            review.report(("forces", name), fault.message, fault.hint)
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


_IMPLICIT_POINTS = ("origin", "center_of_mass")
_IMPLICIT_VECTORS = ("x", "y", "z")
ALL = "all"


_SECTIONS = (  # those that say what the others, which short forms stand for, name; studies have a rule of their own
    "points", "vectors", "bodies", "joints", "constraints", "forces", "sensors", "laws", "roads", "analysis", "checks",
)  # fmt: skip
OF_SECTIONS = {  # kinds of names that their sections alone decide on
    "law": "laws", "road": "roads", "force": "forces", "material": "materials", "field": "fields",
    "objective": "objectives", "parameter": "parameters",
}  # fmt: skip
ELSEWHERE = {  # kinds of names that others look up
    "row": "expand._expand_tables",
    "swept coordinate": "the motion that it stands for",
    "rubbing coordinate": "expand_states.expand_friction",
    "law or formula": "expand.with_values_of_controls",
    **dict.fromkeys(("reacting joint", "reacting constraint", "reacting body"), "suitability.check_reactions"),
    **dict.fromkeys(("drive", "constraint that moves"), "assembly.elements.motion"),
    **dict.fromkeys(("shown", "field of gradients"), "formulas.check_values"),
    "output": "analysis.check, and formulas.check of objectives",
    **dict.fromkeys(("varied", "kept", "varied field", "history", "measurement"), "studies.check"),
}


class References:
    """Reports names that nothing defines; ``points`` and ``vectors`` give the bodies that carry each."""

    def __init__(self, review: Review):
        self.review = review
        self.points = {name: _carriers(point) for name, point in review.model.points.items()}
        self.vectors = {name: _carriers(vector) for name, vector in review.model.vectors.items()}

    def look_up(self, found: Reference) -> None:
        """Check that what a reference names exists."""
        path, kind, name = found.path, found.kind, found.name
        match kind:  # the most frequent first
            case "own point" | "own vector":
                self._own(found)
            case "body" | "carrier":
                if kind == "body" or name != ALL:
                    self.review.known(path, name, "bodies", "body", key=found.is_key)
            case "frame":
                self.body(path, name)
            case "point" | "vector":
                self._of_body(path, name, kind)
            case "own coordinate":
                own = self.review.model.joints[str(path[1])].coordinates
                self.review.known(path, name, "joints", "coordinate", own)
            case "coordinate":
                self.coordinate(path, name, found.is_key)
            case "moved coordinate":
                self._given(path, name)
            case "quantity":
                if isinstance(found.holder, MotionTable) and name not in found.holder.arguments:
                    self._given(path, name)
            case "constraint":  # or a joint, with or without the equation behind a dot
                known = self.review.names("constraints") | self.review.names("joints")
                if not self.review.lost("joints"):
                    self.review.known(path, name.partition(".")[0], "constraints", "constraint or joint", known)
            case "input":
                owner, _, axis = name.rpartition(".")
                applied = isinstance(self.review.model.forces.get(owner), AppliedForce | AppliedTorque)
                component = {name} if applied and axis in _IMPLICIT_VECTORS else set()
                choices = {*self.review.model.forces, *self.review.model.laws, *component}
                self.review.known(path, name, "forces", "force or law", choices)
            case "tyre" | "contact" | "bushing":
                force = self.review.model.forces.get(name)
                if force is None or force.type == kind:
                    self.review.known(path, name, "forces", kind)
                else:
                    message = f"force {name!r} is no {kind} but of type {force.type!r}"
                    self.review.report(path, message, f"name a force of type {kind}")
            case "file":  # assembly reads it
                if not name.strip():
                    self.review.report(path, "cannot read a file without a name", key=found.is_key)
            case "set" | "node" | "load":
                if self.review.intact("bodies", str(path[1])):
                    mesh: Any = self.review.model.bodies[str(path[1])].flexible
                    there: Any = {"set": mesh.sets, "node": mesh.nodes, "load": (*LOADS, *mesh.nodes)}[kind]
                    if name not in there:
                        self.review.report(path, f"unknown {kind} {name!r}", self.review.suggest(name, there))
            case _ if kind in OF_SECTIONS:
                self.review.known(path, name, OF_SECTIONS[kind], kind, key=found.is_key)
            case _:
                assert kind in ELSEWHERE, kind

    def _of_body(self, path: Path, text: str, what: str) -> None:
        """Check a point or vector that is written body.name."""
        body, _, name = text.partition(".")
        carriers = self.points if what == "point" else self.vectors
        if not (body and name):
            found = sorted(carriers.get(text, ()))[:4]
            hint = "write " + " or ".join(f"{carrier}.{text}" for carrier in found) if found else None
            self.review.report(path, f"{text!r} must be written body.{what}", hint)
        elif self.review.known(path, body, "bodies", "body"):
            (self.point if what == "point" else self.vector)(path, body, name, len(body) + 1)

    def _own(self, found: Reference) -> None:
        """Check a point or vector of the body, or of one or both bodies of the joint, that names it."""
        path, holder = found.path, found.holder
        if isinstance(holder, Body):
            bodies = [str(path[1])]
            if found.name == "center_of_mass":  # which the inertia may be stated about
                if path[2] == "center_of_mass":
                    self.review.report(path, "the centre of mass cannot be defined by itself")
                return
        else:
            both: list[str] = holder.bodies  # type: ignore[attr-defined]
            bodies = [both[path[-1]]] if isinstance(path[-1], int) else list(dict.fromkeys(both))
        look_up, known = (self.point, self.points) if found.kind == "own point" else (self.vector, self.vectors)
        before = len(self.review.issues)
        for body in bodies:
            _, dot, own = found.name.partition(".")
            if dot and found.kind == "own vector" and _nodes(self.review, body) != ():
                hint = f"write {own}, which turns with the joint's point"
                self.review.report(path, f"{found.name!r} is no vector of {body!r}", hint)
                return
            look_up(path, body, found.name)
            if len(self.review.issues) > before and found.name not in known:
                return  # on no body, and reported

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
            of_file = {n: bodies for n, bodies in carriers.items() if (section, n) not in review.model.derived.made}
            near = [*(n for n, bodies in of_file.items() if body in bodies or ALL in bodies), *implicit]
            hint = review.suggest(name, near)
            if hint is None or not hint.startswith("did"):
                elsewhere = review.suggest(name, of_file) or ""
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
            known = review.model.joints[joint].coordinates if joint in review.model.joints else ()
            hint = f"write {' or '.join(f'{joint}.{name}' for name in known[:3])}" if known else None
            review.report(path, f"{text!r} must be written JOINT.coordinate", hint, key=key)
        elif joint not in review.names("joints"):
            if not review.lost("joints"):
                hint = review.suggest(joint, review.names("joints"))
                review.report(path, f"unknown joint {joint!r}", hint, key=key)
        elif review.lost("joints") or (not review.intact("dh") and ("joints", joint) in review.model.derived.made):
            pass  # its type may be wrong
        elif joint in review.model.joints and name not in review.model.joints[joint].coordinates:
            known = review.model.joints[joint].coordinates
            hint = review.suggest(name, known) if known else "it has none"
            has_rate = path[0] == "sensors" and hasattr(review.model.sensors[str(path[1])], "derivative")
            if has_rate and name.removesuffix(".velocity") in known:
                hint = "derivative: 1 reads its rate"
            elif has_rate and name in RATE_WORDS and len(known) == 1:
                hint = f"{joint}.{known[0]} with derivative: 1 is its rate"
            message = f"joint {joint!r} has no coordinate {name!r}"
            review.report(path, message, hint, None if key else len(joint) + 1, key)

    def _given(self, path: Path, text: str) -> None:
        """Check that a joint, or a body that deforms, has a coordinate; how many elastic ones it has assembly knows."""
        owner, _, name = text.partition(".")
        body = self.review.model.bodies.get(owner)
        is_elastic = name[:1] == "q" and name[1:].isdigit()  # q1, q2, ...
        if body is None or body.flexible is None or not is_elastic:
            self.coordinate(path, text, key=True)


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
    """Report every name that nothing defines, and joints between a body and itself."""
    names = References(review)
    for found in references(review.model):
        if found.path[0] in _SECTIONS:
            names.look_up(found)
    for name, joint in review.model.joints.items():
        if joint.bodies[0] == joint.bodies[1]:
            review.report(("joints", name, "bodies"), f"both bodies are {joint.bodies[0]!r}")


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


def _groups(review: Review, pairs: Iterable[Sequence[str]]) -> list[list[str]]:
    """Groups of bodies that pairs connect, without that of the ground."""
    bodies = [GROUND, *review.model.bodies]
    rows = [*([body] for body in bodies), *pairs]
    groups = [[bodies[row] for row in group if row < len(bodies)] for group in connected(rows)]
    return [group for group in groups if group[0] != GROUND]
