"""Columns of joints, measures, laws, forces and bodies that deform, each with its variation and pull-back.

Forces on one body have a value alone; ``kernels.derive`` generates the rest.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__all__ = ["generated"]


def generated() -> dict[str, Any]:
    """``Derivatives`` of all elements whose derivatives are generated, by the name of their value."""
    from mbsim_cli.kernels.derive.write import Derivatives

    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Derivatives)]
    return {each.function.__name__: each for each in found}
