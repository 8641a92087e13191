"""A flexible body whose standard input data a file brings: what the model chooses of them, and where it moves them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import STEP, Numbers
from mbsim_cli.assembly.tree.elastic import Supplied
from mbsim_cli.assembly.tree.flexible import damping_of, file_at
from mbsim_cli.errors import InputOutputError, ModelError, UsageError
from mbsim_cli.reduction.damping import Damping
from mbsim_cli.reduction.data import StandardInput, Taylor, combined, real_part, selected, tangent
from mbsim_cli.reduction.soundness import faults
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.study.bodies import UNITS, read_body


def supplied_by_file(model_file: Any, name: str, numbers: Numbers) -> Supplied:
    """Data of a body as the file has them, moved along its design variables, with the damping that the model states."""
    spec, place = model_file.bodies[name].flexible, f"bodies.{name}.flexible"
    given = _chosen(model_file, spec, place)
    _require_designs(model_file, spec, place, given)

    def current() -> StandardInput:
        return _damped(_moved(given, {key: numbers(change) for key, change in spec.design.items()}), spec, numbers)

    sid = replace(real_part(current()), design=_left(given, spec, numbers))
    _require_sound(model_file, place, sid)
    directions = tuple(given.design[key] for key in spec.design)
    return Supplied(sid, lambda: tangent(current(), STEP), directions=directions)


def _chosen(model_file: Any, spec: Any, place: str) -> StandardInput:
    """The file's data, of the modes that are kept."""
    try:
        sid = read_body(file_at(model_file, f"{place}.sid", spec.sid), UNITS[spec.length_unit])
    except UsageError as error:
        raise ModelError([model_file.issue(f"{place}.length_unit", str(error))]) from error
    except InputOutputError as error:
        raise ModelError([model_file.issue(f"{place}.sid", str(error))]) from error
    if spec.modes is None:
        return sid
    if max(spec.modes) > sid.n:
        message = f"mode {max(spec.modes)} is asked for, of a file that has {sid.n}"
        raise ModelError([model_file.issue(f"{place}.modes", message)])
    return selected(sid, [mode - 1 for mode in spec.modes])


def _require_designs(model_file: Any, spec: Any, place: str, given: StandardInput) -> None:
    if unknown := [key for key in spec.design if key not in given.design]:
        hint = suggest(unknown[0], given.design) or "mbsim reduce writes derivatives by the parameters of a model"
        message = f"the file has no derivatives by {unknown[0]!r}"
        raise ModelError([model_file.issue(f"{place}.design.{unknown[0]}", message, hint)])


def _moved(given: StandardInput, changes: Mapping[str, Any]) -> StandardInput:
    """The data where design variables are elsewhere: linear, as their derivatives are all that is known."""
    sid = given
    for key, change in changes.items():
        sid = combined(sid, given.design[key], change)
    far = [f"design variable {key!r} is {c.real:g} from where the data were made; they go linearly with it"
           for key, c in changes.items() if c.real]  # fmt: skip
    return replace(sid, warnings=(*given.warnings, *far))


def _damped(sid: StandardInput, spec: Any, numbers: Numbers) -> StandardInput:
    if spec.damping is None:
        return sid
    return replace(sid, De=Taylor(damping_of(spec.damping, numbers).matrix(sid.Me.M0, sid.Ke.M0)))


def _left(given: StandardInput, spec: Any, numbers: Numbers) -> dict[str, StandardInput]:
    """Derivatives by design variables that no number of the model moves; of De where the damping takes its place."""
    left = {key: along for key, along in given.design.items() if key not in spec.design}
    if spec.damping is None:
        return left
    at = _moved(given, {key: np.real(numbers(change)) for key, change in spec.design.items()})
    real = Damping(*map(np.real, damping_of(spec.damping, numbers)))

    def redamped(along: StandardInput) -> StandardInput:
        De = real.matrix(at.Me.M0 + 1j * STEP * along.Me.M0, at.Ke.M0 + 1j * STEP * along.Ke.M0)
        return replace(along, De=Taylor(np.imag(De) / STEP))

    return {key: redamped(along) for key, along in left.items()}


def _require_sound(model_file: Any, place: str, sid: StandardInput) -> None:
    """What the file's data were refused for when they were read, they may become."""
    for _, message in faults(sid):
        raise ModelError([model_file.issue(f"{place}.design", f"too far from where the data were made: {message}")])
