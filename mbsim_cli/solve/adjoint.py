"""Gradients of numbers by the adjoint of a whole run: the sweep back through what was kept of it.

Derivation: docs/theory/adjoint.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels._simd import padded, zeros
from mbsim_cli.kernels.algorithms.covectors import Covectors, covectors, virtual
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.drivers.sweep_back import sweep_back
from mbsim_cli.kernels.integrators.ali3p_adjoint import AdjointWork, Pulling
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import work as allocate
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.reactions_adjoint import ReactionPuller, nothing_given
from mbsim_cli.solve.tape import Tape

Seen = Callable[[int, Record], np.ndarray]


@dataclass(frozen=True)
class Pulled:
    """Derivatives (p, k) of k numbers by the parameters, and the largest relative size of what was left unsolved.

    ``undefined`` (k,) are those that read what is no number.
    """

    gradient: np.ndarray
    error: float
    undefined: np.ndarray


def pull_back(
    problem: Problem,
    tape: Tape,
    count: int,
    seen: Seen,
    between: Callable[[], None] = lambda: None,
    reacting: bool = False,
) -> Pulled:
    """Sweep back through a tape for ``count`` numbers.

    ``seen(first, record)`` gives the covectors (B, width, ``padded(count)``) of the sensors at the rows of a record,
    the first of which is the instant ``first``; also of reactions, behind the others, where they are ``reacting``.
    ``between`` is called after every record. Raises AnalysisError.
    """
    found = _sweep(problem, tape, count, seen, between, reacting)
    if count == 1 or not np.isnan(found.gradient[:, ~found.undefined]).any():
        return found
    # a number without a derivative spoils the solutions of all: each for itself
    for column in np.flatnonzero(~found.undefined):
        alone = _sweep(problem, tape, count, _of_column(seen, column), between, reacting)
        found.gradient[:, column] = alone.gradient[:, column]
    return found


def _of_column(seen: Seen, column: int) -> Seen:
    """Covectors of one number alone."""

    def alone(first: int, record: Record) -> np.ndarray:
        found = seen(first, record)
        others = np.arange(found.shape[2]) != column
        found[:, :, others] = 0.0
        return found

    return alone


def _sweep(problem: Problem, tape: Tape, count: int, seen: Seen, between: Callable[[], None], reacting: bool) -> Pulled:
    initial = tape.initial
    assert initial is not None
    model, theta = problem.model, initial.theta
    control = allocate.control(problem.options, redundant=initial.redundant.size > 0)
    work, pulling = _work(model, theta, padded(count))
    reactions = ReactionPuller(problem, theta, padded(count)) if reacting else None
    given, worst = nothing_given(model, padded(count), theta.dtype.type), 0.0
    undefined = np.zeros(padded(count), bool)
    for first, record in tape.backwards():
        shown, unknown = reactions.show(record) if reactions else (record, np.zeros(record.sensors.shape, bool))
        hat = seen(first, shown)
        undefined |= np.isnan(hat).any(axis=(0, 1)) | (hat[unknown] != 0.0).any(axis=0)
        hat[:, :, undefined] = 0.0  # they are no numbers, and what is left unsolved of them is none
        if reactions:
            hat, of_reactions = (np.ascontiguousarray(part) for part in np.split(hat, [work.seen.size], axis=1))
            given = reactions.pull_back(record, of_reactions)
        status, row, error = sweep_back(
            model, theta, control, 1 if first == 0 else 0, record, hat, given, work, pulling
        )  # fmt: skip
        worst = max(worst, error)
        between()
        if Status(status) != Status.OK:
            time = record.time[row]
            raise AnalysisError(f"the adjoint of the step to t = {time:g} s cannot be found: its matrix is singular")
    if reactions:
        np.add(pulling.cov.theta, reactions.theta, out=pulling.cov.theta)
    gradient = _by_parameters(problem, initial, pulling.cov)
    gradient[:, undefined] = np.nan
    return Pulled(gradient[:, :count], worst, undefined[:count])


def _by_parameters(problem: Problem, initial: Initial, cov: Covectors) -> np.ndarray:
    """Derivatives (p, k): covectors of the start and of theta, along the derivatives of both."""
    p, sens = problem.theta_rho.shape[1], initial.sensitivity
    total = initial.dtheta[:, :p].T @ cov.theta
    for covector, derivative in ((cov.z, sens.z), (cov.zd, sens.zd), (cov.zdd, sens.zdd), (cov.lam, sens.lam)):
        total += derivative[:, :p].T @ covector
    return total


def _work(model: Model, theta: np.ndarray, p: int) -> tuple[AdjointWork, Pulling]:
    """Allocate the work of a sweep with p columns."""
    _, n, m = allocate.sizes(model)
    dtype = theta.dtype.type
    motion = allocate.work(model, theta)
    kin = motion.kin
    still = kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())
    columns, seen = allocate.columns(n, m, p, dtype), np.zeros(allocate.sensor_width(model), dtype)
    state = allocate.state(model, dtype)
    work = AdjointWork(
        kin, still, motion.comp, motion.eq, motion.tangent, motion.projection, columns, state, seen
    )  # fmt: skip
    cov = covectors(model, theta.size, p, dtype)
    rest = cov._replace(zd=zeros((n, p), dtype), zdd=zeros((n, p), dtype))
    nu = (zeros((m, p), dtype) for _ in range(3))
    return work, Pulling(cov, rest, virtual(model, p, dtype), virtual(model, p, dtype), *nu, np.zeros(n, dtype))
