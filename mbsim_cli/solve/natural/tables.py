"""The tables of a model in natural coordinates, in place of those of the tree that it stands for."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.model.codes import Measure, Sensor
from mbsim_cli.model.coordinates import with_bodies
from mbsim_cli.model.layout import (
    COM,
    GRAVITY,
    GROUND,
    INERTIA,
    MASS,
    MEASURE_SIZE,
    NO_ARMATURES,
    NONE,
    Constraints,
    Curves,
    FlexibleNatural,
    FlexibleTree,
    Measures,
    Model,
    Natural,
    Pairs,
    Sensors,
    freeze,
)
from mbsim_cli.solve.holding import least_inertia, swing

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem


# Numbers that kernels read in natural coordinates: theta, then those of measures, poses, rigidity, mass and weight.

POSE_SIZE = 12  # of each coordinate that a body depends on, and of what depends on none
SHAPE_SIZE = 6  # of an equation of rigidity


class Places(NamedTuple):
    """Where the numbers begin."""

    target: int  # zero, of all equations that are added
    measure: np.ndarray  # (added,)
    pose: np.ndarray  # (nb,)
    shape: np.ndarray  # (rigid,)
    mass: int
    weight: int


def places(system: "NaturalSystem") -> Places:
    """Where the numbers of a system begin."""
    target = len(system.problem.theta)
    ends = np.cumsum([target + 1, *(MEASURE_SIZE for _ in system.rows)])
    poses = np.cumsum([ends[-1], *(POSE_SIZE * (1 + len(columns)) for columns in system.columns)])
    shapes = poses[-1] + SHAPE_SIZE * np.arange(len(system.plan.rigid) + 1)
    mass = int(shapes[-1])
    return Places(target, ends[:-1], poses[:-1], shapes[:-1], mass, mass + len(system.mass_entries[0]))


def numbers_of(system: "NaturalSystem", theta: np.ndarray) -> np.ndarray:
    """All of them at a stack of theta (T, size)."""
    fields, back = system.fields(theta), np.argsort(system.order)
    blocks = [theta, np.zeros((len(theta), 1)), *(row.numbers(theta) for row in system.rows)]
    weight = np.zeros((len(theta), system.plan.size), complex)
    mass = np.zeros((len(theta), system.plan.size, system.plan.size), complex)
    states = _states(system.problem.model)
    for i, used in enumerate(system.listed):
        pose = fields.poses[i]
        blocks.append(pose[:, :, 0])
        blocks.append(np.moveaxis(pose[:, :, 1 + used], 2, 1).reshape(len(theta), -1))
        moments = _moments_of(theta, int(system.problem.model.tree.theta[i]))
        maps = pose[:, :, 1 + used].reshape(len(theta), 4, 3, -1)
        mass[:, used[:, None], used] += np.einsum("tjan,tjk,tkam->tnm", maps, moments, maps, optimize=True)
        if i in states:
            along = maps[:, 0, 2]  # the body of a state slides along z of the ground
            mass[:, used[:, None], used] += np.einsum("t,tn,tm->tnm", theta[:, states[i]], along, along)
        gravity = theta[:, GRAVITY : GRAVITY + 3]
        weight[:, used] += np.einsum("tjan,tj,ta->tn", maps, moments[:, :, 0], gravity)
    blocks += [rigid.shape(theta) for rigid in system.plan.rigid]
    mass = mass[:, back][:, :, back]
    rows, columns = system.mass_entries
    return np.concatenate([*blocks, mass[:, rows, columns], weight[:, back]], axis=1)


def _states(model: Model) -> dict[int, int]:
    """Bodies that states slide, with the offsets of their inertia."""
    of, columns = model.armatures, model.tree.column_body
    return {int(columns[c]): int(o) for c, o, stored in zip(*of, strict=True) if not stored}


def _moments_of(theta: np.ndarray, o: int) -> np.ndarray:
    """Mass, first and second moments (T, 4, 4) of a body about its origin, in its axes."""
    m, c = theta[:, o + MASS], theta[:, o + COM : o + COM + 3]
    xx, yy, zz, xy, xz, yz = theta[:, o + INERTIA : o + INERTIA + 6].T
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.einsum("iit->t", J) * np.eye(3)[:, :, None] - J
    found = np.zeros((len(theta), 4, 4), complex)
    found[:, 0, 0] = m
    found[:, 0, 1:] = found[:, 1:, 0] = m[:, None] * c
    found[:, 1:, 1:] = np.moveaxis(second, 2, 0) + m[:, None, None] * c[:, :, None] * c[:, None, :]
    return found


NOTHING = np.zeros(0, np.int64)


def model_of(system: "NaturalSystem") -> Model:
    """The model in natural coordinates."""
    at = places(system)
    pairs, measures = _measures(system, at)
    return freeze(
        with_bodies(
            system.problem.model._replace(
                tree=_with_elastic(system, _tree(system, at)),
                pairs=pairs,
                measures=_whole(measures),
                constraints=_whole(_constraints(system, at)),
                sensors=_sensors(system),
                armatures=NO_ARMATURES,  # those of states stand in the mass matrix
            )
        )
    )


def _tree(system: "NaturalSystem", at: Places) -> Natural:
    """Coordinates of points and vectors, and the equations that they bring with them."""
    n, equations = system.plan.size, system.equations
    rows, columns = system.mass_entries
    tree = Natural(
        parent=np.full(len(system.columns), GROUND),
        theta=system.problem.model.tree.theta,
        column_kind=np.full(n, NONE),
        column_body=NOTHING,
        first=np.cumsum([0, *map(len, system.columns)]),
        column=np.concatenate([NOTHING, *(system.order[c] for c in system.listed)]),
        trios=[len(trios) for trios in system.trios],
        pose=at.pose,
        rigid=[r.body for r in system.plan.rigid],
        shape=at.shape,
        rigid_first=np.cumsum([0, *(len(whole) + len(single) for whole, single in system.rigid_entries)]),
        rigid_entry=np.concatenate([NOTHING, *(part for entries in system.rigid_entries for part in entries)]),
        rigid_trios=[len(whole) for whole, _ in system.rigid_entries],
        defined=[len(equations.kept) + d.row for d in equations.defined],
        definition=[system.order[d.coordinate] for d in equations.defined],
        turning=np.reshape([[*system.order[g.columns], NONE][:3] for g in system.plan.groups if not g.point], (-1, 3)),
        mass_first=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]),
        mass_column=columns,
        mass=[at.mass],
        weight=[at.weight],
        least=NOTHING,
        swing=NOTHING,
    )
    return _whole(tree)._replace(least=least_inertia(system), swing=swing(system))


def _with_elastic(system: "NaturalSystem", tree: Natural) -> Natural | FlexibleNatural:
    """The same with bodies that deform, if there are any."""
    old, equations = system.problem.model.tree, system.equations
    if not isinstance(old, FlexibleTree):
        return tree
    first = system.order[list(equations.elastic.values())].min(initial=system.plan.size)
    nodes, bend = [weld.node for weld in equations.welds], np.full(len(old.node), NONE)
    bend[old.bent] = old.bend
    return FlexibleNatural(
        *tree,
        flexible=old.flexible,
        elastic=old.elastic - old.elastic[0] + first,
        block=old.block,
        deviation=old.deviation,
        weld=np.array([len(equations.kept) + weld.row for weld in equations.welds], np.int64),
        weld_body=old.node_body[nodes],
        weld_shape=old.shape[nodes],
        weld_bend=bend[nodes],
        weld_sine=np.array([weld.sine for weld in equations.welds], np.int64),
    )


def _measures(system: "NaturalSystem", at: Places) -> tuple[Pairs, Measures]:
    """Measures, the added ones last, and pairs of bodies without columns."""
    old, equations = system.problem.model, system.equations
    pairs = list(zip(old.pairs.a.tolist(), old.pairs.b.tolist(), strict=True))
    kind, pair, block = (array.tolist() for array in (old.measures.kind, old.measures.pair, old.measures.theta))
    listed = [system.order[system.mixed_columns(k)] if c == Measure.COORDINATES else [] for k, c in enumerate(kind)]
    for row in system.rows:
        if (row.a, row.b) not in pairs:
            pairs.append((row.a, row.b))
        kind.append(int(row.kind))
        pair.append(pairs.index((row.a, row.b)))
        listed.append([])
    block += at.measure.tolist()
    for j, k in enumerate(equations.replaced, len(old.measures.kind) + len(equations.added)):
        kind[k], pair[k], block[k] = kind[j], pair[j], block[j]
    first, flat = np.cumsum([0, *map(len, listed)]), np.concatenate([NOTHING, *listed]).astype(np.int64)
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    without_columns = Pairs(a, b, np.zeros(len(pairs) + 1, np.int64), NOTHING, NOTHING)
    curves = old.measures.curves
    if isinstance(curves, Curves):
        curves = curves._replace(law=[*curves.law, *[NONE] * (len(kind) - len(curves.law))])
    return without_columns, Measures(kind, pair, block, first, flat, curves)


def _constraints(system: "NaturalSystem", at: Places) -> Constraints:
    """Those of the tree that are kept, then what is added."""
    model, kept, added = system.problem.model, system.equations.kept, len(system.equations.added)
    old, first = model.constraints, len(model.measures.kind)
    return old._replace(
        measure=[*old.measure[kept], *range(first, first + added)],
        theta=[*old.theta[kept], *([at.target] * added)],
        law=[*old.law[kept], *([NONE] * added)],
    )


def _sensors(system: "NaturalSystem") -> Sensors:
    """Sensors; those of coordinates read measures."""
    old, equations = system.problem.model.sensors, system.equations
    kind, index = old.kind.copy(), old.index.copy()
    behind = len(system.problem.model.measures.kind) + len(equations.added) + len(equations.replaced)
    for j, (s, _) in enumerate(equations.sensed, behind):
        kind[s], index[s] = Sensor.MEASURE, j
    for s in np.flatnonzero(kind == Sensor.COORDINATE):
        index[s] = system.order[equations.elastic[int(old.index[s])]]
    for s in np.flatnonzero(old.kind == Sensor.MULTIPLIER):
        index[s] = equations.kept.index(int(old.index[s]))
    return old._replace(kind=kind, index=index)


def _whole(group: Any) -> Any:
    """Arrays of whole numbers, also where there are none."""
    return type(group)(*(_whole(part) if isinstance(part, tuple) else np.asarray(part, np.int64) for part in group))
