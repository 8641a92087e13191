"""Density fields: the numbers of theta that depend on them, and the chain rule from derivatives by these numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.assembly.tree.elastic import ElasticBody, ShapeRow
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.errors import ModelError
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import block_size, deviation_size
from mbsim_cli.spec.model_file import ModelFile

if TYPE_CHECKING:
    from mbsim_cli.reduction.data import StandardInput


@dataclass(frozen=True)
class DensityField:
    """A field, the body whose densities it gives, and the numbers of theta that the body's data fill."""

    name: str
    body: ElasticBody
    first: np.ndarray  # those of the first block
    second: np.ndarray  # of the second block, empty without one
    rows: Sequence[ShapeRow]

    @property
    def numbers(self) -> np.ndarray:
        """Indices in theta, row by row."""
        n = self.body.n
        rows = (row.first + np.arange(n) for row in self.rows)
        return np.concatenate([self.first, self.second, *rows, *(row.second + np.arange(n * n) for row in self._bent)])

    @property
    def _bent(self) -> list[ShapeRow]:
        return [row for row in self.rows if row.second != NONE]

    def pull_back(self, hat: np.ndarray) -> np.ndarray:
        """Derivatives by the field's elements (ne,) from those by ``numbers``."""
        from mbsim_cli.reduction.data import sid_of

        n, count = self.body.n, len(self.rows)
        ends = np.cumsum([self.first.size, self.second.size, *[n] * count, *[n * n] * len(self._bent)])
        first, second, *rows = np.split(hat, ends[:-1])
        found = sid_of(self.body.sid, first, second if second.size else None)  # adjoint of all terms, and of the shapes
        for row, given in zip(self.rows, rows[:count], strict=True):
            _term(found, row).M0[:, row.row % 3] += row.sign * given
        for row, given in zip(self._bent, rows[count:], strict=True):
            by_pairs = given.reshape(n, n)
            _term(found, row).M1[:, :, row.row % 3] += row.sign * (by_pairs + by_pairs.T) / 2
        return self.body.by_density(found)


def _term(sid: "StandardInput", row: ShapeRow) -> Any:
    return getattr(sid.nodes[row.node], "phi" if row.row < 3 else "psi")


def field_gradients(fields: Sequence[DensityField], hat: np.ndarray) -> dict[str, np.ndarray]:
    """Derivatives (ne,) by the elements of every field, from those (w,) by the numbers that depend on it."""
    found: dict[str, np.ndarray] = {}
    ends = np.cumsum([field.numbers.size for field in fields])
    for field, part in zip(fields, np.split(hat, ends[:-1]), strict=True):
        found[field.name] = field.pull_back(part) + found.get(field.name, 0.0)
    return found


def density_fields(system: System, tree: Any, method: str) -> list[DensityField]:
    """The fields whose gradients are computed, by the adjoint only."""
    wanted = system.model_file.analysis.sensitivity.fields if method == "adjoint" else []
    found = []
    for f, body in enumerate(system.elastic):
        density = getattr(body.spec, "density", None)
        if density is not None and density.name in wanted:
            first = tree.block[f] + np.arange(block_size(body.n))
            second = tree.deviation[f] + np.arange(deviation_size(body.n) if tree.deviation[f] != NONE else 0)
            rows = [row for row in system.shape_rows if row.body is body]
            found.append(DensityField(density.name, body, first, second, rows))
    _require_equal_meshes(system.model_file, found)
    return found


def _require_equal_meshes(model_file: ModelFile, fields: Sequence[DensityField]) -> None:
    """Raise ModelError where a field whose gradient is wanted gives densities of meshes with other elements."""
    for index, name in enumerate(model_file.analysis.sensitivity.fields):
        users = [field.body for field in fields if field.name == name]
        if len(users) < 2:
            continue
        sizes = {body.name: len(mesh.cells) for body in users if (mesh := body.mesh()) is not None}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{count} of {body!r}" for body, count in sizes.items())
            message = f"field {name!r} gives the densities of bodies with different numbers of elements: {counts}"
            place = f"analysis.sensitivity.fields.{index}"
            raise ModelError([model_file.issue(place, message, "give each body a field of its own")])
