"""A few steps of all integrators of open trees, in plain Python."""

from dataclasses import replace

import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.open_trees.open_tree import pilot
from tests.kernels.test_integrators import ROOT, assert_gradient_is_that_of_the_steps

CASES = [
    ("rk4", "recursive"),
    ("dop853", "partial_recursive"),
    ("esdirk", "recursive"),  # by the others a smaller tree: test_open_tree_adjoint.py
    *(pytest.param("esdirk", name, marks=pytest.mark.slow) for name in ("conventional", "partial_recursive")),
]


@pytest.mark.parametrize(("integrator", "formulation"), CASES)
def test_gradient(integrator, formulation):
    loose = {"tolerance": 1e-5, "absolute_tolerance": 1e-5}  # two or three steps, and some that are rejected
    assert_gradient_is_that_of_the_steps(integrator, 240, steps=1, formulation=formulation, duration=1.0, **loose)


def test_the_first_steps_show_whether_a_motion_is_stiff():
    """A wheel on its tyre is far faster than the car above; a pendulum has nothing fast."""
    for name, stiff in (("benchmarks/quarter_car", True), ("double_pendulum", False)):
        problem = assembly.build(spec.load(ROOT / "models" / f"{name}.yaml", {}), sensitivity="none").problem
        chosen = {"formulation": "recursive", "step": 0.1, "duration": 1.0, "tolerance": 1e-3}
        options = replace(problem.options, **chosen, absolute_tolerance=1e-3, output_interval=1)
        assert pilot(replace(problem, options=options)).stiff == stiff
