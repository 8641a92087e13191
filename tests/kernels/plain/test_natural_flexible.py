"""Bodies that deform in natural coordinates: equations, variations, pull-backs, and the motion in other coordinates.

The beams are those of ``test_flexible_trees``: one hangs on a node that is not its frame, both stand in a loop.
"""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.kernels.algorithms.systems.contract import (
    evaluate,
    mass,
    rates,
    tangent,
    vary_equations,
    vary_rates,
    vary_residual,
)
from mbsim_cli.model.layout import NONE
from mbsim_cli.solve import allocate
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.natural.plan import origins_of
from tests.kernels.adjoints import TIME
from tests.kernels.plain.test_flexible_reactions import LOOP
from tests.kernels.plain.test_flexible_trees import BEAMS, FLOATING, MODELS, assembled, bent
from tests.kernels.plain.test_natural import check_adjoint, check_complex_step, check_order
from tests.kernels.plain.test_natural_pull_backs import Natural, agrees
from tests.kernels.random_flexible import random_chain

STEP = 1e-30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def beams(folder):
    problem = assembled(folder, BEAMS, bent, formulation="ali3p-natural", sensitivity="ddm")
    assert (problem.system.model.tree.weld_bend != NONE).all()
    return problem


def instant(problem, imaginary=0.0):
    """The declared position, moving as it likes."""
    tree = problem.system.problem
    n, first = len(tree.names.coordinates), tree.model.tree.initial[0]
    return Natural(problem, tree.theta[first : first + n], imaginary)


def look(at, theta, state, factors=None):
    """G, (Phi, Phi', Phi''), M, T at another theta and state."""
    dtype = np.result_type(theta.dtype, *(part.dtype for part in state)).type
    work = allocate.work(at.model, theta.astype(dtype))
    there = allocate.state(at.model, dtype)
    for mine, wanted in zip(there, state, strict=True):
        mine[:] = wanted
    theta, kin, comp, eq, T = theta.astype(dtype), work.kin, work.comp, work.eq, work.tangent.T
    evaluate(at.model, theta, TIME, False, there, kin, comp, eq)
    rates(at.model, theta, TIME, there, eq.lines, kin, eq.phi1, eq.phi2)
    M = np.zeros_like(T)
    mass(at.model, theta, kin, comp, M)
    if factors:
        tangent(at.model, theta, TIME, *factors, there, eq.lines, there.lam, kin, comp, T)
    n = at.state.z.size
    return eq.G, np.array([eq.phi, eq.phi1, eq.phi2]), M[:, :n], T[:, :n], eq.J


def moved(at, **changes):
    return at.state._replace(**{name: getattr(at.state, name) + change for name, change in changes.items()})


def assert_rows(found, exact, relative=1e-11):
    """Row by row: stiff ones are larger by far."""
    size = np.maximum(1.0, np.abs(exact).reshape(len(exact), -1).max(axis=1))
    error = np.abs(found - exact).reshape(len(exact), -1).max(axis=1)
    assert (error <= relative * size).all(), error / size


def test_tangent_mass_and_jacobian_are_derivatives(beams):
    at, (beta, gamma) = instant(beams), (0.2, 0.07)
    _, _, M, T, J = look(at, at.theta, at.state, (beta, gamma))
    n = at.state.z.size
    some = [*range(0, n - 3, 5), *range(n - 3, n)]  # elastic ones are the last
    exact, by_zdd, by_z = (np.empty((len(rows), len(some))) for rows in (T, M, J))
    for c, e in enumerate(1j * STEP * np.eye(n)[some]):
        G, phi, *_ = look(at, at.theta, moved(at, z=gamma * e, zd=beta * e, zdd=e))
        exact[:, c], by_z[:, c] = G.imag / STEP, phi[0].imag / (gamma * STEP)
        by_zdd[:, c] = look(at, at.theta, moved(at, zdd=e))[0].imag / STEP
    assert_rows(T[:, some], exact)
    assert_rows(M[:, some], by_zdd)
    assert_rows(J[:, some], by_z)


def test_variations_and_their_pull_backs(beams):
    at = instant(beams)
    dG, dphi = np.zeros_like(at.sens.z), np.zeros((3, *at.sens.lam.shape))
    vary_equations(at.model, at.theta, at.varied, TIME, at.state.z, at.sens.z, at.eq.lines, at.kin, at.twists, dphi[0])
    vary_rates(at.model, at.theta, at.varied, TIME, at.state, at.sens, at.eq, at.kin, at.twists, dphi[1], dphi[2])
    vary_residual(at.model, at.theta, at.varied, TIME, at.state, at.sens, at.eq, at.kin, at.comp, at.twists, dG)
    for k in (0, 6, 7):
        changes = {name: 1j * STEP * getattr(at.sens, name)[:, k] for name in ("z", "zd", "zdd")}
        G, phi, *_ = look(at, at.theta + 1j * STEP * at.varied.dtheta[:, k], moved(at, **changes))
        assert_rows(dG[:, k], G.imag / STEP)
        for variation, value in zip(dphi[..., k], phi, strict=True):
            assert_rows(variation, value.imag / STEP)
    agrees(at)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 5, 11])
def test_motion_and_gradients(folder, seed):
    """As in the semi-recursive system to the second order, and those of the discrete run, by both methods.

    Reactions at nodes are read of the same motion.
    """
    (folder / "m.yaml").write_text(random_chain(seed, 2) if seed else LOOP)
    model = spec.load(folder / "m.yaml")
    check_order(model, 1e-3, 2)
    check_adjoint(*check_complex_step(model, 1e-3, 2, 1))


@pytest.mark.slow
def test_energy_of_what_tumbles_and_swings(folder):
    """It drifts by the square of the step."""
    problem, drifts = assembled(folder, FLOATING, formulation="ali3p-natural", sensitivity="none"), []
    for steps in (10, 20):
        options = replace(problem.options, step=0.02 / steps, output_interval=1)
        blocks = list(forward(replace(problem, options=options)))
        energy = np.concatenate([block.energy for block in blocks])[:, :2].sum(axis=1)
        drifts.append(np.abs(energy - energy[0]).max())
    assert drifts[0] < 1e-4 * energy[0]
    assert drifts[0] / drifts[1] == pytest.approx(4.0, rel=0.1)


def test_bodies_of_a_plane_share_points_and_vectors(folder):
    text = (MODELS / "slider_crank.yaml").read_text()
    problem = assembled(folder, text, formulation="ali3p-natural", sensitivity="none")
    names, origins = problem.names, origins_of(problem.system)
    assert (len(names.coordinates), len(names.constraints)) == (14, 8)
    assert names.coordinates[-6:] == tuple(f"crank.q{k + 1}" for k in range(6))
    assert [name for name, origin in zip(names.constraints, origins, strict=True) if origin == "node"] == [
        f"crank:pin.{motion}" for motion in ("translation_x", "translation_y", "rotation_z")
    ]
