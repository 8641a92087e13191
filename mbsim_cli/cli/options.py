"""Options that several commands share, and the parsing of their values."""

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from mbsim_cli import system
from mbsim_cli.cli import completion
from mbsim_cli.cli.outcome import processor_time
from mbsim_cli.cli.output import say
from mbsim_cli.errors import UsageError, expected_size
from mbsim_cli.system import VARIABLES

if TYPE_CHECKING:
    from mbsim_cli.study.assembling import Settings


_DEFAULT = re.compile(r"\[default: \((.*?)\)(?=[;\]])")  # typer's brackets around a default in words


class Command(TyperCommand):
    """A command that refuses repeated options, unlike typer; ``renamed`` holds former names, which still work."""

    renamed: Mapping[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace former names, and raise UsageError for an option that is given twice."""
        current = []  # arguments with current names of options
        for arg in args:
            name, equals, value = arg.partition("=")
            if (new := self.renamed.get(name)) is not None:
                if not ctx.resilient_parsing:
                    say(f"warning: {name} is now called {new}, and will go with the next version")
                arg = new + equals + value
            current.append(arg)
        args = current
        if ctx.resilient_parsing:  # completion in a shell: the last option may lack its value
            return super().parse_args(ctx, args[:-1] if args and args[-1].startswith("-") else args)
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        valued = (
            p for p in order if p.param_type_name == "option" and not (p.multiple or getattr(p, "is_flag", False))
        )
        for parameter, times in Counter(valued).items():
            if times > 1:
                raise UsageError(f"{max(parameter.opts, key=len)} is given twice; leave one of them out")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The metavars of the arguments alone; typer adds brackets and types that depend on its version."""
        arguments = (p.metavar or "" for p in self.get_params(ctx) if p.param_type_name == "argument")
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a table of arguments and one of options, with names as in the usage line."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                of_argument = parameter.param_type_name == "argument"
                name, text = parameter.metavar or "" if of_argument else record[0], record[1]
                rows[parameter.param_type_name].append((name, _DEFAULT.sub(r"[default: \1", text)))
        for kind, records in rows.items():
            if records:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(records)


def limit_threads(threads: int | None) -> None:
    """Set the number of threads of the linear algebra; None: that of the environment, else one.

    More threads slow operations on small matrices down, and parameter studies run many processes. A stated number also
    limits compression and the run that estimates errors, which otherwise use further processors.
    """
    stated = os.environ.get(VARIABLES[0], "") if threads is None else str(threads)
    if stated.isdecimal():
        system.limit(int(stated))
    for variable in VARIABLES:
        if threads is not None:
            os.environ[variable] = str(threads)
        else:
            os.environ.setdefault(variable, "1")


# Options that several commands share.

AUTO = "auto"  # the step is chosen by its error estimate


Formulation = Literal[
    "ali3p-rtdyn0", "ali3p-rtdyn1", "ali3p-natural", "recursive", "conventional", "partial_recursive", "ali1p-rtdyn1"
]
Integrator = Literal["rk4", "dop853", "esdirk", "auto"]
Method = Literal["none", "ddm", "adjoint", "auto", "fd"]  # of gradients


def file(metavar: str, help: str) -> Any:
    """An argument that names a file or folder; whether it is readable is checked by the command, not by typer."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, readable=False)


def output(metavar: str, help: str, show_default: str | bool) -> Any:
    """The option ``-o``: the file or folder to write; ``show_default`` is the default in the help."""
    return typer.Option("-o", "--output", metavar=metavar, help=help, show_default=show_default, readable=False)


def value(metavar: str | None, help: str, show_default: str | bool = "as in the file", **more: Any) -> Any:
    """An option with a value, None by default, which ``show_default`` explains; files are checked by the command."""
    return typer.Option(metavar=metavar, help=help, show_default=show_default, readable=False, **more)


ModelPath = Annotated[Path, file("MODEL.yaml", "Model file.")]
ModelPaths = Annotated[list[Path], file("MODEL.yaml...", "Model files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        help="Override a parameter; repeat for more.",
        show_default=False,
        autocompletion=completion.parameters,
    ),
]
SetKeys = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the file, as analysis.step=1e-4; repeat for more.",
        show_default=False,
        autocompletion=completion.set_keys,
    ),
]
AllNumbers = Annotated[bool, typer.Option("--all-numbers", help="Take gradients by every number of the model file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file of another kind.")]
Replace = Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")]


def begun() -> float:
    """Start of the command on the clock ``perf_counter``, s, estimated from its processor time so far."""
    return perf_counter() - processor_time()


def command_line() -> str:
    """The command as typed, for the files that it writes."""
    return shlex.join(["mbsim", *sys.argv[1:]])


def given(values: Mapping[str, Any]) -> str:
    """Names of the options that are given, joined by commas; 0 counts as given, False and empty values do not."""
    return ", ".join(name for name, value in values.items() if value or (value == 0 and value is not False))


def once(names: list[str]) -> list[str]:
    """Return the names; raise UsageError if one occurs twice."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name!r} is named twice; leave one of them out")
    return names


def parse_overrides(parameters: list[str] | None, keys: list[str] | None) -> dict[str, str]:
    """Values of ``-p NAME=VALUE`` by NAME and of ``-s KEY=VALUE`` by ``.KEY``; raises UsageError."""
    overrides: dict[str, str] = {}
    for option, wanted, mark, entries in (("-p", "NAME", "", parameters), ("-s", "KEY", ".", keys)):
        for entry in entries or ():
            name, equals, value = (part.strip() for part in entry.partition("="))
            if not (equals and name and value) or (name.startswith(".") and not mark):
                raise UsageError(f"{option} must be {wanted}=VALUE, not '{entry}'")
            if mark + name in overrides:
                raise UsageError(f"{option} states {name} twice; leave one of them out")
            overrides[mark + name] = value
    return overrides


def positive(option: str, value: float | None, unit: str = " of seconds", relative: bool = False) -> float | None:
    """Return the value, or raise UsageError where it is not a positive finite number, or a relative error below 1."""
    if value is not None and (expected := expected_size(value, unit, relative)):
        raise UsageError(f"{option} must be {expected}, not {value:g}")
    return value


def _step_of(text: str | None) -> float | str | None:
    """Length of a step in seconds, or auto; None if not given. Raises UsageError."""
    if text is None or text == AUTO:
        return text
    try:
        return positive("--step", float(text))
    except ValueError:
        raise UsageError(f"--step must be a positive number of seconds, or {AUTO}, not '{text}'") from None


def _memory_of(text: str | None) -> float | None:
    """Bytes of a size such as 500MB; raises UsageError."""
    if text is None:
        return None
    from mbsim_cli.solve.tape import UNITS

    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    try:
        return positive("--memory", float(text.removesuffix(unit)) * UNITS[unit], " of bytes")
    except (ValueError, KeyError):
        raise UsageError(f"--memory must be a size in {', '.join(UNITS)}, as 500MB, not '{text}'") from None


# Options that replace keys of a file's analysis, and the threads, defined once for all commands.

_SHARED: dict[str, Any] = {
    "parameter": Overrides,
    "set": SetKeys,
    "formulation": Annotated[Formulation | None, value(None, "Formulation.")],
    "integrator": Annotated[Integrator | None, value(None, "Integrator, if the formulation has a choice.")],
    "tolerance": Annotated[float | None, value("TOL", "Relative tolerance of the motion.")],
    "step": Annotated[str | None, value("H|auto", "Time step [s]; auto: halved until --accuracy holds.")],
    "accuracy": Annotated[
        float | None,
        value(
            "A",
            "Relative error allowed; sets tolerance and integrator, or the step of --step auto.",
            "as in the file, or 1e-4",
        ),
    ],
    "duration": Annotated[float | None, value("T", "Duration [s].")],
    "memory": Annotated[str | None, value("SIZE", "Memory for the adjoint's record of a run, as 500MB.", "256MB")],
    "threads": Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads of the linear algebra, compression and estimates of errors."),
    ],
}
MODEL = ("parameter", "set")  # for commands that do not analyse the model
ANALYSIS = tuple(name for name in _SHARED if name != "threads")
STATED: Any = None  # default of ``settings``, which ``replacing`` always overwrites


def replacing(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the command gets the options ``names``, and their values in its argument ``settings``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def called(**values: Any) -> Any:
            stated = {name: values.pop(name) for name in names}
            limit_threads(stated.pop("threads", None))  # before settings load the numerical libraries
            return command(settings=_settings(stated), **values)

        options: dict[str, tuple[Any, Any]] = {}  # annotation and default, in the order of the help
        for name, own in signature(command).parameters.items():
            replaced = {option: (_SHARED[option], None) for option in names}
            options |= replaced if name == "settings" else {name: (own.annotation, own.default)}
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
        called.__doc__ = command.__doc__
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
        return called

    return decorate


def _settings(stated: Mapping[str, Any]) -> "Settings":
    """The values of the options, by which the settings of a file's analysis are replaced."""
    from mbsim_cli.study.assembling import Settings

    return Settings(
        formulation=stated.get("formulation"),
        integrator=stated.get("integrator"),
        overrides=parse_overrides(stated.get("parameter"), stated.get("set")),
        tolerance=positive("--tolerance", stated.get("tolerance"), relative=True),
        step=_step_of(stated.get("step")),
        accuracy=positive("--accuracy", stated.get("accuracy"), relative=True),
        duration=positive("--duration", stated.get("duration")),
        memory=_memory_of(stated.get("memory")),
    )
