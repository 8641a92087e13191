"""Standard input data of a flexible body as arrays, and what its modules share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

# What is wrong with the description of a flexible body.


class Refused(Exception):
    """A part of the description cannot be met; ``place`` is its path below the description, as (sets, hub)."""

    def __init__(self, place: tuple[str | int, ...], message: str, hint: str | None = None):
        super().__init__(message)
        self.place, self.message, self.hint = place, message, hint


class NoDerivative(Refused):
    """The description can be met, but has no derivative along a parameter."""


# Standard input data of a flexible body: all that a simulation reads of it.
#
# Full tensors; the index q of the elastic coordinate that a coefficient is multiplied by comes first; what is
# absent is zero. Signs and meaning: ``docs/theory/flexible_bodies.md``.

Array = Any  # of numpy, real or complex
N = "n"  # a dimension as long as there are elastic coordinates

SHAPES: dict[str, tuple[Any, ...]] = {
    "mass": (), "mdCM": (3,), "J": (3, 3), "Ct": (N, 3), "Cr": (N, 3), "Me": (N, N), "Gr": (N, 3, 3), "Ge": (N, N, 3),
    "Oe": (N, 3, 3), "ksigma": (N,), "Ke": (N, N), "De": (N, N),
}  # fmt: skip
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


def real_part(sid: StandardInput) -> StandardInput:
    """The real parts of all terms."""
    return sid.map(lambda _, term: term.map(np.real))


def tangent(sid: StandardInput, step: float) -> StandardInput:
    """Derivatives of all terms, from imaginary parts that a step of this size has made."""
    return sid.map(lambda _, term: term.map(lambda entries: np.imag(entries) / step))


def combined(a: StandardInput, b: StandardInput, factor: complex = 1.0) -> StandardInput:
    """All terms of ``a`` plus a factor times those of ``b``."""

    def add(path: str, one: Taylor, other: Taylor) -> Taylor:
        pairs = zip(one, other, strict=True)
        return Taylor(*(x if y is None else factor * y if x is None else x + factor * y for x, y in pairs))

    return a.map(add, b)


def dot(a: StandardInput, b: StandardInput) -> float:
    """Sum of the products of all entries."""
    pairs = ((x, y) for (_, s), (_, t) in zip(a.items(), b.items(), strict=True) for x, y in zip(s, t, strict=True))
    return float(sum(np.vdot(x, y) for x, y in pairs if x is not None and y is not None))


def selected(sid: StandardInput, modes: list[int]) -> StandardInput:
    """The body with some of its modes, counted from 0."""

    def pick(path: str, term: Taylor) -> Taylor:
        shape = (SHAPES | OF_NODES)[path.rpartition(".")[2]]
        return Taylor(*(_pick(entries, (N,) * order + shape, modes) for order, entries in enumerate(term)))

    names = tuple(sid.modes[i] for i in modes) if sid.modes else ()
    return replace(sid.map(pick), modes=names, design={name: selected(d, modes) for name, d in sid.design.items()})


def _pick(entries: Array | None, shape: tuple[Any, ...], modes: list[int]) -> Array | None:
    if entries is not None:
        for axis, size in enumerate(shape):
            entries = np.take(entries, modes, axis) if size is N else entries
    return entries


def scaled(sid: StandardInput, length: float) -> StandardInput:
    """The body in metres, where its data are in units of ``length`` metres."""

    def change(path: str, term: Taylor) -> Taylor:
        return term.map(lambda entries: entries * length ** LENGTHS[path.rpartition(".")[2]])

    return replace(sid.map(change), design={name: scaled(d, length) for name, d in sid.design.items()})


def turned(sid: StandardInput, T: Array) -> StandardInput:
    """The same body in other elastic coordinates: q = T q' (n, n')."""

    def change(path: str, term: Taylor) -> Taylor:
        shape = (SHAPES | OF_NODES)[path.rpartition(".")[2]]
        return Taylor(*(_turn(entries, (N,) * order + shape, T) for order, entries in enumerate(term)))

    return replace(sid.map(change), modes=(), design={name: turned(d, T) for name, d in sid.design.items()})


def _turn(entries: Array | None, shape: tuple[Any, ...], T: Array) -> Array | None:
    if entries is not None:
        for axis, size in enumerate(shape):
            entries = np.moveaxis(np.tensordot(entries, T, (axis, 0)), -1, axis) if size is N else entries
    return entries


# Matrices of cross products.


def tilde(a: Array) -> Array:
    """Skew-symmetric matrices (..., 3, 3) of vectors (..., 3): a~ b = a x b."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def untilde(A: Array) -> Array:
    """Vectors (..., 3) of the skew-symmetric parts of matrices (..., 3, 3)."""
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1) / 2
