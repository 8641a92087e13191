"""The start in natural coordinates, from the motion of all bodies that closing the mechanism has found."""

from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Evaluable, Geometry, Standing
from mbsim_cli.solve.faults import undefined_at
from mbsim_cli.solve.initial import Initial, accelerate, assemble, require_closed
from mbsim_cli.solve.natural.plan import STEP, Fields, Group, derivative_of, directions_of, names_of, value_of
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.solve.redundancy import beyond_equations, in_units, partition_of


@dataclass(frozen=True)
class Poses:
    """Poses and velocities of all bodies, and of the ground, at a stack of theta."""

    r: np.ndarray  # (T, nb + 1, 3)
    R: np.ndarray  # (T, nb + 1, 3, 3)
    V: np.ndarray  # (T, nb + 1, 2, 3)

    def motion(self, body: int, local: np.ndarray, *, point: bool) -> tuple[np.ndarray, np.ndarray]:
        """A point or vector of a body, and its rate, each (T, 3)."""
        x, carried = np.einsum("tij,tj->ti", self.R[:, body], local), 1.0 if point else 0.0
        x = x + carried * self.r[:, body]
        w, v = np.moveaxis(self.V[:, body], 1, 0)
        return x, carried * v + np.cross(w, x)


def poses_of(problem: Problem, initial: Initial, p: int) -> Poses:
    """Motion of the bodies at the start, with the derivatives along p directions."""
    at = Geometry(problem, initial.theta, initial.dtheta)
    for mine, theirs in zip((*at.state, *at.sens), (*initial.state, *initial.sensitivity), strict=True):
        mine[:] = theirs
    at.evaluate()
    kin, tw = at.work.kin, at.twists
    count = len(kin.r)
    r, R = kin.r.copy(), kin.R.reshape(count, 3, 3).copy()
    V = kin.V.reshape(count, 2, 3).copy()
    stacks = [[x + 0j for x in (r, R, V)]]
    for k in range(0 if np.iscomplexobj(initial.theta) else p):
        N, N1 = (x[:, :, k].reshape(count, 2, 3) for x in (tw.N, tw.N1))
        turn = N[:, 0]
        dr, dR = N[:, 1] + np.cross(turn, r), np.cross(turn[:, :, None], R, axis=1)
        product = np.cross(turn[:, None], V)  # of motions: (w x v, w x v' + u x v)
        product[:, 1] += np.cross(N[:, 1], V[:, 0])
        stacks.append([x + 1j * STEP * dx for x, dx in zip((r, R, V), (dr, dR, N1 + product), strict=True)])
    return Poses(*(np.stack(parts) for parts in zip(*stacks, strict=True)))


def natural_start(problem: Problem, theta: np.ndarray | None = None) -> tuple[Problem, Initial]:
    """The problem in natural coordinates and its start; raises AnalysisError where forces have no value there."""
    system = problem.system
    tree = replace(problem, names=system.problem.names)
    initial = assemble(tree, theta, geometry_only=True)
    require_closed(tree, initial.residual)
    p, like = problem.theta_rho.shape[1], initial.theta
    fields = system.fields(directions_of(like, initial.dtheta[:, :p]))
    numbers = system.numbers(fields.theta)
    dtheta = allocate.padded_directions(derivative_of(numbers, p), like.dtype.type)
    expected = np.zeros(system.model.measures.kind.size)
    expected[: len(initial.expected)] = initial.expected
    for k, (c, sign) in system.standing_for.items():  # angles of joints are their coordinates, with their turns
        expected[k] = sign * initial.state.z[c].real
    at = Standing(system.model, value_of(numbers, like), dtheta, expected)
    poses = poses_of(tree, initial, p)
    for group in system.plan.groups:
        _place(at, system, group, fields, poses, p)
    same = [(system.order[d.coordinate], system.coordinate_of(d.column)) for d in system.equations.defined]
    found = (*initial.state[:2], *initial.sensitivity[:2])
    for ours, theirs in [*same, system.elastic]:  # positions and velocities of coordinates that the tree has too
        for mine, its in zip((*at.state[:2], *at.sens[:2]), found, strict=True):
            mine[ours] = its[theirs]
    at.evaluate()
    if not np.isfinite(at.work.eq.G).all():
        why = undefined_at(tree, initial.theta, 0.0, initial.state.z, initial.state.zd)
        raise AnalysisError(why or "the equations of motion are undefined at the start")
    rows = partition_of(in_units(at), np.arange(at.n), np.arange(at.m)).rows
    if rows.size < at.m and (at.model.sensors.kind == Sensor.MULTIPLIER).any():
        raise AnalysisError(
            "sensors read multipliers, and in natural coordinates equations depend on each other: their multipliers "
            "are not determined; use ali3p-rtdyn0 or ali3p-rtdyn1, or leave out the sensors of type multiplier"
        )
    accelerate(at, rows)
    names = names_of(system)
    every = (*names.constraints, *names.identities)
    number = {0: 0, beyond_equations(tree.names): beyond_equations(names)}
    broken = [number[k] if k in number else 1 + every.index(tree.names.equation(k)) for k in initial.broken.tolist()]
    start = initial._replace(
        state=at.state, sensitivity=at.sens, theta=at.theta, dtheta=dtheta, rank=rows.size,
        redundant=all_but(at.m, rows), residual=at.work.eq.phi.copy(), broken=np.array(broken, np.int64),
        expected=expected, work=None,
    )  # fmt: skip
    return replace(problem, model=system.model), start


def _place(at: Evaluable, system: NaturalSystem, group: Group, fields: Fields, poses: Poses, p: int) -> None:
    """Positions and velocities of the coordinates of a group, from the motion of its body."""
    columns, along = system.order[group.columns], group.along(fields)
    motion = poses.motion(group.body, group.local(fields.theta), point=group.point)
    references = [np.zeros_like(x) for x in motion]
    rates = list(zip(at.state[:2], at.sens[:2], strict=True))
    if group.origin is not None:
        field = group.origin(fields)
        references[0] = field[:, :, 0]
        for k, (value, slope) in enumerate(rates):
            q = np.zeros((len(field), system.plan.size), complex)
            q[0] = value[system.order]
            if len(field) > 1:
                q[1:] = value[system.order] + 1j * STEP * slope[system.order, :p].T
            references[k] = references[k] + np.einsum("tac,tc->ta", field[:, :, 1:], q)
    for x, reference, (value, slope) in zip(motion, references, rates, strict=True):
        found = np.einsum("tja,ta->tj", along, x - reference)
        value[columns], slope[columns, :p] = value_of(found, value), derivative_of(found, p)
