"""Functions that are chosen by the type of an argument, compiled or not; that costs nothing at run time."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import Signature, signature
from typing import Any

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import derived, kernel, overload, python_of
from mbsim_cli.kernels.derive.write import compiled_text
from mbsim_cli.model.codes import ELEMENTS
from mbsim_cli.model.layout import DEFORMING, FlexibleTree


def by_type(place: str, name: str, text: str, shape: Signature, choose: Callable[[type], Callable]) -> Any:
    """Function with arguments of ``shape``, chosen by the type at a place: an argument or field (``model.tree``)."""
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


def table_by_type(place: str, name: str, text: str, functions: Mapping[type, Callable]) -> Any:
    """Such a function, out of a table that may grow; its functions have the same arguments."""
    return by_type(place, name, text, signature(python_of(next(iter(functions.values())))), functions.__getitem__)


def members_by_type(place: str, like: Any, of: Callable[[type], Any]) -> Callable[[str, str], Any]:
    """A maker of such functions by name and docstring: members of the module or class that ``of`` gives for the type.

    They have the arguments of the members of ``like``.
    """

    def member(name: str, text: str) -> Any:
        shape = signature(python_of(getattr(like, name)))
        return by_type(place, name, text, shape, lambda kind: getattr(of(kind), name))

    return member


def only_with(place: str, *kinds: type) -> Callable[[Callable], Callable[[Callable], Any]]:
    """A maker of decorators: the decorated function serves types ``kinds`` at the place, the one given all others.

    So models without a feature compile nothing of it: ``@with_curves(lambda measures, m: False)``. Names of functions
    are parts of names in machine code, which must differ.
    """

    def decorator(otherwise: Callable) -> Callable[[Callable], Any]:
        def chosen(function: Callable) -> Any:
            name, shape, serving = function.__name__, signature(function), kernel(function)
            otherwise.__name__ = otherwise.__qualname__ = f"without_{name}"

            @cache
            def calling() -> Callable:  # the kernel itself is compiled once, for all that call it
                arguments, space = ", ".join(shape.parameters), {name: serving}
                return compiled_text(
                    f"def with_{name}({arguments}):\n    return {name}({arguments})\n", function, space
                )

            def choose(kind: type) -> Callable:
                if kind not in kinds:
                    return otherwise
                return calling() if COMPILER == "linking" else function

            return by_type(place, name, function.__doc__ or "", shape, choose)

        return chosen

    return decorator


with_elastic = only_with("model.tree", *DEFORMING)  # for systems with bodies that deform
with_columns = only_with("model.tree", FlexibleTree)  # for trees with such bodies: columns differ from coordinates


# Functions chosen by the kind of a force, among the elements that kernels of the model know ---------------------------


def _is(kinds: Iterable[int]) -> str:
    return " or ".join(f"kind == {int(kind)}" for kind in kinds) or "False"


def by_kind(
    name: str, arguments: str, elements: dict[Any, tuple[str, dict]], otherwise: str, like: Callable, text: str
) -> Any:
    """A function of forces f, which runs the statement of the element of its kind, or ``otherwise``.

    Each of ``elements`` has a statement, and the functions that it names.
    """

    @cache
    def choice(families: tuple[str, ...]) -> Callable:
        chosen, space = "_".join((name, "of", *families)), dict(like.__globals__)
        source = f"def {chosen}({arguments}):\n    kind = model.forces.kind[f]\n"
        for element, (statement, names) in elements.items():
            if ELEMENTS[element.kinds[0]] in families:
                space |= names
                source += f"    if {_is(element.kinds)}:\n        {statement}\n"
        return compiled_text(f"{source}    {otherwise}\n", like, space)

    shape = signature(eval(f"lambda {arguments}: None"))
    return by_type("model.elements", name, text, shape, lambda kind: choice(kind.families))


def made(text: str, like: Callable) -> Any:
    """A kernel of a text."""
    return derived(text[len("def ") : text.index("(")], lambda: compiled_text(text, like, {}))


def predicate(name: str, kinds: Iterable[int], like: Callable) -> Any:
    """Whether a kind of force is one of some."""
    return made(f"def {name}(kind):\n    return {_is(kinds)}\n", like)
