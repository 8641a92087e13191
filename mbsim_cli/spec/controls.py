"""Controls: functions of time whose values are numbers that an optimisation varies."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.base import Spec, by_kind, description, field, fixed_list
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Unit

MOST = 100_000  # intervals


class Control(Spec):
    """A law of time of its name, over the duration of the analysis; its values are parameters: NAME_0, NAME_1, ..."""

    force: str | None = field("The force that takes this function as its law.", "push", default=None)
    intervals: int = field("Intervals of equal length.", 40, ge=1, le=MOST)
    between: Literal["linear", "constant"] = field(
        "linear: straight lines between values at the ends of the intervals; constant: one value in each.",
        "linear",
        default="linear",
    )
    bounds: fixed_list(Number, 2) | None = field("Lower and upper limit of the values.", [-20, 20], default=None)
    initial: by_kind(number=Number, text=str, list=list[Number]) = field(
        "Values to begin with: one for all, an expression of t, the name of a law, or a list.",
        0,
        "5*sin(pi*t)",
        [0, 1.5, 2],
        default=Number(0.0),
    )
    unit: Unit = field("Unit of the values.", "N", default="")
    description: str | None = description()

    @property
    def count(self) -> int:
        """Number of values."""
        return self.intervals + (self.between == "linear")

    def parameters(self, name: str) -> list[str]:
        """Names of the parameters that hold the values of the control of this name."""
        return [f"{name}_{k}" for k in range(self.count)]
