"""A beam with a load at its end by static shapes and few modes, against all that its finite elements can do."""

import json

import numpy as np
import pytest

import mbsim_cli as mbsim

ELEMENTS, BY = 6, ["E", "b", "L"]


def model(modes, analysis):
    flexible = {
        "mesh": {
            "type": "beam", "length": "L", "elements": ELEMENTS, "section": {"type": "rectangle", "size": ["b", 0.02]},
        },
        "material": "soft", "sets": {"root": {"x": 0}, "tip": {"x": "L"}}, "frame": {"fixed": "root"},
        "modes": modes, "nodes": {"tip": {"set": "tip"}},
    }  # fmt: skip
    load = {"mass": 0.2, "center_of_mass": [0.03, 0.02, 0], "inertia": {"xx": 1e-4, "yy": 2e-4, "zz": 2e-4}}
    return {
        "mbsim": 1, "gravity": [0, -9.81, -3], "parameters": {"E": 2e9, "b": 0.03, "L": 0.7},
        "materials": {"soft": {"youngs_modulus": "E", "poisson_ratio": 0.3, "density": 1000}},
        "bodies": {"beam": {"flexible": flexible}, "load": load},
        "joints": {
            "clamp": {"type": "fixed", "bodies": ["ground", "beam"], "point": "origin"},
            "weld": {"type": "fixed", "bodies": ["beam", "load"], "point": ["tip", "origin"]},
        },
        "sensors": {"tip": {"type": "position", "point": "beam.tip"}, "U": {"type": "strain_energy", "body": "beam"}},
        "objectives": {"y": {"final": "tip.y"}, "z": {"final": "tip.z"}, "energy": {"integral": "U"}},
        "analysis": {"sensitivity": {"method": "ddm", "parameters": BY}, **analysis},
    }  # fmt: skip


def found(folder, modes, analysis):
    """Values with derivatives (objectives, 4), and natural frequencies of an equilibrium."""
    described = model(modes, analysis)
    if "type" in analysis:
        del described["objectives"]["energy"]
    (folder / "model.yaml").write_text(json.dumps(described))
    result = mbsim.run(folder / "model.yaml")
    rows = np.array([[one.value, *one.gradient] for one in result.objectives.values()])
    return rows, np.array(result.report["diagnostics"].get("natural_frequencies", ()))


@pytest.mark.slow
def test_equilibrium_and_frequencies(tmp_path):
    """Static shapes alone sag as the whole mesh does; frequencies come down to its own."""
    rest = {"type": "equilibrium"}
    exact, frequencies = found(tmp_path, {"count": 6 * ELEMENTS}, rest)
    errors = []
    for count in (0, 2, 4, 8):
        rows, those = found(tmp_path, {"count": count, "static": ["tip"]}, rest)
        assert rows == pytest.approx(exact, rel=1e-8)
        errors.append(those[:4] / frequencies[:4] - 1)
    assert (np.diff(errors, axis=0) < 1e-9).all() and np.abs(errors[-1]).max() < 5e-7 and (errors[0] > 1e-4).all()


@pytest.mark.slow
def test_motion(tmp_path):
    """Values and gradients of what a suddenly loaded beam does."""
    falls = {"step": 2.5e-5, "duration": 0.05}
    exact = found(tmp_path, {"count": 6 * ELEMENTS}, falls)[0]
    scale = np.abs(exact)
    errors = [
        (np.abs(found(tmp_path, {"count": count, "static": ["tip"]}, falls)[0] - exact) / scale).max()
        for count in (0, 4, 8)
    ]
    assert errors[0] > 5 * errors[1] > 10 * errors[2] and errors[2] < 1e-2
