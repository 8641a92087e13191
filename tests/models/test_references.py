"""Reference values in model files that no publication gives, recomputed by the textbook twin or a closed form."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.naive import euler_poinsot, mechanisms
from tests.naive.maximal import gradient

MODELS = Path(__file__).parents[2] / "models" / "benchmarks"
TWIN = pytest.mark.slow  # seconds of the twin alone; test_models.py compares runs with the same numbers by default


def checks(name: str) -> dict:
    """Checks of a model file, as written."""
    return yaml.safe_load((MODELS / name).read_text())["checks"]


def sundials(times, **values):
    """The slider-crank over its own ten seconds."""
    return None, None, mechanisms.sundials(**values)[1]


@TWIN
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


@TWIN
def test_rheonomic_motion():
    stated = checks("slider_crank_rheonomic.yaml")
    position, torque, integrals = mechanisms.rheonomic()
    at = dict(zip((0, 0.55, 1, 1.45, 2), torque, strict=True))
    for entry in stated["torque"]["values"]:
        assert np.isclose(entry["value"], at[entry["time"]], atol=1e-8)
    assert np.isclose(position[1][0], stated["slider"]["values"][1]["value"][0], atol=1e-9)
    assert np.isclose(position[3][0], stated["slider"]["values"][3]["value"][0], atol=1e-9)
    assert np.allclose(integrals[-1], [stated["travel"]["value"], stated["effort"]["value"]], rtol=1e-8)


@TWIN
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


# The slider-crank with clearance by rigid impacts: Newton's restitution, Coulomb's friction, Moreau's time stepping
# (Moreau 1988); absolute angles of crank, rod and slider. Masses and lengths are those of the model.
L1, L2, MASSES, INERTIAS = 0.153, 0.306, (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)
COUPLED = (MASSES[1] / 2 + MASSES[2]) * L1 * L2


def _matrix_and_force(q, u, g=9.81):
    first = INERTIAS[0] + (MASSES[0] / 4 + MASSES[1] + MASSES[2]) * L1**2
    second = INERTIAS[1] + (MASSES[1] / 4 + MASSES[2]) * L2**2
    c, s = np.cos(q[0] - q[1]), np.sin(q[0] - q[1])
    weights = g * L1 * (MASSES[0] / 2 + MASSES[1] + MASSES[2]), g * L2 * (MASSES[1] / 2 + MASSES[2])
    force = -COUPLED * s * u[1] ** 2 - weights[0] * np.cos(q[0]), COUPLED * s * u[0] ** 2 - weights[1] * np.cos(q[1])
    return np.array([[first, COUPLED * c, 0], [COUPLED * c, second, 0], [0, 0, INERTIAS[2]]]), np.array([*force, 0.0])


def _corners(q, a=0.05, b=0.025, clearance=0.001):
    """Gap, gradient of the gap, and of the way along the wall, of each corner at each wall."""
    (s1, s2, s3), (c1, c2, c3) = np.sin(q), np.cos(q)
    for x, y in ((a, b), (-a, b), (a, -b), (-a, -b)):
        along = np.array([-L1 * s1, -L2 * s2, -s3 * x - c3 * y])
        for side in (1, -1):
            height = L1 * s1 + L2 * s2 + s3 * x + c3 * y
            yield b + clearance - side * height, -side * np.array([L1 * c1, L2 * c2, c3 * x - s3 * y]), along


def _turns_by_impacts(h, e=0.4, mu=0.01):
    """Turns of the crank after 0.01 and 0.02 s."""
    q, u, found = np.zeros(3), np.array([150.0, -75.0, -0.01]), []
    for step in range(round(0.02 / h)):
        middle = q + 0.5 * h * u
        M, f = _matrix_and_force(middle, u)
        inverse = np.linalg.inv(M)
        new = u + h * inverse @ f
        touching = [(normal, along) for gap, normal, along in _corners(middle) if gap <= 0.0]
        pushes, rubs = np.zeros((2, len(touching)))
        for _ in range(300 if touching else 0):  # projected Gauss-Seidel
            before = new
            for k, (normal, along) in enumerate(touching):
                push = max(0.0, pushes[k] - normal @ (new + e * u) / (normal @ inverse @ normal))
                new, pushes[k] = new + inverse @ normal * (push - pushes[k]), push
                rub = np.clip(rubs[k] - along @ new / (along @ inverse @ along), -mu * push, mu * push)
                new, rubs[k] = new + inverse @ along * (rub - rubs[k]), rub
            if np.abs(new - before).max() < 1e-12:
                break
        q, u = middle + 0.5 * h * new, new
        if (step + 1) % round(0.01 / h) == 0:
            found.append(q[0] / (2 * np.pi))
    return np.array(found)


@TWIN
def test_clearance_by_rigid_impacts():
    """Of first order in the step: extrapolated; so the published values do not follow from these data by impacts."""
    found = 2.0 * _turns_by_impacts(5e-6) - _turns_by_impacts(1e-5)
    given = checks("slider_crank_clearance.yaml")
    for check, value in zip(("rigid half", "rigid end"), found, strict=True):
        assert abs(given[check]["value"] - value) < 1e-4 * value
    assert (np.abs(found / (0.1516149, 0.2589118) - 1.0) > 4e-3).all()
