"""Standard input data as HDF5: written and read again, and files that are not."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.sid_file import is_sid, read_sid, write_sid
from mbsim_cli.reduction.sid_reader import read_sid as read_text

BEAM = Path(__file__).parents[1] / "reduction" / "files" / "Beam_3m.SID_FEM"


@pytest.fixture(scope="module")
def beam():
    body = read_text(BEAM)
    doubled = replace(
        body.map(lambda _, term: term.map(lambda entries: 2 * entries)), modes=(), warnings=(), comment=""
    )
    return replace(body, design={"E": doubled, "t": replace(body, modes=(), warnings=(), comment="")})


@pytest.fixture
def file(beam, tmp_path):
    path = tmp_path / "beam.sid.h5"
    write_sid(path, beam, {"source": "a test"})
    return path


def entries(body):
    return {f"{path}.{order}": x for path, term in body.items() for order, x in enumerate(term) if x is not None}


def test_written_and_read_again(beam, file):
    again = read_sid(file)
    assert is_sid(file) and again.modes == beam.modes and again.warnings == beam.warnings
    assert [node.name for node in again.nodes] == [node.name for node in beam.nodes]
    for a, b in ((beam, again), (beam.design["E"], again.design["E"]), (beam.design["t"], again.design["t"])):
        found = entries(b)
        assert set(entries(a)) <= set(found)
        assert all(np.array_equal(x, found[path]) for path, x in entries(a).items())


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: f.__delitem__("J/M0"), "J/M0 is missing"),
        (lambda f: f["Ke/M0"].__setitem__((0, 0), np.nan), "Ke/M0 holds numbers that are not finite"),
        (lambda f: (f.__delitem__("Ct/M0"), f.create_dataset("Ct/M0", data=np.zeros((5, 3)))), r"Ct/M0 is \(5, 3\)"),
        (lambda f: f["Me/M0"].__setitem__((0, 0), -1.0), "Me is not positive definite"),
        (lambda f: f["Ke/M0"].__setitem__((0, 1), 1e9), "Ke is not symmetric"),
        (lambda f: f["mass/M0"].__setitem__((), -1.0), "the mass is -1, not greater than zero"),
        (lambda f: f.attrs.__setitem__("format_version", 9), "it is of version 9"),
        (lambda f: f.attrs.__setitem__("format", "other"), "an HDF5 file of another kind"),
        (lambda f: (f.__delitem__("De"), f.__setitem__("De", h5py.ExternalLink("x.h5", "/"))), "a link to somewhere"),
    ],
)
def test_damaged(file, damage, said):
    with h5py.File(file, "r+") as opened:
        damage(opened)
    with pytest.raises(InputOutputError, match=said):
        read_sid(file)


def test_no_file(tmp_path):
    with pytest.raises(InputOutputError, match="there is no file"):
        read_sid(tmp_path / "nothing.sid.h5")
    (tmp_path / "text.sid.h5").write_text("text")
    with pytest.raises(InputOutputError, match="holds no standard input data"):
        read_sid(tmp_path / "text.sid.h5")
