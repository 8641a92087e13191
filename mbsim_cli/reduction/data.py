"""Standard input data of a flexible body as arrays, and as blocks of theta."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.model.standard_data import LEFT_OVER, MODES, ROUND_OFF


class Refused(Exception):
    """The description cannot be fulfilled; ``place`` is the path of the cause in it, such as (sets, hub)."""

    def __init__(self, place: tuple[str | int, ...], message: str, hint: str | None = None):
        super().__init__(message)
        self.place, self.message, self.hint = place, message, hint


class NoDerivative(Refused):
    """The body has no derivative along a parameter."""


# Standard input data of a flexible body: all that a simulation reads of it.
#
# Full tensors; the index q of the elastic coordinate that a coefficient is multiplied by comes first; None stands
# for zero. Signs and meaning: ``docs/theory/flexible_bodies.md``.

Array = Any  # of numpy, real or complex
N = "n"  # a dimension as long as there are elastic coordinates

SHAPES: dict[str, tuple[Any, ...]] = {
    "mass": (), "mdCM": (3,), "J": (3, 3), "Ct": (N, 3), "Cr": (N, 3), "Me": (N, N), "Gr": (N, 3, 3), "Ge": (N, N, 3),
    "Oe": (N, 3, 3), "ksigma": (N,), "Ke": (N, N), "De": (N, N),
}  # fmt: skip
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # places of the entries xx yy zz xy xz yz of a symmetric tensor
ROWS, COLUMNS = np.array(SIX).T
OF_NODES: dict[str, tuple[Any, ...]] = {"origin": (3,), "phi": (N, 3), "psi": (N, 3), "AP": (3, 3)}
LENGTHS = {
    "mass": 0, "mdCM": 1, "J": 2, "Ct": 1, "Cr": 2, "Me": 2, "Gr": 2, "Ge": 2, "Oe": 2, "ksigma": 2, "Ke": 2, "De": 2,
    "origin": 1, "phi": 1, "psi": 0, "AP": 0,
}  # powers of the unit of length  # fmt: skip


class Taylor(NamedTuple):
    """Coefficients of a term by powers of the elastic coordinates; None: zero."""

    M0: Array
    M1: Array | None = None
    M2: Array | None = None

    def plus(self, other: "Taylor") -> "Taylor":
        """The sum of both."""
        return Taylor(*(a if b is None else b if a is None else a + b for a, b in zip(self, other, strict=True)))

    def map(self, change: Callable[..., Array], *others: "Taylor") -> "Taylor":
        """The same with each coefficient changed, together with those of others."""
        rows = zip(self, *others, strict=True)
        return Taylor(*(None if row[0] is None else change(*row) for row in rows))


@dataclass(frozen=True)
class Node:
    """A frame on the body: ``origin`` its place, ``phi`` and ``psi`` its displacement and rotation by the modes."""

    name: str
    origin: Taylor
    phi: Taylor
    psi: Taylor
    AP: Taylor


@dataclass(frozen=True)
class StandardInput:
    """Terms (mass to De) and nodes of a body with n modes; ``design``: their derivatives by named design variables."""

    mass: Taylor
    mdCM: Taylor
    J: Taylor
    Ct: Taylor
    Cr: Taylor
    Me: Taylor
    Gr: Taylor
    Ge: Taylor
    Oe: Taylor
    ksigma: Taylor
    Ke: Taylor
    De: Taylor
    nodes: tuple[Node, ...] = ()
    modes: tuple[str, ...] = ()
    comment: str = ""
    warnings: tuple[str, ...] = ()
    design: Mapping[str, "StandardInput"] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of elastic coordinates."""
        return int(self.Me.M0.shape[0])

    def items(self) -> Iterator[tuple[str, Taylor]]:
        """Path and coefficients of every term, those of node i under ``node[i].``."""
        for name in SHAPES:
            yield name, getattr(self, name)
        for i, node in enumerate(self.nodes):
            for name in OF_NODES:
                yield f"node[{i}].{name}", getattr(node, name)

    def map(self, change: Callable[..., Taylor], *others: "StandardInput") -> "StandardInput":
        """The same with each term changed by ``change(path, term, terms of others...)``."""
        rows = zip(self.items(), *(other.items() for other in others), strict=True)
        return self.with_terms({row[0][0]: change(*row[0], *(term for _, term in row[1:])) for row in rows})

    def with_terms(self, terms: Mapping[str, Any]) -> "StandardInput":
        """The same with other terms by their paths."""
        nodes = tuple(
            replace(node, **{name: terms[path] for name in OF_NODES if (path := f"node[{i}].{name}") in terms})
            for i, node in enumerate(self.nodes)
        )
        return replace(self, nodes=nodes, **{name: terms[name] for name in SHAPES if name in terms})

    def frequencies(self) -> Array:
        """Frequencies of the body held at its frame (n), Hz."""
        from scipy.linalg import eigh

        squares = eigh(self.Ke.M0.real, self.Me.M0.real, eigvals_only=True)
        return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)


def shape_of(path: str, n: int, order: int) -> tuple[int, ...]:
    """Shape of a coefficient of the term at a path."""
    known = SHAPES | OF_NODES
    return (n,) * order + tuple(n if size is N else size for size in known[path.rpartition(".")[2]])


def tangent(sid: StandardInput, step: float) -> StandardInput:
    """Derivatives of all terms, from the imaginary parts after a complex step of this size."""
    return sid.map(lambda _, term: term.map(lambda entries: np.imag(entries) / step))


def combined(a: StandardInput, b: StandardInput, factor: complex = 1.0) -> StandardInput:
    """All terms of ``a`` plus a factor times those of ``b``."""
    return a.map(lambda _, one, other: one.plus(other.map(lambda entries: factor * entries)), b)


def selected(sid: StandardInput, modes: list[int]) -> StandardInput:
    """The body with some of its modes, counted from 0."""
    names = tuple(sid.modes[i] for i in modes) if sid.modes else ()
    picked = _along_modes(sid, lambda entries, axis: np.take(entries, modes, axis))
    return replace(picked, modes=names, design={name: selected(d, modes) for name, d in sid.design.items()})


def _along_modes(sid: StandardInput, change: Callable[[Array, int], Array]) -> StandardInput:
    """The body after ``change(entries, axis)`` of all terms along each of their axes of modes."""

    def changed(path: str, term: Taylor) -> Taylor:
        shape, found = (SHAPES | OF_NODES)[path.rpartition(".")[2]], []
        for order, entries in enumerate(term):
            for axis, size in enumerate((N,) * order + shape):
                entries = change(entries, axis) if size is N and entries is not None else entries
            found.append(entries)
        return Taylor(*found)

    return sid.map(changed)


def scaled(sid: StandardInput, length: float) -> StandardInput:
    """The body in metres, where its data are in units of ``length`` metres."""
    found = sid.map(lambda path, term: term.map(lambda entries: entries * length ** LENGTHS[path.rpartition(".")[2]]))
    return replace(found, design={name: scaled(d, length) for name, d in sid.design.items()})


def turned(sid: StandardInput, T: Array) -> StandardInput:
    """The same body in other elastic coordinates: q = T q' (n, n')."""
    found = _along_modes(sid, lambda entries, axis: np.moveaxis(np.tensordot(entries, T, (axis, 0)), -1, axis))
    return replace(found, modes=(), design={name: turned(d, T) for name, d in sid.design.items()})


def tilde(a: Array) -> Array:
    """Skew-symmetric matrices (..., 3, 3) of vectors (..., 3): a~ b = a x b."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def untilde(A: Array) -> Array:
    """Vectors (..., 3) of the skew-symmetric parts of matrices (..., 3, 3)."""
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1) / 2


def entries(sid: StandardInput) -> Array:
    """The first block (block_size(n),)."""
    first = _coefficients(sid)
    modes = [sid.ksigma.M0[:, None], first["Ct0"], first["Cr0"], _six(first["J1"])]
    pairs = [_six(first["J2"]), _odd(first["Cr1"]), *(term.M0.T[..., None] for term in (sid.Me, sid.Ke, sid.De))]
    whole = np.reshape(sid.mass.M0, 1), sid.mdCM.M0, _six(sid.J.M0)
    return np.concatenate([*whole, *_packed(modes, pairs), np.zeros(LEFT_OVER)])


def deviations(sid: StandardInput) -> Array:
    """The second block (deviation_size(n),)."""
    off, n = _deviation(sid), sid.n
    modes = [off["mdCM1"], off["Gr0"].reshape(n, 9), _six(off["Oe0"])]
    pairs = [off["Ct1"], off["Cr1"], off["Gr1"].reshape(n, n, 9), off["Ge"], _six(off["Oe1"])]
    return np.concatenate([*_packed(modes, pairs), np.zeros(LEFT_OVER)])


def deviates(sid: StandardInput) -> bool:
    """Whether the second block holds more than round-off."""
    given, off = _coefficients(sid), _deviation(sid)
    # sizes of rotations and second moments: Gr and Oe are compared with J, which they follow from
    of = {"mdCM1": "Ct0", "Gr0": "J1", "Oe0": "J1", "Ct1": "Ct1", "Cr1": "Cr1", "Gr1": "J2", "Ge": "Cr1", "Oe1": "J2"}
    sizes = {name: max(largest(given[of[name]]), largest(given[name])) for name in off}
    return any(largest(entries) > ROUND_OFF * sizes[name] for name, entries in off.items())


def sid_of(like: StandardInput, block: Array, second: Array | None = None) -> StandardInput:
    """Adjoint of all terms of ``like`` (nodes: zero) from adjoints of both blocks."""
    n = like.n
    (ksigma, Ct, Cr0, J1), (J2, Cr1, *matrices) = _unpacked(n, block[MODES:], (1, 3, 3, 6), (6, 3, 1, 1, 1))
    found = {name: np.zeros(shape_of(name[:-1], n, int(name[-1]))) for name in _NAMES}
    found["mass0"], found["mdCM0"], found["J0"] = block[0], block[1:4], full(block[4:10])
    found["ksigma0"], found["Ct0"], found["Cr0"], found["J1"] = ksigma[:, 0], Ct, Cr0, full(J1)
    found["J2"], found["Cr1"] = _even(full(J2)), _odd(Cr1)
    found["Me0"], found["Ke0"], found["De0"] = (matrix[..., 0].T for matrix in matrices)
    if second is not None:
        _add_deviation(found, n, second)
    terms = {}
    for name, term in like.items():
        orders = [found.get(f"{name}{order}") for order in range(3)]
        zero = [None if entries is None else np.zeros(np.shape(entries)) for entries in term]
        terms[name] = Taylor(*(z if z is None or x is None else x for z, x in zip(zero, orders, strict=True)))
    return like.with_terms(terms)


_NAMES = (
    "mass0", "mdCM0", "mdCM1", "J0", "J1", "J2", "Ct0", "Ct1", "Cr0", "Cr1", "Me0", "Gr0", "Gr1", "Ge0", "Oe0", "Oe1",
    "ksigma0", "Ke0", "De0",
)  # fmt: skip


def _coefficients(sid: StandardInput) -> dict[str, Array]:
    """All coefficients, with zeros for None."""
    terms = {name: getattr(sid, name[:-1])[int(name[-1])] for name in _NAMES}
    return {
        name: np.zeros(shape_of(name[:-1], sid.n, int(name[-1]))) if entries is None else entries
        for name, entries in terms.items()
    } | {"Ge": sid.Ge.M0}


def _deviation(sid: StandardInput) -> dict[str, Array]:
    """Deviations of the terms from the identities of ``reduce.body_of``."""
    given = _coefficients(sid)
    return {
        "mdCM1": given["mdCM1"] - given["Ct0"],
        "Gr0": given["Gr0"] - given["J1"] + tilde(given["Cr0"]),
        "Oe0": given["Oe0"] + given["J1"] / 2,
        "Ct1": _even(given["Ct1"]),
        "Cr1": _even(given["Cr1"]),
        "Gr1": given["Gr1"] - 2 * _even(given["J2"]) + tilde(given["Cr1"]),
        "Ge": given["Ge"] - 2 * _odd(given["Cr1"]),
        "Oe1": given["Oe1"] + _even(given["J2"]),
    }


def _add_deviation(found: dict[str, Array], n: int, second: Array) -> None:
    """Transpose of ``_deviation``."""
    modes, pairs = _unpacked(n, second, (3, 9, 6), (3, 3, 9, 3, 6))
    mdCM1, Gr0, Oe0 = modes[0], modes[1].reshape(n, 3, 3), full(modes[2])
    Ct1, Cr1, Gr1, Ge, Oe1 = pairs[0], pairs[1], pairs[2].reshape(n, n, 3, 3), pairs[3], full(pairs[4])
    found["mdCM1"], found["Ct0"] = mdCM1, found["Ct0"] - mdCM1
    found["Gr0"], found["Oe0"], found["J1"] = Gr0, Oe0, found["J1"] - Gr0 + Oe0 / 2
    found["Cr0"] = found["Cr0"] + 2 * untilde(Gr0)
    found["Ct1"], found["Gr1"], found["Ge0"], found["Oe1"] = _even(Ct1), Gr1, Ge, Oe1
    found["J2"] = found["J2"] + _even(Oe1 - 2 * Gr1)
    found["Cr1"] = found["Cr1"] + _even(Cr1) + 2 * untilde(Gr1) - 2 * _odd(Ge)


def _six(A: Array) -> Array:
    """Symmetric parts (..., 3, 3) as (..., 6)."""
    return (A[..., ROWS, COLUMNS] + A[..., COLUMNS, ROWS]) / 2


def full(six: Array) -> Array:
    """Transpose of ``_six``: symmetric matrices (..., 3, 3)."""
    found = np.zeros((*six.shape[:-1], 3, 3))
    found[..., ROWS, COLUMNS] += six / 2
    found[..., COLUMNS, ROWS] += six / 2
    return found


def _even(A: Array) -> Array:
    """Part that is symmetric in the first two axes."""
    return (A + A.swapaxes(0, 1)) / 2


def _odd(A: Array) -> Array:
    """Part that is antisymmetric in the first two axes."""
    return (A - A.swapaxes(0, 1)) / 2


def _packed(modes: list[Array], pairs: list[Array]) -> tuple[Array, Array]:
    """Arrays of modes (n, rows), then of pairs (n, n, rows), flattened row by row of n numbers."""
    return np.concatenate(modes, -1).T.ravel(), np.concatenate(pairs, -1).transpose(0, 2, 1).ravel()


def _unpacked(n: int, block: Array, modes: tuple, pairs: tuple) -> tuple[list[Array], list[Array]]:
    """The arrays (n, rows) and (n, n, rows) that were packed with these numbers of rows."""
    of_modes, middle = sum(modes), sum(modes) * n
    end = middle + sum(pairs) * n * n
    first = block[:middle].reshape(of_modes, n).T
    second = block[middle:end].reshape(n, sum(pairs), n).transpose(0, 2, 1)
    return np.split(first, np.cumsum(modes)[:-1], -1), np.split(second, np.cumsum(pairs)[:-1], -1)


def largest(entries: Array) -> float:
    """Magnitude of the largest entry."""
    return float(np.abs(entries).max(initial=0.0))
