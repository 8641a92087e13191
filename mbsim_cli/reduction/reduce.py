"""From a meshed body to its standard input data; damping of elastic coordinates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import beyond_numbers
from mbsim_cli.reduction.data import Array, Node, Refused, StandardInput, Taylor, tangent, tilde
from mbsim_cli.reduction.integrals import columns, terms_of
from mbsim_cli.reduction.mesh import ShapedMesh
from mbsim_cli.reduction.modes import Changed, Solved, Stiffening, signs, unit_loads
from mbsim_cli.reduction.restriction import Frame, MeshNode, Pivots, Restriction, restriction, system_of
from mbsim_cli.reduction.sid_reader import EXACT, difference
from mbsim_cli.reduction.structure import RANK, SETTLED, Structure
from mbsim_cli.system import cached_property


class Damping(NamedTuple):
    """De = alpha Me + beta Ke + a matrix that damps every mode by a ratio of the critical damping."""

    alpha: Array | float = 0.0
    beta: Array | float = 0.0
    ratio: Array | float = 0.0

    def matrix(self, Me: Array, Ke: Array) -> Array:
        """De (n, n)."""
        D = self.alpha * Me + self.beta * Ke
        return D + 2 * self.ratio * root(Me, Ke) if self.ratio else D

    def pull_back(self, Me: Array, Ke: Array, adjoint: Array) -> tuple[Array, Array]:
        """Adjoints (n, n) of Me and Ke from one of De."""
        by_Me, by_Ke = self.alpha * adjoint, self.beta * adjoint
        if self.ratio:
            w, V = _modes(Me, Ke)
            inverse = np.linalg.inv(V)
            D = inverse @ adjoint @ inverse.T
            half = D / _sums(w)
            of_Me, of_Ke = V @ (D * w - half * w**2) @ V.T, V @ half @ V.T  # of ``root``
            by_Me, by_Ke = by_Me + 2 * self.ratio * of_Me, by_Ke + 2 * self.ratio * of_Ke
        return by_Me, by_Ke


def root(Me: Array, Ke: Array) -> Array:
    """Me (Me^-1 Ke)^(1/2), which is the matrix of frequencies in the modes; exact to first order in imaginary parts."""
    w, V = _modes(Me.real, Ke.real)
    A, B = V.T @ Ke @ V, V.T @ Me @ V
    half = np.diag(w)
    change = (A - np.diag(w**2) - (B - np.eye(len(w))) * w**2) / _sums(w)  # of the root of B^-1 A
    inverse = np.linalg.inv(V)
    return inverse.T @ (half + change + (B - np.eye(len(w))) @ half) @ inverse


def _sums(w: Array) -> Array:
    """Sums of pairs of frequencies; infinite if both are zero, where the root has no derivative."""
    sums = w[:, None] + w
    return np.where(sums > 0, sums, np.inf)


def _modes(Me: Array, Ke: Array) -> tuple[Array, Array]:
    from scipy.linalg import eigh

    try:
        squares, V = eigh(Ke, Me)
    except np.linalg.LinAlgError:  # an impossible Me, which checks of the data report
        return np.full(len(Me), np.nan), np.full(Me.shape, np.nan)
    return np.sqrt(np.maximum(squares, 0.0)), V


DEPENDENT = 1e-10  # share of a static shape that the modes do not have already, by its mass
NO_STIFFENING, NO_DAMPING = Stiffening(), Damping()
CLOSE_PAIR = 1e-3  # relative gap of squared frequencies


@dataclass(frozen=True)
class Body:
    """A meshed body with the settings of its reduction; numbers may be complex, for derivatives."""

    structure: Structure
    frame: Frame
    nodes: tuple[MeshNode, ...] = ()
    rigid: tuple[tuple[Array, int], ...] = ()  # sets that move rigidly, with the nodes that they carry
    modes: tuple[int, ...] = ()  # counted from 0
    static: tuple[int, ...] = ()  # nodes whose forces and moments have shapes of their own
    stiffening: Stiffening = NO_STIFFENING
    damping: Damping = NO_DAMPING
    pivots: Pivots | None = None  # those before a change, if this is a changed body

    @cached_property
    def held(self) -> Restriction:
        """The free displacements."""
        rigid = [(nodes, self.nodes[i]) for nodes, i in self.rigid]
        return restriction(self.structure, self.frame, rigid, self.pivots)

    def static_loads(self) -> Array:
        """Unit forces and moments at the nodes that have static shapes (ndof, s), also those that the frame takes."""
        forces, moments = ([0, 1], [2]) if self.structure.planar else ([0, 1, 2], [0, 1, 2])
        nodes = [self.nodes[i] for i in self.static]
        parts = [part for node in nodes for part in (node.phi.toarray()[forces], node.psi.toarray()[moments])]
        rows = [row for part in parts for row in part if np.any(row)]
        return np.array(rows).T if rows else np.zeros((self.structure.size, 0))


@dataclass(frozen=True)
class Reduced:
    """A body with its modes: shapes (ndof, n) = expanded (modes, static shapes) times ``mixing``."""

    body: Body
    solver: Solved
    loaded: Array  # numbers of the static loads that have shapes
    mixing: Array
    shapes: Array
    sid: StandardInput

    @cached_property
    def basis(self) -> Array:
        """The shapes by the free displacements (r, n), of unit mass."""
        return _basis(self.body, self.solver, self.loaded) @ self.mixing


def reduced(body: Body) -> Reduced:
    """Reduce a real body; raises Refused and AnalysisError."""
    structure = body.structure
    K, M = (structure.stiffness, structure.mass) if structure.given is None else (m.data for m in structure.given[:2])
    for what, entries in (("stiffness", K), ("mass", M)):  # finite numbers may give others
        if not np.isfinite(entries).all():
            raise Refused((), *beyond_numbers(f"{what} of elements is not finite"))
    solver = Solved(system_of(structure, body.held, body.frame.free), body.modes)
    loaded, dropped = _bent_by(body)
    basis = _basis(body, solver, loaded)
    mixing, combined = _mixing(solver, basis, len(loaded) > 0)
    shapes = body.held.expand(basis @ mixing)
    sid = _terms(body, solver, shapes)
    warnings = (*structure.warnings, *_warnings_of(solver), *dropped, *combined)
    return Reduced(body, solver, loaded, mixing, shapes, replace(sid, warnings=warnings))


def derivative(before: Reduced, body: Body, step: float) -> StandardInput:
    """Derivatives of all terms, where the body's numbers have moved by ``step`` along the imaginary axis."""
    body = replace(body, pivots=before.body.held.pivots)
    solver = Changed(before.solver, system_of(body.structure, body.held, body.frame.free))
    return tangent(_along(before, body, solver), step)


def _along(before: Reduced, body: Body, solver: Solved | Changed) -> StandardInput:
    """Terms of a changed body, in the basis that a solver gives, turned as little as it can within the span."""
    V = _basis(body, solver, before.loaded) @ before.mixing
    if len(before.loaded):  # static shapes; changes of modes have no part in the span
        V = V - 1j * before.basis @ (before.basis.T @ (before.solver.system.M @ V.imag))
    return _terms(body, solver, body.held.expand(V))


def _bent_by(body: Body) -> tuple[Array, list[str]]:
    """Numbers of the independent static loads, and a sentence on the dropped ones.

    The frame takes loads at nodes that it holds. On the free displacements such a load is round-off, or a multiple of
    other loads, and its static shape would be noise.
    """
    from scipy.linalg import qr

    forces = body.static_loads().real
    if not forces.shape[1]:
        return np.zeros(0, int), []
    R, order = qr(body.held.load(forces / np.linalg.norm(forces, axis=0)), mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    loaded = np.sort(order[: np.count_nonzero(diagonal > RANK)])
    lost = forces.shape[1] - len(loaded)
    nodes = ", ".join(body.nodes[i].name for i in body.static)
    what = f"{lost} of the forces and moments of static shapes (at {nodes}) bend nothing of their own"
    return loaded, [f"{what}, as the frame holds the body there, and are left out"] if lost else []


def _basis(body: Body, solver: Solved | Changed, loaded: Array) -> Array:
    """Modes and static shapes (r, n)."""
    loads = body.held.load(body.static_loads()[:, loaded])
    return np.hstack([solver.modes(), solver.static(loads)]) if loads.shape[1] else solver.modes()


def _mixing(solver: Solved, basis: Array, mix: bool) -> tuple[Array, list[str]]:
    """Basis of modes and static shapes with unit mass and diagonal stiffness; and a sentence on dropped shapes."""
    from scipy.linalg import eigh

    if not mix:
        return np.eye(basis.shape[1]), []
    M, K = basis.T @ (solver.system.M @ basis), basis.T @ (solver.system.K @ basis)
    size = 1 / np.sqrt(np.diag(M))
    values, vectors = eigh(M * np.outer(size, size))
    good = values > DEPENDENT
    span = (size[:, None] * vectors[:, good]) / np.sqrt(values[good])
    mixing = span @ eigh(span.T @ K @ span)[1]
    lost = int((~good).sum())
    dropped = [f"{lost} static shapes are combinations of the others and are left out"] if lost else []
    return mixing * signs(basis @ mixing), dropped


def _warnings_of(solver: Solved) -> list[str]:
    """Warnings of modes that are cut inside a close pair, and of modes that are not exact."""
    squares, kept = solver.found.squares, solver.found.kept
    found = []
    if solver.flexibility.iterative:
        why = f"the stiffness matrix of {len(solver.system.node)} unknowns is too large to factor"
        found.append(f"{why}; the modes come from an iterative solver, with residuals of {SETTLED:g}")
    for i in kept:
        for j in set(range(len(squares))) - set(kept.tolist()):
            gap = abs(squares[i] - squares[j])
            if gap < CLOSE_PAIR * squares[i]:
                pair = f"mode {i + 1} is kept and mode {j + 1} is not, whose frequencies are equal to"
                found.append(f"{pair} {gap / squares[i] / 2:.1g}: gradients are ill-defined; keep both or none")
    return found


def _terms(body: Body, solver: Solved | Changed, shapes: Array) -> StandardInput:
    structure = body.structure
    U = columns(structure.carriers, structure.displacements(shapes))
    terms: dict[str, Any] = dict(terms_of(U.T @ (structure.m @ U)))
    Ke = shapes.T @ (structure.K @ shapes)
    if structure.given is not None:
        terms["Me"] = Taylor(shapes.T @ (structure.M @ shapes))
    terms |= {"Ke": Taylor(Ke), "De": Taylor(body.damping.matrix(terms["Me"].M0, Ke))}
    nodes = tuple(node_of(node.name, node.origin, (node.phi @ shapes).T, (node.psi @ shapes).T) for node in body.nodes)
    sid = StandardInput(**terms, ksigma=Taylor(np.zeros(len(Ke))), nodes=nodes)
    if body.stiffening == NO_STIFFENING:
        return sid
    if structure.geometric is None:
        raise Refused(("stiffening",), "matrices tell no stresses", "leave it out, or give a mesh")
    stiff = dict(sid.items())
    for loads in unit_loads(body.stiffening, structure, body.nodes):
        stressed = body.held.expand(solver.static(body.held.load(loads.forces)))
        for path, share in loads.shares(structure.geometric.stiffness(structure, stressed, shapes)).items():
            stiff[path] = stiff[path].plus(share)
    return sid.with_terms(stiff)


class Integrals(NamedTuple):
    """Independent integrals of a body with n shapes; index q of the shape that a coefficient is multiplied by first.

    J2 may be -int rho Phi_q~ Phi_l~, or only its symmetric part, which is used.
    """

    mass: Array  # ()
    mdCM: Array  # (3)
    J0: Array  # (3, 3)
    J1: Array  # (n, 3, 3)
    J2: Array  # (n, n, 3, 3)
    Ct: Array  # (n, 3)
    Cr0: Array  # (n, 3)
    Cr1: Array  # (n, n, 3): q, row
    Me: Array  # (n, n)
    Ke: Array  # (n, n)


def body_of(given: Integrals, nodes: tuple[Node, ...], damping: Damping) -> StandardInput:
    """All terms: Gr = J1 - Cr0~ and 2 J2 - Cr1~, Ge = 2 Cr1, Oe = -J1/2 and -J2."""
    given = _counted(given)
    return StandardInput(
        mass=Taylor(given.mass),
        mdCM=Taylor(given.mdCM, given.Ct),
        J=Taylor(given.J0, given.J1, given.J2),
        Ct=Taylor(given.Ct),
        Cr=Taylor(given.Cr0, given.Cr1),
        Me=Taylor(given.Me),
        Gr=Taylor(given.J1 - tilde(given.Cr0), 2 * given.J2 - tilde(given.Cr1)),
        Ge=Taylor(2 * given.Cr1),
        Oe=Taylor(-given.J1 / 2, -given.J2),
        ksigma=Taylor(np.zeros_like(given.Ct[:, 0])),
        Ke=Taylor(given.Ke),
        De=Taylor(damping.matrix(given.Me, given.Ke)),
        nodes=nodes,
    )


def node_of(name: str, origin: Array, phi: Array, psi: Array) -> Node:
    """A frame at a place (3), displaced and turned by the shapes (n, 3)."""
    return Node(name, Taylor(origin, phi), Taylor(phi), Taylor(psi), Taylor(np.eye(3), tilde(psi)))


def impossible(given: Integrals) -> Iterator[tuple[str, str]]:
    """Terms that no shapes have, each with its fault. Values alone count: a number may move one of two equal ones."""
    given = Integrals(*map(np.real, given))
    counted = _counted(given)
    for term, entries, expected, wrong in (
        ("J", given.J0, given.J0.T, "is not symmetric"),
        ("Me", given.Me, given.Me.T, "is not symmetric"),
        ("Ke", given.Ke, given.Ke.T, "is not symmetric"),
        ("J.M1", given.J1, counted.J1, "is not symmetric"),
        ("J.M2", _symmetric(given.J2), counted.J2, "is another one with the two shapes exchanged"),
        ("Cr.M1", given.Cr1, counted.Cr1, "is not the opposite with the two shapes exchanged"),
    ):
        if (defect := difference(entries, expected)) > EXACT:
            yield term, f"{term} {wrong}, by {defect:.2g} of the largest entry"


def _counted(given: Integrals) -> Integrals:
    """Those parts of terms that any body has and that move it: of two entries that are equal each counts half."""
    J2, Cr1 = _symmetric(given.J2), given.Cr1
    even = {name: _symmetric(getattr(given, name)) for name in ("J0", "J1", "Me", "Ke")}
    return given._replace(**even, J2=(J2 + J2.swapaxes(0, 1)) / 2, Cr1=(Cr1 - Cr1.swapaxes(0, 1)) / 2)


def _symmetric(matrices: Array) -> Array:
    return (matrices + matrices.swapaxes(-1, -2)) / 2


def shaped_mesh(found: Reduced, fields: Mapping[str, Array]) -> ShapedMesh | None:
    """The mesh of a body for pictures; None for one by matrices, which has no cells."""
    structure = found.body.structure
    mesh = structure.mesh
    if not len(mesh.cells):
        return None
    d = structure.translations
    shapes = np.zeros((found.shapes.shape[1], len(mesh.points), 3))
    shapes[:, :, :d] = found.shapes.reshape(len(mesh.points), structure.per_node, -1)[:, :d].transpose(2, 0, 1)
    return ShapedMesh(mesh.points.real, mesh.cells, mesh.kind, shapes, fields)
