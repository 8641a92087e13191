"""Prescribed motions: who gives which coordinate, tables and their faults, loops."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.errors import InputOutputError, ModelError
from mbsim_cli.solve.inverse.analysis import Trajectory
from tests.spec.example import write

MODEL = """\
mbsim: 1
parameters: {A: 0.5}
dh: {arm: {rows: {a: {a: 1, link: {mass: 1}}, b: {a: 1, link: {mass: 1}}}}}
analysis: {type: inverse_dynamics, sampling: 0.1, duration: 1, motion: {MOTION}}
"""
TIME = np.linspace(0, 1, 11)


def _problem(tmp_path, motion, table=None, **options):
    def read(path):
        if table is None:
            raise InputOutputError(f"cannot read {path.name}: No such file")
        return table

    model = spec.load(write(tmp_path, MODEL.replace("MOTION", motion)))
    return build(model, read_table=read, **options).problem


def _issue(tmp_path, motion, table=None):
    with pytest.raises(ModelError) as caught:
        _problem(tmp_path, motion, table)
    (issue,) = caught.value.issues
    assert issue.line > 0
    return f"{issue.path}: {issue.message}"


def test_laws_and_tables_share_the_coordinates(tmp_path):
    table = {"time": TIME, "hip": TIME**3}
    motion = "all: {type: constant, value: 2}, table: {file: x.csv, columns: {b.angle: hip}}"
    found = Trajectory(_problem(tmp_path, motion, table)).at(np.array([0.25, 0.6]))
    assert np.allclose(found.position, [[2, 0.25**3], [2, 0.6**3]], atol=1e-14)
    assert np.allclose(found.velocity[:, 1], [3 * 0.25**2, 3 * 0.6**2], atol=1e-13)
    assert np.allclose(found.acceleration[:, 1], [6 * 0.25, 6 * 0.6], atol=1e-12)


def test_given_derivatives_are_met_and_quintic_between(tmp_path):
    columns = {"a.angle": TIME**5, "a.angle.velocity": 5 * TIME**4, "a.angle.acceleration": 20 * TIME**3}
    motion = "laws: {b.angle: {type: polynomial, coefficients: [1, 2]}}, table: {file: x.h5, derivatives: table}"
    times = np.array([0.0, 0.05, 0.5, 0.97, 1.0])
    found = Trajectory(_problem(tmp_path, motion, {"time": TIME, **columns})).at(times)
    expected = (times**5, 5 * times**4, 20 * times**3)
    for ours, theirs in zip(found[1:], expected, strict=True):
        assert np.allclose(ours[:, 0], theirs, atol=1e-11)


def test_scatter_that_decides_accelerations_is_warned_of(tmp_path):
    def warnings(values):
        table = {"time": np.linspace(0, 1, 101), "a.angle": values}
        motion = "laws: {b.angle: {type: constant, value: 1}}, table: {file: x.h5}"
        model = spec.load(write(tmp_path, MODEL.replace("MOTION", motion)))
        return build(model, read_table=lambda path: table).warnings

    smooth, noise = np.sin(8 * np.linspace(0, 1, 101)), np.random.default_rng(0).normal(0, 1e-3, 101)
    assert warnings(smooth) == []
    (text,) = warnings(smooth + 0.1 * noise)  # up to 16 rad/s^2 of 64
    assert text.startswith("rows of a.angle in x.h5 leave accelerations an estimated error of 5.6 %, ")
    (text,) = warnings(smooth + noise)
    assert text.startswith("rows of a.angle in x.h5 scatter by about 0.00093, or")


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ((1, 1, 1), []),
        ((180 / np.pi, 1, 1), ["rows of a.angle in x.h5 hold velocities that their positions contradict by 98%: look"]),
        ((1, 1, -1), ["rows of a.angle in x.h5 hold accelerations that their velocities contradict by 200%: look"]),
        ((0, 0, 0), []),
    ],
)
def test_rates_that_are_none_of_their_column_are_warned_of(factors, said, tmp_path):
    time = np.linspace(0, 1, 41)
    rows = np.sin(8 * time), 8 * np.cos(8 * time), -64 * np.sin(8 * time)
    names = "a.angle", "a.angle.velocity", "a.angle.acceleration"
    table = {"time": time} | {name: factor * row for name, factor, row in zip(names, factors, rows, strict=True)}
    motion = "laws: {b.angle: {type: constant, value: 1}}, table: {file: x.h5, derivatives: table}"
    found = build(spec.load(write(tmp_path, MODEL.replace("MOTION", motion))), read_table=lambda path: table).warnings
    assert [text.partition(" at units")[0] for text in found] == said


@pytest.mark.parametrize(
    ("rows", "beside", "told"), [(11, 0, True), (12, 0, True), (13, 3, False), (21, 0, True), (51, 0, False)]
)
def test_rows_that_lie_too_far_apart_are_warned_of(rows, beside, told, tmp_path):
    """By as much as their spline is off: at its ends ten times as much as elsewhere."""
    time = 1.0 / (rows - 1) * np.arange(-beside, rows + beside)
    table = {"time": time, "a.angle": np.sin(3 * time + 0.4), "b.angle": 0.1 + 0.3 * time}
    model = spec.load(write(tmp_path, MODEL.replace("MOTION", "table: {file: x.h5}")))
    assembled = build(model, read_table=lambda path: table)
    instants = np.linspace(0.0, 1.0, 501)
    off = Trajectory(assembled.problem).at(instants).acceleration[:, 0] + 9.0 * np.sin(3 * instants + 0.4)
    true = np.abs(off).max() / 9.0
    assert bool(assembled.warnings) == told == (true > 7.5e-3)
    if told:
        (text,) = assembled.warnings
        assert text.startswith("rows of a.angle in x.h5 leave accelerations an estimated error of ")
        assert true < 1e-2 * float(text.partition(" of ")[2].partition(" error of ")[2].partition(" %")[0]) < 2.5 * true


def test_motion_varies_with_parameters(tmp_path):
    motion = "all: {type: harmonic, amplitude: A, frequency: 1}, laws: {b.angle: {type: constant, value: 1}}"
    trajectory = Trajectory(_problem(tmp_path, motion, sensitivity="ddm"))
    time = np.array([0.1, 0.3])
    assert trajectory.varies.tolist() == [0]
    position, _, _ = trajectory.variation(time)
    assert np.allclose(position[:, :, 0], np.column_stack([np.sin(2 * np.pi * time), [0, 0]]))


TABLE = "table: {file: x.csv}"
GOOD = {"time": TIME, "a.angle": TIME, "b.angle": TIME}
HOLE = {"b.angle": np.where(TIME == 0.5, np.nan, TIME)}
MIXED = {"time": TIME[[0, 2, 1, *range(3, 11)]]}
SHORT = {name: values[:6] for name, values in GOOD.items()}
RATES = {"a.angle.velocity": TIME, "a.angle.acceleration": TIME, "b.angle.acceleration": TIME}


def _without(name):
    return {column: values for column, values in GOOD.items() if column != name}


@pytest.mark.parametrize(
    ("motion", "table", "expected"),
    [
        ("laws: {a.angle: {type: constant, value: 1}}", None, ": nothing gives the motion of 'b.angle'"),
        (TABLE, None, ".table.file: cannot read x.csv: No such file"),
        (TABLE, _without("time"), ".table.columns.time: the table has no column 'time'"),
        (TABLE, _without("b.angle"), ".table: nothing gives the motion of 'b.angle'"),
        (TABLE, GOOD | HOLE, ".table.columns.b.angle: column 'b.angle' of the table holds nan in row 6"),
        (TABLE, GOOD | MIXED, ".table.columns.time: column 'time' of the table must increase, but 0.1 follows 0.2"),
        (TABLE, SHORT, ".table: the table covers 0 s to 0.5 s, the analysis 0 s to 1 s"),
        (
            "table: {file: x.csv, columns: {a.angle: hip}}",
            GOOD,
            ".table.columns.a.angle: the table has no column 'hip'",
        ),
        (
            "table: {file: x.csv, derivatives: table}",
            GOOD | RATES,
            ".table.columns.b.angle: the table has no column 'b.angle.velocity'",
        ),
        (
            "laws: {a.angle: {type: constant, value: 1}}, table: {file: x.csv, scale: {a.angle: deg}}",
            GOOD,
            ".table.scale.a.angle: 'a.angle' is not read from the table: a law gives its motion",
        ),
        (
            "all: {type: constant, value: 1}, table: {file: x.csv, scale: {a.angle: deg}}",
            _without("a.angle"),
            ".table.scale.a.angle: 'a.angle' is not read from the table: the table has no such column",
        ),
    ],
)
def test_faults(tmp_path, motion, table, expected):
    assert _issue(tmp_path, motion, table).startswith("analysis.motion" + expected)


def test_columns_in_other_units(tmp_path):
    table = {"t": 1000 * TIME, "hip": np.degrees(TIME**3), "hip.velocity": np.degrees(3 * TIME**2)}
    table |= {"hip.acceleration": np.degrees(6 * TIME)}
    for derivatives in ("spline", "table"):
        motion = (
            "all: {type: constant, value: 2}, table: {file: x.csv, columns: {time: t, b.angle: hip}, "
            f"scale: {{time: 1e-3, b.angle: deg}}, derivatives: {derivatives}}}"
        )
        found = Trajectory(_problem(tmp_path, motion, table)).at(np.array([0.25, 0.6]))
        assert np.allclose(found.position[:, 1], [0.25**3, 0.6**3], atol=1e-14)
        assert np.allclose(found.velocity[:, 1], [3 * 0.25**2, 3 * 0.6**2], atol=1e-13)


LAW = """\
mbsim: 1
parameters: {s: {value: 1000, unit: N}, c: 0.001}
bodies: {ball: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {free: {type: floating, bodies: [ground, ball]}}
forces: {push: {type: force, point: ball.origin, value: [1, 0, 0], law: TABLE}}
sensors: {x: {type: position, point: ball.origin}}
objectives: {way: {final: x.x}}
analysis: {sensitivity: {method: ddm, parameters: all}}
"""


def test_factors_of_a_law_are_design_parameters(tmp_path):
    read = {"t": 1000 * TIME, "F": TIME**2 / 1000}
    text = LAW.replace("TABLE", "{type: table, file: f.csv, columns: {time: t, value: F}, scale: {time: c, value: s}}")
    assembled = build(spec.load(write(tmp_path, text)), read_table=lambda path: read)
    problem = assembled.problem
    first = problem.model.laws.theta[problem.model.forces.law[0, 0]]
    assert np.allclose(problem.theta[first + 2 : first + 13], TIME)
    step = 1e-6
    for k, (name, value) in enumerate((("s", 1000.0), ("c", 0.001))):
        moved = [assembled.at({name: value * (1 + sign * step)}).problem.theta for sign in (1, -1)]
        numerical = np.nan_to_num(moved[0] - moved[1]) / (2 * step * value)  # beyond its ends a table is no number
        found = problem.theta_rho[:, k]
        assert np.abs(found).max() > 0 and np.allclose(found, numerical, rtol=1e-7, atol=1e-7 * np.abs(found).max())


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("file: f.csv, columns: {val: F}", "laws.a.columns.val: unknown quantity 'val' of a table"),
        ("file: f.csv, columns: {time: t}, scale: {x: 2}", "laws.a: time and x both name the argument of the table"),
        ("file: f.csv, scale: {time: 0}", "laws.a.scale.time: must be greater than zero, is 0"),
        ("file: f.csv, scale: {value: 0}", "laws.a.scale.value: must not be zero"),
        ("file: f.h5, delimiter: ;", "laws.a.delimiter: an HDF5 file has no delimiter"),
        ("file: f.csv, delimiter: comma", "laws.a.delimiter: must be one character that no number holds"),
        ("file: f.csv, column: F", "laws.a.column: unknown key 'column'"),
    ],
)
def test_faults_of_the_description(tmp_path, table, expected):
    with pytest.raises(ModelError) as caught:
        spec.load(write(tmp_path, f"mbsim: 1\nlaws: {{a: {{type: table, {table}}}}}\n"))
    (issue,) = caught.value.issues
    assert f"{issue.path}: {issue.message}" == expected


def test_the_factor_on_the_time_of_a_motion_is_no_parameter(tmp_path):
    with pytest.raises(ModelError, match="must not depend on parameters"):
        _problem(tmp_path, "table: {file: x.csv, scale: {time: A}}", GOOD)


@pytest.mark.parametrize("derivatives", ["spline", "table"])
def test_the_factor_on_a_coordinate_is_one(tmp_path, derivatives):
    table = GOOD | {f"{joint}.angle{rate}": np.sin(TIME) for joint in "ab" for rate in (".velocity", ".acceleration")}
    motion = f"table: {{file: x.csv, scale: {{a.angle: A**2}}, derivatives: {derivatives}}}"
    time = np.array([0.13, 0.6])
    trajectory = Trajectory(_problem(tmp_path, motion, table, sensitivity="ddm"))
    assert trajectory.varies.tolist() == [0]
    found, varied = trajectory.at(time), trajectory.variation(time)
    for value, by_A in zip(found[1:], varied, strict=True):
        assert np.allclose(by_A[:, 0, 0], 2 / 0.5 * value[:, 0], rtol=1e-14) and not by_A[:, 1].any()


@pytest.mark.parametrize(
    "closed",
    [
        "joints: {close: {type: revolute, bodies: [ground, b], point: origin, axis: z}}\n",
        "constraints: {rope: {type: distance, points: [ground.origin, b.origin]}}\n",
    ],
)
def test_loops_and_constraints_are_told_from_trees(tmp_path, closed):
    text = MODEL.replace("MOTION", "all: {type: constant, value: 1}")
    with pytest.raises(ModelError, match="loops and constraints leave fewer freedoms than coordinates"):
        build(spec.load(write(tmp_path, text + closed)))


def test_forces_from_tables(tmp_path):
    text = MODEL.replace("MOTION", "all: {type: constant, value: 1}").replace("analysis", (
        "forces: {push: {type: force, point: b.origin, value: [0, 1, 0], law: measured}}\n"
        "laws: {measured: {type: table, file: f.h5, columns: {value: F}}}\n"
        "analysis"
    ))  # fmt: skip
    problem = build(spec.load(write(tmp_path, text)), read_table=lambda path: {"time": TIME, "F": 3 * TIME}).problem
    first = problem.model.laws.theta[problem.model.forces.law[0, 0]]
    assert np.allclose(problem.theta[first + 2 : first + 13], TIME)
    with pytest.raises(ModelError, match="the table has no column 'F'"):
        build(spec.load(write(tmp_path, text)), read_table=lambda path: {"time": TIME, "G": 3 * TIME})
