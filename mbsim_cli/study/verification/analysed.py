"""The analysis that ``mbsim check`` judges: what was read, assembled and found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.settings import Settings


class Analysed(NamedTuple):
    """A model file with one analysis of it, and the objectives that this found."""

    path: Path
    file: Any  # spec.ModelFile
    settings: Settings  # with a step in seconds
    assembled: Any
    results: Mapping[str, Gradient]

    def tolerances(self, check: Any) -> tuple[float, float]:
        """Relative and absolute tolerance of a check."""
        value = self.file.expressions.value
        return value(check.relative_tolerance), value(check.absolute_tolerance)
