"""Modes as an analysis: one instant with sensors, and the modes of small motions about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.equilibrium.analysis import settled
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import Initial, assembled
from mbsim_cli.solve.linear import modes as modal
from mbsim_cli.solve.linear.equations import Equations, Linearising
from mbsim_cli.solve.linear.point import Point, of_initial

MOMENT = 1e-4  # s, over which it is seen whether a motion is steady
ROUNDINGS = 4  # of the point, by which eigenvalues are told from round-off
STEADY = 1e-3  # relative change of an eigenvalue in a time constant of its own


@dataclass(frozen=True)
class Found:
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
    drift: np.ndarray  # (k,) relative change of eigenvalues in a time constant, of a motion that is not steady
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

    @property
    def unsteady(self) -> np.ndarray:
        """Modes whose eigenvalues change with the motion."""
        return np.flatnonzero(self.drift > STEADY)


def modes(problem: Problem) -> Iterator[Block]:
    """Yield the instant that modes are about, with ``Block.linear``.

    Raises AnalysisError where the mechanism cannot be assembled, no equilibrium is found, or masses are missing.
    """
    point, block = about(problem)
    found = found_at(problem, point, moves=problem.options.at != "equilibrium" and bool(np.any(point.zd)))
    count = problem.options.modes
    found = found if count is None else _first(found, count)
    block.linear[:] = [found]
    yield block


def about(problem: Problem) -> tuple[Point, Block]:
    """The position that small motions are about, and the instant with its sensors."""
    initial, drift, iterations = _start(problem)
    at_rest = problem.options.at == "equilibrium"
    point, block = of_initial(problem, initial), Simulation(problem, initial).first_block()
    drifts = np.array([[drift, 0.0, 0.0]]) if at_rest else block.drift
    block = block._replace(iterations=np.array([iterations]), drift=drifts)
    return point if at_rest else replace(point, hold=()), block


def _start(problem: Problem) -> tuple[Initial, float, int]:
    """The instant, what is left of its constraints, and iterations of the search."""
    if problem.options.at == "equilibrium":
        initial, drift = settled(problem)
        return initial, drift, 0 if initial.rest is None else initial.rest.iterations
    initial = assembled(problem)
    return initial, 0.0, 0 if initial.rest is None else initial.rest.iterations


def modes_about(linear: Linearising) -> modal.Modes:
    """Modes about the point of a linearisation, without eigenvalues that are zero but for round-off."""
    found = modal.modes_of(*_matrices(linear.equations))
    if found.slow.any():
        rounded = (linear.at(linear.point.rounded(seed)) for seed in range(ROUNDINGS))
        found = found.kept_in([modal.modes_of(*_matrices(equations)) for equations in rounded])
    return found


def found_at(problem: Problem, point: Point, *, moves: bool) -> Found:
    """Modes about a point, with derivatives by the parameters of the problem."""
    linear = Linearising(problem, point)
    at, matrices = linear.equations, _matrices(linear.equations)
    found = modes_about(linear)
    T, (*changes, d_T) = at.bases[0] @ at.motions.R, linear.derivatives()
    d_value, d_q = modal.derivatives(found, matrices, (changes[0], changes[1], changes[2]))
    broken = [k for k, name in enumerate(problem.names.parameters) if name in point.broken]
    d_value[:, broken] = np.nan
    d_shape = np.einsum("nd,dkp->nkp", T, d_q) + np.einsum("pnd,dk->nkp", d_T, found.shape)
    d_shape[:, :, broken] = np.nan
    shape, d_shape = modal.normalised(T @ found.shape, d_shape)
    drift = np.zeros(found.value.size)
    if moves:
        drift = modal.drift(found, matrices, _rates(linear))
    return Found(found.value, d_value, shape, d_shape, found.neutral, found.close, drift, found.stable, linear.names)


def _matrices(equations: Equations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return equations.M, equations.C, equations.K


def _rates(linear: Linearising) -> list[np.ndarray]:
    """By how much M, C and K change along the motion in a second, by a difference over a moment."""
    state = linear.equations.instant.state
    sides = []
    for step in (MOMENT, -MOMENT):
        moved = linear.point.moved(step, state.zd, state.zdd)
        moved = replace(moved, z=moved.z + 0.5 * step * step * state.zdd)
        sides.append(_matrices(linear.at(moved)))
    return [(ahead - behind) / (2.0 * MOMENT) for ahead, behind in zip(*sides, strict=True)]


def _first(found: Found, count: int) -> Found:
    """The first modes alone."""
    kept = slice(0, count)
    return replace(
        found, value=found.value[kept], d_value=found.d_value[kept], shape=found.shape[:, kept],
        d_shape=found.d_shape[:, kept], close=found.close[kept], drift=found.drift[kept], every=found,
    )  # fmt: skip
