"""Designs of studies: the values of every case, against what the words of the file say."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.study.sweep.planning import columns_of, design_of
from tests.cli.conftest import PENDULUM


@pytest.fixture
def design(tmp_path):
    """The design of a study of the pendulum."""

    def make(study, parameter=""):
        path = tmp_path / "model.yaml"
        text = PENDULUM.replace("{value: 1.0, unit: m}", "{value: 1.0, bounds: [0.5, 2]}")
        path.write_text(text.replace("points:", f"  {parameter}\npoints:") + study)
        model = spec.load(path)
        return design_of(
            model.study["s"], model, lambda stated: columns_of(stated, tmp_path / stated.file, model.parameters)
        )

    return make


def test_a_grid_combines_values(design):
    names, values = design("study: {s: {grid: {k: [2*k, 1], L: {from: 1, to: 4, count: 3, scale: log}}}}")
    assert names == ("k", "L")
    np.testing.assert_allclose(values, [[4, 1], [4, 2], [4, 4], [1, 1], [1, 2], [1, 4]], rtol=1e-15)
    assert values[2, 1] == 4.0  # ends are met exactly


def test_a_zip_goes_side_by_side(design):
    _, values = design("study: {s: {zip: {k: [2, 3, 5], L: {from: 1, to: 2, count: 3}}}}")
    assert values.tolist() == [[2, 1], [3, 1.5], [5, 2]]


def test_a_list_keeps_what_it_does_not_change(design):
    names, values = design("study: {s: {list: [{k: 7}, {L: 3*L}]}}")
    assert (names, values.tolist()) == (("k", "L"), [[7, 1], [2, 3]])


def test_what_a_case_leaves_out_follows_what_it_states(design):
    names, values = design("study: {s: {list: [{m: 7}, {L: 2}, {L: 2, m: 1}]}}", "m: 3 * L")
    assert (names, values.tolist()) == (("m", "L"), [[7, 1], [6, 2], [1, 2]])
    with pytest.raises(UsageError, match="case 1 of the list leaves 'q' without a value: division by zero"):
        design("study: {s: {list: [{q: 7}, {k: 0}]}}", "q: 1/k")


def test_a_longer_sobol_sequence_begins_with_the_shorter(design):
    box = "{{k: {{from: 1, to: 100, scale: log}}, L: {{from: 1, to: 3}}}}"
    text = f"study: {{{{s: {{{{sobol: {{{{parameters: {box}, count: {{}}, seed: {{}}}}}}}}}}}}}}"
    few, many, other = (design(text.format(*numbers)).values for numbers in ((20, 7), (1024, 7), (20, 8)))
    assert few.tobytes() == many[:20].tobytes() and not (few == other).any()
    shares = np.column_stack([np.log10(many[:, 0]) / 2, (many[:, 1] - 1) / 2])
    for level in (4, 16):  # every cell of a lattice holds as many points: what makes them a Sobol sequence
        cells = np.histogram2d(*shares.T, bins=level, range=[[0, 1], [0, 1]])[0]
        assert (cells == 1024 / level**2).all()


def test_a_latin_hypercube_has_a_point_in_each_layer(design):
    _, values = design("study: {s: {latin_hypercube: {parameters: [L], count: 30, seed: 1}}}")
    assert sorted(((values[:, 0] - 0.5) / 1.5 * 30).astype(int)) == list(range(30))


def test_cases_of_a_file(design, tmp_path):
    (tmp_path / "c.csv").write_text("length;by;k\n1000;anna;3\n2000;bert;0.1\n")
    text = "study: {s: {csv: {file: c.csv, delimiter: ';', columns: {L: length, k: k}, scale: {L: 1e-3}}}}"
    names, values = design(text)
    assert (names, values.tolist()) == (("L", "k"), [[1, 3], [2, 0.1]])


@pytest.mark.parametrize("text", ["\ufeffL,k\r\n1,3\r\n2,0.1\r\n", '"L", "k"\n"1","3"\n\n"2", 0.1', "L,k\r1,3\r2,0.1"])
def test_files_of_other_programs(design, tmp_path, text):
    (tmp_path / "c.csv").write_text(text, newline="")
    names, values = design("study: {s: {csv: {file: c.csv}}}")
    assert (names, values.tolist()) == (("L", "k"), [[1, 3], [2, 0.1]])


@pytest.mark.parametrize(
    ("text", "study", "fault"),
    [
        ("L,kk\n1,2\n", "", "column 'kk' is no parameter of the model; did you mean 'k'?"),
        ("L,k\n", "", "holds no cases"),
        ("L,k\n1,nan\n", "", "column 'k' holds nan in row 1"),
        ("L,k\n1,2\n", ", columns: {k: s}", "has no column 's'"),
        ('L,k\n1,"3,5"\n', "", "holds '3,5', which is not a number, in line 2; decimals stand behind a point"),
        ("L\n1\n", ", scale: {k: 2}", "no column is read for 'k'"),
    ],
)
def test_what_no_cases_can_be_read_from(design, tmp_path, text, study, fault):
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(InputOutputError, match=fault.replace("?", r"\?")):
        design(f"study: {{s: {{csv: {{file: c.csv{study}}}}}}}")
