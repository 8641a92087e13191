"""Cases of a study that a command line states: a file of them, or the axes of a grid."""

from pathlib import Path
from typing import Any

from mbsim_cli.errors import UsageError


def stated_cases(csv: Path | None, grid: list[str] | None) -> dict[str, Any] | None:
    """Cases of the command line, as a study of a file states them."""
    if csv is not None and grid:
        raise UsageError("--csv and --grid are two studies; give one of them")
    if csv is not None:
        return {"csv": {"file": str(csv)}}
    axes = [_axis(entry) for entry in grid or ()]
    for name, _ in axes:
        if sum(other == name for other, _ in axes) > 1:
            raise UsageError(f"--grid states {name} twice; list all its values in one: --grid {name}=A,B,C")
    return {"grid": dict(axes)} if axes else None


def _axis(entry: str) -> tuple[str, Any]:
    """An axis of a grid: NAME=A:B:N, NAME=A:B:N:log or NAME=A,B,C."""
    name, equals, text = entry.partition("=")
    parts = [part.strip() for part in text.split(":")]
    if not (equals and name.strip() and all(parts)) or len(parts) == 2 or len(parts) > 4:
        raise UsageError(f"--grid wants NAME=A:B:N, NAME=A:B:N:log or NAME=A,B,C, not '{entry}'")
    if len(parts) == 1:
        return name.strip(), [_number(value) for value in text.split(",")]
    if not parts[2].isdecimal():
        raise UsageError(f"--grid {entry}: the third part is how many values there are, a whole number")
    axis = {"from": _number(parts[0]), "to": _number(parts[1]), "count": int(parts[2])}
    return name.strip(), axis | ({"scale": parts[3]} if len(parts) == 4 else {})


def _number(text: str) -> float | str:
    """A number, or an expression of the model's parameters."""
    try:
        return float(text)
    except ValueError:
        return text.strip()
