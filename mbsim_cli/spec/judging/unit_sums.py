"""Units that cannot add up: sums and comparisons in expressions of quantities whose units are known and differ.

Units of sensors, coordinates, states, t, and of parameters that state one are known. Nobody knows that of a plain
number, which may stand for a stiffness, nor of what it multiplies. Angles count as plain ratios.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from mbsim_cli.spec.expressions.number import coordinate_in, sensor_in
from mbsim_cli.spec.expressions.syntax import ExpressionError, column, dotted, function_name, parse, part_of
from mbsim_cli.spec.expressions.units import Dimension, dimension_of
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.reading.source import Source

_UNITS = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s^2",
    "direction": "1",
    "kinetic_energy": "J",
    "potential_energy": "J",
    "strain_energy": "J",
    "velocity_along": "m/s",
    "acceleration_along": "m/s^2",
}
_OF_ORDER = {"distance": "m", "displacement": "m", "angle": "rad", "roll": "rad", "pitch": "rad", "yaw": "rad"}
_RATES = ("", "/s", "/s^2")
_PARTS = {"force": "N", "moment": "N m"}  # of reactions
_ALIKE = {"min": 0, "max": 0, "hypot": 0, "atan2": 0, "if": 1, "clip": 0}  # functions whose arguments, from one on, add
_SAME = ("abs", "norm", "min", "max", "hypot", "clip")  # those that keep the unit
_PURE = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "log10", "sinh", "cosh", "tanh", "sign")


def unit_sums(model: ModelFile) -> Iterator[str]:
    """Sentences on sums of different units in forces, states and sensors; objectives may weigh by one what they add."""
    source: Source = model.source
    for path, text in _texts(model):
        for message, offset in _of_text(model, text)[:1]:
            yield str(source.issue(path, message, "multiply one by what converts it", offset))


def _texts(model: ModelFile) -> Iterator[tuple[Path, str]]:
    for path, number in model.moving:
        if path[:2] not in model._made:
            yield path, number.text
    for name, state in model.states.items():
        if state.rate.literal is None:
            yield ("states", name, "rate"), state.rate.text
    for name, spec in model.sensors.items():
        if spec.type == "expression":
            yield ("sensors", name, "value"), spec.value


def _of_text(model: ModelFile, text: str) -> list[tuple[str, int]]:
    """Sums and comparisons of different units, each with its offset in the text."""
    found = list[tuple[str, int]]()
    try:
        tree = parse(text, vectors=True, motion=True)
    except ExpressionError:
        return found

    def clash(node: ast.expr, a: tuple[str, Dimension], b: tuple[str, Dimension]) -> None:
        message = f"{a[0]!r} is in {_shown(a[1])} and {b[0]!r} in {_shown(b[1])}: they cannot be added or compared"
        found.append((message, column(node)))

    _dimension(tree, _Units(model).of, clash)
    return found


def _shown(dimension: Dimension) -> str:
    parts = [f"{symbol}^{power:g}" if power != 1 else symbol for symbol, power in dimension]
    return " ".join(parts) or "rad or 1"


def _dimension(node: ast.expr, of: Callable[[str], Dimension | None], clash: Callable[..., None]) -> Dimension | None:
    """Dimension of a value or of the entries of a vector; None where it is not known."""
    name = part_of(node) or dotted(node) or (node.id if isinstance(node, ast.Name) else None)
    if name is not None:
        return of(name)

    def of_all(nodes: list[ast.expr]) -> Dimension | None:
        known = [(each, found) for each in nodes if (found := _dimension(each, of, clash)) is not None]
        for each, found in known[1:]:
            if found != known[0][1]:
                clash(node, (ast.unparse(known[0][0]), known[0][1]), (ast.unparse(each), found))
                return None
        return known[0][1] if len(known) == len(nodes) else None

    match node:
        case ast.UnaryOp(operand=operand):
            return _dimension(operand, of, clash)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return of_all([left, right])
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() | float() as power)):
            base = _dimension(left, of, clash)
            return None if base is None else tuple((symbol, count * power) for symbol, count in base if power)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            a, b = _dimension(left, of, clash), _dimension(right, of, clash)
            return None if a is None or b is None else _product(a, b, -1.0 if isinstance(op, ast.Div) else 1.0)
        case ast.Compare(left=left, comparators=[right]):
            of_all([left, right])
            return ()
        case ast.List(elts=entries):
            return of_all(list(entries))
        case ast.Attribute(value=value):
            return _dimension(value, of, clash)
        case ast.Call(func=ast.Name(id=called), args=arguments):
            return _of_call(function_name(called), list(arguments), of, clash, of_all)
    return None


def _of_call(
    called: str, arguments: list[ast.expr], of: Callable[[str], Dimension | None], clash: Callable[..., None],
    of_all: Callable[[list[ast.expr]], Dimension | None],
) -> Dimension | None:  # fmt: skip
    if called in _ALIKE:
        first = _ALIKE[called]
        for argument in arguments[:first]:
            _dimension(argument, of, clash)
        found = of_all(arguments[first:])
        return () if called in _PURE else found
    each = [_dimension(argument, of, clash) for argument in arguments]
    if called in _SAME:
        return each[0]
    if called in ("dot", "cross"):
        return None if None in each else _product(each[0] or (), each[1] or (), 1.0)
    if called == "sqrt":
        return None if each[0] is None else tuple((symbol, 0.5 * count) for symbol, count in each[0])
    return () if called in _PURE else None


def _product(a: Dimension, b: Dimension, sign: float) -> Dimension:
    total = dict(a)
    for symbol, count in b:
        total[symbol] = total.get(symbol, 0.0) + sign * count
    return tuple(sorted((symbol, count) for symbol, count in total.items() if count))


class _Units:
    """Dimensions of names, as expressions of the motion read them."""

    def __init__(self, model: ModelFile) -> None:
        self._model, self._known = model, dict[str, Dimension | None]()

    def of(self, name: str) -> Dimension | None:
        """The dimension of a name; None where it is not known."""
        if name not in self._known:
            unit = self._unit(name)
            self._known[name] = dimension_of(unit) if unit else None
        return self._known[name]

    def _unit(self, name: str) -> str:
        model = self._model
        if name in model.parameters:
            return str(model.parameters[name].unit)
        if name in model.states:
            return str(model.states[name].unit)
        if name in ("pi", "deg"):
            return "1"
        if name == "t":
            return "s"
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
            known = joint in self._model.joints and (("joints", joint) not in self._model._made)
            return self._of_coordinate(coordinate, order) if known else ""
        if spec.type in _OF_ORDER:
            return _OF_ORDER[spec.type] + _RATES[order]
        return _UNITS.get(spec.type, "")

    @staticmethod
    def _of_coordinate(coordinate: str, order: int) -> str:
        if coordinate.startswith("e"):
            return ""
        return ("rad" if coordinate.startswith("angle") else "m") + _RATES[order]
