"""The adjoint of a step behind one set of functions, chosen by the type of the method's ``tableau``.

A new kind of method is a module with these functions and a row of the table.
"""

from inspect import signature
from types import ModuleType
from typing import Any

from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.compiler.jit import python_of
from mbsim_cli.kernels.integrators import esdirk_adjoint, runge_kutta_adjoint
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.runge_kutta import Tableau

METHODS: dict[type, ModuleType] = {Tableau: runge_kutta_adjoint, ImplicitTableau: esdirk_adjoint}


def _of_method(name: str, text: str) -> Any:
    """A function that goes by the type of its argument ``tableau``."""
    shape = signature(python_of(getattr(runge_kutta_adjoint, name)))
    return by_type("tableau", name, text, shape, lambda kind: getattr(METHODS[kind], name))


end_of = _of_method("end_of", "Stage that is the end of the step.")
stand_at_stage = _of_method("stand_at_stage", "Motion at a stage of the step from z with rates zd, zdd (S, n).")
pull_stage = _of_method(
    "pull_stage", "Pull covectors of a stage's rates back to its sums; whether found, and an error."
)
give_stage = _of_method("give_stage", "Hand covectors of a stage's sums on to the beginning and to stages before.")
stand_inside = _of_method("stand_inside", "Motion at the share x of the step, but for z''.")
give_inside = _of_method("give_inside", "Hand covectors of an instant inside the step on to both ends and the stages.")
give_earlier = _of_method("give_earlier", "Hand on what the step after has of this one's stages; needs ``begin_step``.")
