"""Suitability: forces, constraints and sensors state something, of what they can act on or read; signs, sizes."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mbsim_cli.spec.base import references
from mbsim_cli.spec.expressions.named_numbers import shown, sort
from mbsim_cli.spec.families import Constraint, Road
from mbsim_cli.spec.forces import Force
from mbsim_cli.spec.joints import EULER_NAMES
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import GROUND, Review
from mbsim_cli.spec.sensors import Reaction

if TYPE_CHECKING:
    from mbsim_cli.spec.constraints import Gear, Rack, Screw
    from mbsim_cli.spec.contacts import Bushing, Contact

SIDES = {"line": "direction", "plane": "normal"}  # vectors of what a body carries beside a point


def check(review: Review) -> None:
    """Report what acts on nothing, or on what it does not suit; names that nothing defines are reported before."""
    for section in ("constraints", "forces", "sensors"):
        for name, item in getattr(review.model, section).items():
            _bodies(review, (section, name), item)
            if section != "sensors":
                _suitable(review, (section, name), item)
            if section == "forces":
                _acts(review, (section, name), item)


def _bodies(review: Review, path: Path, item: Any) -> None:
    """Points and vectors that must differ, or be of one body."""
    for key in ("points", "vectors"):
        given = getattr(item, key, None)
        if isinstance(given, tuple) and given[0] == given[1]:
            review.report((*path, key), f"both {key} are {given[0]!r}")
    for key, side in SIDES.items():
        if (given := getattr(item, key, None)) is not None:
            _same_body(review, (*path, key), given.point, getattr(given, side))
    if path[0] == "forces":
        for point, vector in item.of_one_body:
            _same_body(review, (*path, vector), getattr(item, point), getattr(item, vector))
    if item.type == "contact" and path[0] == "forces":
        _contact(review, path, item)
    if item.type == "bushing" and path[0] == "forces":
        for key in ("axis", "reference"):
            for index, vector in enumerate(getattr(item, key) or ()):
                _same_body(review, (*path, key, index), item.points[index], vector)
    if item.type == "displacement":
        _same_body(review, (*path, "direction"), item.points[0], item.direction)


def _contact(review: Review, path: Path, item: Any) -> None:
    """Report shapes that are not of one body, or of the body that they touch."""
    shape, face = item.touching, item.touched
    places = shape.points if shape.type == "points" else [shape.center]
    for number, place in enumerate(places[1:], start=1):
        _same_body(review, (*path, "shape"), places[0], place)
        if place in places[:number]:
            review.report((*path, "shape", "points", number), f"{place!r} stands twice")
    for key, given in (("shape", item.shape), ("against", item.against)):
        if (axis := getattr(given, "axis", None)) is not None:
            _same_body(review, (*path, key, "axis"), given.center, axis)
    if item.against is not None and face.type == "plane":
        _same_body(review, (*path, "against"), face.point, face.normal)
    body, other = places[0].partition(".")[0], (face.point if face.type == "plane" else face.center).partition(".")[0]
    if body == other:
        key = next(key for key in ("against", "plane", "points") if getattr(item, key) is not None)
        if key != "points" or item.points[0] != item.points[1]:
            what = {"plane": "sphere and plane", "points": "both spheres"}.get(key, "shape and face")
            review.report((*path, key), f"{what} are both on {body!r}" if key != "points" else f"both are on {body!r}")


def _same_body(review: Review, path: Path, point: str, vector: str) -> None:
    if point.split(".")[0] != vector.split(".")[0]:
        review.report(path, f"{point!r} and {vector!r} must be of one body")


def _acts(review: Review, path: Path, item: Force) -> None:
    """Report a force that moves nothing: one on the ground, or within one rigid body."""
    key = item.place
    if key is not None and getattr(item, key).partition(".")[0] == GROUND and path[:2] not in review.model.derived.made:
        message = f"the ground does not move, and a {item.type} on it changes nothing"
        review.report((*path, key), message, "name the body that it acts on")
    points: tuple[str, ...] = getattr(item, "points", None) or ()
    bodies = {point.partition(".")[0] for point in points}
    if len(bodies) != 1 or points[0] == points[1]:
        return
    (body,) = bodies
    known = review.model.bodies.get(body)
    if body == GROUND or (known is not None and known.flexible is None):
        message = f"both points are on {body!r}, whose points keep their distance: no force between them moves it"
        review.report((*path, "points"), message, "the second one belongs to another body")


def _suitable(review: Review, path: Path, item: Force | Constraint) -> None:
    for place, kind, name, is_key, _ in references(item, path):
        joint, _, coordinate = name.partition(".")
        if kind != "coordinate":
            continue
        if joint not in review.model.joints or coordinate not in review.model.joints[joint].coordinates:
            continue  # reported already
        if coordinate in EULER_NAMES:
            hint = "no force or constraint acts on an Euler parameter alone"
            review.report(place, f"{name!r} is an Euler parameter", hint, key=is_key)
        elif item.type == "rotational_spring_damper" and not coordinate.startswith("angle"):
            review.report(place, f"{name!r} is not an angle", "a spring on a translation is a spring_damper")
        elif item.type == "spring_damper" and coordinate.startswith("angle"):
            review.report(place, f"{name!r} is an angle", "a spring on one is a rotational_spring_damper")


def check_forces(review: Review) -> None:
    """Report elements that state nothing to exert, and bars between a coordinate and itself."""
    controlled = {control.force for control in review.model.controls.values()}  # one that is wrong adds no law
    for name, force in review.model.forces.items():
        if not review.intact("forces", name) or name in controlled or not review.intact("controls"):
            continue
        possible = (*force.sources, *force.added_laws)
        if possible and force.model_fields_set.isdisjoint(possible):
            hint = f"give {', '.join(possible[:-1])} or {possible[-1]}"
            hint += " (value: 0 of an input of linear models)" if "value" in possible else ""
            review.report(("forces", name), "exerts nothing", hint, key=True)
        if force.type == "bushing":
            _symmetric(review, ("forces", name), force)
            turn = review.vector(force.natural[3:])
            if turn is not None and math.hypot(*turn) >= math.pi:
                message = f"a rotation by {math.hypot(*turn):.3g} rad is half a turn or more, which no bushing reaches"
                review.report(("forces", name, "natural"), message)
        if force.type == "anti_roll_bar" and force.coordinates[0] == force.coordinates[1]:
            message = f"both coordinates are {force.coordinates[0]!r}"
            kind = "rotational_spring_damper" if ".angle" in force.coordinates[0] else "spring_damper"
            review.report(("forces", name, "coordinates"), message, f"a spring on one is a {kind}")


def _symmetric(review: Review, path: Path, force: "Bushing") -> None:
    """Report matrices that no potential, or no dissipation, gives."""
    for key in ("stiffness_matrix", "damping_matrix"):
        values = [[review.value(number) for number in row] for row in getattr(force, key) or []]
        size = max((abs(value) for row in values for value in row if value is not None), default=0.0)
        for i in range(len(values)):
            for j in range(i):
                low, high = values[i][j], values[j][i]
                if low is not None and high is not None and abs(low - high) > 1e-9 * size:
                    message = f"is not symmetric: {low:g} stands opposite to {high:g}"
                    review.report((*path, key, i, j), message, "both entries must be equal")


def check_constraints(review: Review) -> None:
    """Report distances that are not greater than zero, and couplings whose factors are all zero."""
    for name, constraint in review.model.constraints.items():
        if constraint.type == "distance" and constraint.law is None and not constraint.stands_for:
            value = review.value(constraint.distance)
            if value is not None and value <= 0:
                hint = "a spherical joint keeps two points together" if value == 0 else None
                review.report(("constraints", name, "distance"), f"must be greater than zero, is {value:g}", hint)
        elif constraint.type == "gear" or constraint.type == "rack" or constraint.type == "screw":
            _ratio(review, ("constraints", name), constraint)
        elif constraint.type == "coupling":
            if constraint.of is not None and constraint.of == constraint.by:
                review.report(("constraints", name, "by"), f"{constraint.by!r} cannot follow itself")
            if all(review.value(number) == 0.0 for number in constraint.factors.values()):
                review.report(("constraints", name, "terms"), "all factors are zero, so that it holds nothing")


def _ratio(review: Review, path: Path, constraint: "Gear | Rack | Screw") -> None:
    """Report a gear, rack or screw without a ratio, or between coordinates of the wrong kinds."""
    key, _ = constraint.factor
    if (value := review.value(getattr(constraint, key))) is not None and value == 0.0:
        review.report((*path, key), "must not be zero", "a coordinate that stands still is a motion, or no joint")
    if constraint.of == constraint.by:
        review.report((*path, "by"), f"{constraint.by!r} cannot follow itself")
        return
    turns = [name.rpartition(".")[2].startswith("angle") for name in (constraint.of, constraint.by)]
    if constraint.type == "gear" and turns[0] != turns[1]:
        review.report((*path, "by"), "a gear couples two angles, or two displacements", "take a rack or a screw")
    if constraint.type != "gear" and turns != [False, True]:
        wrong = "of" if turns[0] else "by"
        wanted = "a displacement" if turns[0] else "an angle"
        review.report((*path, wrong), f"{getattr(constraint, wrong)!r} is not {wanted}")


def check_reactions(review: Review) -> None:
    """Report reactions of nothing, on bodies that are not joined, or in axes that there are none of."""
    for name, sensor in review.model.sensors.items():
        if isinstance(sensor, Reaction) and _exists(review, ("sensors", name), sensor):
            _fits(review, ("sensors", name), sensor)


def _exists(review: Review, path: Path, sensor: Reaction) -> bool:
    """Whether the joint and the constraint can be checked further."""
    model, whole = review.model, True
    if sensor.joint is not None:
        whole = review.known((*path, "joint"), sensor.joint, "joints", "joint") and sensor.joint in model.joints
    if sensor.constraint is None:
        return whole
    if sensor.constraint in review.names("joints"):
        hint = f"write joint: {sensor.constraint}"
        review.report((*path, "constraint"), f"{sensor.constraint!r} is a joint, not a constraint", hint)
        return False
    known = review.known((*path, "constraint"), sensor.constraint, "constraints", "constraint")
    return known and whole and sensor.constraint in model.constraints


def _fits(review: Review, path: Path, sensor: Reaction) -> None:
    spec = review.model.constraints[sensor.constraint] if sensor.constraint else None
    factors = getattr(spec, "factors", None)  # of couplings
    if factors is not None:
        joints = list(dict.fromkeys(name.partition(".")[0] for name in factors))
        if sensor.joint not in joints:
            hint = "name one of " + ", ".join(joints) + " as joint"
            review.report(path, f"the coupling {sensor.constraint!r} acts through several joints", hint)
            return
    elif spec and sensor.joint is not None:
        message = f"{sensor.constraint!r} is no coupling, and acts through no joint that could be named"
        review.report((*path, "joint"), message, "name a joint or a constraint")
        return
    if sensor.axes == "joint" and spec and factors is None and spec.type != "motion":
        message = f"the constraint {sensor.constraint!r} has no axes of its own"
        review.report((*path, "axes"), message, "take ground or body")
    bodies = sensor.bodies(review.model)
    if sensor.on is not None and bodies and sensor.on not in bodies:
        what = f"constraint {sensor.constraint!r}" if spec else f"joint {sensor.joint!r}"
        hint = f"it joins {bodies[0]} and {bodies[1]}"
        review.report((*path, "on"), f"{what} exerts nothing on body {sensor.on!r}", hint)


_OF_ITS_USE = ("checks", "study", "optimization", "measurements", "fit")  # sections of what is done with a model


def check_signs(review: Review) -> None:
    """Report numbers of the model whose sign is not the one that their field requires."""
    for path, number, sign in review.model.signed:
        if path[0] not in _OF_ITS_USE:
            review.has_sign(path, number, sign)


def check_signs_of_use(review: Review) -> None:
    """Report such numbers of checks, studies, optimisations, measurements and fits."""
    for path, number, sign in review.model.signed:
        if path[0] in _OF_ITS_USE:
            review.has_sign(path, number, sign)


def check_sizes(review: Review) -> None:
    """Report what no road, tyre, contact or stop can be."""
    for name, road in review.model.roads.items():
        _road(review, ("roads", name), road)
    for name, force in review.model.forces.items():
        if force.type == "tyre":
            gravity = review.vector(review.model.gravity)
            if gravity is not None and any(gravity) and gravity[2] >= 0.0:
                stated = ", ".join(f"{g:g}" for g in gravity)
                message = f"a tyre needs gravity that points down the z axis, and gravity is [{stated}]"
                hint = "roads are heights along z over x; turn the model, or gravity"
                review.report(("forces", name), message, hint)
            _road(review, ("forces", name, "road"), force.road)
        elif force.type == "contact":
            _contact_sizes(review, ("forces", name), force)
            _road(review, ("forces", name, "against", "road"), getattr(force.against, "road", None))
        elif force.type == "bump_stop":
            low, high = review.value(force.minimum), review.value(force.maximum)
            if low is not None and high is not None and high <= low:
                review.report(("forces", name, "maximum"), f"{high:g} is not above the minimum {low:g}")
    reads = {name: road.roads for name, road in review.model.roads.items() if road.type == "sum"}
    for cycle in sort(reads)[1]:
        review.report(("roads", cycle[0]), f"the road is made of itself: {shown(cycle)}")


def _contact_sizes(review: Review, path: Path, force: "Contact") -> None:
    if (exponent := review.value(force.exponent)) is not None and exponent < 1.0:
        message = f"must be at least 1, is {exponent:g}"
        review.report((*path, "exponent"), message, "a smaller one has no derivative where contact begins")
    if force.youngs_modulus is not None:
        if exponent is not None and exponent != 1.5:
            message = f"Hertz' exponent is 1.5, not {exponent:g}"
            review.report((*path, "exponent"), message, "give stiffness, or no exponent")
        radii = [getattr(ball, "radius", None) for ball in (force.touching, force.touched)]  # of a plane none
        if any(review.value(radius) == 0.0 for radius in radii):
            review.report((*path, "youngs_modulus"), "a point has no stiffness by Hertz", "give stiffness, or a radius")
    smaller, larger = review.value(force.friction), review.value(force.static_friction)
    if smaller is not None and larger is not None and larger < smaller:
        review.report((*path, "static_friction"), f"must not be less than friction, which is {smaller:g}")
    if force.law == "rigid":
        message = "rigid impacts are not available"
        review.report((*path, "law"), message, "leave law out: contacts are compliant, as stiff as you state")
    for index, number in enumerate(force.poisson_ratio or ()):
        if (value := review.value(number)) is not None and not -1.0 <= value <= 0.5:
            review.report((*path, "poisson_ratio", index), f"must be between -1 and 0.5, is {value:g}")
    if force.radii is not None and review.vector(force.radii) == [0.0, 0.0]:
        review.report((*path, "radii"), "both are zero: points never touch")
    if force.restitution is not None:
        value = review.value(force.restitution.value)
        if value is not None and not 0.0 < value <= 1.0:
            review.report((*path, "restitution", "value"), f"must be above 0 and at most 1, is {value:g}")


def _road(review: Review, path: Path, road: Road | str | None) -> None:
    """Report what no road can be, of one that stands at a path and not in another section."""
    if road is None or isinstance(road, str):
        return
    if road.type == "ramp":
        start, end = review.value(road.start), review.value(road.end)
        if start is not None and end is not None and end <= start:
            review.report((*path, "end"), f"the ramp ends at {end:g}, not behind its start at {start:g}")
    elif road.type == "profile":
        if len(road.x) != len(road.z):
            review.report((*path, "z"), f"{len(road.z)} heights stand for {len(road.x)} places")
        for index, (before, here) in enumerate(pairwise(map(review.value, road.x)), start=1):
            if before is not None and here is not None and before >= here:
                review.report((*path, "x", index), f"x must increase, but {here:g} follows {before:g}")
