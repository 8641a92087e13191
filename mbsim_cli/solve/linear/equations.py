"""Equations M q'' + C q' + K q + F_0 u + F_1 u' + F_2 u'' = 0 of a mechanism, and the state of the linearisation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import all_but, kinds
from mbsim_cli.model.layout import STEP
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.equilibrium import start_at_equilibrium
from mbsim_cli.solve.forward import start
from mbsim_cli.solve.initial import Initial, assemble_closed, quaternion_product, require_forces_alone
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
from mbsim_cli.solve.redundancy import in_units, of_least_norm, partition_of, rank_and_pivots

SHORTEST = 1e-12  # s: earlier times count as the start
ROUNDED = 1e-15  # relative, like the error of a few operations


@dataclass(frozen=True)
class Point:
    """Positions and velocities at a time; derivatives have a trailing axis of p parameters, those of the problem."""

    time: float
    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)
    theta: np.ndarray  # with automatic numbers
    dz: np.ndarray  # (n, p)
    dzd: np.ndarray  # (n, p)
    dtheta: np.ndarray  # (len(theta), p)
    expected: np.ndarray  # (nm,) angles between bodies, with their turns
    hold: tuple[int, ...] = ()  # coordinates that keep their values
    broken: tuple[str, ...] = ()  # parameters by which the point has no derivative

    def moved(self, step: float, velocity: np.ndarray, acceleration: np.ndarray) -> "Point":
        """The point after the time ``step``, with a constant acceleration."""
        z = self.z + step * velocity + 0.5 * step * step * acceleration
        return replace(self, time=self.time + step, z=z, zd=self.zd + step * acceleration)

    def stepped(self, step: complex, k: int) -> "Point":
        """The point at a value of parameter k that is larger by ``step``."""
        pairs = (self.z, self.dz), (self.zd, self.dzd), (self.theta, self.dtheta)
        z, zd, theta = (own + step * slope[:, k] for own, slope in pairs)
        return replace(self, z=z, zd=zd, theta=theta)

    def rounded(self, seed: int) -> "Point":
        """The same point with other round-off."""
        random = np.random.default_rng(seed)
        z, zd, theta = (x * (1.0 + ROUNDED * random.uniform(-1.0, 1.0, x.size)) for x in (self.z, self.zd, self.theta))
        return replace(self, z=z, zd=zd, theta=theta)


def at_equilibrium(problem: Problem) -> Point:
    """The static equilibrium; raises AnalysisError if none is found."""
    return of_initial(problem, start_at_equilibrium(problem)[0])


def at_start(problem: Problem) -> Point:
    """The assembled start, with its velocities."""
    return of_initial(problem, assemble_closed(problem, motion_only=True))


def of_initial(problem: Problem, initial: Initial) -> Point:
    """The point at an assembled start, or at an equilibrium."""
    state, sens, p = initial.state, initial.sensitivity, problem.theta_rho.shape[1]
    return Point(
        0.0, state.z.copy(), state.zd.copy(), initial.theta, sens.z[:, :p].copy(), sens.zd[:, :p].copy(),
        initial.dtheta[:, :p], initial.expected.copy(), problem.hold, _named(problem, initial.broken),
    )  # fmt: skip


def at_time(problem: Problem, time: float) -> Point:
    """The motion of a forward analysis at a time, in coordinates of joints; raises AnalysisError where it fails."""
    options = problem.options
    if time <= SHORTEST:
        return at_start(problem)
    steps, p = max(1, round(time / options.step)), problem.theta_rho.shape[1]
    method = "ddm" if p else "none"
    options = replace(options, duration=time, step=time / steps, output_interval=steps, sensitivity=method)
    run = start(replace(problem, options=options))
    block = run.first_block()
    while run.step < steps:
        found = run.advance(steps - run.step)
        block = found if len(found.time) else block
    turns = run.turns if isinstance(run, OpenTreeSimulation) else run.work.turns
    expected = np.zeros(problem.model.measures.kind.size)
    expected[turns.measure] = turns.value
    return Point(
        time, block.position[-1].copy(), block.velocity[-1].copy(), run.theta.copy(), block.d_position[-1].copy(),
        block.d_velocity[-1].copy(), run.directions.dtheta[:, :p].copy(), expected, (),
        _named(problem, block.broken[-1]),
    )  # fmt: skip


def _named(problem: Problem, broken: Sequence[int] | np.ndarray) -> tuple[str, ...]:
    """Names of the parameters whose directions are broken, as in ``Block.broken`` (p,)."""
    return tuple(name for name, found in zip(problem.names.parameters, broken, strict=False) if found)


AXES = "xyz"
ROUND_OFF = 1e-14  # of the terms that an entry is made of: below, it is zero
SINGULAR = "the accelerations cannot be found: is there a coordinate that no mass or inertia resists?"


class Chart:
    """Small motions of coordinates: which of them are independent, the same for all numbers near those of a point."""

    def __init__(self, problem: Problem, point: Point) -> None:
        names, units = problem.names.coordinates, problem.names.coordinate_units
        self.euler = np.flatnonzero(kinds(problem.model.tree) == Column.EULER_0).tolist()
        inside = {c + k for c in self.euler for k in range(4)}
        self.plain = [c for c in range(len(names)) if c not in inside]
        self.names = [names[c] for c in self.plain]
        self.units = [units[c] for c in self.plain]
        for c in self.euler:
            joint = names[c].rpartition(".")[0]
            self.names += [f"{joint}.rotation_{axis}" for axis in AXES]
            self.units += ["rad"] * 3
        self.hold = list(point.hold)

    @property
    def size(self) -> int:
        """Number of small motions, s, before constraints."""
        return len(self.names)

    def basis(self, z: np.ndarray, *, rate: bool = False) -> np.ndarray:
        """B (n, s), linear in the coordinates z (n,): they change by B eta; or its ``rate``, from those of z."""
        B, first = np.zeros((z.size, self.size), z.dtype), len(self.plain)
        B[self.plain, np.arange(first)] = 0.0 if rate else 1.0
        for number, c in enumerate(self.euler):
            for axis in range(3):
                turn = np.zeros(4)
                turn[1 + axis] = 0.5
                B[c : c + 4, first + 3 * number + axis] = quaternion_product(turn, z[c : c + 4])
        return B

    def choose(self, J: np.ndarray, preferred: np.ndarray) -> None:
        """Choose dependent motions by the Jacobian J (m, s); ``preferred`` (s,) ones stay independent if possible."""
        rows = np.arange(len(J))
        found = partition_of(J, np.flatnonzero(~preferred), rows)
        if found.columns.size < found.rank:
            found = partition_of(J, np.arange(self.size), rows)
        self.rows, self.dependent = found.rows, np.sort(found.columns)
        self.independent = all_but(self.size, self.dependent)


@dataclass(frozen=True)
class Motions:
    """Matrices that give small motions eta, eta', eta'' (s,) from q, q', q'' (d,) and the inputs u, u', u'' (k,)."""

    R: np.ndarray  # (s, d): eta = R q, and eta' and eta'' of q' and q''
    S: np.ndarray  # (s, d): eta' of q
    W0: np.ndarray  # (s, d): eta'' of q
    W1: np.ndarray  # (s, d): eta'' of q'
    P: np.ndarray  # (s, k): eta of u, eta' of u', eta'' of u''
    P1: np.ndarray  # (s, k): eta' of u
    Q0: np.ndarray  # (s, k): eta'' of u
    Q1: np.ndarray  # (s, k): eta'' of u'


@dataclass(frozen=True)
class LinearEquations:
    """The linear equations, and all that outputs need to follow small motions."""

    M: np.ndarray  # (d, d)
    C: np.ndarray  # (d, d)
    K: np.ndarray  # (d, d)
    F: np.ndarray  # (3, d, k) by u, u', u''
    motions: Motions
    instant: Instant  # with accelerations and multipliers
    J: np.ndarray  # (m, n)
    G: tuple[np.ndarray, ...]  # (n, s) of eta, eta', eta''; (n, k) of u
    bases: tuple[np.ndarray, ...]  # B and its two rates (n, s)

    def all_motions(self) -> np.ndarray:
        """eta, eta', eta'' (3, s, 2 d + 3 k) by q, q', u, u', u''."""
        m, (d, k) = self.motions, (self.M.shape[0], self.F.shape[2])
        zero, none = np.zeros((m.R.shape[0], d), m.R.dtype), np.zeros((m.R.shape[0], k), m.R.dtype)
        follows = -np.linalg.solve(self.M, np.concatenate([self.K, self.C, *self.F], axis=1))
        eta = np.concatenate([m.R, zero, m.P, none, none], axis=1)
        eta1 = np.concatenate([m.S, m.R, m.P1, m.P, none], axis=1)
        eta2 = np.concatenate([m.W0, m.W1, m.Q0, m.Q1, m.P], axis=1) + m.R @ follows
        return np.stack([eta, eta1, eta2])


class Linearising:
    """Linearises about a point, ``inputs`` (len(theta), k) too, and near it with the same independent coordinates."""

    def __init__(self, problem: Problem, point: Point, inputs: np.ndarray | None = None) -> None:
        self.problem, self.point = problem, point
        self.inputs = np.zeros((point.theta.size, 0)) if inputs is None else inputs
        self.chart = Chart(problem, point)
        self._chosen = False
        self.equations = self.at(point)

    @property
    def names(self) -> list[str]:
        """Names of q (d,)."""
        return [self.chart.names[s] for s in self.chart.independent]

    @property
    def units(self) -> list[str]:
        """Units of q (d,)."""
        return [self.chart.units[s] for s in self.chart.independent]

    def at(self, point: Point, inputs: np.ndarray | None = None) -> LinearEquations:
        """The equations about a point; complex numbers give complex ones. ``inputs``: other directions."""
        inputs = self.inputs if inputs is None else inputs
        chart, s, k = self.chart, self.chart.size, inputs.shape[1]
        at = self._moving(point, inputs)
        n = at.n
        bases = chart.basis(at.state.z), *(chart.basis(x, rate=True) for x in (at.state.zd, at.state.zdd))
        B, B1, B2 = bases
        sens = at.sens
        sens.z[:, :s], sens.zd[:, :s], sens.zdd[:, :s] = B, B1, B2
        sens.zd[:, s : 2 * s], sens.zdd[:, s : 2 * s] = B, 2.0 * B1
        sens.zdd[:, 2 * s : 3 * s] = B
        at.evaluate(point.time)
        G = tuple(at.out.dG[:, j * s : (j + 1) * s].copy() for j in range(3))
        Gu = at.out.dG[:, 3 * s : 3 * s + k].copy()
        hold = self.chart.hold
        phi = [[np.concatenate([at.out.dphi[o][:, j * s : (j + 1) * s], held[hold]]) for j, held in enumerate(levels)]
               for o, levels in enumerate(((B, 0 * B, 0 * B), (B1, B, 0 * B), (B2, 2.0 * B1, B)))]  # fmt: skip
        none = np.zeros((len(hold), k))
        phi_u = [np.concatenate([at.out.dphi[o][:, 3 * s : 3 * s + k], none]) for o in range(3)]
        if not self._chosen:  # prefer the independent coordinates that the file declares
            preferred = np.zeros(s, bool)
            preferred[: len(chart.plain)] = self.problem.independent[chart.plain]
            units, rows = units_of(at.model, at.theta)
            motion_units = np.append(units[chart.plain], np.ones(s - len(chart.plain)))
            chart.choose(phi[0][0].real * motion_units / np.append(rows, units[hold])[:, None], preferred)
            self._chosen = True
        motions = self._motions(phi, phi_u)
        left = motions.R.T @ B.T
        M = left @ (G[2] @ motions.R)
        C = left @ (G[1] @ motions.R + G[2] @ motions.W1)
        K = left @ (G[0] @ motions.R + G[1] @ motions.S + G[2] @ motions.W0)
        F0 = left @ (G[0] @ motions.P + G[1] @ motions.P1 + G[2] @ motions.Q0 + Gu)
        F1 = left @ (G[1] @ motions.P + G[2] @ motions.Q1)
        F2 = left @ (G[2] @ motions.P)
        J = np.concatenate([at.work.eq.J, np.eye(n)[hold]])
        if M.dtype.kind == "f":
            sizes = [abs(part) for part in (left, *G, motions.R, motions.S, motions.W0, motions.W1)]
            weight, G0, G1, G2, R, S, W0, W1 = sizes
            C[abs(C) <= ROUND_OFF * (weight @ (G1 @ R + G2 @ W1))] = 0.0
            K[abs(K) <= ROUND_OFF * (weight @ (G0 @ R + G1 @ S + G2 @ W0))] = 0.0
        return LinearEquations(M, C, K, np.stack([F0, F1, F2]), motions, at, J, (*G, Gu), bases)

    def derivatives(self) -> tuple[np.ndarray, ...]:
        """Exact derivatives by the parameters of M, C, K (p, d, d) and of coordinates by q (p, n, d): complex steps."""
        p, (n, d) = self.point.dz.shape[1], (self.point.z.size, self.equations.M.shape[0])
        found = *(np.zeros((p, d, d)) for _ in range(3)), np.zeros((p, n, d))
        for k in range(p):
            stepped = self.at(self.point.stepped(1j * STEP, k))
            matrices = stepped.M, stepped.C, stepped.K, stepped.bases[0] @ stepped.motions.R
            for out, matrix in zip(found, matrices, strict=True):
                out[k] = matrix.imag / STEP
        return found

    def _motions(self, phi: Sequence[Sequence[np.ndarray]], phi_u: Sequence[np.ndarray]) -> Motions:
        """Small motions that keep to the constraints, by their variations of three orders."""
        chart, dtype = self.chart, phi[0][0].dtype
        rows, D, I = chart.rows, chart.dependent, chart.independent
        phi = [[part[rows] for part in level] for level in phi]
        phi_u = [part[rows] for part in phi_u]
        J = phi[0][0]

        def dependent(residual: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
            out = np.zeros((chart.size, residual.shape[1]), dtype)
            if own is not None:
                out[I] = own
            if D.size:
                out[D] = -np.linalg.solve(J[:, D], residual)
            return out

        R = dependent(J[:, I], np.eye(I.size, dtype=dtype))
        S = dependent(phi[1][0] @ R)
        W1 = dependent(phi[2][1] @ R)
        W0 = dependent(phi[2][0] @ R + phi[2][1] @ S)
        P = dependent(phi_u[0])
        P1 = dependent(phi[1][0] @ P + phi_u[1])
        Q1 = dependent(phi[2][1] @ P + 2.0 * phi_u[1])
        Q0 = dependent(phi[2][0] @ P + phi[2][1] @ P1 + phi_u[2])
        return Motions(R, S, W0, W1, P, P1, Q0, Q1)

    def _moving(self, point: Point, inputs: np.ndarray) -> Instant:
        """The point as an Instant, with accelerations and multipliers, of least norm if constraints are redundant."""
        dtype = np.result_type(point.theta, point.z, float).type
        count = padded(3 * self.chart.size + inputs.shape[1])
        dtheta = np.zeros((point.theta.size, count), dtype)
        dtheta[:, 3 * self.chart.size : 3 * self.chart.size + inputs.shape[1]] = inputs
        at = Instant(self.problem, np.ascontiguousarray(point.theta, dtype), dtheta)
        at.state.z[:], at.state.zd[:] = point.z, point.zd
        if point.expected.size:
            at.work.kin.expected[:] = point.expected
        at.evaluate(point.time)
        accelerate(at, self.chart.hold)
        require_forces_alone(at, lambda: at.evaluate(point.time), "an analysis of small motions")
        return at


def accelerate(at: Instant, held: list[int]) -> None:
    """Set accelerations and least-norm multipliers of a point, some coordinates held; raises AnalysisError."""
    n = at.n
    hold = np.eye(n)[held]
    J = np.concatenate([at.work.eq.J, hold])
    known = np.concatenate([at.work.eq.phi2, np.zeros(len(held))])
    rank, order = rank_and_pivots(np.concatenate([in_units(at), hold]).T)
    rows = order[:rank]
    Ji = J[rows]
    matrix = np.block([[at.out.M, Ji.T], [Ji, np.zeros((rank, rank))]])
    try:
        x = np.linalg.solve(matrix, -np.concatenate([at.work.eq.G, known[rows]]))
        if not np.isfinite(x).all():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise AnalysisError(SINGULAR) from None
    lam = np.zeros(len(J), x.dtype)
    lam[rows] = x[n:]
    at.state.zdd[:], at.state.lam[:] = x[:n], of_least_norm(J, rows, lam)[: at.m]
