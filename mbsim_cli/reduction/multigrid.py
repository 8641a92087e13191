"""Bodies that are too large to factor: algebraic multigrid (pyamg, extra fem), many loads at once.

Only the hierarchy is pyamg's: smoothed aggregation from the rigid motions (Vanek, Mandel, Brezina, Computing 56 (1996)
179). Its cycles smooth by Chebyshev polynomials, which are symmetric and take all loads in one product.
"""

import warnings
from importlib.util import find_spec

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.structure import Sparse

LARGE = 10_000_000  # entries of a stiffness matrix above which factors take too much memory
DEGREE, LOWEST, HIGHEST = 3, 0.1, 1.1  # of the smoothing polynomials, and the part of the spectrum that they damp
COARSEST, GUESSED = 1000, 6000  # unknowns solved with a dense factor; of the guess that modes begin with
STEPS, REACHED = 500, 1e-12  # of conjugate gradients, and their relative residual
ROUNDS, SETTLED = 200, 1e-7  # of the search for modes, and their residual relative to the lowest square
GUARD = 2  # shapes of the search beyond those wanted


def chosen(K: Sparse) -> bool:
    """Whether a matrix is so large that cycles take the place of its factor; they need pyamg."""
    return bool(K.nnz > LARGE) and find_spec("pyamg") is not None


class Multigrid:
    """Inverse of a stiffness matrix (r, r) by conjugate gradients.

    ``motions`` (r, s) are those that strain little, ``block`` unknowns belong to a node.
    """

    accuracy = 1e-10

    def __init__(self, K: Sparse, motions: Array, block: int):
        from pyamg import smoothed_aggregation_solver

        first = K.tobsr(blocksize=(block, block)) if block > 1 else K.tocsr()
        found = smoothed_aggregation_solver(first, B=motions, max_coarse=COARSEST, symmetry="symmetric").levels
        self._levels = [_Level(level.A.tocsr()) for level in found[:-1]]
        self._up = [level.P.tocsr() for level in found[:-1]]
        self._down = [P.T.tocsr() for P in self._up]
        self._K, self._coarsest = K, np.linalg.pinv(found[-1].A.toarray(), 1e-11, hermitian=True)

    def cycle(self, F: Array) -> Array:
        """An approximate solution (r, k), symmetric in the loads."""
        return self._cycle(np.ascontiguousarray(F), 0)

    def _cycle(self, F: Array, depth: int) -> Array:
        if depth == len(self._levels):
            return self._coarsest @ F
        level = self._levels[depth]
        X = level.smoothed(F)
        X += self._up[depth] @ self._cycle(self._down[depth] @ (F - level.A @ X), depth + 1)
        return X + level.smoothed(F - level.A @ X)

    def solve(self, F: Array) -> Array:
        """Displacements (r, k) or (r,) by loads."""
        R = F.reshape(len(F), -1).copy()
        X, first = np.zeros_like(R), np.linalg.norm(R, axis=0)
        active = np.flatnonzero(first)
        D = np.zeros_like(R)
        before = np.ones(R.shape[1])
        for _ in range(STEPS):
            if not len(active):
                return X.reshape(F.shape)
            Z = self.cycle(R[:, active])
            product = np.einsum("ij,ij->j", R[:, active], Z)
            d = D[:, active] = Z + product / before[active] * D[:, active]
            before[active] = product
            Kd = self._K @ d
            step = product / np.einsum("ij,ij->j", d, Kd)
            X[:, active] += step * d
            R[:, active] -= step * Kd
            active = active[np.linalg.norm(R[:, active], axis=0) > REACHED * first[active]]
        raise AnalysisError(f"the iterative solver did not settle in {STEPS} steps; elements may be badly shaped")

    def guess(self, M: Sparse, wanted: int) -> Array:
        """About the lowest modes (r, wanted), those of a coarse level."""
        from scipy.sparse.linalg import eigsh

        depth = next((i for i, level in enumerate(self._levels) if level.A.shape[0] <= GUESSED), len(self._levels))
        K = self._K
        for P, Q in zip(self._up[:depth], self._down[:depth], strict=True):
            K, M = Q @ K @ P, Q @ M @ P
        below = -1e-6 * float((K.diagonal() / M.diagonal()).max())  # a shift off the rigid motions
        start = np.random.default_rng(0).standard_normal(K.shape[0])
        V = eigsh(K.tocsc(), wanted, M.tocsc(), sigma=below, v0=start)[1]
        for P in reversed(self._up[:depth]):
            V = P @ V
        return V


class _Level:
    """A matrix with its smoother."""

    def __init__(self, A: Sparse):
        self.A = A
        self._inverse = 1 / A.diagonal()[:, None]
        v = np.random.default_rng(0).standard_normal((A.shape[0], 1))
        for _ in range(15):
            v = self._inverse * (A @ (v / np.linalg.norm(v)))
        self._largest = float(np.linalg.norm(v))  # eigenvalue of the matrix scaled by its diagonal

    def smoothed(self, F: Array) -> Array:
        """A Chebyshev polynomial of the scaled matrix times the loads."""
        low, high = LOWEST * self._largest, HIGHEST * self._largest
        middle, half = (high + low) / 2, (high - low) / 2
        X = self._inverse * F / middle
        D, ratio = X, half / middle
        for _ in range(DEGREE - 1):
            before, ratio = ratio, 1 / (2 * middle / half - ratio)
            D = ratio * before * D + (2 * ratio / half) * (self._inverse * (F - self.A @ X))
            X = X + D
        return X


def lowest(K: Sparse, M: Sparse, rigid: Array, solver: Multigrid, wanted: int) -> Array:
    """Shapes (r, wanted) of the lowest modes with strain, by LOBPCG; Knyazev, SIAM J. Sci. Comput. 23 (2001) 517."""
    from scipy.sparse.linalg import LinearOperator, lobpcg

    count = rigid.shape[1]
    guess = solver.guess(M, wanted + GUARD + count)[:, count:]
    mass = float(M.diagonal().mean())
    square = float(np.min(np.einsum("ij,ij->j", guess, K @ guess) / np.einsum("ij,ij->j", guess, M @ guess)))
    cycle = LinearOperator(K.shape, lambda x: solver.cycle(x.reshape(-1, 1)).ravel(), matmat=solver.cycle, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, V, sizes = lobpcg(
            K / (square * mass), guess, M / mass, cycle, rigid if count else None, SETTLED, ROUNDS, False,
            retResidualNormsHistory=True,
        )  # fmt: skip
    if not np.asarray(sizes[-1])[:wanted].max() < 10 * SETTLED:
        raise AnalysisError(f"the {wanted} lowest modes did not settle in {ROUNDS} rounds of an iterative solver")
    return V[:, :wanted]
