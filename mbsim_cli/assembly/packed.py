"""All tables of a model."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from mbsim_cli.assembly.elements.constraints import ConstraintTable
from mbsim_cli.assembly.elements.forces import ForceTable
from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.elements.motion import MotionTable
from mbsim_cli.assembly.elements.reactions import ReactionTable
from mbsim_cli.assembly.elements.sensors import SensorTable
from mbsim_cli.assembly.elements.signals import SignalTable
from mbsim_cli.assembly.position.equations import wanted_rows
from mbsim_cli.assembly.position.start import initial_measures, kept_whatever_values, stated_columns, stated_rates
from mbsim_cli.assembly.tree.bodies import armature_table, tree_table, with_elastic
from mbsim_cli.assembly.tree.geometry import Geometry
from mbsim_cli.assembly.tree.joints import (
    CUT_EQUATIONS,
    design_frames,
    is_designed,
    joint_frames,
    kind_of,
    stated_position,
)
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model.codes import Joint, Measure
from mbsim_cli.model.coordinates import with_bodies
from mbsim_cli.model.layout import Model, Names, freeze
from mbsim_cli.model.problem import Options
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.system import cached_property

# Whether joints allow the design position that their start is taken from.

ROUNDED = 1e-3  # m or rad: what a drawing with few digits may be off by


def check_designs(system: System) -> None:
    """Record joints that the design position of their bodies would break, where they start from it."""
    for name, spec in system.joints.items():
        system.settle(partial(_check, name, spec))


def _check(name: str, spec: Any, system: System) -> None:
    if not _starts_there(system.geometry, spec):
        return
    gap, turn = _misfit(system.geometry, spec)
    if max(gap, turn) > ROUNDED:
        how = f"their points {gap:.4g} m apart" if gap > ROUNDED else f"its axes {turn:.4g} rad apart"
        a, b = spec.bodies
        message = f"the design position of {a!r} and {b!r} leaves {how}, where the joint allows no motion"
        hint = "mend position or orientation of a body, or points and axes of the joint"
        hint += "" if kind_of(spec) == Joint.FIXED else "; or state its initial position"
        system.issue(f"joints.{name}", message, hint)


def _starts_there(geometry: Geometry, spec: Any) -> bool:
    """Whether anything about the joint's start follows from the design position."""
    kind = kind_of(spec)
    return is_designed(geometry, spec) and (kind == Joint.FIXED or None in stated_position(geometry, spec, kind))


def _misfit(geometry: Geometry, spec: Any) -> tuple[float, float]:
    """How far the joint's points are apart in the design position [m], and its axes [rad], where it lets none move."""
    d, r = design_frames(geometry, spec, joint_frames(geometry, spec))
    equations = CUT_EQUATIONS[kind_of(spec)]
    shifts = [d[e.axis_a].real for e in equations if e.kind == Measure.PROJECTION]
    turns = [r[e.axis_a][e.axis_b].real for e in equations if e.kind == Measure.DOT]
    return float(np.linalg.norm(shifts)), float(np.arcsin(min(1.0, float(np.linalg.norm(turns)))))


class ParameterValue(NamedTuple):
    """A parameter with its value in this analysis."""

    name: str
    value: float
    unit: str
    bounds: tuple[float, float] | None = None
    key: str = ""  # its name in expressions; results may call it by the path of the number that it stands for


def parameter_values(model_file: ModelFile, names: Sequence[str]) -> list[ParameterValue]:
    """Values of parameters, overrides in place, with what the file says of them."""
    value, scope = model_file.expressions.value, model_file.expressions.scope()
    found = []
    for name in names:
        spec = model_file.parameters[name]
        lower, upper = (float(value(bound).real) for bound in spec.bounds) if spec.bounds else (None, None)
        bounds = None if lower is None or upper is None else (lower, upper)
        found.append(ParameterValue(model_file.parameter_label(name), float(scope[name].real), spec.unit, bounds, name))
    return found


class Packed:
    """All tables of a model, filled in the order in which they need each other.

    ``inverse`` holds the options of inverse dynamics; None of another analysis.
    """

    def __init__(self, system: System, inverse: Options | None = None):
        self.system, file = system, system.model_file
        _check_joints(system)
        tree = tree_table(system)
        self.pairs = PairTable(system.topology.parent, system.first_column)
        self.tree = cast(Any, with_elastic(system, tree, self.pairs))
        self.armatures = armature_table(system)
        self.measures = MeasureTable(system, self.pairs)
        self.laws = LawTable(system)
        self.constraints = ConstraintTable(system, self.measures, self.laws)
        self.constraints.add_euler_norms()
        for joint in system.topology.cut:
            self.constraints.add_cut_joint(joint)
        for joint in system.topology.joints:
            self.constraints.add_held(joint)
        for name, spec in file.constraints.items():
            with system.at(f"constraints.{name}"):
                self.constraints.add_declared(name, spec)
        self.motion = None if inverse is None else MotionTable(system, self.laws)
        closed = bool(system.topology.loops or file.constraints)
        if self.motion is not None and inverse is not None and closed:
            self.motion.add_constraints(self.constraints, inverse.duration)
        system.stop()
        self.identities = self.constraints.keep(wanted_rows(self))
        self.forces = ForceTable(system, self.measures, self.laws)
        for name, spec in file.forces.items():
            self.forces.add(name, spec)
        self.initial_measures = initial_measures(system, self.measures)
        self.sensors = SensorTable(system, self.measures, self.forces, self.constraints)
        self.signals = SignalTable(system, self.measures, self.laws, self.sensors)
        for moving in self.forces.moving:
            self.signals.add(moving)
        for name, spec in file.sensors.items():
            if name in file.derived.hidden:
                continue
            with system.at(f"sensors.{name}"):
                self.sensors.add(name, spec)
        if inverse is None:
            self.sensors.add_contacts()
            self.sensors.add_gaps(self.laws.table())
        places = [self._place(moving) for moving in self.forces.moving]
        forward = file.analysis.type == "forward_dynamics"
        self.branchings = self.signals.add_branchings(places) if forward else ()
        reactions = ReactionTable(system, self.pairs, self.constraints, self.identities)
        self.sensors.add_reactions(reactions)
        self.sensors.add_torques()
        self.sensors.add_expressions()
        self.prescribed = self.drives = None
        if self.motion is not None and inverse is not None:
            self.prescribed = self.motion.prescribed(inverse.duration, tuple(self.sensors.torque_rows))
            self.drives = self.motion.drives(self.constraints) if closed else None
        system.stop()
        self.model = freeze(
            with_bodies(
                Model(
                    self.tree,
                    self.pairs.table(),
                    self.measures.table(self.laws.table()),
                    self.constraints.table(),
                    self.forces.table(),
                    self.laws.table(),
                    self.sensors.table(),
                    self.armatures,
                    self.signals.table(len(self.forces.names)),
                )
            )
        )
        self.reacting = reactions.table(self.model)

    @cached_property
    def kept(self) -> np.ndarray:
        """Mask (n,): coordinates declared independent, and those that no constraint reaches."""
        return kept_whatever_values(self.system, self)

    @cached_property
    def stated(self) -> np.ndarray:
        """Mask (n,) of the coordinates that have an initial position in the file, and of all elastic ones."""
        return stated_columns(self.system)

    @cached_property
    def rated(self) -> np.ndarray:
        """Mask (n,) of the coordinates that have an initial velocity in the file."""
        return stated_rates(self.system)

    def _place(self, moving: Any) -> str:
        """Where the expression of a force stands in the file."""
        issue = self.system.model_file.issue(moving.path, "")
        return f"{issue.path} ({issue.file}:{issue.line}:{issue.column})"

    def names(self, parameters: Sequence[ParameterValue]) -> Names:
        """Names of everything, in the order of the arrays."""
        topology = self.system.topology
        return Names(
            bodies=topology.bodies,
            joints=topology.joints,
            coordinates=self.system.coordinate_names(),
            coordinate_units=self.system.coordinate_units(),
            constraints=tuple(self.constraints.names),
            constraint_units=self.constraints.units,
            forces=tuple(self.forces.names),
            laws=tuple(self.laws.names),
            sensors=tuple(self.sensors.names),
            sensor_units=tuple(self.sensors.units),
            sensor_components=tuple(self.sensors.components),
            parameters=tuple(parameter.name for parameter in parameters),
            parameter_units=tuple(parameter.unit for parameter in parameters),
            identities=tuple(identity.name for identity in self.identities),
            expressions={(moving.force, moving.component): self._place(moving) for moving in self.forces.moving},
        )


def _check_joints(system: System) -> None:
    """Record joints whose axes and references give no frame; raise ModelError then."""
    for name, spec in system.joints.items():
        system.settle(partial(_check_frames, name, spec))
    system.stop()
    check_designs(system)
    system.stop()


def _check_frames(name: str, spec: Any, system: System) -> None:
    with system.at(f"joints.{name}"):
        joint_frames(system.geometry, spec)
