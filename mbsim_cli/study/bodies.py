"""Flexible bodies in files of standard input data: reading either kind, and what a file holds."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mbsim_cli.errors import UsageError
from mbsim_cli.files import judged
from mbsim_cli.io import sid_file
from mbsim_cli.io.target import HDF5, is_vtk
from mbsim_cli.reduction.data import StandardInput
from mbsim_cli.reduction.identities import about_center
from mbsim_cli.reduction.shaped_mesh import ShapedMesh
from mbsim_cli.reduction.sid_reader import read_sid as read_text
from mbsim_cli.reduction.sid_writer import sid_text
from mbsim_cli.reduction.vtu import write_vtu

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
        raise UsageError(f"--length-unit wants {', '.join(UNITS)}, not '{unit}'")
    return UNITS[unit]


def is_body(path: Path) -> bool:
    """Whether a file holds a flexible body rather than a result; what is no HDF5 file is judged by its name."""
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
    said: Callable[[StandardInput], str] = lambda _: ""
    is_own: Callable[[Path], bool] = is_body


def kind_of(path: Path) -> Kind:
    """The kind that a file's name asks for; raise UsageError."""
    if path.suffix.lower() == ASCII:
        return Kind(_write_text, True, lambda sid: _OF_TEXT[bool(sid.design)])
    if path.suffix.lower() == VTU:
        return Kind(
            _write_mesh,
            False,
            lambda _: "a .vtu file shows the mesh with its shapes and fields, and nothing reads it back",
            is_vtk,
        )
    if not path.name.endswith(HDF5_NAME):
        raise UsageError(f"-o {path}: standard input data end in {HDF5_NAME} or .SID_FEM, a mesh for viewers in .vtu")
    return Kind(sid_file.write_sid, True)


def _write_text(path: Path, sid: StandardInput, facts: Mapping[str, str], mesh: ShapedMesh | None) -> None:
    path.write_text(sid_text(sid), "latin-1", errors="replace")


def _write_mesh(path: Path, sid: StandardInput, facts: Mapping[str, str], mesh: ShapedMesh | None) -> None:
    if mesh is None:
        raise UsageError("the body has no mesh that a .vtu file could show")
    write_vtu(path, mesh)


def summary(path: Path, length: float = 1.0) -> dict[str, Any]:
    """What a file of standard input data holds."""
    return described(read_body(path, length), str(path))


def described(sid: StandardInput, file: str) -> dict[str, Any]:
    """Modes, masses, nodes and doubts of a body."""
    return {
        "file": file,
        "kind": "standard input data",
        "comment": sid.comment,
        "mass": float(sid.mass.M0),
        "center_of_mass": (sid.mdCM.M0 / sid.mass.M0).tolist(),
        "inertia": about_center(sid).tolist(),
        "modes": [
            {"name": name, "frequency": frequency, "damping": ratio}
            for name, frequency, ratio in zip(_names(sid), sid.frequencies().tolist(), _ratios(sid), strict=True)
        ],
        "nodes": {node.name: node.origin.M0.tolist() for node in sid.nodes},
        "design": list(sid.design),
        "warnings": list(sid.warnings),
    }


def _names(sid: StandardInput) -> list[str]:
    return list(sid.modes) or [str(i + 1) for i in range(sid.n)]


def _ratios(sid: StandardInput) -> list[float | None]:
    """Damping ratios of the modes; None where there is no stiffness to compare with."""
    import numpy as np
    from scipy.linalg import eigh

    squares, V = eigh(sid.Ke.M0, sid.Me.M0)
    damping = np.einsum("ik,ij,jk->k", V, sid.De.M0, V)
    return [d / (2 * w**0.5) if w > 0 else None for d, w in zip(damping.tolist(), squares.tolist(), strict=True)]
