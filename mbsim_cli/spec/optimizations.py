"""Optimisations: which parameters vary, what is to become least or largest, and what is kept within limits."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Any, Literal

from pydantic import model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.studies import Range


class Limit(Spec):
    """What an objective is kept within."""

    at_most: Number | None = field("Largest value.", 0.3, default=None)
    at_least: Number | None = field("Smallest value.", 1, default=None)
    equals: Number | None = field("The value.", 2, default=None)

    @model_validator(mode="after")
    def _some(self) -> "Limit":
        between = self.at_most is not None or self.at_least is not None
        require_one("at_most, at_least or both; or equals", between == (self.equals is not None))
        return self


class Optimization(Spec):
    """One optimisation of parameters by gradients."""

    minimize: str | None = field("Objective that is to become least.", "psi1", default=None)
    maximize: str | None = field("Objective that is to become largest.", "psi1", default=None)
    variables: by_kind(text=Literal["all"], list=list[str], mapping=dict[str, Range]) | None = field(
        "Parameters that vary within their bounds, or each with its range; all: those that have bounds; "
        "default all, none where fields vary.",
        ["L_s1", "L_s2"],
        {"L_s1": {"from": 2, "to": 3}},
        "all",
        default=None,
    )
    fields: list[str] = field("Fields that vary within their bounds, element by element.", ["rho"], default=[])
    volume: dict[str, Limit] = field(
        "Limits on the mean of fields over the volume of their bodies, after their filter.",
        {"rho": {"at_most": 0.5}},
        default={},
    )
    constraints: dict[str, Limit] = field(
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
    tolerance: Number = field(
        "Residual of the optimality conditions that is enough, relative to the gradient at the start.",
        1e-6,
        default=Number(1e-6),
    )
    starts: int = field(
        "Searches, from the values of the file and then from places within the ranges that a fixed sequence gives; the "
        "best of them counts.",
        5,
        default=1,
        ge=1,
        le=1000,
    )
    description: str | None = description()

    @property
    def varied(self) -> Any:
        """Parameters that vary, as they are stated or by default."""
        return ([] if self.fields else "all") if self.variables is None else self.variables

    @property
    def objective(self) -> str:
        """The objective that becomes least or largest."""
        return self.minimize or self.maximize or ""

    @model_validator(mode="after")
    def _one_objective(self) -> "Optimization":
        require_one("one of minimize and maximize", (self.minimize is None) == (self.maximize is None))
        return self
