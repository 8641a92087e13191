"""Kinematic analysis: laws determine the whole motion, over time or over a range of coordinates."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.analysis import Sensitivity
from mbsim_cli.spec.base import Spec, field
from mbsim_cli.spec.expressions.number import Number, formula

SECOND = Number(1.0)


class Range(Spec):
    """A range of a coordinate, from end to end at a constant rate."""

    from_: Number = field("First value [m or rad].", 0, alias="from")
    to: Number = field("Last value [m or rad].", "360 deg")
    count: int = field("Samples, both ends included.", 361, ge=2, le=10_000_000)


class Kinematics(Spec):
    """Positions, velocities, accelerations and reactions of a driven mechanism, without integration."""

    type: Literal["kinematics"] = field("Kind of analysis.", "kinematics")
    sampling: Number | None = field("Time between two samples [s]; a sweep states a count instead.", 0.01, default=None)
    duration: Number | None = field("Duration [s]; default 1 with a sweep.", 3.0, default=None)
    sweep: dict[str, Range] = field(
        "Ranges of coordinates, JOINT.coordinate, that drive the mechanism beside its laws, all together.",
        {"crank.angle": {"from": 0, "to": "360 deg", "count": 361}},
        default={},
    )
    sensitivity: Sensitivity = field(
        "Gradients.", {"method": "ddm", "parameters": "all"}, default_factory=lambda: Sensitivity(method="none")
    )

    @property
    def lasts(self) -> Number:
        """Duration."""
        return SECOND if self.duration is None else self.duration

    @property
    def intervals(self) -> int:
        """Number of intervals between the samples of a sweep."""
        return next((each.count - 1 for each in self.sweep.values()), 1)

    @property
    def samples(self) -> Number:
        """Time between two samples."""
        if self.sampling is not None:
            return self.sampling
        return formula("T/n", {"T": self.lasts, "n": Number(float(self.intervals))})
