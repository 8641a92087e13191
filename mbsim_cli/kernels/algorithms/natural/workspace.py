"""Work arrays of a system in natural coordinates, in the places of those of ``motion.workspace``."""

from collections import namedtuple
from itertools import pairwise

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.structure import blocks_of, once_a_model, panels_of, with_followers
from mbsim_cli.kernels.algorithms.flexible.workspace import FlexibleTouch, signals_of_deforming, touched_bodies
from mbsim_cli.kernels.algorithms.motion import workspace
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, Virtual, twists
from mbsim_cli.kernels.algorithms.natural.linear_poses import POSE, NaturalForces, NaturalKinematics
from mbsim_cli.kernels.algorithms.natural.tangent import DIRECTIONS, Seeds
from mbsim_cli.kernels.algorithms.natural.variation import NaturalTwists
from mbsim_cli.kernels.compiler.simd import WIDTH, zeros
from mbsim_cli.kernels.elements.element import ROOM
from mbsim_cli.kernels.elements.flexible_work import elastic_work
from mbsim_cli.model.coordinates import columns_read
from mbsim_cli.model.layout import GRAVITY, GROUND, NONE, FlexibleNatural

NOTHING = np.zeros(0, np.int64)


def natural_kinematics(model, dtype=np.float64):
    """Allocate NaturalKinematics."""
    nb = model.tree.theta.size
    body = [np.zeros((nb + 1, k), dtype) for k in (9, 3, 3, 6, 6)]
    columns = [np.zeros((0, 6), dtype) for _ in range(3)]
    forces = np.zeros((model.forces.kind.size, ROOM), dtype)
    poses = [np.zeros((nb, POSE), dtype) for _ in range(3)]
    expected = np.zeros(model.measures.kind.size)
    signals = workspace.signal_work(model, lambda body: _of_body(model, body), dtype)
    return NaturalKinematics(*body, *columns, np.zeros((nb + 1, 10), dtype), forces, expected, signals, *poses)


def natural_forces(model, theta):
    """Allocate NaturalForces, with the seeds of the tangent."""
    nb, n, dtype = model.tree.theta.size, model.tree.column_kind.size, theta.dtype.type
    bodies = [np.zeros((nb + 1, 6), dtype) for _ in range(2)]
    return NaturalForces(*bodies, np.zeros(n, dtype), _seeds(model, len(theta), dtype))


def natural_twists(model, p, dtype=np.float64):
    """Allocate NaturalTwists."""
    return NaturalTwists(*twists(model, p, dtype), *(zeros((model.tree.theta.size, POSE, p), dtype) for _ in range(3)))


def natural_touch(model, dtheta):
    """Blocks that directions vary; of a body its linear map, its equations of rigidity and the weight are geometry."""
    tree, blocks = model.tree, workspace.touched(dtheta)
    geometry = blocks(tree.pose, 0, POSE * (1 + np.diff(tree.first)))
    np.logical_or.at(geometry, tree.rigid, blocks(tree.shape, 0, 6))
    return workspace.touch(model, dtheta)._replace(geometry=geometry | blocks(np.array([GRAVITY]), 0, 3))


@once_a_model
def natural_sparsity(model):
    """Structure of T + J^T alpha J and of J."""
    n, rows = model.tree.column_kind.size, _rows(model)
    meets = np.zeros((n, n), bool)
    for columns in (*_groups(model), *rows):
        meets[np.ix_(columns, columns)] = True
    return panels_of(meets, rows)


def _of_body(model, i):
    return NOTHING if i == GROUND else model.tree.column[model.tree.first[i] : model.tree.first[i + 1]]


def _of_pair(model, pair):
    return np.union1d(_of_body(model, model.pairs.a[pair]), _of_body(model, model.pairs.b[pair])).astype(np.int64)


def _of_measure(model, m):
    measures = model.measures
    if measures.pair[m] != NONE:
        return _of_pair(model, measures.pair[m])
    return measures.coordinate[measures.first[m] : measures.first[m + 1]]


def _groups(model):
    """Sets of coordinates that meet each other in the tangent."""
    for i in range(model.tree.theta.size):
        yield _of_body(model, i)
    yield from with_followers(model, [_of_measure(model, k) for k in model.constraints.measure])
    for k, pair in zip(model.forces.measure, model.forces.pair, strict=True):
        yield _of_measure(model, k) if k != NONE else _of_pair(model, pair)
    yield from columns_read(model, lambda body: _of_body(model, body), lambda k: _of_measure(model, k))
    if isinstance(model.tree, FlexibleNatural):
        for f, body in enumerate(model.tree.flexible):
            yield np.concatenate([_of_body(model, body), _elastic(model.tree, f)])


def _elastic(tree, f):
    """Elastic coordinates of body f of those that deform."""
    return np.arange(tree.elastic[f], tree.elastic[f + 1])


def _rows(model):
    """Coordinates of every equation."""
    found = with_followers(model, [_of_measure(model, m) for m in model.constraints.measure])
    for row, c in zip(model.tree.defined, model.tree.definition, strict=True):
        found[row] = np.append(found[row], c)
    tree = model.tree
    if isinstance(tree, FlexibleNatural):
        for row, f in zip(tree.weld, tree.weld_body, strict=True):
            found[row] = np.concatenate([found[row], _elastic(tree, f)])
    for trios, (a, b) in zip(tree.rigid_trios, pairwise(tree.rigid_first), strict=True):
        whole, single = np.split(tree.rigid_entry[a:b], [trios])
        found.append(np.sort(tree.column[np.concatenate([whole, whole + 1, whole + 2, single])]))
    return found


def _seeds(model, size, dtype):
    s, tree = DIRECTIONS, model.tree
    own = [tree.column[a:b] for a, b in pairwise(tree.first)]
    starts = [blocks_of(c) for c in own]
    slot = [WIDTH * np.searchsorted(b, c // WIDTH * WIDTH) + c % WIDTH for b, c in zip(starts, own, strict=True)]
    first = np.cumsum([0, *map(len, starts)])
    columns, pull = (zeros((len(own), k, WIDTH * max(map(len, starts), default=0)), dtype) for k in (24, POSE))
    blocks = first, np.concatenate([NOTHING, *starts]), np.concatenate([NOTHING, *slot])
    no_poses = {name: zeros((0, POSE, s), dtype) for name in ("pose", "rate", "second")}
    twists = natural_twists(model, s, dtype)._replace(**no_poses)
    structure = natural_sparsity(model)
    whole = structure.whole_first, structure.whole
    return Seeds(*blocks, columns, pull, *whole, zeros((size, s), dtype), workspace.untouched(model, s), twists)


FlexibleNaturalKinematics = namedtuple(
    "FlexibleNaturalKinematics",
    [
        *NaturalKinematics._fields,
        "elastic",  # elements.flexible_work.Elastic
        "z",  # (n,) where bodies were placed
    ],
)
FlexibleNaturalForces = namedtuple(
    "FlexibleNaturalForces",
    [
        *NaturalForces._fields,
        "on_frame",  # (nf, 6) wrench on each body's frame about the global origin, with the opposite sign
        "D",  # (6 + k, 9 + k) tangent of one body; k of the one with the most elastic coordinates
        "moves",  # (most coordinates of a frame, 6) twists of the coordinates of one frame
        "rows",  # (n,) rows of elastic coordinates, zero elsewhere
        "zero",  # (n,) zeros
        "scratch",  # (n,)
    ],
)


def flexible_natural_kinematics(model, dtype=np.float64):
    """Allocate FlexibleNaturalKinematics."""
    z = np.zeros(model.tree.column_kind.size, dtype)
    found = natural_kinematics(model, dtype)
    found = found._replace(signals=signals_of_deforming(model, found.signals))
    return FlexibleNaturalKinematics(*found, elastic_work(model.tree, dtype), z)


def flexible_natural_forces(model, theta):
    """Allocate FlexibleNaturalForces."""
    tree, dtype = model.tree, theta.dtype.type
    n, k = tree.column_kind.size, np.diff(tree.elastic).max(initial=0)
    shapes = (tree.flexible.size, 6), (6 + k, 9 + k), (np.diff(tree.first).max(initial=0), 6), n, n, n
    return FlexibleNaturalForces(*natural_forces(model, theta), *(np.zeros(shape, dtype) for shape in shapes))


def flexible_natural_touch(model, dtheta):
    """``natural_touch``, with the bodies whose data vary."""
    still = zeros((model.tree.column_kind.size, dtheta.shape[1]), dtheta.dtype)
    return FlexibleTouch(*natural_touch(model, dtheta), touched_bodies(model.tree, dtheta), still)


# lam has rows of rigidity too
NaturalAdjoints = namedtuple(
    "NaturalAdjoints",
    [
        *Adjoints._fields,
        "pose",  # (nb, 12, p) of origins and columns of R
        "rate",  # (nb, 12, p)
        "second",  # (nb, 12, p)
    ],
)


NaturalVirtual = namedtuple("NaturalVirtual", [*Virtual._fields, "pose"])  # (nb, 12, p) by mu, of origins, columns


def natural_adjoints(model, size, p, dtype=np.float64):
    """Allocate NaturalAdjoints for ``size`` numbers theta."""
    tree, common = model.tree, workspace.adjoints(model, size, p, dtype)
    rows = common.lam.shape[0] + tree.rigid.size
    poses = (zeros((tree.theta.size, POSE, p), dtype) for _ in range(3))
    return NaturalAdjoints(*common._replace(lam=zeros((rows, p), dtype)), *poses)


def natural_virtual(model, p, dtype=np.float64):
    """Allocate NaturalVirtual, all at rest."""
    return NaturalVirtual(*workspace.virtual(model, p, dtype), zeros((model.tree.theta.size, POSE, p), dtype))
