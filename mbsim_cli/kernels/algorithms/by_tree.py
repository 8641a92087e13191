"""Functions that are chosen by the type of ``model.tree``, compiled or not; that costs nothing at run time."""

from collections.abc import Callable
from inspect import Signature
from typing import Any

from mbsim_cli.kernels._jit import overload


def by_tree(name: str, text: str, shape: Signature, choose: Callable[[type], Callable]) -> Any:
    """A function with the arguments of ``shape``, one of them ``model``; ``choose`` gives that for a type of tree."""
    place = list(shape.parameters).index("model")

    def function(*arguments: Any) -> Any:
        return choose(type(arguments[place].tree))(*arguments)

    def compiled(*arguments: Any) -> Any:
        model = getattr(arguments[place], "group", arguments[place])  # behind a reference or not
        return choose(model.types[model.fields.index("tree")].instance_class)

    function.__signature__ = compiled.__signature__ = shape  # type: ignore[attr-defined]
    function.__name__, function.__doc__ = name, text
    overload(function)(compiled)
    return function
