"""Springs of natural length zero between points that may coincide: their force -k d is defined everywhere."""

import math

import numpy as np
import pytest
import yaml

import mbsim_cli as mbsim
from mbsim_cli.errors import AnalysisError

K, M, V = 40.0, 1.6, 0.7
OMEGA = math.sqrt(K / M)
SPRING = {"type": "spring_damper", "points": ["ground.O", "a.P"], "stiffness": "k", "natural_length": 0}
SLIDES = {
    axis: {"type": "prismatic", "bodies": [a, b], "point": "origin", "axis": axis}
    for axis, a, b in (("x", "ground", "c"), ("y", "c", "d"), ("z", "d", "a"))
}
FREE = {"type": "floating", "bodies": ["ground", "a"], "initial": {"position": [0, 0, 0], "velocity": ["v", 0, "v"]}}
WAYS = [
    {"formulation": "recursive", "integrator": "rk4"},
    {"formulation": "ali3p-rtdyn1"},
    {"formulation": "ali3p-natural"},
    {"formulation": "recursive", "integrator": "dop853"},
]


def particle(**analysis):
    """A body that starts where its spring is fixed, and swings through that place."""
    return {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "parameters": {"k": K, "m": M, "v": V},
        "points": {"O": {"ground": [0, 0, 0]}, "P": {"a": [0, 0, 0]}},
        "bodies": {"a": {"mass": "m", "inertia": {"xx": 1, "yy": 1, "zz": 1}}},
        "joints": {"free": FREE},
        "forces": {"s": SPRING},
        "sensors": {
            "r": {"type": "position", "point": "a.P"},
            "pull": {"type": "force", "force": "s"},
            "E": {"type": "potential_energy"},
        },
        "objectives": {"end": {"final": "r.x"}, "E": {"final": "E"}},
        "analysis": {"step": 2e-3, "duration": 1.4, "sensitivity": {"method": "ddm", "parameters": "all"}} | analysis,
    }


@pytest.fixture
def model(tmp_path):
    def of(data):
        path = tmp_path / "model.yaml"
        path.write_text(yaml.safe_dump(data))
        return mbsim.load(path)

    return of


@pytest.mark.parametrize("way", [WAYS[1], *(pytest.param(w, marks=pytest.mark.slow) for w in (WAYS[0], *WAYS[2:]))])
def test_a_body_swings_through_the_place_where_its_spring_is_fixed(model, way):
    t, near = 1.4, 1e-3 if "ali3p" in way["formulation"] else 1e-6
    swinging = model(particle())
    run = swinging.run(**way)
    sine, cosine = math.sin(OMEGA * t), math.cos(OMEGA * t)
    end, energy = run.objectives["end"], run.objectives["E"]
    assert end.value == pytest.approx(V / OMEGA * sine, rel=near)
    assert end.by("v") == pytest.approx(sine / OMEGA, rel=near)
    by_omega = V / OMEGA * (t * cosine - sine / OMEGA)
    assert end.by("k") == pytest.approx(by_omega * OMEGA / (2 * K), rel=3 * near)
    assert end.by("m") == pytest.approx(-by_omega * OMEGA / (2 * M), rel=3 * near)
    assert energy.value == pytest.approx(K * end.value**2, rel=1e-9)
    if "integrator" not in way or way["integrator"] == "rk4":
        other = swinging.run(sensitivity="adjoint", **way).objectives["end"]
        assert np.allclose(other.gradient, end.gradient, rtol=1e-9)


def hanging():
    """A body on slides along three axes, which hangs on a spring."""
    data = particle(type="equilibrium")
    for key in ("step", "duration"):
        del data["analysis"][key]
    return data | {
        "gravity": [0, 0, -9.81],
        "parameters": {"k": K, "m": M, "place": 0.0},
        "points": {"O": {"ground": ["place", 0, 0]}, "P": {"a": [0, 0, 0]}},
        "bodies": {"c": {"mass": 1e-3}, "d": {"mass": 1e-3}, "a": {"mass": "m"}},
        "joints": SLIDES,
        "objectives": {"z": {"final": "r.z"}, "x": {"final": "r.x"}, "pull": {"final": "pull"}},
    }


def test_a_body_that_hangs_on_one_from_where_it_is_fixed(model):
    """Statics begins where the points coincide."""
    run = model(hanging()).run()
    z, x, pull = (run.objectives[name] for name in ("z", "x", "pull"))
    assert z.value == pytest.approx(-M * 9.81 / K) and z.by("k") == pytest.approx(M * 9.81 / K**2)
    assert abs(x.value) < 1e-9 and x.by("place") == pytest.approx(1.0)
    assert abs(pull.value) == pytest.approx(M * 9.81)


@pytest.mark.slow
def test_without_weight_it_rests_there(model):
    data = hanging() | {"gravity": [0, 0, 0]}
    x = model(data).run().objectives["x"]
    assert abs(x.value) < 1e-9 and x.by("place") == pytest.approx(1.0)


FOURBAR = {
    "mbsim": 1,
    "gravity": [0, -9.81, 0],
    "parameters": {"k": 300.0, "L": 1.5, "w": 1.0},
    "vectors": {"z": {"all": [0, 0, 1]}},
    "points": {
        "A": {"ground": [0, 0, 0], "crank": [0, 0, 0]}, "B": {"crank": [0.5, 0, 0], "bar": [0, 0, 0]},
        "C": {"bar": ["L", 0, 0], "arm": [1.2, 0, 0]}, "D": {"ground": [1.3, 0, 0], "arm": [0, 0, 0]},
        "P": {"bar": [0, 0, 0]}, "O": {"ground": [0, 0.5, 0]},
    },
    "bodies": {
        "crank": {"shape": {"type": "rod", "length": 0.5, "mass": 1}},
        "bar": {"shape": {"type": "rod", "length": "L", "mass": 2}},
        "arm": {"shape": {"type": "rod", "length": 1.2, "mass": 1.5}},
    },
    "joints": {
        "A": {"type": "revolute", "bodies": ["ground", "crank"], "point": "A", "axis": "z",
              "initial": {"angle": "pi/2", "angular_velocity": "w"}},
        "B": {"type": "revolute", "bodies": ["crank", "bar"], "point": "B", "axis": "z", "initial": {"angle": -1.4}},
        "C": {"type": "revolute", "bodies": ["bar", "arm"], "point": "C", "axis": "z"},
        "D": {"type": "revolute", "bodies": ["ground", "arm"], "point": "D", "axis": "z", "initial": {"angle": 1.5}},
    },
    "forces": {"s": {"type": "spring_damper", "points": ["ground.O", "bar.P"], "stiffness": "k", "natural_length": 0}},
    "sensors": {"r": {"type": "position", "point": "bar.C"}},
    "objectives": {"end": {"final": "r.x"}, "all": {"integral": "dot(r, r)"}},
    "checks": {"gradients": {"agreement": ["complex_step", "adjoint"], "relative_tolerance": 1e-9}},
    "analysis": {"step": 5e-3, "duration": 0.1, "sensitivity": {"method": "ddm", "parameters": "all"}},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-rtdyn0", "ali3p-natural"])
def test_gradients_of_a_loop_whose_spring_has_no_length_at_the_start(tmp_path, formulation):
    """Points coincide at t = 0, and DDM, adjoint, complex step and differences agree."""
    from mbsim_cli.study.interface import check

    path = tmp_path / "model.yaml"
    path.write_text(yaml.safe_dump(FOURBAR))
    rows = check(path, formulation=formulation)
    assert all(row.passed for row in rows) and sum(row.kind == "agreement" for row in rows) >= 8


def test_a_damper_there_has_no_direction_and_says_so(model):
    data = particle(duration=0.02)
    data["forces"]["s"] = SPRING | {"damping": 0.1}
    with pytest.raises(AnalysisError, match="has no direction, for the points that it lies between coincide"):
        model(data).run()
