"""The system of a model file before anything is packed: deforming bodies unfolded, a tree chosen, gravity in theta."""

from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.theta import Theta
from mbsim_cli.assembly.tree.elastic import Source, elastic_bodies
from mbsim_cli.assembly.tree.geometry import Geometry
from mbsim_cli.assembly.tree.spanning import spanning_tree
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.unfolding import unfold


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
