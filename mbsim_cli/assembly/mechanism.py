"""Checks of a mechanism at t = 0; issues have their place in the model file."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from mbsim_cli.assembly.elements.measures import Identity
from mbsim_cli.assembly.position.closing import CLOSED, Closing, rates_at
from mbsim_cli.assembly.position.equations import OF_COORDINATES, Equations, Group, groups, left_open
from mbsim_cli.assembly.position.search import RANK_TOLERANCE, TINY
from mbsim_cli.assembly.tree import joints
from mbsim_cli.assembly.tree.kinematics import Poses
from mbsim_cli.assembly.tree.system import System, unit_of
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import NONE, LoadedSignals
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.spec.geometry import dot, split, transpose
from mbsim_cli.spec.joints import EULER_NAMES


def require_loads(problem: Problem, closing: Closing, system: System) -> None:
    """Raise ModelError if friction or other forces read multipliers that redundant constraints leave undetermined."""
    for name, axis in dict(undetermined_loads(problem, closing, system)).items():
        undetermined = "constraints that depend on each other leave {} undetermined"
        if axis:
            hint = "friction needs it: give a loss instead of dynamic, or hold nothing twice"
            system.issue(f"joints.{name}.friction", undetermined.format(f"the load of joint {name!r}"), hint)
        else:
            hint = "let the force read quantities that the motion determines, or hold nothing twice"
            system.issue(name, undetermined.format("a multiplier"), hint)
    system.stop()


def undetermined_loads(problem: Problem, closing: Closing, system: System) -> Iterator[tuple[str, str]]:
    """Joints and axes along which constraints that depend on each other leave the load undetermined.

    Also paths of expressions of forces that vary with multipliers which the motion does not determine, without an axis.
    """
    signals = problem.model.signals
    if not isinstance(signals, LoadedSignals) or not len(closing.redundant):
        return
    from mbsim_cli.solve.allocate import Instant
    from mbsim_cli.solve.redundancy import is_determined, undetermined_rows

    others = []
    for row in undetermined_rows(closing.J).tolist():
        joint, _, axis = problem.names.constraints[row].partition(".")
        if axis and axis in getattr(system.joints.get(joint), "held", ""):
            yield joint, axis
        else:
            others.append(row)
    instant = Instant(problem, problem.theta, np.zeros((problem.theta.size, 0)))
    instant.state.z[:] = closing.z
    multipliers = [(-1.0) ** row * (1.0 + row / instant.m) for row in range(instant.m)]  # of both signs, none alike
    for sign in (1.0, -1.0) if others else ():
        instant.state.lam[:] = np.multiply(sign, multipliers)
        instant.evaluate()
        load: Any = cast(Any, instant.work.kin.signals).load
        determined = is_determined(instant.work.eq.J, load.slope.T) | ~load.slope[others].any(axis=0)
        for j in np.flatnonzero(~determined):
            yield problem.names.expressions[int(load.force[j]), int(load.component[j])].partition(" (")[0], ""


AGREES = 1e-3  # of the larger of two values: they are often written with three or four digits
INDEPENDENT = 1e-6  # part of a row that others must lack
NOTHING = 1e-6  # rad or the mechanism's unit of length (a second): values below it agree with zero


def wanted_at_start(problem: Problem, row: int) -> float:
    """Target value of the measure of constraint ``row`` at t = 0."""
    table, theta = problem.model.constraints, problem.theta
    return float(theta[table.theta[row]] + law_value(problem.model.laws, theta, table.law[row], 0.0)[0])


def _hint_on_start(system: System, name: str) -> str:
    """A hint where the law of a constraint does not begin at the coordinate's position."""
    if ("constraints", name) in system.model_file.derived.made:  # of a sweep
        return "leave the initial value out, or begin the range there"
    return "offset: auto makes the law start from the coordinate's position; or leave one of them out"


def check_driven(system: System, equations: Equations) -> None:
    """Record driving laws whose initial value or velocity differs from that of the driven coordinate."""
    problem, geometry = equations.problem, system.geometry
    motions = {name: spec for name, spec in system.model_file.constraints.items() if spec.type == "motion"}
    driven = [(row, name, motions[name]) for row, name in enumerate(problem.names.constraints) if name in motions]
    length = scales_of(problem.model, problem.theta).length if driven else 1.0
    automatic = {index for index, _ in problem.automatic}
    for row, name, spec in driven:
        joint, coordinate = split(spec.coordinate)
        place, unit = system.declared_order(joint).index(coordinate), unit_of(coordinate)
        nothing = NOTHING * (length if unit == "m" else 1.0)
        target, law = problem.model.constraints.theta[row], problem.model.constraints.law[row]
        stated = joints.initial_position(geometry, system.joints[joint])[place].real
        wanted = wanted_at_start(problem, row)
        fixed = coordinate in joints.has_position(system.joints[joint]) and target not in automatic
        if fixed and _differ(stated, wanted, nothing):
            other = f"at t = 0 the law puts {spec.coordinate} elsewhere than joints.{joint}.initial"
            message = f"law {wanted:.6g}, position {stated:.6g} {unit}: {other}"
            system.issue(f"constraints.{name}", message, _hint_on_start(system, name))
        stated = joints.initial_velocity(geometry, system.joints[joint])[place].real
        rate = law_rate(problem, law)
        if coordinate in joints.has_velocity(system.joints[joint]) and _differ(stated, rate, nothing):
            other = f"at t = 0 the law moves {spec.coordinate} with another velocity than joints.{joint}.initial"
            message = f"law {rate:.6g}, stated velocity {stated:.6g} {unit}/s: {other}"
            system.issue(f"constraints.{name}", message, "leave the velocity out: the law gives it")


def _differ(a: float, b: float, nothing: float) -> bool:
    return abs(a - b) > max(AGREES * max(abs(a), abs(b)), nothing)


def check_rates(system: System, equations: Equations, closing: Closing, stated: np.ndarray) -> None:
    """Record stated velocities (mask ``stated`` (n,)) that contradict the constraints and those stated before them."""
    for group in groups(equations, closing.scales):
        mask = stated[group.columns]
        if not mask.any() and not group.initial_measures:
            continue
        found: dict[str, str] = {}
        velocities = _Velocities(equations.problem, group, closing, mask)
        for name, row, value in velocities.stated():
            combination = velocities.combination(row)
            if combination is None:
                velocities.add(name, row, value)
                continue
            follows = float(combination @ velocities.values)
            if _differ(value, follows, NOTHING):
                found.setdefault(split(name)[0], velocities.contradiction(name, value, follows, combination))
        for joint, message in found.items():
            hint = "state the velocities of as many coordinates as the mechanism has degrees of freedom"
            deforms = joint in (body.name for body in system.elastic)
            system.issue(f"bodies.{joint}.flexible.initial" if deforms else f"joints.{joint}.initial", message, hint)


def check_laws(system: System, equations: Equations, closing: Closing) -> None:
    """Record equations that follow from others at t = 0, and whose laws prescribe a different velocity."""
    problem = equations.problem
    redundant, laws = set(closing.redundant), problem.model.constraints.law
    if not redundant or not (laws != NONE).any():
        return
    for group in groups(equations, closing.scales):
        dependent = [(place, row) for place, row in enumerate(group.rows.tolist()) if row in redundant]
        if not dependent or not (laws[group.rows] != NONE).any():
            continue
        velocities = _Velocities(problem, group, closing, np.zeros(len(group.columns), dtype=bool))
        for place, row in dependent:
            combination = velocities.combination(velocities.J[place])
            if combination is None:
                continue
            scale = group.row_units[place]
            value, follows = law_rate(problem, laws[row]) / scale, float(combination @ velocities.values)
            if _differ(value, follows, NOTHING):
                name, unit = problem.names.constraints[row].partition(".")[0], closing.scales.names[row] or "1"
                section = "joints" if name in system.joints else "constraints"
                asked = f"at t = 0 it asks for a velocity of {value * scale:.6g} {unit}/s"
                other = f"from {velocities.sources(combination)} follows {follows * scale:.6g} {unit}/s"
                message = f"{asked}, but {other}: no motion has both"
                system.issue(f"{section}.{name}", message, "leave out one of them")


class _Velocities:
    """Independent linear equations for the velocities of a group (l,): those of constraints, then stated ones."""

    def __init__(self, problem: Problem, group: Group, closing: Closing, mask: np.ndarray) -> None:
        self.problem, self.group, self.mask = problem, group, mask
        self.length, self.theta, self.z = closing.scales.length, problem.theta.tolist(), closing.z
        self.J = group.at(self.theta, closing.z[group.columns] / group.units)[1]
        redundant = set(closing.redundant)
        sizes = np.abs(self.J).max(axis=1, initial=0.0)
        self.first = [i for i, row in enumerate(group.rows) if row not in redundant and sizes[i] > TINY]
        self.rows = self.J[self.first]
        laws = problem.model.constraints.law[group.rows[self.first]]
        self.values = np.array([law_rate(problem, law) for law in laws]) / group.row_units[self.first]
        names = [problem.names.constraints[row] for row in group.rows[self.first]]
        self.names = [f"constraint {name!r}" if law != NONE else "" for name, law in zip(names, laws, strict=True)]

    def stated(self) -> Iterator[tuple[str, np.ndarray, float]]:
        """Name, row (l,) and value of each stated velocity, those declared independent first."""
        columns, names, l = self.group.columns, self.problem.names.coordinates, len(self.mask)
        rates = rates_at(self.problem.model.tree, self.problem.theta, self.z)
        order = np.argsort(~self.problem.independent[columns], kind="stable")
        for i in order[self.mask[order]]:
            name = names[columns[i]]
            sign = -1.0 if name.startswith("-") else 1.0
            value = sign * float(rates[columns[i]]) / self.group.units[i]
            yield name.lstrip("-"), np.where(np.arange(l) == i, sign, 0.0), value
        for row, initial in enumerate(self.group.initial_measures, start=self.group.m):
            yield initial.coordinate, self.J[row], self.theta[initial.rate] / self.group.row_units[row]

    def add(self, name: str, row: np.ndarray, value: float) -> None:
        """One more equation."""
        self.rows, self.values = np.vstack([self.rows, row]), np.append(self.values, value)
        self.names.append(f"that of {name} ({value * self._scale(name):.6g} {unit_of(split(name)[1])}/s)")

    def combination(self, row: np.ndarray) -> np.ndarray | None:
        """Factors of the equations whose weighted sum is a row, or None."""
        if not len(self.rows):
            return None
        sizes = np.maximum(np.linalg.norm(self.rows, axis=1), TINY)
        factors = np.linalg.lstsq((self.rows / sizes[:, None]).T, row, rcond=RANK_TOLERANCE)[0] / sizes
        left = row - factors @ self.rows
        return factors if np.linalg.norm(left) < INDEPENDENT * np.linalg.norm(row) else None

    def contradiction(self, name: str, value: float, follows: float, combination: np.ndarray) -> str:
        """A sentence on a stated velocity and the one that follows from others."""
        joint, coordinate = split(name)
        if coordinate in EULER_NAMES:
            others = self.sources(combination, without=f"that of {joint}.")
            return f"the stated angular velocity of {joint} contradicts {others}"
        unit, scale = unit_of(coordinate), self._scale(name)
        return (
            f"the velocity of {name} is stated as {value * scale:.6g} {unit}/s, but from "
            f"{self.sources(combination)} follows {follows * scale:.6g} {unit}/s"
        )

    def sources(self, combination: np.ndarray, without: str = "\n") -> str:
        """Names of the equations with a part in a combination, in words."""
        parts = zip(self.names, combination, strict=True)
        sources = [source for source, factor in parts if source and abs(factor) > NOTHING]
        return " and ".join(source for source in sources if not source.startswith(without)) or "the constraints"

    def _scale(self, name: str) -> float:
        """Unit that a coordinate is measured in here."""
        names = [self.problem.names.coordinates[column].lstrip("-") for column in self.group.columns]
        if name in names:
            return float(self.group.units[names.index(name)])
        return self.length if unit_of(split(name)[1]) == "m" else 1.0


def law_rate(problem: Problem, law: int) -> float:
    """Derivative of a law at t = 0; zero without a law."""
    return float(law_value(problem.model.laws, problem.theta, law, 0.0)[1])


DENSE = 150  # coordinates up to which combinations of them are searched for missing inertia
ROUND_OFF = 1e-12  # of a sum of inertias, relative to its terms
NO_INERTIA = 1e-11  # eigenvalue of the scaled mass matrix


def check_mechanism(system: System, problem: Problem, closing: Closing) -> None:
    """Record open loops, too many independent coordinates, and motions without inertia."""
    if closing.conflict > 0:
        _check_independence(system, problem, closing)
    else:
        _check_loops(system, problem, closing)
        for name in opposed(system, closing.at, system.topology.cut) if closing.is_closed else ():
            message = f"the loop closes at {name} with the joint's axes pointing in opposite directions"
            hint = "start the joints of the loop nearer to how they stand, or turn the axis in one of the bodies"
            system.issue(f"joints.{name}", message, hint)
    for name in _without_inertia(problem, closing):
        joint, _, coordinate = name.lstrip("-").partition(".")
        message = f"nothing gives inertia to coordinate {coordinate!r} of joint {joint!r}"
        hint = "give a mass or an inertia to a body that it moves, or constrain it"
        system.issue(f"joints.{joint}", message, hint)


def check_wholly_driven(system: System, problem: Problem, closing: Closing) -> None:
    """Record coordinates that no law, joint or constraint determines."""
    drives = problem.drives
    for row in closing.redundant:
        if drives is not None and row in drives.row:
            name, hint = problem.names.constraints[row], "name as many as there are freedoms"
            message = f"{name.removeprefix('motion ')} follows from the rest of the motion at t = 0, and is given too"
            system.issue("analysis.motion", message, hint)
    if closing.mobility == 0:
        return
    free = [problem.names.coordinates[i].lstrip("-") for i in np.flatnonzero(closing.held_velocity)]
    shown = ", ".join(free[:4]) + (", ..." if len(free) > 4 else "")
    count = f"{closing.mobility} freedom is" if closing.mobility == 1 else f"{closing.mobility} freedoms are"
    if drives is not None:
        message = f"inverse dynamics needs the motion of every freedom, and {count} left: nothing gives that of {shown}"
        system.issue("analysis.motion", message, "give it a law; forward_dynamics lets forces move what is free")
        return
    message = f"kinematics needs a law for every freedom, and {count} left: nothing drives {shown}"
    hint = "add constraints of type motion or a sweep; forward_dynamics lets forces move what is free"
    system.issue("analysis.type", message, hint)


def _check_loops(system: System, problem: Problem, closing: Closing) -> None:
    """Loops and constraints that are violated at t = 0, with the violations."""
    open_rows: dict[str, list[int]] = {}
    for row, name in enumerate(problem.names.constraints):
        open_rows.setdefault(name.partition(".")[0], []).append(row)
    open_rows = {name: rows for name, rows in open_rows.items() if (closing.gaps[rows] > CLOSED).any()}
    kept = [problem.names.coordinates[i] for i in np.flatnonzero(problem.independent & closing.noticed)]
    for name, rows in open_rows.items():
        gap, spec = _gap(closing, rows), system.model_file.constraints.get(name)
        hint = "lengths may not fit, or the start is too far from a closed position: state initial values near one"
        hint += f"; {', '.join(kept)} declared independent, may not move" if kept else ""
        if name in system.topology.cut:
            loop = next(loop for loop in system.topology.loops if loop[0] == name)
            where, start = f"joints.{name}", f"no position was found that closes the loop through {', '.join(loop)}"
            message = f"{start}: the nearest one stays open by {gap} at {name}"
        else:
            where = f"constraints.{name}"
            linear = problem.model.measures.kind[problem.model.constraints.measure[rows[0]]] in OF_COORDINATES
            start = "cannot be satisfied at the start" if linear else "no position was found that satisfies it"
            message = f"{start}: in the nearest one it is off by {gap}"
        if spec is not None and spec.type == "motion":
            hint = _hint_on_start(system, name)
            if name not in system.topology.cut:
                wanted, unit = wanted_at_start(problem, rows[0]), closing.scales.names[rows[0]]
                message += f" (law {wanted:.4g}, position {wanted + closing.phi[rows[0]]:.4g} {unit})"
        system.issue(where, message, hint)


def _gap(closing: Closing, rows: list[int]) -> str:
    """Violations of some rows, in words."""
    found = []
    for unit in ("m", "rad", ""):
        alike = [row for row in rows if closing.scales.names[row] == unit]
        if (closing.gaps[alike] > CLOSED).any():
            found.append(f"{np.linalg.norm(closing.phi[alike]):.4g} {unit}".strip())
    return " and ".join(found)


def check_identities(system: System, problem: Problem, identities: Sequence[Identity]) -> tuple[tuple[int, int], ...]:
    """Record equations that no motion could satisfy; return the parameters that would break others, see ``Problem``."""
    if not identities:
        return ()
    values, derivatives = left_open(problem, identities)
    gaps: dict[str, float] = {}
    for identity, value in zip(identities, values, strict=True):
        name = identity.name.partition(".")[0]
        gaps[name] = max(gaps.get(name, 0.0), abs(float(value)))
        if identity.law != NONE:
            message = f"no coordinate has a part in {identity.name}, so that its law can move nothing"
            system.issue(f"constraints.{name}", message, "leave out the law, or the constraint")
    for name, gap in gaps.items():
        if gap > CLOSED:
            section = "joints" if name in system.joints else "constraints"
            message = f"{name} stays open by {gap:.4g}, and no coordinate can close it"
            system.issue(f"{section}.{name}", message, "points or axes on both sides of the loop do not fit")
    change = np.minimum(1.0, np.abs(problem.theta_rho).max(axis=0, initial=0.0))
    breaks = np.abs(derivatives) > CLOSED * change
    first = len(problem.names.constraints) + 1
    return tuple((int(k), first + int(breaks[:, k].argmax())) for k in np.flatnonzero(breaks.any(axis=0)))


def opposed(system: System, at: Poses, names: Iterable[str]) -> list[str]:
    """Cut joints of some ``names`` whose axes point in opposite directions, which also satisfies their equations."""
    index, found = system.topology.index, []
    for name in names:
        spec = system.joints[name]
        held = [equation.name for equation in joints.CUT_EQUATIONS[joints.kind_of(spec)]]
        if "tilt_x" not in held:
            continue
        frames = joints.joint_frames(system.geometry, spec)
        a, b = (index[body] for body in spec.bodies)
        for axis in (2, 0) if "turn" in held else (2,):
            x_a = at.direction(a, transpose(frames.R_a)[axis])
            x_b = at.direction(b, transpose(frames.R_b)[axis])
            if dot(x_a, x_b) < 0.0:
                found.append(name)
                break
    return found


def _check_independence(system: System, problem: Problem, closing: Closing) -> None:
    """Name the declared coordinates of which ``closing.conflict`` are too many."""
    declared = [problem.names.coordinates[i] for i in np.flatnonzero(problem.independent & closing.noticed)]
    declared += [joint for joint in system.topology.cut if joints.independent(system.joints[joint])]
    last = declared[-1].lstrip("-").partition(".")[0] if declared else next(iter(system.joints))
    motions = {c.coordinate: name for name, c in system.model_file.constraints.items() if c.type == "motion"}
    given = [f"; the motion {motions[name]!r} gives {name} already" for name in declared if name in motions]
    if closing.mobility == system.states and not motions:
        given.append(": is there a joint or constraint too many, or an axis that points another way than it should?")
    count = f"{closing.conflict} too many: {', '.join(declared)}"
    hint = f"the mechanism has mobility {closing.mobility - system.states}{''.join(given)}"
    system.issue(f"joints.{last}.initial.independent", f"dependent coordinates are declared independent, {count}", hint)


def _without_inertia(problem: Problem, closing: Closing) -> Iterator[str]:
    """Coordinates that can change without moving any mass or violating any constraint."""
    tree, names = problem.model.tree, problem.names.coordinates
    inertia, elastic, n = closing.inertia, kinds(tree) == Column.ELASTIC, len(names)
    if not np.isfinite(inertia.scale).all():  # which is told where the motion begins
        return
    has = (inertia.diagonal > ROUND_OFF * inertia.scale) | elastic
    if n > DENSE:
        yield from (names[i] for i in np.flatnonzero(~has & ~closing.noticed))
        return
    if not n:
        return
    roots = np.sqrt(np.where(has & ~elastic, inertia.diagonal, 1.0))
    matrix = np.where(np.outer(has, has), inertia.mass, 0.0) / np.outer(roots, roots)
    matrix[elastic, elastic] = 1.0
    J = closing.J
    values, vectors = np.linalg.eigh(matrix + J.T @ J)
    named: set[str] = set()
    for vector in vectors.T[values < NO_INERTIA]:
        name = names[int(np.argmax(np.abs(vector)))]
        if name not in named:
            named.add(name)
            yield name
