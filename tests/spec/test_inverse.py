"""The inverse analysis in a model file: references, torque sensors, and what does not fit."""

import pytest

from tests.spec.example import issues_of

BASE = """\
mbsim: 1
dh: {arm: {rows: {a: {a: 1, link: {mass: 1}}, b: {a: 1, link: {mass: 1}}}}}
laws: {wave: {type: harmonic, amplitude: 1, frequency: 1}}
sensors: {tau: {type: torques}, one: {type: torque, coordinate: a.angle}}
objectives: {effort: {integral: "dot(tau, tau) + one**2"}}
analysis: {type: inverse_dynamics, sampling: 0.1, duration: 1, motion: {all: wave}}
"""


def test_it_is_valid(tmp_path):
    assert issues_of(tmp_path, BASE) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("all: wave", "all: wav", "analysis.motion.all: unknown law 'wav'; did you mean 'wave'?"),
        ("all: wave", "", "analysis.motion: give all, laws, table or constraints"),
        ("all: wave", "laws: {c.angle: wave}", "analysis.motion.laws.c.angle: unknown joint 'c'"),
        (
            "all: wave",
            "laws: {a.angle: wave}, table: {file: q.csv, columns: {a.angle: q_1}}",
            "analysis.motion.table.columns.a.angle: a law gives 'a.angle' already; leave out the law or the column",
        ),
        ("type: inverse_dynamics", "type: inverse", "analysis.type: unknown type 'inverse'; did you mean"),
        ("sampling: 0.1", "sampling: 0", "analysis.sampling: must be greater than zero, is 0"),
        ("sampling: 0.1", "sampling: 2", "analysis.sampling: the sampling time 2 s is longer than the duration 1 s"),
        ("sampling: 0.1", "sampling: 1e-300", "analysis.sampling: 1e+300 steps are more than 1e+09"),
        ("sampling: 0.1", "step: 0.1", "analysis.step: unknown key 'step'"),
        (
            "dot(tau, tau)",
            "dot(tau, [1, 0, 0])",
            "objectives.effort.integral: a vector of the same length is wanted here",
        ),
        ("dot(tau, tau)", "tau", "objectives.effort.integral: a vector and a number cannot be added"),
        ("coordinate: a.angle", "coordinate: a.angel", "sensors.one.coordinate: joint 'a' has no coordinate 'angel'"),
        (
            "type: torques",
            "type: torques, coordinates: [a.angle, d.angle]",
            "sensors.tau.coordinates[1]: unknown joint 'd'",
        ),
        (
            "type: torques",
            "type: torques, coordinates: [a.angle]",
            "sensors.tau.coordinates: needs at least 2 entries, not 1",
        ),
        (
            "type: inverse_dynamics, sampling",
            "step",
            "sensors.tau: torques are results of the analysis inverse_dynamics",
        ),
    ],
)
def test_what_does_not_fit(tmp_path, old, new, expected):
    assert BASE.count(old) == 1
    issues = issues_of(tmp_path, BASE.replace(old, new))
    assert any(issue.partition(": ")[2].startswith(expected) for issue in issues), issues


@pytest.mark.parametrize("motion", ["al: wave", "laws: {a.angle: {type: constant, valu: 1}, b.angle: wave}"])
def test_an_analysis_that_cannot_be_read_is_judged_no_further(tmp_path, motion):
    """What else is there belongs to an inverse analysis, and is not told that it needs one."""
    (issue,) = issues_of(tmp_path, BASE.replace("all: wave", motion))
    assert "unknown key" in issue
