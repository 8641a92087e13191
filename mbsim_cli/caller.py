"""Who calls, people at a shell or a Python program: sentences name what these can give."""

from collections.abc import Iterator
from contextlib import contextmanager

_at_a_shell = False


@contextmanager
def at_a_shell() -> Iterator[None]:
    """Within, sentences are for people who give commands; elsewhere for those who write programs."""
    global _at_a_shell
    outer, _at_a_shell = _at_a_shell, True
    try:
        yield
    finally:
        _at_a_shell = outer


def either(command: str, program: str) -> str:
    """What people do at a shell, or what a program does."""
    return command if _at_a_shell else program


def option(name: str, *values: str) -> str:
    """An option, by the name of its argument: ``--step auto``, in a program ``step='auto'``."""
    quoted = " or ".join(map(repr, values))
    return either(" ".join([_word(name), " or ".join(values)]).rstrip(), f"{name}={quoted}" if values else name)


def flag(name: str) -> str:
    """An option without a value: ``--force``, in a program ``force=True``."""
    return either(_word(name), f"{name}=True")


def _word(name: str) -> str:
    return f"--{name.replace('_', '-')}"
