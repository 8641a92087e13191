"""The commands; the file of a command is imported when the command line names it."""

from collections.abc import Sequence
from importlib import import_module

import typer

import mbsim_cli
from mbsim_cli.cli import completion
from mbsim_cli.cli.options import Command

COMMANDS = (  # by their files, in the order of help
    "init", "import_robot", "export", "run", "check", "validate", "info", "explain", "schema", "inspect", "plot",
    "animate", "report", "view", "linearize", "reduce", "optimize", "fit", "compile", "doctor", "sweep",
)  # fmt: skip

completion.leave_open()

WELCOME = """\
mbsim simulates multibody systems that a YAML file describes, and computes gradients by any number in that file.
mbsim --help lists the commands; mbsim explain KEY tells what a key of the file means.
To begin: mbsim init fivebar"""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mbsim {mbsim_cli.__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        print(WELCOME)


def app_of(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command line; if the first argument is a command, only its file is imported, which is faster."""
    app = typer.Typer(
        name="mbsim",
        help="Simulate multibody systems described in YAML, and compute gradients with respect to any number in the "
        "file.",
        rich_markup_mode=None,  # plain help: rich would double the time that --help takes
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_options)
    named = [name for name in COMMANDS if arguments and arguments[0] == name]
    for file in named or COMMANDS:
        module = import_module(f"mbsim_cli.cli.{file}")
        if file == "sweep":
            app.add_typer(module.app, name=file)
        else:
            kind = type("Command", (Command,), {"renamed": getattr(module, "RENAMED", {})})
            app.command(getattr(module, "NAME", file), cls=kind)(module.command)
    return app
