"""``mbsim inspect``: what a result holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mbsim_cli.cli import options

ResultPath = Annotated[Path, typer.Argument(metavar="RESULT.h5", help="Result file.", show_default=False)]


def command(result: ResultPath, json: options.Json = False) -> None:
    """Show what a result file holds: origin, objectives with gradients, datasets with their axes."""
    from mbsim_cli.io.reader import summary

    found = summary(result)
    if json:
        from mbsim_cli.cli.output import emit

        emit(found)
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from mbsim_cli.cli.output import console, plain_table, print_objectives, say
    from mbsim_cli.study.diagnostics.discretisation import in_words

    say(f"{found['file']}: mbsim result, {found['status']}, {found['bytes'] / 1e6:.1f} MB")
    facts = {
        "created": f"{found['created']} by mbsim {found['mbsim_version']}",
        "command": found["command"],
        "model sha256": found["model_sha256"],
        "overrides": ", ".join(f"{name} = {value}" for name, value in found["overrides"].items()) or "none",
        "time": f"{found['instants']} instants"
        + (f", {found['start']:g} to {found['end']:g} s" * bool(found["instants"])),
        "seconds": ", ".join(f"{name} {value:.2f}" for name, value in found["timing"].items()) or "unknown",
        "work": ", ".join(f"{count} {name}" for name, count in found["work"].items()) or "not counted",
        "errors": in_words(found["discretisation"]),
        "warnings": "; ".join(found["warnings"]) or "none",
    }
    for name, text in facts.items():
        say(f"  {name:<13} {text}")
    if found["objectives"]:
        print_objectives(found["objectives"])
    rows = [
        (name, " x ".join(map(str, d["shape"])), ", ".join(d["axes"]), d["unit"])
        for name, d in found["datasets"].items()
    ]
    console().print(plain_table(("dataset", "shape", "axes", "unit"), rows))
