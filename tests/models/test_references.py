"""Reference values in model files that no publication gives, recomputed by the textbook twin or a closed form."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.naive import euler_poinsot, mechanisms
from tests.naive.maximal import gradient

MODELS = Path(__file__).parents[2] / "models" / "benchmarks"


def checks(name: str) -> dict:
    """Checks of a model file, as written."""
    return yaml.safe_load((MODELS / name).read_text())["checks"]


def sundials(times, **values):
    """The slider-crank over its own ten seconds."""
    return None, None, mechanisms.sundials(**values)[1]


def test_rssr_motion():
    stated = checks("rssr_fourbar.yaml")
    position, spin, integrals = mechanisms.rssr()
    at = dict(zip((0, 0.5, 1, 1.5, 2), position, strict=True))
    for entry in stated["point B"]["values"]:
        assert np.allclose(entry["value"], at[entry["time"]], atol=1e-8)
    at = dict(zip((0, 0.5, 1, 1.5, 2), spin, strict=True))
    for entry in stated["coupler"]["values"]:
        assert np.allclose(entry["value"], at[entry["time"]], atol=1e-8)
    assert np.allclose(integrals[-1], [stated["travel"]["value"], stated["turning"]["value"]], rtol=1e-8)


def test_rheonomic_motion():
    stated = checks("slider_crank_rheonomic.yaml")
    position, torque, integrals = mechanisms.rheonomic()
    at = dict(zip((0, 0.55, 1, 1.45, 2), torque, strict=True))
    for entry in stated["torque"]["values"]:
        assert np.isclose(entry["value"], at[entry["time"]], atol=1e-8)
    assert np.isclose(position[1][0], stated["slider"]["values"][1]["value"][0], atol=1e-9)
    assert np.isclose(position[3][0], stated["slider"]["values"][3]["value"][0], atol=1e-9)
    assert np.allclose(integrals[-1], [stated["travel"]["value"], stated["effort"]["value"]], rtol=1e-8)


def test_sundials_motion():
    stated = checks("slider_crank_sundials.yaml")
    position, integrals = mechanisms.sundials()
    assert np.allclose(position[-1], stated["slider"]["values"][0]["value"], atol=5e-5)
    assert np.isclose(integrals[-1][0], stated["gradient to more digits"]["value"], rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "twin", "values", "objectives"),
    [
        ("rssr_fourbar.yaml", mechanisms.rssr, {"k": 50.0, "m_coupler": 1.2, "L_crank": 0.3}, ("travel", "turning")),
        (
            "slider_crank_rheonomic.yaml",
            mechanisms.rheonomic,
            {"r": 0.2, "l": 0.6, "m_slider": 1.0, "d": 3.0},
            ("travel", "effort"),
        ),
        ("slider_crank_sundials.yaml", sundials, {"k": 1.0, "c": 1.0}, ("gradient to more digits",)),
    ],
)
def test_gradients(model, twin, values, objectives):
    found = gradient(lambda **given: twin(times=(0.0, 2.0), **given)[2][-1], values, 1e-3)
    for k, objective in enumerate(objectives):
        for parameter, reference in checks(model)[objective]["gradient"].items():
            assert np.isclose(found[parameter][k], reference, rtol=2e-8, atol=1e-8), (objective, parameter)


def test_free_body():
    stated = checks("free_body.yaml")
    inertia, start, times = (1, 2, 2.5), (0.4, 3, 0.2), (1, 2.5, 5)
    rates = euler_poinsot.body_rates(inertia, start, times)
    attitude = euler_poinsot.attitudes(inertia, start, times)
    for k, entry in enumerate(stated["angular velocity"]["values"]):
        assert np.allclose(entry["value"], attitude[k] @ rates[k], atol=1e-9)
    for k, entry in enumerate(stated["attitude"]["values"]):
        assert np.allclose(entry["value"], attitude[k][:, 0], atol=1e-9)
    assert np.isclose(stated["spin about the intermediate axis"]["value"], rates[-1][1], atol=1e-9)


def test_twin_agrees_with_closed_form():
    _, spin, attitude = mechanisms.free_body()
    inertia, start, times = (1, 2, 2.5), (0.4, 3, 0.2), (0, 1, 2.5, 5)
    rates = euler_poinsot.body_rates(inertia, start, times)
    for k, matrix in enumerate(euler_poinsot.attitudes(inertia, start, times)):
        assert np.allclose(matrix, attitude[k], atol=1e-11)
        assert np.allclose(matrix @ rates[k], spin[k], atol=1e-11)
