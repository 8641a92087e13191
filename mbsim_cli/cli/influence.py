"""A table of the numbers of a model that matter most."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from mbsim_cli.cli.output import plain_table, show_table, tell


def print_influence(report: Mapping[str, Any], top: int) -> None:
    """Print objectives with what one per cent of each of the ``top`` numbers changes; say what has no derivative."""
    objectives, entries = report["objectives"], report["influence"]
    titles = [f"{name} [{o['unit']}]" if o["unit"] else name for name, o in objectives.items()]
    rows = [("value", "", *(f"{o['value']:.8g}" for o in objectives.values()))]
    for entry in entries[:top]:
        effects = (f"{effect:+.3g}" if isfinite(effect) else "NaN" for effect in entry["effects"].values())
        rows.append((entry["number"], _size(entry), *effects))
    of_zeros = (
        " (of one that is zero, 1 % of the size beside it)"
        if any(not entry["value"] for entry in entries[:top])
        else ""
    )
    shown = f"{min(top, len(entries))} of {len(entries)} numbers"
    tell(f"what 1 % of each number changes{of_zeros}; {shown}, largest effects first:")
    show_table(plain_table(("number", "its value", *titles), rows))
    undefined = {name: why for o in objectives.values() for name, why in o["undefined"].items()}
    if undefined:
        name, why = next(iter(undefined.items()))
        others = f" and {len(undefined) - 1} more (--json lists them)" if len(undefined) > 1 else ""
        tell(f"no derivative by {name}{others}: {why}")


def _size(entry: Mapping[str, Any]) -> str:
    """The value of a number; with one that is zero, what it is taken one per cent of."""
    value, scale = (f"{entry[key]:.6g} {entry['unit']}".strip() for key in ("value", "scale"))
    return value if entry["value"] else f"{value}, of {scale}"
