"""Programs that measure are not run by tests; what they use of the package is there."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import trees

PROGRAMS = sorted((Path(__file__).parents[2] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_names_exist(program):
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("mbsim_cli"):
            module = import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}"), alias.name


def test_what_inverse_dynamics_is_timed_by():
    from benchmarks.inverse_dynamics import Case

    case = Case(trees.chain_bodies(3), trees.random_motion(np.random.default_rng(0), 20, 3))
    for timed in (case.fresh, case.blocks, case.torques, case.dense):
        timed()
    np.testing.assert_allclose(case.kept.torque, case.bare.torque, rtol=1e-12)
    assert case.bare.torque.any() and case.kept.finite.all() and all(matrix.any() for matrix in case.kept[1:4])
