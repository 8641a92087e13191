"""What an analysis is repeated for: studies of parameter values, optimisations, and fits to measurements."""

from typing import Annotated, Any, Literal

from mbsim_cli.spec.base import ByKind, Described, Spec, field, named, needs, one_of, optional
from mbsim_cli.spec.expressions.number import AutoNumber, Many, Number, Pair, Positive, Sign, Some
from mbsim_cli.spec.tables import ColumnsFile

KINDS = ("grid", "zip", "list", "sobol", "latin_hypercube", "csv")


class Range(Spec):
    """Values from one number to another."""

    from_: Number = field("First value.", 1e3, alias="from")
    to: Number = field("Last value.", 3e3)
    scale: Literal["linear", "log"] = field(
        "Equal distances (linear) or equal ratios (log) between values.", "log", default="linear"
    )


class Steps(Range):
    """So many values from one number to another, both included."""

    count: int = field("How many values, both ends included.", 5, ge=2, le=10_000_000)


Axis = Annotated[Many[Number] | Steps, ByKind()]


class Cloud(Spec):
    """Points that fill a box of parameters."""

    parameters: Annotated[Many[named.Varied] | dict[named.Varied, Range], ByKind()] = field(
        "Parameters that vary within their bounds, or each with its range.",
        ["k_f", "c_f"],
        {"k_f": {"from": 2e4, "to": 3e4, "scale": "log"}},
    )
    count: int = field("How many points.", 4096, ge=1, le=10_000_000)
    seed: int = field("Seed of the random numbers.", 7, default=0, ge=0)


class CasesFile(ColumnsFile):
    """A file with a row for each case and a column for each parameter."""

    columns: dict[named.Varied, named.Text] = field(
        "Parameters that are read, each with its column; left out, every column is a parameter of that name.",
        {"k_f": "stiffness"},
        default={},
    )


class Study(Described):
    """One set of cases, and what is computed and kept of each."""

    grid: dict[named.Varied, Axis] | None = optional(
        "Every combination of values; the last parameter runs fastest.",
        {"k_f": [2e4, 3e4], "c_f": {"from": 1e3, "to": 3e3, "count": 5, "scale": "log"}},
        min_length=1,
    )
    zip_: dict[named.Varied, Axis] | None = optional(
        "Values side by side: the first of all parameters, the second of all, and so on.",
        {"k_f": [2e4, 3e4], "c_f": [1e3, 2e3]},
        alias="zip",
        min_length=1,
    )
    list_: Many[dict[named.Varied, Number]] | None = optional(
        "Cases one by one; what a case leaves out keeps the file's value.",
        [{"k_f": 2e4}, {"k_f": 3e4, "c_f": 1e3}],
        alias="list",
        min_length=1,
    )
    sobol: Cloud | None = optional(
        "Points of a scrambled Sobol sequence; a larger count begins with the same points.",
        {"parameters": ["k_f", "c_f"], "count": 4096, "seed": 7},
    )
    latin_hypercube: Cloud | None = optional(
        "Points of a Latin hypercube: one in each of as many layers of every parameter.",
        {"parameters": ["k_f", "c_f"], "count": 100},
    )
    csv: CasesFile | None = optional("Cases of a file.", {"file": "cases.csv"})
    sensitivity: Literal["none", "ddm"] | None = optional(
        "Gradients in each case: none, or ddm, direct differentiation; default as the analysis says.", "ddm"
    )
    keep: Annotated[Literal["objectives", "sensors", "full"] | Many[named.Kept], ByKind()] = field(
        "Results to store for each case: objectives; sensors too, along time; or the names of objectives and sensors; "
        "full: objectives, and its result file.",
        "sensors",
        ["psi1", "r2"],
        default="objectives",
    )

    @property
    def kind(self) -> str:
        """Which way of stating cases is used."""
        return next(kind for kind in KINDS if self.stated(kind) is not None)

    def stated(self, kind: str) -> Any:
        """What stands under a way of stating cases."""
        return getattr(self, next(name for name, entry in Study.model_fields.items() if kind in (name, entry.alias)))

    _one_kind = one_of("one of " + ", ".join(KINDS), "grid", "zip_", "list_", "sobol", "latin_hypercube", "csv")


class Limit(Spec):
    """Limits of an objective."""

    at_most: Number | None = optional("Largest value.", 0.3)
    at_least: Number | None = optional("Smallest value.", 1)
    equals: Number | None = optional("The value.", 2)

    _some = needs(
        "at_most, at_least or both; or equals",
        lambda item: (item.at_most is not None or item.at_least is not None) == (item.equals is not None),
    )


class Optimization(Described):
    """One optimisation of parameters by gradients."""

    minimize: named.Objective | None = optional("Objective to minimise.", "psi1")
    maximize: named.Objective | None = optional("Objective to maximise.", "psi1")
    variables: Annotated[Literal["all"] | Many[named.Varied] | dict[named.Varied, Range], ByKind()] | None = optional(
        "Parameters that vary within their bounds, or each with its range; all: those that have bounds; "
        "default all, none where fields vary.",
        ["L_s1", "L_s2"],
        {"L_s1": {"from": 2, "to": 3}},
        "all",
    )
    fields: Many[named.Field] = field("Fields that vary within their bounds, element by element.", ["rho"], default=())
    volume: dict[named.VariedField, Limit] = field(
        "Limits on the mean of fields over the volume of their bodies, after their filter.",
        {"rho": {"at_most": 0.5}},
        default={},
    )
    constraints: dict[named.Objective, Limit] = field(
        "Objectives that are kept within limits.", {"psi2": {"at_most": 5}}, default={}
    )
    algorithm: Literal["auto", "slsqp", "trust-constr", "ipopt", "mma"] = field(
        "slsqp: sequential quadratic programming; trust-constr: trust regions; ipopt: interior points, with the extra "
        "ipopt; mma: moving asymptotes, for very many variables; auto: slsqp, with more than 100 variables mma; where "
        "equalities are kept and more than 20 vary ipopt, if it is installed.",
        "mma",
        default="auto",
    )
    evaluations: int = field("Analyses at most.", 100, default=200, ge=1, le=1_000_000)
    tolerance: Positive = field(
        "Residual of the optimality conditions that is enough, relative to the gradient at the start.",
        1e-6,
        default=1e-6,
    )
    starts: int = field(
        "Number of searches: the first from the values of the file, others from points of a fixed sequence within the "
        "ranges; the best result counts.",
        5,
        default=1,
        ge=1,
        le=1000,
    )

    @property
    def varied(self) -> Literal["all"] | tuple[str, ...] | dict[str, Range]:
        """Parameters that vary, as they are stated or by default."""
        return (() if self.fields else "all") if self.variables is None else self.variables

    @property
    def objective(self) -> str:
        """The objective that becomes least or largest."""
        return self.minimize or self.maximize or ""

    _one_objective = one_of("one of minimize and maximize", "minimize", "maximize")


class MeasuredColumn(Spec):
    """A column of a measurement: offset + scale * sensor(t - delay), and noise."""

    sensor: named.History = field(
        "History of one number, as mbsim plot names it: a sensor or a coordinate.", "r2.x", "A.angle"
    )
    sigma: Annotated[AutoNumber, Sign.POSITIVE] = field(
        "Standard deviation of the noise, in the unit of the column; auto: estimated from the residuals.",
        1e-3,
        "auto",
        default="auto",
    )
    offset: Number = field("Reading where the sensor shows zero.", "b0", default=0.0)
    scale: Number = field("Reading divided by the value of the sensor; 1000 for millimetres.", "s0", default=1.0)
    delay: Number = field("Time by which the reading lags behind the motion [s].", "d0", default=0.0)


class Measurement(Described):
    """Readings over time of one run of the machine."""

    file: named.File = field("CSV or HDF5 file, relative to the model file.", "run1.csv")
    delimiter: named.Text | None = optional("Separator of the columns of a CSV file; default a comma.", ";")
    time: named.Text = field(
        "Column of the times, which the time of the analysis counts from zero.", "t", default="time"
    )
    time_scale: Positive = field("Factor on the times, to seconds.", 0.001, default=1.0)
    between: Pair[Number] | None = optional("First and last time that is used [s]; default all of them.", [0.1, 2])
    parameters: dict[named.Varied, Number] = field(
        "Values of parameters in this run, numbers or expressions of others.",
        {"payload": 2.5, "start": "start_lab"},
        default={},
    )
    columns: dict[named.Text, MeasuredColumn] = field(
        "Columns of the file by name.", {"x2": {"sensor": "r2.x", "sigma": 1e-3, "offset": "b0"}}, min_length=1
    )


class Fit(Described):
    """One fit of parameters to measurements, by least squares."""

    measurements: Some[named.Measurement] = field("Measurements that the model is fitted to.", ["lab"])
    parameters: Annotated[Literal["all"] | Many[named.Varied] | dict[named.Varied, Range], ByKind()] = field(
        "Parameters that are estimated, within their bounds if they have any, or each within a range; "
        "all: those that have bounds.",
        ["k", "c"],
        {"k": {"from": 10, "to": 1000, "scale": "log"}},
        "all",
        default="all",
    )
    hold_out: Many[named.Measurement] = field(
        "Measurements that the fitted model is only compared with.", ["lab2"], default=()
    )
    loss: Literal["linear", "soft_l1", "huber", "cauchy", "arctan"] = field(
        "How residuals count: linear, by their squares; the others are robust: outliers count less.",
        "soft_l1",
        default="linear",
    )
    loss_scale: Positive | None = optional("Residual over sigma from which on a robust loss counts less; default 1.", 2)
    evaluations: int = field("Evaluations of the model at most.", 100, default=200, ge=1, le=1_000_000)
    tolerance: Positive = field(
        "Relative change of the sum of squares and of the parameters that ends the search.", 1e-10, default=1e-8
    )

    @property
    def varied(self) -> Literal["all"] | tuple[str, ...] | dict[str, Range]:
        """Parameters that are estimated, as they are stated."""
        return self.parameters

    _robust = needs(
        "a robust loss beside loss_scale, which linear has no use for",
        lambda item: item.loss_scale is not None and item.loss == "linear",
    )
