"""The buggy behaves as a vehicle: weights, Newton's law, lane change, gradients that predict."""

import numpy as np
import pytest

from benchmarks.buggy_robustness import attempt, is_allowed
from tests.models.buggy import BODIES, CORNERS, MODELS, manoeuvre, over
from tests.models.command import mbsim

LANE_CHANGE = MODELS / "buggy_lane_change.yaml"
MASS = 380 + 3 + 4 * (3 + 2 + 8 + 11)
G = 9.81


def test_structure():
    found = mbsim("info", str(MODELS / "buggy.yaml"))
    assert [len(found[key]) for key in ("bodies", "tree_joints", "cut_joints", "coordinates")] == [18, 18, 4, 36]
    assert (found["mobility_without_motions"], found["mobility"]) == (15, 14)
    assert found["redundant_constraints"] == [] and found["identically_satisfied"] == []
    types = [joint["type"] for joint in found["joints"] if not joint["cut"]]
    assert {kind: types.count(kind) for kind in set(types)} == {
        "floating": 1,
        "prismatic": 1,
        "revolute": 12,
        "spherical": 4,
    }


def test_the_wheels_carry_the_weight():
    _, sensors, _ = manoeuvre(LANE_CHANGE, {"A": 0}, duration=4.0)
    loads = {corner: sensors[f"{corner}_load"][-1, 0] for corner in CORNERS}
    assert sum(loads.values()) == pytest.approx(MASS * G, rel=1e-5)
    assert loads["fl"] == pytest.approx(loads["fr"], rel=1e-9)
    # the rack is the only mass off the middle
    about_rear = 2 * 0.9 * (loads["fl"] + loads["fr"])
    assert about_rear == pytest.approx(G * (0.9 * MASS + 3 * 0.8), rel=1e-3)


def test_tyre_forces_move_the_mass(tmp_path):
    """In a turn, the tyres' forces are the sum of mass times acceleration over all bodies, in each direction."""
    sensors = {f"a_{body}": {"type": "acceleration", "point": f"{body}.center_of_mass"} for body in BODIES}
    axes = {f"axis_{corner}": {"type": "direction", "vector": f"{corner}_wheel.y"} for corner in CORNERS}
    _, found, _ = manoeuvre(over(tmp_path, LANE_CHANGE.name, {"sensors": sensors | axes}), duration=3.0)
    masses = {"chassis": 380, "rack": 3, "lower": 3, "upper": 2, "knuckle": 8, "wheel": 11}
    inertial = sum(masses[body.split("_")[-1]] * found[f"a_{body}"] for body in BODIES)
    forces = np.zeros_like(inertial)
    up = np.array([0.0, 0.0, 1.0])
    for corner in CORNERS:
        forward = np.cross(found[f"axis_{corner}"], up)
        forward /= np.linalg.norm(forward, axis=1, keepdims=True)
        forces += found[f"{corner}_load"] * up
        forces += found[f"{corner}_drive"] * forward + found[f"{corner}_side"] * np.cross(up, forward)
    settled = slice(50, None)
    assert np.abs(forces[settled, 1]).max() > 0.3 * MASS * G
    assert forces[settled, :2] == pytest.approx(inertial[settled, :2], abs=1e-3 * MASS * G)
    assert forces[settled, 2] == pytest.approx(inertial[settled, 2] + MASS * G, rel=1e-3)


def test_the_first_change_moves_one_lane():
    _, sensors, _ = manoeuvre(LANE_CHANGE, duration=6.0)
    assert sensors["position"][-1, 1] == pytest.approx(3.5, abs=0.1)
    assert np.abs(sensors["position"][:200, 1]).max() < 1e-6  # straight before


def test_the_gradient_predicts_softer_springs():
    """Halving the change of k_f quarters what the gradient leaves unexplained."""
    _, _, psi = manoeuvre(LANE_CHANGE, duration=4.0, sensitivity="ddm", sensitivity_parameters=["k_f"])
    changes = 30000 * np.array([-0.08, -0.04, -0.02])
    unexplained = [
        manoeuvre(LANE_CHANGE, {"k_f": 30000 + change}, duration=4.0)[2].value - psi.value - psi.gradient[0] * change
        for change in changes
    ]
    slopes = np.log2(np.array(unexplained[:-1]) / np.array(unexplained[1:]))
    assert slopes == pytest.approx(2.0, abs=0.15)
    assert abs(unexplained[-1]) < 0.05 * abs(psi.gradient[0] * changes[-1])


@pytest.mark.parametrize("geometry", [0.0, 0.3])
def test_other_vehicles_run_or_say_why_not(tmp_path, geometry):
    """Data changed by up to 30 % at random: a finite result, or a sentence on what failed, and when or why."""
    found = [attempt(seed, tmp_path, 1.5, geometry) for seed in range(5)]
    assert [message for code, message in found if not is_allowed(code, message)] == []
    assert any(code == 0 for code, _ in found)


def test_it_settles_where_the_equilibrium_says(tmp_path):
    """A car that stands: one that rolls carries side forces, for its wheels do not stand quite straight."""
    _, rest, _ = manoeuvre(over(tmp_path, LANE_CHANGE.name, {"analysis": {"start": "equilibrium"}}), duration=0.01)
    _, standing, _ = manoeuvre(LANE_CHANGE, {"A": 0, "speed": 0, "spin": 0}, duration=10.0)
    assert standing["position"][-1, 2] == pytest.approx(rest["position"][0, 2], abs=1e-7)
    assert abs(standing["position"][0, 2] - rest["position"][0, 2]) > 1e-3  # it starts elevated
    for corner in CORNERS:
        travel, load = f"{corner}_travel", f"{corner}_load"
        assert standing[travel][-1, 0] == pytest.approx(rest[travel][0, 0], abs=2e-6)
        assert standing[load][-1, 0] == pytest.approx(rest[load][0, 0], rel=1e-6)
