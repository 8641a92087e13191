"""Equations that contradict each other: what they leave open together stays open, whatever the coordinates do.

Along nu with J^T nu = 0 no small change of the coordinates changes nu . Phi. Equations that depend on each other and
agree keep it at zero; where it is not, the multipliers grow along nu with every step, and the motion means nothing.
"""

import numpy as np

from mbsim_cli.model.names import Names
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.natural.standing import Standing
from mbsim_cli.solve.redundancy import free_multipliers, row_lengths

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
