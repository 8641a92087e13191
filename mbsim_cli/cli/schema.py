"""``mbsim schema``: the JSON Schema of the model file."""

from pathlib import Path
from typing import Annotated

import typer

from mbsim_cli.cli import options, signals
from mbsim_cli.cli.output import show, to_json
from mbsim_cli.errors import UsageError

Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here, not to the screen.", readable=False)
]


def command(output: Output = None, force: options.Force = False) -> None:
    """Print the JSON Schema of the model file, for editors.

    Editors complete and check model files by it.
    """
    from mbsim_cli.spec.schema import schema

    if force and output is None:
        raise UsageError("--force replaces what is at -o FILE, and no FILE is given; leave it out")
    text = to_json(schema())
    if output is None:
        return show(text)
    from mbsim_cli.io.target import SCHEMA, check_target, replaced

    target = check_target(output, SCHEMA, force=force)
    with signals.shield(), replaced(target, SCHEMA, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")
