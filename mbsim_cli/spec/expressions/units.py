"""Units that stand in a model: products, quotients and powers of SI symbols, as in ``N m/rad`` or ``kg m^2/s``."""

import re
from functools import cache
from math import pi
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from mbsim_cli.spec.reading.messages import nearest

BASE = ("1", "m", "kg", "s", "A", "K", "mol", "cd", "rad", "sr")
DERIVED = ("Hz", "N", "Pa", "J", "W", "C", "V", "F", "ohm", "S", "Wb", "T", "H", "lm", "lx", "Bq", "Gy", "Sv", "kat")
SI = frozenset(BASE + DERIVED)  # coherent: factors between them are one
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "h": 1e2, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}
_PREFIXED = ("m", "s", "N", "Pa", "J", "W", "Hz", "A", "V", "rad")
# what else people write: the SI unit, and how many of it one is
_OTHERS = {
    "g": ("kg", 1e-3),
    "t": ("kg", 1e3),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "deg": ("rad", pi / 180),
    "°": ("rad", pi / 180),
    "rpm": ("rad/s", pi / 30),
    "bar": ("Pa", 1e5),
    "l": ("m^3", 1e-3),
    "%": ("1", 1e-2),
    "in": ("m", 0.0254),
    "ft": ("m", 0.3048),
    "lb": ("kg", 0.45359237),
} | {f"{p}{unit}": (unit, factor) for unit in _PREFIXED for p, factor in _PREFIXES.items()}
_WORDS = {
    **dict.fromkeys(("meter", "meters", "metre", "metres"), "m"),
    **dict.fromkeys(("kilogram", "kilograms", "kilo"), "kg"),
    **dict.fromkeys(("second", "seconds", "sec"), "s"),
    **dict.fromkeys(("radian", "radians"), "rad"),
    **dict.fromkeys(("degree", "degrees"), "deg"),
    **dict.fromkeys(("newton", "newtons"), "N"),
    **dict.fromkeys(("joule", "joules"), "J"),
    **dict.fromkeys(("watt", "watts"), "W"),
    "hertz": "Hz",
    **dict.fromkeys(("pascal", "pascals"), "Pa"),
    **dict.fromkeys(("-", "none", "dimensionless", "percent"), "1"),
}
_TOKEN = re.compile(r"\s*(?:([A-Za-zµ°%]+|1)((?:\^|\*\*)-?\d+(?:\.\d+|/\d+)?)?|(\*\*|[*·/()]))")
_EXAMPLES = "units are products, quotients and powers of SI symbols, as in N m/rad or kg m^2/s"


class Fault(NamedTuple):
    """What is wrong with a unit, and what would be right."""

    message: str
    hint: str


class Quantity(NamedTuple):
    """A number with a unit behind it, as a text may hold it."""

    number: str
    unit: str
    offset: int  # of the unit


@cache
def fault_of(unit: str, coherent: bool = True) -> Fault | None:
    """What is wrong with a unit; ``coherent`` ones have no factors, so that values of them are SI."""
    symbols = _symbols(unit)
    if symbols is None:
        return Fault(f"{unit!r} is not a unit", _EXAMPLES)
    for symbol in symbols:
        if symbol in SI:
            continue
        if symbol not in _OTHERS:
            return Fault(f"unknown unit {symbol!r}", _meant(symbol) or _EXAMPLES)
        if coherent:
            si, factor = _OTHERS[symbol]
            return Fault(f"numbers stand in SI units, and {symbol!r} is {factor:.6g} {si}", f"state the value in {si}")
    return None


def has_angle(unit: str) -> bool:
    """Whether numbers of a unit may be counted in degrees: angles, and plain numbers such as sines of them."""
    return not {"rad", "deg", "1"}.isdisjoint(_symbols(unit) or ("1",))


def quantity(text: str) -> Quantity | None:
    """The number and the unit that a text consists of, or None."""
    match = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ°%].*?)\s*", text)
    if match is None or match[2] == "deg" or fault_of(match[2], coherent=False):
        return None
    return Quantity(match[1], match[2], match.start(2))


def instead_of(found: Quantity) -> str:
    """What to write instead of a number with a unit."""
    if found.unit == "°":
        return f"write {found.number} deg"
    if found.unit.split("/")[0] == "deg" and fault_of(found.unit.removeprefix("deg/")) is None:
        return f"write {found.number} deg"
    if fault_of(found.unit) is None:
        return f"write {found.number}; the unit is {found.unit}"
    if found.unit == "%":
        return f"write {float(found.number) / 100:.12g}"
    if found.unit in _OTHERS:
        si, factor = _OTHERS[found.unit]
        return f"write {float(found.number) * factor:.12g}; the unit is {si}"
    return "write the number alone, in SI units"


Dimension = tuple[tuple[str, float], ...]  # powers of base units, sorted; angles are plain ratios
_BASED: dict[str, dict[str, float]] = {
    "Hz": {"s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "C": {"A": 1, "s": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "F": {"kg": -1, "m": -2, "s": 4, "A": 2},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
    **{symbol: {symbol: 1} for symbol in ("m", "kg", "s", "A", "K", "mol", "cd")},
    **{symbol: {} for symbol in ("1", "rad", "sr")},
}


def dimension_of(unit: str) -> Dimension | None:
    """Powers of base units; None where a unit is not known, or read in more than one way (``a/b c``)."""
    found: dict[str, float] = {}
    sides = unit.replace("·", " ").replace("*", " ").replace("^", "").split("/") if "**" not in unit else []
    behind = [side.strip().removeprefix("(").removesuffix(")") for side in sides[1:]]
    if not sides or any("(" in part or ")" in part for part in (sides[0], *behind)):
        return None
    if any(" " in side.strip() and not side.strip().startswith("(") for side in sides[1:]):
        return None
    for part, sign in ((sides[0], 1.0), *((part, -1.0) for part in behind)):
        for token in part.split():
            match = re.fullmatch(r"([A-Za-z]+|1)(-?\d+(?:\.\d+)?)?", token)
            if match is None or match[1] not in _BASED:
                return None
            for symbol, power in _BASED[match[1]].items():
                found[symbol] = found.get(symbol, 0.0) + sign * power * float(match[2] or 1)
    return tuple(sorted((symbol, power) for symbol, power in found.items() if power))


def _symbols(unit: str) -> list[str] | None:
    """Symbols of a unit; None where it is not one."""
    found, place, depth, open_ended = [], 0, 0, True
    while place < len(unit.rstrip()):
        match = _TOKEN.match(unit, place)
        if match is None or match[3] == "**":
            return None
        if match[1]:
            found.append(match[1])
            open_ended = False
        elif match[3] == "(":
            depth, open_ended = depth + 1, True
        elif match[3] == ")":
            depth -= 1
            if depth < 0 or open_ended:
                return None
        elif open_ended:
            return None
        else:
            open_ended = True
        place = match.end()
    return None if open_ended or depth else found


def _meant(symbol: str) -> str | None:
    known = {*SI, *_OTHERS}
    for cut in range(1, len(symbol)):
        if {symbol[:cut], symbol[cut:]} <= SI:
            return f"write {symbol[:cut]} {symbol[cut:]}"
    word = _WORDS.get(symbol.lower())
    match = word or nearest(symbol, known if len(symbol) < 5 else _WORDS)
    return f"did you mean {_WORDS.get(match, match)!r}?" if match else None


def _check(unit: str, coherent: bool) -> str:
    fault = fault_of(str(unit), coherent) if unit else None
    if fault is not None:
        raise PydanticCustomError("expression", "{text}", {"text": fault.message, "offset": None, "hint": fault.hint})
    return unit


def _one(value: object) -> object:
    # the unit of plain numbers is one in YAML too
    return "1" if type(value) is int and value == 1 else value


Unit = Annotated[str, AfterValidator(lambda unit: _check(unit, coherent=True)), BeforeValidator(_one)]
Label = Annotated[str, AfterValidator(lambda unit: _check(unit, coherent=False)), BeforeValidator(_one)]
