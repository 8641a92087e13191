"""What can be wrong with a mechanism as a whole, each with its place in the model file."""

from collections.abc import Iterator, Sequence

import numpy as np

from mbsim_cli.assembly.elements.constraints import Identity
from mbsim_cli.assembly.parameters.vectors import dot, transpose
from mbsim_cli.assembly.position.closing import CLOSED, Closing
from mbsim_cli.assembly.position.contradictions import wanted_at_start
from mbsim_cli.assembly.position.equations import OF_COORDINATES, left_open
from mbsim_cli.assembly.tree.joints import CUT_EQUATIONS, joint_frames, kind_of
from mbsim_cli.assembly.tree.kinematics import Poses
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem

DENSE = 150  # coordinates up to which combinations of them are searched for missing inertia
ROUND_OFF = 1e-12  # of a sum of inertias, relative to its terms
NO_INERTIA = 1e-11  # eigenvalue of the scaled mass matrix


def check_mechanism(system: System, problem: Problem, closing: Closing) -> None:
    """Record open loops, coordinates declared independent in vain, and motions without inertia."""
    if closing.conflict > 0:
        _check_independence(system, problem, closing)
    else:
        _check_loops(system, problem, closing)
        _check_directions(system, closing)
    for name in _without_inertia(problem, closing):
        joint, _, coordinate = name.lstrip("-").partition(".")
        system.issue(
            f"joints.{joint}",
            f"nothing gives inertia to coordinate {coordinate!r} of joint {joint!r}",
            "give a mass or an inertia to a body that it moves, or constrain it",
        )


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
    """Loops and constraints that stay open at t = 0, by how much."""
    open_rows: dict[str, list[int]] = {}
    for row, name in enumerate(problem.names.constraints):
        open_rows.setdefault(name.partition(".")[0], []).append(row)
    open_rows = {name: rows for name, rows in open_rows.items() if (closing.gaps[rows] > CLOSED).any()}
    kept = [problem.names.coordinates[i] for i in np.flatnonzero(problem.independent & closing.noticed)]
    for name, rows in open_rows.items():
        gap = _gap(closing, rows)
        if name in system.topology.cut:
            loop = next(loop for loop in system.topology.loops if loop[0] == name)
            where, start = f"joints.{name}", f"no position was found that closes the loop through {', '.join(loop)}"
            message = f"{start}: the nearest one stays open by {gap} at {name}"
        else:
            where = f"constraints.{name}"
            linear = problem.model.measures.kind[problem.model.constraints.measure[rows[0]]] in OF_COORDINATES
            start = "cannot be satisfied at the start" if linear else "no position was found that satisfies it"
            message = f"{start}: in the nearest one it is off by {gap}"
            message += _law_and_position(system, problem, closing, name, rows[0])
        system.issue(where, message, _advice(system, kept, name))


def _gap(closing: Closing, rows: list[int]) -> str:
    """What some rows leave open, in words."""
    found = []
    for unit in ("m", "rad", ""):
        alike = [row for row in rows if closing.scales.names[row] == unit]
        if (closing.gaps[alike] > CLOSED).any():
            found.append(f"{np.linalg.norm(closing.phi[alike]):.4g} {unit}".strip())
    return " and ".join(found)


def _law_and_position(system: System, problem: Problem, closing: Closing, name: str, row: int) -> str:
    """What a law asks of a coordinate at the start, and where that is."""
    spec = system.model_file.constraints.get(name)
    if spec is None or spec.type != "motion":
        return ""
    wanted, unit = wanted_at_start(problem, row), closing.scales.names[row]
    return f" (law {wanted:.4g}, position {wanted + closing.phi[row]:.4g} {unit})"


def _advice(system: System, kept: list[str], name: str) -> str:
    spec = system.model_file.constraints.get(name)
    if spec is not None and spec.type == "motion":
        return "offset: auto makes the law start from the coordinate's position"
    hint = "lengths may not fit, or the start is too far from a closed position: state initial values near one"
    return f"{hint}; {', '.join(kept)} declared independent, may not move" if kept else hint


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


def opposed(system: System, at: Poses) -> list[str]:
    """Cut joints whose axes point in opposite directions: their equations cannot tell."""
    index, found = system.topology.index, []
    for name in system.topology.cut:
        spec = system.joints[name]
        axes = {equation.axis_b for equation in CUT_EQUATIONS[kind_of(spec)] if equation.name in ("tilt_x", "turn")}
        if not axes:
            continue
        frames = joint_frames(system.geometry, spec)
        a, b = (index[body] for body in spec.bodies)
        for axis in (2, 0) if len(axes) == 2 else (2,):
            x_a = at.direction(a, transpose(frames.R_a)[axis])
            x_b = at.direction(b, transpose(frames.R_b)[axis])
            if dot(x_a, x_b) < 0.0:
                found.append(name)
                break
    return found


def _check_directions(system: System, closing: Closing) -> None:
    """Cut joints that were closed with opposite axes."""
    for name in opposed(system, closing.at) if closing.is_closed else ():
        system.issue(
            f"joints.{name}",
            f"the loop closes at {name} with the joint's axes pointing in opposite directions",
            "start the joints of the loop nearer to how they stand, or turn the axis in one of the bodies",
        )


def _check_independence(system: System, problem: Problem, closing: Closing) -> None:
    """Name the declared coordinates of which ``closing.conflict`` are too many."""
    declared = [problem.names.coordinates[i] for i in np.flatnonzero(problem.independent & closing.noticed)]
    declared += [f"{joint}" for joint in system.topology.cut if _is_stated(system, joint)]
    last = declared[-1].lstrip("-").partition(".")[0] if declared else next(iter(system.joints))
    system.issue(
        f"joints.{last}.initial.independent",
        f"dependent coordinates are declared independent, {closing.conflict} too many: {', '.join(declared)}",
        f"the mechanism has mobility {closing.mobility - system.states}{_given_by_motions(system, declared)}",
    )


def _given_by_motions(system: System, declared: list[str]) -> str:
    """Which of the declared coordinates follow a law of time, and are kept by that alone."""
    motions = {c.coordinate: name for name, c in system.model_file.constraints.items() if c.type == "motion"}
    given = [f"the motion {motions[name]!r} gives {name} already" for name in declared if name in motions]
    return "".join(f"; {sentence}" for sentence in given)


def _is_stated(system: System, joint: str) -> bool:
    initial = getattr(system.joints[joint], "initial", None)
    return bool(getattr(initial, "independent", None))


def _without_inertia(problem: Problem, closing: Closing) -> Iterator[str]:
    """Coordinates that can change without any mass moving and without any constraint noticing."""
    tree, names = problem.model.tree, problem.names.coordinates
    inertia, elastic, n = closing.inertia, kinds(tree) == Column.ELASTIC, len(names)
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
