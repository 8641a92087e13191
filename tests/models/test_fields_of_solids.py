"""Gradients by densities of single bricks of a solid that swings in space, against differences of whole analyses."""

import json

import h5py
import numpy as np
import pytest

import mbsim_cli as mbsim

COUNT = 12
DENSITIES = 0.5 + 0.4 * np.random.default_rng(3).random(COUNT)


def objective(folder, densities):
    with h5py.File(folder / "rho.h5", "w") as file:
        file["rho"] = densities
    return mbsim.run(folder / "model.yaml").objectives["o"]


@pytest.mark.slow
def test_single_elements(tmp_path):
    flexible = {
        "mesh": {"type": "brick", "size": [0.6, 0.1, 0.08], "origin": [0, -0.04, -0.03], "elements": [3, 2, 2]},
        "material": "soft", "density": {"field": "rho"},
        "sets": {"root": {"x": 0}, "tip": {"x": 0.6}}, "frame": {"fixed": "root"}, "modes": {"count": 4},
        "nodes": {"tip": {"set": "tip"}}, "stiffening": ["rotation", "tip"],
    }  # fmt: skip
    start = {"angular_velocity": [1.0, 2.0, 3.0]}
    model = {
        "mbsim": 1, "gravity": [1.0, -9.81, 2.0],
        "materials": {"soft": {"youngs_modulus": 1e8, "poisson_ratio": 0.3, "density": 1000}},
        "fields": {"rho": {"file": "rho.h5", "filter": {"radius": 0.21}}},
        "bodies": {
            "solid": {"flexible": flexible},
            "load": {"mass": 0.5, "inertia": {"xx": 0.01, "yy": 0.01, "zz": 0.01}},
        },
        "joints": {
            "ball": {"type": "spherical", "bodies": ["ground", "solid"], "point": "origin", "initial": start},
            "hook": {"type": "spherical", "bodies": ["solid", "load"], "point": ["tip", "origin"]},
        },
        "sensors": {"tip": {"type": "position", "point": "solid.tip"}, "U": {"type": "strain_energy", "body": "solid"}},
        "objectives": {"o": {"integral": "U + tip.y"}},
        "analysis": {
            "step": 1e-3, "duration": 0.05, "tolerance": 1e-12, "sensitivity": {"method": "adjoint", "fields": ["rho"]}
        },
    }  # fmt: skip
    (tmp_path / "model.yaml").write_text(json.dumps(model))
    gradient, h = objective(tmp_path, DENSITIES).by_fields["rho"], 1e-4
    for element in (0, 5, 11):
        change = h * np.eye(COUNT)[element]
        above, below = (objective(tmp_path, DENSITIES + sign * change).value for sign in (1, -1))
        assert gradient[element] == pytest.approx((above - below) / (2 * h), rel=1e-5)
