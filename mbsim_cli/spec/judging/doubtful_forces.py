"""Doubts about numbers of forces: signs that no passive element has, elements that exert nothing, lengths not read.

Laws and tables say what they say on purpose. What no tyre, stop or drag can be is refused (``rules.vehicles``), and so
is an element that states nothing to exert (``rules.forces``).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.forces import ADDED_LAWS, SOURCES
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path

_NEGATIVE = {
    "stiffness": "it pushes away from the state without force",
    "damping": "it feeds energy in",
    "natural_length": "no length is, so that the element pulls at every length",
}
_OF_POINTS = ("natural_length",)  # a coordinate may be less than zero
_FACTORS = {"anti_roll_bar": ("ratios",), "drag": ("density", "area", "coefficient")}  # of all that they exert
_NATURAL = ("natural_length", "natural_angle")


class Doubt(NamedTuple):
    """What is said of a place, as ``Source.issue`` takes it."""

    path: Path
    message: str
    hint: str


def doubtful_forces(model: ModelFile, *, moved: bool = False) -> Iterator[Doubt]:
    """Doubts about forces; of a model that is ``moved`` to other values of parameters those that the values cause."""
    values = model.expressions
    for name, force in model.forces.items():
        path = ("forces", name)
        for key, why in _NEGATIVE.items():
            if key in _OF_POINTS and getattr(force, "points", None) is None:
                continue
            for number in _entries(force, key):
                judged = not moved or number.literal is None
                if judged and (value := values.value(number).real) < 0:
                    yield Doubt((*path, key), f"is negative: {value:g}", why)
        if not moved:
            yield from _idle(path, force)
            yield from _unread(path, force)


def _idle(path: Path, force: Any) -> Iterator[Doubt]:
    """That an element exerts nothing, however it moves; a zero that parameters make may be where a study begins."""
    sources, factors = SOURCES.get(force.type, ()), _FACTORS.get(force.type, ())
    if any(getattr(force, key, None) is not None for key in ADDED_LAWS.get(force.type, ())):
        return
    zeros = {key for key in (*sources, *factors) if all(n.literal == 0.0 for n in _entries(force, key))}
    if zeros and (not zeros.isdisjoint(factors) or zeros.issuperset(sources)):
        shown = [key for key in (*factors, *sources) if key in zeros and key in force.model_fields_set]
        yield Doubt(path, f"exerts nothing with zero {' and '.join(shown)}", "leave it out")


def _unread(path: Path, force: Any) -> Iterator[Doubt]:
    """Natural lengths and angles that nothing counts from."""
    given = force.model_fields_set
    for key in _NATURAL:
        if key in given and given.isdisjoint(("stiffness", "elongation_law")):
            yield Doubt((*path, key), "nothing reads it", "it belongs to a stiffness or an elongation_law")


def _entries(force: Any, key: str) -> list[Number]:
    found = getattr(force, key, None)
    if isinstance(found, list):
        return [number for entry in found for number in (entry if isinstance(entry, list) else [entry])]
    return [found] if isinstance(found, Number) else []
