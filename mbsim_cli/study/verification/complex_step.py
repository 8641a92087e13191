"""Gradients by complex step: one run a parameter, in complex numbers."""

from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics.reactions import UnknownReactions
from mbsim_cli.study.evaluation import Gradient, accumulated, require_finite
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.objectives.integrand import stepped

STEP = 1e-30  # of a complex step; its square vanishes beside any value
CONVERGED = 1e-15  # tolerance under a complex step: the imaginary part converges one iteration after the real one


def complex_steps(assembled: Any, listener: Listener) -> dict[str, Gradient]:
    """Objectives and their gradients by one run a parameter, in complex numbers: no derivative of ours is used."""
    problem: Problem = assembled.problem
    directions = problem.theta_rho.T
    options = replace(problem.options, sensitivity="none")
    if not options.open_tree:
        options = replace(options, tolerance=CONVERGED)
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=options)
    compile_kernels(plain, listener, problem.theta.astype(complex))
    unknown = UnknownReactions(plain, assembled.objectives)
    values = np.zeros((len(directions), len(assembled.objectives)), complex)
    for k, (parameter, direction) in enumerate(zip(assembled.parameters, directions, strict=True)):
        moved = [stepped(objective, k, complex(parameter.value, STEP)) for objective in assembled.objectives]
        run = accumulated(plain, moved, (unknown.add,), theta=problem.theta + 1j * STEP * direction, listener=listener)
        values[k] = [found.value for found in run.values()]
    names = [objective.name for objective in assembled.objectives]
    results = {n: Gradient(float(v[0].real), v.imag / STEP) for n, v in zip(names, values.T, strict=True)}
    require_finite(results, unknown.objectives)
    return results
