"""From a validated model file to the arrays of a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbsim_cli.assembly.densities import DensityField, density_fields, moved_by_fields
from mbsim_cli.assembly.elements.laws import check_start
from mbsim_cli.assembly.elements.sensors import Contact
from mbsim_cli.assembly.info import describe
from mbsim_cli.assembly.mechanism import check_identities, check_mechanism, least_inertia, moved_starts, opposed
from mbsim_cli.assembly.objectives import Objective, objectives_of
from mbsim_cli.assembly.options import check_differentiable, end_of, rounded_interval
from mbsim_cli.assembly.packed import ParameterValue, parameter_values
from mbsim_cli.assembly.packing import OTHERS, Packing, pack
from mbsim_cli.assembly.parameters.tables import Reader
from mbsim_cli.assembly.parameters.theta import Theta
from mbsim_cli.assembly.position.closing import Closing, close
from mbsim_cli.assembly.position.contradictions import check_driven, check_laws, check_rates
from mbsim_cli.assembly.position.equations import Equations
from mbsim_cli.assembly.position.independence import held_columns, independent_columns
from mbsim_cli.assembly.position.start import kept_by_constraints, start_from
from mbsim_cli.assembly.tree.elastic import Source
from mbsim_cli.assembly.tree.topology import Topology
from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.natural.system import in_natural_coordinates
from mbsim_cli.spec import with_values


@dataclass(frozen=True)
class Assembled:
    """A problem with what belongs to it but not to the solver."""

    problem: Problem
    objectives: list[Objective]
    parameters: list[ParameterValue]
    sensor_rows: Mapping[str, slice]
    contacts: Sequence[Contact]  # of tyres
    topology: Topology
    joints: Mapping[str, Any]  # those of the file, and those to the nodes of bodies that deform
    dropped: list[str]  # equations that hold whatever the coordinates are
    warnings: list[str]  # about a start that is not the declared one
    equations: Equations = field(repr=False)
    closing: Closing = field(repr=False)  # the mechanism at t = 0: rank, redundant rows, mobility
    theta: Theta = field(repr=False)
    model_file: Any = field(repr=False)
    choices: Mapping[str, Any] = field(repr=False)  # arguments of ``build``
    fields: Sequence[DensityField] = field(repr=False)  # that gradients are asked for
    packing: Packing = field(repr=False)  # of this problem, or of the one that it was moved from

    @property
    def tree_names(self) -> Names:
        """Names of the spanning tree's coordinates and of the equations of its loops, whatever the formulation."""
        return self.problem.names if self.problem.system is None else self.problem.system.problem.names

    @property
    def overdetermined(self) -> list[str]:
        """Equations that follow from others at t = 0, or hold whatever the coordinates are."""
        names = self.tree_names.constraints
        return [*(names[row] for row in self.closing.redundant), *self.dropped]

    @property
    def info(self) -> dict[str, Any]:
        """What ``mbsim info`` shows, as plain data."""
        return describe(self)

    @property
    def every_parameter(self) -> list[ParameterValue]:
        """All parameters of the file, whether gradients are wanted for them or not."""
        return parameter_values(self.model_file, list(self.model_file.parameters))

    def at(self, values: Mapping[str, float | str]) -> "Assembled":
        """The same model assembled anew at other parameter values, as if its file had been read with them."""
        return build(with_values(self.model_file, values), before=self, **self.choices)


def build(
    model_file: Any,
    *,
    sensitivity: str | None = None,
    sensitivity_parameters: Sequence[str] | None = None,
    read_table: Reader | None = None,
    standard_input: Source | None = None,
    before: Assembled | None = None,
    **options: Any,
) -> Assembled:
    """Assemble a model file; ``options`` (formulation, step, duration, ...) go before those of the file.

    ``read_table`` gives the columns of a file that the model names, ``standard_input`` the data of a body that deforms.
    What was assembled ``before`` of the same file lends its tables where only numbers are others; the result is the
    same. Raises ModelError with everything that is wrong with the mechanism.
    """
    asked = {"sensitivity": sensitivity, "sensitivity_parameters": sensitivity_parameters, "read_table": read_table}
    choices = asked | {"standard_input": standard_input} | options
    if before is not None:
        with before.packing.renewed(model_file, choices) as renewed:
            if renewed is not None:
                return _assembled(renewed, before.packing)
    packing = pack(model_file, choices)
    return _assembled(packing, packing)


def _assembled(packing: Packing, lasting: Packing) -> Assembled:
    """What follows from tables; ``lasting`` ones are there for other values later on."""
    model_file, choices, chosen = packing.model_file, packing.choices, packing.options
    system, packed = packing.system, packing.packed
    numbers, theta, inverse = packing.numbers, system.theta, chosen.analysis == "inverse_dynamics"
    parameters = _parameters(model_file, chosen.sensitivity, choices["sensitivity_parameters"])
    wanted = [parameter.key for parameter in parameters]
    check_differentiable(system, wanted, **{name: choices[name] for name in choices if name not in OTHERS})
    values = theta.values()
    independent_mask = independent_columns(packed, values)
    problem = Problem(
        model=packed.model,
        names=packed.names(parameters),
        theta=values,
        theta_rho=theta.jacobian(wanted),
        independent=independent_mask,
        independent_velocity=independent_mask.copy(),
        automatic=(*packed.constraints.automatic(), *packed.forces.automatic),
        options=chosen,
        prescribed=packed.prescribed,
        hold=held_columns(system),
        reacting=packed.reacting,
    )
    check_start(problem, system.issue)
    system.stop()
    equations = Equations(problem, packed.initial_measures)

    def accepts(z: np.ndarray) -> bool:
        return not opposed(system, equations.poses(equations.theta, z))

    closing = close(equations, packed.stated, packed.rated, accepts)
    if not inverse:
        check_driven(system, equations)
        if not system.issues:  # a law that begins elsewhere is why loops stay open
            check_mechanism(system, problem, closing)
        if not system.issues:
            check_rates(system, equations, closing, packed.rated)
        if not system.issues and chosen.analysis == "forward_dynamics":
            check_laws(system, equations, closing)
    broken = check_identities(system, problem, packed.identities)
    system.stop()
    doubts = [f"body {body.name!r}: {text}" for body in system.elastic for text in body.sid.warnings]
    rounded = rounded_interval(model_file, chosen)
    warnings = [*doubts, *rounded, *system.warnings, *moved_starts(problem, closing, packed.stated)]
    kept, kept_velocity = kept_by_constraints(equations, closing)
    problem = replace(problem, independent=kept, independent_velocity=kept_velocity, broken=broken)
    started, started_rho = start_from(equations, closing, problem.theta, problem.theta_rho)
    fields = density_fields(system, packed.tree, chosen.sensitivity)
    moved = moved_by_fields(fields, equations, closing, problem.theta)
    problem = replace(problem, theta=started, theta_rho=started_rho, moved=moved, least=least_inertia(problem, closing))
    if chosen.natural:
        problem = in_natural_coordinates(problem)
    dropped = [identity.name for identity in packed.identities]
    rows = packed.sensors.rows
    end = end_of(model_file, choices.get("duration"))
    objectives = objectives_of(model_file, numbers, rows, wanted, end)
    return Assembled(
        problem, objectives, parameters, rows, packed.sensors.contacts, system.topology, system.joints, dropped,
        warnings, equations, closing, theta, model_file, choices, fields, lasting,
    )  # fmt: skip


def _parameters(model_file: Any, method: str, wanted: Sequence[str] | None) -> list[ParameterValue]:
    """Parameters that gradients are wanted for: none without a method, else those asked for, else the file's."""
    if method == "none":
        return []
    declared = model_file.analysis.sensitivity.parameters
    names = wanted if wanted is not None else list(model_file.parameters) if declared == "all" else declared
    return parameter_values(model_file, names)
