"""A problem in natural coordinates: its model, names, and numbers at any theta."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mbsim_cli.model.codes import Measure, Sensor
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.flexible import MASS as OWN_MASS
from mbsim_cli.model.layout import (
    COM,
    GRAVITY,
    GROUND,
    INERTIA,
    MASS,
    NONE,
    FlexibleNatural,
    FlexibleTree,
    Measures,
    Model,
    Natural,
    Pairs,
    Sensors,
    freeze,
)
from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.natural.bases import Plan, Planner
from mbsim_cli.solve.natural.equations import Equations, Weld, equations_of
from mbsim_cli.solve.natural.fields import Fields, directions_of, nothing
from mbsim_cli.solve.natural.joints import Row, shared_by_constraints, tree_joints
from mbsim_cli.solve.natural.order import eliminated_last

NOTHING = np.zeros(0, np.int64)
SLIGHT = 1e-2  # of a mean body's inertia
MOST = 16  # coordinates of a body, at most: four points and vectors, and mixed ones


@dataclass(frozen=True)
class NaturalSystem:
    """What stands for the tree of a problem; ``order`` gives each coordinate of the plan its number."""

    problem: Problem
    plan: Plan
    equations: Equations
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
        pairs = {int(pair) for pair in (*model.measures.pair, *model.forces.pair) if pair != NONE}
        found = [*self.columns, *(self.pair_columns(int(model.pairs.a[k]), int(model.pairs.b[k])) for k in pairs)]
        for j, row in enumerate(self.rows):
            also = [d.coordinate for d in self.equations.defined if d.row == j]
            also += [c for weld in self.equations.welds if weld.row == j for c in self.elastic_of(self._welded(weld))]
            found.append(np.union1d(self.pair_columns(row.a, row.b), also).astype(np.int64))
        found += [np.append(self.columns[body], self.elastic_of(f)) for f, body in enumerate(self._deforming)]
        listed = np.flatnonzero(model.measures.kind == Measure.COORDINATES)
        return found + [self.mixed_columns(int(k)) for k in listed]

    @property
    def _deforming(self) -> np.ndarray:
        """Bodies that deform."""
        tree = self.problem.model.tree
        return tree.flexible if isinstance(tree, FlexibleTree) else NOTHING

    def elastic_of(self, f: int) -> np.ndarray:
        """Coordinates of the plan that are the elastic ones of the f-th of these."""
        tree = self.problem.model.tree
        return np.array([self.equations.elastic[c] for c in range(tree.elastic[f], tree.elastic[f + 1])], np.int64)

    def _welded(self, weld: Weld) -> int:
        """Number of the body that deforms that a weld holds a node on."""
        return int(self.problem.model.tree.node_body[weld.node])

    def pair_columns(self, a: int, b: int) -> np.ndarray:
        """Coordinates that two bodies depend on."""
        of = [self.columns[i] for i in (a, b) if i != GROUND]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *of]))

    def mixed_columns(self, measure: int) -> np.ndarray:
        """Coordinates that a measure of several joint coordinates lists."""
        measures = self.problem.model.measures
        if measure in self.equations.replaced:
            return np.zeros(0, np.int64)
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
        for i, used in enumerate(self.listed):
            pose = fields.poses[i]
            blocks.append(pose[:, :, 0])
            blocks.append(np.moveaxis(pose[:, :, 1 + used], 2, 1).reshape(len(theta), -1))
            moments = moments_of(theta, int(self.problem.model.tree.theta[i]))
            maps = pose[:, :, 1 + used].reshape(len(theta), 4, 3, -1)
            mass[:, used[:, None], used] += np.einsum("tjan,tjk,tkam->tnm", maps, moments, maps, optimize=True)
            gravity = theta[:, GRAVITY : GRAVITY + 3]
            weight[:, used] += np.einsum("tjan,tj,ta->tn", maps, moments[:, :, 0], gravity)
        blocks += [rigid.shape(theta) for rigid in self.plan.rigid]
        mass = mass[:, back][:, :, back]
        rows, columns = self.mass_entries
        return np.concatenate([*blocks, mass[:, rows, columns], weight[:, back]], axis=1)

    @cached_property
    def rigid_entries(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What an equation of rigidity depends on, among the coordinates that all bodies list one after the other.

        Where trios start, and single coordinates.
        """
        stack = directions_of(self.problem.theta, self.problem.theta_rho)
        fields, first, found = self.fields(stack), np.cumsum([0, *map(len, self.columns)]), []
        for rigid in self.plan.rigid:
            vectors = [fields.vector(rigid.body, x) for x in (rigid.a, rigid.b)]
            used = [any(not nothing(x[:, :, 1 + c], x) for x in vectors) for c in self.listed[rigid.body]]
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
        old, n, size = self.problem.model, self.plan.size, len(self.problem.theta)
        added, equations = len(self.rows), self.equations
        measure_block = size + 1 + 15 * np.arange(added)
        start = size + 1 + 15 * added
        pose = start + np.cumsum([0, *(12 * (1 + len(c)) for c in self.columns)])
        shape = pose[-1] + 6 * np.arange(len(self.plan.rigid))
        mass = pose[-1] + 6 * len(self.plan.rigid)
        rows, columns = self.mass_entries
        tree = Natural(
            parent=np.full(len(self.columns), GROUND),
            theta=old.tree.theta,
            column_kind=np.full(n, NONE),
            column_body=np.zeros(0, np.int64),
            first=np.cumsum([0, *map(len, self.columns)]),
            column=np.concatenate([NOTHING, *(self.order[c] for c in self.listed)]),
            trios=[len(trios) for trios in self.trios],
            pose=pose[:-1],
            rigid=[r.body for r in self.plan.rigid],
            shape=shape,
            rigid_first=np.cumsum([0, *(len(whole) + len(single) for whole, single in self.rigid_entries)]),
            rigid_entry=np.concatenate([NOTHING, *(part for entries in self.rigid_entries for part in entries)]),
            rigid_trios=[len(whole) for whole, _ in self.rigid_entries],
            defined=[len(equations.kept) + d.row for d in equations.defined],
            definition=[self.order[d.coordinate] for d in equations.defined],
            turning=np.reshape([[*self.order[g.columns], NONE][:3] for g in self.plan.groups if not g.point], (-1, 3)),
            mass_first=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]),
            mass_column=columns,
            mass=[mass],
            weight=[mass + len(rows)],
            least=NOTHING,
            swing=NOTHING,
        )
        pairs, measures = self._measures(measure_block.tolist())
        kept, count = equations.kept, len(old.measures.kind)
        constraints = old.constraints._replace(
            measure=[*old.constraints.measure[kept], *range(count, count + len(equations.added))],
            theta=[*old.constraints.theta[kept], *([size] * len(equations.added))],
            law=[*old.constraints.law[kept], *([NONE] * len(equations.added))],
        )
        return freeze(
            old._replace(
                tree=self._with_elastic(_whole(tree)._replace(least=self.least, swing=self.swing)),
                pairs=pairs,
                measures=_whole(measures),
                constraints=_whole(constraints),
                sensors=self._sensors(),
            )
        )

    def _with_elastic(self, tree: Natural) -> Natural | FlexibleNatural:
        """The same with bodies that deform, if there are any."""
        old, equations = self.problem.model.tree, self.equations
        if not isinstance(old, FlexibleTree):
            return tree
        first = self.order[list(equations.elastic.values())].min(initial=self.plan.size)
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

    def _measures(self, blocks: list[int]) -> tuple[Pairs, Measures]:
        """Measures, the added ones last, and pairs of bodies without columns; ``blocks`` are offsets of theta."""
        old, equations = self.problem.model, self.equations
        pairs = list(zip(old.pairs.a.tolist(), old.pairs.b.tolist(), strict=True))
        kind, pair, block = (array.tolist() for array in (old.measures.kind, old.measures.pair, old.measures.theta))
        listed = [self.order[self.mixed_columns(k)] if c == Measure.COORDINATES else [] for k, c in enumerate(kind)]
        for row in self.rows:
            if (row.a, row.b) not in pairs:
                pairs.append((row.a, row.b))
            kind.append(int(row.kind))
            pair.append(pairs.index((row.a, row.b)))
            listed.append([])
        block += blocks
        for j, k in enumerate(equations.replaced, len(old.measures.kind) + len(equations.added)):
            kind[k], pair[k], block[k] = kind[j], pair[j], block[j]
        first, flat = np.cumsum([0, *map(len, listed)]), np.concatenate([NOTHING, *listed]).astype(np.int64)
        a, b = np.array(pairs, np.int64).reshape(-1, 2).T
        return Pairs(a, b, np.zeros(len(pairs) + 1, np.int64), NOTHING, NOTHING), Measures(
            kind, pair, block, first, flat
        )

    def _sensors(self) -> Sensors:
        """Sensors; those of coordinates read measures."""
        old, equations = self.problem.model.sensors, self.equations
        kind, index = old.kind.copy(), old.index.copy()
        behind = len(self.problem.model.measures.kind) + len(equations.added) + len(equations.replaced)
        for j, (s, _) in enumerate(equations.sensed, behind):
            kind[s], index[s] = Sensor.MEASURE, j
        for s in np.flatnonzero(kind == Sensor.COORDINATE):
            index[s] = self.order[equations.elastic[int(old.index[s])]]
        for s in np.flatnonzero(old.kind == Sensor.MULTIPLIER):
            index[s] = equations.kept.index(int(old.index[s]))
        return old._replace(kind=kind, index=index)

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
    def least(self) -> np.ndarray:
        """Inertia (n,) of the coordinates if every body were a mean one: where there is none, constraints need some."""
        theta = self.problem.theta[None] + 0j
        fields, mass = self.fields(theta), self._mean_mass
        found, sizes = np.zeros(self.plan.size), []
        for base in self.plan.bases:
            size = max(np.linalg.norm(local(theta)[0].real) for local in base.locals[1:])
            maps = np.abs(fields.poses[base.body][0, :, 1:].real) ** 2
            found += mass * (maps[:3].sum(axis=0) + size * size * maps[3:].sum(axis=0))
            sizes.append(size)
        for d in self.equations.defined:
            slides = self.rows[d.row].kind == Measure.PROJECTION
            found[d.coordinate] = mass * (1.0 if slides else np.mean(np.square(sizes)))
        return SLIGHT * found[np.argsort(self.order)]

    @property
    def _mean_mass(self) -> float:
        """Mass of a mean body; nodes are none."""
        theta, tree = self.problem.theta, self.problem.model.tree
        if not isinstance(tree, FlexibleTree):
            return theta[tree.theta + MASS].mean()
        rigid = np.setdiff1d(np.arange(len(tree.theta)), [*tree.flexible, *tree.column_body[tree.node]])
        return np.append(theta[tree.theta[rigid] + MASS], theta[tree.block + OWN_MASS]).mean()

    @property
    def swing(self) -> np.ndarray:
        """Angle (n,) by which a coordinate turns bodies, or 0: what spins by itself holds no other in place."""
        shared, found = np.array([len(bodies) > 1 for bodies in self.sharing]), np.zeros(self.plan.size)
        for group in self.plan.groups:
            found[self.order[group.columns]] = 1.0 / group.arm
        return found * shared

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        names = [""] * self.plan.size
        for group in self.plan.groups:
            for label, column in zip(group.labels, group.columns, strict=True):
                names[self.order[column]] = f"{group.name}.{label}"
        for d in self.equations.defined:
            names[self.order[d.coordinate]] = self.problem.names.coordinates[self.coordinate_of(d.column)]
        for ours, theirs in zip(*self.elastic, strict=True):
            names[ours] = self.problem.names.coordinates[theirs]
        return tuple(names)

    @property
    def names(self) -> Names:
        """Names of everything; equations that are left out stand behind the identities."""
        old, gone = self.problem.names, set(range(len(self.problem.names.constraints))) - set(self.equations.kept)
        units = {column: "m" if group.point else "" for group in self.plan.groups for column in group.columns}
        back = np.argsort(self.order)
        mixed = {d.coordinate: old.coordinate_units[self.coordinate_of(d.column)] for d in self.equations.defined}
        mixed |= {k: old.coordinate_units[self.coordinate_of(c)] for c, k in self.equations.elastic.items()}
        return replace(
            old,
            coordinates=self.coordinate_names,
            coordinate_units=tuple((units | mixed)[int(c)] for c in back),
            constraints=self.constraint_names,
            constraint_units=self.constraint_units,
            identities=(*old.identities, *(old.constraints[i] for i in sorted(gone))),
        )

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Units of the equations."""
        kept = [self.problem.names.constraint_units[i] for i in self.equations.kept]
        added = ["m" if row.kind == Measure.PROJECTION else "rad" for row in self.equations.added]
        return (*kept, *added, *("1" for _ in self.plan.rigid))

    @property
    def sharing(self) -> list[tuple[str, ...]]:
        """Names of the bodies whose poses depend on each coordinate."""
        found: list[list[str]] = [[] for _ in range(self.plan.size)]
        for body, columns in zip(self.problem.names.bodies, self.columns, strict=True):
            for column in self.order[columns]:
                found[column].append(body)
        for f, body in enumerate(self._deforming):
            for column in self.order[self.elastic_of(f)]:
                found[column].append(self.problem.names.bodies[body])
        return [tuple(bodies) for bodies in found]

    @property
    def origins(self) -> tuple[str, ...]:
        """What each equation comes from."""
        special = {d.row: "definition" for d in self.equations.defined}
        special |= {weld.row: "node" for weld in self.equations.welds}
        added = (special.get(j, "joint") for j in range(len(self.equations.added)))
        return (*("model" for _ in self.equations.kept), *added, *("rigidity" for _ in self.plan.rigid))

    def broken(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of broken equations, as ``Block.broken``, among these names."""
        ours, theirs = self.names, self.problem.names
        every = (*ours.constraints, *ours.identities)
        return np.array([0 if k == 0 else 1 + every.index(theirs.equation(int(k))) for k in numbers], np.int64)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the equations."""
        kept = [self.problem.names.constraints[i] for i in self.equations.kept]
        return (*kept, *(row.name for row in self.equations.added), *(rigid.name for rigid in self.plan.rigid))


def _whole(group: Any) -> Any:
    """Arrays of whole numbers, also where there are none."""
    return type(group)(*(np.asarray(numbers, np.int64) for numbers in group))


def moments_of(theta: np.ndarray, o: int) -> np.ndarray:
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


def in_natural_coordinates(problem: Problem) -> Problem:
    """The problem with natural coordinates chosen, by its numbers and the directions that are wanted.

    Raises AnalysisError where it reads what natural coordinates do not have.
    """
    stack = directions_of(problem.theta, problem.theta_rho)
    joints = tree_joints(problem.model, problem.names.joints)
    fields = Fields(stack, MOST * (1 + len(joints)) + len(problem.names.coordinates))
    shared = list(shared_by_constraints(problem.model, problem.names, stack))
    plan = Planner(fields, joints, shared, problem.names.bodies).plan
    equations = equations_of(problem, fields, joints, plan)
    columns = tuple(
        np.flatnonzero([not nothing(fields.poses[i][:, :, 1 + c], fields.poses[i]) for c in range(plan.size)])
        for i in range(len(joints))
    )
    meets = np.zeros((plan.size, plan.size), bool)
    for i, used in enumerate(columns):
        moves = (fields.poses[i][:, :, 1 + used].reshape(len(stack), 4, 3, -1) != 0.0).any(axis=(0, 1))
        meets[np.ix_(used, used)] |= moves.T @ moves  # what moves a body along different axes has no common inertia
    trios = tuple(tuple(_trios(plan, fields.poses[i], set(used.tolist()))) for i, used in enumerate(columns))
    system = NaturalSystem(problem, plan, equations, columns, trios, np.nonzero(meets))
    return replace(problem, system=system, names=system.names)


def _trios(plan: Plan, pose: np.ndarray, used: set[int]) -> Iterator[tuple[int, ...]]:
    """Components of points and vectors that move a body along x, y and z."""
    for group in plan.groups:
        if len(group.columns) == 3 and used.issuperset(group.columns):
            maps = pose[:, :, [1 + c for c in group.columns]].reshape(len(pose), 4, 3, 3)
            if not maps[:, :, ~np.eye(3, dtype=bool)].any():
                yield tuple(group.columns)


def _chosen(problem: Problem) -> NaturalSystem:
    return in_natural_coordinates(problem).system
