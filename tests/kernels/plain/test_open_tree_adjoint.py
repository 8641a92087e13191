"""Adjoint gradients of open trees in plain Python, also against the complex step."""

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.open_trees.open_tree import pull_normalise, vary_normalise
from mbsim_cli.kernels.compiler.simd import numbers
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.open_trees.open_tree import FORMULATIONS
from mbsim_cli.solve.tape import Tape
from tests.kernels.open_tree_adjoint import assert_adjoint, chosen
from tests.kernels.test_integrators import ball_and_arm

LOOSE = {"tolerance": 1e-3, "absolute_tolerance": 1e-3}


RUNS = [
    *(("rk4", 1e-2, 3, formulation) for formulation in FORMULATIONS),
    pytest.param("dop853", 1e-2, 3, "recursive", marks=pytest.mark.slow),  # compiled ones take it in seconds
    ("esdirk", 1e-3, 3, "conventional"),
]


@pytest.mark.parametrize(("integrator", "step", "rows", "formulation"), RUNS)
def test_every_integrator(integrator, step, rows, formulation):
    builder = ball_and_arm()
    builder.every_sensor()
    options = {"integrator": integrator, "step": step, "formulation": formulation} | LOOSE
    assert_adjoint(builder, rows, every=15, gradient_tolerance=1e-12, **options)


@pytest.mark.parametrize(("integrator", "step", "rows", "formulation"), RUNS[-2:])
def test_rows_lie_inside_steps(integrator, step, rows, formulation):
    """So that the cases above see interpolants."""
    options = {"integrator": integrator, "step": step, "formulation": formulation, "sensitivity": "adjoint"} | LOOSE
    tape = Tape()
    for _ in forward(chosen(ball_and_arm().problem(), rows, **options), tape=tape):
        pass
    ends = np.concatenate([stretch.steps.end for _, stretch in tape.backwards()])
    assert np.abs(tape.time[1:-1, None] - ends).min() > 1e-3 * step


def test_unit_rotations():
    """The pull-back transposes the variation."""
    tree, rng = type("Tree", (), {"euler": np.array([1])}), np.random.default_rng(5)
    z, zd = rng.normal(size=(2, 6))
    dz, dzd, z_hat, zd_hat = rng.normal(size=(4, 6, 3))
    varied, varied1 = dz.copy(), dzd.copy()
    vary_normalise(tree, z, zd, varied, varied1)
    pulled, pulled1 = z_hat.copy(), zd_hat.copy()
    pull_normalise(tree, numbers(3, float), z, zd, pulled, pulled1)
    np.testing.assert_allclose(pulled.T @ dz + pulled1.T @ dzd, z_hat.T @ varied + zd_hat.T @ varied1, rtol=1e-12)
