"""Why a mechanism could not go on: it locks, its position is singular, nothing resists a coordinate; in sentences."""

import math
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import NONE, FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve.instant import Instant, Standing
from mbsim_cli.solve.least_squares import least_squares

# How far constraints are from losing rank, in any units: rows count by their sizes, coordinates by their inertia.

LEAST_INERTIA = 1e-8  # share of the largest one, so that massless coordinates count too
LEAST_SIZE = 1e-12  # of a row, the same


class Scales(NamedTuple):
    """What makes rows and columns of a Jacobian comparable."""

    rows: np.ndarray  # (m,) their sizes over those of the columns
    columns: np.ndarray  # (n,) roots of the inertia that each coordinate feels


def scales_at(instant: Instant | Standing) -> Scales:
    """Scales at an evaluated instant."""
    inertia = np.abs(np.diag(instant.out.M))
    columns = np.sqrt(np.maximum(inertia, LEAST_INERTIA * inertia.max()))
    sizes = np.linalg.norm(instant.work.eq.J / columns, axis=1)
    return Scales(np.maximum(sizes, LEAST_SIZE * sizes.max()), columns)


def independence(J: np.ndarray, scales: Scales) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values of rows of J (m, n), and their vectors (m, m) and (n, n), columns and rows."""
    u, values, v = np.linalg.svd(J / scales.columns / scales.rows[:, None])
    return values, u, v


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

    def locked(self, reached: np.ndarray) -> str | None:
        """What locks, if no position closes the mechanism at the time; adaptive steps end just before such a time."""
        try:
            return self._locked(least_squares(self._at, reached / self.scales.columns))
        except np.linalg.LinAlgError:
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
        by = "a larger tolerance, or by ali3p-rtdyn1" if self.problem.options.adaptive else "a smaller step"
        return (
            f"the mechanism meets a singular position at t = {self.time:.6g} s: the constraints of {name!r} lose their "
            f"independence (to {value / usual:.2g} of that at the start), so that motions branch or forces grow beyond "
            f"bounds; keep clear of it, or pass it with {by}"
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


# Sentences for the ways in which an analysis can fail: what, when, where, and what to try.

_CAUSES = {
    Status.NO_CONVERGENCE: "the Newton iteration did not converge",
    Status.SINGULAR: "the equations of motion are singular",
    Status.NOT_FINITE: "a number overflowed or is undefined",
}
_ADVICE = {
    Status.NO_CONVERGENCE: "try a smaller step, or look for a jump in a force or law at that time",
    Status.SINGULAR: "is there a coordinate that no mass or inertia resists, or a locked position?",
    Status.NOT_FINITE: "try a smaller step, and look for a zero length or an overflowing law at that time",
}

HOPELESS = 100.0  # times max_steps that a run would take at its pace, when that is looked at first
SURELY = 2.0  # the same of one that has tried many steps


def sentence(status: Status, time: float, problem: Problem, zdd: np.ndarray, phi: np.ndarray) -> str:
    """Describe a failure at ``time`` by the accelerations (n,) and constraints (m,) of the last iterate."""
    names, size = problem.names, np.abs(zdd)
    where = ""
    if phi.size:
        worst = int(np.argmax(np.abs(phi)))
        where = f"; the most violated constraint is '{names.constraints[worst]}' ({abs(phi[worst]):.2g})"
    elif names.coordinates:
        worst = int(np.argmax(np.where(np.isfinite(size), size, np.inf)))
        where = f"; the largest acceleration is that of '{names.coordinates[worst]}' ({size[worst]:.2g})"
    return f"{_CAUSES[status]} at t = {time:.6g} s{where}; {_ADVICE[status]}"


def step_sentence(status: Status, time: float, problem: Problem, size: float, coordinate: int, tried: int) -> str:
    """Describe an integration that cannot go on from ``time``; the last step that was tried had about some ``size``."""
    stiff = "" if problem.options.implicit else "integrator: esdirk if the model is stiff, "
    names = problem.names.coordinates
    where = f"; the error is largest in '{names[coordinate]}'" if names else ""
    advice = f"look for a jump in a force or law at that time, or try {stiff}a larger tolerance"
    if status == Status.STEP_TOO_SMALL:
        return f"no step is short enough for the tolerance at t = {time:.6g} s, not even {size:.1e} s{where}; {advice}"
    most, so_far = (f"{count:,}".replace(",", " ") for count in (problem.options.max_steps, tried))
    if tried < problem.options.max_steps:
        pace = tried * problem.options.duration / (problem.options.max_steps * time) if time > 0.0 else math.inf
        times = min(HOPELESS, math.floor(pace))
        return (
            f"{so_far} steps have come to t = {time:.6g} s, the last ones of {size:.1e} s: at this pace the run takes "
            f"more than {times:.0f} times the {most} steps that max_steps allows{where}; {advice}"
        )
    return (
        f"all {most} steps that max_steps allows were tried before t = {time:.6g} s, the last ones of {size:.1e} s"
        f"{where}; {advice} or more max_steps"
    )
