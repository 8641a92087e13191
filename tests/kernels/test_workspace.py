"""What is found from a model's structure once: it is that model's, and what directions touch is what they vary."""

from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.algorithms.elimination.structure import spans, tree_panels
from mbsim_cli.kernels.algorithms.motion.workspace import FORCE_SIZES, law_entries, touch
from mbsim_cli.kernels.compiler.simd import WIDTH, padded
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import BODY_SIZE, MASS, MEASURE_SIZE, NONE
from mbsim_cli.solve import allocate

MODELS = Path(__file__).parents[2] / "models"


def model_of(name):
    return assembly.build(spec.load(MODELS / f"{name}.yaml", {})).problem


def test_structure_is_found_once_for_each_model_and_kind_of_number():
    fivebar, pendulum = (model_of(name).model for name in ("fivebar", "double_pendulum"))
    found = tree_panels(fivebar)
    assert tree_panels(fivebar) is found
    assert tree_panels(pendulum) is not found
    assert len(tree_panels(pendulum).whole_first) - 1 == pendulum.tree.column_kind.size
    assert spans(fivebar, float) is spans(fivebar, float)
    if padded(1) > 1:  # complex numbers go one at a time
        assert spans(fivebar, complex) is not spans(fivebar, float)
    alike = fivebar._replace(tree=fivebar.tree)
    assert tree_panels(alike) is not found  # known by identity: what is equal now may belong to another


@pytest.mark.parametrize("name", ["fivebar", "buggy_lane_change", "human43_loaded"])
def test_touched_blocks_are_those_in_which_a_direction_varies_a_number(name):
    problem = model_of(name)
    model, rng = problem.model, np.random.default_rng(0)
    dtheta = np.zeros((problem.theta.size, 3 * WIDTH))
    for k in range(0, 3 * WIDTH, 5):
        dtheta[rng.integers(problem.theta.size, size=3), k] = 1.0
    found = touch(model, dtheta)

    def expected(entries):
        """Whether a direction, or one that is taken together with it, varies one of the entries."""
        varies = (dtheta[entries] != 0.0).any(axis=0).reshape(-1, WIDTH)
        return np.repeat(varies.any(axis=1), WIDTH)

    for i, o in enumerate(model.tree.theta):
        assert np.array_equal(found.geometry[i], expected(np.arange(o, o + MASS)))
        assert np.array_equal(found.inertia[i], expected(np.arange(o + MASS, o + BODY_SIZE)))
    for k, (kind, o) in enumerate(zip(model.measures.kind, model.measures.theta, strict=True)):
        own = np.arange(o, o + MEASURE_SIZE) if kind <= Measure.ANGLE else np.zeros(0, int)
        assert np.array_equal(found.measure[k], expected(own))
    for f, (kind, o) in enumerate(zip(model.forces.kind, model.forces.theta, strict=True)):
        laws = law_entries(model.laws, [int(k) for k in model.forces.law[f] if k != NONE])
        assert np.array_equal(found.force[f], expected(np.concatenate([np.arange(o, o + FORCE_SIZES[kind]), laws])))


def test_only_angles_that_constraints_depend_on_tell_when_to_look_for_singular_positions():
    problem = model_of("buggy_lane_change")
    model = problem.model
    watch = allocate.work(model, problem.theta, np.arange(model.constraints.measure.size)).watch
    counted = {name for name, turns in zip(problem.names.coordinates, watch.turns, strict=True) if turns}
    wheels = {name for name in problem.names.coordinates if name.endswith("_hub.angle")}
    assert "fl_lower.angle" in counted
    assert len(wheels) == 4
    assert not counted & wheels
