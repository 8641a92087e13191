"""Public files of standard input data, with their licences beside them."""

from pathlib import Path

import pytest

from mbsim_cli.reduction.sid_reader import read_sid

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="session")
def public():
    """Bodies of the public files by their names."""
    return {path.stem: read_sid(path) for path in FILES.iterdir() if path.suffix.lower() == ".sid_fem"}
