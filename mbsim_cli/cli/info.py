"""``mbsim info``: how a model was understood."""

from typing import Any

import typer

from mbsim_cli.cli import options


def command(model: options.ModelPath, parameter: options.Overrides = None, json: options.Json = False) -> None:
    """Show bodies, joints, spanning tree, branches, loops, mobility, redundant constraints and use of parameters."""
    from mbsim_cli.cli.environment import limit_threads

    limit_threads(None)
    from mbsim_cli.cli import analysis
    from mbsim_cli.cli.structure import parameters, structure, topology

    settings = analysis.Settings(overrides=options.parse_overrides(parameter))
    model_file = analysis.load(model, settings)
    assembled = analysis.build(model_file, settings, [])
    report = {
        "model": str(model),
        "name": model_file.name,
        "bodies": list(model_file.bodies),
        "joints": {name: {"type": str(j.type), "bodies": list(j.bodies)} for name, j in model_file.joints.items()},
        **topology(assembled),
        **structure(assembled),
        "parameters": parameters(assembled, model_file),
        "forces": list(model_file.forces),
        "sensors": list(model_file.sensors),
        "objectives": list(model_file.objectives),
    }
    if json:
        from mbsim_cli.cli.output import emit

        emit(report)
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    from mbsim_cli.cli.output import console, plain_table, say

    out = console()
    say(f"{report['model']}: {report['name']}" if report["name"] else report["model"])
    counts = f"{len(report['bodies'])} bodies, {len(report['joints'])} joints, {report['coordinates']} coordinates"
    say(f"{counts}, {report['constraints']} constraints of rank {report['rank']}, mobility {report['mobility']}")
    redundant = report["redundant_constraints"]
    say(f"redundant constraints: {', '.join(redundant) or 'none'}")
    rows = [(row["body"], row["parent"], row["joint"], _type(report, row["joint"]), ", ".join(row["coordinates"]))
            for row in report["tree"]]  # fmt: skip
    out.print(plain_table(("body", "parent", "joint", "type", "coordinates"), rows, "spanning tree"))
    for loop in report["loops"]:
        say(f"loop: {' - '.join(loop[1:])}, closed by the cut joint {loop[0]} ({_type(report, loop[0])})")
    for name, pairs in report["branches"].items():
        say(f"{name.replace('_', '-')}: {' '.join(f'({a}, {b})' for a, b in pairs)}")
    if report["parameters"]:
        uses = [
            (name, f"{p['value']:.6g}", p["unit"], ", ".join(p["used_in"])) for name, p in report["parameters"].items()
        ]
        out.print(plain_table(("parameter", "value", "unit", "used in"), uses))
    for section in ("forces", "sensors", "objectives"):
        say(f"{section}: {', '.join(report[section]) or 'none'}")


def _type(report: dict[str, Any], joint: str) -> str:
    return report["joints"][joint]["type"]
