"""Columns of joints, measures, laws, forces and bodies that deform, each with its variation and pull-back.

Forces on bodies have a value alone, an ``Element``; ``kernels.derive`` generates the rest.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mbsim_cli.model.codes import ON_BODIES

__all__ = ["elements", "generated"]


@cache
def elements() -> tuple[Any, ...]:
    """Every ``Element``, in the order of the kinds of forces."""
    from mbsim_cli.kernels.elements.element import Element

    modules = [import_module(f"{__name__}.{family}") for family in dict.fromkeys(ON_BODIES.values())]
    return tuple(each for module in modules for each in vars(module).values() if isinstance(each, Element))


def generated() -> dict[str, Any]:
    """``Derivatives`` of all elements whose derivatives are generated, by the name of their value."""
    from mbsim_cli.kernels.derive.write import Derivatives

    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Derivatives)]
    return {each.function.__name__: each for each in found}
