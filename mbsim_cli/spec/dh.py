"""Denavit-Hartenberg tables: chains and trees of one-dof joints, a row each."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.base import Matrix, Spec, Vector, by_kind, description, field, whole_number
from mbsim_cli.spec.bodies import Inertia, Shape
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.joints import CylindricalInitial

_ZERO = Number(0.0)


class Link(Spec):
    """What hangs on a row; coordinates are those of the row's frame. Without a mass the link is virtual."""

    name: str | None = field("Name of the body; default that of the row.", "thigh", default=None)
    mass: Number | None = field("Mass [kg]; default the shape's, or 0.", 9.5, "m_2", default=None)
    center_of_mass: by_kind(text=str, list=Vector) | None = field(
        "Centre of mass in the row's frame [m], or a point of the body.", ["-L/2", 0, 0], default=None
    )
    inertia: by_kind(mapping=Inertia, list=Matrix) | None = field(
        "Inertia tensor in the axes of the row's frame [kg m^2].", {"zz": "1/6"}, default=None
    )
    inertia_about: str = field(
        "Point that the inertia is stated about: center_of_mass, origin, or a point of the body.",
        "origin",
        default="center_of_mass",
    )
    shape: Shape | None = field(
        "Uniform solid that gives what is not stated beside it.",
        {"type": "cylinder", "length": "L", "radius": "L/10", "mass": 9.5, "center": ["-L/2", 0, 0]},
        default=None,
    )


class Row(Spec):
    """One joint with the constant transform that follows it (distal) or precedes it (proximal)."""

    variable: Literal["theta", "d", "none"] = field(
        "What the joint varies: theta (revolute), d (prismatic), or nothing (a fixed frame).", "d", default="theta"
    )
    sign: whole_number(Literal[1, -1]) = field("Sign of the joint coordinate in theta or d.", -1, default=1)
    theta: Number = field("Angle about z [rad], beside the coordinate where it is the variable.", "pi/2", default=_ZERO)
    d: Number = field("Offset along z [m], beside the coordinate where it is the variable.", "L_4", default=_ZERO)
    a: Number = field("Offset along x [m].", "L_1", default=_ZERO)
    alpha: Number = field("Angle about x [rad].", "-90 deg", default=_ZERO)
    parent: str | None = field(
        "Row that this one follows, or a body; default the row before, of the first the base.", "q5", default=None
    )
    link: Link | None = field("What hangs on the row; left out it is massless.", {"mass": 4.5}, default=None)
    initial: CylindricalInitial | None = field(
        "Start: angle and angular_velocity, or displacement and velocity.", {"angle": "30 deg"}, default=None
    )
    description: str | None = description()


class Table(Spec):
    """A table of rows; each yields a joint of the row's name, and a body."""

    convention: Literal["distal", "proximal"] = field(
        "distal: frame i at the far end of link i, theta and d first; proximal: at the near end, alpha and a first.",
        "distal",
        default="distal",
    )
    base: str = field("Body whose axes the first row starts from.", "ground", default="ground")
    rows: dict[str, Row] = field("Rows by name, parents before their children.", {"q1": {"d": 0.4}}, min_length=1)
    description: str | None = description()
