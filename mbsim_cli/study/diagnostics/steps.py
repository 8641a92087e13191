"""Diagnostics of the steps of a motion: smoothness, extremes, values that are not finite, contact, bending."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.assembly.tree.kinematics import SYMMETRIC, poses
from mbsim_cli.errors import counted, with_digits
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model import standard_data as sid
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, STEP, Names
from mbsim_cli.model.problem import Block, InverseBlock, Problem
from mbsim_cli.solve.breakpoints import ends, terms_of
from mbsim_cli.system import cached_property

# Smooth maxima that stay far below the largest value along time.

FAR = 0.03  # relative
SHARP = 80.0  # over the largest value: a sharpness that misses 5 % of one that stands for a fiftieth of the time
NOTHING = 1e-9  # of what the sharpness tells apart: values below are round-off of zero
MORE = 3.0  # factor on the stated sharpness in the advice for narrower peaks


def warnings(results: Mapping[str, Any], objectives: Sequence[Objective]) -> list[str]:
    """Sentences on smooth maxima and minima whose sharpness is too small for them to be near the extreme value."""
    found = []
    for objective in objectives:
        result = results[objective.name]
        if result.largest is None:
            continue
        missed, size = abs(result.largest - result.value), max(abs(result.largest), abs(result.value))
        assert objective.sharpness is not None
        sharpness = complex(objective.sharpness).real
        if not missed > max(FAR * size, NOTHING / sharpness):
            continue
        sharper = max(SHARP / size, MORE * sharpness)
        value, largest = (f"{number:.4g} {objective.unit}".rstrip() for number in (result.value, result.largest))
        extreme = "smallest" if objective.kind == "minimum" else "largest"
        found.append(
            f"objective {objective.name} is a smooth {objective.kind}, {value}; the {extreme} value is {largest}; "
            f"a sharpness of {with_digits(sharper, 1)} comes nearer"
        )
    return found


class Extremes:
    """Least and largest values of each component of the sensors, and when they are reached first; NaN is left out."""

    warnings: Sequence[str] = ()

    def __init__(self, names: Names, sensors: Mapping[str, slice]):
        self._names, self._sensors = names, sensors
        self._values = np.zeros((2, 0))  # least and largest (2, w)
        self._times = np.zeros((2, 0))  # s

    def add(self, block: Block) -> None:
        if not (values := np.asarray(block.sensors)).size:
            return
        if not self._values.size:
            self._values = np.repeat([[np.inf], [-np.inf]], values.shape[1], axis=1)
            self._times = np.full_like(self._values, np.nan)
        columns = np.arange(values.shape[1])
        for row, sign in enumerate((1.0, -1.0)):
            at = np.where(np.isnan(values), np.inf, sign * values).argmin(axis=0)
            nearer = sign * values[at, columns] < sign * self._values[row]
            self._values[row, nearer], self._times[row, nearer] = values[at, columns][nearer], block.time[at][nearer]

    @property
    def report(self) -> dict[str, dict[str, Any]]:
        """By sensor, or SENSOR.component of several: unit, least and largest value, and when; NaN without a number."""
        names, found = self._names, {}
        (least, largest), (when, then) = np.where(np.isnan(self._times), np.nan, self._values), self._times
        rows = zip(names.sensors, names.sensor_components, names.sensor_units, strict=True)
        for name, components, units in rows:
            if name in self._sensors and self._values.size:
                of_each = (units,) * len(components) if isinstance(units, str) else units
                for number, component in enumerate(components):
                    label = f"{name}.{component}" if len(components) > 1 else name
                    at = self._sensors[name].start + number
                    extremes = {"least": least, "least_at": when, "largest": largest, "largest_at": then}
                    found[label] = {"unit": of_each[number]} | {key: float(row[at]) for key, row in extremes.items()}
        return found


# Recorded quantities that are not finite: which, how often, and since when.

SHOWN = 5  # quantities that are named
_NAMES = {
    "position": "positions",
    "velocity": "velocities",
    "acceleration": "accelerations",
    "lambda": "multipliers",
    "sigma": "multipliers of velocities",
    "kappa": "multipliers of accelerations",
    "energy": "energies",
    "torque": "torques",
}
_ESTIMATES = ("gradient_error",)  # not finite where nothing is known yet


def _unknown(block: Block | InverseBlock) -> list[tuple[str, np.ndarray]]:
    """Arrays that the solver has not checked, by name; sensors that show all torques are the same arrays."""
    known = set(map(id, block[4:9])) if isinstance(block, InverseBlock) and block.finite.all() else ()
    return [
        (name, values)
        for name, values in zip(block._fields, block, strict=True)
        if isinstance(values, np.ndarray)
        and id(values) not in known
        and values.dtype.kind in "fc"
        and name not in _ESTIMATES
    ]


class FiniteHealth:
    """Counts time points at which a sensor, its derivatives or another array is not finite, except intended NaN.

    ``jumped`` has times at which derivatives by some parameters (their numbers) are so by intent, and a sentence on it.
    """

    def __init__(self, sensors: Mapping[str, slice], jumped: Sequence[tuple[float, np.ndarray, str]] = ()):
        self._sensors, self._jumped = sensors, jumped
        self._told: dict[str, None] = {}  # sentences on jumps
        self._found: dict[str, tuple[int, float]] = {}  # time points, and the first one, s

    def add(self, block: Block | InverseBlock) -> None:
        for name, values in _unknown(block):
            finite = np.isfinite(values)
            if finite.all():
                continue
            wrong = ~finite
            if name.startswith(("d_", "by_parameter")) and block.broken is not None:
                wrong &= block.broken[:, None, : wrong.shape[2]] == 0  # intended NaN, which the gradients report
                for time, columns, sentence in self._jumped:
                    for row in np.flatnonzero(np.isclose(block.time, time, rtol=1e-12, atol=0.0)):
                        if wrong[row][..., columns].any():
                            wrong[row][..., columns] = False
                            self._told[sentence] = None
            if name in ("sensors", "d_sensors"):  # undetermined reactions as well
                wrong &= ~block.undetermined.reshape(*block.undetermined.shape, *[1] * (wrong.ndim - 2))
            for what, rows in self._parts(name, wrong):
                if rows.any():
                    count, first = self._found.get(what, (0, float(block.time[np.argmax(rows)])))
                    self._found[what] = count + int(rows.sum()), first

    def _parts(self, field: str, wrong: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Names of what is wrong, and the time points (B,)."""
        columns = wrong.reshape(len(wrong), wrong.shape[1] if wrong.ndim > 1 else 1, -1)
        by_time = np.logical_or.reduce(columns, axis=2)
        if field in ("sensors", "d_sensors"):
            what = "sensor {}" if field == "sensors" else "the derivative of sensor {}"
            for name, rows in self._sensors.items():
                yield what.format(name), np.logical_or.reduce(by_time[:, rows], axis=1)
        else:
            plain = "torque" if field.startswith("by_") else field.removeprefix("d_").rstrip("_")
            of = "derivatives of " if field.startswith(("d_", "by_")) else ""
            yield of + _NAMES.get(plain, plain), np.logical_or.reduce(by_time, axis=1)

    @property
    def warnings(self) -> list[str]:
        sentences = [
            f"{what} {'is' if 'sensor ' in what else 'are'} not finite at {counted(count, 'time point')}, "
            f"first at t = {first:g} s; something that it divides by may vanish there, or it overflows, or a table ends"
            for what, (count, first) in self._found.items()
        ]
        more = len(sentences) - SHOWN
        return sentences[:SHOWN] + [f"{more} more quantities are not finite"] * (more > 0) + list(self._told)


# Where a wheel leaves or meets the road, and where the time points are too coarse for the road of a tyre or a contact.

STEPS = 3  # a feature of the road passed in fewer is not resolved
_ONLY_HERE = "gradients hold for these time points only"


class Following:
    """Times and sensors of blocks, each behind the last time point of the block before."""

    def __init__(self) -> None:
        self._last: tuple[np.ndarray, np.ndarray] | None = None  # time and sensors of the latest time point

    def of(self, block: Block | InverseBlock) -> tuple[np.ndarray, np.ndarray]:
        """Times (B + 1,) and sensors (B + 1, width); of the first block B of them."""
        time, sensors = block.time, np.real(block.sensors)
        if self._last is not None:
            time = np.append(self._last[0], time)
            sensors = np.concatenate([self._last[1], sensors])
        self._last = time[-1:].copy(), sensors[-1:].copy()
        return time, sensors


class ContactHealth:
    """Lift-offs and landings of tyres, and roads that steps of tyres and ``contacts`` do not resolve."""

    def __init__(self, problem: Problem, contacts: Sequence[Any]):
        self._problem, self._contacts = problem, contacts
        self._buried: list[str] | None = None  # tyres whose centres are below the road at the start
        self._features = [features(problem, contact.road) for contact in contacts]
        self._lifted: dict[str, list[float]] = {}  # times of each tyre's lift-offs and landings
        self._coarse: dict[str, tuple[float, float, np.ndarray]] = {}  # steps, time and feature of the worst passage
        self._following = Following()

    def add(self, block: Block | InverseBlock) -> None:
        if self._buried is None:
            self._buried = [contact.name for contact in self._contacts if self._starts_below(contact, block.sensors[0])]
        time, sensors = self._following.of(block)
        for contact, ranges in zip(self._contacts, self._features, strict=True):
            touching = sensors[:, contact.load] > 0.0
            if contact.rolls:
                self._lifted.setdefault(contact.name, []).extend(time[1:][touching[1:] != touching[:-1]].tolist())
            name = f"{'tyre' if contact.rolls else 'contact'} {contact.name}"
            x = sensors[:, contact.place]
            low, high, way = np.minimum(x[1:], x[:-1]), np.maximum(x[1:], x[:-1]), np.abs(np.diff(x))
            for start, end in ranges:
                step = np.flatnonzero((low < end) & (high > start) & (end - start < STEPS * way) & touching[1:])
                if len(step):
                    steps = (end - start) / float(way[step].max())
                    if steps < self._coarse.get(name, (STEPS,))[0]:
                        self._coarse[name] = steps, float(time[step[0] + 1]), np.array([start, end])

    def _starts_below(self, contact: Any, sensors: np.ndarray) -> bool:
        """Whether a contact is that of a tyre whose centre is below the road."""
        laws, theta = self._problem.model.laws, self._problem.theta
        x, z = np.real(sensors[[contact.place, contact.place + 2]])
        return bool(contact.rolls and z < law_value(laws, theta, contact.road, float(x))[0].real)

    @property
    def warnings(self) -> list[str]:
        found = [
            f"the centre of tyre {tyre} is below the road at the start: look at where it begins, and at the direction "
            "in which the coordinate that gives its height counts"
            for tyre in self._buried or ()
        ]
        for tyre, times in self._lifted.items():
            if times:
                often = f" {len(times)} times, first" if len(times) > 1 else ""
                found.append(f"tyre {tyre} leaves or meets the road{often} at t = {times[0]:.4g} s")
        for name, (steps, time, (start, end)) in self._coarse.items():
            found.append(
                f"{name} passes its road between x = {start:.6g} m and {end:.6g} m in {steps:.2g} steps, at "
                f"t = {time:.4g} s; {_ONLY_HERE}: {STEPS} steps or more resolve it"
            )
        return found


class BushingHealth:
    """Bushings that pass half a turn, where their rotation vectors, in the rows ``turns``, change their sign."""

    def __init__(self, turns: Mapping[str, slice]):
        self._turns = turns
        self._passed: dict[str, float] = {}  # before when, s
        self._following = Following()

    def add(self, block: Block | InverseBlock) -> None:
        time, sensors = self._following.of(block)
        for bushing, rows in self._turns.items():
            leaps = np.linalg.norm(np.diff(sensors[:, rows], axis=0), axis=1) > np.pi
            if leaps.any():
                self._passed.setdefault(bushing, float(time[1 + np.argmax(leaps)]))

    @property
    def warnings(self) -> list[str]:
        return [
            f"bushing {bushing} passes half a turn before t = {time:.4g} s: its rotation and torque change their sign "
            "there, and derivatives lack the jump"
            for bushing, time in self._passed.items()
        ]


class CableHealth:
    """Watches the ``cables`` of constant length, which push where a real cable would go slack."""

    def __init__(self, names: Names, cables: Sequence[str]):
        self._rows = {cable: names.constraints.index(cable) for cable in cables}
        self._pushes: dict[str, float] = {}  # since when, s
        self._least, self._largest = dict.fromkeys(cables, 0.0), dict.fromkeys(cables, 0.0)  # tension, N

    def add(self, block: Block | InverseBlock) -> None:
        if isinstance(block, InverseBlock):
            return
        for cable, row in self._rows.items():
            tension = np.real(block.lambda_[:, row])
            self._largest[cable] = max(self._largest[cable], float(np.abs(tension).max()))
            self._least[cable] = min(self._least[cable], float(tension.min()))
            pushes = tension < -NOTHING * self._largest[cable]
            if pushes.any():
                self._pushes.setdefault(cable, float(block.time[np.argmax(pushes)]))

    @property
    def warnings(self) -> list[str]:
        return [
            f"cable {cable} would be slack: its constant length pushes from t = {time:.4g} s on, by up to "
            f"{-self._least[cable]:.4g} N; with a stiffness it goes slack instead"
            for cable, time in self._pushes.items()
        ]


def features(problem: Problem, law: int) -> np.ndarray:
    """Ranges of x (k, 2) in which the road of a law changes its slope."""
    laws, theta, found = problem.model.laws, problem.theta, []
    for term in terms_of(laws, law):
        first, count = laws.theta[term], laws.count[term]
        kind, window = laws.kind[term], laws.window[term]
        if window != NONE:
            found.append(theta[window : window + 2])
        elif kind == Law.SMOOTH_STEP:
            found.append(theta[first : first + 2])
        elif kind == Law.ONE_SIDED:
            found.append(np.array([theta[first], theta[first] + theta[first + 1]]))
        elif kind == Law.SPLINE:
            knots = theta[first : first + count]
            if ends(laws, theta, term) is not None:
                knots = knots[2:-1]
            found += list(np.column_stack([knots[:-1], knots[1:]]))
    return np.array(found).reshape(-1, 2)


# Flexible bodies: size of the deformation (linear shapes are valid up to a tenth), and stiffening by rotation.

# Mean displacement of a body's points over its radius of gyration: at 0.1 the end of a slender beam turns by 0.15.
BENT_FAR = 0.1
STIFFER = 1e-2  # stiffness that turning adds, relative: as much is missing in how far the body bends
PLAIN = 1e-6  # of Me: by less the squares of J2 differ from it where nothing stiffens
SAMPLES = 200  # times at which stiffening is evaluated


class _Elastic(NamedTuple):
    """A body that deforms: its number among all bodies, and its standard input data."""

    name: str
    number: int
    columns: list[int]  # of its n elastic coordinates
    numbers: np.ndarray  # data, and what follows them in theta
    pairs: np.ndarray  # (n, PAIR_ROWS, n) data of pairs of modes
    deviation: int  # of these from the identities between them, an offset in theta or NONE


def _elastic_bodies(problem: Problem) -> Iterator[_Elastic]:
    tree: Any = problem.model.tree
    place = {name: column for column, name in enumerate(problem.names.coordinates)}
    of_each = zip(tree.flexible, tree.block, tree.deviation, np.diff(tree.elastic), strict=True)
    for number, offset, deviation, n in of_each:
        name, numbers = problem.names.bodies[number], problem.theta[offset:].real
        columns = [place[f"{name}.q{k + 1}"] for k in range(n)]
        pairs = numbers[sid.MODES + n * sid.MODE_ROWS :][: n * n * sid.PAIR_ROWS].reshape(n, sid.PAIR_ROWS, n)
        yield _Elastic(name, int(number), columns, numbers, pairs, int(deviation))


class BendingHealth:
    """Bodies that deform beyond the range of linear shapes: first time and largest amount, in one pass."""

    def __init__(self, problem: Problem):
        # the deformation over the radius of gyration is the root of q . by_size q
        self._bodies: list[tuple[str, list[int], np.ndarray]] = []  # name, elastic coordinates (n), by_size (n, n)
        for body in _elastic_bodies(problem):
            mass = body.numbers[sid.MASS]
            size = body.numbers[sid.J0 : sid.J0 + 3].sum() / 2 / mass
            if size > 0:
                self._bodies.append((body.name, body.columns, body.pairs[:, sid.ME] / mass / size))
        self._largest = [0.0] * len(self._bodies)
        self._since: list[float | None] = [None] * len(self._bodies)

    def add(self, block: Block) -> None:
        for i, (_, columns, by_size) in enumerate(self._bodies):
            q = block.position[:, columns]
            sizes = np.sqrt(np.maximum(((q @ by_size) * q).sum(axis=1), 0.0))
            self._largest[i] = max(self._largest[i], float(sizes.max()))
            if self._since[i] is None and self._largest[i] > BENT_FAR:
                self._since[i] = float(block.time[np.argmax(sizes > BENT_FAR)])

    @property
    def warnings(self) -> list[str]:
        return [
            f"body {name!r} deforms by more than a tenth of its size, first at t = {since:.6g} s, "
            f"by {largest:.2g} of it at most: its shapes are linear, and what is no load of its `stiffening` does not "
            "keep it from bending further as it turns or is pulled; a softer body than that is to be several bodies"
            for (name, *_), largest, since in zip(self._bodies, self._largest, self._since, strict=True)
            if since is not None
        ]


class StiffeningHealth:
    """Whether bodies turn so fast while they bend that centrifugal stresses, left out, stiffen them, one pass.

    Stresses by a spin W add about W^2 Me to the stiffness Ke of shapes across them (docs/theory/flexible_bodies.md).
    """

    def __init__(self, problem: Problem):
        self._problem, options = problem, problem.options  # ``poses`` does not take natural coordinates
        watched = options.analysis == "forward_dynamics" and not options.natural
        self._bodies = [b for b in _elastic_bodies(problem) if not _stiffens(problem, b)] if watched else []
        self._every = max(1, round(options.duration / options.step) // SAMPLES)
        self._seen = 0
        self._states: list[tuple[np.ndarray, np.ndarray]] = []  # coordinates and rates

    def add(self, block: Block) -> None:
        if self._bodies:
            rows = np.flatnonzero((self._seen + np.arange(len(block.time))) % self._every == 0)
            self._states += [(block.position[row].copy(), block.velocity[row].copy()) for row in rows]
            self._seen += len(block.time)

    @cached_property
    def warnings(self) -> list[str]:
        if not self._bodies:
            return []
        model, theta = self._problem.model, self._problem.theta.tolist()
        turned = [poses(model.tree, theta, (z + 1j * STEP * v).tolist()).R for z, v in self._states]
        found = []
        for body in self._bodies:
            share = _added(body, np.array([R[body.number] for R in turned]), np.array([z for z, _ in self._states]))
            if share > STIFFER:
                found.append(
                    f"body {body.name!r} turns while it bends, so that centrifugal stresses would stiffen it by some "
                    f"{100 * share:.2g} %, which are left out: add rotation to its `stiffening`"
                )
        return found


def _added(body: _Elastic, turned: np.ndarray, positions: np.ndarray) -> float:
    """Work of centrifugal stresses at the shape of a body over its elastic energy: the largest values of both in a run.

    ``turned`` (k, 3, 3) are rotation matrices, with rates as their imaginary parts.
    """
    spin = np.einsum("kji,kjl->kil", turned.real, turned.imag / STEP)
    spin = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    inertia = body.numbers[sid.J0 + SYMMETRIC]  # about the origin of its frame; over its largest moment:
    inertia = inertia / np.linalg.eigvalsh(inertia)[-1]  # about the axis of a rod turning stretches nothing
    squared = np.einsum("ki,ij,kj->k", spin, inertia, spin)
    q = positions[:, body.columns]
    work, energy = (np.einsum("ki,ij,kj->k", q, body.pairs[:, rows], q) for rows in (sid.ME, sid.KE))
    return float((squared * work).max() / energy.max()) if energy.max(initial=0.0) > 0.0 else 0.0


def _stiffens(problem: Problem, body: _Elastic) -> bool:
    """Whether the data of a body have stiffening by rotation."""
    n, pairs = len(body.columns), body.pairs
    beside = np.abs(pairs[:, sid.J2 : sid.J2 + 3].sum(axis=1) - 2.0 * pairs[:, sid.ME]).max()
    if body.deviation != NONE:
        own = problem.theta[body.deviation + n * sid.OWN_MODE_ROWS :]
        own = own[: n * n * sid.OWN_PAIR_ROWS].reshape(n, sid.OWN_PAIR_ROWS, n)
        beside = max(beside, np.abs(own[:, sid.OE1 : sid.OE1 + 6]).max())
    return bool(beside > PLAIN * np.abs(pairs[:, sid.ME]).max())
