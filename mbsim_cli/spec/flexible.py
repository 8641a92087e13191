"""Flexible bodies: materials, meshes, standard input data, and fields of one number an element for their densities."""

from typing import Annotated, Any, Literal

from pydantic import Field as Limits

from mbsim_cli.spec.base import ByKey, ByKind, ByType, Described, Spec, field, named, optional
from mbsim_cli.spec.expressions.number import (
    Many,
    Matrix,
    NotNegative,
    Number,
    Pair,
    PlainFormula,
    Positive,
    Sign,
    Some,
    Vector,
    length,
)


class Material(Described):
    """A linear elastic material, the same in all directions."""

    youngs_modulus: Positive = field("Young's modulus [Pa].", 2.1e11)
    poisson_ratio: Number = field("Poisson's ratio.", 0.3)
    density: Positive = field("Density [kg/m^3].", 7850)


class Filter(Spec):
    """Averages over neighbours, with weights that fall linearly to zero."""

    radius: Positive = field("Distance of centres beyond which an element counts no more [m].", 0.0075)


class Field(Described):
    """Numbers of elements: an expression, or a dataset of a file."""

    value: PlainFormula | None = optional("Number of an element, of its centre's x, y and z [m].", 0.5, "0.7 + x/2")
    file: named.File | None = optional("HDF5 file with a number for each element.", "rho.h5")
    dataset: named.Text | None = optional("Dataset of the file; default the field's name.", "fields/rho")
    bounds: Pair[Number] | None = optional("Lower and upper limit.", [0.01, 1])
    filter: Filter | None = optional("Filter.", {"radius": 0.0075})


class SimpLaw(Spec):
    """Stiffness and mass by powers of a density p: E p^s; rho p, below a threshold rho c p^q."""

    penalty: Positive = field("Exponent s of the stiffness.", 3, default=3.0)
    threshold: Positive = field("Density below which mass falls faster.", 0.1, default=0.1)
    factor: Positive = field("Factor c below the threshold.", 1e5, default=1e5)
    exponent: Positive = field("Exponent q below the threshold.", 6, default=6.0)


class Density(Spec):
    """Density of a body's elements, relative to its material."""

    name: named.Field = field("Field of the densities.", "rho", alias="field")
    law: SimpLaw = field("Stiffness and mass as functions of the density.", {"penalty": 3}, default_factory=SimpLaw)


# Meshes of flexible bodies: plates, solids and beams of our own, and mesh files.


Count = Annotated[int, Limits(ge=1, le=1_000_000)]


class RectangleMesh(Spec):
    """A rectangular plate in the plane z = 0, in plane stress."""

    type: Literal["rectangle"] = field("A plate of bilinear quadrilaterals.", "rectangle")
    size: Pair[Positive] = field("Lengths along x and y [m].", [0.4, 0.08])
    origin: Pair[Number] = field("Corner of least x and y [m].", [0, -0.04], default=[0.0, 0.0])
    thickness: Positive = field("Thickness along z [m].", 0.01)
    elements: Pair[Count] = field("Numbers of elements along x and y.", [20, 4])


class BrickMesh(Spec):
    """A cuboid."""

    type: Literal["brick"] = field("A solid of trilinear hexahedra.", "brick")
    size: Annotated[Vector, Sign.POSITIVE] = field("Lengths along x, y and z [m].", [1, 0.1, 0.1])
    origin: Vector = field("Corner of least x, y and z [m].", [0, -0.05, -0.05], default=[0.0, 0.0, 0.0])
    elements: Annotated[tuple[Count, ...], length(3)] = field("Numbers of elements along x, y and z.", [20, 2, 2])


class RectangularSection(Spec):
    """A rectangle."""

    type: Literal["rectangle"] = field("A full rectangle.", "rectangle")
    size: Pair[Positive] = field("Sizes along y and z [m].", [0.02, 0.01])


class CircularSection(Spec):
    """A circle or a ring."""

    type: Literal["circle"] = field("A circle, or a ring.", "circle")
    radius: Positive = field("Outer radius [m].", 0.01)
    inner_radius: NotNegative = field("Inner radius [m].", 0.008, default=0.0)


class SectionProperties(Spec):
    """A section by its properties."""

    type: Literal["properties"] = field("A section by its properties.", "properties")
    area: Positive = field("Area [m^2].", 1e-4)
    second_moment_y: Positive = field("Second moment of area about y, for bending along z [m^4].", 8e-10)
    second_moment_z: Positive = field("Second moment of area about z, for bending along y [m^4].", 8e-10)
    torsion: Positive = field("Torsion constant [m^4].", 1.4e-9)


class BeamMesh(Spec):
    """A straight beam along x, slender: no shear deformation."""

    type: Literal["beam"] = field("A beam of Euler-Bernoulli elements along x.", "beam")
    length: Positive = field("Length [m].", "L")
    origin: Vector = field("The end of least x [m].", [0, 0, 0], default=[0.0, 0.0, 0.0])
    section: Annotated[RectangularSection | CircularSection | SectionProperties, ByType()] = field(
        "Cross-section.", {"type": "rectangle", "size": [0.02, 0.01]}
    )
    elements: Count = field("Number of elements.", 20)
    planar: bool = field("Whether the beam moves in the plane z = 0 only.", True, default=False)


class MeshFile(Spec):
    """A mesh in a file that meshio reads (extra fem)."""

    type: Literal["file"] = field("A mesh from a file.", "file")
    file: named.File = field("Mesh file, relative to the model file.", "crank.msh")
    scale: Positive = field("Length of the file's unit [m].", 0.001, default=1.0)
    thickness: Positive | None = optional("Thickness along z of a plane mesh [m].", 0.01)


class Matrices(Spec):
    """A body by its stiffness and mass matrices from another program."""

    type: Literal["matrices"] = field("Stiffness and mass matrices from files.", "matrices")
    stiffness: named.File = field("Stiffness matrix, Matrix Market or entries by Abaqus.", "crank_stif.mtx")
    mass: named.File = field("Mass matrix, Matrix Market or entries by Abaqus.", "crank_mass.mtx")
    nodes: named.File = field("CSV file with columns node, x, y, z [m], in the order of the matrices.", "nodes.csv")


FlexibleMesh = Annotated[RectangleMesh | BrickMesh | BeamMesh | MeshFile | Matrices, ByType()]


Range = Annotated[Number | Pair[Number], ByKind()]
ModeNumber = Annotated[int, Limits(ge=1, le=10_000)]


class NodeSet(Spec):
    """Mesh nodes: all at the stated coordinates, those of a group of the file, or the one nearest to a place."""

    x: Range | None = optional("Place along x, or least and largest one [m].", 0.4, [0.1, 0.2])
    y: Range | None = optional("Place along y, or least and largest one [m].", 0)
    z: Range | None = optional("Place along z, or least and largest one [m].", 0)
    group: named.Text | None = optional("Name of a group of the mesh file.", "hub")
    nearest: Vector | None = optional("Place that the node is nearest to [m].", [0.4, 0, 0])


class BodyFrame(Spec):
    """Motion that the body's frame follows: that of a set that does not deform, or of the chord between two nodes."""

    fixed: named.Set | None = optional("Set that is fixed in the frame.", "hub")
    chord: Pair[named.Node] | None = optional(
        "Nodes of the chord: the first is fixed, the second moves along the line to it.", ["a", "b"]
    )


class ModesKept(Spec):
    """Choice of the shapes that a body deforms in."""

    count: Annotated[int, Limits(ge=0, le=1000)] | None = optional("Number of lowest eigenmodes.", 6)
    keep: Some[ModeNumber] | None = optional("Numbers of the eigenmodes that are kept, the lowest is 1.", [1, 2, 4])
    static: Many[named.Node] = field("Nodes whose unit forces and moments add static shapes.", ["pin"], default=())


class FlexibleNode(Spec):
    """A frame on the body that joints, forces and sensors may take."""

    set: named.Set = field("Set that the frame follows.", "pin")
    coupling: Literal["mean", "rigid"] = field(
        "mean: the frame follows the set's mean motion; rigid: the set moves as a rigid body.", "mean", default="mean"
    )


class BodyDamping(Spec):
    """Damping of the elastic coordinates."""

    alpha: NotNegative = field("Factor on the mass matrix [1/s].", 0.1, default=0.0)
    beta: NotNegative = field("Factor on the stiffness matrix [s].", 1e-6, default=0.0)
    ratio: NotNegative = field("Ratio of the critical damping, of every mode.", 0.005, default=0.0)


class ElasticStart(Spec):
    """Start of the elastic coordinates; what is not stated is zero."""

    position: Some[Number] | None = optional("Elastic coordinates.", [1e-5, 0])
    velocity: Some[Number] | None = optional("Their rates.", [0, 1e-3])


def _initial() -> Any:
    return optional("Start of the elastic coordinates; default zero.", {"position": [1e-5, 0]})


class FlexibleMeshed(Described):
    """A flexible body from a mesh."""

    mesh: FlexibleMesh = field(
        "Mesh.", {"type": "rectangle", "size": [0.4, 0.08], "thickness": 0.01, "elements": [20, 4]}
    )
    material: named.Material | None = optional("Material; matrices have none.", "steel")
    density: Density | None = optional(
        "Density of the elements, relative to the material; default 1.", {"field": "rho"}
    )
    sets: dict[named.Text, NodeSet] = field(
        "Sets of mesh nodes by name.", {"hub": {"x": 0}, "pin": {"x": 0.4}}, default={}
    )
    frame: Annotated[Literal["free"] | BodyFrame, ByKind()] = field(
        "Motion that the body's frame follows; free: the mean motion.", {"fixed": "hub"}, "free"
    )
    modes: ModesKept = field("Shapes that the body deforms in.", {"count": 6})
    nodes: dict[named.Text, FlexibleNode] = field(
        "Frames on the body by name.", {"pin": {"set": "pin", "coupling": "mean"}}, default={}
    )
    stiffening: Many[named.Load] = field(
        "Loads whose stresses stiffen the body: rotation, acceleration, and names of nodes.",
        ["rotation", "pin"],
        default=(),
    )
    damping: BodyDamping | None = optional("Damping.", {"beta": 1e-6})
    initial: ElasticStart | None = _initial()


class FlexibleFile(Described):
    """A flexible body from a file of standard input data."""

    sid: named.File = field("File (.SID_FEM or .sid.h5), relative to the model file.", "boom.SID_FEM")
    length_unit: Literal["m", "cm", "mm", "in"] = field("Unit of length of a .SID_FEM file.", "mm", default="m")
    modes: Some[ModeNumber] | None = optional("Numbers of the modes that are kept; default all.", [1, 2])
    design: dict[named.Text, Number] = field(
        "How far design variables of the file, by their names, are from where its data were made; default 0. Data go "
        "linearly with them, by the derivatives that the file brings.",
        {"thickness": "wall - 0.01"},
        default={},
    )
    damping: BodyDamping | None = optional("Damping in place of the file's.", {"ratio": 0.01})
    initial: ElasticStart | None = _initial()


Rows = Some[Vector]  # of three columns, a row a shape
Square = Some[Some[Number]]


class Inertia(Spec):
    """Inertia about the frame's origin, by powers of the elastic coordinates."""

    M0: Matrix = field("Undeformed [kg m^2].", [[0, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    M1: Many[Matrix] | None = optional("Change by each coordinate.", [[[0, 0, 0], [0, 1, 0], [0, 0, 1]]])
    M2: Many[Many[Matrix]] | None = optional("Change by each product of two.", [[[[0, 0, 0], [0, 0, 0], [0, 0, 1]]]])


class Coupling(Spec):
    """Coupling of the shapes with rotation, by powers of the elastic coordinates."""

    M0: Rows = field("Integral of rho R x Phi, a row a shape.", [[0, 0, 0.2]])
    M1: Many[Rows] | None = optional("Integral of rho Phi_q x Phi, a matrix for each coordinate q.", [[[0, 0, 0]]])


class Terms(Spec):
    """Integrals over the body; all else follows from them."""

    mass: Positive = field("Mass [kg].", 0.15)
    mdCM: Vector = field("Integral of rho R: mass times centre of mass.", [0.02, 0, 0])
    J: Annotated[Matrix | Inertia, ByKind()] = field(
        "Inertia about the frame's origin.", [[0, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
    )
    Ct: Rows = field("Integral of rho Phi, a row a shape.", [[0, 0.1, 0]])
    Cr: Annotated[Rows | Coupling, ByKind()] = field("Integral of rho R x Phi, a row a shape.", [[0, 0, 0.02]])
    Me: Square = field("Mass matrix of the shapes.", [[0.07]])
    Ke: Square = field("Stiffness matrix of the shapes.", [[1e4]])


class TermsNode(Spec):
    """A frame on the body."""

    origin: Vector = field("Place without deformation [m].", [0.3, 0, 0])
    phi: Rows = field("Displacement by each shape.", [[0, 1, 0]])
    psi: Rows | None = optional("Rotation by each shape; default none.", [[0, 0, 10]])


class FlexibleTerms(Described):
    """A flexible body by numbers."""

    terms: Terms = field(
        "Integrals over the body.",
        {"mass": 1, "mdCM": [0, 0, 0], "J": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "Ct": [[0, 1, 0]], "Cr": [[0, 0, 0]],
         "Me": [[1]], "Ke": [[1e4]]},
    )  # fmt: skip
    nodes: dict[named.Text, TermsNode] = field(
        "Frames on the body by name.", {"end": {"origin": [0.3, 0, 0], "phi": [[0, 1, 0]]}}, default={}
    )
    damping: BodyDamping | None = optional("Damping.", {"ratio": 0.005})
    initial: ElasticStart | None = _initial()


Flexible = Annotated[FlexibleFile | FlexibleTerms | FlexibleMeshed, ByKey()]
