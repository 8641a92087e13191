"""Warnings of what may stand in a valid model, and is seldom meant."""

import ast
import math
import re
from collections.abc import Iterator
from math import tau
from typing import Any, NamedTuple

from mbsim_cli.spec.base import references
from mbsim_cli.spec.bodies import Body, Cylinder, DesignPoint, Rod
from mbsim_cli.spec.expressions import syntax
from mbsim_cli.spec.expressions.number import Number, coordinate_in, is_moving, read_by, sensor_in
from mbsim_cli.spec.expressions.units import Dimension, dimension_of, has_angle
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.parameters import places
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules.bodies import local_point
from mbsim_cli.spec.sensors import UNITS

_DEGREES = re.compile(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)? deg\s*")
_NAMED = {"laws": "law", "roads": "road", "materials": "material", "fields": "field"}  # what acts by its name alone
_ACTING = (*_NAMED.values(), "input")  # kinds of names
_NAMING = ("forces", "constraints", "laws", "roads", "analysis", "bodies")
_OF_ITS_USE = ("checks", "study", "optimization", "fit")  # sections of what is done with a model


class Found(NamedTuple):
    """A warning of a place, as ``Source.issue`` takes it."""

    path: Path
    message: str
    hint: str | None = None


def warnings_of(model: ModelFile) -> list[str]:
    """Sentences with their places."""
    of_values = [*_angles(model), *_beyond_bounds(model), *_sizes(model), *_forces(model)]
    of_names = [*_unread(model), *_unused(model), *_hidden(model)]
    if not model.bodies:
        hint = "they stand under bodies, or in a table under dh"
        of_names.insert(0, Found((), "the model has no bodies, and nothing moves", hint))
    named = (str(model.source.issue(*found, key=True)) for found in of_names)
    return [*(str(model.source.issue(*found)) for found in of_values), *unit_sums(model), *named]


def warnings_of_values(model: ModelFile) -> list[str]:
    """Those that other values of parameters may cause."""
    return [str(model.source.issue(*found)) for found in _forces(model, moved=True)]


def _angles(model: ModelFile) -> Iterator[Found]:
    """Plain numbers of more than a turn in radians, most of them degrees; degrees where a number is no angle."""
    definitions = model.definitions
    stated: list[tuple[Path, Number, str]] = [  # numbers whose unit is known, as the file has them or -p in their place
        (("parameters", name, "value"), definitions[name], str(parameter.unit))
        for name, parameter in model.parameters.items()
        if parameter.unit
    ]
    for place in places(model):
        if place.unit and place.path[:2] not in model.derived.made:
            of_angle = place.unit == "m or rad" and ".angle" in (getattr(place.holder, "coordinate", None) or "")
            stated.append((place.path, place.number, "rad" if of_angle else place.unit))
    for path, number, unit in stated:
        if unit == "rad" and (value := number.literal) is not None and abs(value) > tau:
            yield Found(path, f"{value:g} rad are {abs(value) / tau:.3g} turns", f"degrees are written {value:g} deg")
    for path, number, unit in stated:
        if _DEGREES.fullmatch(number.text) and not has_angle(unit):
            yield Found(path, f"a number of degrees stands where the unit is {unit}", "deg is pi/180")


def _beyond_bounds(model: ModelFile) -> Iterator[Found]:
    """Values in place of the file's, which may go beyond what the file allows itself."""
    for name, parameter in model.parameters.items():
        if name in model.overrides and parameter.bounds is not None:
            value, *bounds = (model.expressions.value(n).real for n in (model.definitions[name], *parameter.bounds))
            if not bounds[0] <= value <= bounds[1]:
                message = f"{value:g}, which stands for it, lies outside the bounds {bounds[0]:g} and {bounds[1]:g}"
                yield Found(("parameters", name, "value"), message)


def _unread(model: ModelFile) -> Iterator[Found]:
    """Parameters that nothing reads."""
    if model.derived.paths:
        return  # every number is one
    texts = [number.text for path, number in model.computed if path[0] not in _OF_ITS_USE]
    texts += [objective.text for objective in model.objectives.values()]
    texts += [*model.formulas.values(), *(field.value for field in model.fields.values() if field.value)]
    read = {name for text in texts for name in syntax.names(syntax.parse(text, vectors=True))}
    read |= {name for _, number in model.moving for name in read_by(number.text, model.derived.parts).names}
    for name in model.parameters:
        if name not in read and ("parameters", name) not in model.derived.made:
            yield Found(("parameters", name), "nothing reads this parameter", "gradients by it are zero")


def _unused(model: ModelFile) -> Iterator[Found]:
    """Items whose name no place holds where such an item acts."""
    if not any(getattr(model, section) for section in _NAMED):
        return
    named = {found.name for found in references(model) if found.kind in _ACTING and found.path[0] in _NAMING}
    named |= {law for _, number in model.moving for law in read_by(number.text, model.derived.parts).laws}
    for section, what in _NAMED.items():
        for name in getattr(model, section):
            if name not in named:
                yield Found((section, name), f"nothing uses this {what}", "it acts where its name stands")


def _hidden(model: ModelFile) -> Iterator[Found]:
    """Laws with the name of a function, which an expression calls with one argument."""
    if not (hidden := [name for name in model.laws if name in syntax.KNOWN]):
        return
    texts = [*(number.text for _, number in model.moving), *model.formulas.values()]
    texts += [objective.text for objective in model.objectives.values()]
    trees = [syntax.parse(text, vectors=True, motion=True) for text in texts]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {node.func.id for node in calls if isinstance(node.func, ast.Name) and len(node.args) == 1}
    for name in hidden:
        if name in called:
            yield Found(("laws", name), f"expressions with {name}(...) call the function {name}", "rename the law")


# Numbers of forces: signs that no passive element has, elements that exert nothing, lengths not read.
#
# Laws and tables state their values on purpose. What no tyre, stop or drag can be is refused (``rules.suitability``),
# and so is an element that states nothing to exert.

_NEGATIVE = {
    "stiffness": "it pushes away from the state without force",
    "damping": "it feeds energy in",
    "natural_length": "no length is, so that the element pulls at every length",
}
_OF_POINTS = ("natural_length",)  # a coordinate may be less than zero
_NATURAL = ("natural_length", "natural_angle", "natural")
_ELASTIC = ("stiffness", "elongation_law", "stiffness_matrix", "laws")  # what reads them


def _forces(model: ModelFile, *, moved: bool = False) -> Iterator[Found]:
    """Warnings of forces; of a model that is ``moved`` to other values of parameters those that the values cause."""
    values = model.expressions
    inputs = {name.partition(".")[0] for name in getattr(model.analysis, "inputs", ())}
    for name, force in model.forces.items():
        path = ("forces", name)
        for key, why in _NEGATIVE.items():
            if key in _OF_POINTS and getattr(force, "points", None) is None:
                continue
            for number in _entries(force, key):
                counts = (not moved or number.literal is None) and not is_moving(number, values)
                if counts and (value := values.value(number).real) < 0:
                    yield Found((*path, key), f"is negative: {value:g}", why)
        if moved:
            continue
        if name in model.states:
            if model.states[name].rate.literal == 0.0:
                yield Found(("states", name, "rate"), "is zero: nothing changes the state", "make it a constant")
        elif name not in inputs:
            yield from _idle(path, force)
        given = force.model_fields_set
        laws = "laws" if force.type == "bushing" else "an elongation_law"
        for key in _NATURAL:
            if key in given and given.isdisjoint(_ELASTIC):
                yield Found((*path, key), "nothing reads it", f"it belongs to a stiffness or {laws}")


IDLE = "leave it out, unless it is an input of mbsim linearize"


def _idle(path: Path, force: Any) -> Iterator[Found]:
    """That an element exerts nothing, however it moves; a zero that parameters make may be where a study begins."""
    sources, factors = force.sources, force.factors
    if any(getattr(force, key, None) is not None for key in force.added_laws):
        return
    zeros = {key for key in (*sources, *factors) if all(n.literal == 0.0 for n in _entries(force, key))}
    if zeros and (not zeros.isdisjoint(factors) or zeros.issuperset(sources)):
        shown = [key for key in (*factors, *sources) if key in zeros and key in force.model_fields_set]
        yield Found(path, f"exerts nothing with zero {' and '.join(shown)}", IDLE)


def _entries(force: Any, key: str) -> list[Number]:
    found = getattr(force, key, None)
    if isinstance(found, tuple):
        return [number for entry in found for number in (entry if isinstance(entry, tuple) else [entry])]
    return [found] if isinstance(found, Number) else []


_EARTH = 9.81  # m/s^2
_NEARLY = 0.01
_THIN, _WIDE = 1 / 300, 100.0  # radius of gyration by the distance of points; of bodies that exist 1/30 to 20


def _sizes(model: ModelFile) -> Iterator[Found]:
    """Warnings of free fall in millimetres, and of inertias in other units than kg m^2."""
    review = Review(model, model.source, set())
    fall = math.hypot(*(review.vector(model.gravity) or (0.0,)))
    for unit, factor in (("mm", 1000), ("cm", 100)):
        if abs(fall / factor / _EARTH - 1) < _NEARLY:
            message = f"free fall of {fall:g} m/s^2 is that of the earth in {unit}"
            yield Found(("gravity",), message, "lengths are in m")
    points: dict[str, list[str]] = {}  # by the bodies that carry them
    for name, point in model.points.items():
        for carrier in point.bodies if isinstance(point, DesignPoint) else point:
            points.setdefault(carrier, []).append(name)
    for name, body in model.bodies.items():
        if ("bodies", name) not in model.derived.made:
            yield from _size(review, name, body, points.get(name, []))
            yield from _along_other_axis(review, name, body, points.get(name, []))


def _size(review: Review, name: str, body: Body, names: list[str]) -> Iterator[Found]:
    """That an inertia stated in the file does not fit where the points of its body are."""
    if body.inertia is None:
        return
    mass, given = review.value(body.mass), body.inertia
    numbers = [given[i][i] for i in range(3)] if isinstance(given, tuple) else [given.xx, given.yy, given.zz]
    moment = max((value for number in numbers if (value := review.value(number)) is not None), default=None)
    if not (mass and moment and mass > 0 and moment > 0):
        return
    places = [place for point in names if (place := local_point(review, name, point))]
    center = local_point(review, name, "center_of_mass")
    if center is None or not places:
        return
    radius, distance = math.sqrt(moment / mass), max(math.dist(center, place) for place in places)
    if distance > 0 and not _THIN < radius / distance < _WIDE:
        message = f"a radius of gyration of {radius:.3g} m, where a point is {distance:.3g} m from the centre of mass"
        yield Found(("bodies", name, "inertia"), message, "lengths are in m, masses in kg, inertias in kg m^2")


def _along_other_axis(review: Review, name: str, body: Body, names: list[str]) -> Iterator[Found]:
    """That a rod or cylinder by default lies along an axis on which the body goes another way."""
    shape = body.shape
    if not isinstance(shape, (Rod, Cylinder)) or shape.center is not None or body.center_of_mass is not None:
        return
    places = {point: place for point in names if (place := local_point(review, name, point)) and any(place)}
    along = "xyz".index(shape.axis)
    if places and all(place[along] <= 0 for place in places.values()):
        point, place = next(iter(places.items()))
        stands = ", ".join(f"{entry:g}" for entry in place)
        message = f"this {shape.type} lies from the origin along {shape.axis}, but point {point} is at [{stands}]"
        yield Found(("bodies", name, "shape"), message, "axis and center say where it lies")


_RATES = ("", "/s", "/s^2")
_OF_OTHERS = ("force", "torque")  # types of sensors whose unit follows from what they read
_PARTS = {"force": "N", "moment": "N m"}  # of reactions
_CONSTANTS = {"pi": "1", "deg": "1", "t": "s"}
_ALIKE = {"min": 0, "max": 0, "hypot": 0, "atan2": 0, "if": 1, "clip": 0}  # functions whose arguments, from one on, add
_SAME = ("abs", "norm", "min", "max", "hypot", "clip")  # those that keep the unit
_PURE = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "log10", "sinh", "cosh", "tanh", "sign")


def unit_sums(model: ModelFile) -> Iterator[str]:
    """Sentences on sums of different units in forces, states and sensors; objectives may weigh by one what they add."""
    texts = [(path, number.text) for path, number in model.moving if path[:2] not in model.derived.made]
    for name, state in model.states.items():
        if state.rate.literal is None:
            texts.append((("states", name, "rate"), state.rate.text))
    for name, spec in model.sensors.items():
        if spec.type == "expression":
            texts.append((("sensors", name, "value"), spec.value))
    for path, text in texts:
        try:
            tree = syntax.parse(text, vectors=True, motion=True)
        except syntax.ExpressionError:
            continue
        units = _Units(model)
        units.of(tree)
        for message, offset in units.clashes[:1]:
            yield str(model.source.issue(path, message, "multiply one by what converts it", offset))


def _shown(dimension: Dimension) -> str:
    parts = [f"{symbol}^{power:g}" if power != 1 else symbol for symbol, power in dimension]
    return " ".join(parts) or "rad or 1"


def _product(a: Dimension, b: Dimension, sign: float) -> Dimension:
    total = dict(a)
    for symbol, count in b:
        total[symbol] = total.get(symbol, 0.0) + sign * count
    return tuple(sorted((symbol, count) for symbol, count in total.items() if count))


class _Units:
    """Dimensions of parts of an expression; ``clashes``: sums, comparisons of different ones, with offsets."""

    def __init__(self, model: ModelFile) -> None:
        self._model, self._known = model, dict[str, Dimension | None]()
        self.clashes: list[tuple[str, int]] = []

    def of(self, node: ast.expr) -> Dimension | None:
        """Dimension of a value or of the entries of a vector; None where it is not known."""
        name = syntax.part_of(node) or syntax.dotted(node) or (node.id if isinstance(node, ast.Name) else None)
        if name is not None:
            if name not in self._known:
                unit = self._unit(name)
                self._known[name] = dimension_of(unit) if unit else None
            return self._known[name]
        match node:
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                for condition in ast.iter_child_nodes(node):
                    if isinstance(condition, ast.expr):
                        self.of(condition)
                return ()
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return self._alike(node, [left, right])
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() | float() as power)):
                base = self.of(left)
                return None if base is None else tuple((symbol, count * power) for symbol, count in base if power)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                a, b = self.of(left), self.of(right)
                return None if a is None or b is None else _product(a, b, -1.0 if isinstance(op, ast.Div) else 1.0)
            case ast.Compare(left=left, comparators=others):
                self._alike(node, [left, *others])
                return ()
            case ast.List(elts=entries):
                return self._alike(node, entries)
            case ast.Attribute(value=value):
                return self.of(value)
            case ast.Call(func=ast.Name(id=called), args=arguments):
                return self._of_call(node, syntax.function_name(called), arguments)
        return None

    def _alike(self, node: ast.expr, parts: list[ast.expr]) -> Dimension | None:
        """The dimension that parts of a node have in common; notes a clash of those that are known."""
        known = [(each, found) for each in parts if (found := self.of(each)) is not None]
        for each, found in known[1:]:
            first, own = known[0]
            if found != own:
                one, other = f"{ast.unparse(first)!r} is in {_shown(own)}", f"{ast.unparse(each)!r} in {_shown(found)}"
                self.clashes.append((f"{one} and {other}: they cannot be added or compared", syntax.column(node)))
                return None
        return known[0][1] if len(known) == len(parts) else None

    def _of_call(self, node: ast.expr, called: str, arguments: list[ast.expr]) -> Dimension | None:
        if called in _ALIKE:
            first = _ALIKE[called]
            for argument in arguments[:first]:
                self.of(argument)
            found = self._alike(node, arguments[first:])
            return () if called in _PURE else found
        each = [self.of(argument) for argument in arguments]
        if called in _SAME:
            return each[0]
        if called in ("dot", "cross"):
            return None if None in each else _product(each[0] or (), each[1] or (), 1.0)
        if called == "sqrt":
            return None if each[0] is None else tuple((symbol, 0.5 * count) for symbol, count in each[0])
        return () if called in _PURE else None

    def _unit(self, name: str) -> str:
        model = self._model
        if (named := model.parameters.get(name) or model.states.get(name)) is not None:
            return str(named.unit)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if (sensor := sensor_in(name, model.shown)) is not None:
            return self._of_sensor(sensor)
        joint, _, coordinate = coordinate_in(name)[0].partition(".")
        if joint in model.joints and coordinate in model.joints[joint].coordinates:
            return self._of_coordinate(coordinate, coordinate_in(name)[1])
        return ""

    def _of_sensor(self, name: str) -> str:
        owner, _, part = name.partition(".")
        spec: Any = self._model.sensors[owner]
        order = getattr(spec, "derivative", 0)
        if spec.type == "reaction":
            return _PARTS.get(part, "")
        if spec.type == "expression":
            return str(spec.unit)
        if spec.type == "coordinate":
            joint, _, coordinate = spec.coordinate.partition(".")
            known = joint in self._model.joints and (("joints", joint) not in self._model.derived.made)
            return self._of_coordinate(coordinate, order) if known else ""
        known = spec.type in UNITS and spec.type not in _OF_OTHERS
        return UNITS[spec.type] + _RATES[order] if known else ""

    @staticmethod
    def _of_coordinate(coordinate: str, order: int) -> str:
        if coordinate.startswith("e"):
            return ""
        return ("rad" if coordinate.startswith("angle") else "m") + _RATES[order]
