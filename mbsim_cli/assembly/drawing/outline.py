"""Lines that make a body's points look like a body: the edges of their convex hull."""

from itertools import combinations, pairwise

import numpy as np

FLAT = 1e-6  # extent across, relative to the largest, below which points lie in a plane or on a line
FOLD = 1 - 1e-6  # cosine above which two facets are one face

Edges = list[tuple[int, int]]


def outline(points: np.ndarray) -> tuple[Edges, Edges]:
    """Edges of the hull of distinct points (k, 3), and edges from the points inside it to the nearest corners."""
    if len(points) < 2:
        return [], []
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((extents > FLAT * extents[0]).sum())
    if rank == 1:
        order = np.argsort(centred @ axes[0], kind="stable")
        return [(int(a), int(b)) for a, b in pairwise(order)], []
    hull = _polygon(centred @ axes[:2].T) if rank == 2 else _faces(centred)
    corners = sorted({corner for edge in hull for corner in edge})
    inside = [k for k in range(len(points)) if k not in corners]
    return hull, [(k, min(corners, key=lambda c: float(np.linalg.norm(points[c] - points[k])))) for k in inside]


def _polygon(flat: np.ndarray) -> Edges:
    from scipy.spatial import ConvexHull

    corners = [int(corner) for corner in ConvexHull(flat).vertices]
    return [(a, b) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]


def _faces(points: np.ndarray) -> Edges:
    """Edges of the hull where it has a fold; the diagonals that split plane faces are left out."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    facets: dict[tuple[int, int], list[np.ndarray]] = {}
    for corners, plane in zip(hull.simplices, hull.equations, strict=True):
        for a, b in combinations(sorted(map(int, corners)), 2):
            facets.setdefault((a, b), []).append(plane[:3])
    return sorted(edge for edge, normals in facets.items() if float(normals[0] @ normals[-1]) < FOLD)
