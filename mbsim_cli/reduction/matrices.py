"""Bodies by stiffness and mass matrices of other programs: Matrix Market, or Abaqus' lists of entries."""

from pathlib import Path
from warnings import catch_warnings

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.structure import Sparse, Structure
from mbsim_cli.system import open_regular

MARKET = b"%%MatrixMarket"
SYMMETRIC, ALIKE = 1e-9, 1e-9  # relative
PER_NODE = (2, 3, 6)


def read_matrix(path: Path, labels: Array) -> Sparse:
    """Read a symmetric matrix (ndof, ndof), node by node in the order of the labels; raise InputOutputError."""
    try:
        with open_regular(path) as file:
            market = file.read(len(MARKET)) == MARKET
        matrix = _market(path, len(labels)) if market else _entries(path, labels)
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except (OSError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputOutputError(f"{path} is no matrix: {' '.join(str(error).split())}") from error
    _require_size(path, matrix.shape, len(labels))
    if not np.isfinite(matrix.data).all():
        raise InputOutputError(f"{path} holds numbers that are not finite")
    if np.iscomplexobj(matrix):
        raise InputOutputError(f"{path} is no matrix of real numbers")
    diagonal = matrix.diagonal()
    if diagonal.min() < -SYMMETRIC * np.abs(matrix).max():
        row = int(diagonal.argmin())
        fault = f"row {row + 1} has {diagonal[row]:g} on the diagonal, less than 0"
        raise InputOutputError(f"{path} is of no body: {fault}")
    if np.abs(matrix - matrix.T).max() > SYMMETRIC * np.abs(matrix).max():
        raise InputOutputError(f"{path} is not symmetric")
    return matrix


def _require_size(path: Path, shape: tuple[int, ...], count: int) -> None:
    if shape[0] != shape[1] or shape[0] not in [k * count for k in PER_NODE]:
        sizes = " x ".join(map(str, shape))
        raise InputOutputError(f"{path} is {sizes}, not 2, 3 or 6 rows for each of {count} nodes")


def _market(path: Path, count: int) -> Sparse:
    """Compare the sizes in the header with the nodes and with the file before memory is allocated."""
    from scipy import sparse
    from scipy.io import mminfo, mmread

    rows, columns, entries, layout, field, _ = mminfo(path)
    _require_size(path, (rows, columns), count)
    if field == "pattern":
        raise ValueError("it says where entries are, not what they are")
    if layout == "coordinate" and not 0 <= entries <= path.stat().st_size:
        raise ValueError(f"its header says {entries} entries, and it has {path.stat().st_size} bytes")
    return sparse.csc_matrix(mmread(path))


def _entries(path: Path, labels: Array) -> Sparse:
    """Lines of node, direction, node, direction, value; a single triangle is mirrored."""
    from scipy import sparse

    with catch_warnings(action="ignore", category=UserWarning):  # of a file without lines
        rows = np.loadtxt(path, delimiter=",", comments=("*", "#"), ndmin=2)
    if not rows.size:
        raise ValueError("it has no entries")
    if rows.shape[1] != 5:
        raise ValueError(f"its lines have {rows.shape[1]} numbers, not 5")
    place = {int(label): i for i, label in enumerate(labels)}
    unknown = {int(label) for label in rows[:, [0, 2]].ravel()} - set(place)
    if unknown:
        raise ValueError(f"node {min(unknown)} is not among the nodes")
    directions = rows[:, [1, 3]]
    if not ((directions >= 1) & (directions <= max(PER_NODE))).all():
        raise ValueError(f"directions are 1 to {max(PER_NODE)}")
    per = int(directions.max())
    per = next((k for k in PER_NODE if k >= per), per)
    first, second = (
        np.array([place[int(label)] for label in rows[:, a]]) * per + rows[:, a + 1].astype(int) - 1 for a in (0, 2)
    )
    size = per * len(labels)
    A = sparse.coo_matrix((rows[:, 4], (first, second)), shape=(size, size)).tocsc()
    beside = A - sparse.diags(A.diagonal())
    # a triangle in the order of labels need not be one in the order of the nodes
    return A if beside.multiply(beside.T).nnz else (A + beside.T).tocsc()


def structure_of(points: Array, K: Sparse, M: Sparse) -> Structure:
    """The body of matrices; mass that is not the same in all directions is spread evenly, with a warning."""
    count = len(points)
    per = K.shape[0] // count
    if M.shape != K.shape:
        raise Refused(("mesh", "mass"), f"is of {M.shape[0]} rows, the stiffness of {K.shape[0]}")
    if not M.nnz:
        raise Refused(("mesh", "mass"), "all its entries are zero")
    d = min(per, 3)
    blocks = [M[a::per][:, a::per] for a in range(d)]
    m = (sum(blocks) / d).tocsc()
    off = max(
        *(np.abs(block - m).max() for block in blocks),
        *(np.abs(M[a::per][:, b::per]).max() for a in range(per) for b in range(d) if a != b),
        *(np.abs(M[a::per][:, a::per]).max() for a in range(d, per)),
    )
    share, warnings = off / np.abs(m).max(), tuple[str, ...]()
    if not share <= ALIKE:
        warnings = (
            f"the mass matrix differs by {share:.2g} of its largest entry from one of masses alike in all directions; "
            "integrals over the body, but Me, take the mean of the directions",
        )
    mesh, spread = Mesh(points, np.zeros((0, 1), int), "points"), None
    if per == 6:
        from scipy.sparse import csc_matrix

        one, nodes = np.ones(count), np.arange(count)
        spread = tuple(csc_matrix((one, (nodes, per * nodes + a)), shape=(count, len(points) * per)) for a in range(3))
    return Structure(
        mesh, per, np.zeros((0, per), int), np.zeros((1, per, per)), points, np.zeros((0, 1), int), np.zeros((1, 1, 1)),
        planar=per == 2, has_rotations=per == 6, spread=spread, given=(K, M, m), warnings=warnings,
    )  # fmt: skip
