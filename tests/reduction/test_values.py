"""Values of reduced bodies against theory, other programs' numbers, and sums over nodes that know no terms."""

import numpy as np
import pytest
from scipy.optimize import brentq

from mbsim_cli.reduction.data import Refused, tilde, turned
from mbsim_cli.reduction.elements import solid
from mbsim_cli.reduction.mesh import grid
from mbsim_cli.reduction.modes import Stiffening
from mbsim_cli.reduction.reduce import Body, derivative, reduced
from mbsim_cli.reduction.restriction import Frame
from mbsim_cli.reduction.sid_reader import warnings_of

from .bodies import FULL, at, brick, cantilever, crank, free, on_chord, waves


def beam_unit():
    """rho A L^4 / EI of the cantilevers here, s^2."""
    return 7800 * 12 / (2e11 * 0.02**2)


@pytest.mark.parametrize(
    ("nx", "ny", "k", "density", "first"),
    [(20, 4, 6, False, 413.103396), (20, 4, 6, True, 286.972486), (60, 12, 8, True, 283.406302)],
)
def test_frequencies_of_the_crank(nx, ny, k, density, first):
    body = crank(nx, ny, k, density=waves(nx, ny) if density else None)
    sid = reduced(body).sid
    assert sid.frequencies()[0] == pytest.approx(first, rel=2e-9)
    assert pytest.approx(2.512 if not density else 1.7584, rel=1e-12) == sid.mass.M0
    if density:
        assert sid.J.M0[2, 2] == pytest.approx(0.09471914666666667, rel=1e-12)


def test_beam_limits():
    """Clamped-free and free-free: 3.51602, 22.0345, 61.6972 and 22.3733, 61.6728, across."""
    body = cantilever(elements=24, section=(0.02, 0.02), planar=True, k=4)
    unit = np.sqrt(beam_unit())
    across = [3.51602, 22.0345, 61.6972]
    # rotary inertia lowers them by (r / L)^2 times what theory gives: 3e-5 and more
    assert 2 * np.pi * reduced(body).sid.frequencies()[:3] * unit == pytest.approx(across, rel=3e-3)
    assert 2 * np.pi * reduced(free(body)).sid.frequencies()[:2] * unit == pytest.approx([22.3733, 61.6728], rel=4e-3)
    assert 2 * np.pi * reduced(on_chord(body)).sid.frequencies()[0] * unit == pytest.approx(np.pi**2, rel=1e-3)


def test_sag_of_a_beam_and_static_shapes():
    """P L^3 / 3 EI at the tip, exactly: the static shape is there."""
    body = cantilever(elements=3, planar=True, k=1, static=(0,))
    sid = reduced(body).sid
    phi = sid.nodes[0].phi.M0
    sag = phi.T @ np.linalg.solve(sid.Ke.M0, phi[:, 1])
    assert sag[1] == pytest.approx(1 / (3 * 2e11 * 0.02**4 / 12), rel=1e-9)
    assert phi.T @ np.linalg.solve(sid.Ke.M0, phi[:, 0]) == pytest.approx(
        [1 / (2e11 * 4e-4), 0, 0], rel=1e-9, abs=1e-15
    )


def test_torsion_of_a_square_bar():
    """GJ with J = 0.140577 a^4."""
    sid = reduced(cantilever(elements=4, k=0, static=(0,))).sid
    psi = sid.nodes[0].psi.M0
    turn = psi.T @ np.linalg.solve(sid.Ke.M0, psi[:, 0])
    assert turn[0] == pytest.approx(1 / (2e11 / 2.6 * 0.140577 * 0.02**4), rel=1e-5)


def test_double_modes_are_found():
    """Both bending modes of a square section, by Lanczos on a mesh large enough for it."""
    sid = reduced(brick(elements=(20, 3, 3), k=6)).sid
    f = sid.frequencies()
    assert f[1] == pytest.approx(f[0], rel=1e-9) and f[3] == pytest.approx(f[2], rel=1e-9)
    assert f[0] > 70


ROTATING = {  # speed: first and second frequency out of the plane of rotation
    0: (3.51602, 22.0345), 1: (3.68166, 22.1810), 2: (4.13732, 22.6149), 3: (4.79728, 23.3203), 4: (5.58501, 24.2734),
    5: (6.44955, 25.4461), 6: (7.36037, 26.8091), 10: (11.2023, 33.6404), 12: (13.1702, 37.6031),
}  # fmt: skip


@pytest.mark.parametrize("speed", ROTATING)
def test_rotating_cantilever(speed):
    """Frequencies out of the plane of rotation (Wright et al. 1982), and in it, by Oe with stiffening."""
    body = cantilever(elements=30, k=12, section=(0.002, 0.002), stiffening=Stiffening(rotation=True))
    sid = reduced(body).sid
    unit = 7800 * 12 / (2e11 * 0.002**2)
    spin = speed / np.sqrt(unit)
    K = sid.Ke.M0 + spin**2 * sid.Oe.M1[:, :, 2, 2].T
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(sid.Me.M0, K)).real)
    found, out_of_plane = np.sqrt(squares[:4] * unit), np.array(ROTATING[speed])
    assert found[1] == pytest.approx(out_of_plane[0], rel=3e-4)
    few = 3e-4 if speed <= 6 else 2e-3  # modes hold the difference of two large squares less exactly
    assert found[1::2] == pytest.approx(out_of_plane, rel=few)
    assert found[::2] == pytest.approx(np.sqrt(out_of_plane**2 - speed**2), rel=few)


@pytest.mark.parametrize("speed", [1, 3, 6])
def test_rotating_plate_of_bricks(speed):
    """Out of its plane it flaps as a beam does; bricks are too stiff when they bend, but alike at any speed."""
    structure = solid(grid([0, -0.02, -0.002], [1, 0.04, 0.004], (80, 2, 2)), 2e11, 0.0, 7800.0)
    frame = Frame(fixed=at(structure, x=0))
    sid = reduced(Body(structure, frame, (), modes=tuple(range(12)), stiffening=Stiffening(rotation=True))).sid
    beam, slip = 3.51602 * np.sqrt(2e11 * 0.004**2 / 12 / 7800), 0.5 * (0.0125 / 0.004) ** 2
    assert sid.frequencies()[0] * 2 * np.pi == pytest.approx(beam * np.sqrt(1 + slip), rel=1e-3)  # model/flexible.md
    unit = sid.frequencies()[0] * 2 * np.pi / ROTATING[0][0]
    K = sid.Ke.M0 + (speed * unit) ** 2 * sid.Oe.M1[:, :, 2, 2].T
    found = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(sid.Me.M0, K)).real)) / unit
    assert found[0] == pytest.approx(ROTATING[speed][0], rel=2e-5)
    assert found[2] == pytest.approx(ROTATING[speed][1], rel=3e-4)  # the second one sways in the plane


@pytest.mark.parametrize(
    ("elements", "across", "nu"),
    [(10, 2, 0.0), (25, 2, 0.0), (200, 2, 0.0), (50, 1, 0.3), (100, 1, 0.45), (25, 2, 0.45)],
)
def test_what_is_told_of_elements_that_are_too_long_to_bend(elements, across, nu):
    """By its lowest frequency a cantilever is that much too stiff; of short elements nothing is told."""
    structure = solid(grid([0, -0.01], [1, 0.02], (elements, across)), 2e11, nu, 7800.0)
    sid = reduced(Body(structure, Frame(fixed=at(structure, x=0)), (), modes=(0, 1))).sid
    beam = 3.51602 * np.sqrt(2e11 * 0.02**2 / 12 / 7800)
    factor = (sid.frequencies()[0] * 2 * np.pi / beam) ** 2
    told = [float(warning.split(" times as stiffly")[0].split()[-1]) for warning in structure.warnings]
    assert told == pytest.approx([] if elements == 200 else [factor], rel=0.02)


@pytest.mark.parametrize("across", [1, 2])
def test_what_is_told_of_bricks_that_are_too_long_to_bend(across):
    structure = solid(grid([0, -0.01, -0.01], [1, 0.02, 0.02], (60, across, across)), 2e11, 0.4, 7800.0)
    sid = reduced(Body(structure, Frame(fixed=at(structure, x=0)), (), modes=(0, 1, 2))).sid
    beam = 3.51602 * np.sqrt(2e11 * 0.02**2 / 12 / 7800)
    factor = (sid.frequencies()[0] * 2 * np.pi / beam) ** 2
    told = [float(warning.split(" times as stiffly")[0].split()[-1]) for warning in structure.warnings]
    assert told == pytest.approx([factor], rel=0.05)


def test_buckling_of_a_clamped_column():
    """A force on the tip that takes the stiffness away: pi^2 EI / 4 L^2."""
    body = cantilever(
        elements=20, k=8, planar=True, section=(0.002, 0.002), stiffening=Stiffening(nodes=(0,)), static=(0,)
    )
    sid = reduced(body).sid
    by_force = -sid.nodes[0].phi.M1[:, :, 0]  # stiffness by a unit force along x

    def lowest(force):
        return np.linalg.eigvalsh(sid.Ke.M0 - force * by_force)[0]

    critical = np.pi**2 * 2e11 * 0.002**4 / 12 / 4
    assert brentq(lowest, 0.5 * critical, 1.5 * critical) == pytest.approx(critical, rel=2e-5)


@pytest.mark.parametrize("make", [crank, brick, cantilever], ids=lambda make: make.__name__)
def test_equations_of_motion_against_sums_over_points(make):
    """M(q) and the velocity terms of a body that moves in space, from places and velocities of its points alone."""
    found = reduced(make(k=4))
    structure, sid = found.body.structure, found.sid
    R, F, m = structure.carriers, structure.displacements(found.shapes), structure.m
    random = np.random.default_rng(0)
    q, qd = random.normal(size=sid.n) * 1e-2, random.normal(size=sid.n)
    w, v = random.normal(size=(2, 3))
    r, u = R + F @ q, F @ qd
    points = len(R)
    T = np.concatenate([np.tile(np.eye(3), (points, 1, 1)), -tilde(r), F], 2)  # velocity of each point by (v, w, q')
    bias = np.cross(w, v + 2 * u + np.cross(w, r))
    weighted = (m @ T.reshape(points, -1)).reshape(T.shape)
    M, h = np.einsum("pai,paj->ij", T, weighted), np.einsum("pai,pa->i", weighted, bias)
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    assert np.abs((mass_matrix(sid, q) - M) / scale).max() < 1e-12
    assert velocity_terms(sid, q, qd, v, w) == pytest.approx(h, rel=1e-10, abs=1e-10 * np.abs(h).max())


def series(term, q):
    value = term.M0
    value = value if term.M1 is None else value + np.tensordot(q, term.M1, 1)
    return value if term.M2 is None else value + np.einsum("l,k,lk...->...", q, q, term.M2)


def first_moment(sid, q):
    """mdCM, whose second order is half of what Ct has of the first."""
    return series(sid.mdCM, q) + bilinear(sid.Ct, q, q) / 2


def bilinear(term, x, y):
    """Products (3,) of coordinates with the first order of Ct or Cr."""
    return np.zeros(3) if term.M1 is None else np.einsum("qla,q,l->a", term.M1, x, y)


def mass_matrix(sid, q):
    md = first_moment(sid, q)
    J, Ct, Cr = (series(term, q) for term in (sid.J, sid.Ct, sid.Cr))
    return np.block([[sid.mass.M0 * np.eye(3), tilde(md).T, Ct.T], [tilde(md), J, Cr.T], [Ct, Cr, sid.Me.M0]])


def velocity_terms(sid, q, qd, v, w):
    md, J, Ct = first_moment(sid, q), series(sid.J, q), series(sid.Ct, q)
    Gr = np.tensordot(qd, series(sid.Gr, q), 1)
    Ge = np.tensordot(qd, sid.Ge.M0, 1)
    Oe = np.einsum("lab,a,b->l", series(sid.Oe, q), w, w)
    return np.concatenate(
        [
            sid.mass.M0 * np.cross(w, v)
            + 2 * np.cross(w, Ct.T @ qd)
            + np.cross(w, np.cross(w, md))
            + bilinear(sid.Ct, qd, qd),
            np.cross(md, np.cross(w, v)) + Gr @ w + np.cross(w, J @ w) + bilinear(sid.Cr, qd, qd),
            Ct @ np.cross(w, v) + Ge @ w + Oe,
        ]
    )


def test_identities_hold():
    assert list(warnings_of(reduced(crank()).sid)) == []
    assert list(warnings_of(reduced(brick()).sid)) == []


def test_free_bodies_have_mean_axes():
    """Neither momentum nor angular momentum about the centre of mass goes with a mode."""
    sid = reduced(free(brick(k=4))).sid
    size = np.sqrt(sid.mass.M0)
    assert np.abs(sid.Ct.M0).max() < 1e-8 * size and np.abs(sid.Cr.M0).max() < 1e-8 * size


def test_another_basis_is_the_same_body():
    found = reduced(crank(k=4, **FULL))
    T = np.random.default_rng(0).normal(size=(4, 4))
    sid, other = found.sid, turned(found.sid, T)
    q, qd = np.random.default_rng(1).normal(size=(2, 4)) * 1e-3
    v, w = np.eye(3)[:2]
    block = np.zeros((10, 10))
    block[:6, :6], block[6:, 6:] = np.eye(6), T
    assert mass_matrix(other, q) == pytest.approx(block.T @ mass_matrix(sid, T @ q) @ block)
    assert velocity_terms(other, q, qd, v, w) == pytest.approx(block.T @ velocity_terms(sid, T @ q, T @ qd, v, w))
    assert other.frequencies() == pytest.approx(sid.frequencies())


def test_a_pair_that_is_cut_is_told():
    cut, whole = (" ".join(reduced(brick(k=k)).sid.warnings) for k in (1, 2))
    assert "mode 1 is kept and mode 2 is not" in cut
    assert "kept" not in whole


def test_half_of_a_double_mode_has_a_derivative_where_the_halves_do_not_mix():
    """A square beam that stays square; one that becomes wider is refused."""
    half, step = reduced(cantilever(k=1, elements=3)), 1e-30j

    def wider(*change):
        section = (0.02 + step * change[0], 0.02 + step * change[1])
        return derivative(half, cantilever(k=1, elements=3, section=section), 1e-30)

    assert pytest.approx(half.sid.Ke.M0 * 4 / 0.02) == wider(1, 1).Ke.M0
    with pytest.raises(Refused, match="mode 2 of the same frequency is not, and this parts them"):
        wider(1, 0)
