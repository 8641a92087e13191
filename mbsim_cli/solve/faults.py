"""Messages on the cause of a failed analysis; singular positions that a run has passed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algebra.vectors import load3, point_of, rotate
from mbsim_cli.kernels.algorithms.equations.forces_on_bodies import is_tyre, quantities_of
from mbsim_cli.kernels.algorithms.motion.about_origin import pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import Kinematics
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.predictor import RINGS
from mbsim_cli.kernels.integrators.singular_passage import Watch
from mbsim_cli.model.codes import ALONG, Measure, Status
from mbsim_cli.model.coordinates import with_forces
from mbsim_cli.model.layout import AXIS, FRICTION, NONE, SLIP_X, SLIP_Y, FlexibleTree, Model, Names, Signals
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve.allocate import Evaluable, Instant
from mbsim_cli.system import cached_property

# How far constraints are from losing rank, in any units: rows count by their sizes, coordinates by their inertia.

LEAST_INERTIA = 1e-8  # of a coordinate, over the largest one, so that massless coordinates count too
LEAST_SIZE = 1e-12  # of a row, over the largest one


class JacobianSizes(NamedTuple):
    """Sizes of the rows and columns of a Jacobian (m, n), by which independence is measured."""

    rows: np.ndarray  # (m,) norms of the rows after their columns are divided by ``columns``
    columns: np.ndarray  # (n,) square roots of the inertia of each coordinate


def sizes_at(instant: Evaluable) -> JacobianSizes:
    """Sizes at an evaluated time point."""
    inertia = np.abs(np.diag(instant.out.M))
    columns = np.sqrt(np.maximum(inertia, LEAST_INERTIA * inertia.max()))
    rows = np.linalg.norm(instant.work.eq.J / columns, axis=1)
    return JacobianSizes(np.maximum(rows, LEAST_SIZE * rows.max()), columns)


def independence(J: np.ndarray, sizes: JacobianSizes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular values of rows of J (m, n), and their vectors (m, m) and (n, n), columns and rows."""
    u, values, v = np.linalg.svd(J / sizes.columns / sizes.rows[:, None])
    return values, u, v


OPEN = 1e-8  # m, in the mechanism's unit, or rad: above this no position satisfies the constraints
SINGULAR = 0.05  # of the independence that the constraints had at the start
NOTICED = 0.1  # share of an equation in a combination
VANISHING = 1e-4  # of the smallest eigenvalue at the start
SINGULAR_INERTIA = 1e-11  # eigenvalue of the scaled inertia below which nothing resists its motion


BISECTIONS = 40
VANISHED = 0.02  # share of its size behind the passage, below which a singular value counts as zero
MOVED = 1e-3  # share of a parameter's largest effect on constraints, above which it moves the singular combination
INVOLVED = 0.1  # share of the largest entry of u that makes a constraint one of the singular ones


class Passage(NamedTuple):
    """A singular position that the motion has passed."""

    time: float
    constraints: list[int]  # that lose their rank there
    breaks: np.ndarray  # (p,) whether derivatives by the parameter end there


class Rank(NamedTuple):
    """How far constraints are from losing rank, by the singular values of those that are independent at the start."""

    sizes: np.ndarray  # (k,) singular values
    u: np.ndarray  # (k, k) columns are vectors of them, on the side of the constraints
    v: np.ndarray  # (n, n) on the side of the coordinates
    of_all: float  # smallest singular value of all constraints at their rank


class Passages:
    """Finds passages of singular positions among the turns of the vectors that the time loop follows."""

    def __init__(self, stand: Callable[[], Evaluable], step: float, watch: Watch) -> None:
        self._stand, self._watch, self._h = stand, watch, step

    @cached_property
    def _at(self) -> Evaluable:
        return self._stand()

    def take(self) -> Iterator[Passage]:
        """Passages since the last call."""
        found, self._watch.count[2] = self._watch.count[2], 0
        for turn in range(found):
            passage = self._examine(turn)
            if passage is not None:
                yield passage

    def _examine(self, turn: int) -> Passage | None:
        """The passage before a turn, by bisection between two samples; None if no singular value vanishes."""
        self._go(turn, 0.0)
        sizes = sizes_at(self._at)
        behind = self._rank(sizes)
        before, after = self._watch.step[turn]
        late, early = 0.0, (after - before) * self._h
        for _ in range(BISECTIONS):
            middle = 0.5 * (early + late)
            self._go(turn, middle)
            rank = self._rank(sizes)
            # same sign of the smallest singular value: both vectors reverse, or neither
            same = (rank.u[:, -1] @ behind.u[:, -1]) * (rank.v[:, -1] @ behind.v[:, -1]) > 0.0
            late, early = (middle, early) if same else (late, middle)
        time = self._go(turn, late)
        there = self._rank(sizes)
        vanished = there.sizes < VANISHED * behind.sizes[-1]
        if not vanished.any() or there.of_all > VANISHED * behind.of_all:
            return None
        u = there.u[:, vanished]
        share = np.linalg.norm(u, axis=1)
        effect = self._at.out.dphi[0, self._watch.row] / np.sqrt(self._watch.largest)[:, None]
        breaks = np.abs(u.T @ effect).max(axis=0) > MOVED * np.abs(effect).max(axis=0)
        return Passage(time, self._watch.row[share > INVOLVED * share.max()].tolist(), breaks)

    def _go(self, turn: int, back: float) -> float:
        """Evaluate the motion some time before a turn was found, on the parabola that ends there; return the time."""
        watch = self._watch
        time = float(watch.step[turn, 1]) * self._h - back
        self._at.state.z[:] = watch.z[turn] - back * watch.zd[turn] + 0.5 * back * back * watch.zdd[turn]
        self._at.evaluate(time)
        return time

    def _rank(self, sizes: JacobianSizes) -> Rank:
        """The rank at the evaluated time point."""
        J, row = self._at.work.eq.J, self._watch.row
        values, u, v = independence(J[row], sizes._replace(rows=np.sqrt(self._watch.largest)))
        return Rank(values, u, v[: row.size].T, float(independence(J, sizes)[0][row.size - 1]))


class Diagnosis:
    """Finds the cause of a failed step that ends at ``time``."""

    def __init__(self, problem: Problem, theta: np.ndarray, time: float) -> None:
        self.problem, self.time = problem, time
        self.instant = Instant(problem, theta, np.zeros((theta.size, 0)))
        self.scales = scales_of(problem.model, theta)

    def sentence(self, status: Status, start: np.ndarray, rank: int, reached: np.ndarray) -> str | None:
        """The cause, or None if it is not the position ``reached`` (n,); the ``rank`` is that at the ``start``."""
        scaled = reached / self.scales.columns
        try:
            if (steep := self.steep(reached)) is not None:
                return steep
            near = self._nearest(scaled)
            found = self._locked(near) or self._singular(start, rank, (near, scaled))
            return found or self._negative_inertia() or self._without_inertia(status)
        except np.linalg.LinAlgError:  # a motion that diverged to huge numbers
            return None

    def locked(self, reached: np.ndarray) -> str | None:
        """The joint that locks, if the loops cannot be closed at the time; adaptive steps end just before it."""
        try:
            return self._locked(self._nearest(reached / self.scales.columns))
        except np.linalg.LinAlgError:
            return None

    def _nearest(self, x: np.ndarray) -> np.ndarray:
        """The position with the smallest constraint violation, searched from scaled coordinates (n,)."""
        from mbsim_cli.solve.least_squares import least_squares

        return least_squares(self._at, x)

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constraints (m,) and their Jacobian (m, n), in the mechanism's units."""
        rows, columns = self.scales.rows, self.scales.columns
        self.instant.state.z[:] = x * columns
        self.instant.evaluate(self.time)
        eq = self.instant.work.eq
        return eq.phi / rows, eq.J * columns / rows[:, None]

    def steep(self, reached: np.ndarray) -> str | None:
        """Name the force whose expression has an infinite derivative at coordinates (n,), as a root at zero."""
        signals = self.problem.model.signals
        if not isinstance(signals, Signals):
            return None
        self._at(reached / self.scales.columns)
        work: Any = self.instant.work.kin.signals
        for (f, component), place in self.problem.names.expressions.items():
            u = int(signals.of_force[f, component])
            begin, end = signals.offset[u], signals.offset[u] + signals.steps[u]
            if u != NONE and np.isfinite(work.value[begin:end]).all() and not np.isfinite(work.slope[begin:end]).all():
                return (
                    f"the force of {self.problem.names.forces[f]!r} has no finite derivative in the step to "
                    f"t = {self.time:.6g} s: {place} may take a root or power at zero, or atan2, asin or acos at "
                    "their ends; keep the argument away from there, as by a small number added to it"
                )
        return None

    def _locked(self, near: np.ndarray) -> str | None:
        """Name the joint that stays open at the nearest position, in scaled coordinates (n,), of a driven mechanism."""
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
        """Name the joint whose constraints lose their rank at one of some ``places`` in scaled coordinates (n,)."""
        if rank == 0:
            return None
        self._at(start / self.scales.columns)
        sizes = sizes_at(self.instant)
        usual = self._independence(start / self.scales.columns, rank, sizes)[0]
        value, direction = min((self._independence(x, rank, sizes) for x in places), key=lambda found: found[0])
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

    def _independence(self, x: np.ndarray, rank: int, sizes: JacobianSizes) -> tuple[float, np.ndarray]:
        """Smallest relevant singular value, and its combination of rows."""
        self._at(x)
        values, u, _ = independence(self.instant.work.eq.J, sizes)
        return float(values[rank - 1]), u[:, rank - 1]

    def _negative_inertia(self) -> str | None:
        """Name the flexible body whose stiffening takes more inertia from its shapes than they have."""
        name = body_of_negative_inertia(self.problem, self.instant.out.M)
        if name is None:
            return None
        return (
            f"the inertia of {name!r} is negative before t = {self.time:.6g} s: {NEGATIVE_INERTIA}; a shorter step "
            "does not help, fewer modes or a frame on a chord do"
        )

    def vanishing(self, start: np.ndarray, reached: np.ndarray) -> str | None:
        """Name the flexible body whose inertia vanishes up to ``reached``; adaptive steps end before it is negative."""
        if not hasattr(self.problem.model.tree, "elastic"):
            return None
        self._at(start / self.scales.columns)
        least = VANISHING * float(_inertias(self.instant.out.M)[0][0])
        self._at(reached / self.scales.columns)
        name = body_of_negative_inertia(self.problem, self.instant.out.M, least)
        if name is None:
            return None
        return (
            f"the inertia of {name!r} vanishes at t = {self.time:.6g} s: {NEGATIVE_INERTIA} as it bends; a shorter "
            "step does not help, fewer modes, a frame on a chord or several bodies in its place do"
        )

    def _without_inertia(self, status: Status) -> str | None:
        """Name the coordinate that neither mass nor constraints resist, where equations are singular for that."""
        if status != Status.SINGULAR:
            return None
        M, J = self.instant.out.M, self.instant.work.eq.J
        roots = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(roots, roots) + J.T @ J)
        if not values[0] <= SINGULAR_INERTIA:  # also where it is NaN
            return None
        name = self.problem.names.coordinates[int(np.argmax(np.abs(vectors[:, 0])))]
        return (
            f"the equations of motion are singular at t = {self.time:.6g} s: neither mass nor inertia resists {name!r} "
            "in this position"
        )


def _inertias(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of a mass matrix (n, n) with diagonal entries of one."""
    roots = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    return np.linalg.eigh(M / np.outer(roots, roots))


NEGATIVE_INERTIA = "its shapes together nearly move it as a whole, and `stiffening` takes more than they have"


def body_of_negative_inertia(problem: Problem, M: np.ndarray, least: float = -SINGULAR_INERTIA) -> str | None:
    """The flexible body whose stiffening takes more inertia from its shapes than they have, by the mass matrix.

    The smallest eigenvalue of the scaled matrix is below the ``least`` one then.
    """
    tree: Any = problem.model.tree
    if not hasattr(tree, "elastic") or not np.isfinite(M).all():
        return None
    values, vectors = _inertias(M)
    if not values[0] < least:
        return None
    columns = tree.column if isinstance(tree, FlexibleTree) else np.arange(len(M))
    first = np.searchsorted(columns, tree.elastic)
    shares = np.add.reduceat(vectors[:, 0] ** 2, first[:-1])
    return problem.names.bodies[tree.flexible[int(np.argmax(shares))]]


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

HOPELESS = 100.0  # expected steps over max_steps at which a run ends, at the first check
SURELY = 1.2  # the same after many steps


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


def step_sentence(
    status: Status, time: float, problem: Problem, coordinate: int, size: float, tried: int, fastest: float
) -> str:
    """Describe an integration that cannot go on from ``time``; the last step that was tried had about some ``size``.

    ``fastest`` is the rate of the motion that bounds the steps, 1/s, or 0 where that is unknown.
    """
    options, names = problem.options, problem.names.coordinates
    stiff = "" if options.implicit else "integrator: esdirk if the model is stiff, "
    where = f"; the error is largest in '{names[coordinate]}'" if names else ""
    advice = f"look for a jump in a force or law at that time, or try {stiff}a larger tolerance"
    if status == Status.STEP_TOO_SMALL:
        return f"no step is short enough for the tolerance at t = {time:.6g} s, not even {size:.1e} s{where}; {advice}"
    most, so_far = (f"{count:,}".replace(",", " ") for count in (options.max_steps, tried))
    if tried == options.max_steps:
        return (
            f"all {most} steps that max_steps allows were tried before t = {time:.6g} s, the last ones of {size:.1e} s"
            f"{where}; {advice} or more max_steps"
        )
    begun = f"{so_far} steps have come to t = {time:.6g} s, the last ones of {size:.1e} s"
    if fastest:
        return (
            f"{begun}: at this pace the run takes some {tried * options.duration / max(time, size):.1e} steps. "
            f"The model is stiff, or moves fast: a motion has a rate of about {fastest:.0e} 1/s{where}; "
            "try integrator: esdirk, whose steps may be longer than a fast motion that is damped or hardly excited, "
            "or a smaller stiffness or damping, or more max_steps"
        )
    pace = tried * options.duration / (options.max_steps * time) if time > 0.0 else math.inf
    times = f"{math.floor(min(HOPELESS, pace))} times " if pace >= 2.0 else ""
    return (
        f"{begun}: at this pace the run takes more than {times}the {most} steps that max_steps allows{where}; {advice}"
    )


SHORT = 1e-5  # share of the way between two iterates over which the difference for a tangent is taken
FLAT = 0.1  # sine between a wheel's axis and the road's normal
SOFT = 0.5  # share of the constraint violations that remains after a correction
SLIGHT = 1e-3  # open constraints over a correction, below which they are round-off
FAST = 0.2  # change of accelerations in a step, of their size

Stand = Callable[[Model], Evaluable]


class Failed(NamedTuple):
    """A step whose Newton iteration did not converge."""

    time: float
    step: float
    state: State  # the last iterate
    correction: np.ndarray  # (n,) the last one, that led to it
    of_multipliers: np.ndarray  # (m,) the same
    weight: np.ndarray  # (n,) inertia of coordinates
    past: np.ndarray  # (n, k) backward differences of accelerations up to the step before
    gaps: np.ndarray  # (m,) of constraints that the correction was to close, by the inertia that they meet
    open: np.ndarray  # (m,) their residuals after it


_SHORTER = "try a smaller step, or formulation: ali1p-rtdyn1 with integrator: esdirk, which chooses its steps"


def why_not_converged(failed: Failed, problem: Problem, theta: np.ndarray, stand: Stand) -> str | None:
    """A sentence on why Newton's iteration did not converge, or None if no cause is found."""
    if not all(np.isfinite(part).all() for part in (*failed.state[:4], failed.correction, failed.of_multipliers)):
        return None
    softest, found = _softest(failed, problem.names), list[str | None]()
    if softest:
        found, advice = [softest], "state a larger one, or none"
    else:
        found, advice = [_too_fast(failed, problem.names), _bent(failed, problem, theta, stand)], _SHORTER
    causes = "; ".join(cause for cause in found if cause)
    return f"the Newton iteration did not converge at t = {failed.time:.6g} s: {causes}; {advice}"


def _softest(failed: Failed, names: Names) -> str | None:
    """The constraint that the correction closed least, or None if it closed them well."""
    left, move = np.linalg.norm(failed.open), np.sqrt((failed.weight * failed.correction**2).sum())
    if left <= max(SOFT * np.linalg.norm(failed.gaps), SLIGHT * move):
        return None
    softest = names.constraints[int(np.argmax(np.abs(failed.open)))]
    return f"corrections do not close constraints, least of all '{softest}', for the penalty is too small"


def _too_fast(failed: Failed, names: Names) -> str | None:
    """How accelerations changed in the last steps, or None if the change was small."""
    size, first, second = np.sqrt((failed.weight[:, None] * failed.past[:, :3] ** 2).sum(axis=0))
    if first <= FAST * size:
        return None
    c = int(np.argmax(failed.weight * failed.past[:, 1] ** 2))
    now, unit = failed.past[c, 0], f"{names.coordinate_units[c]}/s^2"
    change = f"that of '{names.coordinates[c]}' from {now - failed.past[c, 1]:.3g} to {now:.3g} {unit} in the last one"
    if second**2 > RINGS * first**2:
        return f"accelerations ring from step to step of {failed.step:g} s, {change}, as stiff forces let them"
    return f"the motion is too fast for a step of {failed.step:g} s: accelerations change much, {change}"


def _bent(failed: Failed, problem: Problem, theta: np.ndarray, stand: Stand) -> str:
    """The most nonlinear term between the last iterates: a force, or inertia and constraints by a coordinate."""
    model, forces = problem.model, problem.model.forces

    def size(force: np.ndarray) -> float:
        return float((force * force / failed.weight).sum())

    without = _bend(failed, stand(with_forces(model, 0, 0)))
    alone = [stand(with_forces(model, f, f + 1)) for f in range(forces.kind.size)]
    bends = [size(_bend(failed, at) - without) for at in alone]
    if max(bends, default=0.0) <= size(without):
        c = int(np.argmax(without * without / failed.weight))
        return f"what bends most between its iterates is the motion itself, in '{problem.names.coordinates[c]}'"
    f = int(np.argmax(bends))
    how = _tyre(alone[f].work.kin, model, theta.real, f) if is_tyre(forces.kind[f]) else ""
    return f"the force of '{problem.names.forces[f]}' bends most between its iterates{how}"


def _bend(failed: Failed, at: Evaluable) -> np.ndarray:
    """Deviation (n,) of forces at the last iterate from their tangent at the one before; ``at`` is left at the last."""
    h, last, state = failed.step, failed.state, at.state

    def forces(back: float) -> np.ndarray:
        """Forces (n,) between the iterates; ``back`` is the fraction of the way from the last to the one before."""
        x = back * failed.correction
        state.z[:] = last.z.real + 0.25 * h * h * x
        state.zd[:] = last.zd.real + 0.5 * h * x
        state.zdd[:] = last.zdd.real + x
        state.lam[:] = last.lam.real + back * failed.of_multipliers
        at.evaluate(failed.time)
        return at.work.eq.G.real.copy()

    begin, near = forces(1.0), forces(1.0 - SHORT)
    return forces(0.0) - begin - (near - begin) / SHORT


def _tyre(kin: Kinematics, model: Model, theta: np.ndarray, f: int) -> str:
    """The state of the tyre of force f on the road, if extreme; ``kin`` is of a model with this force alone."""
    forces, o = model.forces, model.forces.theta[f]
    R, r = pose_of(kin, model.pairs.b[forces.pair[f]])
    center, axis = point_of(R, r, load3(theta, o)), rotate(R, load3(theta, o + AXIS))
    _, slope, _ = law_value(model.laws, theta, forces.law[f, 0], center[0].real)
    sine = np.linalg.norm(np.cross(np.real(axis), (-slope, 0.0, 1.0))) / np.hypot(1.0, slope)
    if sine < FLAT:
        return f", whose wheel lies flat on the road ({np.degrees(np.arcsin(sine)):.1f} degrees)"
    load, slip_x, slip_y, *_ = np.real(quantities_of(kin, 0))
    asked, bound = np.hypot(theta[o + SLIP_X] * slip_x, theta[o + SLIP_Y] * slip_y), theta[o + FRICTION] * load
    return f", whose slips ask for {asked / bound:.2g} times its friction" if asked > bound > 0.0 else ""


COINCIDE = 1e-100  # m
UNDEFINED = "the equations of motion are undefined at t = {:.6g} s: {}"
NO_DIRECTION = "has no direction, for the points that it lies between coincide"
ROUND_OFF = 1e-12  # distance in the mechanism's unit, to which loops are closed, that has no direction


def require_defined(problem: Problem, instant: Instant) -> None:
    """Raise AnalysisError with the name of the element that has no value, or no direction, at the evaluated start."""
    found = _undefined_element(problem, instant, 0.0) or _without_direction(problem, instant)
    if found is not None:
        raise AnalysisError(found)


def undefined_at(
    problem: Problem, theta: np.ndarray, time: float, position: np.ndarray, velocity: np.ndarray
) -> str | None:
    """A sentence on the element that has no finite value at a position (n,) and velocity (n,), or None."""
    if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
        return None
    instant = Instant(problem, theta, np.zeros((theta.size, 0)))
    instant.state.z[:], instant.state.zd[:] = position, velocity
    instant.evaluate(time)
    return _undefined_element(problem, instant, time)


def _undefined_element(problem: Problem, instant: Instant, time: float) -> str | None:
    """A sentence on the constraint or force that is not finite at an evaluated time point, or None where all are."""
    eq, model, names = instant.work.eq, problem.model, problem.names
    wrong = ~(np.isfinite(eq.phi) & np.isfinite(eq.phi2) & np.isfinite(eq.J).all(axis=1))
    for row in np.flatnonzero(wrong)[:1]:
        reason = _reason(instant, int(model.constraints.measure[row]))
        return UNDEFINED.format(time, f"the constraint '{names.constraints[row]}' {reason}")
    if np.isfinite(eq.G).all():
        return None
    for f, kind in enumerate(model.forces.kind):
        alone = Instant(replace(problem, model=with_forces(model, f, f + 1)), instant.theta, instant.dtheta[:, :0])
        alone.state.z[:], alone.state.zd[:] = instant.state.z, instant.state.zd
        alone.work.kin.expected[:] = instant.work.kin.expected
        alone.evaluate(time)
        if not np.isfinite(alone.work.eq.G).all():
            measure = int(model.forces.measure[f]) if kind in ALONG else NONE
            reason = _expression(problem, alone, f) or _reason(alone, measure)
            return UNDEFINED.format(time, f"the force of '{names.forces[f]}' {reason}")
    return None


def _without_direction(problem: Problem, instant: Instant) -> str | None:
    """A sentence on the constraint or force between points that coincide but for round-off, or None."""
    model, names = problem.model, problem.names
    near = model.measures.kind == Measure.DISTANCE
    if not near.any():
        return None
    near &= np.abs(instant.out.measures) <= ROUND_OFF * scales_of(model, problem.theta).length
    along = np.flatnonzero(np.isin(model.forces.kind, list(ALONG)))
    for row in np.flatnonzero(near[model.constraints.measure]):
        return UNDEFINED.format(0.0, f"the constraint '{names.constraints[row]}' {NO_DIRECTION}")
    for f in along[near[model.forces.measure[along]]]:
        return UNDEFINED.format(0.0, f"the force of '{names.forces[f]}' {NO_DIRECTION}")
    return None


def _expression(problem: Problem, alone: Instant, f: int) -> str | None:
    """The expression of the force whose value is not finite, with its place in the file."""
    signals = problem.model.signals
    if not isinstance(signals, Signals):
        return None
    work: Any = alone.work.kin.signals
    for component in range(3):
        u = int(signals.of_force[f, component])
        if u != NONE and not np.isfinite(work.value[signals.offset[u] + signals.result[u]]):
            place = problem.names.expressions.get((f, component), "its expression")
            if place.startswith("cables."):
                return (
                    f"is no finite number: {place} has no value, or on the path of its cable two places coincide or a "
                    "point lies within a pulley"
                )
            return f"is no finite number: {place} may divide by zero, overflow, or take a root or logarithm below zero"
    return None


def _reason(instant: Instant, measure: int) -> str:
    """Why an element along a measure, or ``NONE``, has no value."""
    distance = measure != NONE and instant.model.measures.kind[measure] == Measure.DISTANCE
    if distance and not abs(instant.out.measures[measure]) > COINCIDE:
        return NO_DIRECTION
    return "is no finite number; it may divide by zero or overflow"
