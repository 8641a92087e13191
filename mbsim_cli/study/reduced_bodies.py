"""Flexible bodies of standard input data: read from files, supplied to the assembly, or reduced from meshes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.elastic import Supplied
from mbsim_cli.assembly.tree.reduction_input import FlexibleBodies, damping_of, refused_at
from mbsim_cli.errors import InputOutputError, ModelError, UsageError
from mbsim_cli.io import sid_file
from mbsim_cli.io.tables import read_numbers, read_table
from mbsim_cli.io.target import HDF5, is_vtk
from mbsim_cli.model.layout import STEP
from mbsim_cli.reduction.data import Refused, StandardInput, Taylor, combined, selected, tangent
from mbsim_cli.reduction.matrices import read_matrix
from mbsim_cli.reduction.mesh import read_mesh, write_vtu
from mbsim_cli.reduction.reduce import Damping, ShapedMesh, derivative, reduced, shaped_mesh
from mbsim_cli.reduction.sid_reader import about_center, faults, warnings_of
from mbsim_cli.reduction.sid_reader import read_sid as read_text
from mbsim_cli.reduction.sid_text import sid_text
from mbsim_cli.spec.base import references
from mbsim_cli.spec.flexible import FlexibleFile, FlexibleTerms
from mbsim_cli.spec.model_file import ModelFile, descriptions_of
from mbsim_cli.spec.reading.messages import suggest
from mbsim_cli.spec.reading.source import join
from mbsim_cli.system import judged

ASCII = ".sid_fem"
HDF5_NAME = ".sid.h5"
VTU = ".vtu"
_OF_TEXT = {
    True: "few programs read derivatives in a .SID_FEM file; --no-derivatives leaves them out",
    False: "a .SID_FEM file without derivatives has no place for inertia of second order",
}
UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254}  # of length, in metres


def metres(unit: str) -> float:
    """Length of the unit that ``--length-unit`` names; raise UsageError for one that is not known."""
    if unit not in UNITS:
        raise UsageError(f"--length-unit must be {', '.join(UNITS)}, not '{unit}'")
    return UNITS[unit]


def is_body(path: Path) -> bool:
    """Whether a file holds a flexible body rather than a result; the name of a file other than HDF5 decides."""
    if judged(path, lambda file: file.read(8) == HDF5):
        return sid_file.is_sid(path)
    return path.suffix.lower() == ASCII


def read_body(path: Path, length: float = 1.0) -> StandardInput:
    """Read standard input data, HDF5 in SI units, or ASCII with a unit of ``length`` metres; raise InputOutputError."""
    if path.suffix.lower() == ASCII:
        return read_text(path, length)
    if length != 1.0:
        raise UsageError(f"{path} is in metres, as all .sid.h5 files; leave out the unit of length")
    return sid_file.read_sid(path)


class Kind(NamedTuple):
    """A kind of file that a body is written to, and what is to be known of one."""

    write: Callable[[Path, StandardInput, Mapping[str, str], ShapedMesh | None], None]
    keeps_derivatives: bool
    warning: Callable[[StandardInput], str] = lambda _: ""
    is_own: Callable[[Path], bool] = is_body


def kind_of(path: Path) -> Kind:
    """The kind that a file's name asks for; raise UsageError."""
    if path.suffix.lower() == ASCII:
        return Kind(_write_text, True, lambda sid: _OF_TEXT[bool(sid.design)])
    if path.suffix.lower() == VTU:
        warning = "a .vtu file shows the mesh with its shapes and fields, and nothing reads it back"
        return Kind(_write_mesh, False, lambda _: warning, is_vtk)
    if not path.name.endswith(HDF5_NAME):
        raise UsageError(f"-o {path}: standard input data end in {HDF5_NAME} or .SID_FEM, a mesh for viewers in .vtu")
    return Kind(sid_file.write_sid, True)


def _write_text(path: Path, sid: StandardInput, facts: Mapping[str, str], mesh: ShapedMesh | None) -> None:
    path.write_text(sid_text(sid), "latin-1", errors="replace")


def _write_mesh(path: Path, sid: StandardInput, facts: Mapping[str, str], mesh: ShapedMesh | None) -> None:
    if mesh is None:
        raise UsageError("the body has no mesh that a .vtu file could show")
    vectors = {f"shape {i + 1}": shape for i, shape in enumerate(mesh.shapes)}
    write_vtu(path, mesh, mesh.points, vectors, mesh.fields)


def described(sid: StandardInput, file: str) -> dict[str, Any]:
    """Modes, masses, nodes and warnings of a body; without stiffness a mode has no damping ratio."""
    from scipy.linalg import eigh

    names = list(sid.modes) or [str(i + 1) for i in range(sid.n)]
    squares, V = eigh(sid.Ke.M0, sid.Me.M0)
    damping = np.einsum("ik,ij,jk->k", V, sid.De.M0, V)
    ratios = [d / (2 * w**0.5) if w > 0 else None for d, w in zip(damping.tolist(), squares.tolist(), strict=True)]
    return {
        "file": file,
        "kind": "standard input data",
        "comment": sid.comment,
        "mass": float(sid.mass.M0),
        "center_of_mass": (sid.mdCM.M0 / sid.mass.M0).tolist(),
        "inertia": about_center(sid).tolist(),
        "modes": [
            {"name": name, "frequency": frequency, "damping": ratio}
            for name, frequency, ratio in zip(names, sid.frequencies().tolist(), ratios, strict=True)
        ],
        "nodes": {node.name: node.origin.M0.tolist() for node in sid.nodes},
        "design": list(sid.design),
        "warnings": list(sid.warnings),
    }


def supplied_by_file(model_file: ModelFile, name: str, numbers: Numbers) -> Supplied:
    """Data of a body as the file has them, moved along its design variables, with the damping that the model states."""
    spec, place = model_file.bodies[name].flexible, f"bodies.{name}.flexible"
    assert isinstance(spec, FlexibleFile)
    given = _chosen(model_file, spec, place)
    if unknown := [key for key in spec.design if key not in given.design]:
        hint = suggest(unknown[0], given.design) or "mbsim reduce writes derivatives by the parameters of a model"
        message = f"the file has no derivatives by {unknown[0]!r}"
        raise ModelError([model_file.issue(f"{place}.design.{unknown[0]}", message, hint)])

    def current() -> StandardInput:
        sid = _moved(given, {key: numbers(change) for key, change in spec.design.items()})
        if spec.damping is None:
            return sid
        return replace(sid, De=Taylor(damping_of(spec.damping, numbers).matrix(sid.Me.M0, sid.Ke.M0)))

    real = current().map(lambda _, term: term.map(np.real))
    sid = replace(real, design=_unmoved(given, spec, numbers))
    for _, message in faults(sid):
        raise ModelError([model_file.issue(f"{place}.design", f"too far from where the data were made: {message}")])
    directions = tuple(given.design[key] for key in spec.design)
    return Supplied(sid, lambda: tangent(current(), STEP), directions=directions)


def _chosen(model_file: ModelFile, spec: FlexibleFile, place: str) -> StandardInput:
    """The file's data, of the modes that are kept."""
    try:
        sid = read_body(model_file.source.file_at(f"{place}.sid", spec.sid), UNITS[spec.length_unit])
    except UsageError as error:
        raise ModelError([model_file.issue(f"{place}.length_unit", str(error))]) from error
    except InputOutputError as error:
        raise ModelError([model_file.issue(f"{place}.sid", str(error))]) from error
    if spec.modes is None:
        return sid
    if max(spec.modes) > sid.n:
        message = f"mode {max(spec.modes)} is asked for, of a file that has {sid.n}"
        raise ModelError([model_file.issue(f"{place}.modes", message)])
    return selected(sid, [mode - 1 for mode in spec.modes])


def _moved(given: StandardInput, changes: Mapping[str, Any]) -> StandardInput:
    """The data where design variables are elsewhere: linear, as their derivatives are all that is known."""
    sid = given
    for key, change in changes.items():
        sid = combined(sid, given.design[key], change)
    far = [f"design variable {key!r} is {c.real:g} from where the data were made; they go linearly with it"
           for key, c in changes.items() if c.real]  # fmt: skip
    return replace(sid, warnings=(*given.warnings, *far))


def _unmoved(given: StandardInput, spec: FlexibleFile, numbers: Numbers) -> dict[str, StandardInput]:
    """Derivatives by design variables that no number of the model moves; of De where the damping takes its place."""
    unmoved = {key: along for key, along in given.design.items() if key not in spec.design}
    if spec.damping is None:
        return unmoved
    at = _moved(given, {key: np.real(numbers(change)) for key, change in spec.design.items()})
    real = Damping(*map(np.real, damping_of(spec.damping, numbers)))
    for key, along in unmoved.items():
        De = real.matrix(at.Me.M0 + 1j * STEP * along.Me.M0, at.Ke.M0 + 1j * STEP * along.Ke.M0)
        unmoved[key] = replace(along, De=Taylor(np.imag(De) / STEP))
    return unmoved


def flexible_bodies(model_file: ModelFile) -> list[str]:
    """Names of the bodies that deform."""
    return [name for name, body in model_file.bodies.items() if body.flexible is not None]


def files_of(model_file: ModelFile) -> list[Path]:
    """Files that the flexible bodies and their fields come from."""
    bodies = {name: {"flexible": model_file.bodies[name].flexible} for name in flexible_bodies(model_file)}
    named = references({"fields": model_file.fields, "bodies": bodies})
    return [model_file.source.file_at(found.path, found.name) for found in named if found.kind == "file"]


def descriptions(model_file: ModelFile) -> dict[str, str]:
    """Free texts of the file by what they describe."""
    return {join(path): text for path, text in descriptions_of(model_file)}


def comment_of(model_file: ModelFile, name: str) -> str:
    """The origin that standard input data state: model and body."""
    model = " ".join(model_file.name.split())
    return f"{name} of {model}" if model else name


def standard_input(model_file: ModelFile, name: str, numbers: Numbers) -> Supplied:
    """Standard input data of a body, and what gives their derivatives."""
    kinds: dict[Any, Any] = {FlexibleFile: supplied_by_file, FlexibleTerms: _by_number}
    return kinds.get(type(model_file.bodies[name].flexible), _meshed)(model_file, name, numbers)


def reduce_with_mesh(model_file: ModelFile, name: str, derivatives: bool) -> tuple[StandardInput, ShapedMesh | None]:
    """Standard input data of a body, with ``derivatives`` by the file's parameters or none, and its mesh, if any."""
    numbers = Numbers(model_file.expressions)
    sid, along, _, mesh, *_ = standard_input(model_file, name, numbers)
    if not derivatives:
        return replace(sid, design={}), mesh()
    design: dict[str, StandardInput] = dict(sid.design)
    for parameter in model_file.parameters:
        if numbers.step_along(parameter):
            found = along()
            label = model_file.parameter_label(parameter)
            design[label] = combined(design[label], found) if label in design else found
    numbers.step_along(None)
    return replace(sid, design=design), mesh()


def _meshed(model_file: ModelFile, name: str, numbers: Numbers) -> Supplied:
    bodies = FlexibleBodies(model_file, numbers, _Files())
    place = f"bodies.{name}.flexible"
    found = refused_at(model_file, place, lambda: reduced(bodies.body(name)))
    return Supplied(
        replace(found.sid, comment=comment_of(model_file, name)),
        lambda: refused_at(model_file, place, lambda: derivative(found, bodies.body(name), STEP)),
        lambda adjoint: refused_at(model_file, place, lambda: bodies.by_field(name, found, adjoint)),
        lambda: shaped_mesh(found, bodies.drawn(name, found.body.structure.mesh)),
        lambda parameters: bodies.share(name, found, parameters),
        modal=True,
    )


def _by_number(model_file: ModelFile, name: str, numbers: Numbers) -> Supplied:
    bodies, place = FlexibleBodies(model_file, numbers, _Files()), f"bodies.{name}.flexible"

    def checked() -> StandardInput:
        sid = bodies.by_number(name)
        for term, message in faults(sid):
            raise ModelError([model_file.issue(f"{place}.terms.{term}", message)])
        return replace(sid, comment=comment_of(model_file, name), warnings=tuple(warnings_of(sid)))

    return Supplied(refused_at(model_file, place, checked), lambda: tangent(bodies.by_number(name), STEP))


class _Files:
    """Reads the files that a body names."""

    def mesh(self, path: Path) -> Any:
        """A mesh file."""
        with _at("file"):
            return read_mesh(path)

    def matrix(self, path: Path, labels: np.ndarray, key: str) -> Any:
        """A matrix."""
        with _at(key):
            return read_matrix(path, labels)

    def nodes(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Labels (N) and places (N, 3) of nodes."""
        with _at("nodes"):
            table = read_table(path)
            if missing := [name for name in ("node", "x", "y", "z") if name not in table]:
                raise InputOutputError(f"{path} has no column {missing[0]}")
            return table["node"].astype(int), np.stack([table[axis] for axis in "xyz"], 1)

    def numbers(self, path: Path, dataset: str) -> np.ndarray:
        """Numbers (n) of a dataset."""
        return read_numbers(path, dataset)


@contextmanager
def _at(key: str) -> Iterator[None]:
    try:
        yield
    except InputOutputError as error:
        raise Refused(("mesh", key), str(error)) from error
