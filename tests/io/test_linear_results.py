"""State spaces in files: each kind is written whole; a foreign file stays."""

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.findings import KINDS, write_state_space

CONTENT = {
    "A": np.eye(2), "B": np.ones((2, 1)), "C": np.ones((1, 2)), "D": np.zeros((1, 1)),
    "states": ("x", "x'"), "inputs": ("F",), "outputs": ("r",), "output_values": np.zeros(1),
    "state_units": ("m", "m/s"), "input_units": ("N",), "output_units": ("m",), "time": 0.0, "about": "start",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_file_stays_unless_forced(tmp_path, kind):
    path = tmp_path / f"x{kind}"
    path.write_text("notes")
    with pytest.raises(InputOutputError, match="is not a state space"):
        write_state_space(path, CONTENT, force=False)
    assert path.read_text() == "notes"
    write_state_space(path, CONTENT, force=True)
    assert path.stat().st_size > 100 and list(tmp_path.iterdir()) == [path]


def test_an_earlier_state_space_is_replaced(tmp_path):
    path = tmp_path / "x.h5"
    for time in (0.0, 1.0):
        write_state_space(path, CONTENT | {"time": time}, force=False)
    with h5py.File(path) as file:
        assert file.attrs["time"] == 1.0
