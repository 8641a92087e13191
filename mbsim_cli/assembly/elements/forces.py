"""Force elements of the model file."""

import functools
import itertools
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.laws import LawTable, RoadTable, Term
from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.parameters.numbers import Numbers, integers, table
from mbsim_cli.assembly.tree.joints import joint_frames
from mbsim_cli.assembly.tree.system import System, unit_of
from mbsim_cli.model.codes import Axes, Force, Law
from mbsim_cli.model.layout import FORCE_LAWS, GROUND, NONE, Forces
from mbsim_cli.model.units import force_on
from mbsim_cli.spec.expressions.number import NATURAL, RATE, VALUE, is_moving
from mbsim_cli.spec.geometry import IDENTITY, Scalar, Vector, add, flat, product, scale, split, transpose, unit

if TYPE_CHECKING:
    from mbsim_cli.spec import contacts, forces

ENDLESS = 1e12  # m, half the length of a cylinder without ends
NEARLY_NOTHING = 1e-9  # m, length that springs without any have at least
NATURAL_VALUE = 2  # place in the block of ALONG_MEASURE
_SPRING = ("stiffness", "damping")  # the places before it
_TOUCHING = {"plane": Force.SPHERE_ON_PLANE, "road": Force.SPHERE_ON_ROAD}  # kinds of contact; else of a sphere


class Moving(NamedTuple):
    """A component of a force that is an expression of the motion; it acts along ``measure``, or NONE."""

    force: int
    component: int
    text: str
    measure: int
    path: str


def _zero() -> Scalar:
    return 0.0


class _Part(NamedTuple):
    """A sphere on the second body of a contact, or spheres along a circle, with its axis."""

    body: str
    center: Callable[[], Vector]
    radius: Callable[[], Scalar] = _zero
    rim: Callable[[], Scalar] = _zero
    axis: str | None = None


class ForceTable:
    """Collects force elements; ``automatic`` lists (theta index, measure) of natural values as at the start."""

    def __init__(self, system: System, measures: MeasureTable, laws: LawTable):
        self._system, self._measures, self._laws = system, measures, laws
        self._roads = RoadTable(system, laws)
        self._numbers = system.geometry.numbers
        self.names: list[str] = []
        self.units: list[str] = []
        self.parts: dict[str, int] = {}  # elements of each contact
        self.rows: list[tuple[int, int, int, int, tuple[int, ...], int]] = []  # as ``Forces``, element by element
        self.automatic: list[tuple[int, int]] = []
        self.moving: list[Moving] = []

    def table(self) -> Forces:
        """The elements as arrays."""
        kind, measure, pair, axes, laws, theta = zip(*self.rows, strict=True) if self.rows else ((),) * 6
        law = integers([*each, *[NONE] * (FORCE_LAWS - len(each))] for each in laws).reshape(-1, FORCE_LAWS)
        return table(Forces, kind=kind, measure=measure, pair=pair, axes=axes, law=law, theta=theta)

    def add(self, name: str, spec: "forces.Force") -> None:
        """Add a force of the model file."""
        getattr(self, f"_add_{spec.type}", self._add_along)(name, spec)

    def _add_along(self, name: str, spec: "forces.Force") -> None:
        """A spring, damper or drive along a distance or coordinate."""
        measure, unit = self._measured(name, spec)
        natural = getattr(spec, "natural_length", getattr(spec, "natural_angle", None))
        numbers = self._numbers
        key = next((key for key in ("force", "torque", "value") if hasattr(spec, key)), "")
        entries = (*(getattr(spec, part, None) for part in _SPRING), natural, getattr(spec, key, None))
        moving = self._moving_parts(name, spec, (*_SPRING, key), natural, measure)
        parts = zip((*_SPRING, "", key), entries, strict=True)
        kept = [None if entry == "auto" or part in moving else entry for part, entry in parts]
        offset = self._system.theta.add(lambda: [0.0 if entry is None else numbers(entry) for entry in kept])
        if natural == "auto":
            self.automatic.append((offset + NATURAL_VALUE, measure))
        laws = tuple(
            self._laws.number(getattr(spec, key, None), f"forces.{name}.{key}", of_time=key == "law")
            for key in ("law", "elongation_law", "rate_law")
        )
        joint = self._system.joints.get(split(getattr(spec, "coordinate", None) or "")[0])
        axes = NONE if getattr(joint, "stands_for", "") == "state" else Axes.GLOBAL  # the rate of a state does no work
        self._append(name, unit, Force.ALONG_MEASURE, offset, measure=measure, axes=axes, laws=laws)

    def _moving_parts(self, name: str, spec: Any, keys: tuple[str, ...], natural: Any, measure: int) -> set[str]:
        """Keys of stiffness, damping and force that are expressions; their sum is registered for the next force."""
        environment = self._system.model_file.expressions
        found: dict[str, Any] = {key: getattr(spec, key, None) for key in keys}
        found = {key: number for key, number in found.items() if is_moving(number, environment)}
        unstressed = NATURAL if natural is None or natural == "auto" else f"({natural.text})"
        along = {"stiffness": f"-({{}})*({VALUE} - {unstressed})", "damping": f"-({{}})*{RATE}"}
        if found:
            text = " + ".join(along.get(key, "({})").format(number.text) for key, number in found.items())
            self.moving.append(Moving(len(self.rows), 0, text, measure, f"forces.{name}.{next(iter(found))}"))
        return set(found)

    def _measured(self, name: str, spec: Any) -> tuple[int, str]:
        """Distance or coordinate that a force acts along, and the force's unit."""
        coordinate = getattr(spec, "coordinate", None)
        if coordinate is None:
            return self._measures.distance(spec.points, NEARLY_NOTHING if _without_length(spec) else 0.0), "N"
        measure = self._measures.coordinate(coordinate, f"forces.{name}.coordinate")
        return measure, force_on(unit_of(split(coordinate)[1]))

    def _add_bump_stop(self, name: str, spec: "forces.BumpStop") -> None:
        """A one-sided law of the distance or coordinate, or two."""
        measure, unit = self._measured(name, spec)
        n = self._numbers
        terms = []
        if spec.minimum is not None:
            terms.append(Term(Law.ONE_SIDED, 3, lambda: (n(spec.minimum), -n(spec.onset), n(spec.stiffness))))
        if spec.maximum is not None:
            terms.append(Term(Law.ONE_SIDED, 3, lambda: (n(spec.maximum), n(spec.onset), n(spec.stiffness))))
        laws = (NONE, self._laws.add(f"forces.{name}", terms), NONE)
        offset = self._system.theta.add(lambda: (0.0, 0.0, 0.0, 0.0))
        self._append(name, unit, Force.ALONG_MEASURE, offset, measure=measure, laws=laws)

    def _add_anti_roll_bar(self, name: str, spec: "forces.AntiRollBar") -> None:
        """A spring on the weighted sum of two coordinates."""
        found = [self._system.coordinate(coordinate) for coordinate in spec.coordinates]
        for index, coordinate in enumerate(found):
            if coordinate.column == NONE:
                message = f"joint {coordinate.joint!r} is cut, so {spec.coordinates[index]!r} is no coordinate"
                self._system.issue(f"forces.{name}.coordinates", message, coordinate.uncut)
        n = self._numbers
        measure = self._measures.combination(
            [max(coordinate.column, 0) for coordinate in found],
            lambda: [n(ratio) * found[k].sign for k, ratio in enumerate(spec.ratios)],
        )
        offset = self._system.theta.add(
            lambda: (n(spec.stiffness), n(spec.damping), 0.0 if spec.natural == "auto" else n(spec.natural), 0.0)
        )
        if spec.natural == "auto":
            self.automatic.append((offset + NATURAL_VALUE, measure))
        unit = force_on(unit_of(split(spec.coordinates[0])[1]))
        self._append(name, unit, Force.ALONG_MEASURE, offset, measure=measure)

    def _add_drag(self, name: str, spec: "contacts.Drag") -> None:
        body, point = split(spec.point)
        geometry, n = self._system.geometry, self._numbers

        def block() -> tuple[Scalar, ...]:
            size = 0.5 * n(spec.density) * n(spec.area)
            return (*geometry.point(body, point), 0.0, 0.0, 0.0, *n.vector(spec.wind), size * n(spec.coefficient))

        self._append(name, "N", Force.DRAG, self._system.theta.add(block), self._on(body))

    def _add_wing(self, name: str, spec: "contacts.Wing") -> None:
        (body, point), (_, normal) = split(spec.point), split(spec.normal)
        geometry, n = self._system.geometry, self._numbers

        def block() -> tuple[Scalar, ...]:
            size = 0.5 * n(spec.density) * n(spec.area)
            plate = (*geometry.point(body, point), *unit(geometry.vector(body, normal)), *n.vector(spec.wind))
            return (*plate, size * n(spec.drag_coefficient), size * n(spec.lift_slope))

        self._append(name, "N", Force.WING, self._system.theta.add(block), self._on(body))

    def _add_tyre(self, name: str, spec: Any) -> None:
        (body, center), (_, axis) = split(spec.center), split(spec.axis)
        geometry, n, slip = self._system.geometry, self._numbers, spec.slip
        magic = slip.type == "magic_formula"

        def block() -> tuple[Scalar, ...]:
            slips = (1.0, 1.0) if magic else n.vector((slip.longitudinal_stiffness, slip.lateral_stiffness))
            shape = n.vector((slip.B, slip.C)) if magic else (0.0, 0.0)
            vertical = n.vector((spec.radius, spec.stiffness, spec.damping, spec.onset))
            wheel = (*geometry.point(body, center), *unit(geometry.vector(body, axis)))
            return (*wheel, *vertical, n(spec.friction), *slips, *shape, n(spec.slow_speed))

        offset = self._system.theta.add(block)
        laws = (self._roads.number(spec.road, f"forces.{name}.road"), NONE, NONE)
        kind = Force.TYRE_MAGIC_FORMULA if magic else Force.TYRE_LINEAR
        self._append(name, "N", kind, offset, self._on(body), laws=laws)

    def _add_contact(self, name: str, spec: Any) -> None:
        """Spheres or rims of the second body, one element each, against a face of the first."""
        face, parts = spec.touched, self._parts(spec.touching)
        on_plane = face.type == "plane"
        first, other = split(face.point if on_plane else face.center)
        vector = getattr(face, "normal" if on_plane else "axis", None)
        geometry, n = self._system.geometry, self._numbers
        index = self._system.topology.index
        kind = _TOUCHING.get(face.type, Force.SPHERE_ON_SPHERE)
        road = self._roads.number(face.road, f"forces.{name}.against.road") if face.type == "road" else NONE
        self.parts[name] = len(parts)
        for number, part in enumerate(parts, start=1):

            def block(part: _Part = part) -> tuple[Scalar, ...]:
                normal = (0.0, 0.0, 0.0) if vector is None else unit(geometry.vector(first, split(vector)[1]))
                axis = (0.0, 0.0, 0.0) if part.axis is None else unit(geometry.vector(part.body, part.axis))
                half = ENDLESS if face.type == "cylinder" else 0.0
                if face.type == "capsule":
                    half = 0.5 * n(face.length)
                static = spec.friction if spec.static_friction is None else spec.static_friction
                law = (self._stiffness(spec), n(spec.exponent), self._dissipation(spec))
                impact = (0.0, 1.0) if spec.impact is None else (n(spec.impact.damping), n(spec.impact.depth))
                return (
                    *part.center(), *axis, *geometry.point(first, other), *normal,
                    part.radius(), n(face.radius) if hasattr(face, "radius") else 0.0, *law,
                    n(spec.friction), n(static), n(spec.friction_speed), part.rim(), half, *impact,
                )  # fmt: skip

            pair = self._measures.pairs.number(index[first], index[part.body])
            own = name if len(parts) == 1 else f"{name}.{number}"
            self._append(own, "N", kind, self._system.theta.add(block), pair, laws=(road, NONE, NONE))

    def _parts(self, shape: Any) -> list["_Part"]:
        """Spheres and rims of a shape."""
        geometry, n = self._system.geometry, self._numbers
        if shape.type == "points":
            return [_Part(body, partial(geometry.point, body, point)) for body, point in map(split, shape.points)]
        body, point = split(shape.center)

        def shifted(*steps: Callable[[], Vector]) -> Callable[[], Vector]:
            return lambda: functools.reduce(add, (step() for step in steps), geometry.point(body, point))

        if shape.type == "box":
            signs = itertools.product((-0.5, 0.5), repeat=3)
            corners = (lambda s=s: tuple(f * n(e) for f, e in zip(s, shape.size, strict=True)) for s in signs)
            return [_Part(body, shifted(corner)) for corner in corners]
        radius = lambda: n(shape.radius)  # noqa: E731
        if shape.type == "sphere":
            return [_Part(body, shifted(), radius)]
        axis = split(shape.axis)[1]
        if shape.type == "rim":
            return [_Part(body, shifted(), lambda: n(shape.tube), radius, axis)]

        def end(side: float) -> Vector:
            return scale(side * n(shape.length), unit(geometry.vector(body, axis)))

        ends = [shifted(partial(end, side)) for side in (-0.5, 0.5)]
        if shape.type == "capsule":
            return [_Part(body, each, radius) for each in ends]
        return [_Part(body, each, _zero, radius, axis) for each in ends]

    def _stiffness(self, spec: Any) -> Scalar:
        """K as the file states it, or by Hertz's theory from the two materials: 4/3 E* sqrt(R*)."""
        n = self._numbers
        if spec.stiffness is not None:
            return n(spec.stiffness)
        materials = zip(spec.youngs_modulus, spec.poisson_ratio, strict=True)
        compliance = sum((1.0 - n(nu) * n(nu)) / n(E) for E, nu in materials)
        radius = n(spec.touching.radius)
        if spec.touched.type == "sphere":
            other = n(spec.touched.radius)
            radius = radius * other / (radius + other)
        return 4.0 / 3.0 / compliance * np.sqrt(radius)

    def _add_bushing(self, name: str, spec: "contacts.Bushing") -> None:
        geometry, n = self._system.geometry, self._numbers
        bodies, points = zip(*map(split, spec.points), strict=True)
        vectors = {key: [split(each)[1] for each in getattr(spec, key) or ()] or None for key in ("axis", "reference")}
        joint = SimpleNamespace(type="fixed", bodies=bodies, point=points, **vectors)

        def block() -> tuple[Scalar, ...]:
            frames = joint_frames(geometry, joint)
            R_a, R_b = frames.R_a, frames.R_b
            if spec.axis is None:  # axes of the first body
                R_a, R_b = IDENTITY, product(R_b, transpose(R_a))
            stiffness, damping = (_upper(n, spec, key) for key in ("stiffness", "damping"))
            at_b, at_a = ((*p, *flat(transpose(R))) for p, R in ((frames.p_b, R_b), (frames.p_a, R_a)))
            return (*at_b, *at_a, *n.vector(spec.natural), *n.vector(spec.preload), *stiffness, *damping)

        laws = [(f"forces.{name}.laws.{key}", law) for key, law in spec.laws or ()]
        directions = [self._laws.number(law, path, of_time=False) for path, law in laws] or [NONE] * 6
        pair = self._measures.pairs.number(*(self._system.topology.index[body] for body in bodies))
        offset, row = self._system.theta.add(block), (NONE, NONE, NONE, *directions)
        self._append(name, "N", Force.BUSHING, offset, pair, laws=row)

    def _dissipation(self, spec: "contacts.Contact") -> Scalar:
        """chi of F = K d^e (1 + chi d'), stated or from a restitution at an impact speed; docs/theory/contact.md."""
        if spec.restitution is None:
            return self._numbers(spec.dissipation)
        e, speed = self._numbers(spec.restitution.value), self._numbers(spec.restitution.speed)
        match spec.restitution.law:
            case "hunt_crossley":
                factor = 1.5 * (1.0 - e)
            case "lankarani_nikravesh":
                factor = 0.75 * (1.0 - e * e)
            case "flores":
                factor = 1.6 * (1.0 - e) / e
            case _:
                factor = _exact_dissipation(e)
        return factor / speed

    def _on(self, body: str) -> int:
        """Pair of the ground and a body."""
        return self._measures.pairs.number(GROUND, self._system.topology.index[body])

    def _add_force(self, name: str, spec: Any) -> None:
        """A force at a point or a torque on a body."""
        body, point = split(spec.point) if spec.type == "force" else (spec.body, "origin")
        geometry, numbers = self._system.geometry, self._numbers
        moving = [is_moving(number, self._system.model_file.expressions) for number in spec.value]
        for place in np.flatnonzero(moving).tolist():
            path = f"forces.{name}.value[{place}]"
            self.moving.append(Moving(len(self.rows), place, spec.value[place].text, NONE, path))
        value = [None if moves else number for moves, number in zip(moving, spec.value, strict=True)]
        offset = self._system.theta.add(
            lambda: (*geometry.point(body, point), *(0.0 if entry is None else numbers(entry) for entry in value))
        )
        pair = self._on(body)
        laws = (self._laws.number(spec.law, f"forces.{name}.law"), NONE, NONE)
        kind, unit = (Force.POINT_FORCE, "N") if spec.type == "force" else (Force.TORQUE, "N m")
        self._append(name, unit, kind, offset, pair, axes=Axes[spec.axes.upper()], laws=laws)

    _add_torque = _add_force

    def _append(
        self, name: str, unit: str, kind: Force, theta: int, pair: int = NONE, *, measure: int = NONE,
        axes: int = Axes.GLOBAL, laws: tuple[int, ...] = (NONE, NONE, NONE),
    ) -> None:  # fmt: skip
        self.names.append(name)
        self.units.append(unit)
        self.rows.append((kind, measure, pair, axes, laws, theta))


def _without_length(spec: "forces.Force") -> bool:
    """Whether a force between two points is that of a spring of no length, -k d: defined where they coincide.

    By g = sqrt(d . d + e^2) it is -k g d/g, exactly, whatever e is, and so are its tangent and all derivatives.
    """
    natural = getattr(spec, "natural_length", None)
    if isinstance(natural, str) or natural is None or natural.literal != 0.0:
        return False
    laws = (getattr(spec, key, None) for key in ("law", "elongation_law", "rate_law"))
    others = (getattr(spec, key, None) for key in ("damping", "force"))
    return all(law is None for law in laws) and all(other is None or other.literal == 0.0 for other in others)


def _upper(numbers: Numbers, spec: "contacts.Bushing", key: str) -> list[Scalar]:
    """Upper triangle, by rows, of a stiffness or damping that is diagonal, full or left out."""
    if (matrix := getattr(spec, f"{key}_matrix")) is not None:
        return [numbers(matrix[i][j]) for i in range(6) for j in range(i, 6)]
    diagonal = getattr(spec, key)
    if diagonal is None:
        return [0.0] * 21
    return [numbers(diagonal[i]) if i == j else 0.0 for i in range(6) for j in range(i, 6)]


def _exact_dissipation(e: Scalar) -> Scalar:
    """x = chi v of an impact at speed v with restitution e: ln((1 + x) / (1 - e x)) = (1 + e) x, x > 0."""
    from scipy.optimize import brentq

    real = e.real
    if real >= 1.0 - 1e-6:
        return 1.5 * (1.0 - e)  # its tangent there

    def open_by(x: Scalar, e: Scalar) -> Scalar:
        return np.log((1.0 + x) / (1.0 - e * x)) - (1.0 + e) * x

    most = (1.0 - 1e-15) / real
    if open_by(most, real) < 0.0:
        return 1.0 / e  # to round-off
    x = brentq(open_by, 0.5 * (1.0 - real), most, (real,), xtol=1e-15)
    slope = 1.0 / (1.0 + x) + real / (1.0 - real * x) - (1.0 + real)
    return x - open_by(x, e) / slope
