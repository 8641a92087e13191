"""A problem in natural coordinates: the coordinates, what depends on them, and the tables of its model."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from mbsim_cli.model import layout
from mbsim_cli.model.codes import Measure, Sensor
from mbsim_cli.model.coordinates import of_columns, with_bodies
from mbsim_cli.model.layout import GROUND, NONE, FlexibleNatural, FlexibleTree, Measures, Model, Natural, Pairs, Sensors
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve.least_inertia import extents, least_inertia, swing
from mbsim_cli.solve.natural.bases import Planner
from mbsim_cli.solve.natural.joints import NaturalEquations, Row, equations_of, shared_by_constraints, tree_joints
from mbsim_cli.solve.natural.plan import Fields, Plan, directions_of, names_of, vanishes
from mbsim_cli.system import cached_property

POSE_SIZE = 12  # of each coordinate that a body depends on, and of what depends on none
SHAPE_SIZE = 6  # of an equation of rigidity


class Places(NamedTuple):
    """Where the numbers of theta, measures, poses, rigidity, mass and weight begin."""

    target: int  # zero, of all equations that are added
    measure: np.ndarray  # (added,)
    pose: np.ndarray  # (nb,)
    shape: np.ndarray  # (rigid,)
    mass: int
    weight: int


def places(system: "NaturalSystem") -> Places:
    """Where the numbers of a system begin."""
    target = len(system.problem.theta)
    ends = np.cumsum([target + 1, *(layout.MEASURE_SIZE for _ in system.rows)])
    poses = np.cumsum([ends[-1], *(POSE_SIZE * (1 + len(columns)) for columns in system.columns)])
    shapes = poses[-1] + SHAPE_SIZE * np.arange(len(system.plan.rigid) + 1)
    mass = int(shapes[-1])
    return Places(target, ends[:-1], poses[:-1], shapes[:-1], mass, mass + len(system.mass_entries[0]))


def _moments_of(theta: np.ndarray, o: int) -> np.ndarray:
    """Mass, first and second moments (T, 4, 4) of a body about its origin, in its axes."""
    m, c = theta[:, o + layout.MASS], theta[:, o + layout.COM : o + layout.COM + 3]
    xx, yy, zz, xy, xz, yz = theta[:, o + layout.INERTIA : o + layout.INERTIA + 6].T
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.einsum("iit->t", J) * np.eye(3)[:, :, None] - J
    found = np.zeros((len(theta), 4, 4), complex)
    found[:, 0, 0] = m
    found[:, 0, 1:] = found[:, 1:, 0] = m[:, None] * c
    found[:, 1:, 1:] = np.moveaxis(second, 2, 0) + m[:, None, None] * c[:, :, None] * c[:, None, :]
    return found


NO_NUMBERS = np.zeros(0, np.int64)


def _tree(system: "NaturalSystem", at: Places) -> Natural:
    """Coordinates of points and vectors, and the equations that they bring with them."""
    n, equations = system.plan.size, system.equations
    rows, columns = system.mass_entries
    columns_of = dict(
        parent=np.full(len(system.columns), GROUND),
        theta=system.problem.model.tree.theta,
        column_kind=np.full(n, NONE),
        column_body=NO_NUMBERS,
        first=np.cumsum([0, *map(len, system.columns)]),
        column=np.concatenate([NO_NUMBERS, *(system.order[c] for c in system.listed)]),
        trios=[len(trios) for trios in system.trios],
        pose=at.pose,
        rigid=[r.body for r in system.plan.rigid],
        shape=at.shape,
        rigid_first=np.cumsum([0, *(len(whole) + len(single) for whole, single in system.rigid_entries)]),
        rigid_entry=np.concatenate([NO_NUMBERS, *(part for entries in system.rigid_entries for part in entries)]),
        rigid_trios=[len(whole) for whole, _ in system.rigid_entries],
        defined=[len(equations.kept) + d.row for d in equations.defined],
        definition=[system.order[d.coordinate] for d in equations.defined],
        turning=np.reshape([[*system.order[g.columns], NONE][:3] for g in system.plan.groups if not g.point], (-1, 3)),
        mass_first=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]),
        mass_column=columns,
        mass=[at.mass],
        weight=[at.weight],
        least=NO_NUMBERS,
        swing=NO_NUMBERS,
        extent=NO_NUMBERS,
        row_extent=NO_NUMBERS,
    )
    tree = Natural(**{name: np.asarray(column, np.int64) for name, column in columns_of.items()})
    extent, row_extent = extents(system)
    return tree._replace(least=least_inertia(system), swing=swing(system), extent=extent, row_extent=row_extent)


def _with_elastic(system: "NaturalSystem", tree: Natural) -> Natural | FlexibleNatural:
    """The same with bodies that deform, if there are any."""
    old, equations = system.problem.model.tree, system.equations
    if not isinstance(old, FlexibleTree):
        return tree
    first = system.order[list(equations.elastic.values())].min(initial=system.plan.size)
    nodes = [weld.node for weld in equations.welds]
    return FlexibleNatural(
        *tree,
        flexible=old.flexible,
        elastic=old.elastic - old.elastic[0] + first,
        block=old.block,
        deviation=old.deviation,
        weld=np.array([len(equations.kept) + weld.row for weld in equations.welds], np.int64),
        weld_body=old.node_body[nodes],
        weld_shape=old.shape[nodes],
        weld_bend=old.bend[nodes],
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
    first, flat = np.cumsum([0, *map(len, listed)]), np.concatenate([NO_NUMBERS, *listed]).astype(np.int64)
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    without_columns = Pairs(a, b, np.zeros(len(pairs) + 1, np.int64), NO_NUMBERS, NO_NUMBERS)
    curves = old.measures.curves
    if isinstance(curves, layout.Curves):
        curves = curves._replace(law=np.append(curves.law, np.full(len(kind) - len(curves.law), NONE)))
    columns = (np.asarray(column, np.int64) for column in (kind, pair, block, first, flat))
    return without_columns, Measures._make([*columns, curves])


def _constraints(system: "NaturalSystem", at: Places) -> layout.Constraints:
    """The kept constraints of the tree, then the added ones."""
    model, kept, added = system.problem.model, system.equations.kept, len(system.equations.added)
    old, first = model.constraints, len(model.measures.kind)
    followers = old.followers
    if isinstance(followers, layout.Followers):
        defined = {NONE: NONE} | {d.column: system.order[d.coordinate] for d in system.equations.defined}
        column = [defined[c] for c in followers.column[kept].tolist()]
        followers = followers._replace(column=np.array([*column, *([NONE] * added)], np.int64))
    return old._replace(
        followers=followers,
        measure=np.append(old.measure[kept], first + np.arange(added)),
        theta=np.append(old.theta[kept], np.full(added, at.target)),
        law=np.append(old.law[kept], np.full(added, NONE)),
    )


def _sensors(system: "NaturalSystem") -> Sensors:
    """Sensors; those of coordinates read measures."""
    old, equations = system.problem.model.sensors, system.equations
    kind, index = old.kind.copy(), old.index.copy()
    behind = len(system.problem.model.measures.kind) + len(equations.added) + len(equations.replaced)
    for j, (s, _) in enumerate(equations.sensed, behind):
        kind[s], index[s] = Sensor.MEASURE, j
    for s in np.flatnonzero(kind == Sensor.COORDINATE).tolist():
        index[s] = system.order[equations.elastic[int(old.index[s])]]
    for s in np.flatnonzero(old.kind == Sensor.MULTIPLIER).tolist():
        index[s] = equations.kept.index(int(old.index[s]))
    return old._replace(kind=kind, index=index)


def eliminated_last(n: int, cliques: Sequence[np.ndarray], ahead: Collection[int] = ()) -> np.ndarray:
    """New numbers (n,), by minimum degree, of coordinates in ``cliques``; elimination goes from the last to the first.

    Those ``ahead`` go before all others and keep their order: they have the last numbers.
    """
    meets: list[set[int]] = [set() for _ in range(n)]
    for clique in (set(each.tolist()) for each in cliques):
        for c in clique:
            meets[c] |= clique - {c}
    left, first, order = set(range(n)), set(ahead), np.zeros(n, np.int64)
    for number in range(n - 1, -1, -1):
        c = max(first) if first else min(left, key=lambda x: (len(meets[x]), -x))
        first.discard(c)
        left.discard(c)
        order[c] = number
        for other in meets[c]:
            meets[other] |= meets[c]
            meets[other] -= {c, other}
    return order


MOST = 16  # coordinates of a body, at most: four points and vectors, and mixed ones


@dataclass(frozen=True)
class NaturalSystem:
    """A problem in natural coordinates; ``order`` maps the plan's coordinates to their numbers."""

    problem: Problem
    plan: Plan
    equations: NaturalEquations
    columns: tuple[np.ndarray, ...]  # of the plan, that each body depends on
    trios: tuple[tuple[tuple[int, ...], ...], ...]  # of each body: three of those that move it along x, y and z
    entries: tuple[np.ndarray, np.ndarray]  # rows and columns of the mass matrix that are not zero, of the plan

    def __reduce__(self) -> tuple:
        """Another process chooses the coordinates again."""
        return _chosen, (self.problem,)

    def fields(self, theta: np.ndarray) -> Fields:
        """Poses of all bodies at a stack of theta."""
        made = Fields(theta, self.plan.size)
        for base in self.plan.bases:
            base.place(made)
        return made

    @cached_property
    def _fields_of_problem(self) -> Fields:
        return self.fields(self.problem.theta[None] + 0j)

    def poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins (nb, 3) and rotation matrices (nb, 3, 3) of all bodies at coordinates q (n,), which may be rough."""
        q = np.concatenate([[1.0], q[self.order]])
        count = len(self.columns)
        found = np.array([self._fields_of_problem.poses[i][0].real @ q for i in range(count)]).reshape(count, 4, 3)
        left, _, right = np.linalg.svd(np.swapaxes(found[:, 1:], 1, 2))
        return found[:, 0], left @ right

    @cached_property
    def order(self) -> np.ndarray:
        """New numbers of the coordinates: the first to be eliminated last."""
        return eliminated_last(self.plan.size, self._cliques(), self.equations.elastic.values())

    @cached_property
    def listed(self) -> list[np.ndarray]:
        """Coordinates of the plan that each body depends on, trios first, by their new numbers."""
        found = []
        for columns, trios in zip(self.columns, self.trios, strict=True):
            ranked = [c for trio in sorted(trios, key=lambda trio: self.order[trio[0]]) for c in trio]
            others = np.setdiff1d(columns, ranked)
            found.append(np.array([*ranked, *others[np.argsort(self.order[others])]], np.int64))
        return found

    def _cliques(self) -> list[np.ndarray]:
        """Sets of coordinates that meet each other in the tangent or in a row of the Jacobian."""
        model = self.problem.model
        tree: Any = model.tree
        pairs = {int(pair) for pair in (*model.measures.pair, *model.forces.pair) if pair != NONE}
        found = [*self.columns, *(self.pair_columns(int(model.pairs.a[k]), int(model.pairs.b[k])) for k in pairs)]
        for j, row in enumerate(self.rows):
            also = [d.coordinate for d in self.equations.defined if d.row == j]
            for weld in (weld for weld in self.equations.welds if weld.row == j):
                also += self.elastic_of(int(tree.node_body[weld.node])).tolist()
            found.append(np.union1d(self.pair_columns(row.a, row.b), also).astype(np.int64))
        found += [np.append(self.columns[body], self.elastic_of(f)) for f, body in enumerate(self._deforming)]
        listed = np.flatnonzero(model.measures.kind == Measure.COORDINATES)
        return found + [self.mixed_columns(int(k)) for k in listed]

    @property
    def _deforming(self) -> np.ndarray:
        """Bodies that deform."""
        tree = self.problem.model.tree
        return tree.flexible if isinstance(tree, FlexibleTree) else NO_NUMBERS

    def elastic_of(self, f: int) -> np.ndarray:
        """Coordinates of the plan that are the elastic ones of the f-th of these."""
        tree: Any = self.problem.model.tree
        return np.array([self.equations.elastic[c] for c in range(tree.elastic[f], tree.elastic[f + 1])], np.int64)

    def pair_columns(self, a: int, b: int) -> np.ndarray:
        """Coordinates that two bodies depend on."""
        return np.unique(np.concatenate([NO_NUMBERS, *(self.columns[i] for i in (a, b) if i != GROUND)]))

    def mixed_columns(self, measure: int) -> np.ndarray:
        """Coordinates that a measure of several joint coordinates lists."""
        measures = self.problem.model.measures
        if measure in self.equations.replaced:
            return NO_NUMBERS
        mixed = {d.column: d.coordinate for d in self.equations.defined} | self.equations.elastic
        listed = measures.coordinate[measures.first[measure] : measures.first[measure + 1]]
        return np.array([mixed[int(c)] for c in listed], np.int64)

    @property
    def rows(self) -> list[Row]:
        """Measures that are added: equations, then those that sensors and forces read."""
        return [*self.equations.added, *self.equations.replaced.values(), *(row for _, row in self.equations.sensed)]

    def numbers(self, theta: np.ndarray) -> np.ndarray:
        """All entries that the kernels read, at a stack of theta (T, size): theta, then those of the system."""
        fields, back = self.fields(theta), np.argsort(self.order)
        blocks = [theta, np.zeros((len(theta), 1)), *(row.numbers(theta) for row in self.rows)]
        weight = np.zeros((len(theta), self.plan.size), complex)
        mass = np.zeros((len(theta), self.plan.size, self.plan.size), complex)
        armatures, body_of = self.problem.model.armatures, self.problem.model.tree.column_body
        # bodies that states slide, with the offsets of their inertia
        states = {int(body_of[c]): int(o) for c, o, stored in zip(*armatures, strict=True) if not stored}
        for i, used in enumerate(self.listed):
            pose = fields.poses[i]
            blocks.append(pose[:, :, 0])
            blocks.append(np.moveaxis(pose[:, :, 1 + used], 2, 1).reshape(len(theta), -1))
            moments = _moments_of(theta, int(self.problem.model.tree.theta[i]))
            maps = pose[:, :, 1 + used].reshape(len(theta), 4, 3, -1)
            mass[:, used[:, None], used] += np.einsum("tjan,tjk,tkam->tnm", maps, moments, maps, optimize=True)
            if i in states:
                along = maps[:, 0, 2]  # the body of a state slides along z of the ground
                mass[:, used[:, None], used] += np.einsum("t,tn,tm->tnm", theta[:, states[i]], along, along)
            gravity = theta[:, layout.GRAVITY : layout.GRAVITY + 3]
            weight[:, used] += np.einsum("tjan,tj,ta->tn", maps, moments[:, :, 0], gravity)
        blocks += [rigid.shape(theta) for rigid in self.plan.rigid]
        mass = mass[:, back][:, :, back]
        rows, columns = self.mass_entries
        return np.concatenate([*blocks, mass[:, rows, columns], weight[:, back]], axis=1)

    @cached_property
    def rigid_entries(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Places in the joined coordinate lists that equations of rigidity read: starts of trios, then singles."""
        stack = directions_of(self.problem.theta, self.problem.theta_rho)
        fields, first, found = self.fields(stack), np.cumsum([0, *map(len, self.columns)]), []
        for rigid in self.plan.rigid:
            vectors = [fields.vector(rigid.body, x) for x in (rigid.a, rigid.b)]
            used = [any(not vanishes(x[:, :, 1 + c], x) for x in vectors) for c in self.listed[rigid.body]]
            whole, single = np.split(np.array(used, bool), [3 * len(self.trios[rigid.body])])
            starts = 3 * np.flatnonzero(whole.reshape(-1, 3).any(axis=1))
            found.append((first[rigid.body] + starts, first[rigid.body] + len(whole) + np.flatnonzero(single)))
        return found

    @cached_property
    def mass_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the mass matrix that are not zero, row by row."""
        rows, columns = (self.order[part] for part in self.entries)
        ranked = np.lexsort((columns, rows))
        return rows[ranked], columns[ranked]

    @cached_property
    def model(self) -> Model:
        """The model in natural coordinates."""
        at = places(self)
        pairs, measures = _measures(self, at)
        model = self.problem.model._replace(
            tree=cast(Any, _with_elastic(self, _tree(self, at))),
            pairs=pairs,
            measures=measures,
            constraints=_constraints(self, at),
            sensors=_sensors(self),
            armatures=layout.NO_ARMATURES,  # those of states stand in the mass matrix
        )
        return layout.freeze(with_bodies(model))

    @cached_property
    def standing_for(self) -> dict[int, tuple[int, float]]:
        """Measures that stand for coordinates of joints: coordinate of the tree's system and sign."""
        measures, equations = self.problem.model.measures, self.equations
        count, found = measures.kind.size, {}
        for d in equations.defined:
            found[count + d.row] = (self.coordinate_of(d.column), 1.0)
        for j, k in enumerate(equations.replaced):
            c = self.coordinate_of(int(measures.coordinate[measures.first[k]]))
            sign = float(self.problem.theta[measures.theta[k]])
            found[k] = found[count + len(equations.added) + j] = c, sign
        behind = count + len(equations.added) + len(equations.replaced)
        for j, (s, _) in enumerate(equations.sensed):
            found[behind + j] = (self.coordinate_of(int(self.problem.model.sensors.index[s])), 1.0)
        return found

    def coordinate_of(self, column: int) -> int:
        """Coordinate of the tree's system that a column is."""
        return int(of_columns(self.problem.model.tree, np.array(column)))

    @cached_property
    def elastic(self) -> tuple[np.ndarray, np.ndarray]:
        """Elastic coordinates: their numbers here, and among the coordinates of the tree's system."""
        listed = self.equations.elastic
        theirs = [self.coordinate_of(c) for c in listed]
        return self.order[list(listed.values())], np.array(theirs, np.int64)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        names, theirs = [""] * self.plan.size, self.problem.names.coordinates
        for group in self.plan.groups:
            for label, column in zip(group.labels, group.columns, strict=True):
                names[self.order[column]] = f"{group.name}.{label}"
        for d in self.equations.defined:
            names[self.order[d.coordinate]] = theirs[self.coordinate_of(d.column)]
        for mine, other in zip(*self.elastic, strict=True):
            names[mine] = theirs[other]
        return tuple(names)

    @property
    def sharing(self) -> list[tuple[str, ...]]:
        """Names of the bodies whose poses depend on each coordinate."""
        found: list[list[str]] = [[] for _ in range(self.plan.size)]
        elastic = ((body, self.elastic_of(f)) for f, body in enumerate(self._deforming))
        for body, columns in (*enumerate(self.columns), *elastic):
            for column in self.order[columns]:
                found[column].append(self.problem.names.bodies[body])
        return [tuple(bodies) for bodies in found]


def in_natural_coordinates(problem: Problem) -> Problem:
    """The problem with natural coordinates chosen, valid for its numbers and its directions of differentiation.

    Raises AnalysisError if it reads Euler parameters, which natural coordinates do not have.
    """
    stack = directions_of(problem.theta, problem.theta_rho)
    joints = tree_joints(problem.model, problem.names.joints)
    fields = Fields(stack, MOST * (1 + len(joints)) + len(problem.names.coordinates))
    shared = list(shared_by_constraints(problem.model, problem.names, stack))
    plan = Planner(fields, joints, shared, problem.names.bodies).plan
    equations = equations_of(problem, fields, joints, plan)
    units = np.repeat([scales_of(problem.model, problem.theta).length, 1.0], [3, 9])  # of origin and rotation matrix
    poses = [fields.poses[i] / units[:, None] for i in range(len(joints))]
    columns = tuple(np.flatnonzero([not vanishes(pose[:, :, 1 + c], pose) for c in range(plan.size)]) for pose in poses)
    meets = np.zeros((plan.size, plan.size), bool)
    for i, used in enumerate(columns):
        # coordinates that move a body along different axes have no common inertia
        moves = (fields.poses[i][:, :, 1 + used].reshape(len(stack), 4, 3, -1) != 0.0).any(axis=(0, 1))
        meets[np.ix_(used, used)] |= moves.T @ moves
    trios = tuple(tuple(_trios(plan, fields.poses[i], set(used.tolist()))) for i, used in enumerate(columns))
    rows, met = np.nonzero(meets)
    system = NaturalSystem(problem, plan, equations, columns, trios, (rows, met))
    return replace(problem, system=system, names=names_of(system), least=None)


def _trios(plan: Plan, pose: np.ndarray, used: set[int]) -> Iterator[tuple[int, ...]]:
    """Components of points and vectors that move a body along x, y and z."""
    for group in plan.groups:
        if len(group.columns) == 3 and used.issuperset(group.columns):
            maps = pose[:, :, [1 + c for c in group.columns]].reshape(len(pose), 4, 3, 3)
            if not maps[:, :, ~np.eye(3, dtype=bool)].any():
                yield tuple(group.columns)


def _chosen(problem: Problem) -> NaturalSystem:
    return in_natural_coordinates(problem).system
