"""Formulations of open trees and closed loops behind one pair of functions, chosen by the type of what they work on.

``dyn`` is the NamedTuple of a formulation; a new one is a module with these functions and a row of the table.
"""

from inspect import signature
from types import ModuleType
from typing import Any

from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.closed_loops import accelerations as closed_loops
from mbsim_cli.kernels.algorithms.closed_loops.accelerations import ClosedLoops
from mbsim_cli.kernels.algorithms.open_trees import (
    conventional,
    flexible_open_tree,
    flexible_recursive,
    partial_recursive,
    recursive,
)
from mbsim_cli.kernels.algorithms.open_trees.conventional import Conventional
from mbsim_cli.kernels.algorithms.open_trees.flexible_open_tree import FlexibleOpenTree
from mbsim_cli.kernels.algorithms.open_trees.flexible_recursive import FlexibleRecursive
from mbsim_cli.kernels.algorithms.open_trees.partial_recursive import PartialRecursive
from mbsim_cli.kernels.algorithms.open_trees.recursive import Recursive
from mbsim_cli.kernels.compiler.jit import python_of

FORMULATIONS: dict[type, ModuleType] = {
    Conventional: conventional,
    PartialRecursive: partial_recursive,
    Recursive: recursive,
    FlexibleOpenTree: flexible_open_tree,
    FlexibleRecursive: flexible_recursive,
    ClosedLoops: closed_loops,
}


def _of_formulation(name: str, text: str) -> Any:
    """A function of the formulation that its argument ``dyn`` is of."""
    shape = signature(python_of(getattr(recursive, name)))
    return by_type("dyn", name, text, shape, lambda kind: getattr(FORMULATIONS[kind], name))


accelerate = _of_formulation(
    "accelerate",
    "z'' (n,) and the multipliers (m,) of driven coordinates; False where the mass matrix is singular.",
)
vary_accelerations = _of_formulation(
    "vary_accelerations",
    "dz'' (n, p) and d_reaction (m, p) for dz, dzd (n, p) and dtheta (len(theta), p), after ``accelerate``.",
)
