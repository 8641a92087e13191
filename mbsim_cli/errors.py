"""Exceptions that end a command, each with its exit code; issues of an invalid model; how sentences name options."""

import copyreg
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, NamedTuple, TypeVar

from mbsim_cli.messages import MODEL, code_of


class Issue(NamedTuple):
    """One thing that is wrong at one place of a model file; line and column count from 1, 0 where unknown."""

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str | None = None
    excerpt: str = ""  # the source line
    instance: str = ""  # of a repetition, where one made what is wrong; the message names it too

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "
        path = f"{self.path}: " if self.path else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{path}{self.message}{hint}"

    def as_dict(self) -> dict[str, str | int | None]:
        """Return the issue as ``mbsim validate --json`` prints it."""
        entries = self._asdict()
        del entries["excerpt"], entries["instance"]
        return entries | {"code": self.code}

    @property
    def code(self) -> str:
        """Code of the message, which ``mbsim explain`` takes."""
        return code_of(self.message, MODEL)


class MbsimError(Exception):
    """Base of every error that a user can cause; its text is one sentence for the user."""

    exit_code = 1

    def __reduce__(self) -> Any:
        """Pickled as it is, whatever its class is made from: pools of processes hand on what went wrong."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UsageError(MbsimError):
    """Arguments of a command or a call are wrong."""

    exit_code = 2


class ModelError(MbsimError):
    """A model is invalid; ``issues`` holds all that is wrong, in file order, one for many instances of a repetition."""

    exit_code = 3

    def __init__(self, issues: Iterable[Issue]):
        first: dict[tuple[str, int, int, str], str] = {}  # instance of what is wrong
        kept = list[Issue]()
        for issue in issues:
            sentence = re.sub(r"'[^']*'|[-+.\w]*\d[-+.\w]*", "", issue.message.removesuffix(issue.instance))
            if first.setdefault((issue.file, issue.line, issue.column, sentence), issue.instance) == issue.instance:
                kept.append(issue)
        self.issues: tuple[Issue, ...] = tuple(kept)
        super().__init__("\n".join(map(str, self.issues)))


class AnalysisError(MbsimError):
    """An analysis of a valid model failed; ``state``: time, coordinates and rates there, where they are known."""

    exit_code = 4

    def __init__(self, sentence: str, state: tuple[float, Any, Any] | None = None):
        self.state = state
        super().__init__(sentence)


class InputOutputError(MbsimError):
    """A file cannot be read or written."""

    exit_code = 5


_Error = TypeVar("_Error", bound=BaseException)


def leaving(error: _Error, **found: Any) -> _Error:
    """Attach entries of the JSON report to an error, and return it: paths ``partial`` or ``kept``, or a ``fit``."""
    vars(error).update(found)
    return error


@contextmanager
def os_errors(sentence: str, ending: str = "") -> Iterator[None]:
    """Within, an OSError is an InputOutputError with this sentence and the reason."""
    try:
        yield
    except OSError as error:
        raise InputOutputError(f"{sentence}: {reason_of(error)}{ending}") from error


def reason_of(error: OSError) -> str:
    """The reason that the system gives; it also says so if the current folder was removed."""
    said = error.strerror or str(error)
    try:
        os.getcwd()
    except OSError:
        return f"{said} (the current folder was removed)"
    return said


class Unjudged(MbsimError):
    """Somebody has ended a look at a file, as the system does where memory is short: nothing is known of the file."""

    exit_code = InputOutputError.exit_code


def beyond_numbers(what: str | Exception) -> tuple[str, str]:
    """Message and hint where numbers of a model are beyond what arithmetic holds, by what came of them."""
    told = str(what.args[-1] if isinstance(what, Exception) and what.args else what).split(". ")[0].rstrip(".")
    message = f"numbers are too large, too small or too far apart to compute with ({told})"
    return message, "look for a wrong power of ten, or state all in units that bring them nearer to 1"


def one_line(error: Exception) -> str:
    """One line on why a model could not be analysed."""
    if isinstance(error, ModelError) and len(error.issues) > 1:
        return f"{error.issues[0]} (and {len(error.issues) - 1} more; see mbsim validate)"
    return str(error)


# The caller is a shell or a Python program: sentences name options as that caller writes them.

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
    """The words for people at a shell, or those for programs."""
    return command if _at_a_shell else program


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in "1 mode" and "2 modes", "1 body" and "2 bodies", "1 analysis" and "2 analyses"."""
    ends = {"y": "ies", "is": "es"}  # of nouns in the singular and in the plural
    plural = next((noun.removesuffix(one) + many for one, many in ends.items() if noun.endswith(one)), f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def some_of(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are, as in "a, b and 3 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def with_digits(number: float, digits: int) -> str:
    """A number with so many significant digits, without a power of ten where it is not very large or small."""
    return f"{float(f'{number:.{digits}g}'):g}"


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether an argument is a whole number from ``least`` on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def require_whole(name: str, value: Any, least: int = 0, meaning: str = "") -> None:
    """Raise UsageError for an argument that is no whole number from ``least`` on."""
    if not is_whole(value, least):
        raise UsageError(f"{name} must be a whole number{meaning}, not {value!r}")


def expected_size(value: float, unit: str = "", relative: bool = False) -> str:
    """The kind of number that a size or relative error must be, as "a positive number"; empty if the value is one."""
    if 0.0 < value < (1.0 if relative else inf):
        return ""
    return "a number between 0 and 1" if relative else f"a positive number{unit}"


def require_names(argument: str, names: Any) -> None:
    """Raise UsageError for an argument that is one name in place of a list, or holds a name twice."""
    if isinstance(names, str):
        raise UsageError(f"{argument} must be a list of names, as [{names!r}]")
    listed = list(names)  # also of keys, or a set
    if twice := next((name for k, name in enumerate(listed) if name in listed[:k]), None):
        raise UsageError(f"{argument}: {twice!r} stands twice")


def option(name: str, *values: str) -> str:
    """An option, by the name of its argument: ``--step auto``, in a program ``step='auto'``."""
    quoted = " or ".join(map(repr, values))
    return either(" ".join([_word(name), " or ".join(values)]).rstrip(), f"{name}={quoted}" if values else name)


def flag(name: str) -> str:
    """An option without a value: ``--force``, in a program ``force=True``."""
    return either(_word(name), f"{name}=True")


def _word(name: str) -> str:
    return f"--{name.replace('_', '-')}"
