"""ASCII standard input data of other programs: what is in them, what is wrong with them, and damaged ones."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.reduction.data import scaled, selected
from mbsim_cli.reduction.reduce import Damping, derivative, reduced
from mbsim_cli.reduction.sid_reader import read_sid
from mbsim_cli.reduction.sid_text import Block, Line, number, sid_text

from .bodies import cantilever
from .conftest import FILES

FREQUENCIES = {  # Hz, by numpy alone from Ke and Me of each file
    "example": [8090.6, 14039, 360699.52],
    "example_all_ev": [1299.75, 360699.52],
    "beam": [51.626225, 1932.966763],
    "Beam_3m": [9.088683, 27.027771, 56.637820, 146.315608],
    "balken1m": [8.359714],
}
SAYS = {
    "example": "frequency 2 is 14039 Hz by Ke and Me; its label says 21049 Hz",
    "Beam_3m": "sum to what differs from -2 Me by 0.98",
    "balken1m": "Ct^2 = 1.727 exceeds mass times Me = 0.785",
    "beam": "De damps mode 11 at 60.7 of the critical damping",
    "example_all_ev": "the inertia about the centre of mass has the principal moment -2.453e+04",
}
MOVED = 1.0 + 1e-30j, 0.0
LINES = (FILES / "balken1m.SID_FEM").read_text("latin-1").splitlines()


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies(public, name):
    found = public[name].frequencies()
    found = found[[0, -1]] if len(FREQUENCIES[name]) == 2 else found
    assert found == pytest.approx(FREQUENCIES[name], rel=5e-6)


@pytest.mark.parametrize("name", SAYS)
def test_what_is_wrong_is_told_with_numbers(public, name):
    assert any(SAYS[name] in warning for warning in public[name].warnings)


def test_inertia_of_a_bar(public):
    """m L^2/3 + m h^2/12 about its end, in kg mm^2; the unit is the user's to tell."""
    J = 0.3925 * 500**2 / 3 + 0.3925 * 10**2 / 12
    assert public["example"].J.M0[2, 2] == pytest.approx(J, rel=1e-6)
    bar = read_sid(FILES / "example.sid_fem", length=1e-3)
    assert bar.J.M0[2, 2] == pytest.approx(1e-6 * J, rel=1e-6)
    assert pytest.approx([0.5, 0, 0]) == bar.nodes[2].origin.M0
    assert bar.frequencies() == pytest.approx(public["example"].frequencies())


def test_sag_of_a_cantilever(public):
    """By its weight; beam theory: 4.68 mm and 0.520 mm."""
    beam = public["Beam_3m"]
    sag = beam.nodes[0].phi.M0.T @ np.linalg.solve(beam.Ke.M0, 9.81 * beam.Ct.M0)
    assert (sag[2, 2], sag[1, 1]) == (pytest.approx(4.62e-3, rel=2e-3), pytest.approx(0.518e-3, rel=2e-3))


@pytest.mark.parametrize("name", ["example", "example_all_ev", "beam", "Beam_3m", "balken1m"])
def test_columns_are_by_modes_whatever_the_writer_did(public, name):
    sid = public[name]
    J1 = np.zeros((sid.n, 3, 3)) if sid.J.M1 is None else sid.J.M1
    assert (sid.Gr.M0 + sid.Gr.M0.transpose(0, 2, 1)) / 2 == pytest.approx(J1, abs=1e-9 * max(np.abs(J1).max(), 1e-9))
    if sid.Cr.M1 is not None:
        assert pytest.approx(2 * sid.Cr.M1, abs=1e-9) == sid.Ge.M0


@pytest.mark.parametrize("name", ["example", "example_all_ev", "beam", "Beam_3m", "balken1m"])
def test_written_and_read_again(public, name, tmp_path):
    written = tmp_path / "again.SID_FEM"
    written.write_text(sid_text(public[name]), "latin-1")
    same(public[name], read_sid(written))


def same(a, b):
    assert [node.name for node in a.nodes] == [node.name for node in b.nodes]
    for (path, s), (_, t) in zip(a.items(), b.items(), strict=True):
        for x, y in zip(s, t, strict=True):
            if x is not None or y is not None:
                x, y = (np.zeros_like(y) if x is None else x), (np.zeros_like(x) if y is None else y)
                assert x == pytest.approx(y, rel=1e-11, abs=1e-14 * np.abs(x).max(initial=0.0)), path


@pytest.fixture(scope="module")
def designed():
    """A body with derivatives by a length, and by what nothing depends on but the damping."""
    before, body = (cantilever(L, elements=2, k=2, damping=Damping(1.0, beta)) for L, beta in ((1.0, 0.0), MOVED))
    found = reduced(before)
    along = derivative(found, body, 1e-30)
    damped = found.sid.map(lambda path, term: term.map(lambda m: m if path == "De" else np.zeros_like(m)))
    return replace(found.sid, design={"L (long)": along, "b": damped})


def test_design_derivatives_are_written_and_read_again(designed, tmp_path):
    """With the inertia's second order, which a file without them has no place for."""
    path = tmp_path / "designed.SID_FEM"
    path.write_text(sid_text(designed), "latin-1")
    again = read_sid(path)
    assert list(again.design) == ["L (long)", "b"]
    same(designed, again)
    for name, along in designed.design.items():
        same(along, again.design[name])
    assert again.J.M2.any() and again.design["L (long)"].J.M2.any() and again.design["b"].De.M0.any()
    assert sid_text(replace(designed, design={})).count("mn(") == 0
    other = read_sid(path, length=1e-3).design["b"]
    assert pytest.approx(1e-6 * designed.De.M0) == other.De.M0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"(Ke\n(?:.*\n){6}.*nd +=) +2", r"\1 3", "Ke has derivatives by 3 design variables, others by 2|others by 3"),
        (r"(Ke\n(?:.*\n){6}.*nd +=) +2", r"\1 -1", "nd is -1, not between 0 and 10000"),
        (r"idesign \( +2\) = b", "idesign (   3) = b", r"indices \(3\) exceed 2"),
        (r"idesign \( +2\) = b", "idesign (   2) = L (long)", "two design variables have the name 'L \\(long\\)'"),
        (r"dm0\( +1, +1, +1\)", "dm0(   1,   1,   7)", r"indices \(1, 1, 7\) exceed"),
        (r"dm0\( +1, +1, +1\)", "dm2(   1,   1,   1)", "has a value dm2, which is not known"),
        (r"(Ke\n(?:.*\n)*?.*dm0\( +1, +2, +1\) +=).*", r"\1 1D+09", "Ke is not symmetric in its derivative by L"),
        ("refmod\n", "refmod\n                mass = 1\n", "mass stands twice, first in line 5"),
    ],
)
def test_design_derivatives_that_contradict_themselves(designed, tmp_path, old, new, said):
    path, text = tmp_path / "designed.SID_FEM", sid_text(designed)
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    path.write_text(changed, "latin-1")
    with pytest.raises(InputOutputError, match=rf"^{path}:\d+: .*(?:{said})"):
        read_sid(path)


def test_a_body_without_mass_and_stiffness_of_its_modes(designed, tmp_path):
    """Its derivatives are not compared with terms that are all zero."""
    path = tmp_path / "zero.SID_FEM"
    zero = designed.map(lambda p, term: term if p == "mass" else term.map(np.zeros_like))
    path.write_text(sid_text(replace(zero, modes=("",) * designed.n)), "latin-1")
    with pytest.raises(InputOutputError, match="Me is not positive definite"):
        read_sid(path)


def damaged(tmp_path, change):
    lines = list(LINES)
    change(lines)
    path = tmp_path / "damaged.SID_FEM"
    path.write_text("\n".join(lines), "latin-1")
    with pytest.raises(InputOutputError) as error:
        read_sid(path)
    return str(error.value).removeprefix(f"{path}:")


def line_of(text, after=0):
    return next(i for i, line in enumerate(LINES) if i > after and re.search(text, line))


KE = line_of(r"^\s*Ke\s*$")
VALUE = line_of("m0", KE)


def put(place, text):
    def change(lines):
        lines[place] = re.sub(r"=.*", f"= {text}", lines[place])

    return change


def test_truncated(tmp_path):
    def cut(lines):
        del lines[KE + 2 :]

    assert damaged(tmp_path, cut) == f"{KE + 2}: the file ends within Ke, which line {KE + 1} opens"


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        (VALUE, "NaN", "NaN is no finite number"),
        (VALUE, "1.0D+999", "1.0D+999 is no finite number"),
        (VALUE, "1.0D+200", "1.0D+200 is larger than anything in nature"),
        (VALUE, "one", "'one' is no number"),
        (line_of("nrow", KE), "2", "nrow of Ke is 2, not 1"),
        (line_of("order", KE), "7", "order of Ke is 7; 0 and 1 are known"),
        (line_of("nelastq"), "0", "nelastq is 0, not between 1 and 1000"),
        (line_of("nelastq"), "1.5", "nelastq is 1.5, which is no whole number"),
    ],
)
def test_wrong_values_are_refused_with_their_line(tmp_path, place, text, said):
    assert damaged(tmp_path, put(place, text)) == f"{place + 1}: {said}"


@pytest.mark.parametrize("text", ["-1.5D-103", "-1.5d-103", "-1.5-103", "-15.E-104"])
def test_numbers_as_fortran_writes_them(text):
    assert number(Block("Ke", 1, "a.SID_FEM"), Line(2, (1, 1), text)) == pytest.approx(-1.5e-103, rel=1e-15)


def test_what_no_body_has(tmp_path):
    me = line_of(r"^\s*Me\s*$")
    assert damaged(tmp_path, put(line_of("structure", me), "0")).startswith(f"{me + 1}: Me is not positive definite")

    def negative(lines):
        put(line_of("structure", me), "1")(lines)
        lines.insert(line_of("structure", me) + 1, "m0( 1, 1) = -1.0D+00")

    assert damaged(tmp_path, negative).startswith(f"{me + 1}: Me is not positive definite: an eigenvalue is -1")
    assert "the mass is -1" in damaged(tmp_path, put(line_of("mass"), "-1.0D+00"))


def test_places_that_contradict_themselves(public, tmp_path):
    """A node that says to move otherwise than by phi, or to turn otherwise than by psi."""
    beam = public["Beam_3m"]
    node = beam.nodes[0]
    for term, changed, said in (
        ("origin", node.origin._replace(M1=2 * node.phi.M0), f"node {node.name}: phi = d origin/dq fails by 0.5"),
        ("AP", node.AP._replace(M1=None), "psi~ = d AP/dq fails by 1"),
    ):
        path = tmp_path / f"{term}.SID_FEM"
        wrong = replace(beam, nodes=(replace(node, **{term: changed}), *beam.nodes[1:]))
        path.write_text(sid_text(wrong), "latin-1")
        assert any(said in warning for warning in read_sid(path).warnings)


def test_indices_and_ends(tmp_path):
    def far(lines):
        lines[VALUE] = lines[VALUE].replace("1, 1", "1, 9")

    def other(lines):
        place = line_of("end Ke")
        lines[place] = lines[place].replace("Ke", "Me")

    assert damaged(tmp_path, far) == f"{VALUE + 1}: indices (1, 9) exceed 1 x 1"
    assert "'end Me' stands within Ke" in damaged(tmp_path, other)


def test_entries_that_contradict_themselves(tmp_path):
    def twice(lines):
        lines.insert(VALUE, lines[VALUE])

    def second_order(lines):
        lines.insert(VALUE, lines[VALUE].replace("m0( 1, 1)", "m2( 1, 1, 1, 1)"))

    assert damaged(tmp_path, twice) == f"{VALUE + 2}: the entry stands already in line {VALUE + 1}"
    assert damaged(tmp_path, second_order) == f"{VALUE + 1}: Ke has a value m2, which is not known"
    assert "has entries, though its structure is 0" in damaged(tmp_path, put(line_of("structure", KE), "0"))


def test_any_damage_ends_in_a_sentence_with_its_line(tmp_path):
    """Lines lost, doubled, exchanged and overwritten at random: never another exception, nor one without a place."""
    random = np.random.default_rng(0)
    path = tmp_path / "damaged.SID_FEM"
    refused = 0
    for _ in range(120):
        lines = list(LINES)
        for _ in range(random.integers(1, 4)):
            i, j = random.integers(1, len(lines), 2)
            match random.integers(4):
                case 0:
                    del lines[i]
                case 1:
                    lines.insert(i, lines[j])
                case 2:
                    lines[i], lines[j] = lines[j], lines[i]
                case _:
                    lines[i] = f"{lines[i].partition('=')[0]}= {random.choice(['0', '-1', 'NaN', '3', '1D308', ''])}"
        path.write_text("\n".join(lines), "latin-1")
        try:
            read_sid(path)
        except InputOutputError as error:
            refused += 1
            assert re.match(rf"{path}:\d+: ", str(error))
    assert refused > 60


def test_a_missing_term(tmp_path):
    def without(lines):
        end = line_of("end Ke")
        del lines[KE : end + 1]

    assert "modal ends without Ke" in damaged(tmp_path, without)


def test_terms_of_two_writers_mixed_up_are_refused(public, tmp_path):
    """Gr of one body among the terms of another: no order of its columns fits."""
    beam = public["Beam_3m"]
    G = np.random.default_rng(0).normal(size=beam.Gr.M0.shape)
    path = tmp_path / "mixed.SID_FEM"
    path.write_text(sid_text(replace(beam, Gr=beam.Gr._replace(M0=G))), "latin-1")
    with pytest.raises(InputOutputError, match="the order of the columns of Gr cannot be settled"):
        read_sid(path)


def test_either_order_of_columns_is_understood(public, tmp_path):
    """The columns of Gr and Ge of a written file put in order of modes, as other writers do."""
    beam = public["Beam_3m"]
    n, lines, name = beam.n, [], ""
    for line in sid_text(beam).splitlines():
        name = line.strip() if line.strip() in ("Gr", "Ge") else "" if line.strip().startswith("end ") else name
        found = re.match(r"(\s*m0\(\s*\d+,\s*)(\d+)(\).*)", line)
        if name and found:
            axis, mode = divmod(int(found[2]) - 1, n)
            line = f"{found[1]}{3 * mode + axis + 1}{found[3]}"
        lines.append(line)
    path = tmp_path / "modes.SID_FEM"
    path.write_text("\n".join(lines), "latin-1")
    same(beam, read_sid(path))


def test_some_modes(public):
    beam, part = public["Beam_3m"], selected(public["Beam_3m"], [0, 2])
    assert part.frequencies() == pytest.approx(beam.frequencies()[[0, 2]], rel=1e-6)
    assert np.array_equal(part.Gr.M0, beam.Gr.M0[[0, 2]])
    assert np.array_equal(part.Cr.M1, beam.Cr.M1[np.ix_([0, 2], [0, 2])])
    assert np.array_equal(part.nodes[3].phi.M0, beam.nodes[3].phi.M0[[0, 2]])


def test_units_do_not_change_frequencies(public):
    beam = scaled(public["Beam_3m"], 10.0)
    assert beam.frequencies() == pytest.approx(public["Beam_3m"].frequencies())
    assert pytest.approx(10 * public["Beam_3m"].nodes[0].phi.M0) == beam.nodes[0].phi.M0
    assert pytest.approx(100 * public["Beam_3m"].J.M0) == beam.J.M0
