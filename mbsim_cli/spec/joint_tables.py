"""Denavit-Hartenberg tables: chains and trees of joints of one coordinate; a row is a joint and the body behind it."""

from typing import Annotated, Literal

from mbsim_cli.spec.base import WHOLE, Described, field, named, optional
from mbsim_cli.spec.bodies import Massive
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.joints import CylindricalInitial


class Link(Massive):
    """Body of a row; its coordinates are those of the row's frame. Without a mass the link is virtual."""

    name: named.Text | None = optional("Name of the body; default that of the row.", "thigh")


class Row(Described):
    """One joint with the constant transform that follows it (distal) or precedes it (proximal)."""

    variable: Literal["theta", "d", "none"] = field(
        "Quantity that the joint varies: theta (revolute), d (prismatic), or none (a fixed frame).",
        "d",
        default="theta",
    )
    sign: Annotated[Literal[1, -1], WHOLE] = field("Sign of the joint coordinate in theta or d.", -1, default=1)
    theta: Number = field("Angle about z [rad], beside the coordinate where it is the variable.", "pi/2", default=0.0)
    d: Number = field("Offset along z [m], beside the coordinate where it is the variable.", "L_4", default=0.0)
    a: Number = field("Offset along x [m].", "L_1", default=0.0)
    alpha: Number = field("Angle about x [rad].", "-90 deg", default=0.0)
    parent: named.Row | None = optional(
        "Row that this one follows, or a body; default the row before, of the first the base.", "q5"
    )
    link: Link | None = optional("Body of the row; massless if left out.", {"mass": 4.5})
    initial: CylindricalInitial | None = optional(
        "Start: angle and angular_velocity, or displacement and velocity.", {"angle": "30 deg"}
    )


class JointTable(Described):
    """A table of rows; each yields a joint of the row's name, and a body."""

    convention: Literal["distal", "proximal"] = field(
        "distal: frame i at the far end of link i, theta and d first; proximal: at the near end, alpha and a first.",
        "distal",
        default="distal",
    )
    base: named.Row = field("Body whose axes the first row starts from.", "ground", default="ground")
    rows: dict[named.Text, Row] = field(
        "Rows by name, parents before their children.", {"q1": {"d": 0.4}}, min_length=1
    )
