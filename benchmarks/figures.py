"""Measured figures beside their bounds, as the benchmarks of whole commands print them."""

import os
from typing import NamedTuple

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

    @property
    def missed(self) -> bool:
        """Whether the value is beyond its bound."""
        if self.bound is None:
            return False
        return self.value < self.bound if self.at_least else self.value > self.bound


def show(title: str, figures: list[Figure]) -> None:
    """Print figures with their bounds."""
    aimed = any(figure.aim is not None for figure in figures)
    table = Table("figure", "measured", "unit", "bound", *["aim"] * aimed, title=title)
    for figure in figures:
        value = f"[red]{figure.value:.3g}[/red]" if figure.missed else f"{figure.value:.3g}"
        limits = ["" if limit is None else f"{limit:g}" for limit in (figure.bound, figure.aim)]
        table.add_row(figure.label, value, figure.unit, *limits[: 1 + aimed])
    console = Console()
    console.print(table)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores + 1:
        console.print(f"[yellow]other work shares the machine (load {load:.1f} on {cores} cores): only ratios count[/]")
