"""Modes of linear equations M q" + C q' + K q = 0, how they vary with M, C and K, and the analysis of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.scales import units_of
from mbsim_cli.solve.equilibrium import start_at_equilibrium
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import assemble_closed
from mbsim_cli.solve.linear.equations import LinearEquations, Linearising, Point, of_initial

NEUTRAL = 1e-13  # of the size of each equation, below which a combination of states changes nothing
CLOSE = 1e-7  # relative distance of eigenvalues below which they have no derivatives
REFINEMENTS = 3  # Newton steps of an eigenvalue and its shape
REAL = 1e-12  # imaginary part, relative, that is round-off
SLOW, SLOWEST = 1e-6, 1e-3  # of the largest eigenvalue, and 1/s: smaller ones may be zeros changed by round-off
KEPT = 0.1  # relative change by round-off of an eigenvalue that is not zero, at most


@dataclass(frozen=True)
class Modes:
    """Modes by increasing magnitude of their eigenvalues, of a complex pair the one with a positive imaginary part."""

    value: np.ndarray  # (k,) complex, 1/s
    shape: np.ndarray  # (d, k) complex, of any size
    neutral: int  # eigenvalues that are zero
    close: tuple[tuple[int, ...], ...]  # of each, modes with nearly the same eigenvalue

    @property
    def stable(self) -> bool:
        """Whether no mode grows."""
        return bool((self.value.real <= REAL * np.abs(self.value)).all())

    @property
    def slow(self) -> np.ndarray:
        """Eigenvalues (k,) that may be zeros changed by round-off."""
        size = np.abs(self.value)
        return size <= max(SLOW * size.max(initial=0.0), SLOWEST)

    def kept_in(self, others: Sequence["Modes"]) -> "Modes":
        """The modes, less slow ones that are missing from ``others``, which differ by round-off: these are zero.

        Round-off of size e makes of a zero an eigenvalue of size e, of a double one of sqrt(e). Real parts that
        differ by a tenth of their size are zero, too.
        """
        value, kept, neutral = self.value.copy(), ~self.slow, self.neutral
        for k in np.flatnonzero(self.slow):
            own = value[k]
            found = np.array([min(other.value, key=lambda x: abs(x - own), default=np.inf) for other in others])
            kept[k] = (np.abs(found - own) <= KEPT * abs(own)).all()
            neutral += 0 if kept[k] else 2 if own.imag > 0.0 else 1
            if KEPT * abs(own.real) <= np.abs(found.real - own.real).max():
                value[k] = 1j * own.imag
        value = value[kept]
        return Modes(value, self.shape[:, kept], neutral, tuple(_close_to(value, k) for k in range(value.size)))


def modes_of(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> Modes:
    """Modes of real matrices (d, d), in which terms that are round-off are zero; the mass matrix is not singular."""
    d = M.shape[0]
    if d == 0:
        return Modes(np.zeros(0, complex), np.zeros((0, 0), complex), 0, ())
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(M)), 1e-300))
    inverse = scale[:, None] * np.linalg.inv(scale[:, None] * M * scale) * scale
    A = np.block([[np.zeros_like(M), np.eye(d)], [-inverse @ K, -inverse @ C]])  # x' = A x, x = (q, q')
    value, states, neutral = _without_zeros(A, regular=_is_regular(K))
    shapes = states[:d]
    kept = value.imag >= 0.0
    value, shapes = value[kept], shapes[:, kept]
    every = np.concatenate([value, value[value.imag > 0.0].conj()])
    for k in range(value.size):
        gap = np.sort(np.abs(every - value[k]))[1] if every.size > 1 else np.inf
        if gap > CLOSE * abs(value[k]):
            value[k], shapes[:, k] = _refined(M, C, K, value[k], shapes[:, k])
    order = np.lexsort((value.imag, value.real, np.round(np.abs(value) / np.abs(value).max(initial=1e-300), 13)))
    value, shapes = value[order], shapes[:, order]
    return Modes(value, shapes, neutral, tuple(_close_to(value, k) for k in range(value.size)))


def _is_regular(K: np.ndarray) -> bool:
    """Whether a matrix is not singular, after scaling its rows and columns."""
    for axis in (1, 0):
        K = K / np.abs(K).max(axis=axis, keepdims=True).clip(1e-300)
    return bool(np.linalg.cond(K) < 1.0 / NEUTRAL)


def _without_zeros(A: np.ndarray, *, regular: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Non-zero eigenvalues with their vectors, and the multiplicity of zero: none where K is ``regular``.

    States that nothing depends on are taken away, then those on which only such ones do, and so on; then combinations
    of states in the same way. Round-off would make of a chain of two eigenvalues of some 1e-8.
    """
    states, size = np.arange(len(A)), len(A)
    while states.size and not (found := A[np.ix_(states, states)].any(axis=0)).all():
        states = states[found]
    kept = np.eye(size)[:, states]
    inner = A[np.ix_(states, states)]
    while inner.size and not regular:
        _, sizes, right = np.linalg.svd(inner / np.linalg.norm(inner, axis=1, keepdims=True).clip(1e-300))
        rank = int((sizes > NEUTRAL * sizes[0]).sum())
        if rank == len(inner):
            break
        kept = kept @ right[:rank].T
        inner = kept.T @ A @ kept
    if not inner.size:
        return np.zeros(0, complex), np.zeros((size, 0), complex), size
    value, vectors = np.linalg.eig(inner)
    value, vectors = value.astype(complex), kept @ vectors.astype(complex)
    value.imag[np.abs(value.imag) <= REAL * np.abs(value)] = 0.0
    gone = np.linalg.qr(kept, mode="complete")[0][:, kept.shape[1] :]
    chain, reach = gone.T @ A @ gone, gone.T @ A @ vectors
    for k, each in enumerate(value):  # these follow from the others
        vectors[:, k] += gone @ np.linalg.solve(chain - each * np.eye(len(chain)), -reach[:, k])
    return value, vectors, size - value.size


def _refined(
    M: np.ndarray, C: np.ndarray, K: np.ndarray, value: complex, shape: np.ndarray
) -> tuple[complex, np.ndarray]:
    """A simple eigenvalue and its shape by Newton's method, the largest component held."""
    is_real = value.imag == 0.0
    shape = shape / shape[np.argmax(np.abs(shape))]
    largest = int(np.argmax(np.abs(shape)))
    best = np.inf
    for _ in range(REFINEMENTS):
        L = value * value * M + value * C + K
        try:
            change = np.linalg.solve(_bordered(L, (2.0 * value * M + C) @ shape, largest), -np.append(L @ shape, 0.0))
        except np.linalg.LinAlgError:
            break
        size = abs(change[-1])
        if not np.isfinite(change).all() or not size < min(best, 1e-3 * abs(value)):
            break
        shape, value, best = shape + change[:-1], value + change[-1], size
    return (complex(value.real), shape.real.astype(complex)) if is_real else (value, shape)


def _bordered(L: np.ndarray, rate: np.ndarray, held: int) -> np.ndarray:
    """The matrix of changes of a shape, one component held, and of its eigenvalue; regular where that is simple."""
    d = len(L)
    found = np.zeros((d + 1, d + 1), complex)
    found[:d, :d], found[:d, d], found[d, held] = L, rate, 1.0
    return found


def _close_to(value: np.ndarray, k: int) -> tuple[int, ...]:
    """Modes with nearly the eigenvalue of mode k; k itself if its conjugate is that near."""
    near = np.abs(value - value[k]) <= CLOSE * np.abs(value[k])
    near[k] = 0.0 < 2.0 * value[k].imag <= CLOSE * abs(value[k])
    return tuple(np.flatnonzero(near).tolist())


def derivatives(
    modes: Modes,
    matrices: tuple[np.ndarray, np.ndarray, np.ndarray],
    changes: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of eigenvalues (k, p) and of shapes (d, k, p), by those of M, C and K (p, d, d).

    Shapes keep their largest component. They are NaN where eigenvalues are close to others.
    """
    (M, C, K), (dM, dC, dK) = matrices, changes
    p, (d, k) = dM.shape[0], modes.shape.shape
    d_value = np.full((k, p), complex(np.nan, np.nan))
    d_shape = np.full((d, k, p), complex(np.nan, np.nan))
    for mode in range(k):
        if modes.close[mode]:
            continue
        value, shape = modes.value[mode], modes.shape[:, mode]
        held = int(np.argmax(np.abs(shape)))
        L, rate = value * value * M + value * C + K, (2.0 * value * M + C) @ shape
        right = np.zeros((d + 1, p), complex)
        right[:d] = -(value * value * (dM @ shape) + value * (dC @ shape) + dK @ shape).T
        change = np.linalg.solve(_bordered(L, rate, held), right)
        d_shape[:, mode], d_value[mode] = change[:d], change[d]
    return d_value, d_shape


def normalised(shape: np.ndarray, d_shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shapes (n, k) with a largest component of one, and their derivatives (n, k, p)."""
    if not shape.size:
        return shape, d_shape
    columns = np.arange(shape.shape[1])
    size = np.abs(shape)
    largest = np.argmax(size >= (1.0 - 1e-9) * size.max(axis=0), axis=0)  # of equal ones the first
    unit = shape[largest, columns]
    unit = np.where(unit == 0.0, 1.0, unit)
    scaled = shape / unit
    return scaled, d_shape / unit[:, None] - scaled[:, :, None] * (d_shape[largest, columns] / unit[:, None])


MOMENT = 1e-4  # half the interval of differences, over the shortest time that ``drift`` compares
ROUNDINGS = 4  # perturbed copies of the point, which distinguish eigenvalues from round-off
STEADY = 1e-3  # relative change of an eigenvalue in a time constant of its own


@dataclass(frozen=True)
class Drifting:
    """Relative changes of eigenvalues in a time constant, zero about a steady motion."""

    drift: np.ndarray  # (k,)

    @property
    def unsteady(self) -> np.ndarray:
        """Modes whose eigenvalues change with the motion."""
        return np.flatnonzero(self.drift > STEADY)


@dataclass(frozen=True)
class Found(Drifting):
    """Modes from the smallest eigenvalue on, k of them, and their derivatives by p parameters.

    Derivatives are NaN where eigenvalues are ``close`` to others (their numbers from 0), and by parameters that the
    point has none by.
    """

    value: np.ndarray  # (k,) complex, 1/s
    d_value: np.ndarray  # (k, p)
    shape: np.ndarray  # (n, k) complex change of the coordinates, the largest 1
    d_shape: np.ndarray  # (n, k, p)
    neutral: int  # eigenvalues that are zero
    close: tuple[tuple[int, ...], ...]
    stable: bool
    independent: Sequence[str]  # coordinates
    every: "Found | None" = None  # all modes, where these are the first alone

    @property
    def of_all(self) -> "Found":
        """All modes."""
        return self.every or self

    @property
    def largest(self) -> tuple[int, ...]:
        """Modes of all whose eigenvalues have the largest real part."""
        real = self.of_all.value.real
        return tuple(np.flatnonzero(real == real.max(initial=-np.inf)).tolist())


def modes(problem: Problem) -> Iterator[Block]:
    """Yield the time point that modes are about, with ``Block.linear``.

    Raises AnalysisError where the mechanism cannot be assembled, no equilibrium is found, or masses are missing.
    """
    point, block = about(problem)
    found = found_at(problem, point, moves=problem.options.at != "equilibrium")
    if (count := problem.options.modes) is not None:
        found = replace(
            found, value=found.value[:count], d_value=found.d_value[:count], shape=found.shape[:, :count],
            d_shape=found.d_shape[:, :count], close=found.close[:count], drift=found.drift[:count], every=found,
        )  # fmt: skip
    block.linear[:] = [found]
    yield block


def about(problem: Problem) -> tuple[Point, Block]:
    """The position that small motions are about, and the time point with its sensors."""
    at_rest = problem.options.at == "equilibrium"
    initial, drift = start_at_equilibrium(problem) if at_rest else (assemble_closed(problem), 0.0)
    iterations = 0 if initial.equilibrium is None else initial.equilibrium.iterations
    point, block = of_initial(problem, initial), Simulation(problem, initial).first_block()
    drifts = np.array([[drift, 0.0, 0.0]]) if at_rest else block.drift
    block = block._replace(iterations=np.array([iterations]), drift=drifts)
    return point if at_rest else replace(point, hold=()), block


def modes_about(linear: Linearising) -> Modes:
    """Modes about the point of a linearisation, without eigenvalues that are zero but for round-off."""
    found = modes_of(*_matrices(linear.equations))
    if found.slow.any():
        rounded = (linear.at(linear.point.rounded(seed)) for seed in range(ROUNDINGS))
        found = found.kept_in([modes_of(*_matrices(equations)) for equations in rounded])
    return found


def found_at(problem: Problem, point: Point, *, moves: bool) -> Found:
    """Modes about a point, with derivatives by the parameters of the problem."""
    linear = Linearising(problem, point)
    at, matrices = linear.equations, _matrices(linear.equations)
    found = modes_about(linear)
    T, (*changes, d_T) = at.bases[0] @ at.motions.R, linear.derivatives()
    d_value, d_q = derivatives(found, matrices, (changes[0], changes[1], changes[2]))
    broken = [k for k, name in enumerate(problem.names.parameters) if name in point.broken]
    d_value[:, broken] = np.nan
    d_shape = np.einsum("nd,dkp->nkp", T, d_q) + np.einsum("pnd,dk->nkp", d_T, found.shape)
    d_shape[:, :, broken] = np.nan
    shape, d_shape = normalised(T @ found.shape, d_shape)
    changes_with_time = drift(found, linear) if moves else np.zeros(found.value.size)
    return Found(
        changes_with_time, found.value, d_value, shape, d_shape, found.neutral, found.close, found.stable, linear.names
    )


def _matrices(equations: LinearEquations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return equations.M, equations.C, equations.K


def drift(modes: Modes, linear: Linearising) -> np.ndarray:
    """Relative changes (k,) of eigenvalues within their own time constants, as M, C and K change along the motion.

    Their rates are central differences over a part of the shortest of three times: those in which the velocity and the
    acceleration move a coordinate by its unit, and the time constant of the slowest mode. Where laws of time begin or
    end at the point, they are differences to one side. A point at rest moves along its acceleration, at a fixed time.
    """
    instant = linear.equations.instant
    state, (units, _) = instant.state, units_of(instant.model, instant.theta)
    rates = np.abs(state.zd / units).max(), np.sqrt(np.abs(state.zdd / units).max())
    point, at_rest = linear.point, not state.zd.any()
    order = 2 if at_rest else 1  # the position changes by t^2/2 times the acceleration, or by t times the velocity
    step = (MOMENT / max(*rates, min(np.abs(modes.value), default=1.0))) ** order
    beside = {0.0: _matrices(linear.equations)}
    for h in (step, -step):
        near = replace(point, z=point.z + 0.5 * h * state.zdd) if at_rest else point.moved(h, state.zd, state.zdd)
        try:
            beside[h] = _matrices(linear.at(near))
        except AnalysisError:  # where a table of time begins or ends, there is no other side
            if h < 0.0 and len(beside) == 1:
                raise
    first, last = min(beside), max(beside)
    pairs = zip(beside[last], beside[first], strict=True)
    dM, dC, dK = (((one - other) / (last - first))[None] for one, other in pairs)
    d_value = derivatives(modes, beside[0.0], (dM, dC, dK))[0][:, 0]
    return np.abs(d_value) / np.maximum(np.abs(modes.value) ** (order + 1), 1e-300)
