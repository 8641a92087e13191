"""Columns of joints, measures, laws, forces and bodies that deform, each with its variation and pull-back.

Forces have values alone, in an ``Element`` or ``AlongMeasure``; ``kernels.derive`` generates the rest.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mbsim_cli.model.codes import ELEMENTS


@cache
def elements(kind: type) -> tuple[Any, ...]:
    """All of ``Element``, or of ``AlongMeasure``, in the order of the kinds of forces."""
    modules = [import_module(f"{__name__}.{family}") for family in dict.fromkeys(ELEMENTS.values())]
    return tuple(each for module in modules for each in vars(module).values() if isinstance(each, kind))


def generated() -> dict[str, Any]:
    """``Derivatives`` of all elements whose derivatives are generated, by the name of their value."""
    from mbsim_cli.kernels.derive.write import Derivatives

    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Derivatives)]
    return {each.function.__name__: each for each in found}
