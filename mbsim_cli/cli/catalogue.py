"""What of a result can be drawn, as ``mbsim plot --list`` shows it."""

from collections.abc import Mapping
from typing import Any

from mbsim_cli.cli.output import plain_table, show_table, tell
from mbsim_cli.io.results import Content


def catalogue(content: Content) -> dict[str, Any]:
    """Histories with kind, unit and components; objectives with gradients; parameters of sensitivities.

    Torques of inverse dynamics have some by coordinates and their rates as well.
    """
    return {
        "histories": {
            name: {
                "kind": entry.kind,
                "unit": entry.unit,
                "components": list(entry.components) if entry.column is None else [],
                "sensitivity": bool(entry.sensitivity),
            }
            for name, entry in content.entries.items()
        },
        "gradients": list(content.gradients),
        "parameters": list(content.parameters),
        "coordinates": list(content.by_coordinates),
    }


def print_catalogue(results: Mapping[str, dict[str, Any]]) -> None:
    """Print catalogues for people."""
    for path, found in results.items():
        torques = "; sensitivities of torques by coordinates and their rates too" * bool(found["coordinates"])
        tell(f"{path}: gradients {_words(found['gradients'])}; parameters {_words(found['parameters'])}{torques}")
        rows = [
            (
                name,
                entry["kind"],
                entry["unit"],
                " ".join(entry["components"] if len(entry["components"]) > 1 else ()),
                "yes" if entry["sensitivity"] else "",
            )
            for name, entry in found["histories"].items()
        ]
        show_table(plain_table(("name", "kind", "unit", "components", "sensitivity"), rows))


def _words(names: list[str]) -> str:
    return ", ".join(names) or "none"
