"""What constraints are weighed by: the inertia that coordinates count for, and the penalty that serves all together.

A row alone is weighed by the inertia that it meets. Together rows may meet far more: a light rod in a cylinder moves
an excavator's arm, and each stage of a scissor lift all those above it by a lever.
"""

from dataclasses import replace
from math import ceil, log10

import numpy as np

from mbsim_cli.assembly.position.closing import Closing
from mbsim_cli.model.among import all_but
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.allocate import PENALTY_RATIO
from mbsim_cli.solve.holding import least_of_joints

SLOW = 30.0  # by which an update of multipliers shrinks what it shrinks least; below it a stated penalty is warned of
QUICK = 1e3  # below which another penalty is raised, as positions change
LARGEST = 1e14
HARDLY = 1e-10  # part of a coordinate's inertia that stands for none
SLIGHT = 1e-8  # the same of the largest one, see ``factor_penalised``


def weighed(problem: Problem, closing: Closing, *, stated: bool) -> tuple[Problem, list[str]]:
    """The problem with the inertia that its coordinates count for at least, and a penalty that serves all constraints.

    A ``stated`` penalty stays as it is, with a sentence where it is too small.
    """
    inertia, tree, options = closing.inertia.diagonal, problem.model.tree, problem.options
    least = least_of_joints(problem.model, problem.theta, inertia)
    problem = replace(problem, least=least)
    rows = all_but(len(closing.phi), closing.redundant)
    if not rows.size or isinstance(tree, FlexibleTree) or options.integrated:
        return problem, []
    yields = _yields(closing.J[rows], closing.inertia.mass, np.maximum(inertia, least))
    together = float(np.linalg.eigvalsh(yields)[0])
    if options.penalty * PENALTY_RATIO * together >= (SLOW if stated else QUICK):
        return problem, []
    enough = min(LARGEST, 10.0 ** ceil(log10(QUICK / PENALTY_RATIO / max(together, 1e-30))))
    if not stated:  # a power of ten, so that neighbouring designs have the same
        return replace(problem, options=replace(options, penalty=enough)), []
    if options.penalty >= enough:
        return problem, []
    softest = rows[np.abs(np.linalg.eigh(yields)[1][:, 0]).argmax()]
    return problem, [
        f"a penalty of {options.penalty:g} is too small where light bodies move heavy ones, most of all by "
        f"{problem.names.constraints[softest]}: gradients of forces may be wrong, or steps fail; leave penalty out, or "
        f"state {enough:g}"
    ]


def _yields(J: np.ndarray, mass: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """J M^-1 J^T, in parts of what each row yields by the inertia that it meets alone: its least eigenvalue counts."""
    counted = np.maximum(counted, SLIGHT * counted.max())
    rows = J / np.sqrt((J * J / counted).sum(axis=1))[:, None]
    return rows @ np.linalg.solve(mass + HARDLY * np.diag(counted), rows.T)
