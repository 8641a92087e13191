"""Tables: columns by name, from CSV and HDF5."""

import json
import re

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.tables import read_table


def test_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# from the laboratory\n# 100 Hz\ntime, hip.angle\n0,1\n0.5,nan\n1,3e2\n")
    columns = read_table(path)
    assert list(columns) == ["time", "hip.angle"]
    assert np.array_equal(columns["hip.angle"], [1, np.nan, 300], equal_nan=True)


@pytest.mark.parametrize(
    ("delimiter", "text"),
    [(";", "t;a\n0;1\n1;2\n"), ("\t", "t\ta\n0\t1\n1\t2\n"), (" ", "# comment\nt   a\n 0 \t 1\n1  2\n")],
)
def test_other_delimiters(tmp_path, delimiter, text):
    (tmp_path / "a.csv").write_text(text)
    assert {name: values.tolist() for name, values in read_table(tmp_path / "a.csv", delimiter).items()} == {
        "t": [0, 1],
        "a": [1, 2],
    }
    if delimiter != " ":
        with pytest.raises(InputOutputError, match="states delimiter: " + re.escape(json.dumps(delimiter))):
            read_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it is empty"),
        ("t,a\n0,1\n1,\n", "column 'a' is empty, in line 3"),
        ("t,a\n0,1\n\n1,x\n", "column 'a' holds 'x', which is not a number, in line 4"),
        ("t,a\n0,x\n1,2\n2,\n", "column 'a' holds 'x', which is not a number, in line 2; 2 of its cells are wrong"),
        ("t,a\n0,\u0661\n", "column 'a' holds '\u0661', which is not a number, in line 2"),
        ("# of 2026\nt,a\n0,1,2\n1,2,3\n", "2 names stand over 3 columns in line 3"),
        ("t,a\n0,1\n1\n", "2 names stand over 1 columns in line 3"),
        ("t,a\n0,0,1,5\n", "2 names stand over 4 columns in line 2; decimals stand behind a point"),
    ],
)
def test_faults_of_csv(tmp_path, text, expected):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputOutputError, match=expected):
        read_table(tmp_path / "a.csv")["a"]


def test_empty_cells_of_measurements_are_missing(tmp_path):
    (tmp_path / "a.csv").write_text('t,a,b,c\n0,1,,x\n1, ,"2",\n')
    table = read_table(tmp_path / "a.csv", empty=True)
    np.testing.assert_array_equal([table["t"], table["a"], table["b"]], [[0, 1], [1, np.nan], [np.nan, 2]])
    with pytest.raises(InputOutputError, match="column 'c' holds 'x', which is not a number, in line 2"):
        table["c"]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_alphabets(tmp_path, encoding):
    (tmp_path / "a.csv").write_text("t,gr\u00f6\u00dfe\n0,1\n", encoding)
    with pytest.raises(InputOutputError, match="it is no text in UTF-8; save it as such"):
        read_table(tmp_path / "a.csv")


def test_columns_of_texts_matter_to_those_who_take_them(tmp_path):
    (tmp_path / "a.csv").write_text('# cases\nname;t;"made by"\nfirst;1;anna\n"a;b";2;\n\nthird;3e2;bert\n')
    columns = read_table(tmp_path / "a.csv", ";")
    assert list(columns) == ["name", "t", "made by"]
    assert "name" in columns
    assert columns["t"].tolist() == [1, 2, 300]
    assert columns.get("u") is None
    with pytest.raises(InputOutputError, match="column 'name' holds 'first', which is not a number, in line 3"):
        columns["name"]
    (tmp_path / "a.csv").write_text("a,b\nx,y\n")
    assert list(read_table(tmp_path / "a.csv")) == ["a", "b"]


def test_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("t;a\n0,5;1\n")
    with pytest.raises(InputOutputError, match="column 't' holds '0,5', which is not a number, in line 2; decimals"):
        read_table(tmp_path / "a.csv", ";")["t"]


def test_names_in_quotes_behind_blanks(tmp_path):
    (tmp_path / "a.csv").write_text('"t", "a b"\n0, 1\n')
    assert list(read_table(tmp_path / "a.csv")) == ["t", "a b"]


def test_missing_and_damaged_files(tmp_path):
    (tmp_path / "a.h5").write_text("no HDF5")
    for name in ("a.h5", "b.h5", "b.csv"):
        with pytest.raises(InputOutputError, match="cannot read"):
            read_table(tmp_path / name)


def test_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["time"], file["hip"], file["matrix"] = np.arange(3.0), np.arange(3), np.eye(2)
    assert {name: values.tolist() for name, values in read_table(tmp_path / "a.h5").items()} == {
        "time": [0, 1, 2],
        "hip": [0, 1, 2],
    }
