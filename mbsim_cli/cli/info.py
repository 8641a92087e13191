"""``mbsim info``: the structure of a model."""

from typing import Any

from mbsim_cli.cli import options
from mbsim_cli.cli.output import digits, print_report, print_warnings, show_table, tell
from mbsim_cli.errors import counted


@options.replacing(*options.MODEL, "formulation")
def command(
    model: options.ModelPath, settings: "options.Settings" = options.STATED, json: options.Json = False
) -> None:
    """Show the structure of a mechanism: tree, loops, mobility.

    Bodies and joints, spanning tree, branches and loops, redundant constraints, and where each parameter is used.
    """
    from mbsim_cli.study.assembling import build, load

    origin = {"model": str(model), "overrides": dict(settings.overrides)}
    print_report(origin | build(load(model, settings), settings, []).info, json, _print)


def _print(report: dict[str, Any]) -> None:
    tell(f"{report['model']}: {report['name']}" if report["name"] else report["model"])
    for place, text in report["descriptions"].items():
        tell(f"{place}: {text}" if place else text)
    bodies, cuts = counted(len(report["bodies"]), "body"), len(report["cut_joints"])
    joined = counted(len(report["tree_joints"]), "joint") + (f" and {counted(cuts, 'cut joint')}" if cuts else "")
    others = [counted(len(report[f"{noun}s"]), noun) for noun in ("coordinate", "constraint")]
    free, undriven = report["mobility"], report["mobility_without_motions"]
    motions = f" ({undriven} without the motions that laws give)" if undriven != free else ""
    tell(f"{', '.join([bodies, joined, *others])} of rank {report['constraint_rank']}, mobility {free}{motions}")
    joints = {joint["name"]: joint for joint in report["joints"]}
    show_table(("", "body", "parent", "joint", "type", "coordinates"), _tree(report, joints))
    for loop in report["loops"]:
        tell(f"loop {' - '.join(loop['joints'])}, closed by cut joint {loop['cut']} ({joints[loop['cut']]['type']})")
    if report["states"]:
        tell("states: " + ", ".join(f"{one['name']} [{one['unit'] or '1'}]" for one in report["states"]))
    lists = {
        "branches": [" - ".join(joints) for joints in report["branches"]],
        "redundant constraints": report["redundant_constraints"],
        "constraints that always hold": report["identically_satisfied"],
        "independent at the start (*)": [c["name"] for c in report["coordinates"] if c["independent"]],
    }
    for title, names in lists.items():
        tell(f"{title}: {', '.join(names) or 'none'}")
    if report["natural_coordinates"]:
        show_table(("natural coordinate", "of"), _natural(report["natural_coordinates"]["coordinates"]))
        equations: dict[str, list[str]] = {}
        for constraint in report["natural_coordinates"]["constraints"]:
            equations.setdefault(constraint["origin"], []).append(constraint["name"])
        for origin, names in equations.items():
            tell(f"equations of {origin}: {', '.join(names)}")
    print_warnings(report["warnings"])
    for matrix in ("joint_parent", "branch_parent", "joint_branch"):
        tell(f"{matrix.replace('_', '-')}: {' '.join(f'({a}, {b})' for a, b in report[matrix])}")
    rows = []
    for p in report["parameters"]:
        bounds = " to ".join(map(digits, p["bounds"] or ()))
        rows.append((p["name"], digits(p["value"]), p["unit"], bounds, ", ".join(p["used_in"])))
    if rows:
        show_table(("parameter", "value", "unit", "bounds", "used in"), rows)


def _natural(coordinates: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Rows of points and vectors, with the bodies that share them."""
    rows: dict[str, tuple[list[str], list[str]]] = {}
    for coordinate in coordinates:
        name, _, component = coordinate["name"].rpartition(".")
        rows.setdefault(name, ([], coordinate["bodies"]))[0].append(component)
    return [(f"{name} ({', '.join(components)})", ", ".join(bodies)) for name, (components, bodies) in rows.items()]


def _tree(report: dict[str, Any], joints: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the spanning tree; a coordinate that keeps its initial value is marked."""
    columns: dict[str, list[str]] = {}
    elastic: dict[str, list[str]] = {}
    for coordinate in report["coordinates"]:
        owner, _, own = coordinate["name"].lstrip("-").rpartition(".")
        mark = "*" if coordinate["independent"] else ""
        (elastic if own.startswith("q") else columns).setdefault(owner, []).append(coordinate["name"] + mark)
    return [
        (
            str(body["number"]),
            body["name"],
            body["parent"],
            body["joint"],
            joints[body["joint"]]["type"],
            ", ".join(columns.get(body["joint"], []) + elastic.get(body["name"], [])),
        )
        for body in report["bodies"]
    ]
