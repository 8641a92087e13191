"""One comparison of a computed number or vector with its reference, and the rule that it passes by."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """A row of ``mbsim check``: a number or vector that was computed, and what it should be.

    ``relative_error`` and ``tolerance`` are absolute where the reference is zero; a failure has a ``message`` alone.
    ``source`` says where the reference comes from. One that is not ``decided`` has a reference that is too uncertain to
    show a failure, and passes; its message says how uncertain.
    """

    model: str
    name: str
    kind: str  # benchmark | structure | agreement | numerical | undefined | failure
    objective: str | None
    parameter: str | None
    computed: float | list[float] | None
    reference: float | list[float] | None
    relative_error: float | None
    tolerance: float | None
    passed: bool
    source: str | None = None
    message: str | None = None
    decided: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Entry of ``check --json``."""
        return asdict(self)


def compare(computed: Any, reference: Any, relative: float, absolute: float, scale: float | None = None, **labels: Any):
    """Compare numbers, or vectors by the largest difference of a component relative to the reference's length.

    The error may be ``absolute + relative * scale``; ``scale`` is the size of the reference unless given.
    """
    computed, reference = np.asarray(computed, float), np.asarray(reference, float)
    error = float(np.max(np.abs(computed - reference), initial=0.0))
    size = float(np.linalg.norm(reference)) if scale is None else scale
    allowed = absolute + relative * size
    unit = size or 1.0
    return Comparison(
        computed=computed.tolist(),
        reference=reference.tolist(),
        relative_error=error / unit,
        tolerance=allowed / unit,
        passed=bool(error <= allowed),  # NaN is not
        **{"objective": None, "parameter": None, "source": None, **labels},
    )


def unless_undecided(row: Comparison, uncertain: float, scale: float, what: str) -> Comparison:
    """The row, unless it failed by no more than its reference is ``uncertain`` by."""
    if row.passed or row.relative_error is None or not row.relative_error * (scale or 1.0) <= uncertain:
        return row
    doubt = f"{what}: not decided by differences of analyses, which are uncertain by {uncertain / (scale or 1.0):.1e}"
    return replace(row, passed=True, decided=False, message=doubt)


def failed(model: str, message: str) -> Comparison:
    """Row of a model whose comparisons could not be made."""
    return Comparison(model, "analysis", "failure", None, None, None, None, None, None, False, None, message)
