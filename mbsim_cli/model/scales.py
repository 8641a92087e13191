"""The unit of length that fits a mechanism, and with it units of coordinates and constraints.

What is near zero, well determined or closed must not depend on whether a mechanism is a millimetre or a hundred
kilometres large. So closing measures lengths in the power of 1024 m, such as about a millimetre, a metre or a
kilometre, that is near its size; a power of two, so that numbers change without round-off.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.model.codes import EULER_PARAMETERS, TRANSLATIONS, Column, Measure
from mbsim_cli.model.coordinates import among, are_elastic, at_rest, kinds, parts_of_bodies
from mbsim_cli.model.layout import COM, INERTIA, MASS, NATURAL, P_A, P_B, P_C, P_P, FlexibleTree, Model
from mbsim_cli.model.standard_data import MASS as OWN_MASS
from mbsim_cli.model.standard_data import ME, MODE_ROWS, MODES, PAIR_ROWS

SMALL = 1e-5  # of the unit of length, or rad: motion of a node by an elastic coordinate of one scale
ROUND_OFF = 1e-10  # of a point's coordinates: distance that is none
LEAST = 1e-4  # of a radius of gyration or displacement: distances below are small beside round-off, or round-off
UNMOVED = 1e-6  # of the mean motion of a body by a coordinate: nodes that move less, as of round-off, do not count
STEP = 1024.0  # from one unit of length to the next
# plain numbers: members of an enumeration are slow to look up, and this does so for every row
LENGTHS = (int(Measure.PROJECTION), int(Measure.DISTANCE))
COORDINATES, EULER_NORM = int(Measure.COORDINATES), int(Measure.EULER_NORM)
_WITH_POINTS = (Measure.PROJECTION, Measure.DOT, Measure.DISTANCE)  # in their blocks


class Scales(NamedTuple):
    """Units of coordinates and constraints: m times a power of 1024, rad, or 1."""

    length: float  # m
    columns: np.ndarray  # (n,)
    rows: np.ndarray  # (m,)
    names: tuple[str, ...]  # of the rows, before scaling: m, rad or nothing
    size: float  # m, of the mechanism: largest distance between points of one body


def scales_of(model: Model, theta: np.ndarray, measures: np.ndarray | None = None) -> Scales:
    """Scales at the numbers ``theta``; rows are those of ``measures``, or of the constraints."""
    measures = model.constraints.measure if measures is None else measures
    theta = np.asarray(theta).real
    slides = among(kinds(model.tree), TRANSLATIONS)
    size = _extent(model, theta, slides)
    length = unit_near(size)
    columns = among(model.tree.column_kind, TRANSLATIONS)
    of_rows = [_row_unit(model, theta, int(k), columns, length) for k in measures]
    rows, names = np.array([unit for unit, _ in of_rows], float), tuple(name for _, name in of_rows)
    units = np.where(slides, length, 1.0) * _of_elastic(model, theta, length)
    return Scales(length, units, rows, names, size or length)


def units_of(model: Model, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units of coordinates (n,) and constraints (m,), of a tree or natural.

    By one unit an elastic coordinate moves the nodes of joints by a unit of length or angle, or else the whole body.
    """
    if isinstance(model.tree, NATURAL):
        return np.sqrt(model.tree.extent), np.sqrt(model.tree.row_extent)
    scales = scales_of(model, theta)
    return np.where(are_elastic(model.tree), scales.columns / SMALL, scales.columns), scales.rows


def _of_elastic(model: Model, theta: np.ndarray, length: float) -> np.ndarray:
    """Scale (n,) of elastic coordinates: so small that others are determined before them; one for all others."""
    tree, found = model.tree, np.ones(kinds(model.tree).size)
    if isinstance(tree, FlexibleTree):
        largest, elastic = np.zeros(tree.column_kind.size), kinds(tree) == Column.ELASTIC
        units = np.where(among(tree.column_kind[tree.node], TRANSLATIONS), length, 1.0)
        for body, first, unit in zip(tree.node_body, tree.shape, units, strict=True):
            own = np.arange(tree.elastic[body], tree.elastic[body + 1])
            largest[own] = np.maximum(largest[own], np.abs(theta[first : first + own.size]) / unit)
        for block, first, end in zip(tree.block, tree.elastic, tree.elastic[1:], strict=False):
            n, nodes = end - first, largest[first:end]
            inertia = theta[block + MODES + n * (MODE_ROWS + ME) + np.arange(n) * (n * PAIR_ROWS + 1)]
            mean = np.sqrt(inertia / theta[block + OWN_MASS]) / length  # root mean square of all points' motion
            largest[first:end] = np.where(nodes > UNMOVED * mean, nodes, mean)
        found[elastic] = SMALL / largest[tree.column[elastic]]
    return found


def _extent(model: Model, theta: np.ndarray, slides: np.ndarray) -> float:
    """Largest distance between points of one body, m; else radius of gyration, else initial displacement.

    Points are those of joints and constraints, and the centre of mass. No frame of a body or of the ground counts, nor
    how far apart parts of a mechanism stand on the ground.
    """
    tree, measures, pairs = model.tree, model.measures, model.pairs
    pointed = model.constraints.measure[among(measures.kind[model.constraints.measure], _WITH_POINTS)]
    blocks, pair, every = measures.theta[pointed], measures.pair[pointed], np.arange(tree.theta.size)
    masses, rests = theta[tree.theta + MASS], at_rest(tree)
    massive = np.flatnonzero((masses > 0.0) & ~rests[:-1])
    own, inertia = tree.theta[massive], theta[tree.theta[massive, None] + INERTIA + np.arange(3)]
    starts = np.concatenate([tree.theta + P_P, tree.theta + P_C, blocks + P_A, blocks + P_B, own + COM])
    points = theta[starts[:, None] + np.arange(3)]
    body = np.concatenate([tree.parent, every, pairs.a[pair], pairs.b[pair], massive])
    opposite = np.concatenate([every, tree.parent, pairs.b[pair], pairs.a[pair], massive])
    # points of the ground by the part of the mechanism that stands there
    stands = np.where(rests[body], np.append(parts_of_bodies(model), every.size)[opposite], every.size)
    known: dict[tuple[int, int], int] = {}
    both = zip(body.tolist(), stands.tolist(), strict=True)
    body = np.array([known.setdefault(each, len(known)) for each in both], int)
    number = np.maximum(np.bincount(body), 1)
    means = np.stack([np.bincount(body, axis) / number for axis in points.T], axis=1)
    away = np.linalg.norm(points - means[body], axis=1)
    apart = np.where(away > ROUND_OFF * np.linalg.norm(points, axis=1), 2.0 * away, 0.0).max(initial=0.0)
    gyration = np.sqrt(0.5 * np.maximum(inertia.sum(axis=1), 0.0) / masses[massive]).max(initial=0.0)
    initial = np.abs(theta[tree.initial[0] + np.flatnonzero(slides)]).max(initial=0.0)
    return float(max(apart or gyration or initial, LEAST * gyration, LEAST * initial))


def distance_of_ground(model: Model, theta: np.ndarray) -> float:
    """Unit of the points at which joints of a tree stand on the ground, over the mechanism's; 1 at least."""
    points = model.tree.theta[at_rest(model.tree)[model.tree.parent], None] + P_P + np.arange(3)
    away = float(np.abs(theta[points].real).max(initial=0.0))
    return max(1.0, unit_near(away) / scales_of(model, theta).length) if away > 0.0 else 1.0


def unit_near(extent: float) -> float:
    """The power of 1024 that is nearest to a size, in ratio; 1 for no size."""
    return STEP ** float(np.round(np.log(extent) / np.log(STEP))) if extent > 0.0 else 1.0


def _row_unit(model: Model, theta: np.ndarray, m: int, slides: np.ndarray, length: float) -> tuple[float, str]:
    """Unit of a measure and its name; of a sum of coordinates those of its largest term, whatever the factors are."""
    measures, kind = model.measures, int(model.measures.kind[m])
    if kind == EULER_NORM:
        return 1.0, ""
    if kind != COORDINATES:
        return (length, "m") if kind in LENGTHS else (1.0, "rad")
    which = measures.coordinate[measures.first[m] : measures.first[m + 1]]
    factors = np.abs(theta[measures.theta[m] : measures.theta[m] + which.size])
    terms = factors * np.where(slides[which], length, 1.0)
    largest, unit = which[int(np.argmax(terms))], unit_near(terms.max())
    if slides[largest]:
        return unit, "m"
    return unit, "" if model.tree.column_kind[largest] in EULER_PARAMETERS else "rad"
