"""Prescribed motions: who gives which coordinate, tables and their faults, loops."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.errors import InputOutputError, ModelError
from mbsim_cli.solve.motion import Trajectory
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


def test_motion_varies_with_parameters(tmp_path):
    motion = "all: {type: harmonic, amplitude: A, frequency: 1}, laws: {b.angle: {type: constant, value: 1}}"
    trajectory = Trajectory(_problem(tmp_path, motion, sensitivity="ddm"))
    time = np.array([0.1, 0.3])
    assert trajectory.varies.tolist() == [0]
    varied = trajectory.variation(time)
    assert np.allclose(varied.position[:, :, 0], np.column_stack([np.sin(2 * np.pi * time), [0, 0]]))


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
        (TABLE, _without("time"), ".table.time: the table has no column 'time'"),
        (TABLE, _without("b.angle"), ".table: nothing gives the motion of 'b.angle'"),
        (TABLE, GOOD | HOLE, ".table: column 'b.angle' of the table holds nan in row 6"),
        (TABLE, GOOD | MIXED, ".table.time: the times of the table must increase, but 0.1 s follows 0.2 s"),
        (TABLE, SHORT, ".table: the table covers 0 s to 0.5 s, the analysis 0 s to 1 s"),
        ("table: {file: x.csv, columns: {a.angle: hip}}", GOOD, ".table: the table has no column 'hip'"),
        (
            "table: {file: x.csv, derivatives: table}",
            GOOD | RATES,
            ".table: the table has no column 'b.angle.velocity'",
        ),
    ],
)
def test_faults(tmp_path, motion, table, expected):
    assert _issue(tmp_path, motion, table).startswith("analysis.motion" + expected)


def test_loops_and_constraints_are_told_from_trees(tmp_path):
    text = MODEL.replace("MOTION", "all: {type: constant, value: 1}")
    loop = text + "joints: {close: {type: revolute, bodies: [ground, b], point: origin, axis: z}}\n"
    with pytest.raises(ModelError) as caught:
        build(spec.load(write(tmp_path, loop)))
    (issue,) = caught.value.issues
    assert (
        "form a loop" in issue.message
        and "multiplier" in issue.hint
        and {"a", "b", "close"} <= set(issue.message.split())
    )
    rope = text + "constraints: {rope: {type: distance, points: [ground.origin, b.origin]}}\n"
    with pytest.raises(ModelError, match="inverse dynamics knows no constraints"):
        build(spec.load(write(tmp_path, rope)))


def test_forces_from_tables(tmp_path):
    text = MODEL.replace("MOTION", "all: {type: constant, value: 1}").replace("analysis", (
        "forces: {push: {type: force, point: b.origin, value: [0, 1, 0], law: {type: table, file: f.h5, column: F}}}\n"
        "analysis"
    ))  # fmt: skip
    problem = build(spec.load(write(tmp_path, text)), read_table=lambda path: {"time": TIME, "F": 3 * TIME}).problem
    first = problem.model.laws.theta[problem.model.forces.law[0, 0]]
    assert np.allclose(problem.theta[first : first + 11], TIME)
    with pytest.raises(ModelError, match="the table has no column 'F'"):
        build(spec.load(write(tmp_path, text)), read_table=lambda path: {"time": TIME, "G": 3 * TIME})
