"""The commands; each file registers one and imports what it needs when it runs."""

import typer

import mbsim_cli
from mbsim_cli.cli import (
    animate,
    check,
    compile,
    completion,
    doctor,
    explain,
    export,
    fit,
    import_robot,
    info,
    init,
    inspect,
    linearize,
    optimize,
    plot,
    reduce,
    report,
    run,
    schema,
    sweep,
    validate,
    view,
)
from mbsim_cli.cli.options import Command

app = typer.Typer(
    name="mbsim",
    help="Simulate multibody systems described in YAML, and compute gradients with respect to any number in the file.",
    rich_markup_mode=None,  # plain help: rich would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


completion.leave_open()

WELCOME = """\
mbsim simulates multibody systems that a YAML file describes, and computes gradients by any number in that file.
mbsim --help lists the commands; mbsim explain KEY tells what a key of the file means.
To begin: mbsim init fivebar"""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mbsim {mbsim_cli.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    if context.invoked_subcommand is None:
        print(WELCOME)


for command in (
    init,
    import_robot,
    export,
    run,
    check,
    validate,
    info,
    explain,
    schema,
    inspect,
    plot,
    animate,
    report,
    view,
    linearize,
    reduce,
    optimize,
    fit,
    compile,
    doctor,
):
    name = getattr(command, "NAME", command.__name__.rsplit(".", 1)[1])
    renamed = getattr(command, "RENAMED", {})
    app.command(name, cls=type("Command", (Command,), {"renamed": renamed}))(command.command)
app.add_typer(sweep.app, name="sweep")
