"""From cables to what they are short for: forces on the bodies along the path, and torques on bodies of pulleys.

Of a pulley with the axis n, a path that runs straight in the direction u touches it at r u x n from its centre, r the
radius, negative where the path turns against the axis. So a straight part between two pulleys, or points as pulleys of
no radius, with d from centre to centre across n and q the difference of both r, has the length s = sqrt(d.d - q^2) and
the direction u = (s d + q d x n) / d.d. What the cable gets longer by is the sum of rates of straight parts between
points of the bodies: those of arcs cancel. Euler and Eytelwein's friction, smooth in the speed of sliding.

A cable of constant length is a constraint instead: a coordinate without mass for the length of each part, an equation
that makes it that length, and one for their sum, whose multiplier is the tension. On each pulley turn two arms without
mass, to where the cable meets it and leaves it: straight parts are perpendicular to them, and arcs are differences of
their angles. They may turn as often as they like, and pulleys need no parallel axes.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.cables import Cable, PartJoint, Pulley, TouchJoint
from mbsim_cli.spec.constraints import CableLength, CablePart, CableTouch
from mbsim_cli.spec.expand_states import Maker, text_of
from mbsim_cli.spec.expressions.number import TIME, Expression, Number, Sign, is_moving, read_by
from mbsim_cli.spec.forces import AppliedForce, AppliedTorque
from mbsim_cli.spec.joints import DisplacementInitial
from mbsim_cli.spec.review import GROUND, Review
from mbsim_cli.spec.sensors import AngularVelocity, Direction, Position, Sensor, Velocity

MIDDLE = 0.75  # half turns about which a wrap is counted: from -1/4 to 7/4 of a half turn


def expand_cables(review: Review) -> None:
    """Add to a model what its cables stand for."""
    for number, (name, spec) in enumerate(review.model.cables.items(), start=1):
        maker, before = Maker(review, ("cables", name)), len(review.issues)
        if spec.stiffness is None:
            _hold_length(maker, name, spec)
        elif _fits(maker, spec):
            _Path(maker, number, name, spec).add()
        if len(review.issues) > before:
            review.unmade_cables.add(name)


def _hold_length(maker: Maker, name: str, spec: Cable) -> None:
    """Add a massless coordinate for the length of each part and two for each arc, and hold their sum."""
    review, where, good = maker.review, ("cables", name), _is_path(maker, spec)
    if is_moving(spec.length, review.model.expressions):
        maker.report("length", "without a stiffness the length is a number or auto", "give law, winds, or a stiffness")
        good = False
    elif spec.length != "auto" and spec.law is None:  # a law is added to it
        good &= review.has_sign((*where, "length"), spec.length, Sign.NOT_NEGATIVE)
    if isinstance(spec.law, str):
        good &= review.known((*where, "law"), spec.law, "laws", "law")
    if not good or not maker.takes(name, ("constraints",)):
        return
    stands_at, constraints, terms = review.source.stands_at, review.model.constraints, dict(spec.winds)
    for coordinate in terms:
        stands_at["constraints", name, "terms", coordinate] = (*where, "winds", coordinate)
    ends: list[tuple[str, str]] = []  # points where the cable meets and leaves what stands in its path
    for k, place in enumerate(spec.path):
        if isinstance(place, str):
            ends.append((place, place))
            continue
        arms = touches(name, k)
        named = [maker.takes(arm, ("bodies", "joints")) and maker.takes(_across(arm), ("constraints",)) for arm in arms]
        if not all(named):
            return
        ends.append((_arm(maker, arms[0], place), _arm(maker, arms[1], place)))
        for arm, sign in zip(arms, (-1.0, 1.0), strict=True):
            sign *= 1.0 if place.turn == "positive" else -1.0
            terms[f"{arm}.angle"] = Number(f"{sign}*{text_of(place.radius)}")
            stands_at["joints", arm] = stands_at["constraints", _across(arm)] = (*where, "path", k)
    for k, ((_, begin), (end, _)) in enumerate(pairwise(ends), start=1):
        own, part = f"{name}_{k}", f"{name}_part_{k}"
        if not (maker.takes(own, ("bodies", "joints")) and maker.takes(part, ("constraints",))):
            return
        coordinate = maker.slider(own, PartJoint, DisplacementInitial())
        points = [begin, end]
        for own_end, other in (points, points[::-1]):
            arm, _, point = own_end.partition(".")
            if point == TOUCH:
                plane = {"point": own_end, "normal": f"{arm}.x"}
                touch = {"type": "point_on_plane", "point": other, "plane": plane}
                constraints[_across(arm)] = CableTouch.model_validate(touch)
        given = {"type": "distance", "points": points, "distance": Number(0.0), "coordinate": coordinate}
        constraints[part], terms[coordinate] = CablePart.model_validate(given), Number(1.0)
        stands_at["constraints", part, "points"] = (*where, "path")
        for which in (0, 1):
            stands_at["constraints", part, "points", which] = (*where, "path", k - 1 + which)
    stands_at["constraints", name, "offset"] = (*where, "length")
    stands_at["constraints", name, "winch"] = (*where, "law")
    held = CableLength.model_validate({"type": "coupling", "terms": terms, "offset": spec.length})
    constraints[name] = held.model_copy(update={"winch": spec.law})  # a law in place has been validated


TOUCH = "cable touches"  # point of an arm


def touches(cable: str, place: int) -> tuple[str, str]:
    """Names of the arms to where a cable meets and leaves the pulley at a place of its path."""
    return f"{cable}_meets_{place + 1}", f"{cable}_leaves_{place + 1}"


def _across(arm: str) -> str:
    """Name of the constraint that makes a straight part perpendicular to an arm."""
    return f"{arm}_across"


def _arm(maker: Maker, name: str, pulley: Pulley) -> str:
    """Add an arm on a pulley, x along it; return its point that the cable touches."""
    model, (body, _, center) = maker.review.model, pulley.center.partition(".")
    where = {"point": [center, "origin"], "axis": [pulley.axis.partition(".")[2], "z"]}
    model.bodies[name] = Body.model_construct()
    model.joints[name] = TouchJoint.model_validate({"type": "revolute", "bodies": [body, name], **where})
    if TOUCH not in model.points:
        model.derived.made.add(("points", TOUCH))
        model.points[TOUCH] = {}
    touches: Any = model.points[TOUCH]
    touches[name] = pulley.radius, Number(0.0), Number(0.0)
    return f"{name}.{TOUCH}"


def _is_path(maker: Maker, spec: Cable) -> bool:
    """Report errors in the path, pulleys and signs of numbers of a cable; return whether there are none."""
    good, review, where = maker.fits(spec), maker.review, ("cables", maker.name, "path")
    for place, other in pairwise(spec.path):
        if place == other:
            both = f"points are {place!r}" if isinstance(place, str) else f"pulleys are that about {place.center!r}"
            review.report(where, f"both {both}")
            good = False
    body, *others = {(place if isinstance(place, str) else place.center).partition(".")[0] for place in spec.path}
    known = review.model.bodies.get(body)
    is_rigid = body == GROUND or (known is not None and known.flexible is None)
    if good and not others and not spec.winds and is_rigid:
        review.report(where, f"all of it is on {body!r}, and no motion changes its length")
        good = False
    for k, place in enumerate(spec.path):
        if isinstance(place, Pulley) and place.center.partition(".")[0] != place.axis.partition(".")[0]:
            review.report((*where, k, "axis"), f"{place.center!r} and {place.axis!r} must be of one body")
            good = False
    return good


def _fits(maker: Maker, spec: Cable) -> bool:
    """Whether numbers and places can be taken further; reports those that cannot."""
    review, good = maker.review, _is_path(maker, spec)
    good &= review.has_sign(("cables", maker.name, "length"), spec.length, Sign.NOT_NEGATIVE)
    if spec.length == "auto":
        maker.report("length", "auto is for cables of constant length, without a stiffness", "give the length")
        return False
    moves = is_moving(spec.length, review.model.expressions)
    read = read_by(spec.length.text).names if moves else {}
    is_known = any(name == TIME or "." in name or name in review.model.sensors for name in read)  # else it is reported
    if is_known and spec.rate is None and (spec.damping.literal != 0.0 or spec.friction.literal != 0.0):
        message = "damping and friction need the rate of a length that moves"
        maker.report("length", message, "give rate, the time derivative of the length")
        good = False
    if spec.rate is not None and moves and spec.damping.literal == spec.friction.literal == 0.0:
        maker.report("rate", "damping and friction alone read it", "leave the rate out, or add one of them")
        good = False
    if spec.rate is not None and not moves:
        maker.report("rate", "the length does not move", "leave the rate out")
        good = False
    return good


@dataclass(frozen=True)
class _Node:
    """A point or pulley of the path as texts; ``radius`` has the sign of the turn, ``axis`` is empty at a point."""

    body: str
    place: str
    position: str
    velocity: str
    axis: str = ""
    spin: str = ""
    radius: str = "0.0"


@dataclass(frozen=True)
class _Straight:
    """A straight part: its direction within the plane of its pulleys, the true one, its length and rate, as texts."""

    plane: str
    direction: str
    length: str
    rate: str
    arms: tuple[str, ...]  # from the centres to where it touches


class _Path:
    def __init__(self, maker: Maker, number: int, name: str, spec: Cable):
        self._maker, self._name, self._spec = maker, name, spec
        self._own, self._parts = f"_cable{number}_", maker.review.model.derived.parts

    def add(self) -> None:
        """Add sensors that the cable reads, and the forces that it exerts."""
        nodes = [self._node(k, place) for k, place in enumerate(self._spec.path)]
        parts = [self._straight(a, b) for a, b in pairwise(nodes)]
        tensions = self._tensions(nodes, parts)
        pulls = [self._part(f"{tension}*{part.direction}") for tension, part in zip(tensions, parts, strict=True)]
        for k, node in enumerate(nodes):
            if node.body == GROUND:
                continue
            around = [(sign, part, end) for sign, part, end in (("-", k - 1, 1), ("", k, 0)) if 0 <= part < len(parts)]
            self._act(k, AppliedForce, "", {"type": "force", "point": node.place}, [s + pulls[i] for s, i, _ in around])
            if node.axis:
                turning = [f"{s}cross({parts[i].arms[end]}, {pulls[i]})" for s, i, end in around]
                self._act(k, AppliedTorque, "_torque", {"type": "torque", "body": node.body}, turning)

    def _part(self, text: str) -> str:
        """Name of a part of expressions."""
        name = f"{self._own}{len(self._parts)}"
        self._parts[name] = text
        return name

    def _place(self, k: int, *key: str) -> tuple:
        """Path in the file of what stands in the cable's path, by default of the point or centre."""
        centre = ("center",) if isinstance(self._spec.path[k], Pulley) else ()
        return ("cables", self._name, "path", k, *(key or centre))

    def _act(self, k: int, kind: type[AppliedForce | AppliedTorque], end: str, where: dict, pulls: list) -> None:
        name, total = f"{self._name}_{k + 1}{end}", self._part(" + ".join(pulls))
        if self._maker.takes(name, ("forces",)):
            value = [Expression(f"{total}.{axis}") for axis in "xyz"]
            stands_at, place = self._maker.review.source.stands_at, self._place(k)
            for key in ("point", "body"):
                stands_at["forces", name, key] = place
            for entry in range(3):
                stands_at["forces", name, "value", entry] = ("cables", self._name, "length")
            self._maker.review.model.forces[name] = kind.model_validate({**where, "value": value})

    def _node(self, k: int, place: str | Pulley) -> _Node:
        pulley = place if isinstance(place, Pulley) else None
        point = place if isinstance(place, str) else place.center
        body = point.partition(".")[0]
        position = self._read(k, "p", Position, "position", {"point": point})
        velocity = self._read(k, "v", Velocity, "velocity", {"point": point})
        if pulley is None:
            return _Node(body, point, position, velocity)
        axis = self._read(k, "n", Direction, "direction", {"vector": pulley.axis}, "axis")
        spin = self._read(k, "w", AngularVelocity, "angular_velocity", {"body": body}) if body != GROUND else ""
        radius = self._part(("" if pulley.turn == "positive" else "-") + text_of(pulley.radius))
        return _Node(body, point, position, velocity, self._part(f"{axis}/norm({axis})"), spin, radius)

    def _read(self, k: int, what: str, kind: type[Sensor], type_: str, where: dict, *key: str) -> str:
        """Add a sensor that no result shows; return its name."""
        name = f"{self._own}{what}{k + 1}"
        if self._maker.add_reading(name, kind, type=type_, **where):
            stands_at, place = self._maker.review.source.stands_at, self._place(k, *key)
            stands_at["sensors", name] = place
            for each in where:
                stands_at["sensors", name, each] = place
        return name

    def _straight(self, a: _Node, b: _Node) -> _Straight:
        """The part from one node to the next."""
        axis, part = a.axis or b.axis, self._part
        away = part(f"{b.position} - {a.position}")
        if not axis:
            direction = part(f"{away}/norm({away})")
            rate = part(f"dot({direction}, {b.velocity} - {a.velocity})")
            return _Straight(direction, direction, part(f"norm({away})"), rate, ("", ""))
        other = f"{b.radius}*dot({a.axis}, {b.axis})" if a.axis and b.axis else b.radius
        across = part(f"dot({away}, {axis})")
        flat, q = part(f"{away} - {across}*{axis}"), part(f"{other} - {a.radius}")
        s = part(f"sqrt(dot({flat}, {flat}) - {q}**2)")
        plane = part(f"({s}*{flat} + {q}*cross({flat}, {axis}))/dot({flat}, {flat})")
        length = part(f"hypot({s}, {across})")
        direction = part(f"({s}*{plane} + {across}*{axis})/{length}")
        arms = tuple(part(f"({r})*cross({plane}, {axis})") if r else "" for r in (a.radius, other))
        ends = [
            f"{node.velocity} + cross({node.spin}, {arm})" if node.spin and arm else node.velocity
            for node, arm in zip((a, b), arms, strict=True)
        ]
        return _Straight(plane, direction, length, part(f"dot({direction}, {ends[1]} - ({ends[0]}))"), arms)

    def _wrap(self, node: _Node, before: _Straight, behind: _Straight, pulley: Pulley) -> str:
        """Angle that the path turns by at a pulley."""
        sign = "" if pulley.turn == "positive" else "-"
        c = self._part(f"dot({before.plane}, {behind.plane})")
        s = self._part(f"{sign}dot({node.axis}, cross({before.plane}, {behind.plane}))")
        m = f"({MIDDLE}*pi)"
        angle = f"atan2({s}*cos{m} - {c}*sin{m}, {c}*cos{m} + {s}*sin{m})"
        return self._part(f"{m} + {angle} + {2 * pulley.turns}*pi")

    def _tensions(self, nodes: list[_Node], parts: list[_Straight]) -> list[str]:
        """Tension of each straight part."""
        spec, part = self._spec, self._part
        assert spec.stiffness is not None and isinstance(spec.length, Number)  # see ``expand_cables``
        arcs, ways = {}, {}
        for k, pulley in enumerate(spec.path):
            if isinstance(pulley, Pulley):
                arcs[k] = self._wrap(nodes[k], parts[k - 1], parts[k], pulley)
                ways[k] = part(f"{text_of(pulley.radius)}*{arcs[k]}")
        whole = part(" + ".join([*(each.length for each in parts), *ways.values()]))
        rate = part(" + ".join(each.rate for each in parts))
        given = "0" if spec.rate is None else text_of(spec.rate)
        longer, onset = part(f"{whole} - {text_of(spec.length)}"), text_of(spec.onset)
        begun = part(f"clip({longer}, 0, {onset})")
        mean = f"{text_of(spec.stiffness)}*({begun}**2/(2*{onset}) + max({longer} - {onset}, 0))"
        if spec.damping.literal != 0.0:
            mean = f"max({mean} + {text_of(spec.damping)}*({rate} - {given})*{begun}/{onset}, 0)"
        if spec.friction.literal == 0.0:
            return [part(mean)] * len(parts)
        ratios = ["1"] * len(parts)  # against the last part
        shares = []
        for k in sorted(arcs, reverse=True):
            slides = " + ".join(each.rate for each in parts[:k])
            slides = f"({slides} - 0.5*({rate} + {given}))/{text_of(spec.velocity)}"
            half = part(f"exp(0.5*{text_of(spec.friction)}*{arcs[k]}*tanh({slides}))")
            shares.append(f"{ratios[k]}*{ways[k]}*({half}**2 + 4*{half} + 1)/6")  # Simpson's rule along the arc
            ratios[:k] = [part(f"{ratios[k]}*{half}**2")] * k
        shares += [f"{ratio}*{each.length}" for ratio, each in zip(ratios, parts, strict=True)]
        last = part(f"{mean}*{whole}/({' + '.join(shares)})")
        return [part(f"{last}*{ratio}") for ratio in ratios]
