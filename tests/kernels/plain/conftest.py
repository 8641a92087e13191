"""Tests of single kernels, which only plain Python can call: run with NUMBA_DISABLE_JIT=1, else skipped.

``test_without_compiler.py`` runs them in a process of their own.
"""

import os
from pathlib import Path

import pytest

from tests.conftest import WITHOUT_COMPILER

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Skip what stands in this folder while kernels are compiled."""
    for item in items:
        if COMPILED and HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=WITHOUT_COMPILER))
