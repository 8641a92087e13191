"""From a validated model file to the arrays of a problem."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbsim_cli.assembly.bodies import tree_table
from mbsim_cli.assembly.closing import Closing, close
from mbsim_cli.assembly.constraints import ConstraintTable
from mbsim_cli.assembly.equations import Equations
from mbsim_cli.assembly.forces import ForceTable
from mbsim_cli.assembly.geometry import Geometry, split
from mbsim_cli.assembly.independence import independent_columns, initial_measures, stated_columns
from mbsim_cli.assembly.info import describe
from mbsim_cli.assembly.joints import freedom, independent, joint_frames
from mbsim_cli.assembly.laws import LawTable
from mbsim_cli.assembly.measures import MeasureTable
from mbsim_cli.assembly.mechanism import check_identities, check_mechanism
from mbsim_cli.assembly.numbers import Numbers
from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.assembly.objectives_of import objectives_of
from mbsim_cli.assembly.options import options_of
from mbsim_cli.assembly.pairs import PairTable
from mbsim_cli.assembly.sensors import SensorTable
from mbsim_cli.assembly.system import System
from mbsim_cli.assembly.theta import Theta
from mbsim_cli.assembly.topology import KEEP, NEEDED, PREFER, Edge, Topology, span
from mbsim_cli.assembly.transfer import kept_by_constraints, transfer
from mbsim_cli.assembly.vanishing import wanted_rows
from mbsim_cli.errors import ModelError
from mbsim_cli.model.layout import Model, freeze
from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Problem


@dataclass(frozen=True)
class ParameterValue:
    """A parameter that gradients are wanted for."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Assembled:
    """A problem with what belongs to it but not to the solver."""

    problem: Problem
    objectives: list[Objective]
    parameters: list[ParameterValue]
    sensor_rows: Mapping[str, slice]
    topology: Topology
    dropped: list[str]  # equations that hold whatever the coordinates are
    warnings: list[str]  # about parameters whose gradients mean nothing
    equations: Equations = field(repr=False)
    closing: Closing = field(repr=False)  # the mechanism at t = 0: rank, redundant rows, mobility
    theta: Theta = field(repr=False)
    model_file: Any = field(repr=False)

    @property
    def info(self) -> dict[str, Any]:
        """What ``mbsim info`` shows, as plain data."""
        return describe(self)

    def at(self, values: Mapping[str, float]) -> "Assembled":
        """The same problem at other parameter values: same tree, same equations, no derivatives."""
        self.theta.numbers.move_to(values)
        theta = self.theta.again()
        objectives = objectives_of(self.model_file, self.theta.numbers, self.sensor_rows, (), values)
        self.theta.numbers.move_to(None)
        theta_rho = np.zeros((len(theta), 0))
        if self.equations.initial_measures:
            theta, theta_rho = transfer(self.equations, self.closing, theta, theta_rho)
        problem = replace(self.problem, theta=theta, theta_rho=theta_rho)
        return replace(self, problem=problem, objectives=objectives)


def build(
    model_file: Any,
    *,
    sensitivity: str | None = None,
    sensitivity_parameters: Sequence[str] | None = None,
    **options: Any,
) -> Assembled:
    """Assemble a model file; ``options`` (formulation, step, duration, ...) go before those of the file.

    Raises ModelError with everything that is wrong with the mechanism.
    """
    numbers = Numbers(model_file.expressions)
    theta = Theta(numbers)
    theta.add(lambda: numbers.vector(model_file.gravity))
    system = System(model_file, Geometry(numbers, model_file), theta, _topology(model_file))
    packed = _Packed(system)
    chosen = options_of(model_file, numbers, sensitivity=sensitivity, **options)
    parameters = _parameters(model_file, chosen.sensitivity, sensitivity_parameters)
    independent_mask = independent_columns(system, packed)
    problem = Problem(
        model=packed.model,
        names=packed.names(parameters),
        theta=theta.values(),
        theta_rho=theta.jacobian([parameter.name for parameter in parameters]),
        independent=independent_mask,
        independent_velocity=independent_mask.copy(),
        automatic=(*packed.constraints.automatic(), *packed.forces.automatic),
        options=chosen,
    )
    equations = Equations(problem, packed.initial_measures)
    closing = close(equations, stated_columns(system))
    check_mechanism(system, problem, closing)
    warnings = check_identities(system, problem, packed.identities)
    system.stop()
    kept, kept_velocity = kept_by_constraints(equations, closing)
    problem = replace(problem, independent=kept, independent_velocity=kept_velocity)
    if equations.initial_measures:
        solved, solved_rho = transfer(equations, closing, problem.theta, problem.theta_rho)
        problem = replace(problem, theta=solved, theta_rho=solved_rho)
    dropped = [identity.name for identity in packed.identities]
    rows, wanted = packed.sensors.rows, [parameter.name for parameter in parameters]
    objectives = objectives_of(model_file, numbers, rows, wanted)
    return Assembled(
        problem, objectives, parameters, rows, system.topology, dropped, warnings, equations, closing, theta, model_file
    )


def _topology(model_file: Any) -> Topology:
    """Spanning tree of the file's joints; raises ModelError where there is none."""
    needed = {split(name)[0] for name in _constrained_coordinates(model_file)}

    def priority(name: str, spec: Any) -> int:
        if spec.cut is False:
            return KEEP
        if name in needed or independent(spec):
            return NEEDED
        return PREFER if getattr(spec, "initial", None) is not None and spec.initial.model_fields_set else 0

    edges = [
        Edge(name, spec.bodies[0], spec.bodies[1], freedom(spec), priority(name, spec), spec.cut is True)
        for name, spec in model_file.joints.items()
    ]
    topology, lost, refused = span(list(model_file.bodies), edges)
    issues = [
        model_file.issue(
            f"bodies.{body}",
            f"body {body!r} is not connected to the ground by joints",
            "a free body has a floating joint to the ground",
        )
        for body in lost
    ]
    issues += [
        model_file.issue(f"joints.{name}.cut", "every joint of a loop forbids cutting", "one of them must be cut")
        for name in refused
    ]
    if issues:
        raise ModelError(issues)
    return topology


def _check_joints(system: System) -> None:
    """Record joints whose axes and references give no frame; raise ModelError then."""
    for name, spec in system.joints.items():
        with system.at(f"joints.{name}"):
            joint_frames(system.geometry, spec)
    system.stop()


def _constrained_coordinates(model_file: Any) -> Iterator[str]:
    """Coordinates that couplings and motions speak of: better not measured over a cut, where angles wrap."""
    for spec in model_file.constraints.values():
        yield from getattr(spec, "terms", ())
        if hasattr(spec, "coordinate"):
            yield spec.coordinate


class _Packed:
    """All tables of a model, filled in the order in which they need each other."""

    def __init__(self, system: System):
        self.system, file = system, system.model_file
        _check_joints(system)
        self.tree = tree_table(system)
        self.pairs = PairTable(system.topology.parent, system.first_column)
        self.measures = MeasureTable(system, self.pairs)
        self.laws = LawTable(system)
        self.constraints = ConstraintTable(system, self.measures, self.laws)
        self.constraints.add_euler_norms()
        for joint in system.topology.cut:
            self.constraints.add_cut_joint(joint)
        for name, spec in file.constraints.items():
            with system.at(f"constraints.{name}"):
                self.constraints.add_declared(name, spec)
        system.stop()
        self.identities = self.constraints.keep(wanted_rows(self))
        self.forces = ForceTable(system, self.measures, self.laws)
        for name, spec in file.forces.items():
            self.forces.add(name, spec)
        self.initial_measures = initial_measures(system, self.measures)
        self.sensors = SensorTable(system, self.measures, self.forces, self.constraints.names)
        for name, spec in file.sensors.items():
            with system.at(f"sensors.{name}"):
                self.sensors.add(name, spec)
        system.stop()
        self.model = freeze(
            Model(
                self.tree,
                self.pairs.table(),
                self.measures.table(),
                self.constraints.table(),
                self.forces.table(),
                self.laws.table(),
                self.sensors.table(),
            )
        )

    def names(self, parameters: Sequence[ParameterValue]) -> Names:
        """Names of everything, in the order of the arrays."""
        topology = self.system.topology
        return Names(
            bodies=topology.bodies,
            joints=topology.joints,
            coordinates=self.system.coordinate_names(),
            coordinate_units=self.system.coordinate_units(),
            constraints=tuple(self.constraints.names),
            forces=tuple(self.forces.names),
            laws=tuple(self.laws.names),
            sensors=tuple(self.sensors.names),
            sensor_units=tuple(self.sensors.units),
            parameters=tuple(parameter.name for parameter in parameters),
            parameter_units=tuple(parameter.unit for parameter in parameters),
        )


def _parameters(model_file: Any, method: str, wanted: Sequence[str] | None) -> list[ParameterValue]:
    """Parameters that gradients are wanted for: none without a method, else those asked for, else the file's."""
    if method == "none":
        return []
    declared = model_file.analysis.sensitivity.parameters
    names = wanted if wanted is not None else list(model_file.parameters) if declared == "all" else declared
    scope = model_file.expressions.scope()
    units = {name: getattr(spec, "unit", "") for name, spec in model_file.parameters.items()}
    return [ParameterValue(name, float(scope[name].real), units[name]) for name in names]
