"""Nothing that is not ours is replaced without ``--force``, and nothing that the run reads ever."""

import itertools

import h5py
import numpy as np
import pytest

from mbsim_cli.cli.output import Terminal
from mbsim_cli.errors import AnalysisError
from mbsim_cli.study import recording

DRIVEN = """\
  motion: {type: motion, coordinate: A.angle, law: {type: table, file: TABLE, columns: {value: A.angle}}}
"""


@pytest.fixture
def appearing(monkeypatch, tmp_path):
    """Has a file appear while a run is solved."""

    def at(name, make):
        honest = recording.run

        def run(*arguments):
            make(tmp_path / name)
            return honest(*arguments)

        monkeypatch.setattr(recording, "run", run)

    return at


@pytest.fixture
def failing(monkeypatch):
    """Has a run fail when it has computed something."""

    polls = itertools.count()

    def fail(self):
        if next(polls) % 2:  # the first one of a run is before anything is computed
            raise AnalysisError("it fails")

    monkeypatch.setattr(Terminal, "poll", fail)


def text(path):
    path.write_text("mine")


def dangling(path):
    path.symlink_to("nowhere")


def test_a_partial_result_of_the_user_stays(mbsim, pendulum, tmp_path, failing):
    (tmp_path / "pendulum.h5.partial").write_text("mine")
    for force in ((), ("--force",)):
        done = mbsim("run", pendulum, "--json", *force)
        assert done.code == 4 and done.json["partial"].endswith("pendulum.h5.partial-2")
    assert (tmp_path / "pendulum.h5.partial").read_text() == "mine"
    assert mbsim("inspect", "pendulum.h5.partial-2", "--json").json["status"] == "partial"
    assert len(list(tmp_path.iterdir())) == 3  # our own is replaced


@pytest.mark.parametrize("make", [text, dangling, lambda path: path.mkdir()], ids=["text", "link", "folder"])
def test_what_appears_at_the_target_stays(mbsim, pendulum, tmp_path, appearing, make):
    appearing("pendulum.h5", make)
    done = mbsim("run", pendulum, "--json")
    assert done.code == 5 and "has appeared meanwhile, and only --force overwrites it" in done.json["message"]
    assert done.json["kept"] == str(tmp_path / "pendulum.h5.complete")
    assert mbsim("inspect", "pendulum.h5.complete", "--json").json["instants"] == 51
    appeared = tmp_path / "pendulum.h5"
    assert appeared.is_symlink() or appeared.is_dir() or appeared.read_text() == "mine"


def test_what_appears_goes_with_force_or_as_our_own(mbsim, pendulum, tmp_path, appearing):
    assert mbsim("run", pendulum).code == 0
    ours = (tmp_path / "pendulum.h5").read_bytes()
    appearing("a.h5", lambda path: path.write_bytes(ours))
    assert mbsim("run", pendulum, "-o", "a.h5").code == 0
    appearing("b.h5", text)
    assert mbsim("run", pendulum, "-o", "b.h5", "--force").code == 0
    assert mbsim("inspect", "b.h5").code == 0


@pytest.mark.parametrize("name", ["table.csv", "table.h5", "link.h5"])
def test_what_the_run_reads_is_never_written(mbsim, variant, tmp_path, name):
    if name.endswith(".h5"):
        table = tmp_path / "table.h5"
        assert mbsim("run", variant("duration: 0.5", "duration: 1"), "-o", table, "--quiet").code == 0
        if name.startswith("link"):
            (tmp_path / name).hardlink_to(table)
    else:
        table = tmp_path / name
        table.write_text(f"time,A.angle\n0,{-np.pi / 3}\n1,-2\n2,-1\n")
    model = variant("forces:", "constraints:\n" + DRIVEN.replace("TABLE", table.name) + "forces:")
    before = table.read_bytes()
    with model.open("a") as file:
        file.write("optimization: {less: {minimize: swing, variables: {k: {from: 1, to: 3}}}}\n")
    for command in ("run", "optimize"):
        done = mbsim(command, model, "-o", name, "--force")
        assert done.code == 5 and f"{name} is a file that the model reads; name another output" in done.err
        assert table.read_bytes() == before
    assert mbsim("run", model, "-o", "other.h5").code == 0


def test_a_partial_result_that_the_run_reads_stays(mbsim, variant, tmp_path, failing, monkeypatch):
    table = tmp_path / "r.h5.partial"
    with pytest.MonkeyPatch.context() as honest:
        honest.setattr(Terminal, "poll", lambda self: None)
        assert mbsim("run", variant("duration: 0.5", "duration: 1"), "-o", "r.h5").code == 0
    (tmp_path / "r.h5").rename(tmp_path / "r.hdf5")
    (tmp_path / "r.h5.partial").hardlink_to(tmp_path / "r.hdf5")
    model = variant("forces:", "constraints:\n" + DRIVEN.replace("TABLE", "r.hdf5") + "forces:")
    done = mbsim("run", model, "-o", "r.h5", "--json")
    assert done.code == 4 and done.json["partial"].endswith("r.h5.partial-2")
    with h5py.File(table) as file:
        assert file.attrs["status"] == "complete"


def test_schemas(mbsim, tmp_path):
    for content in ("mine", "[]", '{"$schema": "other"}'):
        (tmp_path / "s.json").write_text(content)
        done = mbsim("schema", "-o", "s.json")
        assert done.code == 5 and "exists and is not a schema of model files; --force overwrites it" in done.err
        assert (tmp_path / "s.json").read_text() == content
    assert mbsim("schema", "-o", "s.json", "--force").code == 0
    assert mbsim("schema", "-o", "s.json").code == 0
