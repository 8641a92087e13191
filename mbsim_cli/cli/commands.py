"""The commands; each file registers one and imports what it needs when it runs."""

import typer

import mbsim_cli
from mbsim_cli.cli import (
    animate,
    check,
    compile,
    doctor,
    info,
    inspect,
    optimize,
    plot,
    reduce,
    run,
    schema,
    sweep,
    validate,
)
from mbsim_cli.cli.once import Command

app = typer.Typer(
    name="mbsim",
    help="Simulate multibody systems described in YAML, and compute gradients with respect to any number in the file.",
    add_completion=False,
    rich_markup_mode=None,  # plain help: rich would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mbsim {mbsim_cli.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


for command in (run, check, validate, info, schema, inspect, plot, animate, reduce, optimize, compile, doctor):
    app.command(command.__name__.rsplit(".", 1)[1], cls=Command)(command.command)
app.add_typer(sweep.app, name="sweep")
