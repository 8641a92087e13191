"""Functions that are chosen by the type of an argument, compiled or not; that costs nothing at run time."""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from mbsim_cli.kernels.compiler.jit import overload, python_of


def by_type(place: str, name: str, text: str, shape: Signature, choose: Callable[[type], Callable]) -> Any:
    """A function with the arguments of ``shape``; ``choose`` gives that for the type at a place.

    The place is an argument, as ``tableau``, or a field of one, as ``model.tree``.
    """
    argument, _, field = place.partition(".")
    position = list(shape.parameters).index(argument)

    def function(*arguments: Any) -> Any:
        found = arguments[position]
        return choose(type(getattr(found, field) if field else found))(*arguments)

    def compiled(*arguments: Any) -> Any:
        group = getattr(arguments[position], "group", arguments[position])  # behind a reference or not
        found = group.types[group.fields.index(field)] if field else group
        return python_of(choose(found.instance_class))

    function.__signature__ = compiled.__signature__ = shape  # type: ignore[attr-defined]
    function.__name__, function.__doc__ = name, text
    overload(function)(compiled)
    return function


def members_by_type(place: str, like: Any, of: Callable[[type], Any]) -> Callable[[str, str], Any]:
    """A maker of such functions by name and docstring: members of the module or class that ``of`` gives for the type.

    They have the arguments of the members of ``like``.
    """

    def member(name: str, text: str) -> Any:
        shape = signature(python_of(getattr(like, name)))
        return by_type(place, name, text, shape, lambda kind: getattr(of(kind), name))

    return member
