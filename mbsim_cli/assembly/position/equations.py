"""Constraint equations at t = 0 without compiled code: values, Jacobian, rates; groups that share no coordinates."""

import cmath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.measures import Identity
from mbsim_cli.assembly.tree.kinematics import Poses, columns_at, measured, poses, poses_of_columns
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model import layout
from mbsim_cli.model.codes import ROTATIONS, TRANSLATIONS, Measure
from mbsim_cli.model.coordinates import among, kinds, motion_of_columns, moved_by, of_columns
from mbsim_cli.model.layout import NONE, P_A, P_B, P_C, P_P, STEP, FlexibleTree, Measures, Pairs
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import Scales, unit_near
from mbsim_cli.spec.expressions.named_numbers import connected
from mbsim_cli.spec.geometry import Scalar
from mbsim_cli.system import cached_property

# plain numbers: members of an enumeration are slow to look up
COORDINATES, EULER_NORM, ANGLE = map(int, (Measure.COORDINATES, Measure.EULER_NORM, Measure.ANGLE))
OF_COORDINATES = (COORDINATES, EULER_NORM)


def of_coordinates(table: Measures, measure: int, theta: Sequence[Scalar], z: np.ndarray) -> tuple[Scalar, np.ndarray]:
    """Value of a measure that reads coordinates alone, and its derivatives by them."""
    kind, offset = table.kind[measure], int(table.theta[measure])
    factors = np.array(theta[offset : offset + len(z)]) if kind == COORDINATES else z
    value, slope = factors @ z, factors if kind == COORDINATES else 2.0 * factors
    if isinstance(table.curves, layout.Curves) and (law := table.curves.law[measure]) != NONE:
        sign = theta[offset + len(z)]
        x = sign * z[-1]
        taken, by_x, _ = law_value(table.curves.laws, np.asarray(theta), law, x)
        value, slope = value - taken, slope + np.append(np.zeros(len(z) - 1), -sign * by_x)
    return value, slope


class InitialMeasure(NamedTuple):
    """A coordinate of a cut joint that has an initial value, or only an initial rate."""

    measure: int
    value: int  # theta index
    rate: int  # theta index
    coordinate: str
    independent: bool  # else the value is not an equation, only the rate


@dataclass(frozen=True)
class Equations:
    """Constraints of a problem, m of them, then the declared values and rates of cut joints."""

    problem: Problem
    initial_measures: Sequence[InitialMeasure] = ()
    _begun: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def theta(self) -> list[float]:
        """Numbers of the model."""
        return self.problem.theta.tolist()

    @property
    def m(self) -> int:
        """Number of constraints."""
        return len(self.problem.model.constraints.measure)

    @cached_property
    def of_position(self) -> list[int]:
        """Rows that the position must satisfy: all but those whose target is the initial value."""
        automatic = {index for index, _ in self.problem.automatic}
        targets = self.problem.model.constraints.theta.tolist()
        declared = (self.m + i for i, initial in enumerate(self.initial_measures) if initial.independent)
        return [*(i for i, target in enumerate(targets) if target not in automatic), *declared]

    @cached_property
    def needed(self) -> frozenset[int]:
        """The same rows, to look up."""
        return frozenset(self.of_position)

    @cached_property
    def rows(self) -> list[tuple[int, int, int]]:
        """Measure, theta index of the target, law."""
        table = self.problem.model.constraints
        rows = list(zip(table.measure.tolist(), table.theta.tolist(), table.law.tolist(), strict=True))
        return rows + [(initial.measure, initial.value, NONE) for initial in self.initial_measures]

    @cached_property
    def followers(self) -> dict[int, int]:
        """Columns that rows are less by."""
        followers = self.problem.model.constraints.followers
        column = followers.column.tolist() if isinstance(followers, layout.Followers) else []
        return {row: c for row, c in enumerate(column) if c != NONE}

    def at(
        self, theta: Sequence[Scalar], z: np.ndarray, rows: Sequence[int] | None = None,
        bodies: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Equations (zero where automatic) and their Jacobian, or those of some ``rows`` between ``bodies`` alone."""
        model, rows = self.problem.model, range(len(self.rows)) if rows is None else rows
        complex_step = np.iscomplexobj(z) or isinstance(theta[0], complex)  # all of theta, then
        phi = np.zeros(len(rows), dtype=complex if complex_step else float)
        columns = np.array(columns_at(model.tree, theta, z.tolist()))
        at = poses_of_columns(model.tree, theta, columns.tolist(), bodies)
        J = np.zeros((len(rows), len(columns)), dtype=phi.dtype)
        needed, followers = self.needed, self.followers
        starts, _ = self.laws_at_start(theta)
        for i, row in enumerate(rows):
            measure, target, _ = self.rows[row]
            value = self._measure(theta, columns, at, measure, J[i])
            if row in followers:
                value = value - columns[followers[row]]
                J[i, followers[row]] -= 1.0
            if row in needed:
                phi[i] = value - theta[target] - starts[row]
                if model.measures.kind[measure] == ANGLE:
                    phi[i] -= 2.0 * cmath.pi * np.round(phi[i].real / (2.0 * cmath.pi))
        if isinstance(model.tree, FlexibleTree):
            J = J @ motion_of_columns(model.tree, theta, z)
        return phi, J

    def laws_at_start(self, theta: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Value and rate of the law of each row at t = 0, zero where it has none; the latest are kept."""
        if self._begun.get("theta") is not theta:
            which = [law for *_, law in self.rows]
            numbers = np.asarray(theta) if any(law != NONE for law in which) else theta
            both = [law_value(self.problem.model.laws, numbers, law, 0.0) for law in which]
            values, rates = [value for value, *_ in both], [rate for _, rate, _ in both]
            self._begun.update(theta=theta, found=(values, rates))
        return self._begun["found"]

    def rates(self, theta: Sequence[Scalar], z: np.ndarray, zd: np.ndarray) -> np.ndarray:
        """Time derivatives of all rows."""
        found = self.at(theta, z)[1] @ zd - self.laws_at_start(theta)[1]
        for i, initial in enumerate(self.initial_measures):
            found[self.m + i] -= theta[initial.rate]
        return found

    def _measure(self, theta: Sequence[Scalar], z: np.ndarray, at: Poses, measure: int, row: np.ndarray) -> Scalar:
        """Value of a measure at the columns z; fills its derivatives by them."""
        table, pairs = self.problem.model.measures, self.problem.model.pairs
        kind, offset = int(table.kind[measure]), int(table.theta[measure])
        if kind in OF_COORDINATES:
            which = table.coordinate[table.first[measure] : table.first[measure + 1]]
            value, slope = of_coordinates(table, measure, theta, z[which])
            np.add.at(row, which, slope)
            return value
        pair = table.pair[measure]
        columns = pairs.column[pairs.first[pair] : pairs.first[pair + 1]]
        value, row[columns] = measured(at, pairs, kind, pair, theta, offset)
        return value


SAMPLES = 3
NOTHING = 1e-9  # derivative, relative to the terms that it is the sum of, that counts as none
_GEOMETRIC = (Measure.PROJECTION, Measure.DOT, Measure.ANGLE)


def wanted_rows(packed: Any) -> list[bool]:
    """Whether each equation depends on coordinates, as out-of-plane ones of planar loops do not; tried at random."""
    table, pairs = packed.measures.table(), packed.pairs.table()
    columns = (table.kind.tolist(), table.pair.tolist(), table.theta.tolist())
    measures = [tuple(column[measure] for column in columns) for measure in packed.constraints.measure]
    kinds = packed.tree.column_kind
    if not len(kinds):
        return [False] * len(measures)
    if not any(kind in _GEOMETRIC for kind, *_ in measures):
        return [True] * len(measures)
    reach = np.where(among(kinds, ROTATIONS), np.pi, 1.0).tolist()  # in general position
    draw = Random(0).uniform  # numpy.random takes some milliseconds to import
    places = [np.array([draw(-most, most) for most in reach]) for _ in range(SAMPLES)]
    return packed.system.settle(partial(_wanted, packed.tree, pairs, measures, places), by_theta=True)


def _wanted(
    tree: Any, pairs: Pairs, measures: Sequence[tuple[int, ...]], places: Sequence[np.ndarray], system: System
) -> list[bool]:
    """``wanted_rows`` by kind, pair and block of measures at ``places``, translations times the unit of length."""
    rows, wanted = [i for i, (kind, *_) in enumerate(measures) if kind in _GEOMETRIC], [True] * len(measures)
    values = system.theta.values()
    theta, units = values.tolist(), np.ones(len(tree.column_kind))
    units[among(tree.column_kind, TRANSLATIONS)] = _length(tree, measures, values)
    for place in places:
        if not rows:
            break
        at = poses_of_columns(tree, theta, (place * units).tolist())
        for i in rows:
            kind, pair, block = measures[i]
            row = measured(at, pairs, kind, pair, theta, block)[1]
            sizes = _sizes(at, pairs, kind, pair, theta, block)
            wanted[i] = any(abs(slope) > NOTHING * size for slope, size in zip(row, sizes, strict=True))
        rows = [i for i in rows if not wanted[i]]
    return wanted


def _length(tree: Any, measures: Sequence[tuple[int, ...]], theta: np.ndarray) -> float:
    """Unit of length that fits the points of joints and equations in the frames of their bodies."""
    blocks = np.array([block for kind, _, block in measures if kind == Measure.PROJECTION], np.int64)
    starts = np.concatenate([tree.theta + P_P, tree.theta + P_C, blocks + P_A, blocks + P_B])
    return unit_near(float(np.abs(theta[starts[:, None] + np.arange(3)].real).max(initial=0.0)))


def _sizes(at: Poses, pairs: Pairs, kind: int, pair: int, theta: Sequence[Scalar], block: int) -> Iterator[float]:
    """Sizes of the terms of derivatives of a geometric measure by the columns of its pair: lengths, where it is one."""
    lever = 1.0
    if kind == Measure.PROJECTION:
        places = (at.frame(pairs.a[pair])[1], at.frame(pairs.b[pair])[1], theta[block + P_A : block + P_A + 6])
        lever = max(max(map(abs, place)) for place in places)
    for column in pairs.column[pairs.first[pair] : pairs.first[pair + 1]].tolist():
        yield lever * max(map(abs, at.w[column])) + max(map(abs, at.v[column])) * (kind == Measure.PROJECTION)


def left_open(problem: Problem, identities: Sequence[Identity]) -> tuple[np.ndarray, np.ndarray]:
    """Violations (r,) of identities, which no coordinates change, and their derivatives by the parameters (r, p)."""
    first, n = problem.model.tree.initial[0], kinds(problem.model.tree).size

    def values(theta: list[Scalar]) -> np.ndarray:
        at = poses(problem.model.tree, theta, theta[first : first + n])
        found: list[Scalar] = [0.0] * len(identities)
        for k, each in enumerate(identities):
            if not each.automatic:
                value, _ = measured(at, problem.model.pairs, each.kind, each.pair, theta, each.block)
                found[k] = value - theta[each.target]
        return np.array(found)

    derivatives = np.zeros((len(identities), problem.theta_rho.shape[1]))
    if not identities:
        return np.zeros(0), derivatives
    for k in np.flatnonzero(problem.theta_rho[_read(problem, identities)].any(axis=0)):
        derivatives[:, k] = values((problem.theta + 1j * STEP * problem.theta_rho[:, k]).tolist()).imag / STEP
    return values(problem.theta.tolist()), derivatives


def _read(problem: Problem, identities: Sequence[Identity]) -> np.ndarray:
    """Mask of the numbers that identities read: joint frames, initial position, their own."""
    tree, mask = problem.model.tree, np.zeros(problem.theta.size, dtype=bool)
    for offset in tree.theta:
        mask[offset : offset + layout.MASS] = True
    mask[tree.initial[0] : tree.initial[0] + kinds(tree).size] = True
    for identity in identities:
        mask[identity.block : identity.block + layout.MEASURE_SIZE] = True
        mask[identity.target] = True
    return mask


KEPT = 8  # positions at which equations are remembered


class Group:
    """Equations by the numbers of their rows (k,) and coordinates (l,), lengths in the mechanism's unit.

    Coordinates are in units ``units`` (l,), rows in ``row_units``; ``turns`` (l,) is the mask of angles. Values that
    are declared of cut joints are further rows: ``every`` lists all of them, ``reads`` the places in ``columns`` of
    what each reads. ``bodies``, in ascending order, are those that the coordinates move against each other.
    """

    def __init__(
        self, whole: Equations, every: list[int], columns: np.ndarray, bodies: list[int], reads: list[np.ndarray],
        scales: Scales,
    ) -> None:  # fmt: skip
        self._whole, self._every, self._reads, self.columns, self.bodies = whole, every, reads, columns, bodies
        self.rows = np.array([row for row in every if row < whole.m], np.int64)
        self.m, self.row_units, self.units = len(self.rows), scales.rows[every], scales.columns[columns]
        self.of_position = [place for place, row in enumerate(every) if row in whole.needed]
        self.initial_measures = [whole.initial_measures[row - whole.m] for row in every if row >= whole.m]
        self.is_geometric = bool(bodies or self.initial_measures)  # others are linear, but for norms
        self.turns = among(kinds(whole.problem.model.tree)[columns], ROTATIONS)
        self._known: dict[bytes, tuple] = {}  # latest evaluations, by position

    def at(self, theta: Sequence[Scalar], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations (zero where automatic) and their Jacobian, in these units; for reading only, as they are cached."""
        kept_for, found = self._known.get(z.tobytes(), (None, None))
        if kept_for is not theta:
            if self.is_geometric:
                position = np.zeros(len(self._whole.problem.independent), z.dtype)
                position[self.columns] = z * self.units
                phi, J = self._whole.at(theta, position, self._every, self.bodies)
                J = J[:, self.columns]
            else:
                phi, J = self._of_coordinates(theta, z * self.units)
            found = phi / self.row_units, J * self.units / self.row_units[:, None]
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[z.tobytes()] = theta, found
        return found

    def _of_coordinates(self, theta: Sequence[Scalar], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations that read coordinates alone, and their Jacobian, in the units of the model."""
        table, needed = self._whole.problem.model.measures, set(self.of_position)
        phi, J = np.zeros(len(self._every)), np.zeros((len(self._every), len(z)))
        starts, _ = self._whole.laws_at_start(theta)
        for i, (row, reads) in enumerate(zip(self._every, self._reads, strict=True)):
            measure, target, _ = self._whole.rows[row]
            value, slope = of_coordinates(table, measure, theta, z[reads])
            np.add.at(J[i], reads, slope)
            if i in needed:
                phi[i] = value - theta[target] - starts[row]
        return phi, J


def groups(equations: Equations, scales: Scales) -> list[Group]:
    """The groups of equations that share coordinates: none changes with those of others."""
    model = equations.problem.model
    table, pairs = model.measures, model.pairs
    reads, bodies = list[np.ndarray](), list[set[int]]()
    for row, (k, _, _) in enumerate(equations.rows):
        if table.kind[k] in OF_COORDINATES:
            reads.append(of_columns(model.tree, table.coordinate[table.first[k] : table.first[k + 1]]))
            bodies.append(set())
            continue
        pair = table.pair[k]
        columns = pairs.column[pairs.first[pair] : pairs.first[pair + 1]]
        if row in equations.followers:
            columns = np.append(columns, equations.followers[row])
        reads.append(moved_by(model.tree, columns))
        bodies.append(_between(model.tree.parent, int(pairs.a[pair]), int(pairs.b[pair])))
    found = []
    for rows in connected([which.tolist() for which in reads]):
        columns = np.array(sorted({c for row in rows for c in reads[row].tolist()}), np.int64)
        moved = sorted(set().union(*(bodies[row] for row in rows)))
        places = [np.searchsorted(columns, reads[row]) for row in rows]
        found.append(Group(equations, rows, columns, moved, places, scales))
    return found


def _between(parent: np.ndarray, a: int, b: int) -> set[int]:
    """Bodies that are moved on the way from one to another, which have higher numbers than those that carry them."""
    found = set()
    while a != b:
        a, b = max(a, b), min(a, b)
        found.add(a)
        a = int(parent[a])
    return found
