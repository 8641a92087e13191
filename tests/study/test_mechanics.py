"""A mechanism at one time point, as programs with a loop of their own see it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.solve.forward import start
from tests.naive.random_mechanisms import frame_of, random_mechanism, system_of
from tests.naive.reactions import assembled

FIVEBAR = Path(__file__).parents[2] / "models" / "fivebar.yaml"
STEP = 1e-3


def sloped(function):
    """Derivative at 0 by central differences of sixth order."""
    at = {k: np.asarray(function(k * STEP)) for k in (-3, -2, -1, 1, 2, 3)}
    return (45 * (at[1] - at[-1]) - 9 * (at[2] - at[-2]) + (at[3] - at[-3])) / (60 * STEP)


@pytest.fixture(scope="module")
def moving():
    """The five-bar linkage, and a state that its constraints need not allow."""
    model = mbsim.load(FIVEBAR)
    q, _ = model.state()
    return model, q + 0.1, np.array([0.3, -0.2, 0.5, 0.7])


def by_each(found, n, model):
    """Derivatives with their last axis by q, q' and the parameters, as differences go along."""
    moves = [np.eye(n)[k] for k in range(n)]
    yield from ((k, lambda s, e=e: (s * e, 0.0, None)) for k, e in enumerate(moves))
    yield from ((n + k, lambda s, e=e: (0.0, s * e, None)) for k, e in enumerate(moves))
    for k, name in enumerate(model.differentiated):
        yield 2 * n + k, lambda s, name=name: (0.0, 0.0, {name: model.parameters[name] + s})


QUANTITIES = {
    "mass_matrix": lambda at, q, v, **asked: at.mass_matrix(q, **asked),
    "forces": lambda at, q, v, **asked: at.forces(q, v, **asked),
    "accelerations": lambda at, q, v, **asked: at.accelerations(q, v, **asked),
    "inverse_dynamics": lambda at, q, v, **asked: at.inverse_dynamics(q, v, np.ones(4), **asked),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_derivatives_are_slopes(moving, name):
    model, q, v = moving
    found = QUANTITIES[name](model, q, v, derivatives=True)
    assert np.allclose(found.value, QUANTITIES[name](model, q, v), rtol=1e-13)
    derivatives = np.concatenate(found[1:], axis=-1)
    for column, moved in by_each(found, 4, model):

        def value(s, moved=moved):
            dq, dv, parameters = moved(s)
            at = model if parameters is None else model.mechanics(parameters=parameters)
            return QUANTITIES[name](at, q + dq, v + dv)

        assert np.allclose(derivatives[..., column], sloped(value), rtol=1e-8, atol=1e-8), (name, column)


def test_derivatives_of_the_motion_of_points_are_slopes(moving):
    model, q, v = moving
    places = ["bar_A1.center_of_mass", "bar_12", "bar_A1.P1"]
    a = np.array([1.0, 2.0, -1.0, 0.5])
    found = model.kinematics(q, v, a, of=places, derivatives=True)
    for column, moved in by_each(found, 4, model):

        def value(s, moved=moved):
            dq, dv, parameters = moved(s)
            at = model if parameters is None else model.mechanics(parameters=parameters)
            m = at.kinematics(q + dq, v + dv, a, of=places)
            rows = m.position, m.velocity, m.angular_velocity, m.acceleration, m.angular_acceleration
            return np.concatenate(rows, axis=1)

        d = found.d_pose[:, :3], found.d_velocity, found.d_acceleration
        assert np.allclose(np.concatenate(d, axis=1)[..., column], sloped(value), rtol=1e-8, atol=1e-7), column
    assert np.allclose(found.jacobian @ v, np.concatenate([found.velocity, found.angular_velocity], axis=1))


def test_a_loop_of_ones_own_follows_the_run():
    model = mbsim.load(FIVEBAR)
    q, v = model.state()
    for k in range(50):
        q, v = model.step(q, v, 2e-3, 2e-3 * k)
    reached = model.run(duration=0.1, step=1e-4, sensitivity="none")
    assert np.abs(q - reached["position"][-1]).max() < 1e-6
    assert np.abs(model.constraints(q, v).value).max() < 1e-12
    assert np.abs(model.constraints(q, v).rate).max() < 1e-12
    again = model.state(0.1)
    assert np.abs(again.position - q).max() < 1e-5 and np.abs(again.velocity - v).max() < 1e-4


def test_forces_of_a_motion_with_drives_make_it_again(moving):
    model, _, _ = moving
    q, v = model.state()
    given = np.array([0.7, 0.0, -0.4, 0.0])
    a = model.accelerations(q, v, forces=given)
    drives = ["A.angle", "B.angle"]
    assert np.allclose(model.inverse_dynamics(q, v, a, drives=drives), [0.7, -0.4], rtol=1e-11)
    shared = model.inverse_dynamics(q, v, a, drives=["A.angle", "B.angle", "P1.angle"])
    back = np.zeros(4)
    back[[0, 2, 1]] = shared
    assert np.allclose(model.accelerations(q, v, forces=back), a, rtol=1e-11)
    assert np.linalg.norm(shared) < np.linalg.norm([0.7, -0.4])
    with pytest.raises(mbsim.UsageError, match="alone cannot make this motion"):
        model.inverse_dynamics(q, v, a, drives=["A.angle"])


def agrees_with_the_textbook(folder, seed):
    """M, Q and accelerations, by the motion of all bodies, against absolute coordinates with multipliers."""
    twin = random_mechanism(seed, bodies=2 + seed % 5, loops=seed % 3)
    found = assembled(folder, twin, sensitivity="none")
    block = start(found.problem, None).first_block()
    shown = {name: block.sensors[0, row] for name, row in found.sensor_rows.items()}
    system, motion, _ = system_of(twin, frame_of(twin, shown), shown)
    expected, _ = system.accelerations(0.0, motion)
    model = mbsim.load(folder / f"model_{seed}.yaml")
    q, v = model.state()
    names = [f"{name}.center_of_mass" for name in twin.model["bodies"]]
    m = model.kinematics(q, v, model.accelerations(q, v), of=names)
    size = max(1.0, np.abs(expected).max())
    close = 1e-8 * size  # the textbook's own least squares are good to 1e-9 near singular positions
    assert np.abs(_rates(m) - expected).max() < close
    assert np.abs(model.constraints(q, v).value).max(initial=0.0) < 1e-10
    mass, load = system.mass_and_load(0.0, motion)
    J, unforced = m.jacobian.reshape(-1, len(q)), _rates(model.kinematics(q, v, of=names)).ravel()
    turns = _turns(model.mechanics(), q)
    M, Q = J.T @ mass @ J, J.T @ (load - mass @ unforced)
    assert np.abs(turns.T @ (model.mass_matrix(q) - M) @ turns).max() < 1e-11 * np.abs(M).max()
    assert np.abs(turns.T @ (model.forces(q, v) - Q)).max() < 1e-10 * max(1.0, np.abs(Q).max())


def _rates(m):
    return np.concatenate([m.acceleration, m.angular_acceleration], axis=1)


def _turns(at, q):
    """Projection (n, n) that keeps the norm of Euler parameters."""
    found = np.eye(len(q))
    for c in np.flatnonzero(kinds(at._problem.model.tree) == Column.EULER_0):
        e = q[c : c + 4]
        found[c : c + 4, c : c + 4] -= np.outer(e, e)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms(tmp_path, seed):
    agrees_with_the_textbook(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 100))
def test_many_random_mechanisms(tmp_path, seed):
    agrees_with_the_textbook(tmp_path, seed)


@pytest.mark.slow
def test_calls_add_less_than_twenty_microseconds_to_the_kernel():
    """Of a robot with seven joints."""
    from benchmarks.calls import BOUND, measured

    beyond = {name: whole - kernel for name, (whole, kernel) in measured(7).items()}
    assert max(beyond.values()) < BOUND, beyond


PENDULUM = {
    "mbsim": 1,
    "gravity": [0, 0, -9.81],
    "parameters": {"m": 2.0, "duration": 0.5},
    "bodies": {"rod": {"mass": "m", "center_of_mass": [np.float64(0.5), 0, 0], "inertia": np.diag([0.1, 0.2, 0.2])}},
    "joints": {"pin": {"type": "revolute", "bodies": ["ground", "rod"], "point": "origin", "axis": "y"}},
    "sensors": {"angle": {"type": "coordinate", "coordinate": "pin.angle"}},
    "objectives": {"fall": {"integral": "angle"}},
    "analysis": {"step": 1e-2, "duration": 0.1},
}


def test_a_model_from_a_mapping_or_a_text():
    model = mbsim.loads(PENDULUM)
    assert model.accelerations([0.0], [0.0]) == pytest.approx([9.81 * 2 * 0.5 / (0.2 + 2 * 0.25)], rel=1e-14)
    joint = "{type: prismatic, bodies: [ground, b], point: origin, axis: z}"
    text = f"mbsim: 1\nbodies: {{b: {{mass: 1}}}}\njoints: {{j: {joint}}}\n"
    assert mbsim.loads(text).mass_matrix([0.0]) == pytest.approx(np.ones((1, 1)))
    held = mbsim.loads(text.replace("prismatic", "fixed").replace(", axis: z", ""))
    assert held.accelerations([], []).shape == (0,)
    with pytest.raises(mbsim.ModelError, match=r"model\.yaml:2:"):
        mbsim.loads("mbsim: 1\nbodys: {b: {mass: 1}}\n")
    for wrong in (7, {"bodies": {"b": object()}}, {"bodies": {(1, 2): 3}}):
        with pytest.raises(mbsim.UsageError, match="loads"):
            mbsim.loads(wrong)
    with pytest.raises(mbsim.UsageError, match=r"shape \(2,\), not \(1,\): pin.angle"):
        model.mass_matrix([0.0, 1.0])
    with pytest.raises(mbsim.UsageError, match="no point"):
        model.kinematics([0.0], of=["rod.tip"])


def test_many_runs_in_threads_are_those_of_single_ones():
    model = mbsim.loads(PENDULUM, by=["m"])
    found = model.run_many([[1.0], [2.0], [3.0]], threads=2, sensitivity="none")
    for mass, result in zip((1.0, 2.0, 3.0), found, strict=True):
        alone = model.run([mass], sensitivity="none")
        assert result.objectives["fall"].value == alone.objectives["fall"].value
    assert len({result.objectives["fall"].value for result in found}) == 3
    with pytest.raises(mbsim.ModelError) as error:
        model.run_many([{"m": 1.0}, {"m": -1.0}])
    assert error.value.__notes__ == ["row 1 of rho"]


def test_threads_have_work_arrays_of_their_own():
    model = mbsim.load(FIVEBAR)
    q, v = model.state()
    states = [q + 0.01 * k for k in range(40)]
    alone = [model.accelerations(state, v) for state in states]
    with ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(lambda state: model.accelerations(state, v), states))
    assert np.array_equal(alone, beside)
