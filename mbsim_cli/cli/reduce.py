"""``mbsim reduce``: a flexible body of a model to standard input data."""

from pathlib import Path
from typing import Annotated

import typer

from mbsim_cli.cli import options, signals
from mbsim_cli.cli.output import print_report, tell
from mbsim_cli.errors import UsageError

Output = Annotated[Path | None, options.output("X.sid.h5|X.SID_FEM|X.vtu", "File to write.", "BODY.sid.h5 here")]
NoDerivatives = Annotated[bool, typer.Option("--no-derivatives", help="Leave out derivatives by parameters.")]


@options.replacing(*options.MODEL)
def command(
    model: options.ModelPath,
    body: Annotated[
        str | None, typer.Argument(metavar="[BODY]", help="Flexible body; needed where there are several.")
    ] = None,
    output: Output = None,
    no_derivatives: NoDerivatives = False,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Compute modes and standard input data of a flexible body.

    With their derivatives by the model's parameters.
    """
    from mbsim_cli.cli.inspect import show
    from mbsim_cli.io.target import FileKind, check_target, replaced
    from mbsim_cli.study import reduced_bodies
    from mbsim_cli.study.assembling import load, named_or_only

    model_file = load(model, settings)
    name, _ = named_or_only(dict.fromkeys(reduced_bodies.flexible_bodies(model_file)), body, "flexible body")
    chosen = output or Path(f"{name}.sid.h5")
    kind = reduced_bodies.kind_of(chosen)
    if no_derivatives and not kind.keeps_derivatives:
        raise UsageError(f"{chosen} would hold no derivatives anyway; leave out --no-derivatives")
    read = (model, *reduced_bodies.files_of(model_file))
    body_file = FileKind("a flexible body", "body.sid.h5", kind.is_own)
    target = check_target(chosen, body_file, force=force, protected=read)
    sid, mesh = reduced_bodies.reduce_with_mesh(model_file, name, not no_derivatives and kind.keeps_derivatives)
    with signals.shield(), replaced(target, body_file, force=force) as temporary:
        kind.write(temporary, sid, {"command": options.command_line(), "model": str(model)}, mesh)
    own = {"body": name, "descriptions": reduced_bodies.descriptions(model_file)}
    found = reduced_bodies.described(sid, str(chosen)) | own
    if json or not quiet:
        print_report(found, json, show)
    if text := kind.warning(sid):
        tell(f"{chosen}: {text}", quiet)
