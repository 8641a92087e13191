"""Why a closed mechanism could not go on: it locks, its position is singular, or nothing resists a coordinate."""

from typing import Any

import numpy as np

from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import NONE, FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve.faults.independence import Scales, independence, scales_at
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.least_squares import least_squares

OPEN = 1e-8  # m, in the mechanism's unit, or rad: above this no position satisfies the constraints
SINGULAR = 0.05  # of the independence that the constraints had at the start
NOTICED = 0.1  # share of an equation in a combination
NOTHING = 1e-11  # eigenvalue of the scaled inertia


class Diagnosis:
    """A mechanism after the failure of a step that ends at ``time``, from the position reached before (n,)."""

    def __init__(self, problem: Problem, theta: np.ndarray, time: float) -> None:
        self.problem, self.time = problem, time
        self.instant = Instant(problem, theta, np.zeros((theta.size, 0)))
        self.scales = scales_of(problem.model, theta)

    def sentence(self, status: Status, start: np.ndarray, rank: int, reached: np.ndarray) -> str | None:
        """What is wrong, or None where the position is not to blame; ``rank`` is that of the constraints."""
        scaled = reached / self.scales.columns
        try:
            near = least_squares(self._at, scaled)
            found = self._locked(near) or self._singular(start, rank, (near, scaled))
            return found or self._negative_inertia() or self._without_inertia(status)
        except np.linalg.LinAlgError:  # a motion that ran away beyond finite numbers tells nothing of positions
            return None

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constraints (m,) and their Jacobian (m, n), in the mechanism's units."""
        rows, columns = self.scales.rows, self.scales.columns
        self.instant.state.z[:] = x * columns
        self.instant.evaluate(self.time)
        eq = self.instant.work.eq
        return eq.phi / rows, eq.J * columns / rows[:, None]

    def _locked(self, near: np.ndarray) -> str | None:
        phi, names = self._at(near)[0], self.problem.names.constraints
        driven = np.flatnonzero(self.problem.model.constraints.law != NONE)
        if not driven.size or np.abs(phi).max() <= OPEN:
            return None
        worst = int(np.argmax(np.abs(phi)))
        owner = names[worst].partition(".")[0]
        alike = [r for r, name in enumerate(names) if name.partition(".")[0] == owner]
        alike = [r for r in alike if self.scales.names[r] == self.scales.names[worst]]
        gap = np.linalg.norm(phi[alike] * self.scales.rows[alike])
        drives = ", ".join(repr(names[r]) for r in driven)
        return (
            f"the mechanism locks at t = {self.time:.6g} s: no position was found that satisfies its constraints then; "
            f"the nearest one leaves {owner!r} open by {gap:.3g} {self.scales.names[worst]}; "
            f"does {drives} drive it further than it can go?"
        )

    def _singular(self, start: np.ndarray, rank: int, places: tuple[np.ndarray, ...]) -> str | None:
        if rank == 0:
            return None
        self._at(start / self.scales.columns)
        scales = scales_at(self.instant)
        usual = self._independence(start / self.scales.columns, rank, scales)[0]
        value, direction = min((self._independence(x, rank, scales) for x in places), key=lambda found: found[0])
        if value > SINGULAR * usual:
            return None
        share = np.where(self.problem.model.constraints.law == NONE, np.abs(direction), 0.0)
        share = share if share.max() > NOTICED else np.abs(direction)  # joints rather than what drives them
        name = self.problem.names.constraints[int(np.argmax(share))].partition(".")[0]
        return (
            f"the mechanism meets a singular position at t = {self.time:.6g} s: the constraints of {name!r} lose their "
            f"independence (to {value / usual:.2g} of that at the start), so that motions branch or forces grow beyond "
            "bounds; keep clear of it, or pass it with a smaller step"
        )

    def _independence(self, x: np.ndarray, rank: int, scales: Scales) -> tuple[float, np.ndarray]:
        """Smallest singular value that counts, and what combination of rows has it."""
        self._at(x)
        values, u, _ = independence(self.instant.work.eq.J, scales)
        return float(values[rank - 1]), u[:, rank - 1]

    def _negative_inertia(self) -> str | None:
        """Name the body that deforms whose shapes have less mass left than its stiffening takes from them."""
        tree: Any = self.problem.model.tree
        if not hasattr(tree, "deviation") or (tree.deviation == NONE).all():
            return None
        M = self.instant.out.M
        roots = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(roots, roots))
        if not values[0] < -NOTHING:
            return None
        columns = tree.column if isinstance(tree, FlexibleTree) else np.arange(len(M))
        first = np.searchsorted(columns, tree.elastic)
        shares = np.add.reduceat(vectors[:, 0] ** 2, first[:-1])
        name = self.problem.names.bodies[tree.flexible[int(np.argmax(shares))]]
        return (
            f"the inertia of {name!r} is negative before t = {self.time:.6g} s: its shapes together nearly move it as "
            "a whole, and `stiffening` by acceleration takes more than they have; a shorter step does not help, fewer "
            "modes or a frame on a chord do"
        )

    def _without_inertia(self, status: Status) -> str | None:
        """Name the coordinate that neither mass nor constraints resist, where equations are singular for that."""
        if status != Status.SINGULAR:
            return None
        M, J = self.instant.out.M, self.instant.work.eq.J
        roots = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(roots, roots) + J.T @ J)
        if not values[0] <= NOTHING:  # nor is it where it is no number
            return None
        name = self.problem.names.coordinates[int(np.argmax(np.abs(vectors[:, 0])))]
        return (
            f"the equations of motion are singular at t = {self.time:.6g} s: neither mass nor inertia resists {name!r} "
            "in this position"
        )
