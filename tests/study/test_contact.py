"""Events of tyres are found at the instants of a run, and only where there are any."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from mbsim_cli.assembly.elements.sensors import Contact
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws
from mbsim_cli.study.diagnostics.contact import ContactHealth, features

THETA = np.array([5.5, 5.52, 0.0, -0.01, 9.0, 0.5, 0.1, 12.0, 12.5, 0.0, 0.05, 6.3, -75.0])
LAWS = Laws(
    np.array([Law.SMOOTH_STEP, Law.ONE_SIDED, Law.SINE_POWER]),
    np.array([0, 4, 9]),
    np.array([4, 3, 3]),
    np.array([NONE, NONE, 7]),
    np.array([1, 2, NONE]),
)
PROBLEM = SimpleNamespace(model=SimpleNamespace(laws=LAWS), theta=THETA)


@dataclass
class Instants:
    """What the watch reads of a block."""

    time: np.ndarray
    sensors: np.ndarray


def watch(x, load, step=1e-3, blocks=3):
    """Warnings of a tyre at places x with these loads."""
    health = ContactHealth(PROBLEM, [Contact("front", 0, 1, 0)])
    time = step * np.arange(len(x))
    for rows in np.array_split(np.arange(len(x)), blocks):
        health.add(Instants(time[rows], np.column_stack([load, x])[rows]))
    return health.warnings


def test_features_of_a_road():
    assert features(PROBLEM, 0).tolist() == [[5.5, 5.52], [9.0, 9.5], [12.0, 12.5]]


def test_a_resolved_road_has_no_events():
    x = 5.0 + 3e-3 * np.arange(400)
    assert watch(x, np.full(400, 0.01)) == []


def test_a_step_shorter_than_the_steps_is_named():
    x = 5.0 + 0.008 * np.arange(100)  # 2.5 steps
    (sentence,) = watch(x, np.full(100, 0.01))
    assert "tyre front passes its road between x = 5.5 m and 5.52 m in 2.5 steps, at t = 0.063 s" in sentence


def test_an_edge_between_two_instants_is_found():
    x = 5.49 + 0.05 * np.arange(4)
    (sentence,) = watch(x, np.full(4, 0.01))
    assert "in 0.4 steps" in sentence


def test_lift_off_and_landing_are_named_over_the_ends_of_blocks():
    for landing in range(3, 11):
        load = np.full(12, 500.0)
        load[2:landing] = 0.0
        (sentence,) = watch(np.zeros(12), load)
        assert "tyre front leaves or meets the road 2 times, first at t = 0.002 s" in sentence


def test_a_lifted_wheel_passes_a_step_unnoticed():
    x = 5.4 + 0.05 * np.arange(8)
    assert watch(x, np.full(8, -0.01)) == []
