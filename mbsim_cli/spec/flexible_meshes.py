"""Meshes of flexible bodies: plates, solids and beams of our own, and mesh files."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Annotated, Literal

from pydantic import Field

from mbsim_cli.spec.base import Spec, Vector, by_type, field, fixed_list
from mbsim_cli.spec.expressions.number import Number

Count = Annotated[int, Field(ge=1, le=1_000_000)]


class RectangleMesh(Spec):
    """A rectangular plate in the plane z = 0, in plane stress."""

    type: Literal["rectangle"] = field("A plate of bilinear quadrilaterals.", "rectangle")
    size: fixed_list(Number, 2) = field("Lengths along x and y [m].", [0.4, 0.08])
    origin: fixed_list(Number, 2) = field(
        "Corner of least x and y [m].", [0, -0.04], default=[0.0, 0.0], validate_default=True
    )
    thickness: Number = field("Thickness along z [m].", 0.01)
    elements: fixed_list(Count, 2) = field("Numbers of elements along x and y.", [20, 4])


class BrickMesh(Spec):
    """A cuboid."""

    type: Literal["brick"] = field("A solid of trilinear hexahedra.", "brick")
    size: fixed_list(Number, 3) = field("Lengths along x, y and z [m].", [1, 0.1, 0.1])
    origin: fixed_list(Number, 3) = field(
        "Corner of least x, y and z [m].", [0, -0.05, -0.05], default=[0.0, 0.0, 0.0], validate_default=True
    )
    elements: fixed_list(Count, 3) = field("Numbers of elements along x, y and z.", [20, 2, 2])


class RectangularSection(Spec):
    """A rectangle."""

    type: Literal["rectangle"] = field("A full rectangle.", "rectangle")
    size: fixed_list(Number, 2) = field("Sizes along y and z [m].", [0.02, 0.01])


class CircularSection(Spec):
    """A circle or a ring."""

    type: Literal["circle"] = field("A circle, or a ring.", "circle")
    radius: Number = field("Outer radius [m].", 0.01)
    inner_radius: Number = field("Inner radius [m].", 0.008, default=Number(0.0))


class SectionProperties(Spec):
    """A section by its properties."""

    type: Literal["properties"] = field("A section by its properties.", "properties")
    area: Number = field("Area [m^2].", 1e-4)
    second_moment_y: Number = field("Second moment of area about y, for bending along z [m^4].", 8e-10)
    second_moment_z: Number = field("Second moment of area about z, for bending along y [m^4].", 8e-10)
    torsion: Number = field("Torsion constant [m^4].", 1.4e-9)


class BeamMesh(Spec):
    """A straight beam along x, slender: no shear deformation."""

    type: Literal["beam"] = field("A beam of Euler-Bernoulli elements along x.", "beam")
    length: Number = field("Length [m].", "L")
    origin: Vector = field("The end of least x [m].", [0, 0, 0], default=[0.0, 0.0, 0.0], validate_default=True)
    section: by_type(RectangularSection, CircularSection, SectionProperties) = field(
        "Cross-section.", {"type": "rectangle", "size": [0.02, 0.01]}
    )
    elements: Count = field("Number of elements.", 20)
    planar: bool = field("Whether the beam moves in the plane z = 0 only.", True, default=False)


class MeshFile(Spec):
    """A mesh in a file that meshio reads (extra fem)."""

    type: Literal["file"] = field("A mesh from a file.", "file")
    file: str = field("Mesh file, relative to the model file.", "crank.msh")
    scale: Number = field("Length of the file's unit [m].", 0.001, default=Number(1.0))
    thickness: Number | None = field("Thickness along z of a plane mesh [m].", 0.01, default=None)


class Matrices(Spec):
    """A body without elements: its matrices, by another program."""

    type: Literal["matrices"] = field("Stiffness and mass matrices from files.", "matrices")
    stiffness: str = field("Stiffness matrix, Matrix Market or entries by Abaqus.", "crank_stif.mtx")
    mass: str = field("Mass matrix, Matrix Market or entries by Abaqus.", "crank_mass.mtx")
    nodes: str = field("CSV file with columns node, x, y, z [m], in the order of the matrices.", "nodes.csv")


FlexibleMesh = by_type(RectangleMesh, BrickMesh, BeamMesh, MeshFile, Matrices)
