"""Sets of nodes: by coordinates, by name of a group, or the node nearest to a place; and what weight nodes have."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.cells import CELLS, tabulated
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.refusal import Refused

CLOSE = 1e-6  # of the mesh's extent: coordinates this close are the same


class Selection(NamedTuple):
    """Which nodes a set has: ranges by axis (0, 1, 2), a group's name, or the node nearest to a place."""

    ranges: Mapping[int, tuple[float, float]] = {}
    group: str | None = None
    nearest: tuple[float, ...] | None = None


def nodes_of(mesh: Mesh, selection: Selection, place: tuple[str | int, ...]) -> Array:
    """Nodes of a set, in order; raise Refused where there are none."""
    points = mesh.points.real
    if selection.nearest is not None:
        return np.array([np.argmin(((points - np.array(selection.nearest)) ** 2).sum(1))])
    if selection.group is not None:
        if selection.group not in mesh.groups:
            known = ", ".join(mesh.groups) or "none"
            raise Refused((*place, "group"), f"the mesh has no group {selection.group!r}", f"its groups: {known}")
        return np.unique(mesh.groups[selection.group])
    inside = np.ones(len(points), bool)
    for axis, (low, high) in selection.ranges.items():
        margin = CLOSE * mesh.extent
        inside &= (points[:, axis] >= low - margin) & (points[:, axis] <= high + margin)
    if not inside.any():
        low, high = points.min(0), points.max(0)
        span = ", ".join(f"{'xyz'[a]} {low[a]:g} to {high[a]:g}" for a in range(3))
        raise Refused(place, "no node of the mesh lies there", f"it spans {span} m")
    return np.flatnonzero(inside)


def weights_of(mesh: Mesh, nodes: Array) -> Array:
    """Weights of a set's nodes, sum 1: lengths or areas of the sides that they make up; equal where they make none."""
    if mesh.kind not in CELLS:
        return np.full(len(nodes), 1 / len(nodes))
    weights = np.zeros(len(mesh.points), mesh.points.dtype)
    cell, chosen = CELLS[mesh.kind], np.zeros(len(mesh.points), bool)
    chosen[nodes] = True
    touching = mesh.cells[chosen[mesh.cells].any(1)]
    for face in cell.faces:
        sides = touching[:, face]
        sides = sides[chosen[sides].all(1)]
        np.add.at(weights, sides, _side_integrals(mesh.points[sides], cell.face_kind))
    found = weights[nodes]
    total = found.sum()
    return found / total if total else np.full(len(nodes), 1 / len(nodes))


def _side_integrals(corners: Array, kind: str) -> Array:
    """Integrals of the shape functions over sides (s, nodes) with these corners (s, nodes, 3)."""
    shape, gradient, weights = tabulated(kind)
    tangents = np.einsum("sia,gir->sgar", corners, gradient)
    if tangents.shape[-1] == 1:
        size = np.sqrt((tangents[..., 0] ** 2).sum(-1))
    else:
        size = np.sqrt((np.cross(tangents[..., 0], tangents[..., 1]) ** 2).sum(-1))
    return np.einsum("gi,sg,g->si", shape, size, weights)
