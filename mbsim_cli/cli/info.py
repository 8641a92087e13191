"""``mbsim info``: how a model was understood."""

from typing import TYPE_CHECKING, Any

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, plain_table, print_warnings, show_table, tell

if TYPE_CHECKING:
    from mbsim_cli.study.assembling import Settings


@options.replacing(*options.MODEL, "formulation")
def command(
    model: options.ModelPath,
    settings: "Settings" = options.STATED,
    json: options.Json = False,
) -> None:
    """Show the structure of a mechanism: tree, loops, mobility.

    Bodies and joints, spanning tree, branches and loops, redundant constraints, and where each parameter is used.
    """
    options.limit_threads(None)
    from mbsim_cli.study.assembling import build, load

    origin = {"model": str(model), "overrides": dict(settings.overrides)}
    report = origin | build(load(model, settings), settings, []).info
    if json:
        emit(report)
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    tell(f"{report['model']}: {report['name']}" if report["name"] else report["model"])
    for place, text in report["descriptions"].items():
        tell(f"{place}: {text}" if place else text)
    tell(_counts(report))
    joints = {joint["name"]: joint for joint in report["joints"]}
    show_table(plain_table(("", "body", "parent", "joint", "type", "coordinates"), _tree(report, joints)))
    for loop in report["loops"]:
        tell(f"loop {' - '.join(loop['joints'])}, closed by cut joint {loop['cut']} ({joints[loop['cut']]['type']})")
    if report["states"]:
        tell("states: " + ", ".join(f"{one['name']} [{one['unit'] or '1'}]" for one in report["states"]))
    for title, names in _lists(report).items():
        tell(f"{title}: {', '.join(names) or 'none'}")
    if report["natural_coordinates"]:
        show_table(plain_table(("natural coordinate", "of"), _natural(report["natural_coordinates"]["coordinates"])))
        for origin, names in _by_origin(report["natural_coordinates"]["constraints"]).items():
            tell(f"equations of {origin}: {', '.join(names)}")
    print_warnings(report["warnings"])
    for matrix in ("joint_parent", "branch_parent", "joint_branch"):
        tell(f"{matrix.replace('_', '-')}: {' '.join(f'({a}, {b})' for a, b in report[matrix])}")
    if report["parameters"]:
        show_table(
            plain_table(("parameter", "value", "unit", "bounds", "used in"), map(_parameter, report["parameters"]))
        )


def _natural(coordinates: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Points and vectors, one row each, with the bodies that share them."""
    rows: dict[str, tuple[list[str], list[str]]] = {}
    for coordinate in coordinates:
        name, _, component = coordinate["name"].rpartition(".")
        rows.setdefault(name, ([], coordinate["bodies"]))[0].append(component)
    return [(f"{name} ({', '.join(components)})", ", ".join(bodies)) for name, (components, bodies) in rows.items()]


def _by_origin(constraints: list[dict[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for constraint in constraints:
        found.setdefault(constraint["origin"], []).append(constraint["name"])
    return found


def _parameter(entry: dict[str, Any]) -> tuple[str, ...]:
    bounds = " to ".join(f"{bound:.8g}" for bound in entry["bounds"] or ())
    return entry["name"], f"{entry['value']:.8g}", entry["unit"], bounds, ", ".join(entry["used_in"])


def _counts(report: dict[str, Any]) -> str:
    counts = {"bodies": "bodies", "tree_joints": "joints", "coordinates": "coordinates", "constraints": "constraints"}
    numbers = ", ".join(f"{len(report[key])} {word}" for key, word in counts.items())
    cuts = len(report["cut_joints"])
    numbers = numbers.replace(" joints", f" joints and {cuts} cut joint{'s' * (cuts > 1)}") if cuts else numbers
    free, undriven = report["mobility"], report["mobility_without_motions"]
    motions = f" ({undriven} without the motions that laws give)" if undriven != free else ""
    return f"{numbers} of rank {report['constraint_rank']}, mobility {free}{motions}"


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


def _lists(report: dict[str, Any]) -> dict[str, list[str]]:
    return {
        "branches": [" - ".join(joints) for joints in report["branches"]],
        "redundant constraints": report["redundant_constraints"],
        "constraints that always hold": report["identically_satisfied"],
        "independent at the start (*)": [c["name"] for c in report["coordinates"] if c["independent"]],
    }
