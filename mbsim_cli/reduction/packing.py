"""Standard input data as the blocks of theta in ``model.flexible``, and the transpose of that linear map."""

import numpy as np

from mbsim_cli.model.flexible import LEFT_OVER, MODES, ROUND_OFF
from mbsim_cli.reduction.data import Array, StandardInput, Taylor, shape_of, tilde, untilde

_ROWS, _COLUMNS = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])


def entries(sid: StandardInput) -> Array:
    """The first block (block_size(n),)."""
    first = _coefficients(sid)
    modes = [sid.ksigma.M0[:, None], first["Ct0"], first["Cr0"], _six(first["J1"])]
    pairs = [_six(first["J2"]), _odd(first["Cr1"]), *(_pair(term.M0) for term in (sid.Me, sid.Ke, sid.De))]
    return np.concatenate(
        [np.reshape(sid.mass.M0, 1), sid.mdCM.M0, _six(sid.J.M0), *_packed(modes, pairs), np.zeros(LEFT_OVER)]
    )


def deviations(sid: StandardInput) -> Array:
    """The second block (deviation_size(n),)."""
    left, n = _left(sid), sid.n
    modes = [left["mdCM1"], left["Gr0"].reshape(n, 9), _six(left["Oe0"])]
    pairs = [left["Ct1"], left["Cr1"], left["Gr1"].reshape(n, n, 9), left["Ge"], _six(left["Oe1"])]
    return np.concatenate([*_packed(modes, pairs), np.zeros(LEFT_OVER)])


def deviates(sid: StandardInput) -> bool:
    """Whether the second block holds more than round-off."""
    given, left = _coefficients(sid), _left(sid)
    # sizes of rotations and second moments: Gr and Oe are compared with J, which they follow from
    of = {"mdCM1": "Ct0", "Gr0": "J1", "Oe0": "J1", "Ct1": "Ct1", "Cr1": "Cr1", "Gr1": "J2", "Ge": "Cr1", "Oe1": "J2"}
    also = {"Gr0": "Gr0", "Oe0": "Oe0", "Gr1": "Gr1", "Oe1": "Oe1", "Ge": "Ge", "mdCM1": "mdCM1"}
    return any(
        _size(entries) > ROUND_OFF * max(_size(given[of[name]]), _size(given[also.get(name, name)]))
        for name, entries in left.items()
    )


def sid_of(like: StandardInput, block: Array, second: Array | None = None) -> StandardInput:
    """Covector of all terms of ``like`` (nodes: zero) from covectors of both blocks."""
    n = like.n
    (ksigma, Ct, Cr0, J1), (J2, Cr1, *matrices) = _unpacked(n, block[MODES:], (1, 3, 3, 6), (6, 3, 1, 1, 1))
    found = {name: np.zeros(shape_of(name[:-1], n, int(name[-1]))) for name in _NAMES}
    found["mass0"], found["mdCM0"], found["J0"] = block[0], block[1:4], _full(block[4:10])
    found["ksigma0"], found["Ct0"], found["Cr0"], found["J1"] = ksigma[:, 0], Ct, Cr0, _full(J1)
    found["J2"], found["Cr1"] = _even(_full(J2)), _odd(Cr1)
    found["Me0"], found["Ke0"], found["De0"] = (matrix[..., 0].T for matrix in matrices)
    if second is not None:
        _add_left(found, n, second)
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
    """All coefficients, zeros where there are none."""
    terms = {name: getattr(sid, name[:-1])[int(name[-1])] for name in _NAMES}
    return {
        name: np.zeros(shape_of(name[:-1], sid.n, int(name[-1]))) if entries is None else entries
        for name, entries in terms.items()
    } | {"Ge": sid.Ge.M0}


def _left(sid: StandardInput) -> dict[str, Array]:
    """What is left of the terms beside the identities of ``by_number``."""
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


def _add_left(found: dict[str, Array], n: int, second: Array) -> None:
    """Transpose of ``_left``."""
    modes, pairs = _unpacked(n, second, (3, 9, 6), (3, 3, 9, 3, 6))
    mdCM1, Gr0, Oe0 = modes[0], modes[1].reshape(n, 3, 3), _full(modes[2])
    Ct1, Cr1, Gr1, Ge, Oe1 = pairs[0], pairs[1], pairs[2].reshape(n, n, 3, 3), pairs[3], _full(pairs[4])
    found["mdCM1"], found["Ct0"] = mdCM1, found["Ct0"] - mdCM1
    found["Gr0"], found["Oe0"], found["J1"] = Gr0, Oe0, found["J1"] - Gr0 + Oe0 / 2
    found["Cr0"] = found["Cr0"] + 2 * untilde(Gr0)
    found["Ct1"], found["Gr1"], found["Ge0"], found["Oe1"] = _even(Ct1), Gr1, Ge, Oe1
    found["J2"] = found["J2"] + _even(Oe1 - 2 * Gr1)
    found["Cr1"] = found["Cr1"] + _even(Cr1) + 2 * untilde(Gr1) - 2 * _odd(Ge)


def _six(A: Array) -> Array:
    """Symmetric parts (..., 3, 3) as (..., 6)."""
    return (A[..., _ROWS, _COLUMNS] + A[..., _COLUMNS, _ROWS]) / 2


def _full(six: Array) -> Array:
    """Transpose of ``_six``."""
    found = np.zeros((*six.shape[:-1], 3, 3))
    found[..., _ROWS, _COLUMNS] += six / 2
    found[..., _COLUMNS, _ROWS] += six / 2
    return found


def _even(A: Array) -> Array:
    """Part that is symmetric in the first two axes."""
    return (A + A.swapaxes(0, 1)) / 2


def _odd(A: Array) -> Array:
    """Part that is antisymmetric in the first two axes."""
    return (A - A.swapaxes(0, 1)) / 2


def _pair(matrix: Array) -> Array:
    """A matrix (n, n) by the coordinate that it is multiplied by (n, n, 1)."""
    return matrix.T[..., None]


def _packed(modes: list[Array], pairs: list[Array]) -> tuple[Array, Array]:
    """Of modes (n, rows), then of pairs (n, n, rows), rows of n numbers."""
    return np.concatenate(modes, -1).T.ravel(), np.concatenate(pairs, -1).transpose(0, 2, 1).ravel()


def _unpacked(n: int, block: Array, modes: tuple, pairs: tuple) -> tuple[list[Array], list[Array]]:
    """The arrays (n, rows) and (n, n, rows) that were packed with these numbers of rows."""
    of_modes, middle = sum(modes), sum(modes) * n
    end = middle + sum(pairs) * n * n
    first = block[:middle].reshape(of_modes, n).T
    second = block[middle:end].reshape(n, sum(pairs), n).transpose(0, 2, 1)
    return np.split(first, np.cumsum(modes)[:-1], -1), np.split(second, np.cumsum(pairs)[:-1], -1)


def _size(entries: Array) -> float:
    return float(np.abs(entries).max(initial=0.0))
