"""A result that is in memory is saved as the very file that ``mbsim run`` writes."""

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.recording import record
from tests.cli.conftest import PENDULUM
from tests.cli.test_equilibrium import SCALES
from tests.cli.test_inverse_dynamics import ARM, INVERSE

THINNED = PENDULUM.replace("duration: 0.5", "duration: 0.55, output_interval: 0.1")
OF_THE_CALL = ("created", "command")  # attributes
CASES = {
    "direct": (PENDULUM, Settings(method="ddm")),
    "no gradients": (PENDULUM, Settings(method="none")),
    "adjoint": (PENDULUM, Settings(method="adjoint")),
    "differences": (PENDULUM, Settings(method="fd")),
    "thinned": (THINNED, Settings()),
    "every number": (PENDULUM, Settings(all_numbers=True)),
    "adaptive": (PENDULUM, Settings(formulation="recursive", integrator="dop853", method="none")),
    "equilibrium": (SCALES, Settings()),
    "inverse dynamics": (ARM + INVERSE, Settings()),
}


def content(path):
    """Attributes and values of everything in a file, in its order; times that were spent are no part of it."""
    found = {}

    def visit(name, item):
        attributes = {key: np.asarray(value).tolist() for key, value in item.attrs.items() if key not in LISTS}
        axes = [dimension.label for dimension in getattr(item, "dims", ())]
        values = item[()] if isinstance(item, h5py.Dataset) and not name.startswith("meta/timing/") else None
        found[name] = (attributes, axes, getattr(item, "dtype", None), values)

    with h5py.File(path) as file:
        file.visititems(visit)
        return found, {key: value for key, value in file.attrs.items() if key not in OF_THE_CALL}


LISTS = ("DIMENSION_LIST", "REFERENCE_LIST")  # of places in the file


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sent", [False, True], ids=["here", "from another process"])
def test_the_file_is_that_of_the_command(case, sent, tmp_path):
    text, settings = CASES[case]
    path = tmp_path / "m.yaml"
    path.write_text(text)
    record(path, tmp_path / "run.h5", settings, command="mbsim run", listener=SILENT, force=False)
    options = {name: value for name, value in settings.options.items() if value is not None}
    model = mbsim.load(path, all_numbers=settings.all_numbers)
    result = model.run(sensitivity=settings.method, **options)
    result = pickle.loads(pickle.dumps(result)) if sent else result
    assert result.save(tmp_path / "saved.h5") == tmp_path / "saved.h5"
    (ours, our_attributes), (theirs, their_attributes) = map(content, (tmp_path / "saved.h5", tmp_path / "run.h5"))
    assert our_attributes == their_attributes and list(ours) == list(theirs)
    for name, (*facts, values) in ours.items():
        assert tuple(facts) == theirs[name][:-1], name
        if values is not None:
            np.testing.assert_array_equal(values, theirs[name][-1], err_msg=name)
    stored = mbsim.open(tmp_path / "saved.h5")
    assert repr(stored) == repr(result) and set(stored) == set(result)
    assert stored.report["command"] == "mbsim_cli.run" and stored.timing == result.timing


def test_an_opened_result_is_saved_as_it_is(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(PENDULUM)
    mbsim.run(path).save(tmp_path / "a.h5")
    mbsim.open(tmp_path / "a.h5").save(str(tmp_path / "b.h5"))
    assert (tmp_path / "b.h5").read_bytes() == (tmp_path / "a.h5").read_bytes()
    mbsim.open(tmp_path / "a.h5").save(tmp_path / "a.h5")
    assert (tmp_path / "b.h5").read_bytes() == (tmp_path / "a.h5").read_bytes()


def test_what_is_no_result_stays(tmp_path):
    path, notes = tmp_path / "m.yaml", tmp_path / "notes.txt"
    path.write_text(PENDULUM)
    notes.write_text("mine")
    result = mbsim.run(path)
    result.save(tmp_path / "a.h5")
    result.save(tmp_path / "a.h5")
    for each in (result, mbsim.open(tmp_path / "a.h5")):
        with pytest.raises(mbsim.InputOutputError, match="is not an mbsim result"):
            each.save(notes)
        with pytest.raises(mbsim.InputOutputError, match="there is no folder"):
            each.save(tmp_path / "nowhere" / "a.h5")
        with pytest.raises(mbsim.UsageError, match="a result is HDF5"):
            each.save(tmp_path / "a.csv")
    assert notes.read_text() == "mine"
    with pytest.raises(mbsim.InputOutputError, match="is the model itself"):
        result.save(path, force=True)
    result.save(notes, force=True)
    assert mbsim.open(notes).objectives["swing"].value == result.objectives["swing"].value
    assert sorted(map(Path.name.fget, tmp_path.iterdir())) == ["a.h5", "m.yaml", "notes.txt"]


def test_a_file_is_opened_in_this_process_and_read_when_asked_for(tmp_path, monkeypatch):
    path, result = tmp_path / "m.yaml", tmp_path / "a.h5"
    path.write_text(PENDULUM)
    mbsim.run(path).save(result)
    monkeypatch.setattr("os.fork", lambda: pytest.fail("a look in another process"))
    opened = mbsim.open(result)
    assert opened.objectives and opened["time"].size > 1
    sentence = r"m\.yaml is not an mbsim result, or is damaged: it is no HDF5 file; `mbsim run` makes results of model"
    with pytest.raises(mbsim.InputOutputError, match=sentence):
        mbsim.open(path)
    with h5py.File(result, "r+") as file:
        del file["time"]
        file["time"] = h5py.ExternalLink("m.yaml", "time")
    with pytest.raises(mbsim.InputOutputError, match="is not an mbsim result, or is damaged"):
        mbsim.open(result)["time"]
    with h5py.File(result, "r+") as file:
        file.attrs["format"] = "other"
    with pytest.raises(mbsim.InputOutputError, match="it is an HDF5 file of another kind"):
        mbsim.open(result)
    with pytest.raises(mbsim.InputOutputError, match="there is no file"):
        mbsim.open(tmp_path / "b.h5")
