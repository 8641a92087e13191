"""Formulations of open trees behind one pair of functions, chosen by the type of what they work on.

``dyn`` is the NamedTuple of a formulation; a new one is a row of each table.
"""

from mbsim_cli.kernels._jit import overload, python_of
from mbsim_cli.kernels.algorithms import (
    conventional,
    flexible_open_tree,
    flexible_recursive,
    partial_recursive,
    recursive,
)
from mbsim_cli.kernels.algorithms.conventional import Conventional
from mbsim_cli.kernels.algorithms.flexible_open_tree import FlexibleOpenTree
from mbsim_cli.kernels.algorithms.flexible_recursive import FlexibleRecursive
from mbsim_cli.kernels.algorithms.partial_recursive import PartialRecursive
from mbsim_cli.kernels.algorithms.recursive import Recursive

ACCELERATE = {
    Conventional: conventional.accelerate,
    PartialRecursive: partial_recursive.accelerate,
    Recursive: recursive.accelerate,
    FlexibleOpenTree: flexible_open_tree.accelerate,
    FlexibleRecursive: flexible_recursive.accelerate,
}
VARY_ACCELERATIONS = {
    Conventional: conventional.vary_accelerations,
    PartialRecursive: partial_recursive.vary_accelerations,
    Recursive: recursive.vary_accelerations,
    FlexibleOpenTree: flexible_open_tree.vary_accelerations,
    FlexibleRecursive: flexible_recursive.vary_accelerations,
}


def accelerate(model, theta, t, z, zd, dyn, zdd_out, reaction_out):
    """z'' (n,) and the multipliers (m,) of driven coordinates; False where the mass matrix is singular."""
    return ACCELERATE[type(dyn)](model, theta, t, z, zd, dyn, zdd_out, reaction_out)


@overload(accelerate)
def _accelerate_compiled(model, theta, t, z, zd, dyn, zdd_out, reaction_out):
    return python_of(ACCELERATE[dyn.instance_class])


def vary_accelerations(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    """dz'' (n, p) and d_reaction (m, p) for dz, dzd (n, p) and dtheta (p, len(theta)), after ``accelerate``."""
    VARY_ACCELERATIONS[type(dyn)](
        model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out
    )  # fmt: skip


@overload(vary_accelerations)
def _vary_compiled(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    return python_of(VARY_ACCELERATIONS[dyn.instance_class])
