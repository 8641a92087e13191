"""Generated derivatives of elements: against the complex step of the value, transposes against variations."""

import numpy as np
import pytest

from mbsim_cli.kernels.derive.trace import branching
from mbsim_cli.kernels.derive.write import Derivatives, leaves, slopes_of
from mbsim_cli.kernels.elements import generated
from mbsim_cli.kernels.elements.element import BY_G, BY_G1, ROOM, AlongMeasure
from mbsim_cli.model.codes import TYRES, Force, Law
from mbsim_cli.model.layout import APPLIED_SIZE, BUSHING_SIZE, CONTACT_SIZE, NONE, TYRE_SIZE, Laws
from tests.kernels.geometry import rotation
from tests.kernels.textbook_laws import LAW_COUNTS, LAW_NUMBERS

STEP = 1e-30
ROAD = Laws(*(np.array([entry]) for entry in (int(Law.POLYNOMIAL), TYRE_SIZE, 3, NONE, NONE)))
TYRE = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.3, 40.0, 2.0, 0.04, 0.8, 5.0, 4.0, 3.0, 1.4, 0.5, 0.02, 0.1, -0.3)
WHEEL = np.array([[0.1, -0.2, 0.29], [0.1, 0.9, 0.2], [2.0, 0.3, -0.1], [0.1, 7.0, 0.4]])
CONTACT = np.array([*np.zeros(12), 0.3, 0.2, 50.0, 1.6, 0.3, 0.4, 0.5, 0.2, 0.15, 0.2, 3.0, 0.4])
SPHERES = np.array([[0.1, -0.2, 0.29], [0.4, 0.9, -0.2], [2.0, 0.3, -0.1], [0.1, 0.2, 0.1], [0.6, 0.0, 0.8]])
BUSHING = np.random.default_rng(5).normal(size=BUSHING_SIZE)
FRAMES = np.array([*SPHERES[:4], *np.eye(3), *rotation(np.array([0.6, 0.0, 0.8]), 0.7).T])
STRAIGHT, TURNED = FRAMES.copy(), FRAMES.copy()
STRAIGHT[7:], TURNED[7:] = np.eye(3), rotation(np.array([0.6, 0.0, 0.8]), 2.5).T
ON_ROAD = {"laws": ROAD._replace(theta=np.array([CONTACT_SIZE])), "road": 0}
TWO_LAWS = Laws(*(np.repeat(column, 2) for column in ROAD))._replace(theta=np.array([BUSHING_SIZE, BUSHING_SIZE]))
ALONG = np.array([NONE, NONE, NONE, 0, NONE, 1, NONE, 0, 1])
RIM = np.insert(SPHERES, 1, [0.0, 0.8, 0.6], axis=0)
RAMP = {"laws": ROAD._replace(theta=np.array([APPLIED_SIZE])), "f": 0, "t": 0.7}
PUSH = np.array([0.1, 0.2, 0.3, 4.0, -1.0, 2.0, 0.5, -0.2, 0.4])
KINDS = (Law.HARMONIC, Law.POLYNOMIAL, Law.SPLINE)
COUNTS = [LAW_COUNTS.get(kind, len(LAW_NUMBERS[kind])) for kind in KINDS]
SPRING = np.array([30.0, 1.2, 0.4, 2.0, *(number for kind in KINDS for number in LAW_NUMBERS[kind])])
STARTS = 4 + np.cumsum([0, *(len(LAW_NUMBERS[kind]) for kind in KINDS[:-1])])
ANY_LAW = {"laws": Laws(np.array(KINDS), STARTS, np.array(COUNTS), *[np.full(3, NONE)] * 2), "f": 0, "t": 0.3}
SAMPLES = {  # arguments that never vary, theta, inputs
    "spring": [
        ({**ANY_LAW, "law": np.array([law])}, SPRING, (0.7, -0.2)) for law in ([0, 1, 2], [2, 0, 1], [NONE] * 3)
    ],
    "spring_energy": [({**ANY_LAW, "law": np.array([[0, law, 1]])}, SPRING, (0.7,)) for law in (0, 1, 2, NONE)],
    "point_force": [({**RAMP, "law": np.array([[law]])}, PUSH, SPHERES[:2]) for law in (0, NONE)],
    "torque": [({**RAMP, "law": np.array([[law]])}, PUSH, SPHERES[:1]) for law in (0, NONE)],
    "drag": [({}, np.arange(1.0, 11.0), np.array([[0.1, 0.2, 0.3], [4.0, -1.0, 2.0]]))],
    "bushing": [
        ({"laws": TWO_LAWS, "law": ALONG[None], "f": 0}, np.append(BUSHING, (0.1, -0.2, 0.4)), frames)
        for frames in (FRAMES, STRAIGHT, TURNED)
    ],
    "rim_on_plane": [({}, CONTACT, RIM), ({}, CONTACT, RIM + [[0.0], [0.0], [9.0], [0.0], [0.0], [0.0]])],
    "sphere_on_capsule": [({}, CONTACT, SPHERES), ({}, CONTACT, SPHERES + [[0.6], [0.0], [0.0], [0.0], [0.0]])],
    "sphere_on_road": [(ON_ROAD, np.append(CONTACT, (0.02, 0.3, -0.2)), SPHERES[:3])],
    "wing": [({}, np.arange(1.0, 12.0), np.array([[0.1, 0.2, 0.3], [4.0, -1.0, 2.0], [0.0, 0.6, 0.8]]))],
    "cubic": [({}, np.array([0.5, -1.0, 2.0, 0.3]), (0.7,))],
    "tyre": [({"kind": kind, "laws": ROAD, "road": 0}, np.array(TYRE), WHEEL) for kind in TYRES],
}


@pytest.mark.parametrize("name", generated())
def test_derivatives_of_every_element(name):
    for passive, theta, state in SAMPLES[name]:
        assert_derivatives(generated()[name], passive, theta, state)


def assert_derivatives(made, passive, theta, state):
    """Variation, pull-back, and both from what is put aside, of a value at block 0 of theta."""
    named = {**passive, made.numbers[0]: theta, made.numbers[1]: 0}
    state = np.array(state)
    as_given = (lambda inputs: map(tuple, inputs)) if state.ndim == 2 else list
    names = list(made.inputs)

    def given(theta, state, without=()):
        inputs = dict(zip(names, as_given(state), strict=True))
        everything = {**named, **inputs, made.numbers[0]: theta}
        return [everything[name] for name in made.arguments if name not in without]

    kept = np.zeros(made.room or 64)
    made.keep(*given(theta, state), kept)
    value = np.array(list(leaves(made.function(*given(theta, state)))))
    np.testing.assert_allclose(kept[: value.size], value, rtol=1e-12, atol=1e-12)
    aside = [*given(theta, state, names), kept]
    rng = np.random.default_rng(0)
    for _ in range(4):
        dtheta, d_state = rng.normal(size=theta.size) * np.maximum(1e-3, np.abs(theta)), rng.normal(size=state.shape)
        moved = made.function(*given(theta + 1j * STEP * dtheta, state + 1j * STEP * d_state))
        exact = np.imag(list(leaves(moved))) / STEP
        held = np.imag(list(leaves(made.function(*given(theta + 0j, state + 1j * STEP * d_state))))) / STEP
        directions = list(as_given(d_state))
        for found, wanted in (
            (made.vary(*given(theta, state), dtheta[:, None], 0, *directions), exact),
            (made.vary_kept(*aside, dtheta[:, None], 0, *directions), exact),
            (made.vary_fixed(*given(theta, state), *directions), held),
            (made.vary_fixed_kept(*aside, *directions), held),
        ):
            size = np.abs(wanted).max()
            np.testing.assert_allclose(list(leaves(found)), wanted, rtol=1e-9, atol=1e-11 * size)
        numbers = rng.normal(size=exact.size)
        hat = shaped(made.result, iter(numbers))
        for pull, arguments in ((made.pull, given(theta, state)), (made.pull_kept, aside)):
            hat_out = np.zeros((theta.size, 1))
            adjoints = pull(*arguments, hat, 0, hat_out)
            pulled = np.array(list(leaves(adjoints))).reshape(state.shape)
            total = (pulled * d_state).sum() + hat_out[:, 0] @ dtheta
            assert np.isclose(total, numbers @ exact, rtol=1e-9, atol=1e-11 * np.abs(numbers * exact).max())


def test_a_force_along_a_measure_may_see_no_rate():
    def attraction(theta, o, g):
        return -theta[o] * g * g

    element = AlongMeasure(attraction, (Force.ALONG_MEASURE,), 1)
    theta, kept, pulled = np.array([3.0]), np.ones(ROOM), np.zeros((1, 1))
    element.keep(theta, 0, 2.0, kept)
    assert (kept[0], kept[BY_G], kept[BY_G1]) == (-12.0, -12.0, 0.0)
    assert element.vary_kept(theta, 0, kept, np.array([[0.5]]), 0, 0.0) == -2.0
    element.pull_kept(theta, 0, kept, 0.5, 0, pulled)
    assert pulled[0, 0] == -2.0


def shaped(structure, numbers):
    """Nested tuples of numbers, as a value returns them."""
    if isinstance(structure, tuple):
        return tuple(shaped(each, numbers) for each in structure)
    return next(numbers)


@branching("side")
def bent(side, x, y):
    """Different on each side of an edge, and zero beyond another."""
    if side == 1 and x.real > 2.0:
        return 0.0 * x
    if x.real <= y.real:
        return x * x * y
    return np.sqrt(x / y) - y**3


@pytest.mark.parametrize(
    ("side", "x", "y"), [(0, 1.0, 2.0), (0, 3.0, 2.0), (1, 3.0, 2.0), (1, 1.5, 0.5), (0, 2.0, 2.0)]
)
def test_slopes_of_a_function_that_branches(side, x, y):
    value, by_x, by_y = slopes_of(bent)(side, x, y)
    assert np.isclose(value, bent(side, x, y))
    assert np.isclose(by_x, np.imag(bent(side, x + 1j * STEP, y)) / STEP)
    assert np.isclose(by_y, np.imag(bent(side, x, y + 1j * STEP)) / STEP)


def test_a_branch_on_what_varies_is_refused_with_advice():
    def jump(theta, o, x):
        return x if x.real > 0.0 else -x

    with pytest.raises(TypeError, match=r"jump: a branch on what may vary \(v0 > 0.0\): mark"):
        _ = Derivatives(jump, {"x": 1}, ("theta", "o")).texts
