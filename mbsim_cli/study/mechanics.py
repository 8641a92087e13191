"""A mechanism at one time point, for programs with a loop of their own: mass matrix, forces, accelerations, kinematics.

Coordinates q (n,) are those of the spanning tree, in the order and with the names of result files (Euler parameters
are four, "-J.angle" holds the negative of a coordinate). The equations of motion are
M(q) q'' + J(q)^T lambda = Q(q, q', t), Phi(q, t) = 0. Every call is one evaluation by the kernel that also assembles
the start of a run, so nothing further is compiled. Paper 000, equations (4)-(20).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import AnalysisError, UsageError, require_names
from mbsim_cli.kernels.algorithms.equations.signals import SETTLED
from mbsim_cli.kernels.compiler.jit import bound
from mbsim_cli.kernels.drivers.observe import move_places, vary_places
from mbsim_cli.model.layout import STEP, FlexibleTree, LoadedSignals
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.initial import LOADED_ITERATIONS, assemble, forces_by_multipliers, require_closed, require_settled
from mbsim_cli.solve.redundancy import in_units, rank_and_pivots
from mbsim_cli.spec.geometry import Geometry, carries
from mbsim_cli.spec.reading.messages import unknown

Array = np.ndarray
SINGULAR = "the accelerations cannot be found: is there a coordinate that no mass or inertia resists?"
KEPT = 1e-9  # relative: constraints that the chosen ones must imply
REACHED = 1e-9  # part of the forces that drives may miss
_WEIGHTS = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0  # of the stages of a step
PROJECTIONS, CLOSED = 8, 1e-13  # corrections of positions after a step, at most, and the change that ends them


class State(NamedTuple):
    """Positions and velocities (n,) of all coordinates."""

    position: Array
    velocity: Array


class Derivatives(NamedTuple):
    """A value, and its derivatives by the coordinates, their velocities, and the p parameters: one trailing axis."""

    value: Array
    by_position: Array  # (..., n)
    by_velocity: Array  # (..., n)
    by_parameter: Array  # (..., p), at fixed q and q'


class Constraints(NamedTuple):
    """The m equations of loops, constraints and norms of Euler parameters at a state."""

    value: Array  # (m,) Phi
    jacobian: Array  # (m, n) d Phi / d q
    rate: Array  # (m,) d Phi / d t along the velocity
    curvature: Array  # (m,) d^2 Phi / d t^2 where all q'' are zero: J q'' = -curvature
    by_parameter: Array  # (m, p) of Phi, at fixed q
    names: tuple[str, ...]


class Motion(NamedTuple):
    """Motion of k places, global components."""

    names: tuple[str, ...]
    position: Array  # (k, 3)
    rotation: Array  # (k, 3, 3) axes of the body to global axes
    velocity: Array  # (k, 3)
    angular_velocity: Array  # (k, 3)
    acceleration: Array  # (k, 3)
    angular_acceleration: Array  # (k, 3)
    jacobian: Array  # (k, 6, n): velocity and angular velocity by q'
    # by q, q' and the parameters, each (k, 6, 2 n + p); None where they are not asked for
    d_pose: Array | None = None  # of the position, and the small rotation about global axes
    d_velocity: Array | None = None  # of the velocity and the angular velocity
    d_acceleration: Array | None = None  # of the acceleration and the angular acceleration


class _Places(NamedTuple):
    """Requested places: their motion at a time point, and its variations, are written into arrays."""

    names: tuple[str, ...]
    move: Callable[[], Any]
    pose: Array  # (k, 12)
    motion: Array  # (k, 12)
    jacobian: Array  # (k, 6, n)
    vary: Callable[[], Any] | None  # None where derivatives have not been asked for
    varied: tuple[Array, Array, Array]  # (k, 6, 2 n + p), padded


class Mechanics:
    """A mechanism at fixed values of its parameters. Calls share work arrays: one object belongs to one thread.

    Angles between bodies are read within half a turn of their values at the start.
    """

    def __init__(self, assembled: Assembled):
        """Take an assembled model; raises AnalysisError where the mechanism cannot be assembled."""
        from scipy.linalg.lapack import dgesv  # slow to import

        self._lapack = dgesv
        problem: Problem = assembled.problem if assembled.problem.system is None else assembled.problem.system.problem
        options = replace(problem.options, formulation="ali3p-rtdyn1", start="declared")
        self._assembled, self._problem = assembled, replace(problem, options=options)
        initial = assemble(self._problem, motion_only=True)
        require_closed(self._problem, initial.residual)
        self._start = State(initial.state.z.copy(), initial.state.zd.copy())
        self._expected = initial.expected.copy()
        self._theta, names = initial.theta, problem.names
        self.coordinates, self.coordinate_units = names.coordinates, names.coordinate_units
        self.constraint_names, self.parameters = names.constraints, names.parameters
        self.bodies = names.bodies
        self._n, self._p = len(self.coordinates), len(self.parameters)
        self._dtheta = initial.dtheta[:, : self._p]
        self._units = units_of(self._problem.model, self._theta)[1]  # of constraints (m,)
        self._plain = Instant(self._problem, self._theta, np.zeros((self._theta.size, 0)))
        self._varied: Instant | None = None
        self._rows: Array | None = None  # independent constraints
        self._places: dict[tuple[tuple[str, ...] | None, bool], _Places] = {}

    def __repr__(self) -> str:
        return f"<mbsim mechanics: {self._n} coordinates, {len(self.constraint_names)} constraints>"

    def _at(self, derivatives: bool, t: float, q: Any, v: Any = None, a: Any = None, lam: Any = None) -> Instant:
        """Evaluate at a state; along q, q' and all parameters where ``derivatives`` are asked for."""
        at = self._directions() if derivatives else self._plain
        z, zd, zdd, multipliers, *_ = at.state
        z[:] = self._vector("q", q)
        zd[:] = 0.0 if v is None else self._vector("v", v)
        zdd[:] = 0.0 if a is None else self._vector("a", a)
        multipliers[:] = 0.0 if lam is None else lam
        if len(at.angles):
            at.work.kin.expected[at.angles] = self._expected[at.angles]
        at.evaluate(t)
        return at

    @property
    def _loaded(self) -> bool:
        """Whether forces depend on multipliers."""
        return isinstance(self._problem.model.signals, LoadedSignals)

    def _require_forces(self) -> None:
        if self._loaded:
            but = "only accelerations, steps and runs solve for these"
            raise AnalysisError(f"forces depend on multipliers here, or friction on loads (dynamic); {but}")

    def _vector(self, name: str, values: Any) -> Any:
        found = np.asarray(values, dtype=float)
        if found.shape != (self._n,):
            raise UsageError(f"{name} has shape {found.shape}, not ({self._n},): {', '.join(self.coordinates)}")
        return found

    def _directions(self) -> Instant:
        """The work arrays of evaluations along unit directions of q, of q', and of the parameters."""
        if self._varied is None:
            n = self._n
            dtheta = allocate.padded_directions(np.hstack([np.zeros((len(self._theta), 2 * n)), self._dtheta]), float)
            found = self._varied = Instant(self._problem, self._theta, dtheta, beside=self._plain)
            found.sens.z[:, :n] = found.sens.zd[:, n : 2 * n] = np.eye(n)
        return self._varied

    def _split(self, value: Array, d: Array) -> Derivatives:
        """A value and the parts of its derivatives (..., 2 n + p)."""
        n, p = self._n, self._p
        d = d[..., : 2 * n + p].copy()
        return Derivatives(value, d[..., :n], d[..., n : 2 * n], d[..., 2 * n :])

    def state(self, t: float = 0.0) -> State:
        """The assembled start, or the motion of the file's forward analysis at a time, s."""
        if t == 0.0:
            return State(self._start.position.copy(), self._start.velocity.copy())
        if not (np.isfinite(t) and t > 0.0) or self._assembled.problem.options.analysis != "forward_dynamics":
            raise UsageError("state must be 0, or a time of forward dynamics in seconds")
        from mbsim_cli.solve.linear.equations import at_time

        options = replace(self._problem.options, start=self._assembled.problem.options.start)
        none = np.zeros((self._problem.theta.size, 0))
        names = replace(self._problem.names, parameters=(), parameter_units=())
        point = at_time(replace(self._problem, options=options, theta_rho=none, names=names), float(t))
        return State(point.z, point.zd)

    def mass_matrix(self, q: Any, t: float = 0.0, *, derivatives: bool = False) -> Any:
        """M (n, n); by_position (n, n, n), by_velocity zero, by_parameter (n, n, p)."""
        if not derivatives:
            return self._at(False, t, q).out.M.copy()
        at = self._at(True, t, q)
        value, still, zdd = at.out.M.copy(), at.out.dG.copy(), at.state.zdd
        columns = np.empty((self._n, *still.shape))
        for column in range(self._n):
            zdd[:] = 0.0
            zdd[column] = 1.0
            at.evaluate(t)
            np.subtract(at.out.dG, still, out=columns[:, column])
        return self._split(value, columns)

    def forces(self, q: Any, v: Any, t: float = 0.0, *, derivatives: bool = False) -> Any:
        """Q (n,): forces of elements, weights, and inertia forces of velocities. Without constraints M q'' = Q."""
        self._require_forces()
        at = self._at(derivatives, t, q, v)
        value = -at.work.eq.G
        return self._split(value, -at.out.dG) if derivatives else value

    def accelerations(self, q: Any, v: Any, t: float = 0.0, *, forces: Any = None, derivatives: bool = False) -> Any:
        """q'' (n,) of a state that meets the constraints; ``forces`` (n,) act on the coordinates besides.

        Raises AnalysisError where the mass matrix is singular on the motions that constraints allow, or where
        multipliers that forces read do not converge.
        """
        at = self._at(False, t, q, v)
        load = -at.work.eq.G if forces is None else self._vector("forces", forces) - at.work.eq.G
        if not len(self.constraint_names):
            self._solve(at.out.M, load)
            value, rows, lam, kkt = load, None, None, at.out.M.copy()
        else:
            value, rows, lam, kkt = self._constrained(at, load)
            for _ in range(LOADED_ITERATIONS if self._loaded else 0):
                at = self._at(False, t, q, v, value, lam)
                load = -at.work.eq.G if forces is None else self._vector("forces", forces) - at.work.eq.G
                change, rows, more, kkt = self._constrained(at, load)
                value, lam = value + change, lam + more
                if np.abs(more).max() <= SETTLED * np.abs(lam).max():
                    break
            if self._loaded:
                require_settled(more, at)
        if not derivatives:
            return value
        at = self._at(True, t, q, v, value, lam)
        right = at.out.dG if rows is None else np.concatenate([at.out.dG, at.out.dphi[2][rows]])
        return self._split(value, -np.linalg.solve(kkt, right)[: self._n])

    def _constrained(self, at: Instant, load: Array) -> tuple[Array, Array, Array, Array]:
        """Accelerations, independent constraints, multipliers (m,) and the matrix of both."""
        J, phi2, n = at.work.eq.J, at.work.eq.phi2, self._n
        for _ in range(2):
            if self._rows is None:
                rank, order = rank_and_pivots(in_units(at).T)
                self._rows = np.sort(order[:rank])
            rows = self._rows
            kkt = np.zeros((n + rows.size, n + rows.size))
            kkt[:n, :n], kkt[:n, n:], kkt[n:, :n] = at.out.M, J[rows].T, J[rows]
            if self._loaded:
                kkt[:n, n:] -= forces_by_multipliers(at)[:, rows]
            try:
                x = np.linalg.solve(kkt, np.concatenate([load, -phi2[rows]]))
            except np.linalg.LinAlgError:
                x = np.full(len(kkt), np.nan)
            residual = abs(J @ x[:n] + phi2)
            if np.isfinite(x).all() and (residual <= KEPT * (abs(J) @ abs(x[:n]) + abs(phi2) + 1.0)).all():
                lam = np.zeros(len(phi2))
                lam[rows] = x[n:]
                return x[:n], rows, lam, kkt
            self._rows = None  # others are independent here
        raise AnalysisError(SINGULAR)

    def constraints(self, q: Any, v: Any = None, t: float = 0.0) -> Constraints:
        """Phi with its Jacobian, and its derivatives by time; ``v`` None: at rest."""
        at = self._at(True, t, q, v)
        eq, n, p = at.work.eq, self._n, self._p
        by = at.out.dphi[0][:, 2 * n : 2 * n + p].copy()
        return Constraints(eq.phi.copy(), eq.J.copy(), eq.phi1.copy(), eq.phi2.copy(), by, self.constraint_names)

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, t: float = 0.0, *, drives: Sequence[str] | None = None, derivatives: bool = False
    ) -> Any:
        """Forces that make the motion q'' = a, beside those of the model.

        Without ``drives`` they are M a - Q (n,) on all coordinates, which constraints and drives give together. With
        names of coordinates they are those of these drives (d,), of least norm where drives are more than freedoms; the
        motion must meet the constraints. Raises UsageError where the drives cannot make it. Derivatives are
        those of M a - Q; by a it is M.
        """
        self._require_forces()
        at = self._at(derivatives, t, q, v, a)
        value = at.work.eq.G.copy()
        if drives is None:
            return self._split(value, at.out.dG) if derivatives else value
        if derivatives:
            raise UsageError("derivatives are those of the forces on all coordinates; leave drives out")
        require_names("drives", drives)
        if others := [name for name in drives if name not in self.coordinates]:
            raise UsageError(unknown("coordinate", others[0], self.coordinates))
        columns = list(map(self.coordinates.index, drives))
        J = at.work.eq.J / self._units[:, None]
        _, sizes, right = np.linalg.svd(J) if len(J) else (None, np.zeros(0), np.eye(self._n))
        rank = int(np.count_nonzero(sizes > 1e-9 * max(1.0, sizes.max(initial=0.0))))
        free = right[rank:]  # motions that the constraints allow
        found = np.linalg.lstsq(free[:, columns], free @ value, rcond=1e-12)[0]
        residual = np.abs(free[:, columns] @ found - free @ value).max(initial=0.0)
        if residual > REACHED * max(1.0, np.abs(value).max(initial=0.0)):
            raise UsageError(f"drives at {', '.join(drives)} alone cannot make this motion; forces lack {residual:.3g}")
        return found

    def kinematics(
        self, q: Any, v: Any = None, a: Any = None, t: float = 0.0, *, of: Sequence[str] | None = None,
        derivatives: bool = False,
    ) -> Motion:  # fmt: skip
        """Motion of places: BODY (its origin) or BODY.POINT, None: the origins of all bodies. See ``Motion``.

        Without v, or a, these are zero. Raises UsageError for places that do not exist, or on bodies that deform.
        """
        if isinstance(of, str):
            require_names("of", of)
        asked = None if of is None else tuple(of), derivatives
        names, move, pose, motion, jacobian, vary, varied = self._places.get(asked) or self._placed(*asked)
        self._at(derivatives, t, q, v, a)
        move()
        x, m = pose.copy(), motion.copy()
        R = x[:, 3:].reshape(-1, 3, 3)
        found = names, x[:, :3], R, m[:, :3], m[:, 3:6], m[:, 6:9], m[:, 9:], jacobian.copy()
        if vary is None:
            return Motion(*found)
        vary()
        return Motion(*found, *(d[..., : 2 * self._n + self._p].copy() for d in varied))

    def _placed(self, asked: tuple[str, ...] | None, derivatives: bool) -> _Places:
        tree, theta, n = self._problem.model.tree, self._theta, self._n
        if isinstance(tree, FlexibleTree):
            raise UsageError("kinematics of bodies that deform are not available here; read sensors of a run")
        names = tuple(self.bodies) if asked is None else asked
        read, k = [self._read_place(name) for name in names], len(names)
        body = np.array([place[0] for place in read], dtype=tree.parent.dtype)
        local = np.array([place[1] for place in read]).reshape(k, 3)
        kin, pose, motion, jacobian = self._plain.work.kin, np.zeros((k, 12)), np.zeros((k, 12)), np.zeros((k, 6, n))
        move = bound(move_places, tree, theta, kin, body, local, pose, motion, jacobian)
        vary, varied = None, (np.zeros(0), np.zeros(0), np.zeros(0))
        if derivatives:
            at = self._directions()
            d_local = np.zeros((k, 3, at.p))
            d_local[:, :, 2 * n : 2 * n + self._p] = np.array([place[2] for place in read]).reshape(k, 3, self._p)
            varied = np.zeros((k, 6, at.p)), np.zeros((k, 6, at.p)), np.zeros((k, 6, at.p))
            vary = bound(vary_places, at.dtheta, kin, at.twists, body, local, d_local, *varied)
        self._places[asked, derivatives] = found = _Places(names, move, pose, motion, jacobian, vary, varied)
        return found

    def _read_place(self, name: str) -> tuple[int, Array, Array]:
        file, (body, _, point) = self._assembled.model_file, name.partition(".")
        if body not in self.bodies:
            raise UsageError(unknown("body", body, self.bodies))
        if point not in ("", "origin", "center_of_mass") and not carries(file.points.get(point), body):
            known = [f"{body}.{p}" for p, s in file.points.items() if carries(s, body)]
            raise UsageError(unknown("point", name, known))
        numbers = Numbers(file.expressions)
        geometry = Geometry(numbers, file)

        def local() -> Array:
            return np.array(geometry.point(body, point or "origin"), dtype=complex)

        value, columns = local().real, []
        for parameter in self._assembled.parameters:
            numbers.step_along(parameter.key)
            columns.append(local().imag / STEP)
        return self.bodies.index(body), value, np.array(columns).reshape(-1, 3).T

    def step(self, q: Any, v: Any, h: float, t: float = 0.0, *, forces: Any = None) -> State:
        """The state a time h later by the classical method of Runge and Kutta, order 4.

        ``forces`` (n,) act besides during the step. Positions, and then velocities, are projected onto the
        constraints, as by ``formulation: ali1p-rtdyn1`` in coordinates of unit weight.
        """
        h, n = float(h), self._n
        start, load = np.empty((2, n)), None if forces is None else self._vector("forces", forces)
        start[0], start[1] = self._vector("q", q), self._vector("v", v)
        rates = np.empty((4, 2, n))  # q' and q'' of the stages
        self._rate(start, t, load, rates[0])
        self._rate(start + 0.5 * h * rates[0], t + 0.5 * h, load, rates[1])
        self._rate(start + 0.5 * h * rates[1], t + 0.5 * h, load, rates[2])
        self._rate(start + h * rates[2], t + h, load, rates[3])
        q, v = start + h * (_WEIGHTS @ rates.reshape(4, 2 * n)).reshape(2, n)
        if not len(self.constraint_names):
            return State(q, v)
        for _ in range(PROJECTIONS):
            eq = self._at(False, t + h, q).work.eq
            change = self._least(eq.J, eq.phi)
            q = q - change
            if np.abs(change).max(initial=0.0) <= CLOSED * max(1.0, np.abs(q).max(initial=0.0)):
                break
        eq = self._at(False, t + h, q, v).work.eq
        return State(q, v - self._least(eq.J, eq.phi1))

    def _least(self, J: Array, gaps: Array) -> Array:
        """The least change (n,) of coordinates that changes constraints by their gaps (m,)."""
        return np.linalg.lstsq(J / self._units[:, None], gaps / self._units, rcond=1e-10)[0]

    def _rate(self, state: Array, t: float, load: Array | None, rate_out: Array) -> None:
        """q' and q'' (2, n) at q and q' (2, n), without the checks of what a user gives."""
        rate_out[0] = state[1]
        if len(self.constraint_names):
            rate_out[1] = self.accelerations(state[0], state[1], t, forces=load)
            return
        at = self._plain
        z, zd, zdd, *_ = at.state
        z[:], zd[:], zdd[:] = state[0], state[1], 0.0
        if len(at.angles):
            at.work.kin.expected[at.angles] = self._expected[at.angles]
        at.evaluate(t)
        rate_out[1] = -at.work.eq.G if load is None else load - at.work.eq.G
        self._solve(at.out.M, rate_out[1])

    def _solve(self, M: Array, x_out: Array) -> None:
        """Solve M x = x_out in place; numpy's function takes three times as long for some seven unknowns."""
        if x_out.size and self._lapack(M.T, x_out, overwrite_b=1)[3]:
            raise AnalysisError(SINGULAR)
