"""Flexible bodies of a model to standard input data, with derivatives by the parameters that they depend on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import STEP, Numbers
from mbsim_cli.assembly.tree.elastic import Supplied
from mbsim_cli.assembly.tree.flexible import FlexibleBodies, file_at, placed
from mbsim_cli.errors import InputOutputError, ModelError, UsageError
from mbsim_cli.io.tables import read_numbers, read_table
from mbsim_cli.reduction.data import StandardInput, combined, tangent
from mbsim_cli.reduction.identities import warnings_of
from mbsim_cli.reduction.matrices import read_matrix
from mbsim_cli.reduction.mesh_files import read_mesh
from mbsim_cli.reduction.reduce import derivative, reduced
from mbsim_cli.reduction.refusal import Refused
from mbsim_cli.reduction.shaped_mesh import ShapedMesh, shaped_mesh
from mbsim_cli.reduction.soundness import faults
from mbsim_cli.spec.descriptions import descriptions_of
from mbsim_cli.spec.flexible import FlexibleFile, FlexibleTerms
from mbsim_cli.spec.reading.source import join
from mbsim_cli.study.supplying import supplied_by_file


def flexible_bodies(model_file: Any) -> list[str]:
    """Names of the bodies that deform."""
    return [name for name, body in model_file.bodies.items() if body.flexible is not None]


def files_of(model_file: Any) -> list[Path]:
    """Files that the flexible bodies and their fields come from."""
    fields = model_file.fields.items()
    found = [file_at(model_file, f"fields.{name}.file", given.file) for name, given in fields if given.file is not None]
    for name in flexible_bodies(model_file):
        spec, place = model_file.bodies[name].flexible, f"bodies.{name}.flexible"
        mesh = getattr(spec, "mesh", None)
        for holder, below in ((spec, ""), (mesh, ".mesh")):
            for key in ("sid", "file", "stiffness", "mass", "nodes"):
                if isinstance(value := getattr(holder, key, None), str):
                    found.append(file_at(model_file, f"{place}{below}.{key}", value))
    return found


def descriptions(model_file: Any) -> dict[str, str]:
    """Free texts of the file by what they describe."""
    return {join(path): text for path, text in descriptions_of(model_file)}


def chosen_body(model_file: Any, name: str | None) -> str:
    """The body that is asked for, or the only one that deforms; raise UsageError."""
    known = flexible_bodies(model_file)
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        asked = "name a body" if name is None else f"no flexible body {name!r}"
        raise UsageError(f"{asked}: the model has {', '.join(known) or 'none that is flexible'}")
    return name


def comment_of(model_file: Any, name: str) -> str:
    """What standard input data say that they are of."""
    model = " ".join(model_file.name.split())
    return f"{name} of {model}" if model else name


def standard_input(model_file: Any, name: str, numbers: Numbers) -> Supplied:
    """Standard input data of a body, and what gives their derivatives."""
    kinds: dict[Any, Any] = {FlexibleFile: supplied_by_file, FlexibleTerms: _by_number}
    return kinds.get(type(model_file.bodies[name].flexible), _meshed)(model_file, name, numbers)


def reduce_with_mesh(model_file: Any, name: str, derivatives: bool) -> tuple[StandardInput, ShapedMesh | None]:
    """Standard input data of a body, and the mesh with its shapes where it has one.

    With ``derivatives``, those by the file's parameters that change it.
    """
    numbers = Numbers(model_file.expressions)
    sid, along, _, mesh, *_ = standard_input(model_file, name, numbers)
    if not derivatives:
        return replace(sid, design={}), mesh()
    design: dict[str, StandardInput] = dict(sid.design)
    for parameter in model_file.parameters:
        if numbers.step_along(parameter):
            found = along()
            label = model_file.parameter_label(parameter)
            design[label] = combined(design[label], found) if label in design else found
    numbers.step_along(None)
    return replace(sid, design=design), mesh()


def _meshed(model_file: Any, name: str, numbers: Numbers) -> Supplied:
    bodies = FlexibleBodies(model_file, numbers, _Files())
    found = placed(model_file, name, lambda: reduced(bodies.body(name)))
    return Supplied(
        replace(found.sid, comment=comment_of(model_file, name)),
        lambda: placed(model_file, name, lambda: derivative(found, bodies.body(name), STEP)),
        lambda covector: placed(model_file, name, lambda: bodies.by_field(name, found, covector)),
        lambda: shaped_mesh(found, bodies.drawn(name, found.body.structure.mesh)),
        lambda: bodies.share(name, found),
        modal=True,
    )


def _by_number(model_file: Any, name: str, numbers: Numbers) -> Supplied:
    bodies = FlexibleBodies(model_file, numbers, _Files())
    sid = bodies.by_number(name)
    for term, message in faults(sid):
        raise ModelError([model_file.issue(f"bodies.{name}.flexible.terms.{term}", message)])
    sid = replace(sid, comment=comment_of(model_file, name), warnings=tuple(warnings_of(sid)))
    return Supplied(sid, lambda: tangent(bodies.by_number(name), STEP))


class _Files:
    """Reads the files that a body names."""

    def mesh(self, path: Path) -> Any:
        """A mesh file."""
        with _at("file"):
            return read_mesh(path)

    def matrix(self, path: Path, labels: np.ndarray, key: str) -> Any:
        """A matrix."""
        with _at(key):
            return read_matrix(path, labels)

    def nodes(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Labels (N) and places (N, 3) of nodes."""
        with _at("nodes"):
            table = read_table(path)
            if missing := [name for name in ("node", "x", "y", "z") if name not in table]:
                raise InputOutputError(f"{path} has no column {missing[0]}")
            return table["node"].astype(int), np.stack([table[axis] for axis in "xyz"], 1)

    def numbers(self, path: Path, dataset: str) -> np.ndarray:
        """Numbers (n) of a dataset."""
        return read_numbers(path, dataset)


@contextmanager
def _at(key: str) -> Iterator[None]:
    try:
        yield
    except InputOutputError as error:
        raise Refused(("mesh", key), str(error)) from error
