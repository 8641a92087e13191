"""Small motions: state space x' = A x + B u, y = C x + D u, and the frequency response, with derivatives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError, option
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import APPLIED, Force, Law, Measure
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.layout import NONE, STEP, VECTOR
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.units import force_on
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import reader_of, with_reactions
from mbsim_cli.solve.breakpoints import laws_of_forces, terms_of
from mbsim_cli.solve.linear.equations import AXES, LinearEquations, Linearising, Point
from mbsim_cli.solve.linear.modes import Drifting, about, drift, modes_about
from mbsim_cli.solve.redundancy import of_least_norm, rank_and_pivots

CONSTANT_FORCE = 3  # where it stands in the block of a force along a measure
_FIRST = (Law.CONSTANT, Law.POLYNOMIAL, Law.HARMONIC, Law.SINE_POWER)
OFFSETS = {Law.SMOOTH_STEP: [2, 3]} | {law: [0] for law in _FIRST}  # numbers of a law that move all of its values


class Inputs(NamedTuple):
    """k inputs as directions of the numbers of a problem."""

    names: list[str]
    units: list[str]
    directions: np.ndarray  # (len(theta), k)


class StateSpaceFound(NamedTuple):
    """Matrices of d coordinates and as many velocities, k inputs and o outputs."""

    A: np.ndarray  # (2 d, 2 d)
    B: np.ndarray  # (2 d, k)
    C: np.ndarray  # (o, 2 d)
    D: np.ndarray  # (o, k)
    outputs: np.ndarray  # (o,) what the sensors show at the point
    coordinates: list[str]  # (d,)
    units: list[str]  # (d,)
    z: np.ndarray  # (n,) positions of the point


def inputs_of(problem: Problem, names: Sequence[str], time: float, theta: np.ndarray | None = None) -> Inputs:
    """Inputs by the names of forces and laws of time, of the numbers ``theta``; raises UsageError for others."""
    theta = problem.theta if theta is None else theta
    labels, units, columns = [], [], []
    forces = [name for name in problem.names.forces if "(" not in name]  # without those that show calls of laws
    for name in names:
        found, size = list[tuple[str, str, list[int]]](), 1.0
        force = name if name in forces else name.rpartition(".")[0]  # of a component, as F.x
        if force in forces:
            every, size = _of_force(problem, force, time, theta)
            found = [each for each in every if name in (force, each[0])]
        elif f"laws.{name}" in problem.names.laws:
            found = [(name, "", _of_law(problem, name, time))]
        if not found:
            used = {*laws_of_forces(problem.model).tolist(), *problem.model.constraints.law.tolist()} - {NONE}
            laws = [law for law in map(problem.names.laws.__getitem__, sorted(used)) if law.startswith("laws.")]
            known = ", ".join([*forces, *(law.removeprefix("laws.") for law in laws)]) or "none"
            raise UsageError(f"{option('inputs')}: there is no force or law {name!r}; there are {known}")
        for label, unit, places in found:
            direction = np.zeros(theta.size, theta.dtype)
            direction[places] = size
            labels.append(label)
            units.append(unit)
            columns.append(direction)
    return Inputs(labels, units, np.stack(columns, axis=1) if columns else np.zeros((theta.size, 0)))


def _of_force(
    problem: Problem, name: str, time: float, theta: np.ndarray
) -> tuple[list[tuple[str, str, list[int]]], Any]:
    """Inputs of a force, a number or three components added to its value; and by how much a unit changes numbers.

    Raises UsageError where a law that multiplies the force is zero at the time.
    """
    number, forces, measures = problem.names.forces.index(name), problem.model.forces, problem.model.measures
    kind, first, law = forces.kind[number], int(forces.theta[number]), int(forces.law[number, 0])
    if kind == Force.ALONG_MEASURE:
        measure = int(forces.measure[number])
        unit = "N m" if measures.kind[measure] == Measure.ANGLE else "N"
        if measures.kind[measure] == Measure.COORDINATES:
            columns = measures.coordinate[measures.first[measure] : measures.first[measure + 1]]
            unit = force_on(problem.names.coordinate_units[int(of_columns(problem.model.tree, columns)[0])])
        return [(name, unit, [first + CONSTANT_FORCE])], 1.0
    if kind not in APPLIED:
        raise UsageError(
            f"{option('inputs')}: {name!r} follows the motion, and nothing can be added to it; name another force"
        )
    factor = 1.0 if law == NONE else law_value(problem.model.laws, theta, law, time)[0]
    if factor == 0.0:
        raise UsageError(f"{option('inputs')}: a law multiplies force {name!r} and is zero at {time:g} s; name the law")
    unit = "N" if kind == Force.POINT_FORCE else "N m"
    return [(f"{name}.{axis}", unit, [first + VECTOR + k]) for k, axis in enumerate(AXES)], 1.0 / factor


def _of_law(problem: Problem, name: str, time: float) -> list[int]:
    """Numbers that raise a law of time by one; raises UsageError where it has none, or drives a motion."""
    laws, path = problem.model.laws, f"laws.{name}"
    if any(law != NONE and problem.names.laws[law] == path for law in problem.model.constraints.law):
        raise UsageError(
            f"{option('inputs')}: law {name!r} drives a motion, and is no force; name forces, or laws of forces"
        )
    heads = {law for law in laws_of_forces(problem.model).tolist() if law != NONE and problem.names.laws[law] == path}
    places: list[int] = []
    for head in sorted(heads):
        for term in terms_of(laws, head):
            window, kind, first = laws.window[term], Law(laws.kind[term]), int(laws.theta[term])
            inside = window == NONE or problem.theta[window] <= time < problem.theta[window + 1]
            if inside and kind == Law.SPLINE:
                count = int(laws.count[term])
                places += [first + count + 4 * piece + 3 for piece in range(count - 1)]
                break
            if inside and kind in OFFSETS:
                places += [first + offset for offset in OFFSETS[kind]]
                break
    if not places:
        raise UsageError(f"{option('inputs')}: no number of law {name!r} moves its value at {time:g} s; name the force")
    return places


def state_space(
    problem: Problem, point: Point, inputs: Inputs, linear: Linearising | None = None,
    found: LinearEquations | None = None,
) -> StateSpaceFound:  # fmt: skip
    """Matrices about a point, with all sensors as outputs; raises AnalysisError.

    Or of the equations ``found`` about a point near that of ``linear``, of complex numbers where that is complex.
    """
    linear = linear or Linearising(problem, point, inputs.directions)
    found, k = found or linear.equations, inputs.directions.shape[1]
    d = found.M.shape[0]
    follows = -np.linalg.solve(found.M, np.concatenate([found.K, found.C, found.F[0]], axis=1))
    A = np.block([[np.zeros((d, d)), np.eye(d)], [follows[:, : 2 * d]]])
    B = np.concatenate([np.zeros((d, k)), follows[:, 2 * d :]])
    eta = found.all_motions()[:, :, : 2 * d + k]
    sensors, C = _outputs(problem, point, found, eta, inputs.directions)
    z = np.array(found.instant.state.z)
    return StateSpaceFound(A, B, C[:, : 2 * d], C[:, 2 * d :], sensors, linear.names, linear.units, z)


def _outputs(
    problem: Problem, point: Point, found: LinearEquations, eta: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sensors (o,) at the point, and their derivatives (o, 2 d + k) by states and inputs."""
    at, (B, B1, B2), model = found.instant, found.bases, problem.model
    count, k = eta.shape[2], directions.shape[1]
    width = padded(count)
    record = allocate.record(model, 1, at.dtype)
    d_record = allocate.sensitivity_record(model, 1, width, at.dtype)
    record.time[0] = point.time
    record.position[0], record.velocity[0], record.acceleration[0] = at.state[:3]
    record.lam[0] = record.reaction[0] = at.state.lam
    if record.expected.shape[1]:
        record.expected[0] = at.work.kin.expected
    d_record.position[0, :, :count] = B @ eta[0]
    d_record.velocity[0, :, :count] = B @ eta[1] + B1 @ eta[0]
    d_record.acceleration[0, :, :count] = B @ eta[2] + 2.0 * B1 @ eta[1] + B2 @ eta[0]
    load = sum(part @ moved for part, moved in zip(found.G[:3], eta, strict=True))
    load[:, count - k :] += found.G[3]
    multipliers = _multipliers(found.J, load)
    d_record.lam[0, :, :count] = d_record.reaction[0, :, :count] = multipliers[: at.m]
    dtheta = np.zeros((point.theta.size, width), at.dtype)
    dtheta[:, count - k : count] = directions
    observe(
        model, at.theta, at.at_center, allocate.directions(model, dtheta, at.dtype), at.work.kin,
        allocate.twists_of(model, width, at.dtype), record, d_record,
    )  # fmt: skip
    sensors, d_sensors, _ = with_reactions(record, d_record, reader_of(problem, at.theta, dtheta))
    return sensors[0], d_sensors[0, :, :count]


def _multipliers(J: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Changes of multipliers (m, c) by which J^T balances loads (n, c), analytic in both; of least norm."""
    rank, order = rank_and_pivots(J.real.T)
    rows = order[:rank]
    columns = rank_and_pivots(J.real[rows])[1][:rank]
    found = np.zeros((J.shape[0], load.shape[1]), load.dtype)
    found[rows] = -np.linalg.solve(J[np.ix_(rows, columns)].T, load[columns])
    return of_least_norm(J, rows, found)


RESONANT = 1e-12  # of the numbers in a matrix: the least singular value of one that can be inverted


class Matrices(NamedTuple):
    """A (s, s), B (s, k), C (o, s), D (o, k) of a state space, or derivatives (p, ...) of these."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


@dataclass(frozen=True)
class Responses(Drifting):
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
    def phase(self) -> np.ndarray:
        """arg G (F, o, k) [rad]; NaN where an output does not answer to an input."""
        return np.where(self.value == 0.0, np.nan, np.angle(self.value))

    @property
    def resonances(self) -> np.ndarray:
        """Frequencies (r,) without a response."""
        lost = np.isnan(self.value).all(axis=(1, 2)) if self.value.size else np.zeros(len(self.frequencies), bool)
        return self.frequencies[lost]

    def at(self, frequency: complex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G (o, k), its derivatives (o, k, p), and that by the frequency (o, k)."""
        return transfer(self.matrices, self.changes, frequency)


def responses(problem: Problem) -> Iterator[Block]:
    """Yield the time point that small motions are about, with ``Block.linear``.

    Raises AnalysisError where the mechanism cannot be assembled, no equilibrium is found, or masses are missing, and
    UsageError for names that cannot be inputs.
    """
    wanted = problem.response
    assert wanted is not None
    point, block = about(problem)
    inputs = inputs_of(problem, wanted.inputs, point.time)
    linear = Linearising(problem, point, inputs.directions)
    matrices, changes = differentiated(problem, linear, inputs, list(wanted.rows))
    found = [transfer(matrices, changes, f)[:2] for f in wanted.frequencies]
    value, d_value = (np.array(part) for part in zip(*found, strict=True))
    modes = modes_about(linear)
    changing = np.zeros(0) if problem.options.at == "equilibrium" else drift(modes, linear)
    block.linear[:] = [
        Responses(
            changing, wanted.frequencies, tuple(inputs.names), tuple(inputs.units), wanted.outputs, wanted.units,
            value, d_value, matrices, changes, linear.names, modes.stable,
        )
    ]  # fmt: skip
    yield block


def differentiated(
    problem: Problem, linear: Linearising, inputs: Inputs, rows: Sequence[int]
) -> tuple[Matrices, Matrices]:
    """The state space with some rows of sensors as outputs, and its exact derivatives by all parameters."""
    assert problem.response is not None
    point = linear.point
    values = _shown(state_space(problem, point, inputs, linear), problem, rows, point.time)
    p = point.dz.shape[1]
    changes = Matrices(*(np.zeros((p, *matrix.shape)) for matrix in values))
    for k, name in enumerate(problem.names.parameters):
        stepped = point.stepped(1j * STEP, k)
        moved = inputs_of(problem, problem.response.inputs, point.time, stepped.theta)
        there = state_space(problem, stepped, moved, linear, linear.at(stepped, moved.directions))
        for out, matrix in zip(changes, _shown(there, problem, rows, point.time, name), strict=True):
            out[k] = np.nan if name in point.broken else matrix.imag / STEP
    return values, changes


def _shown(
    found: StateSpaceFound, problem: Problem, rows: Sequence[int], time: float, stepped: str | None = None
) -> Matrices:
    """Matrices with the outputs ``rows``, sensors and behind them expressions."""
    C, D = with_expressed(problem.expressed, found, time, stepped)[1:]
    return Matrices(found.A, found.B, C[list(rows)], D[list(rows)])


def with_expressed(
    expressed: Sequence[Any], found: StateSpaceFound, time: float, stepped: str | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs (o,), C (o, s), D (o, k) with sensors that are expressions; a complex step may move ``stepped``."""
    shown, C, D = list(found.outputs), list(found.C), list(found.D)
    for objective in expressed:
        sensors = {name: found.outputs[None, objective.sensors[name]] for name in objective.integrand.sensors}
        read = stepped is not None and stepped in objective.integrand.parameters  # else it moves sensors alone
        values = objective.integrand.moved(stepped, 1j * STEP) if read else None
        linear = objective.integrand.linearised(sensors, np.array([time]), values)
        row = np.zeros(len(found.outputs), found.C.dtype)
        for name, partial in linear.by_sensor.items():
            row[objective.sensors[name]] = partial[0]
        used = np.flatnonzero(row)  # others need not be numbers
        shown.append(linear.value[0])
        C.append(row[used] @ found.C[used])
        D.append(row[used] @ found.D[used])
    rows = len(shown)  # there may be none, nor any input
    return np.array(shown), np.reshape(C, (rows, found.C.shape[1])), np.reshape(D, (rows, found.D.shape[1]))


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
