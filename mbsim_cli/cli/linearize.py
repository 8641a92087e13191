"""``mbsim linearize``: the state space of small motions, with names and units."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, print_modes, tell
from mbsim_cli.errors import UsageError, counted

Inputs = Annotated[str | None, options.value("F1,law", "Forces, and laws of forces, that are inputs.", "none")]


@options.replacing(*options.MODEL)
def command(
    model: options.ModelPath,
    at: Annotated[
        str,
        typer.Option(
            metavar="T|equilibrium|start", help="About a time of the motion [s], the static equilibrium, or the start."
        ),
    ] = "equilibrium",
    inputs: Inputs = None,
    outputs: Annotated[str | None, options.value("r.y,v", "Sensors that are outputs.", "all sensors")] = None,
    to: Annotated[Literal["h5", "npz", "mat"] | None, options.value(None, "Format.", "that of -o, else h5")] = None,
    output: Annotated[Path | None, options.output("X.h5|X.npz|X.mat", "File.", "MODEL.lin.FORMAT here")] = None,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Write the state space of small motions, and print their modes.

    About an equilibrium, the start, or a time of the motion.
    """
    from mbsim_cli.io.findings import KINDS
    from mbsim_cli.study.assembling import Settings, build, load
    from mbsim_cli.study.linearizing import linearized

    target = output or Path(f"{model.stem}.lin.{to or 'h5'}")
    if target.suffix.lower() not in KINDS:
        raise UsageError(f"-o {target}: a state space is written to {', '.join(KINDS)}")
    if to and target.suffix.lower() != f".{to}":
        raise UsageError(f"-o {target} is not --to {to}: the ending of a file says its format; leave one of them out")
    assembled = build(load(model, settings), Settings(), [])
    found = linearized(assembled, _at(at), _names(inputs) or [], _names(outputs))
    found.save(target, force=force)
    if json:
        plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in found.content.items()}
        emit({"model": str(model), "output": str(target)} | plain | {"modes": found.modes, "neutral": found.neutral})
    else:
        print_modes(found.modes, found.neutral)
        sizes = (counted(len(getattr(found, f"{axis}s")), axis) for axis in ("state", "input", "output"))
        tell(f"{target}: {', '.join(sizes)}, about {found.about}", quiet)


def _at(text: str) -> str | float:
    """Equilibrium, start, or a time in seconds."""
    if text in ("equilibrium", "start"):
        return text
    try:
        time = float(text)
    except ValueError:
        time = -1.0
    if not 0.0 <= time < float("inf"):
        raise UsageError(f"--at must be a time in seconds, equilibrium or start, not '{text}'")
    return time


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
