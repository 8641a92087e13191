"""Natural frequencies of a cantilever that carries a body at its tip, against the frequency equation of beam theory."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq

import mbsim_cli as mbsim

MASS, INERTIA, ARM = 0.5, 0.02, 0.1  # of the load about its centre, which is beyond the tip; EI, rho A and L are 1


def unbalanced(w: float) -> float:
    """Zero where a shape that is clamped at the root gives the load the force and moment that it takes at w rad/s."""
    k = np.sqrt(w)
    C, S, c, s = np.cosh(k), np.sinh(k), np.cos(k), np.sin(k)
    v, turn = np.array([C - c, S - s]), k * np.array([S + s, C - c])
    bend, shear = k**2 * np.array([C + c, S + s]), k**3 * np.array([S - s, C + c])
    momentum = MASS * (v + ARM * turn)
    return np.linalg.det([shear + w**2 * momentum, bend - w**2 * (INERTIA * turn + ARM * momentum)])


@pytest.mark.slow
def test_frequencies(tmp_path):
    section = {"type": "properties", "area": 100, "second_moment_y": 1e-6, "second_moment_z": 1e-6, "torsion": 1e-6}
    flexible = {
        "mesh": {"type": "beam", "length": 1, "planar": True, "elements": 24, "section": section},
        "material": "soft", "sets": {"root": {"x": 0}, "tip": {"x": 1}},
        "frame": {"fixed": "root"}, "modes": {"count": 16, "static": ["tip"]}, "nodes": {"tip": {"set": "tip"}},
    }  # fmt: skip
    load = {"mass": MASS, "center_of_mass": [ARM, 0, 0], "inertia": {"xx": 0.02, "yy": 0.02, "zz": INERTIA}}
    model = {
        "mbsim": 1, "gravity": [0, 0, 0],
        "materials": {"soft": {"youngs_modulus": 1e6, "poisson_ratio": 0.3, "density": 0.01}},
        "bodies": {"beam": {"flexible": flexible}, "load": load},
        "joints": {
            "clamp": {"type": "fixed", "bodies": ["ground", "beam"], "point": "origin"},
            "weld": {"type": "fixed", "bodies": ["beam", "load"], "point": ["tip", "origin"]},
        },
        "sensors": {"tip": {"type": "position", "point": "beam.tip"}},
        "analysis": {"type": "equilibrium"},
    }  # fmt: skip
    (tmp_path / "model.yaml").write_text(json.dumps(model))
    found = mbsim.run(tmp_path / "model.yaml").report["diagnostics"]["natural_frequencies"][:3]
    at = np.linspace(0.1, 100, 2000)
    changes = [i for i in range(1999) if unbalanced(at[i]) * unbalanced(at[i + 1]) < 0]
    expected = [brentq(unbalanced, at[i], at[i + 1], xtol=1e-12) for i in changes[:3]]
    assert 2 * np.pi * np.array(found) == pytest.approx(expected, rel=1e-5)
