"""A few steps of whole simulations in plain Python: the same loops as the compiled tests, a small part of them."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.model.codes import Joint, Law
from mbsim_cli.solve.forward import forward, in_blocks, start
from tests.kernels import differentiate
from tests.kernels.differentiate import EPS, assert_agree, assert_agree_together
from tests.kernels.mechanisms import branches, everything, four_bar, loop, on_single_bodies
from tests.kernels.test_sensitivities import OF_THEIR_OWN, by_block, chosen, configuration


@pytest.mark.parametrize("k", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_model_of_everything(k):
    builder = everything()
    problem = builder.problem(**configuration(k))
    blocks = by_block(builder)
    assert_agree_together(problem, {name: blocks[name] for name in list(blocks)[k::24]}, steps=1)


def test_wrong_derivatives_along_many_directions_are_found(monkeypatch):
    """What round-off may leave of a sum over directions is less than half of the multipliers' derivatives."""
    builder = everything()
    problem, blocks, right = builder.problem(**configuration(0)), by_block(builder), differentiate.direct
    wrong = lambda *given: (found := right(*given)) | {"d_lambda": 0.5 * found["d_lambda"]}  # noqa: E731
    monkeypatch.setattr(differentiate, "direct", wrong)
    with pytest.raises(AssertionError, match="lambda_"):
        assert_agree_together(problem, {name: blocks[name] for name in list(blocks)[::24]}, steps=1)


def test_forces_with_kernels_of_their_own():
    """The numbers of each together, and some by themselves."""
    builder = branches()
    on_single_bodies(builder, [builder.law(kind) for kind in Law])
    builder.every_sensor()
    problem = builder.problem(**configuration(3))
    own = chosen(builder, *OF_THEIR_OWN)
    blocks = {name: row for name, row in by_block(builder).items() if name.startswith(OF_THEIR_OWN)}
    assert len(blocks) == 10
    assert_agree_together(problem, blocks | {name: own[name] for name in list(own)[::40]}, steps=1)


def test_loop():
    builder = loop(Joint.FLOATING, Joint.UNIVERSAL)
    problem = builder.problem(**configuration(3))
    blocks = by_block(builder)
    assert_agree_together(problem, {name: blocks[name] for name in list(blocks)[::15]}, steps=1)


@pytest.mark.parametrize("projection", ["mass", "identity"])
def test_multipliers_of_both_projections(projection):
    """Sensitivities of sigma and kappa, equations (15b) and (17b) of paper 000, at the end of the second step."""
    builder = loop(Joint.FLOATING, Joint.UNIVERSAL)
    problem = builder.problem(step=1e-2, tolerance=1e-13, projection=projection)
    directions = list(by_block(builder).values())[::9]
    varied = replace(problem, theta_rho=np.array(directions).T, options=replace(problem.options, sensitivity="ddm"))
    simulation = start(varied)
    simulation.advance(2)
    exact = replace(problem, options=replace(problem.options, tolerance=1e-15))
    for k, direction in enumerate(directions):
        block = start(exact, problem.theta + 1j * EPS * direction).advance(2)
        for name in ("sigma", "kappa"):
            expected = getattr(block, name)[-1].imag / EPS
            error = np.abs(getattr(simulation.sens, name)[:, k] - expected).max()
            assert error < 1e-8 * np.abs(expected).max() > 0.0, (k, name)


def test_the_first_block_goes_on_into_steps():
    """To the last bit as the initial instant alone and a block behind it, also where every other step is stored."""
    problem = four_bar().problem(step=1e-2)
    for interval in (1, 2):
        stored = replace(problem, options=replace(problem.options, output_interval=interval))
        apart = start(stored)
        pieces = [apart.first_block(), apart.advance(4)]
        together = start(stored).first_block(4)
        assert together.time.size == 1 + 4 // interval
        for name, found, *parts in zip(together._fields, together, *pieces, strict=True):
            if found is not None:  # instants inside steps
                np.testing.assert_array_equal(found, np.concatenate(parts), err_msg=name)


def test_a_run_is_given_in_blocks_from_the_initial_instant_on():
    problem = four_bar().problem(step=1e-2)
    short = replace(problem, options=replace(problem.options, duration=5e-2))
    assert [block.time.size for block in forward(short)] == [6]
    assert [block.time.size for block in in_blocks(start(short), 2)] == [3, 2, 1]


def test_redundant_constraints():
    builder = four_bar()
    problem = builder.problem(**configuration(1))
    assert_agree(problem, {"gravity": builder.direction(0)}, steps=1, outputs=("position", "velocity", "acceleration"))
