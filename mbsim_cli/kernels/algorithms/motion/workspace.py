"""Work arrays of one simulation, allocated once and passed in small groups."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.constrained_solve import Columns
from mbsim_cli.kernels.algorithms.elimination.structure import Spans, once_a_model, spans
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import WIDTH, numbers, padded, zeros
from mbsim_cli.kernels.elements import elements
from mbsim_cli.kernels.elements.element import ROOM, AlongMeasure, Element
from mbsim_cli.model.codes import BETWEEN_BODIES, Law, Sensor
from mbsim_cli.model.layout import BODY_SIZE, MASS, MEASURE_SIZE, NONE, LoadedSignals, Signals


class Motion(NamedTuple):
    """Coordinates, rates and accelerations: (n,) of a motion, (n, p) of its variations or adjoints."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray


class LoadedMotion(NamedTuple):
    """``Motion`` with the multipliers, (m,) or (m, p)."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray


@inlined
def motion_alone(state):
    """The Motion in a tuple that has more. A kernel is compiled for each type of its arguments: give it a Motion."""
    return Motion(state.z, state.zd, state.zdd)


@inlined
def of_position(z):
    """A Motion of which z is read alone."""
    return Motion(z, z, z)


class Directions(NamedTuple):
    """Directions of differentiation."""

    dtheta: np.ndarray  # (len(theta), p), p ``simd.padded``
    touch: tuple  # Touch, of them


# Work arrays of expressions that forces read, in kinematics, twists and adjoints; empty where there are none.


class SignalWork(NamedTuple):
    """Values at a state, and what the tangent needs."""

    inputs: np.ndarray  # (ni,) what sensors of inputs read
    value: np.ndarray  # (places,) of all tapes, see ``layout.Signals``
    slope: np.ndarray  # (places,) derivatives of each tape's value
    moving: np.ndarray  # (bodies read, blocks) bits of the columns that move each of ``Signals.bodies``
    seeds: tuple  # SignalSeeds
    load: tuple  # LoadWork, or NoLoad where no expression reads multipliers


class LoadWork(NamedTuple):
    """Work of forces that read multipliers, r of them; see ``equations/signals.py``."""

    lam: np.ndarray  # (m,) multipliers that inputs are read with
    force: np.ndarray  # (r,) force, component and signal of each
    component: np.ndarray
    signal: np.ndarray
    equation: np.ndarray  # (ni,) that each row of the record of inputs is the multiplier of, or NONE
    exerted: np.ndarray  # (n, r) generalised force of one unit
    slope: np.ndarray  # (m, r) derivative by multipliers
    x: np.ndarray  # (n, r) solutions for what is exerted, or of the transposed equations for the slopes
    mu: np.ndarray  # (m, r)
    small: np.ndarray  # (r, padded(r))
    pivot: np.ndarray  # (r,)
    share: np.ndarray  # (r, 1)
    columns: tuple  # Columns of one column


class NoLoad(NamedTuple):
    """In the place of ``LoadWork``."""

    lam: np.ndarray  # (0,)


class SignalSeeds(NamedTuple):
    """Motions along eight columns of the tangent at a time."""

    N: np.ndarray  # (nb + 1, 6, 8), as of ``Twists``
    N1: np.ndarray
    N2: np.ndarray
    F: np.ndarray  # (0, 6, 8)
    z: np.ndarray  # (n, 8)
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray  # (m, 8)
    dtheta: np.ndarray  # (as far as sensors read, 8) zeros
    touch: tuple  # of no numbers
    inputs: np.ndarray  # (ni, 8)
    value: np.ndarray  # (nu, 8)


class SignalRows(NamedTuple):
    """Variations or adjoints in p directions."""

    inputs: np.ndarray  # (ni, p)
    value: np.ndarray  # (nu, p)
    lam: np.ndarray  # (m, p) variations of multipliers that inputs are read with; no rows where none is read


def _count(signals):
    """Entries of the record of inputs, signals, and places of all tapes."""
    if not isinstance(signals, Signals):
        return 0, 0, 0
    places = int((signals.steps + np.diff(signals.first_step)).sum())
    return int(signals.row[-1]), signals.theta.size, places


def signal_work(model, columns_of, dtype):
    """Allocate SignalWork; ``columns_of`` gives the columns of the tangent that move a body."""
    if isinstance(model.signals, Signals):
        return _signal_work(model, columns_of, dtype)
    return _shared_signal_work(model, None, dtype)  # nothing is written to it where there are no expressions


def _signal_work(model, columns_of, dtype):
    signals = model.signals
    inputs, number, places = _count(signals)
    n, nb = model.tree.column_kind.size, model.tree.parent.size
    bodies = signals.bodies if isinstance(signals, Signals) else np.zeros(0, np.int64)
    bits = np.zeros((bodies.size, padded(n) // WIDTH), np.int64)
    for r, body in enumerate(bodies):
        for c in columns_of(body):
            bits[r, c // WIDTH] |= 1 << (c % WIDTH)
    rows = (nb + 1, 6, WIDTH) if number else (0, 6, WIDTH)
    read = 0  # entries of theta, from the first on, that sensors of inputs can read
    if number:
        measures = model.measures.theta + np.maximum(MEASURE_SIZE, np.diff(model.measures.first))
        read = int(max((3, *(signals.sensor_theta + 6), *measures, *(model.forces.theta + 32))))
    seeds = SignalSeeds(
        *(zeros(rows, dtype) for _ in range(3)), zeros((0, 6, WIDTH), dtype),
        *(zeros((n if number else 0, WIDTH), dtype) for _ in range(3)),
        zeros((model.constraints.measure.size if number else 0, WIDTH), dtype), zeros((read, WIDTH), dtype),
        untouched(model, WIDTH), zeros((inputs, WIDTH), dtype), zeros((number, WIDTH), dtype),
    )  # fmt: skip
    return SignalWork(
        np.zeros(inputs, dtype), np.zeros(places, dtype), np.zeros(places, dtype), bits, seeds,
        _load_work(model, n, dtype),
    )  # fmt: skip


_shared_signal_work = once_a_model(_signal_work)


def _load_work(model, n, dtype):
    signals, m = model.signals, model.constraints.measure.size
    if not isinstance(signals, LoadedSignals):
        return NoLoad(np.zeros(0, dtype))
    equation = np.full(int(signals.row[-1]), NONE)
    reading = signals.kind == Sensor.MULTIPLIER
    equation[signals.row[:-1][reading]] = signals.index[reading]
    found = [
        (f, j, u)
        for f, components in enumerate(signals.of_force)
        for j, u in enumerate(components)
        if u != NONE and (equation[signals.input[signals.first_input[u] : signals.first_input[u + 1]]] != NONE).any()
    ]
    r = len(found)
    shapes = (n, r), (m, r), (n, r), (m, r), (r, padded(r))
    columns = (np.zeros((k, 1), dtype) for k in (n, m, n, m, n, m, m))
    which = np.array(found, np.int64).reshape(-1, 3).T.copy()
    matrices = (np.zeros(shape, dtype) for shape in shapes)
    return LoadWork(
        np.zeros(m, dtype), *which, equation, *matrices, np.zeros(r, np.int64),
        np.zeros((r, 1), dtype), Columns(*columns),
    )  # fmt: skip


def signal_rows(model, p, dtype):
    """Allocate SignalRows for p directions."""
    inputs, number, _ = _count(model.signals)
    m = model.constraints.measure.size if isinstance(model.signals, LoadedSignals) else 0
    return SignalRows(zeros((inputs, p), dtype), zeros((number, p), dtype), zeros((m, p), dtype))


COLUMN_S, COLUMN_X, COLUMN_Y, COLUMN_UP = 0, 6, 12, 18  # rows of Composite.columns
OWN_S, OWN_DOWN, OWN_RATE = 0, 6, 12  # numbers in a row of Composite.own
FORCE_SIZES = {  # of the blocks of theta
    kind: each.size for each in (*elements(AlongMeasure), *elements(Element)) for kind in each.kinds
}


class Kinematics(NamedTuple):
    """State of all bodies; the last row of each body array is the ground (index -1)."""

    R: np.ndarray  # (nb + 1, 9) rotation matrices, body axes to global axes
    r: np.ndarray  # (nb + 1, 3) body origins
    ref: np.ndarray  # (nb + 1, 3) reference points: centre of mass (RTdyn0) or global origin (RTdyn1)
    V: np.ndarray  # (nb + 1, 6) velocities about ref
    A: np.ndarray  # (nb + 1, 6) accelerations less gravity, about ref
    S: np.ndarray  # (n, 6) columns b_i of the joints, about ref of the body that they move
    S1: np.ndarray  # (n, 6) their first time derivatives
    S2: np.ndarray  # (n, 6) their second time derivatives
    inertia: np.ndarray  # (nb + 1, 10) mass, first and second moments about ref
    forces: np.ndarray  # (nf, ROOM) forces and their slopes, as ``find_force_on_bodies`` and ``find_along`` leave them
    expected: np.ndarray  # (nm,) value near which an angle between bodies is read, see ``equations.forces``
    signals: tuple  # SignalWork


class Composite(NamedTuple):
    """Sums over subtrees, about ref of the subtree's root."""

    F: np.ndarray  # (nb + 1, 6) inertia forces less weight
    W: np.ndarray  # (nb + 1, 6) forces of elements and constraints
    inertia: np.ndarray  # (nb + 1, 10)
    rate: np.ndarray  # (nb + 1, 12) rate matrix B: couple, 3 x 3 by rows, and twice the momentum
    columns: np.ndarray  # (24, padded(n)) S, X, Y, I X + B Y + gamma S x* F of all columns, about the global origin
    own: np.ndarray  # (n, 15) S, I S, angular part of B^T S of each column, about the global origin
    spans: Spans  # of the columns that meet in the tangent


class Twists(NamedTuple):
    """Variations of all bodies in p directions, ``simd.padded``: pose twist N, its time derivatives, and forces."""

    N: np.ndarray  # (nb + 1, 6, p)
    N1: np.ndarray  # (nb + 1, 6, p)
    N2: np.ndarray  # (nb + 1, 6, p)
    F: np.ndarray  # (nb + 1, 6, p) variation of the forces on a body, then on a subtree
    each: np.ndarray  # (p,) ``simd.numbers`` of the columns
    signals: tuple  # SignalRows


def kinematics(model, dtype=np.float64):
    """Allocate Kinematics."""
    nb, n, z = model.tree.parent.size, model.tree.column_kind.size, np.zeros
    body = [z((nb + 1, k), dtype) for k in (9, 3, 3, 6, 6)]
    columns, forces = (z((n, 6), dtype) for _ in range(3)), z((model.forces.kind.size, ROOM), dtype)
    signals = signal_work(model, lambda body: branch_columns(model.tree, body), dtype)
    return Kinematics(*body, *columns, z((nb + 1, 10), dtype), forces, z(model.measures.kind.size), signals)


def branch_columns(tree, body):
    """Columns that move a body of a tree, from it upwards."""
    found = []
    while body >= 0:
        found += range(tree.first_column[body], tree.first_column[body + 1])
        body = tree.parent[body]
    return found


def composite(model, dtype=np.float64):
    """Allocate Composite."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    body = [np.zeros((nb + 1, k), dtype) for k in (6, 6, 10, 12)]
    return Composite(*body, zeros((24, padded(n)), dtype), zeros((n, 15), dtype), spans(model, dtype))


def twists(model, p, dtype=np.float64):
    """Allocate Twists."""
    nb = model.tree.parent.size
    return Twists(*(zeros((nb + 1, 6, p), dtype) for _ in range(4)), numbers(p, dtype), signal_rows(model, p, dtype))


class Touch(NamedTuple):
    """Which blocks of theta vary in which of p directions; those taken together share answers, the rest is skipped."""

    geometry: np.ndarray  # (nb, p)
    inertia: np.ndarray  # (nb, p)
    measure: np.ndarray  # (nm, p)
    force: np.ndarray  # (nf, p)


def untouched(model, p):
    """Touch of p directions that vary no numbers."""
    nb = model.tree.parent.size
    return Touch(*(np.zeros((k, p), bool) for k in (nb, nb, model.measures.kind.size, model.forces.kind.size)))


def touched(dtheta):
    """A function that finds which of directions dtheta (len(theta), p) vary blocks, by their starts and bounds."""
    if not dtheta.shape[1]:
        return lambda starts, first, last: np.zeros((len(starts), 0), bool)
    groups = (dtheta != 0.0).T.reshape(-1, WIDTH, len(dtheta)).any(axis=1)
    before = np.concatenate([np.zeros((1, len(groups)), int), np.cumsum(groups, axis=1).T])  # entries that vary

    def blocks(starts, first, last):
        ends = (np.minimum(starts + k, len(dtheta)) for k in (first, last))
        return np.repeat(np.subtract(*(before[end] for end in ends)) < 0, WIDTH, axis=1)

    return blocks


def touch(model, dtheta):
    """Find the blocks that directions dtheta (len(theta), p) vary; p is ``simd.padded``."""
    blocks = touched(dtheta)
    measures, laws, forces = model.measures, model.laws, model.forces
    geometric, law_sizes, force_sizes = _kinds(model)
    law = blocks(laws.theta, 0, law_sizes)
    for k in range(len(law) - 1, -1, -1):  # terms of a sum follow each other
        if laws.next[k] != NONE:
            law[k] |= law[laws.next[k]]
    force = blocks(forces.theta, 0, force_sizes)
    for f, used in enumerate(forces.law):
        for k in used[used != NONE]:
            force[f] |= law[k]
    return Touch(
        blocks(model.tree.theta, 0, MASS),
        blocks(model.tree.theta, MASS, BODY_SIZE),
        blocks(np.where(geometric, measures.theta, 0), 0, MEASURE_SIZE) & geometric[:, None],
        force,
    )


@once_a_model
def _kinds(model):
    """Which measures have a block of geometry, and the sizes of the blocks of laws and forces."""
    geometric = np.isin(model.measures.kind, BETWEEN_BODIES)
    laws = [law_size(model.laws, k) for k in range(model.laws.theta.size)]
    return geometric, np.array(laws, int), np.array([FORCE_SIZES[kind] for kind in model.forces.kind], int)


def law_size(laws, law):
    """Number of entries of theta that a law takes."""
    count = int(laws.count[law])
    if laws.kind[law] == Law.SINE_POWER:
        return 4
    return count + 4 * (count - 1) if laws.kind[law] == Law.SPLINE else count


def law_entries(laws, wanted):
    """Entries of theta that the laws with these numbers, and those that follow in their sums, read."""
    found = set(wanted)
    for law in wanted:
        while (law := int(laws.next[law])) != NONE:
            found.add(law)
    entries = [laws.theta[law] + np.arange(law_size(laws, law)) for law in sorted(found)]
    return np.concatenate([*entries, np.zeros(0, dtype=np.int64)]).astype(np.int64)


# Adjoints of scalars. Derivation: docs/theory/adjoint.md.
#
# A scalar that depends on the motion and on theta varies by
#
#     sum over bodies (P . N + D . N' + H . N'') + z^ . dz + zd^ . dz' + zdd^ . dz'' + lam^ . dlambda + theta^ . dtheta,
#
# N the pose twists of ``variation``. Elements add to adjoints, of as many scalars at once as there are columns;
# whatever is spatial is about the global origin, where a backward sweep has the reference points of all bodies.


class Adjoints(NamedTuple):
    """Adjoints of p scalars, ``simd.fitting``; the last row of body arrays is the ground."""

    P: np.ndarray  # (nb + 1, 6, p) of pose twists N
    D: np.ndarray  # (nb + 1, 6, p) of N'
    H: np.ndarray  # (nb + 1, 6, p) of N''
    z: np.ndarray  # (n, p)
    zd: np.ndarray  # (n, p)
    zdd: np.ndarray  # (n, p)
    lam: np.ndarray  # (m, p) of the multipliers that sensors read
    theta: np.ndarray  # (len(theta), p)
    each: np.ndarray  # (p,) ``simd.numbers`` of the columns, which loops go over
    signals: tuple  # SignalRows, zero between kernels


class Virtual(NamedTuple):
    """Virtual motions: adjoints of the residual G, and what they move bodies by."""

    mu: np.ndarray  # (n, p)
    U: np.ndarray  # (nb + 1, 6, p) sums of S mu; the last row, the ground's, is zero
    each: np.ndarray  # (p,) as those of Adjoints


def adjoints(model, size, p, dtype=np.float64):
    """Allocate Adjoints for ``size`` numbers theta."""
    nb, n, m = model.tree.parent.size, model.tree.column_kind.size, model.constraints.measure.size
    bodies = (zeros((nb + 1, 6, p), dtype) for _ in range(3))
    return Adjoints(
        *bodies, *(zeros((k, p), dtype) for k in (n, n, n, m, size)), numbers(p, dtype), signal_rows(model, p, dtype)
    )


def virtual(model, p, dtype=np.float64):
    """Allocate Virtual, all at rest."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    return Virtual(zeros((n, p), dtype), zeros((nb + 1, 6, p), dtype), numbers(p, dtype))
