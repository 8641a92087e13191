"""Modules that are chosen by a type have the functions of their contract, and these take the same arguments."""

from inspect import signature

import pytest

from mbsim_cli.kernels.algorithms.open_trees import formulations, recursive
from mbsim_cli.kernels.algorithms.systems import contract, system_of_trees
from mbsim_cli.kernels.compiler.jit import python_of
from mbsim_cli.kernels.drivers import sweep_back
from mbsim_cli.kernels.integrators import runge_kutta_adjoint
from mbsim_cli.model.layout import NATURAL

OF_TREES = {"evaluate_free", "vary_free", "pull_free", "measure", "vary_measure"}
CONTRACTS = [
    *((contract, system_of_trees, kind, module) for kind, module in contract.SYSTEMS.items()),
    *((formulations, recursive, kind, module) for kind, module in formulations.FORMULATIONS.items()),
    *((sweep_back, runge_kutta_adjoint, kind, module) for kind, module in sweep_back.METHODS.items()),
]


def names_of(chosen, model):
    """Functions of the module ``chosen`` that stand for those of its modules, as ``model``."""
    found = {name for name, function in vars(chosen).items() if hasattr(function, "__signature__")}
    return {name for name in found if getattr(model, name, getattr(chosen, name)) is not getattr(chosen, name)}


@pytest.mark.parametrize(
    ("chosen", "model", "kind", "module"), CONTRACTS, ids=lambda part: part.__name__.split(".")[-1]
)
def test_functions_and_their_arguments(chosen, model, kind, module):
    names = names_of(chosen, model)
    assert len(names) >= 2
    lacking = {name for name in names if not hasattr(module, name)}
    assert lacking == (OF_TREES if kind in NATURAL else set())
    for name in names - lacking:
        expected, found = (list(signature(python_of(getattr(each, name))).parameters) for each in (model, module))
        assert found == expected, name
