"""Derivatives of torques against differences of torques, in random directions at a few instants."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.model.problem import InverseBlock, Motion, Problem
from mbsim_cli.study.verification.comparison import LUCKY, Comparison, compare, derivative, scale_of, unless_undecided

TOLERANCE = 1e-7  # of the derivative's size
UNCERTAIN = 1e-5  # largest estimated error of the numerical derivative that may excuse a difference
INSTANTS = 3
KINDS = ("position", "velocity", "acceleration")


def torque_directions(model: str, assembled: Any, seed: int) -> Iterator[Comparison]:
    """Compare the derivatives of all torques by all coordinates, and by the parameters, along random directions.

    The adjoint has none of these.
    """
    from mbsim_cli.solve.inverse.analysis import InverseAnalysis

    problem: Problem = assembled.problem
    if problem.options.sensitivity == "adjoint":
        return
    random = np.random.default_rng(seed)
    instants = round(problem.options.duration / problem.options.step) + 1
    time = np.sort(random.choice(instants, min(INSTANTS, instants), replace=False)) * problem.options.step
    block = InverseAnalysis(problem).at(time)
    weight = random.choice([-1.0, 1.0], block.torque.shape[1]) * random.uniform(0.5, 1.0, block.torque.shape[1])
    labels: dict[str, Any] = {"model": model, "name": "numerical derivative", "kind": "numerical"}
    labels["objective"] = "random sum of torques"
    for kind in KINDS:
        direction = np.array(random.uniform(-1.0, 1.0, block.position.shape[1]))
        computed = getattr(block, f"by_{kind}") @ direction @ weight
        torques = _along_motion(problem, block, kind, direction)
        yield from _rows(computed, torques, block, weight, time, labels | {"parameter": f"{kind} of all coordinates"})
    if assembled.parameters:
        scales = np.array([scale_of(parameter.value) for parameter in assembled.parameters])
        along: np.ndarray = scales * random.uniform(-1.0, 1.0, len(scales))
        computed = weight @ block.by_parameter @ along
        torques = _along_parameters(assembled, time, along)
        yield from _rows(computed, torques, block, weight, time, labels | {"parameter": "all parameters"})


def _rows(
    computed: np.ndarray,
    torques: Callable[[float], np.ndarray],
    block: InverseBlock,
    weight: np.ndarray,
    time: np.ndarray,
    labels: dict[str, Any],
) -> Iterator[Comparison]:
    """One comparison a time."""
    numerical = derivative(lambda change: torques(change) @ weight, 1.0)
    for k, at in enumerate(time):
        reference, uncertain = float(numerical.derivative[k]), LUCKY * float(numerical.error[k])
        size = max(abs(reference), 1e-3 * float(abs(weight) @ abs(block.torque[k])))
        source = f"central differences at t = {at:g} s, steps down to {numerical.step:.1e}"
        allowed = min(uncertain, UNCERTAIN * size)
        row = compare(computed[k], reference, TOLERANCE, allowed, size, source=source, **labels)
        yield unless_undecided(row, uncertain, size, f"d {row.objective} / d {row.parameter}")


def _along_motion(
    problem: Problem, block: InverseBlock, kind: str, direction: np.ndarray
) -> Callable[[float], np.ndarray]:
    from mbsim_cli.solve.inverse.torques import InverseDynamics

    still = replace(problem, theta_rho=problem.theta_rho[:, :0])
    solver = InverseDynamics(still, matrices=False)
    motion = Motion(*block[:4])

    def torques(change: float) -> np.ndarray:
        moved = motion._replace(**{kind: np.ascontiguousarray(getattr(motion, kind) + change * direction)})
        return solver.block(moved).torque.copy()

    return torques


def _along_parameters(assembled: Any, time: np.ndarray, direction: np.ndarray) -> Callable[[float], np.ndarray]:
    from mbsim_cli.solve.inverse.analysis import InverseAnalysis

    def torques(change: float) -> np.ndarray:
        values = {p.key: p.value + change * d for p, d in zip(assembled.parameters, direction, strict=True)}
        problem = assembled.at(values).problem
        return InverseAnalysis(replace(problem, options=replace(problem.options, sensitivity="none"))).at(time).torque

    return torques
