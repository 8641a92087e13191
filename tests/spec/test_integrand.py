"""Integrands: vectorised values, and partial derivatives against complex steps."""

import numpy as np
import pytest

from mbsim_cli.spec import ExpressionError, Expressions, Number

WIDTHS = {"r": 3, "v": 3, "q": 1}
STEP = 1e-30
TEXTS = (
    "dot(r - [1, L, 0], v)",
    "norm(cross(r, v)) * q",
    "r.x * v.y - q**2 * t",
    "dot(2*r/3 + -v, [half, 0, 1]) + sin(q)",
    "max(q, r.x) + abs(v.z)",
    "L",
    "t",
    "3",
    "atan2(r.y, r.x) + hypot(v.x, q)",
)


@pytest.fixture
def environment():
    return Expressions({"L": Number(1.5), "k": Number(2.0)}, {"half": Number("L*k/4")})


@pytest.fixture
def state():
    random = np.random.default_rng(7)
    sensors = {name: random.uniform(0.5, 2, (6, width)) for name, width in WIDTHS.items()}
    return sensors, np.linspace(0, 1, 6)


def _naive(text, environment, sensors, t, values=None):
    # one instant at a time by the evaluator
    from mbsim_cli.spec.expressions.evaluate import evaluate
    from mbsim_cli.spec.expressions.syntax import parse

    rows = []
    for i in range(len(t)):
        scope = dict(environment.scope(values))
        scope |= {name: list(s[i]) if s.shape[1] == 3 else s[i, 0] for name, s in sensors.items()}
        rows.append(evaluate(parse(text, vectors=True), {**scope, "t": t[i]}))
    return np.array(rows)


@pytest.mark.parametrize("text", TEXTS)
def test_values(text, environment, state):
    sensors, t = state
    f = environment.integrand(text, WIDTHS)
    assert f.value(sensors, t) == pytest.approx(_naive(text, environment, sensors, t), rel=1e-13)
    other = {"L": 0.7}
    assert f.value(sensors, t, other) == pytest.approx(_naive(text, environment, sensors, t, other), rel=1e-13)


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_by_sensors(text, environment, state):
    sensors, t = state
    f = environment.integrand(text, WIDTHS)
    partials = f.linearised(sensors, t).by_sensor
    assert set(partials) == set(f.sensors)
    for name, width in WIDTHS.items():
        for k in range(width):
            moved = {n: s.astype(complex) for n, s in sensors.items()}
            moved[name][:, k] += 1j * STEP
            step = np.imag(_naive(text, environment, moved, t)) / STEP
            computed = partials[name][:, k] if name in partials else np.zeros(6)
            assert computed == pytest.approx(step, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_by_parameters(text, environment, state):
    sensors, t = state
    f = environment.integrand(text, WIDTHS)
    partials = f.linearised(sensors, t).by_parameter
    assert set(partials) == set(f.parameters)
    for name, value in (("L", 1.5), ("k", 2.0)):
        moved = _naive(text, environment, sensors, t, {name: complex(value, STEP)})
        assert partials.get(name, np.zeros(6)) == pytest.approx(np.imag(moved) / STEP, rel=1e-12, abs=1e-14)


def test_the_norm_has_a_derivative_at_rest(environment):
    f = environment.integrand("norm(v)", WIDTHS)
    assert np.all(f.linearised({"v": np.zeros((2, 3))}, np.zeros(2)).by_sensor["v"] == 0)


def test_a_sensor_may_have_any_name(environment):
    f = environment.integrand("select + numpy", {"select": 1, "numpy": 1})
    assert f.value({"select": np.ones((2, 1)), "numpy": np.ones((2, 1))}, np.zeros(2)) == pytest.approx(2)


def test_unknown_names(environment):
    with pytest.raises(ExpressionError, match="unknown name 'w'"):
        environment.integrand("norm(w)", WIDTHS)
