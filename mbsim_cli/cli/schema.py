"""``mbsim schema``: the JSON Schema of the model file."""

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here, not to the screen.")]


def command(output: Output = None) -> None:
    """Print the JSON Schema of the model file, which editors use to complete and check."""
    from mbsim_cli.cli.output import show, to_json
    from mbsim_cli.errors import InputOutputError
    from mbsim_cli.spec.schema import schema

    text = to_json(schema())
    if output is None:
        show(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputOutputError(f"cannot write {output}: {error.strerror}") from error
