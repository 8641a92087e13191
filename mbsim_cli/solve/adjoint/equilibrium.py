"""Gradients of numbers that are read at a static equilibrium: its equations, transposed, are solved once.

The transpose of ``statics``. Derivation: docs/theory/adjoint.md, section 4.
"""

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.adjoint.pulled import InstantPuller, Pulled, Seen, each_defined
from mbsim_cli.solve.adjoint.readings import Readings
from mbsim_cli.solve.tape import Tape


def pull_back(problem: Problem, tape: Tape, count: int, seen: Seen, reacting: bool = False) -> Pulled:
    """Derivatives of ``count`` numbers that see sensors, also reactions where they are ``reacting``."""
    return each_defined(lambda of: _pull_back(problem, tape, count, of, reacting), seen)


def _pull_back(problem: Problem, tape: Tape, count: int, seen: Seen, reacting: bool) -> Pulled:
    initial = tape.initial
    assert initial is not None and initial.rest is not None
    found = initial.rest
    ((_, record),) = tape.backwards()
    instant = InstantPuller(problem.model, initial.theta, padded(count))
    readings = Readings(problem, initial, count, seen, reacting)
    hat, given = readings.of(0, record)
    cov = instant.pull(record, seen=hat)
    z, multipliers = cov.z[0], cov.lam[0]
    if given.z.size:
        z, multipliers = z + given.z[0], multipliers + given.lam[0]
    others = all_but(len(z), found.held)
    x = np.linalg.solve(found.tangent.T, -np.concatenate([z[others], multipliers[found.rows]]))
    mu, nu = zeros((1, *z.shape), z.dtype), zeros((1, *multipliers.shape), z.dtype)
    mu[0, others], nu[0, found.rows] = x[: others.size], x[others.size :]
    held = (z + instant.pull(record, mu=mu, nu=nu).z[0])[found.held]  # what moves with the coordinates that are held
    readings.add_numbers(instant.theta)
    p = problem.theta_rho.shape[1]
    gradient = initial.dtheta[:, :p].T @ instant.theta + initial.sensitivity.z[found.held, :p].T @ held
    gradient[:, readings.undefined] = np.nan
    return Pulled(gradient[:, :count], 0.0, readings.undefined[:count])
