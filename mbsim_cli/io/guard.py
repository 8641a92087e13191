"""Checks that protect readers of files: plain HDF5 objects only, their sizes, the format and version of a file."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.system import NO_HANDLES, open_regular

# Requirements on any HDF5 file: plain groups of numbers and texts, of a size that the file can hold.
#
# Files may be damaged or malicious: HDF5 links may point to other files or form cycles, and a dataset may declare a
# size larger than any memory.

MOST_DEEP = 8  # levels of groups
MOST_DIMENSIONS = 4
PACKED = 1100  # largest credible compression ratio
UNPACKED = 1 << 20  # size below which the ratio is not checked, bytes
TEXTS = ("unit", "units", "method", "description", "undetermined")  # attributes
OWN_ATTRIBUTES = ("CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_Netcdf4Dimid")

Read = TypeVar("Read")


class FormatError(Exception):
    """The file violates its format."""


def open_file(path: Path) -> h5py.File:
    """Open an HDF5 file to read, with a lock where the file system has locks."""
    return h5py.File(path, "r", locking="best-effort")


def fault_in(path: Path, check: Callable[[h5py.File], object]) -> str:
    """The fault that a check finds in an untrusted file, empty for none, in another process: HDF5 may crash or loop."""
    from mbsim_cli.quarantine import fault_of

    def look(path: Path) -> None:
        with open_file(path) as file:
            check(file)

    return fault_of(path, look)


def read_checked(path: Path, read: Callable[[h5py.File], Read]) -> Read:
    """Read an untrusted file after reading it in a separate process; raises FormatError."""
    if fault := fault_in(path, read):
        raise FormatError(fault)
    with open_file(path) as file:
        return read(file)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """A context that puts ``path`` before the message of a FormatError."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def walk(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield path and dataset of all datasets of the file, each once; raises FormatError as ``items`` does."""
    return ((path, item) for path, item in items(file) if isinstance(item, h5py.Dataset))


def items(file: h5py.File) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """Yield path and item of all groups and datasets below the root; raise FormatError for links and cycles."""
    waiting: list[tuple[str, h5py.Group]] = [("", file)]
    visited = {h5py.h5o.get_info(file.id).addr}
    while waiting:
        path, group = waiting.pop()
        _require_attributes(path or "/", group)
        for name in group:
            below = path + text_of(name)
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise FormatError(f"{below}: it is a link to somewhere else, which results have none of")
            item = group[name]
            if (address := h5py.h5o.get_info(item.id).addr) in visited or below.count("/") > MOST_DEEP:
                raise FormatError(f"{below}: it stands twice, or too deep")
            visited.add(address)
            if isinstance(item, h5py.Group):
                waiting.append((f"{below}/", item))
            elif isinstance(item, h5py.Dataset):
                _require_attributes(below, item)
            else:
                raise FormatError(f"{below}: it is neither a group nor a dataset")
            yield below, item


def text_of(name: str | bytes) -> str:
    """A name or label; raises FormatError where it is not text, for HDF5 accepts any bytes."""
    if isinstance(name, bytes):
        raise FormatError(f"{ascii(name)[1:]} is no name")
    return name


def _require_attributes(path: str, item: h5py.Group | h5py.Dataset) -> None:
    for name in map(text_of, item.attrs):
        value = None if name in OWN_ATTRIBUTES else attribute(item, name)
        if name not in OWN_ATTRIBUTES and (value is None or (name in TEXTS and not isinstance(value, str))):
            raise FormatError(f"{path}: its attribute {name} is not what it should be")


def attribute(item: h5py.Group | h5py.Dataset, name: str) -> str | int | float | None:
    """An attribute that is one text or number, else None; nothing large is read."""
    if name not in item.attrs:
        return None
    found = item.attrs.get_id(name)
    if found.shape != () or not (is_text(found.dtype) or found.dtype.kind in "iuf"):
        return None
    value = item.attrs[name]
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, str | int | float) else None


def is_text(dtype: np.dtype) -> bool:
    """Whether a type of HDF5 is a string."""
    return h5py.check_string_dtype(dtype) is not None


def require_plain(dataset: h5py.Dataset, most: int = MOST_DIMENSIONS) -> None:
    """Raise FormatError unless a dataset is readable numbers or texts in this file, of at most ``most`` dimensions."""
    if dataset.external or dataset.is_virtual:
        raise FormatError("its content is in other files")
    if not (is_text(dataset.dtype) or dataset.dtype.kind in "iuf") or dataset.shape is None:
        raise FormatError("it holds neither numbers nor texts")
    if dataset.ndim > most:
        raise FormatError(f"it has {dataset.ndim} dimensions")
    stored = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize())
    chunk = math.prod(dataset.chunks) if dataset.chunks and dataset.size else 0  # HDF5 reads whole chunks
    claimed = max(dataset.size, chunk) * dataset.dtype.itemsize
    if claimed > UNPACKED + PACKED * stored:
        raise FormatError(f"it claims to be {claimed:.3g} bytes large, of which {stored} are there")
    if not dataset.shape or is_text(dataset.dtype):
        dataset[()]
    elif dataset.size:
        dataset[0], dataset[-1]  # reads the index of chunks


# Requirements on a result: the datasets of the format; each axis is as long as its list of labels.

FORMAT = "mbsim-result"
FORMAT_VERSION = 1
STUDY = "mbsim-study"  # the format of collected studies


_Kind = tuple[str, tuple[str, ...] | None]


class _Found(NamedTuple):
    """Properties of a dataset without its handle: each open handle keeps content in memory."""

    content: str  # f numbers, t texts
    shape: tuple[int, ...]
    labels: tuple[str, ...]  # one per axis, empty for an axis without label


# by paths, content of a dataset (f numbers, t texts, s one number or text) and its axes; None: any that its labels name
_RULES: tuple[tuple[str, _Kind], ...] = (
    (r"time", ("f", ("time",))),
    (r"coordinate|constraint|parameter|component|component_of_.*|scalar|bound|with_respect_to", ("t", ("",))),
    (r"coordinates/(name|unit)", ("t", ("coordinate",))),
    (r"coordinates/(position|velocity|acceleration)|torque", ("f", ("time", "coordinate"))),
    (r"multipliers/(lambda|sigma|kappa)", ("f", ("time", "constraint"))),
    (r"sensitivity/coordinates/\w+|sensitivity/torque/parameter", ("f", ("time", "coordinate", "parameter"))),
    (r"sensitivity/multipliers/\w+", ("f", ("time", "constraint", "parameter"))),
    (r"sensitivity/torque/\w+", ("f", ("time", "coordinate", "with_respect_to"))),
    (r"sensors/[^/]+", ("f", ("time", "*"))),
    (r"sensitivity/sensors/[^/]+", ("f", ("time", "*", "parameter"))),
    (r"diagnostics/[^/]+", ("f", ("time",))),
    (r"parameters/(name|unit)", ("t", ("parameter",))),
    (r"parameters/value", ("f", ("parameter",))),
    (r"parameters/bounds", ("f", ("parameter", "bound"))),
    (r"objectives/[^/]+/value", ("f", ())),
    (r"objectives/[^/]+/gradient", ("f", ("parameter",))),
    (r"objectives/[^/]+/undefined", ("t", ("parameter",))),
    (r"objectives/[^/]+/flags", ("t", ("",))),
    (r"units/.*", ("t", None)),
    (r"meta/warnings", ("t", ("",))),
    (r"meta/model_(file|yaml)|meta/included/.*|meta/discretisation/(worst|reason|gradients)", ("t", ())),
    (r"meta/(timing|work)/[^/]+|meta/discretisation/(motion|second_step|accuracy|error|runs)", ("f", ())),
    (r"meta/.*", ("s", ())),
)
_GROUPS = re.compile(
    r"coordinates|multipliers|sensors|sensitivity(/(coordinates|multipliers|sensors|torque))?|diagnostics|parameters"
    r"|objectives(/[^/]+)?|meta(/(included|parameters|options|platform|timing|work|discretisation))?|units"
)
_REQUIRED_BY = {  # prefix of a path: datasets that a file must have if any dataset has this prefix
    "": ("time", "meta/model_file", "meta/model_yaml"),
    "coordinates/": tuple(f"coordinates/{name}" for name in ("name", "unit", "position", "velocity", "acceleration")),
    "parameters/": tuple(f"parameters/{name}" for name in ("name", "unit", "value", "bounds")),
    "meta/discretisation/worst": ("meta/discretisation/motion",),
}
_ALL_OR_NONE = ("value", "gradient")  # datasets that either all objectives have, or none


def require_format(file: h5py.File, kind: str) -> None:
    """Raise FormatError where the file is of another format."""
    if attribute(file, "format") != kind:
        raise FormatError("it is an HDF5 file of another kind")


def require_origin(file: h5py.File) -> None:
    """Raise FormatError unless the attributes of the file declare a result in this version of the format."""
    if (kind := attribute(file, "format")) != FORMAT:
        known = "the collected study of mbsim sweep, which mbsim plot, xarray and h5py read"
        raise FormatError(f"it is {known if kind == STUDY else 'an HDF5 file of another kind'}")
    version = attribute(file, "format_version")
    if version != FORMAT_VERSION:
        raise FormatError(f"it is of version {version} of the format, and this mbsim reads version {FORMAT_VERSION}")
    for name in ("status", "created", "command", "mbsim_version", "model_sha256"):
        if not isinstance(attribute(file, name), str):
            raise FormatError(f"its attribute {name} is missing or no text")


def require_result(file: h5py.File) -> None:
    """Raise FormatError unless the file is a result that conforms to the format."""
    require_origin(file)
    datasets: dict[str, _Found] = {}
    for path, item in items(file):
        with naming(path):
            is_group, wanted = isinstance(item, h5py.Group), _GROUPS.fullmatch(path) is not None
            if wanted and not is_group:
                raise FormatError("it is no group")
            if is_group and not wanted and not path.startswith("units/") and _kind_of(path) is not None:
                raise FormatError("it is a group, and no numbers or texts")
            if not is_group:
                require_plain(item)
                labels = tuple(text_of(dimension.label) for dimension in item.dims)
                datasets[path] = _Found("t" if is_text(item.dtype) else "f", item.shape, labels)
    _require_complete(datasets)
    for path, found in datasets.items():
        with naming(path):
            _require_axes(path, found, datasets)
    time = file["time"][()]
    if not np.isfinite(time).all() or (np.diff(time) < 0.0).any():
        raise FormatError("its times do not increase")


def _kind_of(path: str) -> _Kind | None:
    """The kind that the format requires of the dataset at a path; None for paths that the format does not list."""
    return next((kind for pattern, kind in _RULES if re.fullmatch(pattern, path)), None)


def _require_axes(path: str, found: _Found, datasets: dict[str, _Found]) -> None:
    """Raise FormatError unless a dataset has the content and the axes of its kind, each as long as its labels."""
    content, axes = _kind_of(path) or ("", None)
    wanted = found.labels if axes is None else axes
    if content == "f" and found.content != "f":
        raise FormatError("it holds no numbers")
    if content == "t" and found.content != "t":
        raise FormatError("it holds no texts")
    if len(found.shape) != len(wanted):
        raise FormatError(f"it has {len(found.shape)} dimensions, not {len(wanted)}")
    for axis, label, size in zip(wanted, found.labels, found.shape, strict=True):
        name = label if axis == "*" else axis
        if axis == "*" and not (name in datasets and datasets[name].content == "t"):
            raise FormatError(f"the axis {name!r} that it names is not there")
        if name and (name not in datasets or datasets[name].shape != (size,)):
            raise FormatError(f"it is {size} long where the axis {name} is not")
    if path.startswith("units/"):  # along the axes of the dataset whose units these are, except time
        of = datasets.get(path.removeprefix("units/"))
        along = () if of is None else tuple(label for label in of.labels if label != "time")
        if not set(found.labels) <= set(along) or (len(along) == 1 and found.labels != along):
            raise FormatError("its axes are not those of what it gives units of")


def _require_complete(datasets: dict[str, _Found]) -> None:
    """Raise FormatError where a dataset is missing that another one requires."""
    for first, names in _REQUIRED_BY.items():
        missing = [name for name in names if name not in datasets]
        if missing and any(path.startswith(first) for path in ("", *datasets)):
            raise FormatError(f"{missing[0]} is missing")
    objectives = sorted({path.split("/")[1] for path in datasets if path.startswith("objectives/")})
    for name in _ALL_OR_NONE:
        missing = [path for path in (f"objectives/{each}/{name}" for each in objectives) if path not in datasets]
        if 0 < len(missing) < len(objectives):
            raise FormatError(f"{missing[0]} is missing")


# Exceptions of h5py for damaged content; no others occur once the checks of the format have passed.
DAMAGED = (OSError, KeyError, RuntimeError, ValueError, TypeError, MemoryError, FormatError)


def opened(path: Path, checked: bool = False) -> AbstractContextManager[h5py.File]:
    """Open a result that is ``checked``, or check it; raise InputOutputError where it is no result, or damaged."""
    return looked_at(path, None if checked else require_result, "is not an mbsim result")


@contextmanager
def looked_at(path: Path, check: Callable[[h5py.File], None] | None, complaint: str) -> Iterator[h5py.File]:
    """Open an untrusted file that passes a ``check``; raise InputOutputError with a ``complaint`` where it does not."""
    try:
        open_regular(path).close()
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:  # the file system refuses; ValueError: a name with a null character
        raise InputOutputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        if not h5py.is_hdf5(path):
            hint = "; `mbsim run` makes results of model files" if path.suffix in (".yaml", ".yml") else ""
            raise FormatError(f"it is no HDF5 file{hint}")
        if check and (fault := fault_in(path, check)):
            raise FormatError(fault)
        with open_file(path) as file:
            yield file
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno in NO_HANDLES:
            raise InputOutputError(f"cannot read {path}: Too many open files") from error
        raise InputOutputError(f"{path} {complaint}, or is damaged: {message_of(error)}") from error


def message_of(error: BaseException) -> str:
    """The message of an exception of h5py, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
