"""Modes and static shapes of a structure, with exact first derivatives; geometric stiffening by unit loads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.reduction.data import SIX, Array, NoDerivative, Refused, Taylor, tilde, untilde
from mbsim_cli.reduction.restriction import MeshNode
from mbsim_cli.reduction.structure import Flexibility, Structure, System, lowest_by_multigrid
from mbsim_cli.system import cached_property

# Lowest modes by a block Lanczos method: solves with several loads at once, and equal modes are found together.
#
# Golub, Underwood, in: Mathematical Software III (1977) 361; each block is made orthogonal to all before.

TOGETHER = 3  # vectors of a block: the most equal modes that are found
SETTLED = 1e-10  # residual of a mode, relative
MOST = 400  # vectors beyond those wanted
NEW = 1e-14  # least share of a vector that others have not, by its square


def lowest(system: System, flexibility: Flexibility, wanted: int) -> Array:
    """Shapes (r, wanted) of the lowest modes with strain, mass-normalised; the same at every call."""
    from scipy.linalg import eigh

    size = system.K.shape[0]
    most = min(wanted + MOST, size)
    Q, H = np.empty((size, most), order="F"), np.zeros((most, most))
    older, before = 0, 0
    start = system.strained(np.random.default_rng(0).standard_normal((size, TOGETHER)))
    new, weighted = _orthonormal(system, start)
    while before + new.shape[1] <= most:
        count = before + new.shape[1]
        Q[:, before:count] = new
        answer = flexibility.solve(weighted)
        recent = Q[:, older:count]
        along = recent.T @ (system.M @ answer)
        H[older:count, before:count], H[before:count, older:count] = along, along.T
        rest = answer - recent @ along
        weighted = system.M @ rest
        inverses, Y = eigh(H[:count, :count])
        last = Y[before:, -wanted:]
        left = np.sqrt(np.abs(np.einsum("ij,ik,kj->j", last, rest.T @ weighted, last)))
        settled = count >= wanted and (left <= SETTLED * inverses[-wanted:]).all()
        new, weighted = _orthonormal(system, rest - Q[:, :count] @ (Q[:, :count].T @ weighted))
        if settled or not new.shape[1]:
            return Q[:, :count] @ Y[:, : -wanted - 1 : -1]
        older, before = before, count
    raise AnalysisError(f"the {wanted} lowest modes did not settle among {before} trial shapes")


def _orthonormal(system: System, V: Array) -> tuple[Array, Array]:
    """Basis of vectors, by the mass, and its product with that; dependent vectors are dropped."""
    W = system.M @ V
    for _ in range(2):
        G = V.T @ W
        size = 1 / np.sqrt(np.diag(G))
        values, T = np.linalg.eigh(G * np.outer(size, size))
        good = values > NEW
        T = size[:, None] * T[:, good] / np.sqrt(values[good])
        V, W = V @ T, W @ T
    return V, W


DENSE = 300  # unknowns up to which a dense solver is quicker
GUARD = 2  # modes above those wanted: they show a gap, and speed the solves of derivatives
MOST_STEPS = 400  # of conjugate gradients
EQUAL = 1e-9  # relative gap of squared frequencies below which they count as equal
NEAR = 1e-5  # the same of modes that a small change makes change places
ALIKE = 1e-4  # largest relative difference between the changes of two squared frequencies that stay together
TIED = 1e-6  # relative difference of entries that round-off leaves of equal ones
ROUND_OFF = 1e-8  # of what a change could do to a mode


class Modes(NamedTuple):
    """Squared frequencies (m) and mass-normalised shapes (r, m), lowest first; ``kept`` (n) are the wanted ones."""

    squares: Array
    shapes: Array
    kept: Array

    @property
    def cut(self) -> list[tuple[int, int]]:
        """Pairs of a mode that is kept and one that is not, of nearly the same frequency."""
        left = all_but(len(self.squares), self.kept).tolist()
        near = NEAR * self.squares
        return [(i, j) for i in self.kept.tolist() for j in left if abs(self.squares[i] - self.squares[j]) < near[i]]


def lowest_modes(system: System, flexibility: Flexibility, kept: Sequence[int]) -> Modes:
    """The modes with strain up to the last wanted one, and a few more where there are any; the same at every call."""
    from scipy.linalg import eigh

    count = max(kept, default=-1) + 1
    most = system.K.shape[0] - system.rigid.shape[1]
    if count > most:
        raise Refused(("modes",), f"mode {count} is asked for, of a mesh that has {most}")
    wanted = min(count + GUARD, most)
    dense = system.K.shape[0] <= max(DENSE, 3 * wanted)
    if flexibility.iterative:
        found = lowest_by_multigrid(system.K, system.M, system.rigid, flexibility.multigrid, wanted)
    elif dense:
        K, M, rigid = system.K.toarray(), system.M.toarray(), system.rigid.shape[1]
        found = eigh((K + K.T) / 2, (M + M.T) / 2, subset_by_index=[rigid, rigid + wanted - 1])[1]
        found = flexibility.solve(M @ system.strained(found))  # inverse iteration removes shares of the highest modes
    else:
        found = lowest(system, flexibility, wanted)
    V = system.strained(found)
    V = V / np.sqrt(np.einsum("ij,ij->j", V, system.M @ V))
    A, B = V.T @ (system.K @ V), V.T @ (system.M @ V)
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise np.linalg.LinAlgError("stiffness and mass of modes are not finite")
    squares, T = eigh((A + A.T) / 2, (B + B.T) / 2)
    shapes = V @ T
    return Modes(squares, shapes * signs(shapes), np.array(kept, dtype=int))


def signs(shapes: Array) -> Array:
    """Signs (n,) that make the largest entry of each shape (r, n) positive; of equal ones, by symmetry, the first."""
    size = np.abs(shapes)
    largest = (size >= (1.0 - TIED) * size.max(0)).argmax(0)
    return np.sign(shapes[largest, np.arange(shapes.shape[1])])


class Response:
    """Response of shapes to a change of the body: (K - square_i M) y_i = b_i, without components along the kept modes.

    Symmetric in b and y, so that it serves derivatives along a change and adjoints of all changes alike.
    """

    def __init__(self, system: System, flexibility: Flexibility, modes: Modes):
        self._system, self._flexibility, self._modes = system, flexibility, modes
        G = np.linalg.cholesky(system.gram) if system.rigid.shape[1] else np.zeros((0, 0))
        rigid = np.linalg.solve(G, system.rigid.T).T
        left = all_but(len(modes.squares), modes.kept)
        self._others = np.hstack([modes.shapes[:, left], rigid])
        self._other_squares = np.concatenate([modes.squares[left], np.zeros(rigid.shape[1])])
        self._all = np.hstack([modes.shapes, rigid])
        self._weighted = system.M @ self._all

    def solve(self, B: Array) -> Array:
        """Responses (r, n) to B (r, n), one column for each kept mode."""
        kept = self._modes.squares[self._modes.kept]
        return self._beyond(B, kept) + self._others @ self._turns(B, kept)

    def _turns(self, B: Array, kept: Array) -> Array:
        """Shares of the modes that are not kept; raise NoDerivative where one is as good as equal, and mixes."""
        along, gap = self._others.T @ B, self._other_squares[:, None] - kept
        equal = np.abs(gap) <= EQUAL * kept
        if equal.any():
            possible = np.sqrt(_products(B, self._flexibility.solve(B)) * self._other_squares[:, None])
            if (mixed := (equal & (np.abs(along) > ROUND_OFF * possible)).any(0)).any():
                mode = int(self._modes.kept[np.argmax(mixed)]) + 1
                message = f"mode {mode} has no derivative: another of its frequency is not kept, and both mix"
                raise NoDerivative(("modes",), message, "keep both or none")
        return np.where(equal, 0.0, along) / np.where(equal, 1.0, gap)

    def _load(self, B: Array) -> Array:
        return B - self._weighted @ (self._all.T @ B)

    def _shape(self, X: Array) -> Array:
        return X - self._all @ (self._weighted.T @ X)

    def _beyond(self, B: Array, squares: Array) -> Array:
        """The part beyond all computed modes, by conjugate gradients with the factor of K."""
        system = self._system
        R = self._load(self._load(B))  # twice: the part beyond may be small beside the rest
        X = np.zeros_like(R)
        scale = np.sqrt(_products(B, self._flexibility.solve(B)))
        small = self._flexibility.accuracy
        Z = self._shape(self._flexibility.approximate(R))
        D, rz = Z, _products(R, Z)
        active = np.flatnonzero(np.sqrt(rz) > small * scale)
        for _ in range(MOST_STEPS):
            if not len(active):
                return self._shape(X)
            d = D[:, active]
            Ad = self._load(system.K @ d - (system.M @ d) * squares[active])
            step = rz[active] / _products(d, Ad)
            X[:, active] += step * d
            R[:, active] -= step * Ad
            Z = self._shape(self._flexibility.approximate(R[:, active]))
            new = _products(R[:, active], Z)
            D = D.copy()
            D[:, active] = Z + new / rz[active] * d
            rz[active] = new
            active = active[np.sqrt(np.abs(new)) > small * scale[active]]
        close = int(active[0]) + 1
        raise AnalysisError(f"the derivative of mode {close} did not converge: the next frequency is too close")


def _products(A: Array, B: Array) -> Array:
    """Products of columns (k)."""
    return np.abs(np.einsum("ij,ij->j", A, B))


# Modes and static responses of a body, or the same with exact first derivatives along a change.
#
# ``Solved`` works on a real body and keeps the factor; ``Changed`` gives complex numbers whose imaginary parts are the
# derivatives, by direct differentiation with that factor.


class Solved:
    """A real body; ``kept`` are the modes that are wanted, counted from 0."""

    def __init__(self, system: System, kept: Sequence[int]):
        self.system, self._kept = system, kept

    @cached_property
    def flexibility(self) -> Flexibility:
        """The factor."""
        return Flexibility(self.system)

    @cached_property
    def found(self) -> Modes:
        """The modes with their frequencies."""
        return lowest_modes(self.system, self.flexibility, self._kept)

    @cached_property
    def response(self) -> Response:
        """The solver of the modes' responses to changes."""
        return Response(self.system, self.flexibility, self.found)

    def modes(self) -> Array:
        """Shapes of the wanted modes (r, n)."""
        return self.found.shapes[:, self.found.kept]

    def static(self, F: Array) -> Array:
        """Static responses (r, k) to loads; for a free body, loads are balanced, and responses have no rigid motion."""
        return self.flexibility.solve(F) if F.shape[1] else F


class Changed:
    """The body of a ``Solved`` with first-order changes: K, M and rigid motions whose imaginary parts are tiny."""

    def __init__(self, before: Solved, system: System):
        self._before, self._system = before, system

    def modes(self) -> Array:
        """Shapes with their derivatives; the span's basis turns as little as it can. Raises NoDerivative."""
        modes, dK, dM = self._before.found, _imaginary(self._system.K), _imaginary(self._system.M)
        for kept, left in modes.cut:
            W = modes.shapes[:, [kept, left]]
            A = W.T @ (dK @ W) - modes.squares[kept] * (W.T @ (dM @ W))
            if max(abs(A[0, 1]), abs(A[0, 0] - A[1, 1])) > ALIKE * np.abs(A).max():
                why = f"mode {kept + 1} is kept and mode {left + 1} of the same frequency is not, and this parts them"
                raise NoDerivative(("modes",), why, "keep both or none")
        V = self._before.modes()
        return V + 1j * self._before.response.solve((dM @ V) * modes.squares[modes.kept] - dK @ V)

    def static(self, F: Array) -> Array:
        """Responses with their derivatives: K dx = d(balanced load) - dK x, and no rigid motion before and after."""
        before = self._before
        x = before.static(np.ascontiguousarray(F.real))
        change = self._system.balanced(F).imag - _imaginary(self._system.K) @ x
        dx = before.flexibility.solve(change) if F.shape[1] else change
        return self._system.strained(x + 1j * dx)


def _imaginary(A):
    return A.imag if np.iscomplexobj(A.data) else 0 * A


class Stiffening(NamedTuple):
    """Loads that cause geometric stiffening: rotation, acceleration, forces and moments at nodes (counted from 0)."""

    rotation: bool = False
    acceleration: bool = False
    nodes: tuple[int, ...] = ()


class UnitLoads(NamedTuple):
    """Loads (ndof, s) that stiffen, and the path of the term that they contribute to."""

    path: str
    forces: Array
    accelerations: Array | None = None  # of the carriers (m, 3, s), where the forces are their mass times these

    def shares(self, K0: Array) -> dict[str, Taylor]:
        """Contributions of the loads' stiffness (s, n, n) to terms, by path."""
        if self.path == "Oe":
            J2 = np.zeros((*K0.shape[1:], 3, 3), K0.dtype)
            for pair, (a, b) in enumerate(SIX):
                J2[:, :, a, b] = J2[:, :, b, a] = K0[pair]
            return {"Oe": Taylor(None, -J2), "J": Taylor(None, None, J2), "Gr": Taylor(None, 2 * J2)}
        first = -K0.transpose(2, 1, 0)
        if self.path == "Cr":
            return {"Cr": Taylor(None, first), "Gr": Taylor(None, -tilde(first))}
        return {self.path: Taylor(None, first)}

    def pull_back(self, given: Mapping[str, Taylor]) -> Array:
        """Transpose of ``shares``."""
        hat: Array = given[self.path].M1
        by_rate: Array = given["Gr"].M1
        if self.path == "Oe":
            first = given["J"].M2 + 2 * by_rate - hat  # (n, n, 3, 3), of six pairs as in ``shares``
            return np.stack([first[:, :, a, b] + (first[:, :, b, a] if a != b else 0.0) for a, b in SIX])
        if self.path == "Cr":
            hat = hat - 2 * untilde(by_rate)
        return -hat.transpose(2, 1, 0)


def unit_loads(which: Stiffening, structure: Structure, nodes: Sequence[MeshNode]) -> Iterator[UnitLoads]:
    """All loads that stiffen a body."""
    if which.acceleration:
        yield _of_inertia("Ct", structure, np.broadcast_to(np.eye(3), (len(structure.carriers), 3, 3)))
        yield _of_inertia("Cr", structure, np.stack([np.cross(axis, structure.carriers) for axis in np.eye(3)], -1))
    if which.rotation:
        one, R = np.eye(3), structure.carriers  # w (w.R) - w.w R by products w_a w_b, symmetric in a and b
        products = [(np.outer(R[:, b], one[a]) + np.outer(R[:, a], one[b])) / 2 - (a == b) * R for a, b in SIX]
        yield _of_inertia("Oe", structure, np.stack(products, -1))
    for i in which.nodes:
        yield UnitLoads(f"node[{i}].phi", nodes[i].phi.T.toarray())
        yield UnitLoads(f"node[{i}].psi", nodes[i].psi.T.toarray())


def _of_inertia(path: str, structure: Structure, accelerations: Array) -> UnitLoads:
    """Loads of inertia: forces of the carriers' accelerations (m, 3, n), with reversed sign."""
    shape = accelerations.shape
    forces = structure.collected((structure.m @ accelerations.reshape(shape[0], -1)).reshape(shape))
    return UnitLoads(path, forces, accelerations)
