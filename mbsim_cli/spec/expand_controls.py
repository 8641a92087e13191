"""From controls to laws through values at equal distances, which are parameters."""

import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticCustomError

from mbsim_cli.spec.controls import Control
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.laws import Constant, Harmonic, Polynomial, SmoothStep, Spline, Sum
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.quantities import Parameter

_TIME = re.compile(r"\bt\b")


def add_values(model: ModelFile) -> dict[str, list[str]]:
    """Add the values of all controls to the parameters of a model, before anything is replaced or judged.

    Returns what is wrong with controls, by their names. Lists of parameters that name a control name its values.
    """
    wrong: dict[str, list[str]] = {}
    values = {name: control.parameters(name) for name, control in model.controls.items()}
    for name, control in model.controls.items():
        taken = [made for made in values[name] if made in model.parameters or made in model.constants]
        if name in model.laws:
            wrong[name] = [f"{name!r} is also a law; give one of them another name"]
        elif taken:
            wrong[name] = [f"its values are parameters, of which {taken[0]!r} exists; give the control another name"]
        else:
            wrong[name] = _add(model, name, control)
    for given in model.optimization.values():
        if isinstance(given.variables, list):
            given.variables[:] = [each for stated in given.variables for each in values.get(stated, [stated])]
        elif isinstance(given.variables, dict):
            for name in values.keys() & given.variables.keys():
                span = given.variables.pop(name)
                given.variables.update(dict.fromkeys(values[name], span))
    asked = model.analysis.sensitivity.parameters
    if isinstance(asked, list):
        asked[:] = [each for stated in asked for each in values.get(stated, [stated])]
    model.__dict__.pop("expressions", None)
    return wrong


def _add(model: ModelFile, name: str, control: Control) -> list[str]:
    """Add law and parameters of a control; return what is wrong with it."""
    duration = getattr(model.analysis, "duration", None)
    if duration is None:
        return [f"an analysis of type {model.analysis.type} has no duration; forward dynamics has one"]
    times = [_part_of(duration, k, control.intervals) for k in range(control.count)]
    try:
        starts = list(_starts(model, control, times))
    except ValueError as error:
        return [str(error)]
    made = control.parameters(name)
    for k, (key, start) in enumerate(zip(made, starts, strict=True)):
        model.parameters[key] = Parameter.model_construct(value=start, unit=control.unit, bounds=control.bounds)
        model._made.add(("parameters", key))
        listed = isinstance(control.initial, list)
        model.source.stands_at[("parameters", key, "value")] = ("controls", name, "initial", *((k,) if listed else ()))
        model.source.stands_at[("parameters", key, "bounds")] = ("controls", name, "bounds")
        model.source.stands_at[("parameters", key)] = ("controls", name)
    model.laws[name] = Spline.model_construct(
        type="spline", x=None, times=times, values=[Number(key) for key in made], extrapolate="hold",
        between=control.between,
    )  # fmt: skip
    model._made.add(("laws", name))
    model.source.stands_at[("laws", name)] = ("controls", name)
    return []


def expand_controls(review: Review, wrong: dict[str, list[str]]) -> None:
    """Give forces their controls, and report what is wrong with these."""
    model = review.model
    for name, control in model.controls.items():
        path = ("controls", name)
        for message in wrong.get(name, ()):
            sentence, _, hint = message.partition("; ")
            review.report(path, sentence, hint or None, key=True)
        if control.force is None or wrong.get(name):
            continue
        if not review.known((*path, "force"), control.force, "forces", "force") or control.force not in model.forces:
            continue
        force = model.forces[control.force]
        if "law" not in type(force).model_fields or force.type == "contact":
            hint = "drive, spring_damper, rotational_spring_damper, force and torque have one"
            review.report((*path, "force"), f"a force of type {force.type} takes no law of time", hint)
        elif getattr(force, "law", None) is not None:
            review.report((*path, "force"), f"{control.force!r} has a law already", "leave one of them out")
        else:
            model.forces[control.force] = force.model_copy(update={"law": name})


def _part_of(duration: Number, k: int, intervals: int) -> Number:
    """Time at the end of k of so many equal intervals."""
    if duration.literal is not None:
        return Number(duration.literal * k / intervals)
    return Number(f"({duration.text.strip()})*{k}/{intervals}")


def _starts(model: ModelFile, control: Control, times: list[Number]) -> Iterator[Number]:
    """Initial values; raises ValueError with a sentence."""
    given = control.initial
    if isinstance(given, list):
        if len(given) != control.count:
            raise ValueError(f"{len(given)} initial values stand for {control.count}; {_count_of(control)}")
        yield from given
        return
    if isinstance(given, Number):
        yield from [given] * control.count
        return
    text = _formula(model, given.strip()) if given.strip() in model.laws else given
    for time in times:
        try:
            yield Number.read(_TIME.sub(f"({time.text})", text))
        except PydanticCustomError as error:
            raise ValueError(f"initial {given!r}: {error.message()}") from None


def _count_of(control: Control) -> str:
    lines = control.between == "linear"
    return f"{control.intervals} intervals have {control.intervals + lines} values" + " with both ends" * lines


def _formula(model: ModelFile, name: str) -> str:
    """A law as an expression of t; raises ValueError for tables and laws in windows."""
    law: Any = model.laws[name]

    def of(number: Number | None) -> str:
        return f"({number.text.strip()})" if number is not None else ""

    match law:
        case Constant():
            return of(law.value)
        case Polynomial():
            return " + ".join(f"{of(c)}*t**{k}" for k, c in enumerate(law.coefficients))
        case Harmonic():
            angular = of(law.angular_frequency) if law.frequency is None else f"2*pi*{of(law.frequency)}"
            return f"{of(law.offset)} + {of(law.amplitude)}*sin({angular}*t + {of(law.phase)})**{law.power}"
        case SmoothStep():
            return f"step5(t, {of(law.start)}, {of(law.from_)}, {of(law.end)}, {of(law.to)})"
        case Sum() if all(isinstance(part, str) for part in law.laws):
            return " + ".join(f"({_formula(model, part)})" for part in law.laws)
    raise ValueError(f"a law of type {law.type} cannot be where a control begins; write an expression of t, or a list")
