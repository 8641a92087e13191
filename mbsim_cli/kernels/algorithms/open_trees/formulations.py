"""Formulations of open trees and closed loops behind one pair of functions, chosen by the type of what they work on.

``dyn`` is the NamedTuple of a formulation; a new one is a module with these functions and a row of the table.
"""

from types import ModuleType

from mbsim_cli.kernels.algorithms import closed_loops
from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.algorithms.closed_loops import ClosedLoops
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

FORMULATIONS: dict[type, ModuleType] = {
    Conventional: conventional,
    PartialRecursive: partial_recursive,
    Recursive: recursive,
    FlexibleOpenTree: flexible_open_tree,
    FlexibleRecursive: flexible_recursive,
    ClosedLoops: closed_loops,
}


_of_formulation = members_by_type("dyn", recursive, FORMULATIONS.__getitem__)


accelerate = _of_formulation(
    "accelerate",
    "Find z'' (n,) of a Motion, and the multipliers (m,) of driven coordinates; False where M is singular.",
)
vary_accelerations = _of_formulation(
    "vary_accelerations",
    "dz'' (n, p) and d_reaction (m, p) for dz, dzd (n, p) and dtheta (len(theta), p), after ``accelerate``.",
)
