"""Programs that measure are not run by tests; what they use of the package is there."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parents[2] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_names_exist(program):
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("mbsim_cli"):
            module = import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}"), alias.name
