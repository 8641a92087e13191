"""What depends on how the structure of T + J^T alpha J is listed; chosen by the type of ``factor.sparsity``.

A new structure is a module with these functions and a row of the table.
"""

from inspect import signature
from types import ModuleType
from typing import Any

from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.elimination import by_coordinates, by_panels
from mbsim_cli.kernels.algorithms.elimination.panels import Panels
from mbsim_cli.kernels.algorithms.elimination.sparsity import Sparsity

STRUCTURES: dict[type, ModuleType] = {Sparsity: by_coordinates, Panels: by_panels}


def _of_structure(name: str, text: str) -> Any:
    """A function for the structure of its argument ``factor``."""
    shape = signature(getattr(by_coordinates, name))
    return by_type("factor.sparsity", name, text, shape, lambda kind: getattr(STRUCTURES[kind], name))


keep_rows = _of_structure("keep_rows", "Keep J (m, n) for later steps, where ``factor.J`` is not J itself.")
find_compliances = _of_structure("find_compliances", "alpha (m,) = J weight^-1 J^T of each row.")
copy_tangent = _of_structure("copy_tangent", "lu = T.")
add_penalties = _of_structure("add_penalties", "lu += J^T alpha J.")
eliminate = _of_structure("eliminate", "Factorise lu without exchanging pivots; False where that would lose digits.")
solve = _of_structure("solve", "Solve in place for column c of b, which may stand for several.")
left_over = _of_structure(
    "left_over", "step = b - T x in column c: digits that elimination lost to the penalty come back with it."
)
add_loads = _of_structure("add_loads", "step += J^T load in column c.")
update_multipliers = _of_structure(
    "update_multipliers", "rest -= J step; mu -= alpha rest; load = alpha rest - mu; return rest . alpha rest."
)
