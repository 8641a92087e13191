"""Vectors, rotations, spatial vectors, Euler parameters and linear solvers against numpy."""

from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.kernels.algebra import arrays, linear_solve, spatial, vectors
from mbsim_cli.kernels.algebra.linear_solve import (
    NormalEquations,
    eliminate_panels,
    factor_range,
    keep_in_range,
    solve_panels,
)
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import (
    SPARSE,
    factor_penalised,
    find_residual,
    solve_change,
    solve_constrained,
)
from mbsim_cli.kernels.algorithms.elimination.structure import panels_of
from mbsim_cli.kernels.elements.columns import euler_column, euler_column_rate, euler_column_second_rate
from mbsim_cli.solve.allocate import columns as columns_of
from mbsim_cli.solve.allocate import factor as factor_of
from mbsim_cli.solve.redundancy import kept_in_range
from tests.kernels.geometry import euler_rotation, rotation, skew

EPS = 1e-30
rng = np.random.default_rng(0)
a, b, d = rng.normal(size=(3, 3))
A, B = rng.normal(size=(2, 3, 3))
Q = rotation(a / np.linalg.norm(a), 0.8)
SYMMETRIC = A @ A.T
PACKED = tuple(SYMMETRIC[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def unpacked(J):
    """Symmetric matrix from (xx, yy, zz, xy, xz, yz)."""
    return np.array([[J[0], J[3], J[4]], [J[3], J[1], J[5]], [J[4], J[5], J[2]]])


def motion(seed):
    """A random spatial vector."""
    return tuple(tuple(row) for row in np.random.default_rng(seed).normal(size=(2, 3)))


def flat(x):
    """Six numbers of a spatial vector."""
    return np.concatenate(x)


def test_vectors():
    assert np.allclose(vectors.cross3(a, b), np.cross(a, b))
    assert np.isclose(vectors.dot3(a, b), a @ b)
    assert np.allclose(vectors.axpy3(2.0, a, b), 2 * a + b)
    assert np.allclose(vectors.add3(a, b), a + b)
    assert np.allclose(vectors.sub3(a, b), a - b)
    assert np.allclose(vectors.scale3(2.0, a), 2 * a)


def test_rotation_matrices():
    R, S = tuple(A.ravel()), tuple(B.ravel())
    assert np.allclose(vectors.rotate(R, a), A @ a)
    assert np.allclose(vectors.unrotate(R, a), A.T @ a)
    assert np.allclose(vectors.matmul9(R, S), (A @ B).ravel())
    assert np.allclose(vectors.matmul9_transposed(R, S), (A @ B.T).ravel())
    assert np.allclose(vectors.skew_part(tuple(skew(a).ravel())), a)
    for k, axis in enumerate(np.eye(3)):
        assert np.allclose(vectors.column9(R, k), A[:, k])
        assert np.allclose(vectors.turn_columns(tuple(Q.ravel()), k, 0.7), (Q @ rotation(axis, 0.7)).ravel())


def test_symmetric_matrices():
    assert np.allclose(vectors.symmetric_apply(PACKED, a), SYMMETRIC @ a)
    assert np.allclose(unpacked(vectors.symmetric_rotate(tuple(Q.ravel()), PACKED)), Q @ SYMMETRIC @ Q.T)
    assert np.allclose(unpacked(vectors.parallel_axis(a)), a @ a * np.eye(3) - np.outer(a, a))


def test_spatial_products_are_dual():
    x, y, f = motion(1), motion(2), motion(3)
    power = spatial.dot6(spatial.cross_motion(x, y), f) + spatial.dot6(y, spatial.cross_force(x, f))
    assert abs(power) < 1e-14
    shifted = spatial.dot6(spatial.shift_motion(x, d), spatial.shift_force(f, d))
    assert np.isclose(shifted, spatial.dot6(x, f))
    jacobi = sum(
        flat(spatial.cross_motion(p, spatial.cross_motion(q, r))) for p, q, r in ((x, y, f), (y, f, x), (f, x, y))
    )
    assert np.abs(jacobi).max() < 1e-13


def test_spatial_inertia():
    m, h = 1.7, tuple(d)
    matrix = np.block([[SYMMETRIC, skew(d)], [-skew(d), m * np.eye(3)]])
    x = motion(4)
    assert np.allclose(flat(spatial.inertia_apply((m, h, PACKED), x)), matrix @ flat(x))


def test_arctangent_has_a_complex_derivative():
    for y, x in ((0.3, 0.8), (0.5, -0.7), (-0.5, -0.7), (-0.4, 0.2)):
        dy, dx = 0.9, -1.3
        z = arrays.atan2(y + 1j * EPS * dy, x + 1j * EPS * dx)
        assert np.isclose(z.real, np.arctan2(y, x))
        assert np.isclose(z.imag / EPS, (x * dy - y * dx) / (x * x + y * y))


def test_euler_parameters_off_the_unit_sphere():
    e, e1, e2 = np.random.default_rng(5).normal(size=(3, 4))
    R = euler_rotation(e)
    assert np.allclose(np.reshape(vectors.euler_rotation(tuple(e)), (3, 3)), R)
    for k, one in enumerate(np.eye(4)):
        W = euler_rotation(e + 1j * EPS * one).imag / EPS @ R.T
        assert np.allclose(euler_column(tuple(e), k), (W[2, 1], W[0, 2], W[1, 0]))
        along = np.array(euler_column(tuple(e + 1j * EPS * e1), k))
        assert np.allclose(euler_column_rate(tuple(e), tuple(e1), k), along.imag / EPS)
        powers = [np.dot(e1[:3], vectors.rate_column(one, k)) for one in np.eye(4)]
        assert np.allclose(vectors.rate_power(tuple(e1[:3]), k), powers)
        rate = np.array(euler_column_rate(tuple(e + 1j * EPS * e1), tuple(e1 + 1j * EPS * e2), k))
        assert np.allclose(euler_column_second_rate(tuple(e), tuple(e1), tuple(e2), k), rate.imag / EPS)


def test_factorisation():
    matrix, right = rng.normal(size=(6, 6)), rng.normal(size=(6, 3))
    matrix[0, 0] = 0.0
    lu, pivot, x = matrix.copy(), np.zeros(6, int), right.copy()
    assert linear_solve.lu_factor(lu, pivot)
    linear_solve.lu_solve(lu, pivot, x)
    assert np.allclose(x, np.linalg.solve(matrix, right))
    matrix[3] = matrix[2]
    singular = matrix.copy()
    with np.errstate(all="ignore"):
        regular = linear_solve.lu_factor(singular, pivot)
        assert not regular or np.abs(np.diag(singular)).min() < 1e-13
    assert not linear_solve.lu_factor(np.zeros((2, 2)), np.zeros(2, int))
    assert not linear_solve.lu_factor(np.full((2, 2), np.nan), np.zeros(2, int))


def test_symmetric_factorisation():
    own = np.random.default_rng(1)
    for dtype in (float, complex):
        half = own.normal(size=(5, 5)) + (1e-3j * own.normal(size=(5, 5)) if dtype is complex else 0.0)
        M, right = half @ half.T, own.normal(size=(5, 3)).astype(dtype)
        U, inverse, x = M.copy(), np.zeros(5, dtype), right.copy()
        assert linear_solve.ldl_factor(U, inverse)
        linear_solve.ldl_solve(U, inverse, x)
        assert np.allclose(M @ x, right, atol=1e-12)
    for singular in (np.outer(a, a), -np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan)):
        assert not linear_solve.ldl_factor(singular, np.zeros(3))


def dense_structure(n, m):
    """The structure of matrices without zeros."""
    return panels_of(np.ones((n, n), bool), [np.arange(n)] * m)


def elimination(factor):
    """What eliminates, and solves with it."""
    return factor.sparsity, factor.lu, factor.lower, factor.upper, factor.inverse


@pytest.mark.parametrize("n", range(1, 12))
def test_elimination_three_unknowns_at_a_time(n):
    own = np.random.default_rng(n)
    rows = [np.sort(own.choice(n, min(n, 3), replace=False)) for _ in range(n // 2)]
    meets = np.eye(n, dtype=bool)
    for row in rows:
        meets[np.ix_(row, row)] = True
    matrix = np.where(meets, own.normal(size=(n, n)), 0.0) + 6 * np.eye(n)
    structure = panels_of(meets, rows)
    for dtype in (float, complex):
        tilted = matrix.astype(dtype) + (1e-3j * meets if dtype is complex else 0.0)
        factor, columns = factor_of(n, len(rows), structure, dtype), columns_of(n, len(rows), 1, dtype)
        columns.x[:] = own.normal(size=(n, 1))
        columns.b[:] = 2.0 * tilted @ columns.x
        factor.T[:, :n] = factor.lu[:, :n] = tilted
        find_residual(factor, columns, 0)
        assert np.allclose(columns.step, tilted @ columns.x, atol=1e-13)
        assert eliminate_panels(*elimination(factor))
        solve_panels(*elimination(factor), columns.step, 0)
        assert np.allclose(columns.step, columns.x, atol=1e-13)
        for k in range(n):
            lost = tilted.copy()
            lost[k] = lost[:, k] = 0.0
            factor.lu[:, :n] = lost
            assert not eliminate_panels(*elimination(factor))


@pytest.mark.parametrize("dependent", [0, 2])
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("exchanged", [False, True])
def test_constrained_solve(ratio, dependent, exchanged):
    own = np.random.default_rng(6)
    n, m, p = 7, 3, 2
    T = own.normal(size=(n, n))
    T = T @ T.T + np.diag(10.0 ** np.arange(-2, 5))
    J, b, e = own.normal(size=(m, n)), own.normal(size=(n, p)), own.normal(size=(m, p))
    exact = np.linalg.solve(np.block([[T, J.T], [J, np.zeros((m, m))]]), np.vstack([b, e]))
    mix = own.normal(size=(dependent, m))
    J, e = np.vstack([J, mix @ J]), np.vstack([e, mix @ e])
    factor = factor_of(n, m + dependent, dense_structure(n, m + dependent), float)
    factor.T[:, :n], factor.J[:] = T, J
    assert factor_penalised(ratio, factor)
    assert factor.pivot[0] == SPARSE
    if exchanged:
        factor.lu[:, :n] = T + J.T @ (factor.alpha[:, None] * J)
        assert linear_solve.lu_factor(factor.lu, factor.pivot)
    columns = columns_of(n, m + dependent, p, float)
    columns.b[:], columns.e[:] = b, e
    assert solve_constrained(factor, 1e-12, columns) <= 1e-10
    assert np.abs(columns.x - exact[:n]).max() <= 1e-8 * np.abs(exact[:n]).max()
    assert np.abs(J.T @ columns.mu - J[:m].T @ exact[n:]).max() <= 1e-7 * np.abs(J[:m].T @ exact[n:]).max()
    assert np.allclose(columns.residual, columns.e - J @ columns.x, atol=1e-9)


@pytest.mark.parametrize("share", [1e-12, 1e-6, 1.0, 1e6])
def test_a_change_is_as_accurate_as_what_it_changes_asks(share):
    own = np.random.default_rng(4)
    n, m, p, tolerance = 7, 3, 2, 1e-10
    T, J = own.normal(size=(n, n)) + 9 * np.eye(n), own.normal(size=(m, n))
    factor, columns = factor_of(n, m, dense_structure(n, m), float), columns_of(n, m, p, float)
    factor.T[:, :n], factor.J[:] = T, J
    assert factor_penalised(1e6, factor)
    columns.b[:], columns.e[:] = share * own.normal(size=(n, p)), share * own.normal(size=(m, p))
    exact = np.linalg.solve(np.block([[T, J.T], [J, np.zeros((m, m))]]), np.vstack([columns.b, columns.e]))
    whole = own.normal(size=(n, p))
    error = solve_change(factor, 1e6, tolerance, whole, columns)
    assert error <= tolerance
    assert np.abs(columns.x - exact[:n]).max() <= tolerance * max(1.0, share)
    if share == 1e-12:
        assert not columns.step.any()  # the first correction served


@pytest.mark.parametrize("ratio", [1e2, 1e4])
def test_multipliers_are_accurate_where_constraints_hold_all_of_the_load(ratio):
    """x is zero, so that no correction is small beside it, and round-off ends the updates."""
    own = np.random.default_rng(8)
    n, m, p = 7, 3, 2
    T, J, mu = own.normal(size=(n, n)) + 9 * np.eye(n), own.normal(size=(m, n)), own.normal(size=(m, p))
    for share in (1.0, 1e-9):
        for change in (False, True):
            factor, columns = factor_of(n, m, dense_structure(n, m), float), columns_of(n, m, p, float)
            factor.T[:, :n], factor.J[:] = T, J
            assert factor_penalised(ratio, factor)
            columns.b[:] = share * J.T @ mu
            error = (
                solve_change(factor, ratio, 1e-10, 1e-17 * share * own.normal(size=(n, p)), columns)
                if change
                else solve_constrained(factor, 1e-10, columns)
            )
            assert error <= 1e-10
            assert np.abs(columns.mu - share * mu).max() <= 1e-12 * share * np.abs(mu).max()


def test_multipliers_kept_in_range():
    J = rng.normal(size=(2, 5))
    J = np.vstack([J, J[0] - 2 * J[1]])
    lam = rng.normal(size=(3, 2))
    expected = J @ np.linalg.pinv(J) @ lam
    found = lam.copy()
    reach = NormalEquations(np.zeros((5, 5)), np.zeros(5, int))
    factor_range(J, reach)
    keep_in_range(J, reach, found, SimpleNamespace(x=np.zeros((5, 2)), step=np.zeros((5, 2))))
    assert np.allclose(found, expected, atol=1e-8)
    assert np.allclose(J.T @ found, J.T @ lam, atol=1e-8)
    np.testing.assert_allclose(kept_in_range(J, lam), found, atol=1e-12)
