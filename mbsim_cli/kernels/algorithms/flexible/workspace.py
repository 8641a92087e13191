"""Work arrays of a tree with bodies that deform, in the places of those of ``motion.workspace``."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.motion import workspace
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, Motion, Virtual, touched
from mbsim_cli.kernels.compiler.simd import WIDTH, padded, zeros
from mbsim_cli.kernels.elements.flexible_work import elastic_work
from mbsim_cli.model.layout import NONE, Signals
from mbsim_cli.model.standard_data import block_size, deviation_size


class ColumnEquations(NamedTuple):
    """The equations of motion in columns."""

    G: np.ndarray  # (nc,)
    Q: np.ndarray  # (nc,)
    T: np.ndarray  # (nc, wider than nc) tangent, or mass matrix
    x: np.ndarray  # (2, nc) accelerations of two systems at rest
    nodes: np.ndarray  # (n, nv) E^T M at the columns of nodes: what their accelerations take of each coordinate
    rates: np.ndarray  # (n, nv) the same of M + C, where nodes stiffen


# The tuples of rigid trees, with what bodies that deform add.

FlexibleKinematics = namedtuple(
    "FlexibleKinematics",
    [
        *workspace.Kinematics._fields,
        "elastic",  # elements.flexible_work.Elastic
        "motion",  # Motion of columns
        "J",  # (m, wider than nc) derivatives of the constraints by columns
        "rows",  # (nv, more than the most elastic coordinates) what moves the columns of nodes: rows of E
    ],
)
FlexibleComposite = namedtuple(
    "FlexibleComposite",
    [
        *workspace.Composite._fields,
        "zero",  # (n,) zeros
        "scratch",  # (n,)
        "on_frame",  # (nf, 6) wrench on each body's frame about the global origin, with the opposite sign
        "D",  # (6 + k, 9 + k) tangent of one body; k of the one with the most elastic coordinates
        "equations",  # ColumnEquations
    ],
)
FlexibleTwists = namedtuple(
    "FlexibleTwists",
    [
        *workspace.Twists._fields,
        "change",  # Motion of columns
        "dG",  # (nc, p)
        "other_dG",  # (nc, p) of a second system at rest
    ],
)
FlexibleAdjoints = namedtuple("FlexibleAdjoints", [*Adjoints._fields, "columns"])  # Motion of columns, else zero
FlexibleVirtual = namedtuple("FlexibleVirtual", [*Virtual._fields, "columns"])  # (nc, p) virtual motion of columns
FlexibleTouch = namedtuple(
    "FlexibleTouch",
    [
        *workspace.Touch._fields,
        "flexible",  # (nf, p) which standard input data vary
        "still",  # (n, p) zeros
    ],
)


def wide_rows(tree, rows, dtype):
    """Allocate ``rows`` of nc numbers and more: rows of nodes are added to them in blocks, also behind the last one."""
    return zeros((rows, padded(tree.column_kind.size) + WIDTH), dtype)


def column_changes(tree, p, dtype):
    """Allocate Motion of all columns in p directions, ``simd.padded``."""
    return Motion(*(zeros((tree.column_kind.size, p), dtype) for _ in range(3)))


def flexible_kinematics(model, dtype=np.float64):
    """Allocate FlexibleKinematics."""
    tree, found = model.tree, workspace.kinematics(model, dtype)
    found = found._replace(signals=signals_of_deforming(model, found.signals))
    motion = Motion(*np.zeros((3, tree.column_kind.size), dtype))
    J = wide_rows(tree, model.constraints.measure.size, dtype)
    rows = zeros((tree.node.size, padded(np.diff(tree.elastic).max(initial=0)) + WIDTH), dtype)
    return FlexibleKinematics(*found, elastic_work(tree, dtype), motion, J, rows)


def signals_of_deforming(model, signals):
    """SignalWork whose seeds also say that they vary no data of bodies that deform."""
    if not isinstance(model.signals, Signals):
        return signals
    seeds, tree = signals.seeds, model.tree
    still = zeros((tree.column_kind.size, WIDTH), seeds.z.dtype)
    touched = FlexibleTouch(*seeds.touch, np.zeros((tree.flexible.size, WIDTH), bool), still)
    return signals._replace(seeds=seeds._replace(touch=touched))


def flexible_composite(model, dtype=np.float64):
    """Allocate FlexibleComposite."""
    tree, n, z = model.tree, model.tree.column_kind.size, np.zeros
    k = np.diff(tree.elastic).max(initial=0)
    shapes = (n, n, (tree.flexible.size, 6), (6 + k, 9 + k))
    nodes, rates = (z((tree.column.size, tree.node.size), dtype) for _ in range(2))
    equations = ColumnEquations(z(n, dtype), z(n, dtype), wide_rows(tree, n, dtype), z((2, n), dtype), nodes, rates)
    return FlexibleComposite(*workspace.composite(model, dtype), *(z(shape, dtype) for shape in shapes), equations)


def flexible_twists(model, p, dtype=np.float64):
    """Allocate FlexibleTwists."""
    n = model.tree.column_kind.size
    rows = (zeros((n, p), dtype) for _ in range(2))
    return FlexibleTwists(*workspace.twists(model, p, dtype), column_changes(model.tree, p, dtype), *rows)


def flexible_adjoints(model, size, p, dtype=np.float64):
    """Allocate FlexibleAdjoints."""
    found, n = workspace.adjoints(model, size, p, dtype), model.tree.column.size
    of_coordinates = {key: zeros((n, p), dtype) for key in ("z", "zd", "zdd")}
    return FlexibleAdjoints(*found._replace(**of_coordinates), column_changes(model.tree, p, dtype))


def flexible_virtual(model, p, dtype=np.float64):
    """Allocate FlexibleVirtual, all at rest."""
    found, n = workspace.virtual(model, p, dtype), model.tree.column.size
    return FlexibleVirtual(zeros((n, p), dtype), found.U, found.each, found.mu)


def flexible_touch(model, dtheta):
    """``touch`` of directions dtheta (len(theta), p), with the bodies whose data vary."""
    still = zeros((model.tree.column_kind.size, dtheta.shape[1]), dtheta.dtype)
    return FlexibleTouch(*workspace.touch(model, dtheta), touched_bodies(model.tree, dtheta), still)


def touched_bodies(tree, dtheta):
    """Which standard input data (nf, p) directions vary."""
    sizes = np.array([block_size(int(k)) for k in np.diff(tree.elastic)], int)
    own = np.array([deviation_size(int(k)) for k in np.diff(tree.elastic)], int) * (tree.deviation != NONE)
    blocks = touched(dtheta)
    return blocks(tree.block, 0, sizes) | blocks(np.maximum(tree.deviation, 0), 0, own)
