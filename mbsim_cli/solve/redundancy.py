"""Where equations depend on others: rank, determined multipliers, and directions that break the equations."""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import some_of
from mbsim_cli.kernels.algebra.linear_solve import REFINEMENTS, REGULARISATION
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Evaluable

RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
DETERMINED = 1e-7  # part of a combination, as rows are scaled, that may lie along free multipliers
TINY = 1e-12


def free_multipliers(J: np.ndarray) -> np.ndarray:
    """Vanishing combinations nu (m, k) of rows of Re J (m, n), orthonormal for rows of unit length; O(m^2 n)."""
    lengths = row_lengths(J)
    vectors, sizes, _ = np.linalg.svd(J.real / lengths[:, None])
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE))
    return vectors[:, rank:] / lengths[:, None]


def is_determined(J: np.ndarray, combinations: np.ndarray) -> np.ndarray:
    """Mask (q,) of the combinations (q, m) of multipliers that the equations of motion determine."""
    lengths = row_lengths(J)
    scaled = combinations / lengths
    along = scaled @ (free_multipliers(J) * lengths[:, None])
    return np.linalg.norm(along, axis=1) <= DETERMINED * np.linalg.norm(scaled, axis=1)


def undetermined_rows(J: np.ndarray) -> np.ndarray:
    """Rows (k,) of J whose own multipliers are not determined."""
    return np.flatnonzero(~is_determined(J, np.eye(len(J))))


def preimage(J: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The w (n, ...) whose J w is the part of multipliers (m, ...) in the range of J; as the kernels, analytic in J.

    Or of many time points at once: w (N, n, k) of J (N, m, n) and multipliers (N, m, k).
    """
    transposed = J.swapaxes(-1, -2)
    normal = transposed @ J
    trace = np.trace(normal, axis1=-2, axis2=-1)
    soft = np.where(J.any(axis=(-2, -1)), REGULARISATION * trace, 1.0)
    normal = normal + soft[..., None, None] * np.eye(J.shape[-1])
    w = np.linalg.solve(normal, transposed @ multipliers)
    for _ in range(REFINEMENTS - 1):
        w = w + np.linalg.solve(normal, transposed @ (multipliers - J @ w))
    return w


def kept_in_range(J: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Multipliers (m, ...), or (N, m, k), of least norm among those with the same forces; see ``preimage``."""
    return J @ preimage(J, multipliers)


def of_least_norm(J: np.ndarray, rows: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """``kept_in_range`` where equations depend on the independent ``rows``; elsewhere multipliers stay as they are."""
    return multipliers if rows.size == J.shape[-2] else kept_in_range(J, multipliers)


def without_columns(J: np.ndarray, held: np.ndarray) -> np.ndarray:
    """J (..., n) with zeros for coordinates that are held: forces on those do not determine multipliers."""
    rest = J.copy()
    rest[..., held] = 0.0
    return rest


def row_lengths(J: np.ndarray) -> np.ndarray:
    """Sizes (m,) of the rows of J, none zero."""
    return np.maximum(np.linalg.norm(J.real, axis=1), TINY)


PIVOT_TOLERANCE = 1e-9


class Partition(NamedTuple):
    """Independent rows of a Jacobian and the coordinates that they determine."""

    rows: np.ndarray
    columns: np.ndarray
    rank: int  # of the whole Jacobian

    def solve(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Dependent part of the solution of J x = right for fixed independent coordinates."""
        if self.rows.size == 0:
            return np.zeros((0, *right.shape[1:]), right.dtype)
        return np.linalg.solve(J[np.ix_(self.rows, self.columns)], right[self.rows])


def rank_and_pivots(a: np.ndarray) -> tuple[int, np.ndarray]:
    """Rank and columns, most independent first, by pivoted Gram-Schmidt done twice; importing scipy's takes longer."""
    left = a.copy()
    order = np.arange(a.shape[1])
    largest = 0.0
    for rank in range(min(a.shape)):
        rest = left[:, rank:]
        sizes = np.sqrt(np.add.reduce(rest * rest, axis=0))
        pivot = int(sizes.argmax())
        largest = max(largest, sizes[pivot])
        if sizes[pivot] <= PIVOT_TOLERANCE * max(1.0, largest):
            return rank, order
        chosen = rest[:, pivot].copy()
        rest[:, pivot] = rest[:, 0]
        rest[:, 0] = chosen
        order[rank], order[rank + pivot] = order[rank + pivot], order[rank]
        q = chosen / np.sqrt(chosen.dot(chosen))
        for _ in range(2):
            rest[:, 1:] -= q[:, None] * (q @ rest[:, 1:])
    return min(a.shape), order


def in_units(at: Evaluable) -> np.ndarray:
    """Real Jacobian (m, n) of an evaluated time point, in the mechanism's units, to find ranks from."""
    columns, rows = units_of(at.model, at.theta)
    return at.work.eq.J.real * columns / rows[:, None]


def partition_of(J: np.ndarray, free: np.ndarray, rows: np.ndarray) -> Partition:
    """Choose dependent coordinates among ``free`` and rows of a real J that determine them."""
    real = J[rows]
    rank = rank_and_pivots(real)[0]
    free_rank, order = rank_and_pivots(real[:, free])
    columns = free[order[:free_rank]]
    row_order = rank_and_pivots(real[:, columns].T)[1]
    return Partition(rows[row_order[:free_rank]], columns, rank)


# Contradicting equations: a combination of them stays violated for any small change of the coordinates.
#
# Along nu with J^T nu = 0 no small change of the coordinates changes nu . Phi. Equations that depend on each other and
# agree keep it at zero; where it is not, the multipliers grow along nu with every step, and the motion means nothing.

MOSTLY = 0.5  # share of the violations that must lie along free multipliers
INVOLVED = 0.1  # share of the largest gap that makes an equation one of those that contradict each other
SHOWN = 6
RAN_AWAY = 1e6  # residual, in its unit, of a diverged iteration, which shows nothing about nearby positions


DIRECT = 1e-7  # residual over the change of an equation along a direction, below which it is round-off
ROUND_OFF = 1e-10  # residual over the change of the model's numbers, the same
VIOLATED = 1e-3  # of the unit of a constraint: more than a long step leaves
STUCK = 1e-8  # the same, where a step fails
UNCONVERGED = 10.0  # times the accuracy of the derivatives of positions


def broken_identities(problem: Problem) -> np.ndarray:
    """Number (p,) of an equation without coordinates that each direction breaks, as ``Block.broken``."""
    found = np.zeros(problem.theta_rho.shape[1], np.int64)
    for parameter, number in problem.broken:
        if parameter < found.size:
            found[parameter] = number
    return found


def broken_equations(at: Evaluable, accuracy: float) -> np.ndarray:
    """Number (p,) of an equation that each direction violates for any change of the coordinates, or 0.

    ``accuracy`` is that of the derivatives of positions, relative.
    """
    return _broken(at.work.eq.J.real, at.out.dphi[0].real, at.sens.z.real, _change(at), accuracy)


def _change(at: Evaluable) -> np.ndarray:
    """By how much each direction (p,) changes the numbers of the model, one at most."""
    return np.minimum(1.0, np.abs(at.dtheta.real).max(axis=0))


def _broken(
    J: np.ndarray, left: np.ndarray, dz: np.ndarray, change: np.ndarray, accuracy: float | np.ndarray
) -> np.ndarray:
    """Numbers (..., p) of equations that stay violated, from J (..., m, n), dPhi (..., m, p) and dz (..., n, p)."""
    if not J.shape[-2]:
        return np.zeros((*J.shape[:-2], dz.shape[-1]), np.int64)
    moved = np.abs(left - J @ dz).max(axis=-2)
    mended = (np.abs(J) @ np.abs(dz)).max(axis=-2)
    allowed = DIRECT * moved + UNCONVERGED * accuracy * mended + ROUND_OFF * change
    sizes = np.abs(left)
    return np.where(sizes.max(axis=-2) > allowed, 1 + sizes.argmax(axis=-2), 0)


def changes_force(at: Evaluable, modes: np.ndarray, given: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Whether each direction (P,) changes the force along one of the ``modes`` (n, k), beyond round-off.

    Round-off is that of the ``given`` changes (n, P) of forces and of ``load`` (n,), the forces themselves.
    """
    left, sizes = np.abs(modes.T @ at.out.dG.real), np.abs(modes).T
    allowed = DIRECT * (sizes @ given) + ROUND_OFF * np.outer(sizes @ load, _change(at))
    return (left > allowed).any(axis=0)


def beyond_equations(names: Names) -> int:
    """Number in ``Block.broken`` of directions that drive a neutral motion: one more than that of the last equation."""
    return 1 + len(names.constraints) + len(names.identities)


class Consistency:
    """Examines stored time points for equations that depend on each other, at a time point ``at`` of its own, or None.

    None is for mechanisms whose equations are independent at the start. ``held`` are the coordinates that keep their
    values in an equilibrium, ``units`` (m,) the units of equations, ``broken`` (p,) the equations that directions break
    so far.
    """

    def __init__(self, problem: Problem, at: Evaluable | None, held: np.ndarray, units: np.ndarray, broken: np.ndarray):
        self._at: Any = at
        self._names, self._units, self._held, self.broken = problem.names, units, held, broken
        self._rows, self._equations = allocate.multiplier_sensors(problem.model)
        self._accuracy = problem.options.gradient_tolerance

    def broken_and_free(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray]:
        """``broken`` (N, p) and ``free`` (N, m) of ``Block`` at the rows of a record, ``free`` as at the first one.

        Derivatives of multipliers are completed where the record has some.
        """
        found, free = np.tile(self.broken, (record.time.size, 1)), np.zeros(record.lam.shape, bool)
        if self._at is None or not record.time.size:
            return found, free
        self._stand(record, 0)
        free[:, undetermined_rows(without_columns(self._at.work.eq.J, self._held))] = True
        if self.broken.size and self._at.p:
            breaks = self.complete(record, d_record) if d_record.position.shape[2] else self.breaking(record)
            for row, each in enumerate(breaks[:, : self.broken.size]):
                self.broken = found[row] = np.where(self.broken, self.broken, each)
        return found, free

    def complete(self, record: Record, d_record: SensitivityRecord) -> np.ndarray:
        """Add the turn of the range of J to derivatives of multipliers; return equations (N, p) that directions break.

        With J w = lambda this is (1 - P) J' w, P the projection onto the range: docs/theory/adjoint.md, section 7.
        """
        rows, at = record.time.size, self._at
        J = np.empty((rows, at.m, at.n), at.dtype)
        left, still = (np.empty((rows, at.m, at.p), at.dtype) for _ in range(2))
        for row in range(rows):
            at.sens.z[:] = d_record.position[row]
            self._stand(record, row)
            J[row], left[row], still[row] = at.work.eq.J, at.out.dphi[0], at.out.dphi[1]
        accuracy = np.maximum(self._accuracy, d_record.error)[:, None]
        broken = _broken(J.real, left.real, d_record.position.real, _change(at), accuracy)
        J = without_columns(J, self._held)
        for multipliers, derivatives in ((record.lam, d_record.lam), (record.reaction, d_record.reaction)):
            w = preimage(J, multipliers[..., None])[..., 0]
            turned = -still  # J' w, by Phi' at the velocities w less Phi' at rest, which holds the laws of time
            for row in range(rows):
                at.sens.z[:] = d_record.position[row]
                self._stand(record, row, w[row])
                turned[row] += at.out.dphi[1]
            derivatives += turned - kept_in_range(J, turned)
        d_record.sensors[:, self._rows] = d_record.reaction[:, self._equations]
        return broken

    def breaking(self, record: Record) -> np.ndarray:
        """The equations (N, p) that the directions break at all time points, whatever the coordinates do."""
        rows, at = record.time.size, self._at
        J, left = np.empty((rows, at.m, at.n)), np.empty((rows, at.m, at.p))
        at.sens.z[:] = 0.0
        for row in range(rows):
            self._stand(record, row)
            J[row], left[row] = at.work.eq.J.real, at.out.dphi[0].real
        dz = -np.linalg.pinv(J, rcond=RANK_TOLERANCE) @ left
        return _broken(J, left + J @ dz, dz, _change(at), self._accuracy)

    def contradiction(self, record: Record) -> tuple[int, str] | None:
        """The first row at which equations contradict each other, with a sentence."""
        if self._at is None:
            return None
        for row in np.flatnonzero(record.drift[:, 0].real > VIOLATED * self._units.min()):
            time, near = float(record.time[row]), record.expected[row]
            found = self.contradiction_at(record.position[row], near if near.size else None, time, VIOLATED)
            if found:
                return int(row), found
        return None

    def contradiction_at(
        self, position: np.ndarray, near: np.ndarray | None, time: float, least: float = STUCK
    ) -> str | None:
        """A sentence on equations that no position near one (n,) meets together, or None.

        Gaps count from ``least`` units of the equations on; the default is for positions from which the motion cannot
        go on. Angles are read ``near`` some where there are any.
        """
        at, units, names = self._at, self._units, self._names.constraints
        if at is None:
            return None
        at.state.z[:], at.state.zd[:] = position, 0.0
        if near is not None:
            at.work.kin.expected[:] = near
        at.evaluate(time)
        J, phi = at.work.eq.J.real, at.work.eq.phi.real
        if not (np.isfinite(J).all() and (np.abs(phi) < RAN_AWAY * units).all()):
            return None
        lengths = row_lengths(J)
        free = free_multipliers(J) * lengths[:, None]
        scaled = phi / lengths
        along = free @ (free.T @ scaled)
        left = np.abs(along * lengths)
        gaps = left / units
        if not gaps.max(initial=0.0) > least or np.linalg.norm(along) < MOSTLY * np.linalg.norm(scaled):
            return None
        worst = int(np.argmax(gaps))
        rows = [r for r in np.argsort(-gaps, kind="stable") if gaps[r] > INVOLVED * gaps[worst]]
        shown = some_of([f"'{names[r]}'" for r in [*sorted(rows[:SHOWN]), *rows[SHOWN:]]], SHOWN)
        return (
            f"constraints contradict each other at t = {time:.6g} s: no position near by meets {shown} together, and "
            f"'{names[worst]}' stays open by {left[worst]:.2g}; leave out one of them, or let laws agree"
        )

    def _stand(self, record: Record, row: int, velocity: np.ndarray | float = 0.0) -> None:
        """Evaluate a time point with such velocities."""
        self._at.state.z[:], self._at.state.zd[:] = record.position[row], velocity
        self._at.evaluate(record.time[row])
