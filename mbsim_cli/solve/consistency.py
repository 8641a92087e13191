"""Derivatives where equations depend on others: directions that break them, and multipliers that turn with J.

A direction breaks equations that depend on each other where it moves them apart: nu . dPhi is not zero for some nu with
J^T nu = 0. Next to the model the mechanism cannot be assembled then, and nothing has a derivative.

Multipliers are kept in the range of J, lambda = P lambda; their derivatives as solved for miss that J turns. With
J w = lambda the whole is P lambda' + (1 - P) J' w. Derivation: docs/theory/sensitivities.md, section 5.
"""

import numpy as np

from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.instant import Instant, Standing
from mbsim_cli.solve.redundancy import (
    RANK_TOLERANCE,
    free_multipliers,
    kept_in_range,
    preimage,
    row_lengths,
    undetermined_rows,
    without_columns,
)

# Equations that contradict each other: what they leave open together stays open, whatever the coordinates do.
#
# Along nu with J^T nu = 0 no small change of the coordinates changes nu . Phi. Equations that depend on each other and
# agree keep it at zero; where it is not, the multipliers grow along nu with every step, and the motion means nothing.

MOSTLY = 0.5  # share of what is open that must lie along free multipliers
INVOLVED = 0.1  # share of the largest gap that makes an equation one of those that contradict each other
SHOWN = 6
RAN_AWAY = 1e6  # units that something is open by where an iteration diverged, which tells nothing of positions near


def contradiction(at: Instant | Standing, names: Names, units: np.ndarray, least: float, time: float) -> str | None:
    """A sentence on equations that no position near an evaluated one meets together, or None.

    ``units`` (m,) are those of the equations, in which a gap counts from ``least`` on.
    """
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
    shown = ", ".join(f"'{names.constraints[r]}'" for r in sorted(rows[:SHOWN]))
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return (
        f"constraints contradict each other at t = {time:.6g} s: no position near by meets {shown}{more} together, and "
        f"'{names.constraints[worst]}' stays open by {left[worst]:.2g}; leave out one of them, or let laws agree"
    )


DIRECT = 1e-7  # of what a direction moves the equations by
ROUND_OFF = 1e-10  # of a change of the model's numbers by one
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


def broken_equations(at: Instant | Standing, accuracy: float) -> np.ndarray:
    """Number (p,) of an equation that each direction leaves open, whatever the coordinates do, or 0.

    ``accuracy`` is that of the derivatives of positions, relative.
    """
    return _broken(at.work.eq.J.real, at.out.dphi[0].real, at.sens.z.real, _change(at), accuracy)


def _change(at: Instant | Standing) -> np.ndarray:
    """By how much each direction (p,) changes the numbers of the model, one at most."""
    return np.minimum(1.0, np.abs(at.dtheta.real).max(axis=0))


def _broken(
    J: np.ndarray, left: np.ndarray, dz: np.ndarray, change: np.ndarray, accuracy: float | np.ndarray
) -> np.ndarray:
    """Numbers (..., p) of equations left open, of J (..., m, n), dPhi (..., m, p) and dz (..., n, p)."""
    if not J.shape[-2]:
        return np.zeros((*J.shape[:-2], dz.shape[-1]), np.int64)
    moved = np.abs(left - J @ dz).max(axis=-2)
    mended = (np.abs(J) @ np.abs(dz)).max(axis=-2)
    allowed = DIRECT * moved + UNCONVERGED * accuracy * mended + ROUND_OFF * change
    sizes = np.abs(left)
    return np.where(sizes.max(axis=-2) > allowed, 1 + sizes.argmax(axis=-2), 0)


class Consistency:
    """Looks at stored instants of a mechanism whose equations depend on each other.

    ``held`` coordinates are those that something else holds, in an equilibrium; ``units`` (m,) those of equations.
    """

    def __init__(self, problem: Problem, at: Instant | Standing, held: np.ndarray, units: np.ndarray) -> None:
        self._at, self._names, self._units = at, problem.names, units
        self._held = held
        self._rows, self._equations = allocate.multiplier_sensors(problem.model)
        self._accuracy = problem.options.gradient_tolerance

    def free_multipliers(self, record: Record, row: int) -> np.ndarray:
        """Mask (m,) of the multipliers that the motion does not determine at an instant."""
        self._stand(record, row)
        mask = np.zeros(self._at.m, dtype=bool)
        mask[undetermined_rows(self._jacobian())] = True
        return mask

    def complete(self, record: Record, d_record: SensitivityRecord) -> np.ndarray:
        """Let the multipliers of all instants turn with J; return the equations (N, p) that the directions break."""
        rows, at = record.time.size, self._at
        J = np.empty((rows, at.m, at.n), at.dtype)
        left, still = (np.empty((rows, at.m, at.p), at.dtype) for _ in range(2))
        for row in range(rows):
            self._vary(record, d_record, row, 0.0)
            J[row], left[row], still[row] = at.work.eq.J, at.out.dphi[0], at.out.dphi[1]
        accuracy = np.maximum(self._accuracy, d_record.error)[:, None]
        broken = _broken(J.real, left.real, d_record.position.real, _change(at), accuracy)
        J = without_columns(J, self._held)
        for multipliers, derivatives in ((record.lam, d_record.lam), (record.reaction, d_record.reaction)):
            w = preimage(J, multipliers[..., None])[..., 0]
            turned = -still  # J' w: laws of time, which Phi' holds too, do not know w
            for row in range(rows):
                self._vary(record, d_record, row, w[row])
                turned[row] += at.out.dphi[1]
            derivatives += turned - kept_in_range(J, turned)
        d_record.sensors[:, self._rows] = d_record.reaction[:, self._equations]
        return broken

    def _vary(self, record: Record, d_record: SensitivityRecord, row: int, velocity: np.ndarray | float) -> None:
        """Evaluate an instant with such velocities, along its derivatives."""
        self._at.sens.z[:] = d_record.position[row]
        self._stand(record, row, velocity)

    def breaking(self, record: Record) -> np.ndarray:
        """The equations (N, p) that the directions break at all instants, whatever the coordinates do."""
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
        for row in np.flatnonzero(record.drift[:, 0].real > VIOLATED * self._units.min()):
            time, near = float(record.time[row]), record.expected[row]
            found = self._contradiction(record.position[row], near if near.size else None, time, VIOLATED)
            if found:
                return int(row), found
        return None

    def contradiction_at(self, position: np.ndarray, expected: np.ndarray, time: float) -> str | None:
        """The same at a position (n,) from which the motion cannot go on."""
        return self._contradiction(position, expected, time, STUCK)

    def _contradiction(self, position: np.ndarray, near: np.ndarray | None, time: float, least: float) -> str | None:
        """A sentence on gaps of ``least`` at a position, with angles ``near`` some where there are any."""
        at = self._at
        at.state.z[:], at.state.zd[:] = position, 0.0
        if near is not None:
            at.work.kin.expected[:] = near
        at.evaluate(time)
        return contradiction(at, self._names, self._units, least, time)

    def _stand(self, record: Record, row: int, velocity: np.ndarray | float = 0.0) -> None:
        """Evaluate an instant with such velocities."""
        self._at.state.z[:], self._at.state.zd[:] = record.position[row], velocity
        self._at.evaluate(record.time[row])

    def _jacobian(self) -> np.ndarray:
        return without_columns(self._at.work.eq.J, self._held)
