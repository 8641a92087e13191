"""Measurements, and fits of parameters to them: which file, what its columns measure, what may vary."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Any, Literal

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, fixed_list, require_one
from mbsim_cli.spec.expressions.number import AutoNumber, Number
from mbsim_cli.spec.studies import Range

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")


class MeasuredColumn(Spec):
    """What a column of a measurement holds: offset + scale * sensor(t - delay), and noise."""

    sensor: str = field("History of one number, as mbsim plot names it: a sensor or a coordinate.", "r2.x", "A.angle")
    sigma: AutoNumber = field(
        "Standard deviation of the noise, in the unit of the column; auto: estimated from the residuals.",
        1e-3,
        "auto",
        default="auto",
    )
    offset: Number = field("Reading where the sensor shows zero.", "b0", default=Number(0.0))
    scale: Number = field("Reading over what the sensor shows; 1000 for millimetres.", "s0", default=Number(1.0))
    delay: Number = field("Time by which the reading lags behind the motion [s].", "d0", default=Number(0.0))


class Measurement(Spec):
    """Readings over time of one run of the machine."""

    file: str = field("CSV or HDF5 file, relative to the model file.", "run1.csv")
    delimiter: str | None = field("What stands between the numbers of a CSV file; default a comma.", ";", default=None)
    time: str = field("Column of the times, which the time of the analysis counts from zero.", "t", default="time")
    time_scale: Number = field("Factor on the times, to seconds.", 0.001, default=Number(1.0))
    between: fixed_list(Number, 2) | None = field(
        "First and last time that is used [s]; default all of them.", [0.1, 2], default=None
    )
    parameters: dict[str, Number] = field(
        "Values of parameters in this run, numbers or expressions of others.",
        {"payload": 2.5, "start": "start_lab"},
        default={},
    )
    columns: dict[str, MeasuredColumn] = field(
        "What columns of the file hold, by their names.",
        {"x2": {"sensor": "r2.x", "sigma": 1e-3, "offset": "b0"}},
        min_length=1,
    )
    description: str | None = description()


class Fit(Spec):
    """One fit of parameters to measurements, by least squares."""

    measurements: list[str] = field("Measurements that the model is fitted to.", ["lab"], min_length=1)
    parameters: by_kind(text=Literal["all"], list=list[str], mapping=dict[str, Range]) = field(
        "Parameters that are estimated, within their bounds if they have any, or each within a range; "
        "all: those that have bounds.",
        ["k", "c"],
        {"k": {"from": 10, "to": 1000, "scale": "log"}},
        "all",
        default="all",
    )
    hold_out: list[str] = field("Measurements that the fitted model is only compared with.", ["lab2"], default=[])
    loss: Literal["linear", "soft_l1", "huber", "cauchy", "arctan"] = field(
        "How residuals count: linear, by their squares; the others are robust: outliers count less.",
        "soft_l1",
        default="linear",
    )
    loss_scale: Number | None = field(
        "Residual over sigma from which on a robust loss counts less; default 1.", 2, default=None
    )
    evaluations: int = field("Evaluations of the model at most.", 100, default=200, ge=1, le=1_000_000)
    tolerance: Number = field(
        "Relative change of the sum of squares and of the parameters that ends the search.",
        1e-10,
        default=Number(1e-8),
    )
    description: str | None = description()

    @property
    def varied(self) -> Any:
        """Parameters that are estimated, as they are stated."""
        return self.parameters

    @model_validator(mode="after")
    def _robust(self) -> "Fit":
        require_one(
            "a robust loss beside loss_scale, which linear has no use for",
            self.loss_scale is not None and self.loss == "linear",
        )
        return self
