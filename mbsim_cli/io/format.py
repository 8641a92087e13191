"""What a plain file must be to be read as a result: the datasets of the format, with axes as long as their labels."""

import re
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.plain import FormatError, attribute, is_text, items, naming, require_plain, text_of

FORMAT = "mbsim-result"
FORMAT_VERSION = 1
STUDY = "mbsim-study"  # the format of collected studies


class _Kind(NamedTuple):
    """What a dataset must be: f numbers, t texts, s one number or text; axes None: those that its labels name."""

    content: str
    axes: tuple[str, ...] | None = None


class _Found(NamedTuple):
    """What a dataset is. Many thousands that stay open would each keep a part of their content in memory."""

    content: str  # f numbers, t texts
    shape: tuple[int, ...]
    labels: tuple[str, ...]  # one an axis, empty where it has none


_NAMED = (
    (r"time", _Kind("f", ("time",))),
    (r"coordinate|constraint|parameter|component|component_of_.*|scalar|bound|with_respect_to", _Kind("t", ("",))),
    (r"coordinates/(name|unit)", _Kind("t", ("coordinate",))),
    (r"coordinates/(position|velocity|acceleration)|torque", _Kind("f", ("time", "coordinate"))),
    (r"multipliers/(lambda|sigma|kappa)", _Kind("f", ("time", "constraint"))),
    (r"sensitivity/coordinates/\w+|sensitivity/torque/parameter", _Kind("f", ("time", "coordinate", "parameter"))),
    (r"sensitivity/multipliers/\w+", _Kind("f", ("time", "constraint", "parameter"))),
    (r"sensitivity/torque/\w+", _Kind("f", ("time", "coordinate", "with_respect_to"))),
    (r"sensors/[^/]+", _Kind("f", ("time", "*"))),
    (r"sensitivity/sensors/[^/]+", _Kind("f", ("time", "*", "parameter"))),
    (r"diagnostics/[^/]+", _Kind("f", ("time",))),
    (r"parameters/(name|unit)", _Kind("t", ("parameter",))),
    (r"parameters/value", _Kind("f", ("parameter",))),
    (r"parameters/bounds", _Kind("f", ("parameter", "bound"))),
    (r"objectives/[^/]+/value", _Kind("f", ())),
    (r"objectives/[^/]+/gradient", _Kind("f", ("parameter",))),
    (r"objectives/[^/]+/undefined", _Kind("t", ("parameter",))),
    (r"objectives/[^/]+/flags", _Kind("t", ("",))),
    (r"units/.*", _Kind("t")),
    (r"meta/warnings", _Kind("t", ("",))),
    (r"meta/model_(file|yaml)|meta/included/.*|meta/discretisation/(worst|reason|gradients)", _Kind("t", ())),
    (r"meta/(timing|work)/[^/]+|meta/discretisation/(motion|second_step|accuracy|error|runs)", _Kind("f", ())),
    (r"meta/.*", _Kind("s", ())),
)
_RULES = tuple((re.compile(pattern), kind) for pattern, kind in _NAMED)
_GROUPS = re.compile(
    r"coordinates|multipliers|sensors|sensitivity(/(coordinates|multipliers|sensors|torque))?|diagnostics|parameters"
    r"|objectives(/[^/]+)?|meta(/(included|parameters|options|platform|timing|work|discretisation))?|units"
)
_TOGETHER = {  # what has to be there, where anything is whose path begins so
    "": ("time", "meta/model_yaml"),
    "coordinates/": tuple(f"coordinates/{name}" for name in ("name", "unit", "position", "velocity", "acceleration")),
    "parameters/": tuple(f"parameters/{name}" for name in ("name", "unit", "value")),
    "meta/discretisation/worst": ("meta/discretisation/motion",),
}
_ALIKE = ("value", "gradient")  # of objectives: all have them, or none


def require_result(file: h5py.File) -> None:
    """Raise FormatError where the file is no result, or one that cannot be read as the format says."""
    if (kind := attribute(file, "format")) != FORMAT:
        known = "the collected study of mbsim sweep, which mbsim plot, xarray and h5py read"
        raise FormatError(f"it is {known if kind == STUDY else 'an HDF5 file of another kind'}")
    version = attribute(file, "format_version")
    if version != FORMAT_VERSION:
        raise FormatError(f"it is of version {version} of the format, and this mbsim reads version {FORMAT_VERSION}")
    for name in ("status", "created", "command", "mbsim_version", "model_sha256"):
        if not isinstance(attribute(file, name), str):
            raise FormatError(f"its attribute {name} is missing or no text")
    datasets: dict[str, _Found] = {}
    for path, item in items(file):
        with naming(path):
            _require_place(path, item)
            if isinstance(item, h5py.Dataset):
                datasets[path] = _found(item)
    _require_together(datasets)
    for path, found in datasets.items():
        with naming(path):
            _require_axes(path, found, datasets)
    time = file["time"][()]
    if not np.isfinite(time).all() or (np.diff(time) < 0.0).any():
        raise FormatError("its times do not increase")


def _require_place(path: str, item: h5py.Group | h5py.Dataset) -> None:
    """Groups where groups belong, and none where numbers or texts do."""
    is_group, wanted = isinstance(item, h5py.Group), _GROUPS.fullmatch(path) is not None
    if wanted and not is_group:
        raise FormatError("it is no group")
    if is_group and not wanted and not path.startswith("units/") and _kind_of(path) is not None:
        raise FormatError("it is a group, and no numbers or texts")


def _kind_of(path: str) -> _Kind | None:
    """What a dataset must be by its path; None where the format says nothing of it."""
    return next((kind for pattern, kind in _RULES if pattern.fullmatch(path)), None)


def _found(dataset: h5py.Dataset) -> _Found:
    """What a dataset is; raise FormatError where it is hostile."""
    require_plain(dataset)
    labels = tuple(text_of(dimension.label) for dimension in dataset.dims)
    return _Found("t" if is_text(dataset.dtype) else "f", dataset.shape, labels)


def _require_axes(path: str, found: _Found, datasets: dict[str, _Found]) -> None:
    """The axes of the format, or those that the labels name, as long as these."""
    kind = _kind_of(path) or _Kind("")
    wanted = found.labels if kind.axes is None else kind.axes
    if kind.content == "f" and found.content != "f":
        raise FormatError("it holds no numbers")
    if kind.content == "t" and found.content != "t":
        raise FormatError("it holds no texts")
    if len(found.shape) != len(wanted):
        raise FormatError(f"it has {len(found.shape)} dimensions, not {len(wanted)}")
    for axis, label, size in zip(wanted, found.labels, found.shape, strict=True):
        name = label if axis == "*" else axis
        if axis == "*" and not (name in datasets and datasets[name].content == "t"):
            raise FormatError(f"the axis {name!r} that it names is not there")
        if name and (name not in datasets or datasets[name].shape != (size,)):
            raise FormatError(f"it is {size} long where the axis {name} is not")
    if path.startswith("units/"):
        _require_units(found.labels, datasets.get(path.removeprefix("units/")))


def _require_units(labels: tuple[str, ...], of: _Found | None) -> None:
    """Units run along axes of what they are the units of, but not along time."""
    axes = () if of is None else tuple(label for label in of.labels if label != "time")
    if not set(labels) <= set(axes) or (len(axes) == 1 and labels != axes):
        raise FormatError("its axes are not those of what it gives units of")


def _require_together(datasets: dict[str, _Found]) -> None:
    """Raise where something is missing that belongs to what is there."""
    for first, names in _TOGETHER.items():
        missing = [name for name in names if name not in datasets]
        if missing and any(path.startswith(first) for path in ("", *datasets)):
            raise FormatError(f"{missing[0]} is missing")
    objectives = sorted({path.split("/")[1] for path in datasets if path.startswith("objectives/")})
    for name in _ALIKE:
        missing = [path for path in (f"objectives/{each}/{name}" for each in objectives) if path not in datasets]
        if 0 < len(missing) < len(objectives):
            raise FormatError(f"{missing[0]} is missing")
