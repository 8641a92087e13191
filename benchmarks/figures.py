"""Measured figures beside their bounds, as benchmarks print them."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from rich.console import Console
from rich.table import Table


class Figure(NamedTuple):
    """A row of the table."""

    label: str
    value: float
    unit: str
    bound: float | None = None
    aim: float | None = None
    at_least: bool = False  # the bound is the smallest value allowed, not the largest
    paper: float | None = None

    @property
    def missed(self) -> bool:
        """Whether the value is beyond its bound."""
        if self.bound is None:
            return False
        return self.value < self.bound if self.at_least else self.value > self.bound


def figures_of(rows: Mapping[str, tuple], values: Mapping[str, float]) -> list[Figure]:
    """Figures of values by the rows of a table: label, unit, and what else a figure has."""
    return [Figure(label, values[key], *rest) for key, (label, *rest) in rows.items() if key in values]


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print figures with their bounds."""
    beside = [name for name in ("aim", "paper") if any(getattr(figure, name) is not None for figure in figures)]
    table = Table("figure", "measured", "unit", "bound", *beside, title=title)
    for figure in figures:
        value = f"[red]{figure.value:.3g}[/red]" if figure.missed else f"{figure.value:.3g}"
        limits = [getattr(figure, name) for name in ("bound", *beside)]
        table.add_row(figure.label, value, figure.unit, *("" if limit is None else f"{limit:g}" for limit in limits))
    console = Console()
    console.print(table)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores + 1:
        console.print(f"[yellow]other work shares the machine (load {load:.1f} on {cores} cores): only ratios count[/]")


def tell(title: str, figures: Sequence[Figure], as_json: bool) -> NoReturn:
    """Print figures, for people or as JSON, and end the program: with exit code 1 if a bound is missed."""
    if as_json:
        print(json.dumps([figure._asdict() for figure in figures]))
    else:
        show(title, figures)
    sys.exit(any(figure.missed for figure in figures))
