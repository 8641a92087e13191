"""Fields of a model file on the elements of a mesh: by an expression of their centres, or from a file."""

from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.errors import InputOutputError, ModelError
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.spec.expressions.compiling import compiled
from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse

PLACES = ("x", "y", "z")


def field_values(model_file: Any, name: str, mesh: Mesh, numbers: Numbers, read: Any) -> np.ndarray:
    """Numbers of a field (ne), before any filter; raise ModelError where one is not finite or out of bounds."""
    given = model_file.fields[name]
    if name in model_file._field_values:
        p = np.asarray(model_file._field_values[name], dtype=float)
    elif given.value is None:
        p = _from_file(model_file, name, len(mesh.cells), read)
    else:
        p = _by_expression(model_file, name, mesh, numbers)
    if given.bounds is not None:
        _require_within(model_file, name, np.real(p), [float(np.real(bound)) for bound in numbers.vector(given.bounds)])
    return p


def _by_expression(model_file: Any, name: str, mesh: Mesh, numbers: Numbers) -> np.ndarray:
    tree = parse(model_file.fields[name].value)
    used = tuple(names(tree))
    values = {key: numbers(Number(key)) for key in used if key not in PLACES}
    centres = mesh.centres
    places = dict(zip(PLACES, centres.T, strict=True))
    p = compiled(tree, dict.fromkeys(used, 1)).value([places[key] if key in places else values[key] for key in used])
    p = np.broadcast_to(p, len(centres))
    if np.isfinite(p).all():
        return np.array(p)
    element = int(np.argmin(np.isfinite(p)))
    message = "its value is too large"
    try:
        evaluate(tree, values | dict(zip(PLACES, centres[element].tolist(), strict=True)))
    except ExpressionError as error:
        message = error.message
    raise ModelError([model_file.issue(f"fields.{name}.value", f"{message}, at the centre of element {element}")])


def _from_file(model_file: Any, name: str, count: int, read: Any) -> np.ndarray:
    given, place = model_file.fields[name], f"fields.{name}.file"
    path = Path(model_file.source.locate(place)[0]).parent / given.file
    dataset = given.dataset or name
    try:
        p = read.numbers(path, dataset)
    except InputOutputError as error:
        raise ModelError([model_file.issue(place, str(error))]) from error
    if p.shape != (count,):
        shape = " x ".join(map(str, p.shape)) or "one number"
        message = f"{path} has {shape} under {dataset}, not a number for each of {count} elements"
        raise ModelError([model_file.issue(place, message)])
    if not np.isfinite(p).all():
        element = int(np.argmin(np.isfinite(p)))
        raise ModelError([model_file.issue(place, f"{path} has no finite number for element {element}")])
    return p


def _require_within(model_file: Any, name: str, p: np.ndarray, bounds: list[float]) -> None:
    low, high = bounds
    if (outside := (p < low) | (p > high)).any():
        element = int(np.argmax(outside))
        message = f"the number of element {element} is {p[element]:g}, outside the bounds {low:g} and {high:g}"
        raise ModelError([model_file.issue(f"fields.{name}", message)])
