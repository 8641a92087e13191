"""Histories and gradients as pictures: the same bytes every time, and what is drawn is what was given."""

import io

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from mbsim_cli.model.pictures import together
from mbsim_cli.model.units import quotient
from mbsim_cli.report.panels import MOST, Bars, Panel
from mbsim_cli.report.sheet import draw_bars, draw_histories, save_sheet
from mbsim_cli.report.style import COLOURS, DASHES, styled, unit_label

from .pictures import gradient, series

PLANE = series([0, 1, 2], [1, 0, -1], [0, 0, 0])
PANELS = [Panel("r", (PLANE,)), Panel("v", (series([1, 2, 3], unit="m/s", components=("value",)),))]
BARS = [Bars("psi", (gradient([1.0, -2.0]),))]


def drawn(panels, labels=("a", "b", "c")):
    """Axes of a sheet of histories."""
    figure = Figure()
    with styled():
        draw_histories(figure.add_gridspec()[0], panels, labels[: len(panels[0].series)])
    return figure.axes


@pytest.mark.parametrize("kind, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_bytes_every_time(tmp_path, kind, start):
    contents = []
    for name in "ab":
        save_sheet(PANELS, BARS, ["one"], tmp_path / name, kind)
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1] and contents[0].startswith(start)


def test_the_users_settings_neither_matter_nor_change(tmp_path):
    pictures = []
    for size in (10.0, 30.0):
        with matplotlib.rc_context({"font.size": size, "axes.facecolor": "red"}):
            before = dict(matplotlib.rcParams)
            picture = io.BytesIO()
            save_sheet(PANELS, BARS, ["one"], picture, "png")
            pictures.append(picture.getvalue())
            assert dict(matplotlib.rcParams) == before
    assert pictures[0] == pictures[1]


def test_panels_share_time_and_leave_out_what_is_zero():
    top, bottom = drawn(PANELS)
    assert [line.get_label() for line in top.lines] == ["x", "y"]
    assert top.get_ylabel() == "r [m]" and bottom.get_ylabel() == "v [m/s]" and bottom.get_xlabel() == "time [s]"
    assert top.get_xlim() == bottom.get_xlim() == (0.0, 1.0)
    np.testing.assert_array_equal(top.lines[1].get_ydata(), [1, 0, -1])


def test_a_quantity_that_is_zero_is_drawn_as_zero():
    (axes,) = drawn([Panel("r", (series([0, 0], [0, 0]),))])
    assert len(axes.lines) == 2


def test_results_differ_by_colour_or_else_by_dash():
    (alone,) = drawn([Panel("v", tuple(series([1, k], components=("value",)) for k in range(3)))])
    assert [line.get_color() for line in alone.lines] == list(COLOURS[:3])
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["a", "b", "c"]
    (several,) = drawn([Panel("r", (series([1, 2], [3, 4]), None, series([1, 3], [3, 5])))])
    assert [line.get_label() for line in several.lines] == ["x, a", "y, a", "x, c", "y, c"]
    assert [line.get_color() for line in several.lines] == [*COLOURS[:2]] * 2
    assert several.lines[0].get_linestyle() == DASHES[0] and several.lines[2].get_linestyle() != DASHES[0]


def test_a_legend_for_all_where_every_axes_has_every_result():
    both = tuple(series([1, k], components=("value",)) for k in range(2))
    legends = [axes.get_legend() is not None for axes in drawn([Panel("v", both), Panel("w", both)])]
    assert legends == [True, False]
    legends = [axes.get_legend() is not None for axes in drawn([Panel("v", (both[0], None)), Panel("w", both)])]
    assert legends == [True, True]


def test_labels_are_no_formulas(tmp_path):
    save_sheet(PANELS[1:], [], [r"$\wrong{$"], tmp_path / "a", "png")
    save_sheet([Panel("v", PANELS[1].series * 2)], [], [r"$\wrong{$", "b"], tmp_path / "a", "png")
    assert (tmp_path / "a").stat().st_size > 0


def test_many_components_are_a_bundle():
    names = tuple(map(str, range(43)))
    (axes,) = drawn([Panel("tau", (series(*np.random.default_rng(0).random((43, 5)), components=names),))])
    assert len(axes.lines) == 43 and axes.get_legend() is None and axes.get_title("right") == "43 components"


def test_a_name_stands_above_where_there_is_no_room_beside():
    short, long = (Panel(name, PANELS[1].series) for name in ("v", "∂knee.angle.torque/∂hip.angle"))
    above, beside = drawn([long, short])
    assert above.get_title("left") == f"{long.title} [m/s]" and not above.get_ylabel()
    assert beside.get_ylabel() == "v [m/s]" and not beside.get_title("left")
    (alone,) = drawn([long])
    assert alone.get_ylabel() == f"{long.title} [m/s]"


def test_round_off_does_not_fill_the_axes():
    (axes,) = drawn([Panel("E", (series([5.0, 5.0 + 1e-13, 5.0], components=("value",)),))])
    low, high = axes.get_ylim()
    assert high - low > 0.5


def test_bars_show_derivatives_and_relative_ones():
    figure = Figure()
    with styled():
        draw_bars(figure.add_gridspec()[0], [Bars("psi", (gradient([1.0, -3.0], value=2.0, rho=[4.0, 5.0]),))], ["a"])
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [1.0, -3.0]
    assert [bar.get_width() for bar in right.patches] == [2.0, -7.5]
    assert [label.get_text() for label in left.get_yticklabels()] == ["p0  [(m²/s)/m]", "p1  [(m²/s)/m]"]
    assert "2 m²/s" in left.get_title("left")


def test_an_objective_that_is_zero_has_no_relative_sensitivity():
    bars = Bars("psi", (gradient([1.0], value=0.0),))
    assert np.isnan(bars.of("p0", relative=True)).all()
    figure = Figure()
    with styled():
        draw_bars(figure.add_gridspec()[0], [bars], ["a"])
    assert [text.get_text() for text in figure.axes[1].texts] == ["–"]


def test_results_with_other_parameters_are_laid_over_each_other():
    bars = Bars("psi", (gradient([1.0]), None, gradient([3.0, 4.0])))
    assert list(bars.parameters) == ["p0", "p1"] and bars.value is None
    np.testing.assert_equal(bars.of("p1", relative=False), [np.nan, np.nan, 4.0])


def test_of_many_parameters_those_that_matter_stay_in_order():
    numbers = np.arange(100.0)
    assert list(Bars("psi", (gradient(numbers),)).parameters) == [f"p{k}" for k in range(100 - MOST, 100)]


def test_a_sheet_is_as_wide_as_a_page_and_grows_downwards(tmp_path):
    heights = []
    for count in (1, 4):
        save_sheet(PANELS[:1] * count, [], ["a"], tmp_path / "a.png", "png")
        with Image.open(tmp_path / "a.png") as image:
            assert image.width == 936
            heights.append(image.height)
    assert heights[1] > heights[0]


@pytest.mark.parametrize(
    "unit, by, expected",
    [
        ("m", "kg", "m/kg"),
        ("m/s", "m", "(m/s)/m"),
        ("J", "N m/rad", "J/(N m/rad)"),
        ("1", "m", "1/m"),
        ("m", "1", "m"),
        ("", "m", ""),
        ("m", "", ""),
    ],
)
def test_units_of_derivatives(unit, by, expected):
    assert quotient(unit, by) == expected


def test_labels_name_units():
    assert unit_label("a", "m/s^2") == "a [m/s²]" and unit_label("e", "1") == "e"


def test_quantities_of_different_names_share_axes():
    """Each by its name, components of vectors too, and by its unit where units differ."""
    speed = series([1.0, 2.0, 3.0], unit="m/s", components=("value",))._replace(name="speed")
    (axes,) = drawn([Panel("r, speed", (together([PLANE._replace(name="r"), speed, None]),))], "a")
    assert [line.get_label() for line in axes.lines] == ["r.x [m]", "r.y [m]", "speed [m/s]"]
    assert together([None, speed]) is speed and together([None]) is None


def test_one_quantity_over_another():
    x, y = (series(column, components=("value",)) for column in ([0.0, 1.0, 0.5], [2.0, 3.0, 5.0]))
    (axes,) = drawn([Panel("y", (y, None), (x._replace(name="x"), x))])
    path, start = axes.lines
    assert path.get_xdata().tolist() == [0.0, 1.0, 0.5] and path.get_ydata().tolist() == [2.0, 3.0, 5.0]
    assert axes.get_xlabel() == "x [m]" and axes.get_aspect() == 1.0 and start.get_xdata().tolist() == [0.0]
    (axes,) = drawn([Panel("v", (y._replace(units=("m/s",)),), (x,))])
    assert axes.get_aspect() == "auto"
