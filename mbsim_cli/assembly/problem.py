"""From a validated model file to the arrays of a problem."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, degrees, log10, pi, remainder
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.assembly import mechanism
from mbsim_cli.assembly.elements.laws import check_start
from mbsim_cli.assembly.elements.sensors import Contact
from mbsim_cli.assembly.elements.signals import Switches
from mbsim_cli.assembly.elements.unsmooth_laws import unsmooth_laws, with_event_times
from mbsim_cli.assembly.objectives import Objective, expressed, jumps_in, objectives_of, responding
from mbsim_cli.assembly.options import check_differentiable, end_of, warnings_of_settings
from mbsim_cli.assembly.packing import OTHERS, Packing, ParameterValue, pack, parameter_values
from mbsim_cli.assembly.parameters.numbers import Theta
from mbsim_cli.assembly.parameters.tables import Reader
from mbsim_cli.assembly.position.closing import (
    CLOSED,
    Closing,
    Part,
    close,
    held_columns,
    independent_columns,
    kept_by_constraints,
    start_from,
)
from mbsim_cli.assembly.position.equations import Equations, Group
from mbsim_cli.assembly.tree.elastic import Source
from mbsim_cli.assembly.tree.joints import is_guess, position_at, stated_position
from mbsim_cli.assembly.tree.kinematics import Poses, poses
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.topology import Topology
from mbsim_cli.errors import ModelError, beyond_numbers, some_of
from mbsim_cli.model.codes import TRANSLATIONS
from mbsim_cli.model.coordinates import all_but, among, kinds
from mbsim_cli.model.layout import GROUND, FlexibleTree, Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.allocate import PENALTY_RATIO
from mbsim_cli.solve.least_inertia import least_of_joints
from mbsim_cli.spec import with_values
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.geometry import IDENTITY, ZERO
from mbsim_cli.spec.model_file import ModelFile

if TYPE_CHECKING:
    from mbsim_cli.assembly.densities import DensityField

# Penalty of constraints.
#
# Each constraint is weighed by the inertia of the coordinates that it reads. Several constraints together may move far
# more inertia: a light rod in a cylinder moves an excavator's arm, and each stage of a scissor lift all stages above.

SLOW = 30.0  # least reduction of a residual by an update of multipliers, below which a stated penalty gets a warning
QUICK = 1e3  # the same, below which a default penalty is raised; larger, because positions change
LARGEST = 1e14  # penalty
HARDLY = 1e-10  # inertia added to each coordinate, over its own, so that the mass matrix is regular
SLIGHT = 1e-8  # least inertia of a coordinate over the largest, as in ``factor_penalised``


def weighed(problem: Problem, closing: Closing, *, stated: bool) -> tuple[Problem, list[str]]:
    """The problem with least inertias and a sufficient penalty, and warnings; a ``stated`` penalty is only checked."""
    inertia, tree, options = closing.inertia.diagonal, problem.model.tree, problem.options
    least = least_of_joints(problem.model, problem.theta, inertia)
    problem = replace(problem, least=least)
    rows = all_but(len(closing.phi), closing.redundant)
    if not rows.size or isinstance(tree, FlexibleTree) or options.integrated:
        return problem, []
    counted, extent = np.maximum(inertia, least), closing.scales.columns**2
    inverse_inertia = _relative_inverse_inertia(closing.J[rows], closing.inertia.mass, counted, extent)
    together = float(np.linalg.eigvalsh(inverse_inertia)[0])
    if options.penalty * PENALTY_RATIO * together >= (SLOW if stated else QUICK):
        return problem, []
    enough = min(LARGEST, 10.0 ** ceil(log10(QUICK / PENALTY_RATIO / max(together, 1e-30))))
    if not stated:  # a power of ten, so that neighbouring designs have the same
        return replace(problem, options=replace(options, penalty=enough)), []
    if options.penalty >= enough:
        return problem, []
    softest = rows[np.abs(np.linalg.eigh(inverse_inertia)[1][:, 0]).argmax()]
    return problem, [
        f"a penalty of {options.penalty:g} is too small where light bodies move heavy ones, most of all by "
        f"{problem.names.constraints[softest]}: gradients of forces may be wrong, or steps fail; leave penalty out, or "
        f"state {enough:g}"
    ]


def _relative_inverse_inertia(J: np.ndarray, mass: np.ndarray, counted: np.ndarray, extent: np.ndarray) -> np.ndarray:
    """J M^-1 J^T (k, k), relative to that of each row alone with the inertias ``counted`` (n,) of its coordinates.

    ``extent`` (n,) is as in ``Factor``. If its least eigenvalue is small, several constraints together move far more
    inertia than each of them alone.
    """
    counted = np.maximum(counted, SLIGHT * (counted * extent).max() / extent)
    rows = J / np.sqrt((J * J / counted).sum(axis=1))[:, None]
    return rows @ np.linalg.solve(mass + HARDLY * np.diag(counted), rows.T)


ROUNDED = 1e-3  # rad, or of the mechanism's size: smaller changes are rounding in the file
CARRIED = 0.1  # the same bound if the caller has replaced parameters
FAR = 1.0  # rad: angle of a loop without stated initial values beyond which another closed position may be meant
MOST_SHOWN = 6


class _Change(NamedTuple):
    """A coordinate whose initial value differs from the stated one."""

    name: str
    stated: float
    found: float
    unit: float  # one radian, or the mechanism's size

    def exceeds(self, bound: float) -> bool:
        return abs(self.found - self.stated) > bound * self.unit

    def shown(self, value: float) -> str:
        """A value without the round-off of zero, an angle in degrees."""
        is_angle = self.name.rpartition(".")[2].startswith("angle")
        return f"{round(degrees(value), 10) + 0.0:.6g} deg" if is_angle else f"{round(value, 12) + 0.0:.6g}"


def moved_starts(packing: Packing, problem: Problem, closing: Closing) -> list[str]:
    """Warnings if the start differs from the declared one: changed coordinates, and number of closed positions."""
    system, first = packing.system, problem.model.tree.initial[0]
    guessed = np.array([is_guess(system.joints.get(joint)) for joint, _ in system.coordinates], dtype=bool)
    stated = packing.packed.stated & ~guessed
    declared = problem.theta[first : first + len(closing.z)]
    sizes = np.where(among(kinds(problem.model.tree), TRANSLATIONS), closing.scales.size, closing.scales.columns)
    columns = zip(problem.names.coordinates, declared, closing.z, sizes, strict=True)
    of_tree = [_Change(name, float(start), float(end), float(size)) for name, start, end, size in columns]
    moved = closing.moved & stated & (np.abs(closing.z - declared) > CLOSED * closing.scales.columns)
    elsewhere, kept, found = list[Part](), list[Part](), list[str]()
    for part in closing.parts:
        (elsewhere if moved[part.columns].any() else kept).append(part)
    if elsewhere:
        changes = _changes_in_words([change for change, is_moved in zip(of_tree, moved, strict=True) if is_moved])
        nearest = f", the nearest of {several}" if (several := _several(elsewhere)) else ""
        found.append(
            f"the declared start does not close the loops; it was moved to a closed position{nearest}: {changes}"
        )
    if several := _several(kept):
        found.append(f"the loops close in several positions: the start is at the nearest of {several}")
    stated_there = packing.packed.stated & closing.noticed
    found += _unstated(of_tree, stated_there, [part for part in kept if part.found.closures <= 1])
    columns_kept = {column for part in kept for column in part.columns}
    wanted = [change for c, change in enumerate(of_tree) if stated[c] and c in columns_kept]
    joints = {problem.names.constraints[row].partition(".")[0] for part in elsewhere for row in part.rows}
    cut = [name for name in system.topology.cut if name not in joints and not is_guess(system.joints[name])]
    wanted += _of_cut_joints(system, cut, closing.at, closing.scales.size)
    bound = CARRIED if packing.model_file.overrides else ROUNDED
    is_guess_of_equilibrium = "equilibrium" in (problem.options.analysis, problem.options.start, problem.options.at)
    if (off := [change for change in wanted if change.exceeds(bound)]) and not is_guess_of_equilibrium:
        keeps = "independent: true in initial keeps the value, and independent: false marks it as a guess"
        found.append(f"closing the loops changed initial values: {_changes_in_words(off)}; {keeps}")
    return found


def _several(parts: Iterable[Part]) -> str:
    """The number of closed positions that were found, in words; empty if parts of a mechanism have one each."""
    closures = max((part.found.closures for part in parts), default=1)
    return f"{closures} that were found" if closures > 1 else ""


def _unstated(changes: list[_Change], stated: np.ndarray, parts: Iterable[Part]) -> Iterator[str]:
    """Warnings about loops that close far from zero without a ``stated`` initial value of what they read."""
    for part in parts:
        far = [changes[c] for c in part.columns if changes[c].name.rpartition(".")[2].startswith("angle")]
        far = [change for change in far if change.exceeds(FAR)]
        if far and len(part.rows) and not stated[part.columns].any():
            yield (
                f"no initial value is stated in a loop that closes far from zero, perhaps in another position than the "
                f"one meant: {_changes_in_words(far)}; state a guess under initial of one of these joints"
            )


def _of_cut_joints(system: System, cut: Iterable[str], at: Poses, size: float) -> Iterator[_Change]:
    """Stated and found values of coordinates of cut joints, bodies ``at`` their poses; ``size`` of the mechanism, m."""
    geometry, index = system.geometry, system.topology.index
    for name in cut:
        joint = system.joints[name]
        stated = stated_position(geometry, joint)
        places = (index[body] for body in joint.bodies)
        first, second = ((ZERO, IDENTITY) if k == GROUND else (at.r[k], at.R[k]) for k in places)
        found = position_at(geometry, joint, first, second)
        for coordinate, start, end in zip(system.declared_order(name), stated, found, strict=True):
            if start is None or coordinate.startswith("e"):  # two sets of Euler parameters are one orientation
                continue
            turns = coordinate.startswith("angle")
            change = remainder(end.real - start.real, 2.0 * pi) if turns else end.real - start.real
            yield _Change(f"{name}.{coordinate}", start.real, start.real + change, 1.0 if turns else size)


def _changes_in_words(changes: list[_Change]) -> str:
    shown = [f"{change.name} from {change.shown(change.stated)} to {change.shown(change.found)}" for change in changes]
    return some_of(shown, MOST_SHOWN)


@dataclass(frozen=True)
class Assembled:
    """An assembled model: the problem for the solver, objectives, parameters, and data about the mechanism."""

    problem: Problem
    objectives: list[Objective]
    parameters: list[ParameterValue]
    sensor_rows: Mapping[str, slice]
    contacts: Sequence[Contact]  # with roads
    turns: Mapping[str, slice]  # rows of the record with the rotation vectors of bushings
    topology: Topology
    joints: Mapping[str, Any]  # of the file, and those between flexible bodies and their nodes
    dropped: list[str]  # equations that hold whatever the coordinates are
    warnings: list[str]  # about a start that is not the declared one
    equations: Equations = field(repr=False)
    closing: Closing = field(repr=False)  # the mechanism at t = 0: rank, redundant rows, mobility
    theta: Theta = field(repr=False)
    model_file: ModelFile = field(repr=False)
    choices: Mapping[str, Any] = field(repr=False)  # arguments of ``build``
    fields: Sequence["DensityField"] = field(repr=False)  # that gradients are asked for
    packing: Packing = field(repr=False)  # of this problem, or of the one that it was moved from

    @property
    def tree_names(self) -> Names:
        """Names of the spanning tree's coordinates and of the equations of its loops, whatever the formulation."""
        return self.problem.names if self.problem.system is None else self.problem.system.problem.names

    @property
    def states(self) -> list[str]:
        """Names of states, each of which has a coordinate that moves no body."""
        return [name for name, spec in self.joints.items() if spec.stands_for == "state"]

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the mechanism."""
        return self.closing.mobility - len(self.states)

    @property
    def overdetermined(self) -> list[str]:
        """Equations that follow from others at t = 0, or hold whatever the coordinates are."""
        names = self.tree_names.constraints
        return [*(names[row] for row in self.closing.redundant), *self.dropped]

    @property
    def info(self) -> dict[str, Any]:
        """What ``mbsim info`` shows, as plain data."""
        from mbsim_cli.assembly.info import describe

        return describe(self)

    def at(self, values: Mapping[str, float | str]) -> "Assembled":
        """The same model assembled anew at other parameter values, as if its file had been read with them."""
        return build(with_values(self.model_file, values), before=self, **self.choices)


def build(
    model_file: ModelFile,
    *,
    sensitivity: str | None = None,
    sensitivity_parameters: Sequence[str] | None = None,
    read_table: Reader | None = None,
    standard_input: Source | None = None,
    switches: Switches | None = None,
    before: Assembled | None = None,
    **options: Any,
) -> Assembled:
    """Assemble a model file; ``options`` (formulation, step, duration, ...) replace those of the file.

    ``read_table`` returns the columns of a table file, ``standard_input`` the data of a flexible body. ``switches``
    are known ones of expressions. ``before`` is a model assembled from the same file: if only values differ, its tables
    are reused, with an equal result. Raises ModelError with all errors of the mechanism.
    """
    asked = {"sensitivity": sensitivity, "sensitivity_parameters": sensitivity_parameters, "read_table": read_table}
    choices = asked | {"standard_input": standard_input, "switches": switches} | options
    try:
        if before is not None:
            with before.packing.renewed(model_file, choices) as renewed:
                if renewed is not None:
                    return _assembled(renewed, before.packing)
        packing = pack(model_file, choices)
        found = _assembled(packing, packing)
        if loads := list(mechanism.undetermined_loads(found.problem, found.closing, packing.system)):
            cut = packing.system.topology.cut
            packing = pack(model_file, choices, [(joint, axis) for joint, axis in loads if axis and joint not in cut])
            found = _assembled(packing, packing)
            mechanism.require_loads(found.problem, found.closing, packing.system)
        return found
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise ModelError([model_file.issue("bodies", *beyond_numbers(error))]) from error


def _assembled(packing: Packing, lasting: Packing) -> Assembled:
    """Close the loops and complete the problem of a packed model; ``lasting`` is the packing to reuse later on."""
    model_file, system, packed = packing.model_file, packing.system, packing.packed
    parameters = _parameters(model_file, packing.options.sensitivity, packing.choices["sensitivity_parameters"])
    wanted = [parameter.key for parameter in parameters]
    declared = _declared(packing, parameters, wanted)
    equations = Equations(declared, packed.initial_measures)
    closing = _closed(packing, equations)
    broken = mechanism.check_identities(system, declared, packed.identities)
    _require_finite(system, declared, closing)
    end = end_of(model_file, packing.choices.get("duration"))
    _require_times(packing, end)
    system.stop()
    fields: Sequence[DensityField] = []
    if system.elastic:
        from mbsim_cli.assembly.densities import density_fields

        fields = density_fields(system, packed.tree, packing.options.sensitivity)
    started = _started(replace(declared, broken=broken), equations, closing, fields)
    started, soft = weighed(started, closing, stated="penalty" in model_file.analysis.model_fields_set)
    problem = started
    if started.options.natural:
        from mbsim_cli.solve.natural.system import in_natural_coordinates

        problem = in_natural_coordinates(started)
    warnings = [f"body {body.name!r}: {text}" for body in system.elastic for text in body.warnings]
    warnings += warnings_of_settings(model_file, packing.options, packing.choices)
    warnings += unsmooth_laws(declared, model_file, packed.signals.steep) + system.warnings
    warnings += moved_starts(packing, declared, closing) + soft
    jumps = (jumps_in(declared, splits) for splits in (declared.splits, declared.value_splits))
    objectives = objectives_of(model_file, packing.numbers, packed.sensors.rows, wanted, end, *jumps)
    return Assembled(
        problem=problem, objectives=objectives, parameters=parameters, sensor_rows=packed.sensors.rows,
        contacts=packed.sensors.contacts, turns=packed.sensors.turns, topology=system.topology, joints=system.joints,
        dropped=[identity.name for identity in packed.identities], warnings=warnings, equations=equations,
        closing=closing, theta=system.theta, model_file=model_file, choices=packing.choices, fields=fields,
        packing=lasting,
    )  # fmt: skip


def _declared(packing: Packing, parameters: Sequence[ParameterValue], wanted: Sequence[str]) -> Problem:
    """The problem with the start that the file declares, whose loops may be open."""
    system, packed, choices = packing.system, packing.packed, packing.choices
    check_differentiable(system, wanted, **{name: choices[name] for name in choices if name not in OTHERS})
    values = system.theta.values()
    if system.model_file.cables:
        from mbsim_cli.assembly.position.touching import guess_touches

        guess_touches(system, packed.model.tree, values)
    independent = independent_columns(packed, values)
    comparisons = list(system.model_file.derived.comparisons.values())
    problem = Problem(
        model=packed.model,
        names=packed.names(parameters),
        theta=values,
        theta_rho=system.theta.jacobian(wanted, sparse=packing.options.sensitivity == "adjoint"),
        independent=independent,
        independent_velocity=independent.copy(),
        automatic=(*packed.constraints.automatic(), *packed.forces.automatic, *packed.signals.automatic),
        options=packing.options,
        prescribed=packed.prescribed,
        drives=packed.drives,
        hold=held_columns(system),
        reacting=packed.reacting,
        gaps=packed.sensors.gaps_at(values),
        branchings=packed.branchings,
        expressed=expressed(packing.model_file, packed.sensors.rows, wanted),
        summed=any(objective.is_sum for objective in packing.model_file.objectives.values()),
        summed_laws=tuple(
            law
            for name, law in zip(packed.forces.names, packed.model.forces.law[:, 0].tolist(), strict=True)
            if name in comparisons
        ),
    )
    found = [packing.numbers.undefined, *(body.undefined for body in system.elastic)]
    undefined = {name: why for reasons in found for name, why in reasons.items() if name in wanted}
    problem = replace(problem, names=replace(problem.names, undefined=undefined))
    check_start(problem, system.issue)
    if packing.options.analysis == "frequency_response":
        problem = responding(system, packing.numbers, problem, packed.sensors.rows)
    problem = with_event_times(problem, packing, wanted)
    system.stop()
    return problem


def _closed(packing: Packing, equations: Equations) -> Closing:
    """Close the loops at t = 0 and record errors of the mechanism, without consequences of earlier errors."""
    system, packed, problem, analysis = packing.system, packing.packed, equations.problem, packing.options.analysis
    cut, names, theta = set(system.topology.cut), problem.names.constraints, equations.theta
    positions = {name: stated_position(system.geometry, system.joints[name]) for name in cut}
    stated = {name for name, position in positions.items() if any(value is not None for value in position)}

    def cut_in(group: Group) -> set[str]:
        return cut.intersection(names[row].partition(".")[0] for row in group.rows)

    def accepts(z: np.ndarray, group: Group) -> bool:
        at = poses(problem.model.tree, theta, z.tolist(), group.bodies)
        return not mechanism.opposed(system, at, cut_in(group))

    def at_cuts(z: np.ndarray, group: Group, size: float) -> list[float]:
        own = sorted(stated & cut_in(group))
        at = poses(problem.model.tree, theta, z.tolist(), group.bodies if own else ())
        return [(each.found - each.stated) / each.unit for each in _of_cut_joints(system, own, at, size)]

    closing = close(equations, packed.stated, packed.rated, packed.own, accepts, at_cuts)
    inverse = packed.drives is not None  # inverse dynamics with loops; open trees need no checks
    if inverse or analysis != "inverse_dynamics":
        mechanism.check_driven(system, equations)
        if not system.issues:  # a law that contradicts the initial position would leave loops open
            mechanism.check_mechanism(system, problem, closing)
        if not system.issues and not inverse:
            mechanism.check_rates(system, equations, closing, packed.rated)
        if not system.issues and (inverse or analysis in ("forward_dynamics", "kinematics")):
            mechanism.check_laws(system, equations, closing)
        if not system.issues and (inverse or analysis == "kinematics"):
            mechanism.check_wholly_driven(system, problem, closing)
    return closing


LATE = 1e-9  # of the duration: round-off of a time at its end


def _require_times(packing: Packing, end: Number | None) -> None:
    """Record objectives at a time that the analysis does not pass."""
    duration = np.inf if end is None else packing.numbers(end).real
    for name, objective in packing.model_file.objectives.items():
        if objective.at is None or 0.0 <= (time := packing.numbers(objective.at.time).real) <= duration * (1.0 + LATE):
            continue
        message = f"{time:g} s lies outside of the analysis, which lasts {duration:g} s"
        packing.system.issue(f"objectives.{name}.at.time", message)


def _require_finite(system: System, problem: Problem, closing: Closing) -> None:
    """Record an issue if inertias or constraints at the start are not finite; other checks ignore NaN."""
    if not system.issues and not np.isfinite(closing.inertia.diagonal).all():
        first = problem.names.coordinates[int(np.argmin(np.isfinite(closing.inertia.diagonal)))]
        system.issue("bodies", *beyond_numbers(f"the inertia that {first} moves at t = 0 is not finite"))
    elif not system.issues and not all(np.isfinite(part.J).all() for part in closing.parts):
        system.issue("bodies", *beyond_numbers("derivatives of constraints at t = 0 are not finite"))


def _started(problem: Problem, equations: Equations, closing: Closing, fields: "Sequence[DensityField]") -> Problem:
    """The problem with the start that closes its loops."""
    kept, kept_velocity = kept_by_constraints(equations, closing)
    theta, theta_rho = start_from(equations, closing, problem.theta, problem.theta_rho)
    numbers = [number for each in fields for number in each.numbers]  # that densities give
    moved = np.zeros((problem.theta.size, len(numbers)))  # with effects on the start
    if numbers:
        moved[numbers, np.arange(len(numbers))] = 1.0
        moved = start_from(equations, closing, problem.theta, moved)[1]
    return replace(
        problem, independent=kept, independent_velocity=kept_velocity, theta=theta, theta_rho=theta_rho, moved=moved
    )


def _parameters(model_file: ModelFile, method: str, wanted: Sequence[str] | None) -> list[ParameterValue]:
    """Parameters of gradients: none for the method none, else ``wanted``, or for None those of the file."""
    if method == "none":
        return []
    declared = model_file.analysis.sensitivity.parameters
    names = wanted if wanted is not None else list(model_file.parameters) if declared == "all" else declared
    return parameter_values(model_file, names)
