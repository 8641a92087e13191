"""What a result says beside its histories: before their first instant, and after the last."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbsim_cli.io import skeleton
from mbsim_cli.io.field_results import FieldOn
from mbsim_cli.io.layout import Variable, inverse_variables, variables
from mbsim_cli.io.optimization import History
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.model.names import Names


class Origin(NamedTuple):
    """What the histories are of.

    ``sensors`` tells the rows of the record that each sensor fills; every ``every``-th instant is stored, and the last,
    some ``instants`` in all. Without ``sensitivities`` histories have no parameter axis, though gradients of objectives
    may come from elsewhere.
    """

    names: Names
    sensors: Mapping[str, slice]
    parameters: skeleton.Parameters
    provenance: Provenance
    every: int = 1
    instants: int = skeleton.MOST_ROWS
    sensitivities: bool = True
    inverse: bool = False  # whether blocks are those of inverse dynamics

    @property
    def variables(self) -> list[Variable]:
        """All that goes along time."""
        layout = inverse_variables if self.inverse else variables
        return layout(self.names, self.sensors, self.sensitivities)


class Errors(Protocol):
    """Estimated errors of a value and of its derivatives."""

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> np.ndarray: ...  # (p,), or empty where they are not known


class ObjectiveResult(NamedTuple):
    """An objective's value and, with sensitivities, its gradient (p,), and their estimated discretisation errors."""

    name: str
    value: float
    unit: str
    gradient: np.ndarray | None = None
    method: str = "none"
    description: str = ""
    discretisation: Errors | None = None
    undefined: Mapping[str, str] = {}  # why there is no derivative, by parameter
    flags: Sequence[str] = ()  # why the value is only one choice
    by_fields: Mapping[str, np.ndarray] = {}  # derivatives (ne,) by the elements of fields
    off_by_fields: Mapping[str, np.ndarray] = {}  # their estimated discretisation errors


class Findings(NamedTuple):
    """What the histories have led to."""

    objectives: Sequence[ObjectiveResult]
    fields: Sequence[FieldOn] = ()  # that gradients are taken by
    multipliers: Mapping[str, str] = {}  # what each kind of them is
    undetermined: Sequence[str] = ()  # equations whose multipliers are one choice of many
    undetermined_sensors: Mapping[str, str] = {}  # that read them, with the reason
    warnings: Sequence[str] = ()
    work: Mapping[str, int] = {}  # what an integrator counted in the whole run
    discretisation: Mapping[str, Any] = {}  # what is known of the motion's error
    history: History | None = None  # of the optimisation that they are the best design of
