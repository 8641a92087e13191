"""The spanning tree of a mechanism and the system of its bodies and joints."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers, Theta
from mbsim_cli.assembly.tree.elastic import Source, elastic_bodies
from mbsim_cli.assembly.tree.geometry import Geometry, split
from mbsim_cli.assembly.tree.joints import freedom, has_velocity, independent
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.topology import KEEP, MOVING, NEEDED, PREFER, Edge, Topology, span
from mbsim_cli.assembly.tree.unfolding import unfold
from mbsim_cli.errors import ModelError

# Spanning tree of the joints of a model file.


def spanning_tree(model_file: Any) -> Topology:
    """Spanning tree of the file's joints; raises ModelError where there is none."""
    needed = {split(name)[0] for name in _constrained_coordinates(model_file)}

    def priority(name: str, spec: Any) -> int:
        if spec.cut is False:
            return KEEP
        if name in needed or independent(spec) or getattr(spec, "armature", None) is not None:
            return NEEDED
        if has_velocity(spec):
            return MOVING
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


def _constrained_coordinates(model_file: Any) -> Iterator[str]:
    """Coordinates that couplings and motions speak of: better not measured over a cut, where angles wrap."""
    for spec in model_file.constraints.values():
        yield from getattr(spec, "factors", ())
        if hasattr(spec, "coordinate"):
            yield spec.coordinate
    analysis = model_file.analysis
    if analysis.type == "inverse_dynamics":
        table = analysis.motion.table
        yield from (*analysis.motion.laws, *analysis.drives)
        yield from () if table is None else (name for name in table.columns if "." in name)


# The system of a model file before anything is packed: deforming bodies unfolded, a tree chosen, gravity in theta.


def unfolded_system(model_file: Any, standard_input: Source | None) -> System:
    """The system of a file; ``standard_input`` gives the data of bodies that deform."""
    numbers = Numbers(model_file.expressions)
    theta = Theta(numbers)
    theta.add(lambda: numbers.vector(model_file.gravity))
    elastic = elastic_bodies(model_file, numbers, standard_input)
    unfolded = unfold(model_file, elastic)
    geometry = Geometry(numbers, unfolded.model_file, unfolded.nodes)
    topology = spanning_tree(unfolded.model_file)
    return System(unfolded.model_file, geometry, theta, topology, list(elastic.values()))
