"""Frames of tables: widths, folding, sections, colours, and encodings without lines."""

import pytest

from mbsim_cli.cli.tables import PLAIN, Table


@pytest.fixture
def table():
    table = Table(["name", "effect"], right=[0])
    table.add("L", "length of the bar", colour="32")
    table.section()
    table.add("mass_of_the_bar", "漢字\nm\t2")
    table.section()  # nothing follows
    return table


def test_columns_are_as_wide_as_their_texts(table):
    assert table.text(200).splitlines() == [
        "┏━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓",
        "┃            name ┃ effect            ┃",
        "┡━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩",
        "│               L │ length of the bar │",
        "├─────────────────┼───────────────────┤",
        "│ mass_of_the_bar │ 漢字              │",
        "│                 │ m       2         │",
        "└─────────────────┴───────────────────┘",
    ]


def test_a_narrow_terminal_folds_the_widest_columns(table):
    lines = table.text(25).splitlines()
    assert {len(line) for line in lines if "漢" not in line} == {25}
    assert lines[3:5] == ["│         L │ length of │", "│           │ the bar   │"]
    assert [line[:13] for line in lines[6:8]] == ["│ mass_of_t │", "│    he_bar │"]
    assert table.text(3) == table.text(0)  # a letter a column at least


def test_only_a_terminal_gets_colours(table):
    assert "\x1b" not in table.text(200)
    assert "│ \x1b[32mlength of the bar\x1b[0m │" in table.text(200, coloured=True)


def test_a_frame_of_ascii(table):
    lines = table.text(200).translate(PLAIN).splitlines()
    assert lines[0] == lines[2] == lines[4] == lines[-1] == "+-----------------+-------------------+"
    assert lines[1] == "|            name | effect            |"


def test_control_characters_are_written_out():
    assert "\\x1b[2J" in Table(["a\x1b[2J"]).text(80)
