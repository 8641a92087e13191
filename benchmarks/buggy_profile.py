"""Times of the kernels in a step of ALI3-P, one by one, at an instant of a model's motion."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, solve_change, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import (
    vary_constraint_forces,
    vary_constraint_rates,
    vary_constraints,
    vary_with_velocity,
)
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraints, move_lines
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import composite_inertia, mass_matrix, residual
from mbsim_cli.kernels.algorithms.equations.newton_matrix import newton_matrix
from mbsim_cli.kernels.algorithms.equations.residual_variation import Load, clear_forces, vary_bodies, vary_resting
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, vary_element_forces
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.solve.forward import start

INSTANT = 2.5  # s: in the middle of the first lane change
COUNT, TAKES = 200, 5
# What `repeated` calls by number, and how often a step does: i times an iteration, and k times besides.
PARTS = (
    ("kinematics", 1, 2),
    ("constraints", 1, 0),
    ("forces of springs, tyres and constraints, and the residual", 1, 0),
    ("solution, one column", 1, 2),
    ("tangent (once for the gradient, and where the old one is stale)", 0, 1),
    ("factorisation (tangent, mass matrix)", 0, 2),
    ("mass matrix", 0, 1),
    ("rates of constraints", 0, 1),
    ("variation of kinematics", 0, 2),
    ("variation of constraint forces", 0, 1),
    ("variation of springs and tyres", 0, 1),
    ("variation of bodies, sums over the tree", 0, 1),
    ("variation of constraints", 0, 1),
    ("variation of rates of constraints, both orders", 0, 1),
    ("variation of both resting systems", 0, 1),
    ("rates of the constraints' lines", 0, 1),
    ("variation of second rates with the projected velocities", 0, 1),
    ("solution, 5 columns", 0, 3),
)


@entry
def repeated(part, count, model, theta, t, control, directions, state, sens, work, extra):
    """Call one part of a step many times."""
    kin, eq, comp, tw, columns = work.kin, work.eq, work.comp, extra.twists, extra.columns
    motion, change = motion_alone(state), motion_alone(sens)
    for _ in range(count):
        if part == 0:
            position_kinematics(model.tree, theta, state.z, control.at_center, kin)
            motion_kinematics(model.tree, theta, motion, kin)
        elif part == 1:
            constraints(model, theta, t, state.z, kin, eq.phi, eq.J, eq.lines)
        elif part == 2:
            clear(comp.W)
            clear(eq.Q)
            element_forces(model, theta, t, motion, kin, comp.W, eq.Q)
            constraint_forces(model, theta, state.z, kin, state.lam, eq.lines, comp.W, eq.Q)
            residual(model.tree, kin, comp, eq.Q, eq.G)
        elif part == 3:
            solve_constrained(work.tangent, 1e-3, work.column)
        elif part == 4:
            column_kinematics(model.tree, theta, motion, kin)
            beta, gamma, T = 0.5 * control.h, 0.25 * control.h**2, work.tangent.T
            newton_matrix(model, theta, t, beta, gamma, motion, eq.lines, state.lam, kin, comp, T)
        elif part == 5:
            factor_penalised(control.ratio, work.tangent)
        elif part == 6:
            composite_inertia(model.tree, kin, comp)
            mass_matrix(model.tree, kin, comp, work.projection.T)
        elif part == 7:
            constraint_rates(model, theta, t, motion, eq.lines, kin, eq.phi1, eq.phi2)
        elif part == 8:
            vary_kinematics(model.tree, theta, directions, kin, change, tw)
        elif part == 9:
            clear_forces(tw, columns.b)
            vary_constraint_forces(model, theta, directions, eq.lines, state.lam, state.z, sens.z, kin, tw, columns.b)
        elif part == 10:
            vary_element_forces(model, theta, directions, t, motion, change, kin, tw, columns.b)
        elif part == 11:
            vary_bodies(model.tree, theta, directions, state.z, sens.z, kin, comp, tw, columns.b)
        elif part == 12:
            vary_constraints(model, theta, directions, t, state.z, sens.z, eq.lines, kin, tw, columns.e)
        elif part == 13:
            vary_constraint_rates(
                model, theta, directions, t, motion, change, eq.lines, eq.line_rates, kin, tw,
                extra.resting.velocity.dphi, extra.resting.acceleration.dphi,
            )  # fmt: skip
        elif part == 14:
            loads = Load(work.corrections[0], state.sigma), Load(work.corrections[1], state.kappa)
            rests = extra.resting.velocity, extra.resting.acceleration
            vary_resting(model, theta, directions, state.z, sens.z, eq.lines, kin, comp, tw, loads, rests)
        elif part == 15:
            move_lines(model, theta, eq.lines, kin, eq.line_rates)
        elif part == 16:
            vary_with_velocity(
                -1.0, model, eq.lines, eq.line_rates, state.zd, columns.x, kin, extra.resting.acceleration.dphi
            )
        else:
            solve_change(work.tangent, control.ratio, control.gradient_tolerance, sens.zdd, columns)


def kernels(path: Path, iterations: float) -> list[tuple[str, float, float]]:
    """Name, microseconds a call and calls a step of each part, with sensitivities."""
    assembled = assembly.build(spec.load(path, {}), sensitivity="ddm")
    simulation = start(assembled.problem)
    steps = round(INSTANT / simulation.control.h)
    simulation.advance(steps)
    t, s = INSTANT, simulation
    columns, random = simulation.extra.columns, np.random.default_rng(0)
    rows = []
    for part, (label, each, besides) in enumerate(PARTS):
        for given in (columns.b, columns.e):
            given[:] = random.uniform(-1.0, 1.0, given.shape)
        arguments = (s.model, s.theta, t, s.control, s.directions, s.state, s.sens, s.work, s.extra)
        seconds = _shortest(lambda part=part, given=arguments: repeated(part, COUNT, *given))
        rows.append((label, 1e6 * seconds / COUNT, each * iterations + besides))
    rows.append(("sensors and their sensitivities", 1e6 * _sensors(assembled.problem), 1.0))
    return rows


def _shortest(call) -> float:
    """Shortest time of a few calls [s]."""
    call()
    times = []
    for _ in range(TAKES):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def _sensors(problem) -> float:
    """Seconds that the sensors of one instant take."""
    simulation = start(replace(problem, options=replace(problem.options, duration=1.0)))
    record, d_record = simulation._records(COUNT)
    record.position[:], record.velocity[:], record.acceleration[:] = simulation.state[:3]
    s = simulation
    return (
        _shortest(
            lambda: observe(
                s.model, s.theta, s.control.at_center, s.directions, s.work.kin, s.extra.twists,
                record, d_record,
            )
        )
        / COUNT
    )  # fmt: skip
