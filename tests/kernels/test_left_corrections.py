"""Newton's last correction beside the sensitivities: the same motion and derivatives as by itself."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.kernels.compiler.simd import WIDTH
from mbsim_cli.model.codes import Joint
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import assemble
from tests.kernels.mechanisms import everything, loop

STEPS = 15


def simulation(problem, count):
    """A run with its first directions repeated until there are ``count``."""
    options = replace(problem.options, sensitivity="ddm")
    problem = replace(problem, theta_rho=np.resize(problem.theta_rho.T, (count, problem.theta.size)).T, options=options)
    return Simulation(problem, assemble(problem, None))


def with_directions(builder, **options):
    """A problem with five directions."""
    problem = builder.problem(**options)
    directions = np.array(list(builder.directions().values()))
    rng = np.random.default_rng(1)
    return replace(problem, theta_rho=(rng.normal(size=(5, len(directions))) @ directions).T)


def agree(one, two, tolerance):
    """Compare motions and the sensitivities of the first five directions."""
    for name in ("position", "velocity", "acceleration", "d_position", "d_velocity", "d_acceleration"):
        a, b = (getattr(block, name) for block in (one, two))
        if name.startswith("d_"):
            a, b = a[..., :5], b[..., :5]
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max(), name


MODELS = {"loop": lambda: loop(Joint.FLOATING, Joint.REVOLUTE), "everything": everything}


@pytest.mark.parametrize("model", MODELS)
def test_a_free_column_changes_nothing(model):
    problem = with_directions(MODELS[model](), step=1e-3)
    free, full = simulation(problem, 5), simulation(problem, WIDTH)
    assert free.directions.free == WIDTH - 1
    assert full.directions.free == -1
    agree(free.advance(STEPS), full.advance(STEPS), 1e-8)


# a first correction is told to be nothing, or each to vanish beside the one before
LARGE = {"loop": 1e-2, "everything": 1e-3}  # steps whose corrections are
TOLD = {"first": {"missed": 0.0}, "second": {"missed": np.inf, "contraction": 0.0}}


@pytest.mark.parametrize("which", TOLD)
@pytest.mark.parametrize("model", MODELS)
def test_a_correction_larger_than_foreseen_is_not_the_last(model, which):
    """Each step leaves its first or second one, and goes on where that was large."""
    problem = with_directions(MODELS[model](), step=LARGE[model])
    usual, told = simulation(problem, 5), simulation(problem, 5)
    rows = []
    for _ in range(STEPS):
        told.progress = told.progress._replace(**TOLD[which])
        rows.append(told.advance(1))
    names = [name for name, array in rows[0]._asdict().items() if isinstance(array, np.ndarray)]
    found = rows[0]._replace(**{name: np.concatenate([getattr(row, name) for row in rows]) for name in names})
    left = 1 + list(TOLD).index(which)
    assert found.iterations.min() > left, "a step ended with the correction that it left"
    agree(found, usual.advance(STEPS), 1e-8)


def test_a_first_correction_that_is_small_is_the_last():
    problem = with_directions(MODELS["loop"](), step=3e-4)
    alone, ends = simulation(problem, WIDTH).advance(8 * STEPS), simulation(problem, 5).advance(8 * STEPS)
    assert np.mean(ends.iterations == 1) > 0.2
    assert alone.iterations.min() > 1
    agree(ends, alone, 1e-8)
