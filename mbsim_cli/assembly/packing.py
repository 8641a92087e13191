"""Packing: from a mechanism to all tables of a model, which kernels read."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from mbsim_cli.assembly.elements.forces import ForceTable
from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.elements.measures import ConstraintTable, MeasureTable
from mbsim_cli.assembly.elements.sensors import ReactionTable, SensorTable
from mbsim_cli.assembly.elements.signals import SignalTable, Switches
from mbsim_cli.assembly.options import options_of
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.tables import Tables
from mbsim_cli.assembly.position.closing import initial_measures
from mbsim_cli.assembly.position.equations import wanted_rows
from mbsim_cli.assembly.tree import joints
from mbsim_cli.assembly.tree.body_blocks import armature_table, tree_table, with_elastic
from mbsim_cli.assembly.tree.system import System, check_flexible, unfolded_system, with_released
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model.codes import Joint, Measure
from mbsim_cli.model.coordinates import kinds, moved_by, of_columns, with_bodies
from mbsim_cli.model.layout import NONE, Model, Names, freeze
from mbsim_cli.model.problem import Options
from mbsim_cli.model.scales import scales_of
from mbsim_cli.spec.analysis import InverseDynamics
from mbsim_cli.spec.joints import EULER_NAMES
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.rules.formulas import reads_multipliers
from mbsim_cli.spec.sensors import CoordinateSensor
from mbsim_cli.system import cached_property

ROUNDED = 1e-3  # m or rad: error of positions given with few digits
OF_SIZE = 1e-2  # of the mechanism's size: the same, at most
NO_GAP = 1e-12  # m: round-off, in mechanisms of any size


def _check_design(name: str, spec: joints.AnyJoint, model: Model, system: System) -> None:
    """Record a joint that is violated in the design position, if its initial values follow from this position."""
    geometry, kind = system.geometry, joints.kind_of(spec)
    if not joints.is_designed(geometry, spec) or (
        kind != Joint.FIXED and None not in joints.stated_position(geometry, spec)
    ):
        return
    # gap of the points [m] and of the axes [rad] along the directions that the joint blocks
    d, r = joints.design_frames(geometry, spec, joints.joint_frames(geometry, spec))
    equations = joints.CUT_EQUATIONS[kind]
    shifts = [d[e.axis_a].real for e in equations if e.kind == Measure.PROJECTION]
    turns = [r[e.axis_a][e.axis_b].real for e in equations if e.kind == Measure.DOT]
    gap, turn = float(np.linalg.norm(shifts)), float(np.arcsin(min(1.0, float(np.linalg.norm(turns)))))
    is_open = gap > NO_GAP and gap > min(ROUNDED, OF_SIZE * scales_of(model, system.theta.values()).size)
    if is_open or turn > ROUNDED:
        how = f"their points {gap:.4g} m apart" if is_open else f"its axes {turn:.4g} rad apart"
        a, b = spec.bodies
        message = f"the design position of {a!r} and {b!r} leaves {how}, where the joint allows no motion"
        hint = "mend position or orientation of a body, or points and axes of the joint"
        hint += "" if kind == Joint.FIXED else "; or state its initial position"
        system.issue(f"joints.{name}", message, hint)


class ParameterValue(NamedTuple):
    """A parameter with its value in this analysis."""

    name: str
    value: float
    unit: str
    bounds: tuple[float, float] | None = None
    key: str = ""  # its name in expressions; results may name it by the path of its number


def parameter_values(model_file: ModelFile, names: Sequence[str]) -> list[ParameterValue]:
    """Values of parameters, with overrides, and their units and bounds in the file."""
    value, scope = model_file.expressions.value, model_file.expressions.scope()
    found = []
    for name in names:
        spec = model_file.parameters[name]
        lower, upper = (float(value(bound).real) for bound in spec.bounds) if spec.bounds else (None, None)
        bounds = None if lower is None or upper is None else (lower, upper)
        found.append(ParameterValue(model_file.parameter_label(name), float(scope[name].real), spec.unit, bounds, name))
    return found


class Packed:
    """All tables of a model, filled in the order in which they need each other."""

    def __init__(self, system: System, options: Options, switches: Switches | None = None):
        self.system, file = system, system.model_file
        forward, inverse = file.analysis.type == "forward_dynamics", options.analysis == "inverse_dynamics"
        for name, spec in system.joints.items():
            system.settle(partial(_check_frames, name, spec))
        system.stop()
        tree = tree_table(system)
        self.pairs = PairTable(system.topology.parent, system.first_column)
        self.tree = cast(Any, with_elastic(system, tree, self.pairs))
        self.armatures = armature_table(system)
        self.measures = MeasureTable(system, self.pairs)
        self.laws = LawTable(system)
        self.constraints = ConstraintTable(system, self.measures, self.laws)
        self.constraints.add_joints()
        for name, constraint in file.constraints.items():
            with system.at(f"constraints.{name}"):
                self.constraints.add_declared(name, constraint)
        self.motion = None
        closed = bool(system.topology.loops or file.constraints)
        if inverse:
            from mbsim_cli.assembly.elements.motion import MotionTable

            self.motion = MotionTable(system, self.laws)
            if closed:
                self.motion.add_constraints(self.constraints, options.duration)
        system.stop()
        self.identities = self.constraints.keep(wanted_rows(self))
        self.forces = ForceTable(system, self.measures, self.laws)
        for name, force in file.forces.items():
            self.forces.add(name, force)
        self.initial_measures = initial_measures(system, self.measures)
        self.sensors = SensorTable(system, self.measures, self.forces, self.constraints)
        self.signals = SignalTable(system, self.measures, self.laws, self.sensors, options, switches)
        for moving in self.forces.moving:
            self.signals.add(moving)
        for name, sensor in file.sensors.items():
            if name in file.derived.hidden:
                continue
            with system.at(f"sensors.{name}"):
                self.sensors.add(name, sensor)
        for called in file.calls.values():
            self.sensors.add_call(called)
        if not inverse:
            self.sensors.add_contacts()
            self.sensors.add_gaps(self.laws.table())
        issues = (file.issue(moving.path, "") for moving in self.forces.moving)
        self.places = [f"{issue.path} ({issue.file}:{issue.line}:{issue.column})" for issue in issues]  # of expressions
        self.branchings = self.signals.add_branchings(self.places) if forward else ()
        reactions = ReactionTable(system, self.pairs, self.constraints, self.identities)
        self.sensors.add_behind(reactions)
        self.prescribed = self.drives = None
        if self.motion is not None:
            self.prescribed = self.motion.prescribed(options.duration, tuple(self.sensors.torque_rows))
            self.drives = self.motion.drives(self.constraints) if closed else None
        system.stop()
        laws, signals = self.laws.table(), self.signals.table(len(self.forces.names))
        tables = self.pairs.table(), self.measures.table(laws), self.constraints.table(), self.forces.table(), laws
        self.model = freeze(with_bodies(Model(self.tree, *tables, self.sensors.table(), self.armatures, signals)))
        for name, spec in system.joints.items():
            system.settle(partial(_check_design, name, spec, self.model))
        system.stop()
        self.reacting = reactions.table(self.model)

    @cached_property
    def kept(self) -> np.ndarray:
        """Mask (n,): coordinates declared independent, and those that no constraint but the norm of four reads."""
        kept, table = np.ones(kinds(self.tree).size, dtype=bool), self.measures.table()
        for measure in self.constraints.measure:
            if table.kind[measure] == Measure.COORDINATES:
                kept[of_columns(self.tree, table.coordinate[table.first[measure] : table.first[measure + 1]])] = False
            elif table.kind[measure] != Measure.EULER_NORM:
                kept[moved_by(self.tree, self.pairs.columns(table.pair[measure]))] = False
        kept[of_columns(self.tree, self.constraints.followers)] = False
        declared = {joint: joints.independent(self.system.joints[joint]) for joint in self.system.topology.joints}
        return kept | self._among(declared)

    @cached_property
    def stated(self) -> np.ndarray:
        """Mask (n,) of the coordinates that have an initial position in the file, and of all elastic ones."""
        stated = {joint: joints.has_position(self.system.joints[joint]) for joint in self.system.topology.joints}
        return self._among(stated | {body.name: set(body.coordinates) for body in self.system.elastic})

    @cached_property
    def rated(self) -> np.ndarray:
        """Mask (n,) of the coordinates that have an initial velocity in the file."""
        rated = {joint: joints.has_velocity(self.system.joints[joint]) for joint in self.system.topology.joints}
        return self._among(rated | {body.name: body.rated for body in self.system.elastic})

    @cached_property
    def own(self) -> np.ndarray:
        """Mask (n,) of the coordinates of cables."""
        own = (self.system.joints.get(name) for name, _ in self.system.coordinates)
        return np.array([getattr(joint, "stands_for", "") == "cable" for joint in own], dtype=bool)

    def _among(self, names: Mapping[str, Any]) -> np.ndarray:
        """Mask (n,) of the coordinates that are named, by joint or body."""
        coordinates = self.system.coordinates
        return np.array([column.coordinate in names.get(name, ()) for name, column in coordinates], dtype=bool)

    def names(self, parameters: Sequence[ParameterValue]) -> Names:
        """Names of everything, in the order of the arrays."""
        topology = self.system.topology
        calls = {force: call for call, force in self.system.model_file.calls.items()}
        return Names(
            bodies=topology.bodies,
            joints=topology.joints,
            coordinates=self.system.coordinate_names(),
            coordinate_units=self.system.coordinate_units(),
            constraints=tuple(self.constraints.names),
            constraint_units=self.constraints.units,
            forces=tuple(calls.get(name, name) for name in self.forces.names),
            laws=tuple(self.laws.names),
            sensors=tuple(self.sensors.names),
            sensor_units=tuple(self.sensors.units),
            sensor_components=tuple(self.sensors.components),
            parameters=tuple(parameter.name for parameter in parameters),
            parameter_units=tuple(parameter.unit for parameter in parameters),
            identities=tuple(identity.name for identity in self.identities),
            expressions={(m.force, m.component): at for m, at in zip(self.forces.moving, self.places, strict=True)},
        )


def _check_frames(name: str, spec: joints.AnyJoint, system: System) -> None:
    """Record a joint whose axes give no frame."""
    with system.at(f"joints.{name}"):
        joints.joint_frames(system.geometry, spec)


_HINT = "use formulation: ali3p-rtdyn1"


def check_multipliers(system: System, formulation: str) -> None:
    """Record forces that depend on forces of constraints, which the equations of a formulation are not solved with."""
    if formulation in ("ali3p-rtdyn0", "ali3p-rtdyn1"):
        return
    for path, number in system.model_file.moving:
        if reads_multipliers(system.model_file, number):
            message = f"it depends on forces of constraints: formulation {formulation} has no such forces"
            system.issue(".".join(map(str, path)), message, _HINT)


def check_natural(system: System) -> None:
    """Record what a model reads that natural coordinates do not have."""
    for name, joint in system.joints.items():
        if getattr(joint, "armature", None) is not None and joint.stands_for != "state":
            system.issue(f"joints.{name}.armature", "natural coordinates have no armatures", _HINT)
    for name, sensor in system.model_file.sensors.items():
        if isinstance(sensor, CoordinateSensor) and sensor.coordinate.rpartition(".")[2] in EULER_NAMES:
            message = "natural coordinates have no Euler parameters"
            system.issue(f"sensors.{name}", message, "read directions or angles of the body, or " + _HINT)
    for name, spec in system.model_file.constraints.items():
        terms = list(getattr(spec, "factors", ()))
        terms += [spec.coordinate] if spec.type == "motion" else []
        if any(term.rpartition(".")[2] in EULER_NAMES for term in terms):
            system.issue(f"constraints.{name}", "natural coordinates have no Euler parameters", _HINT)


def check_inverse(system: System) -> None:
    """Raise ModelError for what only mechanisms with loops or constraints can use."""
    analysis = cast(InverseDynamics, system.model_file.analysis)
    if system.topology.loops or system.model_file.constraints:
        return
    for key in ("drives", "redundancy", "weights"):
        if getattr(analysis, key):
            message = "the mechanism is an open tree, of which all coordinates are driven"
            system.issue(f"analysis.{key}", message, f"leave {key} out; torque sensors choose what results show")
    if analysis.motion.constraints:
        system.issue("analysis.motion.constraints", "the model has no constraints", "give laws of its coordinates")
    system.stop()


def check_open_tree(system: System, formulation: str) -> None:
    """Raise ModelError for loops, and for constraints other than a law for one coordinate."""
    for loop in system.topology.loops:
        message = f"the joints {' - '.join(loop)} form a loop, and {formulation} is for open trees"
        system.issue(f"joints.{loop[0]}", message, _HINT)
    driven: dict[int, str] = {}
    for name, spec in system.model_file.constraints.items():
        path = f"constraints.{name}"
        if spec.type != "motion":
            if spec.stands_for in ("part", "touch"):
                continue  # reported with the length of the cable
            kind = "cables of constant length" if spec.stands_for == "length" else spec.type
            message = f"{formulation} is for open trees; of constraints it knows motion alone, not {kind}"
            system.issue(path, message, _HINT)
            continue
        column = system.coordinate(spec.coordinate).column
        if column == NONE:
            continue  # of a cut joint, so of a loop
        if column in driven:
            system.issue(path, f"{spec.coordinate!r} already follows the law of {driven[column]!r}")
        driven.setdefault(column, name)
    system.stop()


# The tables of a model with the numbers in them, which are all that changes at other values of parameters.

SOURCES = ("read_table", "standard_input", "switches")  # choices that tables hold data of
OTHERS = ("sensitivity_parameters", *SOURCES)  # choices that are no options of the analysis


class Packing(NamedTuple):
    """Tables and options of an analysis, and their sources."""

    model_file: ModelFile
    choices: Mapping[str, Any]
    options: Options
    system: System
    packed: Packed
    decisive: frozenset[Any]  # numbers that the tables themselves depend on

    @property
    def numbers(self) -> Numbers:
        """The evaluator of the numbers of the file."""
        return self.system.geometry.numbers

    @property
    def is_reusable(self) -> bool:
        """Whether the tables can be reused for other values; those of flexible bodies depend on them, and are large."""
        return not self.system.elastic

    @contextmanager
    def renewed(self, model_file: ModelFile, choices: Mapping[str, Any]) -> Iterator["Packing | None"]:
        """The packing of a file with other values of its parameters, as long as these are read: equal to a new one.

        None if the file is a different one, the tables may differ, these values have issues (packing anew will report
        them), or another thread uses it.
        """
        same = self.is_reusable and model_file.has_sections_of(self.model_file)
        same = same and all(choices[name] is self.choices[name] for name in SOURCES)
        if not same or not self.numbers.lock.acquire(blocking=False):
            yield None
            return
        with ExitStack() as stack:
            stack.callback(self.numbers.lock.release)
            yield self._at(stack, model_file, choices)

    def _at(self, stack: ExitStack, model_file: ModelFile, choices: Mapping[str, Any]) -> "Packing | None":
        """The packing at other values; None where the tables may be others, or nothing can be packed."""
        try:
            changed = stack.enter_context(self.numbers.reading(model_file.expressions))
            options, before = _options_at(model_file, self.numbers, choices), self.options
            if (options.analysis, options.formulation) != (before.analysis, before.formulation):
                return None
            if options.analysis == "inverse_dynamics" and options.duration != before.duration:
                return None
            system = self.system.renewed(changed) if self.decisive.isdisjoint(changed) else None
        except Exception:  # which packing anew will raise again
            return None
        if system is None:
            return None
        return self._replace(model_file=model_file, choices=choices, options=options, system=system)


def pack(model_file: ModelFile, choices: Mapping[str, Any], released: Collection[tuple[str, str]] = ()) -> Packing:
    """Pack a file; no constraint holds the joints ``released`` along their axes. Raises ModelError with all faults."""
    system = unfolded_system(with_released(model_file, released), choices["standard_input"])
    numbers = system.geometry.numbers
    options = _options_at(model_file, numbers, choices)
    inverse = options.analysis == "inverse_dynamics"
    if options.analysis == "forward_dynamics":
        check_multipliers(system, options.formulation)
    if inverse:
        check_inverse(system)
    elif options.open_tree:
        check_open_tree(system, options.formulation)
    elif options.natural:
        check_natural(system)
    check_flexible(system)
    system.tables = Tables(model_file, choices["read_table"], system.issue)
    packed = Packed(system, options, choices["switches"])
    return Packing(model_file, choices, options, system, packed, frozenset(numbers.read))


def _options_at(model_file: ModelFile, numbers: Numbers, choices: Mapping[str, Any]) -> Options:
    """Options of an analysis, as choices and the numbers of the file state them."""
    with numbers.recorded():  # no table depends on them
        return options_of(model_file, numbers, **{k: v for k, v in choices.items() if k not in OTHERS})
