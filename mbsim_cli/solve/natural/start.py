"""The start in natural coordinates, from the motion of all bodies that closing the mechanism has found."""

from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_sensitivity import Sensitivity
from mbsim_cli.model.among import all_but
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.faults.undefined_elements import undefined_at
from mbsim_cli.solve.initial import Initial, accelerate, assemble, require_assembled
from mbsim_cli.solve.natural.fields import STEP, Fields, derivative_of, directions_of, value_of
from mbsim_cli.solve.natural.naming import broken_among
from mbsim_cli.solve.natural.plan import Group
from mbsim_cli.solve.natural.poses import Poses, poses_of
from mbsim_cli.solve.natural.standing import Standing
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.solve.pivots import split_of

NOT_HELD = np.zeros(0, np.int64)


def start_of(problem: Problem, theta: np.ndarray | None = None) -> tuple[Problem, Initial]:
    """The problem in natural coordinates and its start."""
    system = problem.system
    tree = replace(problem, names=system.problem.names)
    initial = assemble(tree, theta, geometry_only=True)
    require_assembled(tree, initial.residual)
    p = problem.theta_rho.shape[1]
    poses = poses_of(tree, initial, p)
    stack = directions_of(initial.theta, initial.dtheta[:, :p])
    numbers = system.numbers(stack)
    like = initial.theta
    theta_all = value_of(numbers, like)
    dtheta = allocate.padded_directions(derivative_of(numbers, p), like.dtype.type)
    dtype = like.dtype.type
    state, sens = allocate.state(system.model, dtype), allocate.sensitivity(system.model, dtheta.shape[1], dtype)
    fields = system.fields(stack)
    for group in system.plan.groups:
        _stand(system, group, fields, poses, state, sens, p)
    for d in system.equations.defined:
        c = system.order[d.coordinate]
        _take(state, sens, c, initial, system.coordinate_of(d.column))
    _take(state, sens, system.elastic[0], initial, system.elastic[1])
    natural = replace(problem, model=system.model)
    return natural, _accelerated(tree, system, initial, state, sens, theta_all, dtheta)


def _take(state: State, sens: Sensitivity, ours: Any, initial: Initial, theirs: Any) -> None:
    """Positions and velocities of coordinates that the tree has too."""
    for mine, found in zip((*state[:2], *sens[:2]), (*initial.state[:2], *initial.sensitivity[:2]), strict=True):
        mine[ours] = found[theirs]


def _stand(
    system: NaturalSystem, group: Group, fields: Fields, poses: Poses, state: State, sens: Sensitivity, p: int
) -> None:
    """Coordinates of a group, from the motion of its body."""
    columns, along = system.order[group.columns], group.along(fields)
    motion = poses.motion(group.body, group.local(fields.theta), point=group.point)
    references = [np.zeros_like(x) for x in motion]
    if group.origin is not None:
        field = group.origin(fields)
        references[0] = field[:, :, 0]
        for k, rates in enumerate((state.z, state.zd)):
            d_rates = (sens.z, sens.zd)[k]
            q = np.zeros((len(field), system.plan.size), complex)
            q[0] = rates[system.order]
            if len(field) > 1:
                q[1:] = rates[system.order] + 1j * STEP * d_rates[system.order, :p].T
            references[k] = references[k] + np.einsum("tac,tc->ta", field[:, :, 1:], q)
    for k, (x, reference) in enumerate(zip(motion, references, strict=True)):
        value = np.einsum("tja,ta->tj", along, x - reference)
        (state.z, state.zd)[k][columns] = value_of(value, state.z)
        (sens.z, sens.zd)[k][columns, :p] = derivative_of(value, p)


def _accelerated(
    tree: Problem, system: NaturalSystem, initial: Initial, state: State, sens: Sensitivity, theta: np.ndarray,
    dtheta: np.ndarray,
) -> Initial:  # fmt: skip
    """The start with the accelerations of the forces there, and the multipliers that go with them."""
    model = system.model
    expected = np.zeros(model.measures.kind.size)
    expected[: len(initial.expected)] = initial.expected
    for k, (c, sign) in system.standing_for.items():
        expected[k] = sign * initial.state.z[c].real
    at = Standing(model, theta, dtheta, expected)
    for mine, found in zip((*at.state[:2], *at.sens[:2]), (*state[:2], *sens[:2]), strict=True):
        mine[:] = found
    at.evaluate()
    if not np.isfinite(at.work.eq.G).all():
        found = undefined_at(tree, initial.theta, 0.0, initial.state.z, initial.state.zd)
        raise AnalysisError(found or "the equations of motion are undefined at the start")
    work, n, m = at.work, at.n, at.m
    rows = split_of(work.eq.J, np.arange(n), np.arange(m)).rows
    if rows.size < m and (model.sensors.kind == Sensor.MULTIPLIER).any():
        raise AnalysisError(
            "sensors read multipliers, and in natural coordinates equations depend on each other: their multipliers "
            "are not determined; use ali3p-rtdyn0 or ali3p-rtdyn1, or leave out the sensors of type multiplier"
        )
    accelerate(at, rows)
    return Initial(
        at.state, at.sens, theta, dtheta, rows.size, all_but(m, rows), initial.dependent,
        initial.conflict, work.eq.phi.copy(), broken_among(system, initial.broken), NOT_HELD, expected,
        initial.rest,
    )  # fmt: skip
