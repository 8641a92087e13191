"""Studies: sets of parameter values that an analysis is repeated for."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Any, Literal

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.number import Number
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


Axis = by_kind(list=list[Number], mapping=Steps)


class Cloud(Spec):
    """Points that fill a box of parameters."""

    parameters: by_kind(list=list[str], mapping=dict[str, Range]) = field(
        "Parameters that vary within their bounds, or each with its range.",
        ["k_f", "c_f"],
        {"k_f": {"from": 2e4, "to": 3e4, "scale": "log"}},
    )
    count: int = field("How many points.", 4096, ge=1, le=10_000_000)
    seed: int = field("Seed of the random numbers.", 7, default=0, ge=0)


class CasesFile(ColumnsFile):
    """A file with a row for each case and a column for each parameter."""

    columns: dict[str, str] = field(
        "Parameters that are read, each with its column; left out, every column is a parameter of that name.",
        {"k_f": "stiffness"},
        default={},
    )


class Study(Spec):
    """One set of cases, and what is computed and kept of each."""

    grid: dict[str, Axis] | None = field(
        "Every combination of values; the last parameter runs fastest.",
        {"k_f": [2e4, 3e4], "c_f": {"from": 1e3, "to": 3e3, "count": 5, "scale": "log"}},
        default=None,
        min_length=1,
    )
    zip_: dict[str, Axis] | None = field(
        "Values side by side: the first of all parameters, the second of all, and so on.",
        {"k_f": [2e4, 3e4], "c_f": [1e3, 2e3]},
        alias="zip",
        default=None,
        min_length=1,
    )
    list_: list[dict[str, Number]] | None = field(
        "Cases one by one; what a case leaves out keeps the file's value.",
        [{"k_f": 2e4}, {"k_f": 3e4, "c_f": 1e3}],
        alias="list",
        default=None,
        min_length=1,
    )
    sobol: Cloud | None = field(
        "Points of a scrambled Sobol sequence, of which a larger count has the same first points.",
        {"parameters": ["k_f", "c_f"], "count": 4096, "seed": 7},
        default=None,
    )
    latin_hypercube: Cloud | None = field(
        "Points of a Latin hypercube: one in each of as many layers of every parameter.",
        {"parameters": ["k_f", "c_f"], "count": 100},
        default=None,
    )
    csv: CasesFile | None = field("Cases of a file.", {"file": "cases.csv"}, default=None)
    sensitivity: Literal["none", "ddm"] | None = field(
        "Gradients in each case: none, or ddm, direct differentiation; default as the analysis says.",
        "ddm",
        default=None,
    )
    keep: by_kind(text=Literal["objectives", "sensors", "full"], list=list[str]) = field(
        "What is kept of a case: objectives; sensors too, along time; or the names of objectives and sensors; "
        "full: objectives, and its result file.",
        "sensors",
        ["psi1", "r2"],
        default="objectives",
    )
    description: str | None = description()

    @property
    def kind(self) -> str:
        """Which way of stating cases is used."""
        return next(kind for kind in KINDS if self.stated(kind) is not None)

    def stated(self, kind: str) -> Any:
        """What stands under a way of stating cases."""
        return getattr(self, next(name for name, entry in Study.model_fields.items() if kind in (name, entry.alias)))

    @model_validator(mode="after")
    def _one_kind(self) -> "Study":
        given = [kind for kind in KINDS if self.stated(kind) is not None]
        require_one("one of " + ", ".join(KINDS), len(given) != 1)
        return self
