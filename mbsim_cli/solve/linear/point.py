"""The state that a mechanism is linearised about, with its derivatives: an equilibrium, the start, or a later time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.equilibrium.analysis import settled
from mbsim_cli.solve.forward import start
from mbsim_cli.solve.initial import Initial, assembled
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation

SHORTEST = 1e-12  # s, a time that is the start
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
    hold: tuple[int, ...] = ()  # coordinates that something else holds
    broken: tuple[str, ...] = ()  # parameters that the point has no derivative by

    def moved(self, step: complex | float, velocity: np.ndarray, acceleration: np.ndarray) -> "Point":
        """The point a moment later, to first order in ``step``."""
        return replace(self, time=self.time + step, z=self.z + step * velocity, zd=self.zd + step * acceleration)

    def stepped(self, step: complex, k: int) -> "Point":
        """The point at a value of parameter k that is larger by ``step``."""
        return replace(
            self,
            z=self.z + step * self.dz[:, k],
            zd=self.zd + step * self.dzd[:, k],
            theta=self.theta + step * self.dtheta[:, k],
        )

    def rounded(self, seed: int) -> "Point":
        """The same point with other round-off."""
        random = np.random.default_rng(seed)
        z, zd, theta = (x * (1.0 + ROUNDED * random.uniform(-1.0, 1.0, x.size)) for x in (self.z, self.zd, self.theta))
        return replace(self, z=z, zd=zd, theta=theta)


def at_equilibrium(problem: Problem) -> Point:
    """The static equilibrium; raises AnalysisError where there is none."""
    return of_initial(problem, settled(problem)[0])


def at_start(problem: Problem) -> Point:
    """The assembled start, with its velocities."""
    return of_initial(problem, assembled(problem, motion_only=True))


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
    return tuple(name for name, found in zip(problem.names.parameters, broken, strict=False) if found)
