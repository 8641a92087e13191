"""What constraints are weighed by: the inertia that coordinates count for, and the penalty that serves all together.

A row alone is weighed by the inertia that it meets. Together rows may meet far more: a light rod in a cylinder moves
an excavator's arm, and each stage of a scissor lift all those above it by a lever.
"""

from dataclasses import replace
from math import ceil, log10

import numpy as np

from mbsim_cli.assembly.mechanism import DENSE
from mbsim_cli.assembly.position.closing import Closing
from mbsim_cli.model.among import all_but
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.allocate import PENALTY_RATIO
from mbsim_cli.solve.holding import least_of_joints

SLOW = 30.0  # by which an update of multipliers shrinks what it shrinks least, below which the penalty is raised
QUICK = 1e3  # what it is raised for, as positions change
LARGEST = 1e14
HARDLY = 1e-10  # part of a coordinate's inertia that stands for none
SLIGHT = 1e-8  # the same of the largest one, see ``factor_penalised``


def weighed(problem: Problem, closing: Closing, *, stated: bool) -> Problem:
    """The problem with the inertia that its coordinates count for at least, and a penalty, unless that is stated."""
    inertia, tree, options = closing.inertia.diagonal, problem.model.tree, problem.options
    least = least_of_joints(problem.model, problem.theta, inertia)
    rows = all_but(len(closing.phi), closing.redundant)
    judged = len(inertia) <= DENSE and not isinstance(tree, FlexibleTree) and not options.open_tree
    if rows.size and judged and not stated:
        together = _together(closing.J[rows], closing.inertia.mass, np.maximum(inertia, least))
        options = replace(options, penalty=_penalty(options.penalty, together))
    return replace(problem, least=least, options=options)


def _together(J: np.ndarray, mass: np.ndarray, counted: np.ndarray) -> float:
    """The least part of what a row's penalty is to its inertia alone, which is left of it to all that rows move."""
    counted = np.maximum(counted, SLIGHT * counted.max())
    rows = J / np.sqrt((J * J / counted).sum(axis=1))[:, None]
    yields = rows @ np.linalg.solve(mass + HARDLY * np.diag(counted), rows.T)
    return float(np.linalg.eigvalsh(yields)[0])


def _penalty(penalty: float, together: float) -> float:
    """A power of ten, so that neighbouring designs have the same."""
    if penalty * PENALTY_RATIO * together >= SLOW:
        return penalty
    return min(LARGEST, 10.0 ** ceil(log10(QUICK / PENALTY_RATIO / max(together, 1e-30))))
