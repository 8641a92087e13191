"""How a flexible body in a file is shown."""

from typing import Any

from mbsim_cli.cli.output import emit, plain_table, say, show_table, tell


def show(found: dict[str, Any], json: bool) -> None:
    """Print what standard input data hold, for people or as one JSON object."""
    if json:
        emit(found)
        return
    tell(f"{found['file']}: {found['kind']}, {_count(found, 'mode')}, {_count(found, 'node')}")
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
    rows = [(str(i), m["name"], f"{m['frequency']:.8g}", _ratio(m["damping"])) for i, m in enumerate(found["modes"], 1)]
    show_table(plain_table(("mode", "name", "frequency [Hz]", "damping ratio"), rows))
    if found["nodes"]:
        show_table(plain_table(("node", "position [m]"), [(n, _numbers(x)) for n, x in found["nodes"].items()]))
    for warning in found["warnings"]:
        say(f"warning: {warning}")


def _count(found: dict[str, Any], what: str) -> str:
    count = len(found[f"{what}s"])
    return f"{count} {what}{'s' * (count != 1)}"


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.8g}" for value in values)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
