"""What a run found, as Python programs see it: objectives with gradients, histories, warnings."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.model.units import attributes_of, derivative_by
from mbsim_cli.study.record import Record

if TYPE_CHECKING:
    import xarray

SECTIONS = ("", "sensors/", "coordinates/", "multipliers/", "diagnostics/")  # where short names are looked for


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
        if parameter not in self.parameters:
            known = ", ".join(self.parameters) or "none: run with sensitivity='ddm'"
            raise UsageError(f"there is no derivative by {parameter!r}; there are {known}")
        return float(self.gradient[self.parameters.index(parameter)])


class Result(Mapping[str, np.ndarray]):
    """A mapping from names of histories to arrays, time first; and all else that a result file tells.

    ``result["r2"]`` is a sensor (N, k), ``result["coordinates/velocity"]`` any variable by its path in result files,
    ``result["sensitivity/sensors/r2"]`` its derivatives (N, k, p). Raises KeyError for another name. ``report`` is what
    ``mbsim run --json`` prints, of a file that was opened what ``mbsim inspect --json`` does.
    """

    __eq__ = object.__eq__  # arrays are not compared; a mapping would try
    __hash__ = object.__hash__

    def __init__(self, record: Record, report: Mapping[str, Any]):
        self.record, self.report = record, report

    def __getitem__(self, name: str) -> np.ndarray:
        return self.record.variable(self._path(name)).values

    def __iter__(self) -> Iterator[str]:
        return iter(self.record.paths)

    def __len__(self) -> int:
        return len(self.record.paths)

    def __contains__(self, name: object) -> bool:
        return any(f"{section}{name}" in self.record.paths for section in SECTIONS)

    def _path(self, name: str) -> str:
        for section in SECTIONS:
            if section + name in self.record.paths:
                return section + name
        meant = self._meant(name)
        raise KeyError(f"no history {name!r}" + (f"; {meant}" if meant else ""))

    def _meant(self, name: str) -> str | None:
        """Of a coordinate, or a component as objectives write it, the column; else a name that is near."""
        sensor, _, component = name.rpartition(".")
        for path, column in (("coordinates/position", name), (sensor, component)):
            for labels in self.labels(path).values() if path in self else ():
                if column in labels:
                    return f"it is column {labels.index(column)} of {path!r}"
        from mbsim_cli.spec.reading.suggestions import suggest

        return suggest(name, [path.rpartition("/")[2] for path in self.record.paths])

    def _ipython_key_completions_(self) -> list[str]:
        """What notebooks offer behind ``result[``."""
        short = (path.removeprefix(section) for path in self for section in SECTIONS[1:] if path.startswith(section))
        return [*short, *self]

    @property
    def time(self) -> np.ndarray:
        """Instants (N,), s."""
        return self["time"]

    def unit(self, name: str) -> str:
        """Unit of a history; units where its columns have different ones. Raises KeyError for another name."""
        return self.record.variable(self._path(name)).unit

    def labels(self, name: str) -> dict[str, Sequence[str]]:
        """Labels along the axes of a history, but for time."""
        return {axis: tuple(self.record.axes[axis]) for axis in self.record.variable(self._path(name)).axes[1:]}

    @property
    def objectives(self) -> dict[str, ObjectiveValue]:
        """Objectives by name."""
        by_fields = self.record.by_fields
        return {name: _objective(entry, by_fields.get(name, {})) for name, entry in self.report["objectives"].items()}

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        return list(self.report["warnings"])

    @property
    def timing(self) -> dict[str, float]:
        """Seconds that loading, compiling, solving and writing took."""
        return dict(self.report["timing"])

    def to_xarray(self) -> "xarray.DataTree":
        """The histories as a tree of labelled arrays, as ``xarray.open_datatree`` reads them from a result file.

        Raises UsageError without the package xarray.
        """
        try:
            import xarray
        except ImportError:
            raise UsageError("to_xarray needs the package xarray: pip install xarray") from None
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
        lines = [f"<mbsim result: {len(self.time)} instants, {len(self) - 1} histories>"]
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
        rows = [("value", [o.value for o in found.values()])]
        units = self.report["parameters"]
        rows += [(derivative_by(p, units[p]["unit"]), [o.by(p) for o in found.values()]) for p in parameters]
        body = "".join(
            f"<tr><th>{escape(title)}</th>{''.join(f'<td>{number:.8g}</td>' for number in numbers)}</tr>"
            for title, numbers in rows
        )
        warnings = "".join(f"<p>warning: {escape(warning)}</p>" for warning in self.warnings)
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>{warnings}"


def _objective(entry: Mapping[str, Any], by_fields: Mapping[str, np.ndarray]) -> ObjectiveValue:
    gradient = entry.get("gradient", {})
    return ObjectiveValue(
        float(entry["value"]),
        entry["unit"],
        np.array(list(gradient.values()), dtype=float),
        tuple(gradient),
        entry.get("undefined", {}),
        tuple(entry.get("flags", ())),
        by_fields,
    )
