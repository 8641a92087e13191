"""Second derivatives of objectives: the adjoint's gradients, differentiated by a complex step along a direction."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mbsim_cli.assembly.objectives import Objective, jumps_in, objectives_of
from mbsim_cli.assembly.options import end_of
from mbsim_cli.assembly.position.closing import start_from
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import UsageError
from mbsim_cli.model.layout import STEP
from mbsim_cli.model.problem import Problem
from mbsim_cli.spec.expressions.named_numbers import Expressions
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics.undetermined import UndefinedDirections, UnknownReactions, masked
from mbsim_cli.study.evaluation import Adjoint, Gradient, accumulated, require_finite
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.verification import CONVERGED, derivative, scale_of


class _ComplexNumbers:
    """Numbers of a file, and their derivatives, in an environment of complex values."""

    def __init__(self, environment: Expressions):
        self._environment = environment

    def __call__(self, number: Number) -> complex:
        return self._environment.value(number)

    def gradient(self, number: Number, parameters: Sequence[str]) -> list[complex]:
        """Derivatives of one number by the given parameters."""
        found = self._environment.gradient(number)
        return [found.get(name, 0.0) for name in parameters]


# Forward over reverse: the run and its sweep back are made once more in complex numbers, a direction each. How
# numbers of the model depend on parameters is differentiated once more by extrapolated differences of exact
# derivatives.


def hessian_vector(assembled: Assembled, objective: str, direction: np.ndarray, listener: Listener) -> np.ndarray:
    """The Hessian (p, p) of an objective times a direction (p,) of the parameters; the problem is one of an adjoint.

    NaN where a parameter has no derivative, or the direction moves one that has none. Raises AnalysisError, and
    UsageError where the direction moves a time at which accelerations of an open tree jump: ``stepping.jump`` knows
    of the first order alone.
    """
    if not direction.any():
        return np.zeros(len(direction))
    given = assembled.problem
    for number in sorted(given.jumps) if given.options.integrated else ():
        if given.theta_rho[number] @ direction:
            lacking = f"second derivatives by the time {given.theta[number]:g} s, at which accelerations jump,"
            smooth = "motions with two continuous derivatives and continuous forces, or for motions ali3p-rtdyn1"
            raise UsageError(f"{lacking} are not known; take {smooth}")
    problem, objectives = _beside(assembled, direction)
    chosen = [found for found in objectives if found.name == objective]
    compile_kernels(problem, listener, objectives=chosen)
    unknown, undefined = UnknownReactions(problem, chosen), UndefinedDirections(problem.names)
    adjoint = Adjoint(problem, chosen)
    accumulators = accumulated(problem, chosen, (unknown.add, undefined.add), listener=listener, adjoint=adjoint)
    gradient = adjoint.gradients(accumulators, listener.poll)[objective]
    names, reasons = problem.names.parameters, undefined.reasons
    lost = names if any(direction[names.index(name)] for name in reasons) else reasons
    found = masked(gradient.imag / STEP, names, lost)
    value = float(accumulators[objective].value.real)
    results = {objective: Gradient(value, found, undefined=dict.fromkeys(lost, ""))}
    require_finite(problem, results, unknown.objectives)
    return found


def _beside(assembled: Assembled, direction: np.ndarray) -> tuple[Problem, list[Objective]]:
    """The problem and its objectives a complex step along a direction."""
    problem, parameters, file = assembled.problem, assembled.parameters, assembled.model_file
    keys = [parameter.key for parameter in parameters]
    moves = {p.key: float(d) for p, d in zip(parameters, direction, strict=True) if d}
    scale = min(scale_of(p.value) / abs(moves[p.key]) for p in parameters if p.key in moves)

    def theta_rho(change: float) -> np.ndarray:
        """d theta / d rho, as one row, where parameters are off their values."""
        environment = file.expressions.beside({key: change * d for key, d in moves.items()})
        theta, theta_rho = assembled.theta.beside(environment, keys)
        return start_from(assembled.equations, assembled.closing, theta, theta_rho)[1].ravel()

    options = problem.options
    if not options.integrated:  # whose steps go by the tolerance, and must stay what they are
        options = replace(options, tolerance=CONVERGED, gradient_tolerance=CONVERGED)
    turned = derivative(theta_rho, scale).derivative.reshape(problem.theta_rho.shape)
    moved = replace(
        problem,
        theta=problem.theta + 1j * STEP * (problem.theta_rho @ direction),
        theta_rho=problem.theta_rho + 1j * STEP * turned,
        options=options,
    )
    environment = file.expressions.beside({key: 1j * STEP * d for key, d in moves.items()})
    numbers, end = _ComplexNumbers(environment), end_of(file, assembled.choices.get("duration"))
    jumps = jumps_in(moved, problem.splits), jumps_in(moved, problem.value_splits)
    return moved, objectives_of(file, numbers, assembled.sensor_rows, keys, end, *jumps, environment)
