"""Facts about an assembled mechanism: mobility, redundant constraints, tree, branches, loops, use of parameters."""

from typing import Any

from mbsim_cli.model.problem import Problem


def structure(assembled: Any) -> dict[str, Any]:
    """Mobility and rank at the assembled start, and the names of the redundant constraints.

    Equations that hold whatever the coordinates are (out of the plane of planar loops) never reach the solver; they
    are as redundant as those that depend on others.
    """
    from mbsim_cli.solve import initial

    problem: Problem = assembled.problem
    start = initial.assemble(problem, motion_only=True)
    coordinates = problem.model.tree.column_kind.size
    named = problem.names.constraints
    redundant = [*assembled.dropped, *(named[row] for row in start.redundant)]
    return {
        "coordinates": coordinates,
        "constraints": len(named) + len(assembled.dropped),
        "rank": int(start.rank),
        "mobility": coordinates - int(start.rank),
        "redundant_constraints": redundant,
    }


def topology(assembled: Any) -> dict[str, Any]:
    """Spanning tree, branches with their connectivity matrices, and loops."""
    from mbsim_cli.assembly.branches import branches

    tree, names = assembled.topology, assembled.problem.names
    columns: dict[str, list[str]] = {}
    for coordinate in names.coordinates:
        columns.setdefault(coordinate.lstrip("-").rsplit(".", 1)[0], []).append(coordinate)
    found = branches(tree.parent)
    rows = zip(tree.bodies, tree.parent, tree.joints, strict=True)
    return {
        "tree": [
            {
                "body": body,
                "parent": tree.bodies[parent] if parent >= 0 else "ground",
                "joint": joint,
                "coordinates": columns.get(joint, []),
            }
            for body, parent, joint in rows
        ],
        "cut_joints": list(tree.cut),
        "loops": [list(loop) for loop in tree.loops],
        "branches": {
            "joint_parent": found.joint_parent,
            "branch_parent": found.branch_parent,
            "joint_branch": found.joint_branch,
        },
    }


def parameters(assembled: Any, model_file: Any) -> dict[str, dict[str, Any]]:
    """Value, unit and description of every parameter, and the paths of the file that it reaches."""
    uses = assembled.theta.uses(list(model_file.parameters))
    scope = model_file.expressions.scope()
    return {
        name: {
            "value": float(scope[name].real),
            "unit": parameter.unit,
            "description": parameter.description,
            "used_in": uses[name],
        }
        for name, parameter in model_file.parameters.items()
    }
