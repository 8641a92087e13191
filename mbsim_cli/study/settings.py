"""What a caller replaces in a file's analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AUTO = "auto"  # a step that is chosen


@dataclass(frozen=True)
class Settings:
    """What the command line replaces in a file's analysis; None replaces nothing."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    formulation: str | None = None
    integrator: str | None = None
    tolerance: float | None = None
    step: float | str | None = None  # s, or auto
    accuracy: float | None = None  # of an automatic step
    duration: float | None = None
    method: str | None = None
    all_numbers: bool = False  # gradients by every number of the file
    memory: float | None = None  # bytes, of an adjoint
    by: tuple[str, ...] | None = None  # parameters of gradients; None: those of the file
    without: tuple[str, ...] = ()  # methods whose agreement is not checked

    @property
    def options(self) -> dict[str, Any]:
        """What replaces an option of the analysis; None replaces nothing."""
        names = ("formulation", "integrator", "tolerance", "step", "duration", "memory")
        return {name: getattr(self, name) for name in names}
