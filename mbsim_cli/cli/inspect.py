"""``mbsim inspect``: the content of a result, or of a file of a flexible body."""

from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import digits, print_objectives, print_report, print_warnings, show_table, tell
from mbsim_cli.errors import UsageError, counted


def show(found: dict[str, Any]) -> None:
    """Print the content of standard input data."""
    modes, nodes = counted(len(found["modes"]), "mode"), counted(len(found["nodes"]), "node")
    tell(f"{found['file']}: {found['kind']}, {modes}, {nodes}")
    for place, text in found.get("descriptions", {}).items():
        tell(f"{place}: {text}" if place else text)
    facts = {
        "comment": found["comment"] or "none",
        "mass": f"{found['mass']:.10g} kg",
        "center of mass": f"{_numbers(found['center_of_mass'])} m",
        "inertia": f"{_numbers([found['inertia'][i][i] for i in range(3)])} kg m^2 (xx, yy, zz about it)",
        "design": ", ".join(found["design"]) or "no derivatives",
    }
    for name, text in facts.items():
        tell(f"  {name:<15} {text}")
    rows = []
    for number, mode in enumerate(found["modes"], 1):
        ratio = "" if mode["damping"] is None else f"{mode['damping']:.4g}"
        rows.append((str(number), mode["name"], digits(mode["frequency"]), ratio))
    show_table(("mode", "name", "frequency [Hz]", "damping ratio"), rows)
    if found["nodes"]:
        show_table(("node", "position [m]"), [(n, _numbers(x)) for n, x in found["nodes"].items()])
    print_warnings(found["warnings"])


def _numbers(values: list[float]) -> str:
    return ", ".join(map(digits, values))


ResultPath = Annotated[Path, options.file("RESULT.h5|BODY", "Result, or standard input data (.sid.h5, .SID_FEM).")]


LengthUnit = Annotated[
    str, typer.Option("--length-unit", metavar="UNIT", help="Unit of length of a .SID_FEM file: m, cm, mm, in.")
]


def command(result: ResultPath, length_unit: LengthUnit = "m", json: options.Json = False) -> None:
    """List the contents of a result, or of a file of a flexible body.

    A result's origin, objectives and datasets; a flexible body's modes, masses and nodes, and what is wrong with it.
    """
    from mbsim_cli.study import reduced_bodies

    if reduced_bodies.is_body(result):
        sid = reduced_bodies.read_body(result, reduced_bodies.metres(length_unit))
        return print_report(reduced_bodies.described(sid, str(result)), json, show)
    if length_unit != "m":
        raise UsageError("--length-unit is for files of standard input data (.SID_FEM); results are in metres")
    from mbsim_cli.io.results import ResultFile

    print_report(ResultFile(result).report(), json, _print)


def _print(found: dict[str, Any]) -> None:
    from mbsim_cli.study.diagnostics.discretisation import in_words

    tell(f"{found['file']}: mbsim result, {found['status']}, {found['bytes'] / 1e6:.1f} MB")
    facts = {
        "created": f"{found['created']} by mbsim {found['mbsim_version']}",
        "command": found["command"],
        "model sha256": found["model_sha256"],
        "overrides": ", ".join(f"{name} = {value}" for name, value in found["overrides"].items()) or "none",
        "time": f"{found['instants']} time points"
        + (f", {found['start']:g} to {found['end']:g} s" * bool(found["instants"])),
        "seconds": ", ".join(f"{name} {value:.2f}" for name, value in found["timing"].items()) or "unknown",
        "work": ", ".join(f"{count} {name}" for name, count in found["work"].items()),  # of open trees
        "errors": in_words(found["discretisation"]),
        "warnings": "; ".join(found["warnings"]) or "none",
    }
    for name, text in filter(itemgetter(1), facts.items()):
        tell(f"  {name:<13} {text}")
    if found["objectives"]:
        print_objectives(found["objectives"], found["parameters"])
    rows = [
        (name, " x ".join(map(str, d["shape"])), ", ".join(d["axes"]), d["unit"])
        for name, d in found["datasets"].items()
        if not name.startswith("units/")  # a column of the table has the units
    ]
    show_table(("dataset", "shape", "axes", "unit"), rows)
