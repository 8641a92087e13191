"""Pull-backs of reactions beside their variations, at random instants of no motion."""

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.readings import ReactionPuller
from mbsim_cli.solve.blocks import reader_of


def assert_pull_back_is_the_transpose(problem, dtheta, *, spread, relative):
    """Random states about the start, multipliers, and variations of them; directions dtheta (len(theta), p)."""
    rng, model, p, scalars = np.random.default_rng(1), problem.model, dtheta.shape[1], padded(2)
    record, d_record = allocate.record(model, 2, float), allocate.sensitivity_record(model, 2, p, float)
    for rows in (record.position, record.velocity, record.acceleration, record.reaction, *d_record[:5]):
        rows[:] = rng.normal(size=rows.shape)
    record.position[:] = problem.theta[model.tree.initial[0] :][: record.position.shape[1]] + spread * record.position
    _, varied, unknown = reader_of(problem, problem.theta, dtheta).read(record, d_record)
    hat = rng.normal(size=(*unknown.shape, scalars)) * ~unknown[..., None]
    puller = ReactionPuller(problem, problem.theta, scalars)
    found = 0.0
    for adjoint, derivative in zip(puller.pull_back(record, hat), (*d_record[:3], d_record.reaction), strict=True):
        found = found + np.einsum("rik,rip->kp", adjoint, derivative)
    found += puller.theta.T @ dtheta
    expected = np.einsum("rik,rip->kp", hat, np.nan_to_num(varied))
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())
    assert np.abs(expected).max() > 0.0
