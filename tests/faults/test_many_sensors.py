"""As many sensors as anyone likes: scales that have no more room to list datasets still label them."""

import h5py
import pytest
import xarray

from mbsim_cli.io import layout
from mbsim_cli.io.results import ResultFile
from tests.cli.conftest import PENDULUM

REPEATED = """\
repeat:
  many: {for: {i: [1, COUNT]}, sensors: {"s{i}": {type: coordinate, coordinate: A.angle}}}
"""


def run(mbsim, tmp_path, count):
    model = tmp_path / "many.yaml"
    model.write_text(PENDULUM.replace("duration: 0.5", "duration: 0.05") + REPEATED.replace("COUNT", str(count)))
    done = mbsim("run", model, "--quiet")
    assert done.code == 0, done.err
    return tmp_path / "many.h5"


def test_scales_without_room_still_label(mbsim, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST_LISTED", 8)
    path = run(mbsim, tmp_path, 20)
    with h5py.File(path) as file:
        assert len(file["time"].attrs["REFERENCE_LIST"]) == 8
        for name in ("angle", "s1", "s20"):
            dataset = file[f"sensitivity/sensors/{name}"]
            assert [dimension[0].name for dimension in dataset.dims] == ["/time", "/scalar", "/parameter"]
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert tree["sensitivity/sensors/s20"].dims == ("time", "scalar", "parameter")
        first, last = (float(tree[f"sensors/{name}"].sel(time=0.05)[0]) for name in ("angle", "s20"))
    assert first == last != 0.0


@pytest.mark.slow
def test_twenty_thousand_sensors_with_gradients(mbsim, tmp_path):
    """HDF5 refused 2060, whose list of references fills an attribute."""
    count = 20_000
    found = ResultFile(run(mbsim, tmp_path, count)).report()["datasets"]
    assert found[f"sensitivity/sensors/s{count}"]["axes"] == ["time", "scalar", "parameter"]
    assert sum(name.startswith("sensors/") for name in found) == count + 1
