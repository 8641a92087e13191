"""Derivatives where a law changes its formula on an output time, and parameters move that time.

A sample there has two derivatives: one if the change comes earlier, one if it comes later. Each has an error of first
order in the step, their mean one of second order, and central differences give the mean. Two runs whose changes come a
little earlier and later give the derivatives, and a run without derivatives gives the motion.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.kernels.drivers.stepping import MEETS
from mbsim_cli.model.codes import TYRES
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, Problem, instants_of
from mbsim_cli.solve.open_trees.kinks import Kink, kinks_of_law

__all__ = ["mean_of", "sides_of"]

BESIDE = 1e-9  # of a step, by which a change comes earlier or later

Run = Callable[[Problem, np.ndarray | None], Iterator[Block]]


def sides_of(problem: Problem, theta: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Theta with changes of laws on output times a little earlier, and later; empty where there are none."""
    theta = problem.theta if theta is None else theta
    stepped = np.iscomplexobj(theta)
    if not stepped and not (problem.options.differentiates and problem.theta_rho.any()):
        return ()
    moved = theta.imag != 0.0 if stepped else problem.theta_rho.any(axis=1)
    numbers = sorted(_on_instants(problem, theta, moved))
    if not numbers:
        return ()
    found, beside = (theta.copy(), theta.copy()), BESIDE * problem.options.step
    if problem.options.integrated:  # whose steps do not tell nearer times from each other
        beside = max(beside, 10.0 * MEETS * problem.options.end)
    for side, sign in zip(found, (-beside, beside), strict=True):
        side[numbers] += sign
    return found


def _on_instants(problem: Problem, theta: np.ndarray, moved: np.ndarray) -> set[int]:
    """Offsets in theta of the numbers of times on output times that ``moved`` numbers move, the first of each sum.

    A law may jump at the end of a window: samples there have no derivative, and these times are left out. So are those
    at which a force bends so little that steps do not end there.
    """
    model, step, end = problem.model, problem.options.step, problem.options.end
    forces = model.forces.law[~np.isin(model.forces.kind, TYRES), 0]
    windows = model.laws.window[model.laws.window != NONE]
    jumping = {*windows.tolist(), *(windows + 1).tolist()}

    def kinks(laws: np.ndarray) -> list[Kink]:
        return [kink for law in set(laws.tolist()) for kink in kinks_of_law(model.laws, theta.real, moved, law)]

    bending = [*kinks(model.constraints.law), *(kink for kink in kinks(forces) if not kink.smooth)]
    return {
        kink.numbers[0]
        for kink in bending
        if MEETS * end < kink.time <= end + MEETS * end
        and abs(kink.time - step * round(kink.time / step)) <= MEETS * end
        and kink.numbers[0] not in jumping
        and moved[list(kink.numbers)].any()
    }


def mean_of(problem: Problem, theta: np.ndarray | None, sides: Sequence[np.ndarray], run: Run) -> Iterator[Block]:
    """Blocks of the motion with the mean of the derivatives of both sides; ``run`` makes those of a theta."""
    alone = replace(problem, options=replace(problem.options, sensitivity="none"))
    runs = [run(alone, None if theta is None else theta.real), *(run(problem, side) for side in sides)]
    pending: list[Any] = [None, None, None]
    while True:
        for k, blocks in enumerate(runs):
            while pending[k] is None or not len(pending[k].time):
                pending[k] = next(blocks, None)
                if pending[k] is None:
                    return
        rows = min(len(block.time) for block in pending)
        yield _mean(*(instants_of(block, slice(0, rows)) for block in pending))
        pending = [instants_of(block, slice(rows, None)) for block in pending]


def _mean(motion: Block, early: Block, late: Block) -> Block:
    """The motion with the mean of two blocks' derivatives, or of their imaginary parts."""
    found = {}
    for name, own in motion._asdict().items():
        a, b = getattr(early, name), getattr(late, name)
        if name.startswith("d_") or name in ("gradient_error", "broken", "rest"):
            found[name] = 0.5 * (a + b) if name.startswith("d_") else a
        elif np.iscomplexobj(a):
            found[name] = own + 0.5j * (a.imag + b.imag)
    return motion._replace(**found)
