"""A result: histories by name, objectives with gradients, values between stored times, and residuals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib import import_module
from math import factorial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.io.layout import Stored
from mbsim_cli.io.results import Entry, ResultFile, columns, derivatives_of
from mbsim_cli.model.units import attributes_of, derivative_by
from mbsim_cli.spec.reading.messages import Named, unknown
from mbsim_cli.study.recording import MemoryRecord
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    import xarray

    from mbsim_cli.study.model import Model


# Interpolation of histories between stored times. It is linear in the stored values, so the same weights give exact
# derivatives. Coordinates and velocities use Hermite polynomials on one interval, all other histories the polynomial
# through the nearest stored times. For a smooth motion errors are of sixth order in the interval (velocities: fourth).
# Source: Burden and Faires, Numerical Analysis, sections 3.1 and 3.4.

NEAREST = 6  # rows of a polynomial
ROUND_OFF = 1e-9  # of a run, that a time may lie outside of it
_RATES = ("position", "velocity", "acceleration")


def rows_of(path: str) -> tuple[str, ...]:
    """Paths of a history and of its rates, as far as results hold them."""
    folder, _, kind = path.rpartition("/")
    if folder == "coordinates" and kind in _RATES:
        return tuple(f"coordinates/{rate}" for rate in _RATES[_RATES.index(kind) :])
    return (path,)


def interpolated(
    rows: np.ndarray, times: np.ndarray, values: Sequence[np.ndarray], *, rate: bool = False, nearest: int = NEAREST
) -> np.ndarray:
    """Values (M, ...) of a history at ``times`` (M,), s.

    ``rows`` (N,) are the stored times, s; ``values`` holds the history (N, ...), followed by its rates if stored; alone
    it is read by the ``nearest`` rows. With ``rate`` the time derivative of the interpolant is returned. Raises
    UsageError for times outside the run, and NaN.
    """
    behind = np.append(np.diff(rows) > 0.0, True)  # of rows at the same time the last holds
    rows, values = rows[behind], [part[behind] for part in values]
    margin = ROUND_OFF * (1.0 + rows[-1] - rows[0])
    if times.ndim != 1 or not ((times >= rows[0] - margin) & (times <= rows[-1] + margin)).all():
        raise UsageError(f"times must be an array (M,) of numbers from {rows[0]:g} to {rows[-1]:g} s, as the run lasts")
    alone = len(values) == 1
    indices, weights = _lagrange(rows, times, rate, nearest) if alone else _hermite(rows, times, len(values), rate)
    terms = (np.einsum("mk,mk...->m...", w, part[indices]) for w, part in zip(weights, values, strict=True))
    return sum(terms, start=np.zeros(()))


def _lagrange(rows: np.ndarray, times: np.ndarray, rate: bool, nearest: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest rows (M, K) of each time, and their weights (1, M, K)."""
    count = min(nearest, len(rows))
    first = np.clip(np.searchsorted(rows, times, "right") - count // 2, 0, len(rows) - count)
    indices = first[:, None] + np.arange(count)
    weights, rates = np.ones(indices.shape), np.zeros(indices.shape)
    for j in range(count):
        for k in set(range(count)) - {j}:
            at_j, at_k = rows[first + j], rows[first + k]
            factor, slope = (times - at_k) / (at_j - at_k), 1.0 / (at_j - at_k)
            rates[:, j] = rates[:, j] * factor + weights[:, j] * slope
            weights[:, j] *= factor
    return indices, (rates if rate else weights)[None]


def _hermite(rows: np.ndarray, times: np.ndarray, count: int, rate: bool) -> tuple[np.ndarray, np.ndarray]:
    """Both ends (M, 2) of the interval of each time, and the weights (count, M, 2) of values and rates there."""
    first = np.clip(np.searchsorted(rows, times, "right") - 1, 0, max(len(rows) - 2, 0))
    if len(rows) == 1:
        value = [np.zeros((len(times), 1)), np.ones((len(times), 1))]
        return first[:, None], np.array([value[not rate], *[value[0]] * (count - 1)])
    length = rows[first + 1] - rows[first]
    place, order = ((times - rows[first]) / length)[:, None], np.arange(2 * count)
    powers = order * place ** np.maximum(order - 1, 0) / length[:, None] if rate else place**order
    weights = (powers @ _basis(count)).reshape(-1, 2, count)  # of an interval of length 1
    return first[:, None] + np.arange(2), np.moveaxis(weights * length[:, None, None] ** np.arange(count), 2, 0)


@cache
def _basis(count: int) -> np.ndarray:
    """Powers (rows) of the polynomials with one value or derivative 1 at 0, then at 1, and all others 0."""
    conditions = np.zeros((2 * count, 2 * count))
    for order in range(count):
        conditions[order, order] = factorial(order)
        for power in range(order, 2 * count):
            conditions[count + order, power] = factorial(power) / factorial(power - order)
    return np.round(2.0 * np.linalg.inv(conditions)) / 2.0  # all of them are halves of whole numbers


SECTIONS = ("", "sensors/", "coordinates/", "multipliers/", "diagnostics/")  # where short names are looked for
ALONG_TIME = "sensitivity='ddm' computes those of sensors, coordinates and lambda"


class ObjectiveValue(NamedTuple):
    """An objective: its value, and its derivatives by the parameters of the analysis (p,), none without a method.

    ``gradient`` is NaN where there is no derivative; ``undefined`` says why, by parameter. ``flags`` say why the value
    is only one choice of many. Derivatives are in the ``unit`` over that of the parameter. ``by_fields`` has those by
    the elements of fields (ne,), by field, before its filter.
    """

    value: float
    unit: str
    gradient: np.ndarray
    parameters: tuple[str, ...]
    undefined: Mapping[str, str]
    flags: tuple[str, ...]
    by_fields: Mapping[str, np.ndarray]

    def by(self, parameter: str) -> float:
        """The derivative by a parameter; raises UsageError where there is none of that name."""
        return float(self.gradient[place_of(parameter, self.parameters)])


def place_of(parameter: str, known: Sequence[str]) -> int:
    """Place of a parameter among those that gradients are taken by; raises UsageError where it is none of them."""
    if parameter not in known:
        listed = ", ".join(known) or "none: sensitivity='ddm' computes them"
        raise UsageError(f"there is no derivative by {parameter!r}; there are {listed}")
    return known.index(parameter)


class Poses(NamedTuple):
    """Global places [m] of the origins of bodies, and Euler parameters (scalar first, without jumps) of their axes."""

    bodies: tuple[str, ...]  # (B,)
    position: np.ndarray  # (N, B, 3)
    orientation: np.ndarray  # (N, B, 4)


class Result(Mapping[str, np.ndarray]):
    """A mapping from names of histories to arrays, time first; and all other contents of a result file.

    ``result["r2"]`` is a sensor (N, k), or (N,) of one number, ``result["r2.y"]`` (N,) a column, by the names that
    ``mbsim plot`` takes, and ``result["sensors/r2"]`` any variable by its path in result files, in its shape there:
    (N, 1) of one number. Raises KeyError for another name.
    """

    __eq__ = object.__eq__  # arrays are not compared; a mapping would try
    __hash__ = object.__hash__

    def __init__(self, record: MemoryRecord | ResultFile, report: Mapping[str, Any] | Callable[[], Mapping[str, Any]]):
        self.record, self._report = record, report

    @cached_property
    def report(self) -> Mapping[str, Any]:
        """The report of ``mbsim run --json``; of a file that was opened, that of ``mbsim inspect --json``."""
        return self._report() if callable(self._report) else self._report

    def __getitem__(self, name: str) -> np.ndarray:
        return self._found(name).values

    def __iter__(self) -> Iterator[str]:
        return iter(self.record.paths)

    def __len__(self) -> int:
        return len(self.record.paths)

    def __contains__(self, name: object) -> bool:
        try:
            return bool(self._place(str(name)))
        except KeyError:
            return False

    def _found(self, name: str) -> Stored:
        """A history or a column of one; raises KeyError."""
        place = self._place(name)
        return _as_named(name, place, self.record.variable(place.path))

    def _place(self, name: str) -> Entry:
        """A variable by its path, or a column: SENSOR.label, or a coordinate or equation as ``mbsim plot`` calls it."""
        for section in SECTIONS:
            if section + name in self.record.paths:
                return Entry(section + name)
        if column := self._columns.get(name) or self._component(name):
            return column
        known = [*self._columns, *(path.rpartition("/")[2] for path in self.record.paths)]
        raise KeyError(unknown("history", name, known))

    @cached_property
    def _columns(self) -> dict[str, Entry]:
        axes = self.record.axes
        return dict(columns(axes.get("coordinate", ()), axes.get("constraint", ()), self.record.paths))

    def _component(self, name: str) -> Entry | None:
        """A component of a sensor; both may have points in their names."""
        for point in (place for place, letter in enumerate(name) if letter == "."):
            sensor, label = f"sensors/{name[:point]}", name[point + 1 :]
            if sensor in self.record.paths:
                (labels,) = self.labels(sensor).values()
                if label in labels:
                    return Entry(sensor, labels.index(label))
        return None

    def _ipython_key_completions_(self) -> list[str]:
        """The names that notebooks offer behind ``result[``."""
        short = (path.removeprefix(section) for path in self for section in SECTIONS[1:] if path.startswith(section))
        return [*short, *self]

    @property
    def time(self) -> np.ndarray:
        """Time points (N,), s."""
        return self["time"]

    def at(self, times: Sequence[float] | np.ndarray, name: str, *, rate: bool = False) -> np.ndarray:
        """A history or column at times (M,) of your own, s: (M, ...), interpolated between the rows of the result.

        With ``rate`` the derivative by time of this interpolation. Raises KeyError for another name, UsageError for
        times outside of the run.
        """
        place = self._place(name)
        return _as_named(name, place, self._between(times, rows_of(place.path), rate)).values

    def _between(self, times: Any, paths: Sequence[str], rate: bool = False) -> Stored:
        """A variable, or derivatives of it, at other times; ``paths`` are its own and those of its rates."""
        known = [self.record.variable(path) for path in paths if path in self.record.paths]
        rows, times = self.record.variable("time").values, np.asarray(times, dtype=float)
        return known[0]._replace(values=interpolated(rows, times, [part.values for part in known], rate=rate))

    def unit(self, name: str) -> str:
        """Unit of a history; units where its columns have different ones. Raises KeyError for another name."""
        return self._found(name).unit

    def labels(self, name: str) -> dict[str, Sequence[str]]:
        """Labels along the axes of a history, but for time."""
        return {axis: tuple(self.record.axes[axis]) for axis in self._found(name).axes[1:]}

    def sensitivity(
        self, name: str, parameter: str | None = None, *, times: Sequence[float] | np.ndarray | None = None
    ) -> np.ndarray:
        """Derivatives of a history or column by a parameter, or (..., p) by all that gradients are taken by.

        With ``times`` (M,), s, they are those of what ``at`` gives. Raises UsageError where there are none, or none by
        that parameter, and KeyError for another name.
        """
        place = self._place(name)
        paths = [derivatives_of(path) for path in rows_of(place.path) if path in self.record.paths]
        if not set(paths) <= set(self.record.paths):
            raise UsageError(f"there are no derivatives of {name!r} along time; {ALONG_TIME}")
        whole = self.record.variable(paths[0]) if times is None else self._between(times, paths)
        derivatives, known = _as_named(name, place, whole).values, self.record.axes["parameter"]
        return derivatives if parameter is None else derivatives[..., place_of(parameter, known)]

    @cached_property
    def poses(self) -> "Poses":
        """Pose of each body at every stored time, from the coordinates; raises InputOutputError, UsageError."""
        from mbsim_cli.study.pictures.motion import poses_of

        return poses_of(self)

    @property
    def objectives(self) -> dict[str, ObjectiveValue]:
        """Objectives by name; raises KeyError for another one."""
        found = {}
        for name, entry in self.report["objectives"].items():
            gradient = entry.get("gradient", {})
            derivatives = np.array(list(gradient.values()), dtype=float), tuple(gradient)
            reasons = entry.get("undefined", {}), tuple(entry.get("flags", ()))
            by_fields = self.record.by_fields.get(name, {})
            found[name] = ObjectiveValue(float(entry["value"]), entry["unit"], *derivatives, *reasons, by_fields)
        return Named("objective", found)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the run, a sentence each."""
        return list(self.report["warnings"])

    @property
    def timing(self) -> dict[str, float]:
        """Seconds that loading, compiling, solving and writing took."""
        return dict(self.report["timing"])

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the result file that ``mbsim run`` writes, and ``open`` reads; return its path.

        The file gets its name when it is complete. It replaces an earlier result, any other file only with ``force``,
        and never a file of the model. Raises InputOutputError where it cannot be written.
        """
        self.record.save(Path(path), force=force)
        return Path(path)

    def to_xarray(self) -> "xarray.DataTree":
        """The histories as a tree of labelled arrays, as ``xarray.open_datatree`` reads them from a result file.

        Raises UsageError without the package xarray.
        """
        xarray = installed("xarray", "to_xarray")
        coords = {axis: list(labels) for axis, labels in self.record.axes.items()}
        groups: dict[str, dict[str, Any]] = {}
        for path in self.record.paths:
            folder, _, name = path.rpartition("/")
            if path != "time":
                found = self.record.variable(path)
                groups.setdefault(f"/{folder}", {})[name] = (found.axes, found.values, attributes_of(found.unit))
        root = xarray.Dataset(groups.pop("/", {}), coords={"time": ("time", self.time, attributes_of("s")), **coords})
        return xarray.DataTree.from_dict({"/": root} | {name: xarray.Dataset(group) for name, group in groups.items()})

    def __repr__(self) -> str:
        lines = [f"<mbsim result: {len(self.time)} time points, {len(self) - 1} histories>"]
        for name, found in self.objectives.items():
            lines.append(f"  {name} = {found.value:.8g} {found.unit}".rstrip())
            units = self.report["objectives"][name].get("gradient_units", {})
            derivatives = zip(found.parameters, found.gradient, strict=True)
            lines += [f"    d/d {p} = {d:.8g} {units[p]}".rstrip() for p, d in derivatives]
        return "\n".join([*lines, *(f"  warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        """A table of the objectives and their gradients, for notebooks."""
        found = self.objectives
        parameters = next(iter(found.values())).parameters if found else ()
        head = "".join(f"<th>{escape(name)} [{escape(o.unit)}]</th>" for name, o in found.items())
        rows, units = [("value", [o.value for o in found.values()])], self.report["parameters"]
        rows += [(derivative_by(p, units[p]["unit"]), [o.by(p) for o in found.values()]) for p in parameters]
        texts = ((escape(title), "".join(f"<td>{number:.8g}</td>" for number in numbers)) for title, numbers in rows)
        body = "".join(f"<tr><th>{title}</th>{numbers}</tr>" for title, numbers in texts)
        warnings = "".join(f"<p>warning: {escape(warning)}</p>" for warning in self.warnings)
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>{warnings}"


def installed(package: str, method: str) -> Any:
    """A package that mbsim can do without, for a method that cannot; raises UsageError where it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(f"{method} needs the package {package}: pip install {package}") from None


def _as_named(name: str, place: Entry, whole: Stored) -> Stored:
    """A variable or a column, or derivatives of it; by its name a sensor of one number is that number."""
    column = place.column
    if column is None and place.path == f"sensors/{name}" and whole.values.shape[1] == 1:
        column = 0
    if column is None:
        return whole
    units = whole.units[column : column + 1] if len(whole.units) > 1 else whole.units
    values, axes = place.sign * whole.values[:, column], (whole.axes[0], *whole.axes[2:])
    return Stored(values, axes, units[0] if units else whole.unit, units)


METHOD = "ddm"  # which differentiates histories


class Residuals:
    """Histories of a model minus measurements, as functions of ``rho`` (p,), its parameters ``differentiated``.

    ``residuals(rho)`` (m,) are those of all histories, concatenated, without readings that are missing (NaN), each
    over its scale; ``residuals.jacobian(rho)`` (m, p) their derivatives. Both come from one run, which is kept until
    other values are asked for. Raise what ``Model.run`` does.
    """

    def __init__(
        self,
        model: "Model",
        measured: Mapping[str, Any],
        times: Any,
        scales: Mapping[str, float] | None,
        options: Mapping[str, Any],
    ):
        """As ``Model.residuals``; raises UsageError."""
        if options.get("sensitivity", METHOD) != METHOD:
            raise UsageError(f"derivatives along time are those of sensitivity={METHOD!r}; leave sensitivity out")
        self.model = model
        self._measured = {name: np.array(values, dtype=float) for name, values in measured.items()}
        self._times = _times(self._measured, times)
        self._scales = _scales(self._measured, scales or {})
        self._options = {**options, "sensitivity": METHOD}
        self._last: tuple[bytes, np.ndarray, np.ndarray] | None = None  # rho, and what was found there

    def __call__(self, rho: Sequence[float] | np.ndarray) -> np.ndarray:
        """Residuals (m,), over the scales."""
        return self._at(rho)[0].copy()

    def jacobian(self, rho: Sequence[float] | np.ndarray) -> np.ndarray:
        """Its derivatives (m, p) by the parameters of the model."""
        return self._at(rho)[1].copy()

    def __repr__(self) -> str:
        return f"<mbsim residuals: {', '.join(self._measured)} by {', '.join(self.model.differentiated)}>"

    def _at(self, rho: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) and their derivatives (m, p)."""
        place = np.array(rho, dtype=float)
        if self._last is None or self._last[0] != place.tobytes():
            every = 1 if self._times else None  # interpolated between steps, however many the file has stored
            result = self.model.recorded(place, self._options, every, second_run=False)
            values, jacobians = [], []
            for name, measured in self._measured.items():
                times, known = self._times.get(name), ~np.isnan(measured)
                computed = result[name] if times is None else result.at(times, name)
                if computed.shape != measured.shape:
                    raise UsageError(f"{name!r} has shape {computed.shape}, and its measurements have {measured.shape}")
                values.append((computed - measured)[known] / self._scales[name])
                jacobians.append(result.sensitivity(name, times=times)[known] / self._scales[name])
            self._last = place.tobytes(), np.concatenate(values), np.concatenate(jacobians)
        return self._last[1:]


def _times(measured: Mapping[str, np.ndarray], stated: Any) -> dict[str, np.ndarray]:
    """Times (M,) of each history, none where output times are meant; raises UsageError."""
    if stated is None:
        return {}
    found = stated if isinstance(stated, Mapping) else dict.fromkeys(measured, stated)
    if different := ", ".join(sorted(found.keys() ^ measured.keys())):
        raise UsageError(f"times want one array for all that was measured, or one by each name; see {different}")
    return {name: np.array(times, dtype=float) for name, times in found.items()}


def _scales(measured: Mapping[str, np.ndarray], stated: Mapping[str, float]) -> dict[str, float]:
    """The scale of each history; raises UsageError."""
    if not measured:
        raise UsageError("residuals want what was measured, as {'NAME': values}")
    if others := ", ".join(stated.keys() - measured.keys()):
        raise UsageError(f"there is a scale of {others}, which was not measured")
    found = {name: float(stated.get(name, 1.0)) for name in measured}
    for name, scale in found.items():
        if not 0.0 < scale < np.inf:
            raise UsageError(f"the scale of {name!r} must be positive and finite, not {scale!r}")
    return found
