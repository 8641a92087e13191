"""Frequency response as an analysis: gains and phases of outputs over inputs, with derivatives by parameters.

G(f) = C (2 pi i f - A)^-1 B + D. Derivation: docs/theory/linear_models.md, section 6.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.linear.analysis import about, modes_about
from mbsim_cli.solve.linear.equations import STEP, Linearising
from mbsim_cli.solve.linear.state_space import Inputs, inputs_of, state_space

RESONANT = 1e-12  # of the numbers in a matrix: the least singular value of one that can be inverted


class Matrices(NamedTuple):
    """A (s, s), B (s, k), C (o, s), D (o, k) of a state space, or derivatives (p, ...) of these."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


@dataclass(frozen=True)
class Responses:
    """F frequencies, o outputs, k inputs, p parameters; NaN where an input at an undamped resonance has no response."""

    frequencies: np.ndarray  # (F,) Hz
    inputs: tuple[str, ...]
    input_units: tuple[str, ...]
    outputs: tuple[str, ...]
    output_units: tuple[str, ...]
    value: np.ndarray  # (F, o, k) complex
    d_value: np.ndarray  # (F, o, k, p)
    matrices: Matrices
    changes: Matrices
    independent: Sequence[str]  # coordinates
    stable: bool  # whether no small motion grows

    @property
    def resonances(self) -> np.ndarray:
        """Frequencies (r,) without a response."""
        lost = np.isnan(self.value).all(axis=(1, 2)) if self.value.size else np.zeros(len(self.frequencies), bool)
        return self.frequencies[lost]

    def at(self, frequency: complex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G (o, k), its derivatives (o, k, p), and that by the frequency (o, k)."""
        return transfer(self.matrices, self.changes, frequency)


def responses(problem: Problem) -> Iterator[Block]:
    """Yield the instant that small motions are about, with ``Block.linear``.

    Raises AnalysisError where the mechanism cannot be assembled, no equilibrium is found, or masses are missing, and
    UsageError for inputs that are none.
    """
    wanted = problem.response
    assert wanted is not None
    point, block = about(problem)
    inputs = inputs_of(problem, wanted.inputs, point.time)
    linear = Linearising(problem, point, inputs.directions)
    matrices, changes = differentiated(problem, linear, inputs, list(wanted.rows))
    found = [transfer(matrices, changes, f)[:2] for f in wanted.frequencies]
    value, d_value = (np.array(part) for part in zip(*found, strict=True))
    block.linear[:] = [
        Responses(
            wanted.frequencies, tuple(inputs.names), tuple(inputs.units), wanted.outputs, wanted.units, value, d_value,
            matrices, changes, linear.names, modes_about(linear).stable,
        )
    ]  # fmt: skip
    yield block


def differentiated(
    problem: Problem, linear: Linearising, inputs: Inputs, rows: Sequence[int]
) -> tuple[Matrices, Matrices]:
    """The state space with some rows of sensors as outputs, and its derivatives by all parameters.

    They are exact: one evaluation a parameter, in complex numbers.
    """
    point = linear.point
    values = _shown(state_space(problem, point, inputs, linear), problem, rows, point.time)
    p = point.dz.shape[1]
    changes = Matrices(*(np.zeros((p, *matrix.shape)) for matrix in values))
    for k, name in enumerate(problem.names.parameters):
        stepped = point.stepped(1j * STEP, k)
        there = state_space(problem, stepped, inputs, linear, linear.at(stepped))
        for out, matrix in zip(changes, _shown(there, problem, rows, point.time, name), strict=True):
            out[k] = np.nan if name in point.broken else matrix.imag / STEP
    return values, changes


def _shown(found: Any, problem: Problem, rows: Sequence[int], time: float, stepped: str | None = None) -> Matrices:
    """Matrices with the outputs ``rows``, sensors and behind them expressions."""
    C, D = with_expressed(problem.expressed, found, time, stepped)[1:]
    return Matrices(found.A, found.B, C[list(rows)], D[list(rows)])


def with_expressed(
    expressed: Sequence[Any], found: Any, time: float, stepped: str | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs (o,), C (o, s) and D (o, k) with those of sensors that are expressions of others.

    ``stepped``: the parameter that a complex step moves.
    """
    shown, C, D = list(found.outputs), list(found.C), list(found.D)
    for objective in expressed:
        sensors = {name: found.outputs[None, objective.sensors[name]] for name in objective.integrand.sensors}
        values = None if stepped is None else objective.integrand.moved(stepped, 1j * STEP)
        linear = objective.integrand.linearised(sensors, np.array([time]), values)
        row = np.zeros(len(found.outputs), found.C.dtype)
        for name, partial in linear.by_sensor.items():
            row[objective.sensors[name]] = partial[0]
        used = np.flatnonzero(row)  # others need not be numbers
        shown.append(linear.value[0])
        C.append(row[used] @ found.C[used])
        D.append(row[used] @ found.D[used])
    return np.array(shown), np.array(C), np.array(D)


def transfer(matrices: Matrices, changes: Matrices, frequency: complex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G (o, k) at a frequency [Hz], its derivatives (o, k, p), and that by the frequency (o, k); NaN at a resonance."""
    A, B, C, D = matrices
    p, turn = changes.A.shape[0], 2j * np.pi
    L = turn * frequency * np.eye(len(A)) - A
    if len(A) and np.linalg.svd(L / np.abs(L).max(axis=1, keepdims=True), compute_uv=False)[-1] < RESONANT:
        lost = np.full((*D.shape, p), complex(np.nan, np.nan))
        return np.full(D.shape, complex(np.nan, np.nan)), lost, np.full(D.shape, complex(np.nan, np.nan))
    X = np.linalg.solve(L, B.astype(complex))
    left = np.linalg.solve(L.T, C.T.astype(complex)).T  # C L^-1
    varied = changes.D + changes.C @ X + left @ (changes.A @ X + changes.B)
    return C @ X + D, np.moveaxis(varied, 0, -1), -turn * (left @ X)


def gain(value: complex, d_value: np.ndarray) -> tuple[float, np.ndarray]:
    """|G|, and its derivatives (p,), zero where it is zero."""
    size = abs(value)
    return size, (np.conj(value) * d_value).real / (size or 1.0)


def phase(value: complex, d_value: np.ndarray) -> tuple[float, np.ndarray]:
    """arg G [rad], and its derivatives (p,), none where G is zero."""
    return float(np.angle(value)), (d_value / (value or np.nan)).imag
