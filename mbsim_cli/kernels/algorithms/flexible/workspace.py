"""Work arrays of a tree with bodies that deform, in the places of those of ``workspace`` and ``covectors``."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.flexible.node_columns import (
    column_changes,
    column_equations,
    column_motion,
    node_rows,
    wide_rows,
)
from mbsim_cli.kernels.algorithms.motion.workspace import (
    Covectors,
    Virtual,
    composite,
    covectors,
    kinematics,
    touch,
    touched,
    twists,
    virtual,
)
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.elements.flexible_work import elastic_work
from mbsim_cli.model.flexible import block_size, deviation_size
from mbsim_cli.model.layout import NONE


class FlexibleKinematics(NamedTuple):
    """``Kinematics``, and what is kept of bodies that deform."""

    R: np.ndarray
    r: np.ndarray
    ref: np.ndarray
    V: np.ndarray
    A: np.ndarray
    S: np.ndarray
    S1: np.ndarray
    S2: np.ndarray
    inertia: np.ndarray
    kept: np.ndarray
    expected: np.ndarray
    signals: tuple
    elastic: tuple  # elements.flexible_work.Elastic
    motion: tuple  # Motion of columns
    J: np.ndarray  # (m, wider than nc) derivatives of the constraints by columns
    rows: np.ndarray  # (nv, more than the most elastic coordinates) what moves the columns of nodes: rows of E


class FlexibleComposite(NamedTuple):
    """``Composite``, and what bodies that deform leave for the tangent."""

    F: np.ndarray
    W: np.ndarray
    inertia: np.ndarray
    rate: np.ndarray
    columns: np.ndarray
    own: np.ndarray
    spans: tuple
    zero: np.ndarray  # (n,) zeros
    scratch: np.ndarray  # (n,)
    push: np.ndarray  # (nf, 6) wrench on each body's frame about the global origin, with the opposite sign
    D: np.ndarray  # (6 + k, 9 + k) tangent of one body; k of the one with the most elastic coordinates
    equations: tuple  # ColumnEquations


class FlexibleTwists(NamedTuple):
    """``Twists``, and variations of what columns are."""

    N: np.ndarray
    N1: np.ndarray
    N2: np.ndarray
    F: np.ndarray
    each: np.ndarray
    signals: tuple
    change: tuple  # Motion of columns
    dG: np.ndarray  # (nc, p)
    other_dG: np.ndarray  # (nc, p) of a second system at rest


class FlexibleCovectors(NamedTuple):
    """``Covectors``, and those of columns, which are zero between kernels."""

    P: np.ndarray
    D: np.ndarray
    H: np.ndarray
    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray
    theta: np.ndarray
    each: np.ndarray
    signals: tuple
    columns: tuple  # Motion of columns


class FlexibleVirtual(NamedTuple):
    """``Virtual``, and the virtual motion of columns."""

    mu: np.ndarray
    U: np.ndarray
    each: np.ndarray
    columns: np.ndarray  # (nc, p)


class FlexibleTouch(NamedTuple):
    """``Touch``, and which standard input data vary."""

    geometry: np.ndarray
    inertia: np.ndarray
    measure: np.ndarray
    force: np.ndarray
    flexible: np.ndarray  # (nf, p)
    still: np.ndarray  # (n, p) zeros


def flexible_kinematics(model, dtype=np.float64):
    """Allocate FlexibleKinematics."""
    tree, m = model.tree, model.constraints.measure.size
    own = elastic_work(tree, dtype), column_motion(tree, dtype), wide_rows(tree, m, dtype), node_rows(tree, dtype)
    return FlexibleKinematics(*kinematics(model, dtype), *own)


def flexible_composite(model, dtype=np.float64):
    """Allocate FlexibleComposite."""
    tree, n = model.tree, model.tree.column_kind.size
    k = np.diff(tree.elastic).max(initial=0)
    shapes = (n, n, (tree.flexible.size, 6), (6 + k, 9 + k))
    own = (np.zeros(shape, dtype) for shape in shapes)
    return FlexibleComposite(*composite(model, dtype), *own, column_equations(tree, dtype))


def flexible_twists(model, p, dtype=np.float64):
    """Allocate FlexibleTwists."""
    n = model.tree.column_kind.size
    rows = (zeros((n, p), dtype) for _ in range(2))
    return FlexibleTwists(*twists(model, p, dtype), column_changes(model.tree, p, dtype), *rows)


def flexible_covectors(model, size, p, dtype=np.float64):
    """Allocate FlexibleCovectors."""
    found, n = covectors(model, size, p, dtype), model.tree.column.size
    of_coordinates = {key: zeros((n, p), dtype) for key in ("z", "zd", "zdd")}
    return FlexibleCovectors(*found._replace(**of_coordinates), column_changes(model.tree, p, dtype))


def flexible_virtual(model, p, dtype=np.float64):
    """Allocate FlexibleVirtual, all at rest."""
    found, n = virtual(model, p, dtype), model.tree.column.size
    return FlexibleVirtual(zeros((n, p), dtype), found.U, found.each, found.mu)


def flexible_touch(model, dtheta):
    """``touch`` of directions dtheta (len(theta), p), with the bodies whose data vary."""
    still = zeros((model.tree.column_kind.size, dtheta.shape[1]), dtheta.dtype)
    return FlexibleTouch(*touch(model, dtheta), touched_bodies(model.tree, dtheta), still)


def touched_bodies(tree, dtheta):
    """Which standard input data (nf, p) directions vary."""
    sizes = np.array([block_size(int(k)) for k in np.diff(tree.elastic)], int)
    own = np.array([deviation_size(int(k)) for k in np.diff(tree.elastic)], int) * (tree.deviation != NONE)
    blocks = touched(dtheta)
    return blocks(tree.block, 0, sizes) | blocks(np.maximum(tree.deviation, 0), 0, own)


@inlined
def covectors_of_columns(cov):
    """Covectors as the kernels of trees take them."""
    of = cov.columns
    return Covectors(cov.P, cov.D, cov.H, of.z, of.zd, of.zdd, cov.lam, cov.theta, cov.each, cov.signals)


@inlined
def virtual_of_columns(virtual):
    """A virtual motion as the kernels of trees take it."""
    return Virtual(virtual.columns, virtual.U, virtual.each)
