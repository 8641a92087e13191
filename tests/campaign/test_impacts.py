"""Gradients through impacts and dry friction: random mechanisms at coarse and fine steps, beside fine differences.

The truth are differences of runs by an adaptive integrator at a tight tolerance. A derivative agrees with it to some
times its estimated error, or it is NaN with a reason.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

import mbsim_cli as mbsim
from mbsim_cli.errors import MbsimError

RUNS, TOGETHER = 100, 10
FACTOR = 5.0  # between estimated and true errors
SHARE = 1e-4  # of a parameter, by which differences move it
STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
FORMULATIONS = (
    {"formulation": "ali3p-rtdyn1"},
    {"formulation": "ali3p-rtdyn0"},
    {"formulation": "ali3p-natural"},
    {"formulation": "recursive", "integrator": "rk4"},
)
EXACT = {"formulation": "recursive", "integrator": "dop853", "tolerance": 1e-12, "sensitivity": "none"}

Data = dict[str, Any]


class Judged(NamedTuple):
    """A derivative beside its truth."""

    seed: int
    what: str
    value: float
    estimate: float
    truth: float
    doubt: float  # of the truth

    @property
    def fails(self) -> bool:
        """Whether it is neither right nor estimated, nor NaN."""
        return abs(self.value - self.truth) > FACTOR * self.estimate + 3 * self.doubt + 1e-6 * abs(self.truth) + 1e-9


def _ball(random: np.random.Generator, duration: float) -> Data:
    """A ball that is dropped on a stiff tyre, with spin."""
    u = random.uniform
    return {
        "gravity": [0, 0, -9.81],
        "parameters": {
            "height": 0.1 + 4.9 * float(u(0.1, 0.7) * duration) ** 2, "v0": float(u(0.2, 3)),
            "k": float(10 ** u(3.5, 5)),
            "c": float(10 ** u(0, 1.7)), "mu": float(u(0.1, 0.8)),
        },
        "bodies": {"ball": {"shape": {"type": "sphere", "radius": 0.1, "mass": float(u(0.2, 2))}}},
        "joints": {
            "free": {
                "type": "floating", "bodies": ["ground", "ball"],
                "initial": {"position": [0, 0, "height"], "velocity": ["v0", 0, 0],
                            "angular_velocity": [0, float(u(-30, 30)), 0]},
            }
        },
        "forces": {
            "floor": {
                "type": "tyre", "center": "ball.origin", "axis": "ball.y", "road": {"type": "flat"}, "radius": 0.1,
                "stiffness": "k", "damping": "c", "friction": "mu", "slip": {"type": "magic_formula", "B": 8, "C": 1.4},
            }
        },
        "sensors": {"r": {"type": "position", "point": "ball.origin"}},
        "objectives": {"x": {"final": "r.x"}, "z": {"final": "r.z"}, "mean": {"integral": "r.z**2"}},
    }  # fmt: skip


def _stop(random: np.random.Generator, duration: float) -> Data:
    """A pendulum, or two, between stops."""
    u = random.uniform
    data: Data = {
        "gravity": [0, -9.81, 0],
        "parameters": {"k": float(10 ** u(2, 4)), "start": float(u(0.3, 1.2)), "gap": float(u(0.1, 0.25)),
                       "L": float(u(0.3, 1))},
        "vectors": {"z": {"all": [0, 0, 1]}},
        "points": {"end": {"a": ["L", 0, 0]}},
        "bodies": {"a": {"mass": float(u(0.5, 2)), "center_of_mass": ["L/2", 0, 0], "inertia": {"zz": 0.05}},
                   "b": {"mass": float(u(0.1, 0.5)), "center_of_mass": [0.1, 0, 0], "inertia": {"zz": 0.01}}},
        "joints": {
            "A": {"type": "revolute", "bodies": ["ground", "a"], "point": "origin", "axis": "z",
                  "initial": {"angle": "start - pi/2"}},
            "B": {"type": "revolute", "bodies": ["a", "b"], "point": ["end", "origin"], "axis": "z",
                  "initial": {"angle": float(u(-0.5, 0.5))}},
        },
        "forces": {
            "stop": {"type": "bump_stop", "coordinate": "A.angle", "minimum": "-pi/2 - gap", "maximum": "-pi/2 + gap",
                     "stiffness": "k", "onset": float(10 ** u(-4, -2))},
            "damper": {"type": "rotational_spring_damper", "coordinate": "A.angle", "damping": float(u(0, 0.3))},
        },
        "sensors": {"r": {"type": "position", "point": "b.origin"}},
        "objectives": {"x": {"final": "r.x"}, "y": {"final": "r.y"}, "mean": {"integral": "r.x**2"}},
    }  # fmt: skip
    data["parameters"]["start"] += data["parameters"]["gap"]
    return data


def _friction(random: np.random.Generator, duration: float) -> Data:
    """A block on a spring with dry friction, that turns round and comes to rest."""
    u = random.uniform
    F, slow = "F", float(10 ** u(-3.5, -2))
    return {
        "gravity": [0, 0, 0],
        "parameters": {"k": float(10 ** u(1, 3)), "F": float(u(0.3, 4)), "v0": float(u(0.5, 3)), "m": float(u(0.5, 3))},
        "vectors": {"x": {"all": [1, 0, 0]}},
        "bodies": {"a": {"mass": "m"}},
        "joints": {"A": {"type": "prismatic", "bodies": ["ground", "a"], "point": "origin", "axis": "x",
                         "initial": {"displacement": 0, "velocity": "v0"}}},
        "laws": {"dry": {"type": "sum", "laws": [
            {"type": "constant", "value": f"-{F}"},
            {"type": "smooth_step", "from": 0, "to": f"2*{F}", "start": -slow, "end": slow}]}},
        "forces": {
            "spring": {"type": "spring_damper", "coordinate": "A.displacement", "stiffness": "k"},
            "rub": {"type": "spring_damper", "coordinate": "A.displacement", "rate_law": "dry"},
        },
        "sensors": {"r": {"type": "position", "point": "a.origin"}},
        "objectives": {"x": {"final": "r.x"}, "mean": {"integral": "r.x**2"}},
    }  # fmt: skip


def _contact(random: np.random.Generator, duration: float) -> Data:
    """A ball that is dropped on a plane, with spin."""
    data = _ball(random, duration)
    data["parameters"] = {"height": data["parameters"]["height"], "v0": data["parameters"]["v0"],
                          "K": float(10 ** random.uniform(4, 7)), "mu": data["parameters"]["mu"]}  # fmt: skip
    data["forces"]["floor"] = {
        "type": "contact", "center": "ball.origin", "radius": 0.1, "stiffness": "K", "friction": "mu",
        "plane": {"point": "ground.origin", "normal": "ground.z"},
        "friction_speed": float(10 ** random.uniform(-3, -1)),
        "restitution": {"value": float(random.uniform(0.3, 0.95)), "speed": 1.0},
    }  # fmt: skip
    return data


def mechanism(seed: int) -> tuple[Data, Data]:
    """A model, and the options of its run."""
    random = np.random.default_rng(seed)
    step = float(STEPS[random.integers(len(STEPS))])
    steps = round(min(random.uniform(0.4, 1.5), 2e4 * step) / step)
    data = (_ball, _stop, _friction, _contact)[seed % 4](random, steps * step)
    data |= {"mbsim": 1, "analysis": {"step": step, "duration": steps * step,
                                      "sensitivity": {"method": "ddm", "parameters": "all"}}}  # fmt: skip
    return data, FORMULATIONS[random.integers(len(FORMULATIONS))]


def judged(seed: int, path: Any) -> list[Judged]:
    """All derivatives of a mechanism that are not NaN."""
    data, options = mechanism(seed)
    path.write_text(yaml.safe_dump(data))
    model = mbsim.load(path)
    result, found = model.run(**options), []
    for name, value in model.parameters.items():
        change = SHARE * max(abs(value), 1e-2)
        runs = [
            model.run(parameters={name: value + k * change}, **EXACT).objectives for k in (-1, 1, -0.5, 0.5)
        ]  # fmt: skip
        for key, objective in result.objectives.items():
            values = [run[key].value for run in runs]
            wide, narrow = (values[1] - values[0]) / (2 * change), (values[3] - values[2]) / change
            estimate = result.report["objectives"][key]["discretisation"]["gradient"][name]
            derivative = objective.by(name)
            if np.isfinite(derivative):
                what = f"d {key} / d {name}, {options}, step {data['analysis']['step']:g}"
                found.append(Judged(seed, what, derivative, estimate, narrow, abs(wide - narrow)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, RUNS, TOGETHER))
def test_gradients_through_impacts_are_right_or_estimated_or_none(start, tmp_path, record_property):
    found = []
    for seed in range(start, start + TOGETHER):
        try:
            found += judged(seed, tmp_path / "model.yaml")
        except MbsimError as error:
            print(f"{seed}: {error}")
    record_property("counts", f"impacts: {len(found)} derivatives")
    wrong = [each for each in found if each.fails]
    assert len(found) > TOGETHER
    assert not wrong, "\n".join(map(str, wrong))
