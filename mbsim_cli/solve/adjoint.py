"""Gradients of numbers by the adjoint of a whole run: the sweep back through what was kept of it.

Derivation: docs/theory/adjoint.md.
"""

from collections.abc import Callable

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels._simd import padded
from mbsim_cli.kernels.algorithms.covectors import Covectors
from mbsim_cli.kernels.drivers.sweep_back import sweep_back
from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import work as allocate
from mbsim_cli.solve.adjoint_work import work_of
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.pulled import Pulled, Seen, each_defined
from mbsim_cli.solve.readings import Readings
from mbsim_cli.solve.tape import Tape


def pull_back(
    problem: Problem,
    tape: Tape,
    count: int,
    seen: Seen,
    between: Callable[[], None] = lambda: None,
    reacting: bool = False,
) -> Pulled:
    """Sweep back through a tape for ``count`` numbers that see sensors, also reactions where they are ``reacting``.

    ``between`` is called after every record. Raises AnalysisError.
    """
    return each_defined(lambda of: _sweep(problem, tape, count, of, between, reacting), seen)


def _sweep(problem: Problem, tape: Tape, count: int, seen: Seen, between: Callable[[], None], reacting: bool) -> Pulled:
    initial = tape.initial
    assert initial is not None
    model, theta = problem.model, initial.theta
    control = allocate.control(problem.options, redundant=initial.redundant.size > 0)
    work, pulling = work_of(model, theta, padded(count))
    readings, worst = Readings(problem, initial, count, seen, reacting), 0.0
    for first, record in tape.backwards():
        hat, given = readings.of(first, record)
        status, row, error = sweep_back(
            model, theta, control, 1 if first == 0 else 0, record, hat, given, work, pulling
        )  # fmt: skip
        worst = max(worst, error)
        between()
        time = record.time[row]
        del record, hat, given  # room for what is made again
        if Status(status) != Status.OK:
            raise AnalysisError(f"the adjoint of the step to t = {time:g} s cannot be found: its matrix is singular")
    readings.add_numbers(pulling.cov.theta)
    gradient = _by_parameters(problem, initial, pulling.cov)
    gradient[:, readings.undefined] = np.nan
    return Pulled(gradient[:, :count], worst, readings.undefined[:count])


def _by_parameters(problem: Problem, initial: Initial, cov: Covectors) -> np.ndarray:
    """Derivatives (p, k): covectors of the start and of theta, along the derivatives of both."""
    p, sens = problem.theta_rho.shape[1], initial.sensitivity
    total = initial.dtheta[:, :p].T @ cov.theta
    for covector, derivative in ((cov.z, sens.z), (cov.zd, sens.zd), (cov.zdd, sens.zdd), (cov.lam, sens.lam)):
        total += derivative[:, :p].T @ covector
    return total
