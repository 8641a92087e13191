"""Functions of forces that are chosen by the kind of a force, among those elements that kernels of the model know."""

from collections.abc import Callable, Iterable
from functools import cache
from inspect import signature
from typing import Any

from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.compiler.jit import derived
from mbsim_cli.kernels.derive.write import compiled_text
from mbsim_cli.model.codes import ELEMENTS

__all__ = ["by_kind", "made", "predicate"]


def _is(kinds: Iterable[int]) -> str:
    return " or ".join(f"kind == {int(kind)}" for kind in kinds) or "False"


def by_kind(name: str, arguments: str, functions: dict[Any, Any], otherwise: str, like: Callable, text: str) -> Any:
    """A function of forces f: that of an element, by kind, or a statement where there is none."""

    @cache
    def choice(families: tuple[str, ...]) -> Callable:
        chosen, space = "_".join((name, "of", *families)), dict(like.__globals__)
        source = f"def {chosen}({arguments}):\n    kind = model.forces.kind[f]\n"
        for element, function in functions.items():
            if ELEMENTS[element.kinds[0]] in families:
                space[function.__name__] = function
                source += f"    if {_is(element.kinds)}:\n        return {function.__name__}({arguments})\n"
        return compiled_text(f"{source}    {otherwise}\n", like, space)

    shape = signature(eval(f"lambda {arguments}: None"))
    return by_type("model.elements", name, text, shape, lambda kind: choice(kind.families))


def made(text: str, like: Callable) -> Any:
    """A kernel of a text."""
    return derived(text[len("def ") : text.index("(")], lambda: compiled_text(text, like, {}))


def predicate(name: str, kinds: Iterable[int], like: Callable) -> Any:
    """Whether a kind of force is one of some."""
    return made(f"def {name}(kind):\n    return {_is(kinds)}\n", like)
