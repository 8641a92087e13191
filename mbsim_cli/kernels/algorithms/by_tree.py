"""Functions that are chosen by the type of a field of an argument, compiled or not; that costs nothing at run time."""

from collections.abc import Callable
from inspect import Signature
from typing import Any

from mbsim_cli.kernels._jit import overload


def by_tree(name: str, text: str, shape: Signature, choose: Callable[[type], Callable]) -> Any:
    """A function with the arguments of ``shape``, one of them ``model``; ``choose`` gives that for a type of tree."""
    return by_field("model", "tree", name, text, shape, choose)


def by_field(
    argument: str, field: str, name: str, text: str, shape: Signature, choose: Callable[[type], Callable]
) -> Any:
    """The same for the type of any field of any argument."""
    place = list(shape.parameters).index(argument)

    def function(*arguments: Any) -> Any:
        return choose(type(getattr(arguments[place], field)))(*arguments)

    def compiled(*arguments: Any) -> Any:
        group = getattr(arguments[place], "group", arguments[place])  # behind a reference or not
        return choose(group.types[group.fields.index(field)].instance_class)

    function.__signature__ = compiled.__signature__ = shape  # type: ignore[attr-defined]
    function.__name__, function.__doc__ = name, text
    overload(function)(compiled)
    return function
