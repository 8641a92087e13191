"""Equations that depend on each other: multipliers of least norm, and directions that break the equations."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import assemble
from tests.kernels.differentiate import assert_agree, direct, simulate
from tests.kernels.instant import Instant
from tests.kernels.mechanisms import four_bar, three_cranks

TIGHT = 1e-13
MECHANISMS = {"four_bar": four_bar, "three_cranks": three_cranks}


def null_vectors(builder, problem):
    """Combinations (k, m) of equations that say nothing at the start, and the change of equations by theta (m, len)."""
    n, m = len(builder.z), len(builder.equations)
    count = problem.theta.size
    still = np.zeros((n, count))
    at = Instant(
        problem, builder.z, np.zeros(n), np.zeros(n), np.zeros(m), directions=(np.eye(count), still, still, still)
    )
    u, s, _ = np.linalg.svd(at.J)
    return u[:, int(np.sum(s > 1e-9)) :].T, at.dphi[0]


def split_directions(builder, problem):
    """Directions that the redundant equations allow, and those that break them."""
    nu, by_theta = null_vectors(builder, problem)
    kept, breaking = {}, {}
    for name, direction in builder.directions().items():
        broken = np.abs(nu @ by_theta @ direction).max() > 1e-9
        (breaking if broken else kept)[name] = direction
    return kept, breaking


@pytest.mark.parametrize("name", MECHANISMS)
def test_directions_that_break_an_equation_have_no_derivative(name):
    builder = MECHANISMS[name]()
    problem = builder.problem(step=1e-2)
    kept, breaking = split_directions(builder, problem)
    assert len(kept) > 20 and len(breaking) > 10
    every = kept | breaking
    found = direct(problem, list(every.values()), 2)
    for k, direction in enumerate(every):
        for output in ("d_position", "d_velocity", "d_acceleration", "d_lambda", "d_sensors"):
            column = found[output][..., k]
            assert np.isnan(column).all() if direction in breaking else np.isfinite(column).all(), (direction, output)


def lengths(builder):
    """All three cranks, and both spans of bar and ground: the mechanism stays one of parallel cranks."""
    of = {name: builder.direction(index) for index, name in enumerate(builder.names)}
    near, far = ([f"cut projection {k}" for k in pair] for pair in ((0, 1), (2, 3)))
    cranks = (
        of["tree revolute 1:p_P.x"] + sum(of[f"{cut}:p_b.x"] for cut in near) + sum(of[f"{cut}:p_a.x"] for cut in far)
    )
    spans = of["tree revolute 2:p_P.x"] + sum(of[f"{cut}:p_a.x"] for cut in near)
    spans = spans + 2.0 * (of["tree revolute 3:p_P.x"] + sum(of[f"{cut}:p_b.x"] for cut in far))
    return {"cranks": cranks, "spans": spans}


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_multipliers_turn_with_the_range_of_the_jacobian(step):
    builder = three_cranks()
    problem = builder.problem(step=step, tolerance=TIGHT)
    kept, breaking = split_directions(builder, problem)
    chosen = {name: kept[name] for name in list(kept)[::4]} | lengths(builder)
    assert_agree(problem, chosen, steps=12, relative=2e-7)  # the complex run ends one iteration of multipliers early
    assert any("p_P.x" in name for name in breaking)


@pytest.mark.parametrize("name", MECHANISMS)
def test_multipliers_do_not_depend_on_the_penalty(name):
    builder = MECHANISMS[name]()
    builder.every_sensor()
    kept, _ = split_directions(builder, builder.problem())
    directions = list(kept.values())[::5]
    found = [
        direct(builder.problem(step=1e-2, tolerance=TIGHT, penalty=penalty), directions, 6) for penalty in (1e8, 1e10)
    ]
    for output in ("lambda_", "sensors", "d_lambda", "d_sensors"):
        a, b = (each[output] for each in found)
        scale = np.abs(a).max(axis=tuple(range(a.ndim - 1)) if output.startswith("d_") else None)
        assert np.all(np.abs(a - b) <= 1e-8 * scale + 1e-8), output


def test_the_multipliers_at_the_start_are_those_of_least_norm_too():
    builder = three_cranks()
    problem = builder.problem(step=1e-4)
    nu, _ = null_vectors(builder, problem)
    found = simulate(problem, 1)
    assert np.abs(nu @ found["lambda_"][0]).max() < 1e-12
    np.testing.assert_allclose(found["sensors"][1], found["sensors"][0], atol=1e-2)


def test_a_broken_direction_does_not_disturb_the_others():
    """Each alone, and all in one block of lanes."""
    builder = three_cranks()
    problem = builder.problem(step=1e-2)
    kept, breaking = split_directions(builder, problem)
    good, bad = list(kept.values())[:3], list(breaking.values())[:3]
    alone, together = direct(problem, good, 5), direct(problem, [bad[0], *good, *bad[1:]], 5)
    np.testing.assert_array_equal(together["d_position"][..., 1:4], alone["d_position"])
    np.testing.assert_array_equal(together["gradient_error"], alone["gradient_error"])


def test_blocks_name_the_equation_and_the_free_multipliers():
    builder = three_cranks()
    problem = builder.problem(step=1e-2)
    kept, breaking = split_directions(builder, problem)
    theta_rho = np.array([next(iter(kept.values())), breaking["tree revolute 1:p_P.x"]]).T
    options = replace(problem.options, sensitivity="ddm")
    problem = replace(problem, theta_rho=theta_rho, options=options)
    block = Simulation(problem, assemble(problem)).first_block()
    assert block.broken[0, 0] == 0
    assert problem.names.equation(block.broken[0, 1]).startswith("constraint projection")
    assert block.free.tolist() == [[True] * 4]
