"""Everything about one instant, through the compiled entry ``linearise``; also at complex states."""

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers.time_points import Linearisation, linearise
from mbsim_cli.solve import allocate

EPS = 1e-30


class Instant:
    """Results of ``linearise`` at z, zd, zdd, lam; directions vary theta and the state; ``factors`` are those of T."""

    def __init__(
        self, problem, z, zd, zdd, lam, *, t=0.0, factors=(0.0, 0.0), at_center=True, theta=None, directions=None
    ):
        model = problem.model
        theta = np.array(problem.theta if theta is None else theta)
        dtype = np.result_type(*(np.asarray(a).dtype for a in (theta, z, zd, zdd, lam))).type
        theta = theta.astype(dtype)
        dtheta, *d_state = directions or (np.zeros((0, theta.size)), *np.zeros((3, len(z), 0)))
        wanted, p = len(dtheta), padded(len(dtheta))
        state = allocate.state(model, dtype)
        for stored, given in zip(state, (z, zd, zdd, lam), strict=False):
            stored[:] = given
        sens = allocate.sensitivity(model, p, dtype)
        for stored, given in zip(sens, d_state, strict=False):
            stored[:, :wanted] = given
        work = allocate.work(model, theta)
        twists = allocate.twists_of(model, p, dtype)
        n, m, nm = len(z), work.eq.phi.size, model.measures.kind.size
        shapes = (n, n), (n, padded(n)), (n, p), (3, m, p), (nm,), (nm, p)
        out = Linearisation(*(np.zeros(shape, dtype) for shape in shapes))
        varied = allocate.directions(model, allocate.padded_directions(np.array(dtheta).T, dtype), dtype)
        linearise(model, theta, *factors, at_center, varied, state, sens, work.kin, work.comp, work.eq, twists, out, t)
        self.eq, self.kin = eq, kin = work.eq, work.kin
        self.G, self.J, self.phi = eq.G, eq.J, np.array([eq.phi, eq.phi1, eq.phi2])
        self.M, self.T, self.dG, self.dphi = out.M, out.T[:, : len(z)], out.dG[:, :wanted], out.dphi[:, :, :wanted]
        self.measures, self.d_measures = out.measures, out.d_measures[:, :wanted]
        self.S, self.S1, self.S2, self.V, self.A, self.R, self.r = kin.S, kin.S1, kin.S2, kin.V, kin.A, kin.R, kin.r


def random_state(builder, problem, seed=11):
    """A state that satisfies nothing: z, zd, zdd, lam."""
    rng = np.random.default_rng(seed)
    n, m = len(builder.z), len(builder.equations)
    return np.array(builder.z) + 0.1 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), rng.normal(size=m)
