"""The report of ``mbsim info`` on an assembled model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.assembly.packing import parameter_values
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.position.search import rank
from mbsim_cli.assembly.tree.elastic import NodeJoint
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.natural.plan import origins_of
from mbsim_cli.spec.base import walk
from mbsim_cli.spec.expressions.number import Expression, Number, is_moving, read_by
from mbsim_cli.spec.expressions.syntax import names as names_in
from mbsim_cli.spec.expressions.syntax import parse
from mbsim_cli.spec.model_file import ModelFile, descriptions_of
from mbsim_cli.spec.reading.source import join
from mbsim_cli.spec.warnings import warnings_of

if TYPE_CHECKING:
    from mbsim_cli.assembly.problem import Assembled


def branches(parent: Sequence[int]) -> dict[str, list[tuple[int, int]]]:
    """Branches of a tree of bodies numbered depth first (``parent``: -1 for the ground).

    Rows as Zhakatayev et al. (2023), section 2, print them, with the ground 0, joints from 1, joint i of body i - 1:
    joint and its parent, branch (from 1) and its parent, first and last joint of each branch.
    """
    children = [0] * (len(parent) + 1)
    for p in parent:
        children[p + 1] += 1
    first: list[int] = []
    branch_of: list[int] = []
    for joint, p in enumerate(parent):
        starts = p < 0 or children[p + 1] > 1
        if starts:
            first.append(joint)
        branch_of.append(len(first) - 1 if starts else branch_of[p])
    last = dict(zip(branch_of, range(len(parent)), strict=True))
    parents = [0 if parent[joint] < 0 else branch_of[parent[joint]] + 1 for joint in first]
    return {
        "joint_parent": [(i + 1, p + 1) for i, p in enumerate(parent)],
        "branch_parent": list(enumerate(parents, 1)),
        "joint_branch": [(joint + 1, last[k] + 1) for k, joint in enumerate(first)],
    }


OF_ITS_USE = ("checks", "study", "optimization")  # sections that do not describe the model itself
WITH_EXPRESSIONS = ("forces", "cables", "states", "controllers")  # sections that hold expressions of the motion


def describe(assembled: "Assembled") -> dict[str, Any]:
    """Structure of the assembled model, as plain data for ``mbsim info``."""
    file, topology, names = assembled.model_file, assembled.topology, assembled.tree_names
    states = set(assembled.states)
    count = len(topology.bodies) - len(states)  # bodies of states come last
    closing, matrices = assembled.closing, branches(topology.parent[:count])
    joint_of = dict(zip(topology.bodies, topology.joints, strict=True))
    reversed_ = dict(zip(topology.joints, topology.reversed, strict=True))  # tree joints
    driving = {name for name, spec in file.constraints.items() if spec.type == "motion"}
    coordinates = zip(names.coordinates, names.coordinate_units, assembled.problem.independent, strict=True)
    motions, uses = [row for row, name in enumerate(names.constraints) if name in driving], _uses(file)
    return {
        "name": file.name,
        "bodies": [
            {"number": i + 1, "name": body, "parent": "ground" if parent < 0 else topology.bodies[parent]}
            | {"joint": joint_of[body]}
            for i, (body, parent) in enumerate(zip(topology.bodies[:count], topology.parent, strict=False))
        ],
        "joints": [
            {"name": name, "type": "node" if isinstance(spec, NodeJoint) else spec.type, "bodies": list(spec.bodies)}
            | {"cut": name not in reversed_, "reversed": reversed_.get(name, False)}
            for name, spec in assembled.joints.items()
            if name not in states
        ],
        "states": [{"name": name, "unit": assembled.joints[name].unit} for name in assembled.states],
        "coordinates": [
            {"name": name, "unit": unit, "independent": bool(independent)}
            for name, unit, independent in coordinates
            if name.partition(".")[0] not in states
        ],
        **matrices,
        "branches": [list(topology.joints[first - 1 : last]) for first, last in matrices["joint_branch"]],
        "loops": [{"cut": loop[0], "joints": list(loop[1:])} for loop in topology.loops],
        "tree_joints": list(topology.joints[:count]),
        "cut_joints": list(topology.cut),
        "constraints": list(names.constraints),
        "identically_satisfied": list(assembled.dropped),
        "constraint_rank": closing.rank,
        "mobility": assembled.mobility,
        "mobility_without_motions": closing.J.shape[1] - rank(np.delete(closing.J, motions, axis=0)) - len(states),
        "redundant_constraints": [names.constraints[row] for row in closing.redundant],
        "natural_coordinates": _natural(assembled.problem),
        "parameters": [
            {"name": parameter.name, "value": parameter.value, "unit": parameter.unit, "bounds": parameter.bounds}
            | {"description": file.parameters[parameter.key].description or "", "used_in": uses[parameter.key]}
            for parameter in parameter_values(file, list(file.parameters))
        ],
        "warnings": [*warnings_of(file), *assembled.warnings],
        "descriptions": {join(path): text for path, text in descriptions_of(file)},
    }


def _natural(problem: Problem) -> dict[str, Any] | None:
    """Natural coordinates with the bodies that share them, and the equations with their origins."""
    if problem.system is None:
        return None
    names, sharing = problem.names, problem.system.sharing
    equations = zip(names.constraints, origins_of(problem.system), strict=True)
    return {
        "coordinates": [
            {"name": name, "unit": unit, "bodies": list(bodies)}
            for name, unit, bodies in zip(names.coordinates, names.coordinate_units, sharing, strict=True)
        ],
        "constraints": [{"name": name, "origin": origin} for name, origin in equations],
    }


def _uses(file: ModelFile) -> dict[str, list[str]]:
    """Paths of all that depends on each parameter, directly or through other names."""
    numbers = Numbers(file.expressions)
    moving = [  # expressions of the motion that stand in the file
        (join(path), read_by(expression.text, file.derived.parts).names)
        for section in WITH_EXPRESSIONS
        for path, expression in walk(getattr(file, section), (section,), Expression)
        if tuple(path[:2]) not in file.derived.made and is_moving(expression, file.expressions)
    ]
    texts = {f"sensors.{name}": text for name, text in file.formulas.items()}
    texts |= {f"objectives.{name}": spec.text for name, spec in file.objectives.items()}
    formulas = {path: set(names_in(parse(text, True))) for path, text in texts.items()}
    places = [(join(path), number) for path, number in file.computed if path[0] not in OF_ITS_USE]
    by_name = numbers.by_name({number for _, number in places})
    stands: dict[Any, list[int]] = {}
    for place, (_, number) in enumerate(places):
        stands.setdefault(number, []).append(place)
    found: dict[str, list[str]] = {}
    for parameter in file.parameters:
        depends = numbers.depending_on(parameter, by_name)
        found[parameter] = [places[place][0] for place in sorted(place for n in depends for place in stands[n])]
        found[parameter] += [
            path
            for path, read in moving
            if any(numbers.depends(Number(name), parameter) for name in read if name in file.expressions.names)
        ]
        found[parameter] += [path for path, read in formulas.items() if parameter in read]
    return found
